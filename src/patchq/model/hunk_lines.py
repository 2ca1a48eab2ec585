"""The lines of a hunk, each with its mark, from the text of a diff."""

from __future__ import annotations

from collections.abc import Sequence

_MARKS = (b" ", b"+", b"-")
MANY_LINES = 1_000
"""From so many lines of a diff on its hunks are read by the leaner way."""


def hunk_lines(lines: Sequence[bytes]) -> tuple[bytes, ...]:
    """The lines of a hunk, with its ``@@`` line, read by unidiff.

    Latin-1 maps each byte to one character and back, so nothing is lost on the way.
    """
    from unidiff.patch import PatchSet  # heavy; only where a hunk is looked into

    text = [line.decode("latin-1") for line in lines]
    if not text[-1].endswith("\n"):
        text[-1] += "\n"
    # the wording after the backslash depends on the locale of whoever made the diff
    text = ["\\ No newline at end of file\n" if line[0] == "\\" else line for line in text]
    [[hunk]] = PatchSet(["--- a\n", "+++ b\n", *text])
    content: list[bytes] = []
    for line in hunk:
        if line.line_type == "\\":
            content[-1] = content[-1].removesuffix(b"\n")
        else:
            content.append((line.line_type + line.value).encode("latin-1"))
    return tuple(content)


def hunk_lines_of_many(lines: Sequence[bytes]) -> tuple[bytes, ...]:
    """The same without an object for each line: of megabytes they would take gigabytes."""
    content: list[bytes] = []
    for line in lines[1:]:
        if line[:1] == b"\\":
            content[-1] = content[-1].removesuffix(b"\n")
        else:
            content.append(line if line[:1] in _MARKS else b" " + line)
    last = lines[-1]
    if last[:1] != b"\\" and not last.endswith(b"\n"):
        content[-1] += b"\n"
    return tuple(content)
