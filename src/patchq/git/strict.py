"""Strict application of plain diffs in process, by the rule of ``git apply``.

The rule is that of ``apply_one_fragment`` and ``find_pos`` in git's apply.c: every line of a hunk's
old side must match; what begins at the first line must match there; what ends without context must
match at the end of the file; no line that an earlier hunk left may match. git then tries
the places outward from the line that the hunk names. Here only those hunks are placed that fit in
exactly one place, so that the order of trying cannot matter; a hunk whose old lines stand nowhere
has none. All else is left to git: several places, renames, modes, links, binary files, missing
newlines, and any header that git itself would not write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from patchq.git.objects import Entries, Entry
from patchq.model.diff import ChangeKind, FileChange, Hunk

_REGULAR = ("100644", "100755")
_MODE = rb" 100(?:644|755)"
_GIT_HEADER = re.compile(
    rb"diff --git ([^\s\"]+) ([^\s\"]+)\n"
    rb"(?P<kind>(?:new|deleted) file mode" + _MODE + rb"\n)?"
    rb"(?:index [0-9a-f]+\.\.[0-9a-f]+(?:" + _MODE + rb")?\n)?"
    rb"--- (?:\1|(?P<none>/dev/null))\n"
    rb"\+\+\+ (?:\2|(?P<gone>/dev/null))\n(?=@@ -)"
)
_PLAIN_HEADER = re.compile(
    rb"--- (?:(?P<none>/dev/null)|[^\s\"]+)\n\+\+\+ (?:(?P<gone>/dev/null)|[^\s\"]+)\n(?=@@ -)"
)
_REFUSED = "patch does not apply"
_NO_PROSE = re.compile(
    rb"^(?:diff |--- |\+\+\+ |@@ |Index: |GIT |Binary |index |\\ )", re.MULTILINE
)
"""Lines beside the diff that git might read as part of one."""


@dataclass(frozen=True)
class Content:
    """A file as a diff leaves it."""

    mode: str
    content: bytes


@dataclass(frozen=True)
class Unplaced:
    """What git says of a diff that has no place for some of its hunks."""

    reason: str


@dataclass(frozen=True)
class PlainDiff:
    """A diff as git reads it: all of ``raw``, of which ``raw[begin:]`` was read as ``files``."""

    raw: bytes
    begin: int
    files: tuple[FileChange, ...] = field(repr=False)

    def apply(
        self, before: Entries, blob: Callable[[Entry], bytes]
    ) -> Mapping[str, Content | None] | Unplaced | None:
        """Each path with what the diff makes of it; None if git has to be asked.

        ``before`` are the paths as they are, ``blob`` reads one.
        """
        if not self.is_plain:
            return None
        after: dict[str, Content | None] = {}
        errors: list[str] = []
        for change in self.files:
            (path,) = change.paths
            if path in after:
                return None
            entry = before.get(path)
            if (change.kind is ChangeKind.ADD) is not (entry is None):
                return None
            if not _has_modes(change, entry):
                return None
            content = _applied(change.hunks, blob(entry) if entry else b"")
            if isinstance(content, Hunk):
                if not path.isascii():
                    return None
                errors += (f"patch failed: {path}:{content.old_start}", f"{path}: {_REFUSED}")
                after[path] = None
                continue
            if content is None or (change.kind is ChangeKind.DELETE and content):
                return None
            mode = entry.mode if entry else change.new_mode or _REGULAR[0]
            after[path] = None if change.kind is ChangeKind.DELETE else Content(mode, content)
        return Unplaced("; ".join(errors)) if errors else after

    @cached_property
    def is_plain(self) -> bool:
        """Whether git can read it in no other way than we did."""
        if not self.files or _NO_PROSE.search(self.raw, 0, self.begin):
            return False
        return all(map(self._is_plain_section, self.files))

    def _is_plain_section(self, change: FileChange) -> bool:
        if len(change.paths) != 1 or change.binary or not change.hunks:
            return False
        section = self.raw[self.begin + change.start : self.begin + change.end]
        header = _header(section, change)
        if header is None:
            return False
        lines = sum(1 + len(hunk.lines) for hunk in change.hunks)
        _, *tail = section[header:].split(b"\n", lines)[lines - 1 :]
        return not (tail and _NO_PROSE.search(tail[0]))


def _header(section: bytes, change: FileChange) -> int | None:
    """Where the header of a section ends, None if it is not as git or diff would write it."""
    git = _GIT_HEADER.match(section)
    header = git or _PLAIN_HEADER.match(section)
    if header is None:
        return None
    added, deleted = header["none"] is not None, header["gone"] is not None
    if git and (git["kind"] or b"").split(b" ")[0] != (
        b"new" if added else b"deleted" if deleted else b""
    ):
        return None
    if (added, deleted) != (change.kind is ChangeKind.ADD, change.kind is ChangeKind.DELETE):
        return None
    if not git and not (added or deleted):
        # without words for it, git reads a side without lines as no file
        sides = [(hunk.old_count, hunk.new_count) for hunk in change.hunks]
        if not all(old and new for old, new in sides):
            return None
    return header.end()


def _has_modes(change: FileChange, entry: Entry | None) -> bool:
    """Whether the diff leaves the mode as it is, a regular file's."""
    if entry is None:
        return change.new_mode in (None, *_REGULAR)
    said = {change.old_mode, change.new_mode} - {None}
    return entry.mode in _REGULAR and said <= {entry.mode}


