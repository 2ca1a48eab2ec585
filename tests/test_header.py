from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchq.errors import InputError, Where
from patchq.model.header import description, read_header, replace_path
from patchq.model.header_message import HeaderForm

MAIL = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: =?UTF-8?q?J=C3=BCrgen?= <j@example.org>
Date: Mon, 3 Aug 2026 10:00:00 +0200
Subject: [PATCH] [kernel] build for sm_121a
 only
Content-Type: text/plain; charset=UTF-8

Why: the rest is never loaded.

Origin: vendor
X-Kind: arch-prune
X-Upstream-PR: 123 | #456
X-Requires: one.patch, two.patch
X-Retire-When: path-missing 'a file'
X-Retire-When: contains
 CMakeLists.txt  sm_121a
X-Watch: SM12x GB10
---
 CMakeLists.txt | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

A note for reviewers.

"""


def test_a_mail() -> None:
    header = read_header(MAIL.encode(), Where("p.patch"))
    assert header.form is HeaderForm.MAIL
    assert header.subject == "[kernel] build for sm_121a only"
    assert header.author == "Jürgen <j@example.org>"
    assert header.date == "Mon, 3 Aug 2026 10:00:00 +0200"
    assert header.body == "Why: the rest is never loaded."
    assert header.field("x-kind") == header.kind == "arch-prune"
    assert header.upstream_prs == (123, 456)
    assert header.requires == ("one.patch", "two.patch")
    assert header.watch == ("SM12x", "GB10")
    assert [predicate.path for predicate in header.retire_when] == ["a file", "CMakeLists.txt"]
    assert (header.expect, header.verify) == ((), ())
    assert header.trailers[1].line == 11


def test_notes_after_the_separator_survive_an_import() -> None:
    subject, body = description(read_header(MAIL.encode()))
    assert subject == "[kernel] build for sm_121a only"
    prose, notes, trailers = body.split("\n\n")
    assert (prose, notes) == ("Why: the rest is never loaded.", "A note for reviewers.")
    assert trailers.splitlines()[-2] == "X-Retire-When: contains CMakeLists.txt  sm_121a"


def test_the_author_in_a_mails_body_counts() -> None:
    raw = b"From: List <l@x>\nDate: now\nSubject: [PATCH 2/3] s\n\nFrom: A <a@x>\n\nbody\n"
    header = read_header(raw)
    assert (header.author, header.subject, header.body) == ("A <a@x>", "s", "body")


DEP3 = b"""\
Description: Prune architectures
 Only the one we have.
 .
 And why.
Author: A <a@x>
Bug-Debian: https://bugs.example.org/1
Forwarded: no
Last-Update: 2026-08-01

Prose of its own.

