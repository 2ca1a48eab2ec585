"""Where the files and hunks of a unified diff lie, found by counting lines; never fails.

The rules are those of ``git apply`` (its ``apply.c``, and git-diff(1), "Generating patch text with
-p"); empty context lines without their space are GNU diff's and patch's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO

HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
FIELD = re.compile(
    rb"(old mode|new mode|new file mode|deleted file mode|rename from|rename to|rename old"
    rb"|rename new|copy from|copy to|similarity index|dissimilarity index|index|---|\+\+\+)"
    rb" ([^\r\n]*)"
)
# git needs less: the words before the value are enough for it
_GIT_FIELD = re.compile(
    rb"(?:(?:old|new|new file|deleted file) mode\s+\S+\s*$|(?:rename|copy) (?:from|to|old|new) \S"
    rb"|(?:dis)?similarity index\s+\S+\s*$|index \S*\.\.\S)"
)
BINARY = re.compile(rb"Binary files (.+) and (.+) differ\r?\n?$")
BINARY_DATA = re.compile(rb"GIT binary patch\r?\n?$")
_BINARY_BLOCK = re.compile(rb"(?:literal|delta) \d+\r?\n?$")
COMBINED = re.compile(rb"diff --(cc|combined) ")
_DECORATION = re.compile(
    rb"={10,}|RCS file: |retrieving revision |diff -|IDEA additional info:|Subsystem: |<\+>"
)
_NAMED_ONLY = re.compile(
    rb"(?:Only in [^:\r\n]+: .+|Binary files .+ and .+ differ|Files .+ and .+ differ"
    rb"|Symbolic links .+ and .+ differ|File .+ is an? .+ while file .+ is an? .+"
    rb"|Submodule \S.* (?:[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}.*|\(new submodule\).*)"
    rb"|Binary file .+ has changed|=== (?:renamed|removed|added) (?:file|directory) '.+'.*)"
    rb"\r?\n?"
)
"""Lines that tell of a change without its content, as diff(1), git, hg and bzr write them.

What they name is in no hunk, so that whoever applies the diff loses it."""
_SIGNATURE = (b"--", b"---")
_LARGE = 1 << 20
"""From so many bytes on a diff is laid out anew each time, for the memory."""

_SIDES = {
    b" ": (1, 1),
    b"\n": (1, 1),
    b"\r": (1, 1),
    b"-": (1, 0),
    b"+": (0, 1),
    b"\\": (0, 0),
}
"""How much a line of a hunk counts on the old and on the new side, by its first byte."""


@dataclass(frozen=True)
class HunkSpan:
    """The lines of a hunk, header included: what ``@@`` says, and what stands there.

    If the two differ, ``stop`` is after the last line that can be the hunk's.
    """

    start: int
    stop: int
    old_start: int
    new_start: int
    says: tuple[int, int]
    found: tuple[int, int]

    @property
    def complete(self) -> bool:
        """Whether the header's counts are true."""
        return self.says == self.found


@dataclass(frozen=True)
class FileSection:
    """The lines of one file's section: its header from ``start`` to ``body``, then its hunks.

    git's own header begins at ``header``: svn and JetBrains write an ``Index:`` above it. What
    stands between the last hunk and the next section (a mail signature, blank lines) starts at
    ``tail``.
    """

    start: int
    header: int
    body: int
    hunks: tuple[HunkSpan, ...]
    tail: int


def split_lines(raw: bytes) -> list[bytes]:
    """The lines of ``raw`` with their endings; only a newline ends a line."""
    return BytesIO(raw).readlines()


def find_diff(raw: bytes) -> int:
    """The offset of the first file section in ``raw``, or its length where there is none.

    A line counts only together with those that must follow it, so that prose may speak of diffs.
    """
    lines = split_lines(raw)
    for index in range(len(lines)):
        if _starts_section(lines, index):
            return sum(map(len, lines[:index]))
    return len(raw)


def laid_out(diff: bytes) -> tuple[Sequence[bytes], tuple[FileSection, ...]]:
    """The lines of a diff, and where its sections and hunks lie in them."""
    return (_kept if len(diff) < _LARGE else _laid_out)(diff)


def _laid_out(diff: bytes) -> tuple[Sequence[bytes], tuple[FileSection, ...]]:
    lines = tuple(split_lines(diff))
    return lines, layout(lines)


_kept = lru_cache(maxsize=4)(_laid_out)
"""One patch is looked at in several ways, one after the other."""


def layout(lines: Sequence[bytes]) -> tuple[FileSection, ...]:
    """Where the sections and hunks of a diff lie, in lines from 0; never fails."""
    sections: list[FileSection] = []
    index = 0
    while index < len(lines):
        if not (_starts_section(lines, index) or BINARY.match(lines[index])):
            index += 1
            continue
        start, header = index, _git_header(lines, index)
        body = _header_end(lines, header)
        hunks: list[HunkSpan] = []
        index = body
        while index < len(lines) and (counts := HUNK.match(lines[index])):
            hunks.append(_measure(lines, index, counts))
            index = hunks[-1].stop
        if lines[body - 1].startswith(b"GIT binary patch"):
            index = _binary_end(lines, body)
        sections.append(FileSection(start, header, body, tuple(hunks), index))
    return tuple(sections)