def _applied(hunks: Sequence[Hunk], content: bytes) -> bytes | Hunk | None:
    """``content`` with all ``hunks``; the first that has no place; None if one may have several."""
    settled: list[tuple[int, int]] = []
    for hunk in hunks:
        edit = _Edit.of(hunk)
        if edit is None:
            return None
        places = list(edit.places(content, settled)) if edit.old else _only_place(hunk, content)
        if edit.old and not places and not edit.stands_in(content):
            return hunk
        if len(places) != 1:
            return None
        (at,) = places
        end = at + len(edit.old)
        content = content[:at] + edit.new + content[end:]
        grown = len(edit.new) - len(edit.old)
        settled = [
            (first + grown, last + grown) if first >= end else (first, last)
            for first, last in settled
        ]
        settled.append((at, at + len(edit.new)))
    return content


def _only_place(hunk: Hunk, content: bytes) -> list[int]:
    """Where a hunk without an old side goes: into a file that is empty, or new."""
    return [0] if not content and hunk.old_start == 0 else []


@dataclass(frozen=True)
class _Edit:
    """A hunk as bytes: what it takes out, what it puts there, and what holds its place."""

    old: bytes
    new: bytes
    at_start: bool
    at_end: bool

    @classmethod
    def of(cls, hunk: Hunk) -> _Edit | None:
        """None if a line lacks its newline, or nothing changes."""
        marks = [line[:1] for line in hunk.lines]
        if set(marks) <= {b" "} or not all(line.endswith(b"\n") for line in hunk.lines):
            return None
        return cls(
            b"".join(hunk.preimage),
            b"".join(hunk.postimage),
            hunk.old_start <= 1,
            marks[-1] != b" ",
        )

    def stands_in(self, content: bytes) -> bool:
        """Whether its old lines are anywhere, whatever holds its place."""
        return content.startswith(self.old) or b"\n" + self.old in content

    def places(self, content: bytes, settled: Sequence[tuple[int, int]]) -> list[int]:
        """The offsets at which it fits, up to two."""
        found: list[int] = []
        at = content.find(self.old)
        while at >= 0 and len(found) < 2:
            end = at + len(self.old)
            if (
                (at == 0 or (not self.at_start and content[at - 1] == 0x0A))
                and (not self.at_end or end == len(content))
                and not any(first < end and at < last for first, last in settled)
            ):
                found.append(at)
            at = content.find(self.old, at + 1)
        return found