X-Expect: lacks a.py 'sm_121 or'
"""


@pytest.mark.parametrize("comment", [False, True])
def test_a_dep3_header_commented_or_not(comment: bool) -> None:
    raw = b"".join(b"# " + line for line in DEP3.splitlines(True)) if comment else DEP3
    header = read_header(raw)
    assert (header.form, header.author) == (HeaderForm.PLAIN, "A <a@x>")
    assert header.subject == "Prune architectures"
    assert header.body == "Only the one we have.\n\nAnd why.\n\nProse of its own."
    assert [entry.key for entry in header.trailers] == [
        "Bug-Debian",
        "Forwarded",
        "Last-Update",
        "X-Expect",
    ]
    assert header.expect[0].pattern == b"sm_121 or"


def test_prose_of_a_bare_diff() -> None:
    header = read_header(b"# Fix: the build\n#\n# It broke.\n# Twice.\n")
    assert (header.subject, header.body) == ("Fix: the build", "It broke.\nTwice.")
    assert header.trailers == ()
    assert description(header) == ("Fix: the build", "It broke.\nTwice.")


def test_output_of_git_show() -> None:
    raw = (
        b"commit 0123456789abcdef0123456789abcdef01234567 (HEAD -> main)\n"
        b"Author: A <a@x>\nDate:   Mon Aug 3 2026\n\n    Fix it (#12)\n\n    Why.\n\n"
        b"    Signed-off-by: A <a@x>\n\n"
    )
    header = read_header(raw)
    assert (header.subject, header.author) == ("Fix it (#12)", "A <a@x>")
    assert (header.date, header.body) == ("Mon Aug 3 2026", "Why.")
    assert header.field("Signed-off-by") == "A <a@x>"


@pytest.mark.parametrize(
    ("line", "author"),
    [
        (r'"J. \"Bob\" Doe" <r@x>', 'J. "Bob" Doe <r@x>'),
        ("=?UTF-8?q?J=C3=B6_=22Bob=22?= <j@x>", "Jö Bob <j@x>"),
        ("X <>", "X <>"),
        ("X <nomail>", "X <nomail>"),
        ('"Doe, John" <j@x>', "Doe, John <j@x>"),
        ("j@x (John Doe)", "John Doe <j@x>"),
        ("John (zzz) Doe <j@x> (Comment)", "John (zzz) Doe (Comment) <j@x>"),
        ("<j@x>", "j@x <j@x>"),
        ("A <B> <c@d>", "c@d <c@d>"),
        ("a@b <c@d>", "a@b <a@b>"),
        ("x <y>z@w", "y <y>"),
        ("  spaced   out  <s@x>", "spaced out <s@x>"),
        ("a name that is longer than git believes any name to be, all of it <l@x>", "l@x <l@x>"),
        ("John", "John"),
    ],
)
def test_a_mails_author_is_who_git_takes_for_one(tmp_path: Path, line: str, author: str) -> None:
    mail = f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: {line}\nSubject: x\n\nbody\n".encode()
    assert read_header(mail).author == author
    done = subprocess.run(
        ["git", "mailinfo", "message", "patch"],
        cwd=tmp_path,
        input=mail,
        capture_output=True,
        check=True,
    )
    told = dict(one.split(": ", 1) for one in done.stdout.decode().splitlines() if ": " in one)
    if told["Author"]:
        assert f"{told['Author']} <{told['Email']}>" == author


def test_a_cherry_pick_line_among_trailers_stays_in_the_message() -> None:
    raw = b"Fix\n\nWhy.\n\n(cherry picked from commit 0123abc)\nX-Kind: backport\n"
    header = read_header(raw)
    assert (header.kind, header.body) == ("backport", "Why.\n\n(cherry picked from commit 0123abc)")


def test_nothing_and_foreign_bytes() -> None:
    assert read_header(b"").subject == ""
    assert description(read_header(b"\n \n")) == ("", "")
    assert read_header(b"Gr\xfc\xdfe\n").subject == "Grüße"


@pytest.mark.parametrize(
    ("field", "ask"),
    [(b"X-Upstream-PR: soon", "upstream_prs"), (b"X-Retire-When: never", "retire_when")],
)
def test_a_malformed_field_is_an_error_when_asked_for(field: bytes, ask: str) -> None:
    header = read_header(b"Fix\n\nWhy.\n\n" + field + b"\n", Where("p.patch"))
    with pytest.raises(InputError) as caught:
        getattr(header, ask)
    assert caught.value.where == Where("p.patch", 5)


def test_only_the_operand_of_a_predicate_is_rewritten() -> None:
    raw = MAIL.encode() + b"\xff\r\n"
    assert replace_path(raw, "none", "x") == raw
    assert replace_path(raw, "a file", "b") == raw.replace(b"'a file'", b"b")
    moved = replace_path(raw, "CMakeLists.txt", "aot/C M.txt")
    assert moved == raw.replace(b" CMakeLists.txt  sm", b" 'aot/C M.txt'  sm")
    assert replace_path(DEP3, "a.py", "b.py") == DEP3.replace(b"a.py", b"b.py")


HOSTILE = [
    "From: Eve <e@x>",
    "Subject: other",
    "[PATCH] other",
    ">From x",
    "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001",
    "---",
    "--- a/g",
    "+++ b/g",
    "@@ -1 +1 @@",
    "-one",
    "+evil",
    "diff --git a/g b/g",
    "diff -u a/g b/g",
    "Index: g",
    "  --- a/g",
    "  +++ b/g",
    "  @@ -1 +1 @@",
    "-- >8 --",
    "- 8< - - - -",
    "plain words",
    "",
]
DIFF = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n"


@settings(max_examples=40, deadline=None)
@given(lines=st.lists(st.sampled_from(HOSTILE), max_size=8))
def test_no_tool_takes_prose_for_more(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder: Path = tmp_path_factory.mktemp("mail")
    prose = "\n".join(["Title", "", "begin" if not lines else lines[0], *lines[1:], "last words"])
    subject, body = description(read_header(prose.encode()))
    head = f"From: A <a@x>\nDate: Mon, 3 Aug 2026 10:00:00 +0200\nSubject: [PATCH] {subject}\n\n"
    mail = head.encode() + body.encode() + b"\n---\n\n" + DIFF
    command = ["git", "mailinfo", "-b", "--scissors", "msg", "patch"]
    run = subprocess.run(command, cwd=folder, input=mail, capture_output=True, check=True)
    if "\n---" not in f"\n{prose}":
        assert (folder / "msg").read_bytes().rstrip() == body.encode().rstrip()
    assert b"Author: A\n" in run.stdout
    assert b"Subject: Title\n" in run.stdout
    assert (folder / "patch").read_bytes() == b"---\n\n" + DIFF
    touched = ["git", "apply", "--numstat", "-"]
    run = subprocess.run(touched, cwd=folder, input=mail, capture_output=True, check=True)
    assert run.stdout == b"1\t1\tf\n"
