"""A short form of ``tests/fuzzing.py``, the same inputs each time; the long one is marked slow."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import fuzzing
import pytest

from patchq.engine.importing.given.read import read_given
from patchq.errors import InputError
from patchq.model.header import read_header
from patchq.model.patch import read_patch


@pytest.mark.parametrize("name", sorted(fuzzing.SEEDS))
def test_a_reader_refuses_what_it_cannot_read(name: str) -> None:
    reader, chance = fuzzing.readers()[name], random.Random(name)
    for _ in range(400):
        fuzzing.feed(reader, fuzzing.mutated(chance, name))


@pytest.mark.parametrize(
    "count", [40, pytest.param(4000, marks=pytest.mark.release)], ids=["short", "long"]
)
def test_a_patch_that_we_take_is_one_that_others_take(tmp_path: Path, count: int) -> None:
    differential, chance = fuzzing.Differential(tmp_path), random.Random(count)
    cases = [fuzzing.mutated(chance, "patch") for _ in range(count)]
    for data in (*fuzzing.SEEDS["patch"], *cases):
        differential.git(data)
        differential.gnu(data)
    assert differential.taken
    assert differential.refused


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("header", b"Subject: x\n" + b" more\n" * 30_000),
        ("header", b"Subject: " + b"[PATCH] " * 20_000 + b"\n\n"),
        ("header", b"Subject: [" + b"PATCH" * 20_000 + b"\n\n"),
        ("header", b"\n" * 100_000),
        ("header", b"Subject\n\n" + b"X-Kind: a\nwords\n" * 10_000),
        ("header", b"Subject: a\nFrom: a\nDate: a\n\n" + b"From: a\n" * 30_000),
        ("patch", fuzzing.SEEDS["patch"][0] + b" x\n" * 100_000),
        ("patch", b"diff --git a/" + b"x " * 2_000 + b"b/x\n" + b"new mode 100644\n" * 20_000),
        ("series", b"a.patch #+x\n" * 1 + b"# " + b"#+" * 50_000 + b"\n"),
        ("predicate", b"contains f " + b"'" * 50_001),
        ("predicate", b"contains f '" + b"(" * 20_000 + b")" * 20_000 + b"'"),
        ("settings", b"a: " + b"[" * 5_000),
        ("lock", b"version: " + b"9" * 50_000),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_long_input_takes_time_in_proportion(name: str, data: bytes) -> None:
    fuzzing.feed(fuzzing.readers()[name], data)


def test_a_charset_that_is_none_is_left_as_it_stands() -> None:
    subject = "=?u\xf3f-8?q?J=C3=B6e?="
    header = read_header(f"From: a <a@b>\nDate: x\nSubject: {subject}\n\n".encode())
    assert header.subject == subject


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,0 +0,0 @@\n@@ -2 +2 @@\n-2\n+x\n",
            "it changes nothing",
        ),
        (b"--- /dev/null\n+++ \0b/f\n@@ -1,0 +1 @@\n+f\n", "a NUL byte"),
        (b"diff --git a/l b/l\nnew file mode 120000\n", "a symbolic link to nowhere"),
    ],
)
def test_what_git_cannot_make_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_patch("p", data)


def test_a_mail_that_is_not_split_is_read_once() -> None:
    head = b"From x Mon Sep 17 00:00:00 2001\nFroma:  <\n"
    nested = b"From x Oon: a\nContent-Type: multipart/mixed; boundary=x\n\n-\n"
    with suppress(InputError):
        read_given("f.mbox", head + nested + b"From y\nSubject: s\n\nwords\n")


@pytest.mark.parametrize(
    "data",
    [
        # what git passes over as prose, and GNU patch does not
        b"--- /d/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n",
        b'diff --git "a/l1" "b/l"\nnew file mode 120000\n--- /dev/null\n+++ "b/l"\n'
        b"@@ -0,0 +1 @@\n+f\n\\ No newline at end of file\n",
        b"diff --git a/d/g b/d/g\ndeleted file mull\n@@ -1,200644\n--- a/d/g\n+++ /dev/null\n"
        b"@@ -1,2 +0,0 @@\n-1\n-2\n",
        b"dif/f\n+++ b/m\n@@ -8,3 +8,IT\n --git\nnew file mode 1/dev/null\n--- /dev/null\n+++ b/n\n"
        b"@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
        b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n\n+++ b/o newline\n",
        # an empty file that has a line
        b"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+\n\\ No newline at end of file\n",
        # what git would write as a binary patch
        b"diff --git a/f b/f\n\0\nindex x..8\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n-2\n+\0\n 3\n",
    ],
)
def test_what_is_written_for_quilt_is_what_gnu_patch_reads(tmp_path: Path, data: bytes) -> None:
    differential = fuzzing.Differential(tmp_path)
    differential.gnu(data)
    assert differential.taken


def test_a_name_that_gnu_patch_reads_otherwise_is_refused(tmp_path: Path) -> None:
    differential = fuzzing.Differential(tmp_path)
    data = b"diff --git a/f b/m \nsimilarity index 100%\nrename from f\nrename to m \n"
    differential.gnu(data)
    with pytest.raises(InputError, match="ends in a space"):
        differential.for_quilt(data)
