from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchq.errors import InputError, Where
from patchq.model.patch import Repair, read_patch, repair

HEAD = b"Fix it\n\nX-Kind: fix\n\n"
DIFF = b"""\
--- a/f
+++ b/f
@@ -1,3 +1,3 @@
-one
+ONE
 two
\x20
--- a/g
+++ b/g
@@ -4,5 +4,5 @@
 a

-b
+B
 c
\x20
"""


def test_a_patch_is_its_bytes_and_what_they_say() -> None:
    patch = read_patch("fix.patch", HEAD + DIFF)
    assert (patch.head, patch.diff, patch.split) == (HEAD, DIFF, len(HEAD))
    assert patch.paths == ("f", "g")
    assert patch.header.kind == "fix"
    assert patch.sha256 == hashlib.sha256(patch.raw).hexdigest()


@pytest.mark.parametrize(
    ("raw", "message", "line"),
    [
        (b"", "the patch is empty", None),
        (HEAD, "no diff in it", None),
        (HEAD + b"*** a/f\n--- b/f\n", "no diff in it", None),
        (HEAD + DIFF.replace(b"+ONE\n", b""), "corrupt hunk", 7),
    ],
)
def test_a_patch_without_a_sound_diff_is_an_error(
    raw: bytes, message: str, line: int | None
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_patch("fix.patch", raw)
    assert caught.value.where == Where("fix.patch", line)


TAILS = st.binary(max_size=30).filter(lambda tail: b"@@" not in tail)  # that would be a hunk


@given(head=st.binary(max_size=60), tail=TAILS)
def test_head_and_diff_make_the_file_and_sections_tile_the_diff(head: bytes, tail: bytes) -> None:
    raw = head + b"\n" + DIFF + b"\n" + tail
    patch = read_patch("x.patch", raw)
    assert patch.head + patch.diff == raw
    assert b"".join(patch.diff[change.start : change.end] for change in patch.files) == patch.diff
    assert patch.files[0].start == 0


def test_a_sound_patch_is_left_alone() -> None:
    raw = HEAD + DIFF
    mended, repairs = repair(raw)
    assert mended is raw
    assert repairs == ()


def test_blank_context_stripped_at_the_end_is_restored() -> None:
    raw = HEAD + DIFF.removesuffix(b" \n")
    mended, repairs = repair(raw)
    assert mended == HEAD + DIFF
    assert repairs == (Repair(19, "1 blank context line was missing at the hunk's end: restored"),)


@pytest.mark.parametrize("tail", [b"-- \n2.39.5\n", b"-- \n2.39.5\n\n"])
def test_a_signature_is_not_context(tail: bytes) -> None:
    mended, repairs = repair(HEAD + DIFF.removesuffix(b" \n") + tail)
    assert mended == HEAD + DIFF + tail
    assert len(repairs) == 1


def test_blank_context_is_restored_before_another_file() -> None:
    later = DIFF.replace(b"@@ -1,3 +1,3 @@\n-one", b"@@ -7,5 +7,5 @@\n a\n b\n-one")
    mended, _ = repair(HEAD + later.replace(b" two\n \n", b" two\n"))
    assert mended == HEAD + later


def test_at_the_beginning_of_a_file_a_line_may_be_missing_in_front() -> None:
    raw = HEAD + DIFF.replace(b" two\n \n", b" two\n")
    assert repair(raw) == (raw, ())


def test_a_missing_newline_is_added() -> None:
    raw = (HEAD + DIFF).removesuffix(b" \n") + b" "
    mended, repairs = repair(raw)
    assert mended == HEAD + DIFF
    assert [entry.text for entry in repairs] == ["the last line had no newline: added"]


def test_a_byte_order_mark_in_front_goes() -> None:
    mended, repairs = repair(b"\xef\xbb\xbf" + HEAD + DIFF)
    assert mended == HEAD + DIFF
    assert [(entry.line, "byte order mark" in entry.text) for entry in repairs] == [(1, True)]
    assert repair(b"\xef\xbb\xbf" + DIFF)[0] == DIFF


def test_crlf_goes_only_where_every_line_has_it() -> None:
    crlf = (HEAD + DIFF).replace(b"\n", b"\r\n")
    mended, repairs = repair(crlf)
    assert mended == HEAD + DIFF
    assert repairs[0].line == 1
    content = b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\r\n+b\r\n\r\n"
    mended, repairs = repair(content)
    assert mended == content.removesuffix(b"\r\n") + b" \r\n"
    assert repairs == (Repair(6, "a blank line had lost its space: restored"),)


@pytest.mark.parametrize("damage", [(b" a\n", b""), (b"+B\n", b""), (b" c\n", b" c\n+x\n")])
def test_what_is_not_certain_is_not_touched(damage: tuple[bytes, bytes]) -> None:
    raw = HEAD + DIFF.replace(*damage)
    assert repair(raw) == (raw, ())


@given(raw=st.binary(max_size=200))
def test_repair_is_done_after_one_time(raw: bytes) -> None:
    once, _ = repair(raw)
    assert repair(once) == (once, ())
