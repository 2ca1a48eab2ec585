"""A short form of ``tests/fuzzing.py``, the same inputs each time; the long one is marked slow."""

from __future__ import annotations

import random
from pathlib import Path

import fuzzing
import pytest

from patchq.model.header import read_header


@pytest.mark.parametrize("name", sorted(fuzzing.SEEDS))
def test_a_reader_refuses_what_it_cannot_read(name: str) -> None:
    reader, chance = fuzzing.readers()[name], random.Random(name)
    for _ in range(400):
        fuzzing.feed(reader, fuzzing.mutated(chance, name))


@pytest.mark.parametrize(
    "count", [40, pytest.param(4000, marks=pytest.mark.release)], ids=["short", "long"]
)
def test_a_patch_that_we_take_is_one_that_git_takes(tmp_path: Path, count: int) -> None:
    differential, chance = fuzzing.Differential(tmp_path), random.Random(count)
    for seed in fuzzing.SEEDS["patch"]:
        differential.compare(seed)
    for _ in range(count):
        differential.compare(fuzzing.mutated(chance, "patch"))
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