def names_only(line: bytes) -> bool:
    """Whether a line beside the hunks tells of a change whose content the diff does not have."""
    return _NAMED_ONLY.fullmatch(line) is not None


def _is_pair(lines: Sequence[bytes], index: int) -> bool:
    """Whether ``---``, ``+++`` and ``@@`` follow each other here."""
    window = lines[index : index + 3]
    return len(window) == 3 and all(
        line.startswith(mark)
        for line, mark in zip(window, (b"--- ", b"+++ ", b"@@ -"), strict=True)
    )


def _git_header(lines: Sequence[bytes], start: int) -> int:
    """Where git's own header begins in a section that an ``Index:`` line opens; else ``start``."""
    index = start
    while index < len(lines) and (index == start or _DECORATION.match(lines[index])):
        if lines[index].startswith(b"diff --git "):
            return index if _starts_section(lines, index) else start
        if not lines[start].startswith(b"Index: "):
            break
        index += 1
    return start


def _binary_end(lines: Sequence[bytes], start: int) -> int:
    """The line after git's binary data, of which there are up to two blocks."""
    index = start
    while index < len(lines) and _BINARY_BLOCK.match(lines[index]):
        while index < len(lines) and lines[index].strip():
            index += 1
        if index < len(lines) and index + 1 < len(lines) and _BINARY_BLOCK.match(lines[index + 1]):
            index += 1
    return index


def _starts_section(lines: Sequence[bytes], index: int) -> bool:
    line = lines[index]
    if line.startswith(b"--- "):
        return _is_pair(lines, index)
    if not line.startswith((b"diff -", b"Index: ")) or index + 1 >= len(lines):
        return False
    follower = lines[index + 1]
    if line.startswith(b"diff --git "):
        if follower.startswith(b"--- "):
            return lines[index + 2 : index + 3] != [] and lines[index + 2].startswith(b"+++ ")
        found = _GIT_FIELD.match(follower) or HUNK.match(follower)
        return bool(found or BINARY.match(follower) or BINARY_DATA.match(follower))
    if COMBINED.match(line):
        return FIELD.match(follower) is not None
    if line.startswith(b"Index: ") and follower.startswith((b"==========", b"IDEA additional")):
        return True
    return _is_pair(lines, index + 1) or BINARY.match(follower) is not None


def _header_end(lines: Sequence[bytes], start: int) -> int:
    """The first line from ``start`` on that is not of the section's header."""
    git = lines[start].startswith(b"diff --")
    index = start
    while index < len(lines):
        line = lines[index]
        if BINARY.match(line) or BINARY_DATA.match(line):
            return index + 1
        if line.startswith(b"+++ ") and not lines[start].startswith(b"diff --git "):
            return index + 1
        decoration = not git and _DECORATION.match(line) and not line.startswith(b"diff --git ")
        if index > start and not (decoration or FIELD.match(line)):
            return index
        index += 1
    return index


def _is_hunk_line(line: bytes) -> bool:
    return line[:1] in _SIDES and (line[:1] != b"\r" or line == b"\r\n")


def _is_signature(lines: Sequence[bytes], index: int) -> bool:
    """A mail's ``-- ``, or a bare ``---``: not a removed line, for no hunk goes on after it."""
    follower = lines[index + 1 : index + 2]
    ends = not follower or not _is_hunk_line(follower[0]) or not follower[0].strip()
    return lines[index].rstrip() in _SIGNATURE and ends


def _count(lines: Sequence[bytes]) -> tuple[int, int]:
    sides = [_SIDES[line[:1]] for line in lines]
    return sum(old for old, _ in sides), sum(new for _, new in sides)


def _measure(lines: Sequence[bytes], start: int, header: re.Match[bytes]) -> HunkSpan:
    """Find a hunk's end by its counts; where they are wrong, by what its lines look like."""
    old_start, old_count, new_start, new_count = (
        1 if part is None else int(part) for part in header.groups()
    )
    old, new, stop, context = 0, 0, start + 1, False
    while stop < len(lines) and _is_hunk_line(lines[stop]):
        if old >= old_count and new >= new_count and lines[stop][:1] != b"\\":
            break
        # between two hunks with context there is context: this is the next file's header
        if context and _is_pair(lines, stop):
            break
        plus_old, plus_new = _SIDES[lines[stop][:1]]
        context = context or plus_old == plus_new == 1
        old, new, stop = old + plus_old, new + plus_new, stop + 1
    says = (old_count, new_count)
    if (old, new) != says or _goes_on(lines, stop):
        stop = _run_end(lines, start + 1)
        old, new = _count(lines[start + 1 : stop])
    return HunkSpan(start, stop, old_start, new_start, says, (old, new))


def _goes_on(lines: Sequence[bytes], index: int) -> bool:
    """Whether a line that only a hunk can have follows a hunk that is full."""
    if index >= len(lines) or lines[index][:1] not in (b" ", b"+", b"-"):
        return False
    blank = not lines[index].strip()
    return not (blank or _is_signature(lines, index) or _is_pair(lines, index))


def _run_end(lines: Sequence[bytes], start: int) -> int:
    stop = start
    while (
        stop < len(lines)
        and _is_hunk_line(lines[stop])
        and not _is_signature(lines, stop)
        and not _is_pair(lines, stop)
    ):
        stop += 1
    while stop > start and lines[stop - 1] in (b"\n", b"\r\n"):
        stop -= 1
    return stop
