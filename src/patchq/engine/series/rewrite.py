"""The bytes a carried patch is written with: as few of them new as can be.

A file section that strict ``git apply`` and GNU patch without fuzz both place on the new base just
as the merge did keeps its bytes; one that moved gets git's new header over its old hunks; only what
still differs is written anew from the trees. Whatever comes out is applied to the new base and
compared with the merge's tree before anyone sees it.

Without fuzz GNU patch and ``git apply`` agree on which lines match, but not on where they may
stand: a hunk with fewer lines of context behind its change than before it must match at the end of
the file for GNU patch, and of several places that match each has its own way to choose. The rules
are those of ``locate_hunk`` in patch.c of GNU patch 2.7; a fuzz that is allowed for is only tried
where these find no place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum

from patchq.engine.series.hunks import is_text, splice
from patchq.engine.series.stack import Stack
from patchq.errors import PatchqError
from patchq.git.apply import Applied
from patchq.git.mail import Mailer
from patchq.git.objects import Entries, Objects
from patchq.model.diff import ChangeKind, FileChange, Hunk, scan
from patchq.model.diff_layout import laid_out, split_lines
from patchq.model.header import replace_path
from patchq.model.ids import TreeId
from patchq.model.patch import Patch

_NAME = rb"""(?:"(?:[^"\\\0-\x1f]|\\.)*"|[^"\0-\x1f]+)"""
_HEADER = re.compile(
    rb"(?:diff --git %(name)s %(name)s|(?:---|\+\+\+) %(name)s(?:\t[^\0]*)?|Index: .*"
    rb"|(?:old|new|deleted file|new file) mode \d{6}|(?:dis)?similarity index \d+%%"
    rb"|(?:rename|copy) (?:from|to) %(name)s|index [0-9a-f]+\.\.[0-9a-f]+(?: \d{6})?)\r?\n"
    % {b"name": _NAME}
)
"""The lines of a header, as git and other tools write them."""
_MARK = re.compile(
    rb"diff --git |(?:---|\+\+\+) \S|@@ -\d|Index: |(?:old|new|deleted file|new file) mode "
    rb"|(?:dis)?similarity |(?:rename|copy) (?:from|to) |index [0-9a-f]+\.\."
)
"""How lines begin that GNU patch or git may take for one of a header."""


class Rewrite(Enum):
    """How much of a patch had to be written anew."""

    NONE = "none"
    PATHS = "paths"
    HUNKS = "hunks"


@dataclass(frozen=True)
class Carried:
    """A patch for the new base; ``for_gnu_patch``: rewritten though git would place it right."""

    patch: Patch
    rewrite: Rewrite
    for_gnu_patch: bool = False


class Carrier:
    """Writes patches for trees of one store."""

    def __init__(self, stack: Stack, mailer: Mailer, objects: Objects):
        self._stack = stack
        self._mailer = mailer
        self._objects = objects

    def carry(
        self,
        patch: Patch,
        ours: TreeId,
        result: TreeId,
        before: Entries,
        after: Entries,
        moves: Mapping[str, str],
    ) -> Carried:
        """Write ``patch`` so that it takes tree ``ours`` to tree ``result``.

        ``before`` and ``after`` are the touched entries of both by their new paths; ``moves`` maps
        the patch's old paths to new ones where they differ.
        """
        stray = set(self._objects.differing(ours, result)).difference(before, after)
        if stray:
            names = ", ".join(sorted(stray))
            raise PatchqError(f"{patch.name}: the merge touched {names}, which are not the patch's")
        if not moves and self._gives(patch, ours, result):
            return Carried(patch, Rewrite.NONE)
        for_gnu_patch = not moves and self._git_gives(patch, ours, result)
        written = self._mailer.diff(
            self._objects.tree_of(before), self._objects.tree_of(after), strip=patch.strip
        )
        fresh = {_key(change): (written, change) for change in scan(written, strip=patch.strip)}
        for rewrite, diff in (
            (Rewrite.PATHS, _with_new_paths(patch, fresh, moves)),
            (Rewrite.HUNKS, self._with_new_hunks(patch, fresh, moves, ours, result)),
            (Rewrite.HUNKS, written),
        ):
            if diff is None:
                continue
            candidate = replace(patch, raw=patch.head + diff)
            if self._gives(candidate, ours, result):
                return Carried(candidate, rewrite, for_gnu_patch)
        if self._git_gives(candidate, ours, result):
            return Carried(candidate, Rewrite.HUNKS, for_gnu_patch)
        raise PatchqError(f"{patch.name}: git's own diff does not apply to the tree it was made of")

    def _git_gives(self, patch: Patch, ours: TreeId, result: TreeId) -> bool:
        applied = self._stack.try_apply(ours, patch)
        return isinstance(applied, Applied) and applied.tree == result

    def _gives(self, patch: Patch, ours: TreeId, result: TreeId) -> bool:
        applied = self._stack.try_apply(ours, patch)
        return (
            isinstance(applied, Applied)
            and applied.tree == result
            and applies_alike(patch, applied, self._objects)
        )

    def _with_new_hunks(
        self,
        patch: Patch,
        fresh: Mapping[_Key, tuple[bytes, FileChange]],
        moves: Mapping[str, str],
        ours: TreeId,
        result: TreeId,
    ) -> bytes | None:
        """Keep each section that by itself still does to its file what the merge does."""
        parts: list[bytes] = []
        used = set()
        for change in patch.files:
            key = _moved(change, moves)
            section = patch.diff[change.start : change.end]
            if key not in fresh:
                if any(path in fresh_paths for fresh_paths in fresh for path in key if path):
                    return None
                continue  # upstream has all of this section
            used.add(key)
            if key == _key(change) and self._keeps(patch.section(change), key, ours, result):
                parts.append(section)
            else:
                written, new = fresh[key]
                parts.append(written[new.start : new.end])
        return b"".join(parts) if used == fresh.keys() else None

    def _keeps(self, alone: Patch, key: _Key, ours: TreeId, result: TreeId) -> bool:
        applied = self._stack.try_apply(ours, alone)
        return (
            isinstance(applied, Applied)
            and applies_alike(alone, applied, self._objects)
            and all(
                self._objects.file(applied.tree, path) == self._objects.file(result, path)
                for path in key
                if path
            )
        )


_Key = tuple[str | None, str | None]


def _key(change: FileChange) -> _Key:
    return change.old, change.new


def _moved(change: FileChange, moves: Mapping[str, str]) -> _Key:
    return tuple(moves.get(path, path) if path else None for path in _key(change))  # type: ignore[return-value]


def _with_new_paths(
    patch: Patch, fresh: Mapping[_Key, tuple[bytes, FileChange]], moves: Mapping[str, str]
) -> bytes | None:
    """The patch's own hunks under git's headers for the new paths, the rest untouched."""
    if not moves:
        return None
    parts: list[bytes] = []
    for change in patch.files:
        section = patch.diff[change.start : change.end]
        key = _moved(change, moves)
        if key == _key(change):
            parts.append(section)
        elif key not in fresh:
            return None
        else:
            written, new = fresh[key]
            header = b"".join(_header_lines(written[new.start : new.end]))
            body = section[len(b"".join(_header_lines(section))) :]
            parts.append(header + body)
    return b"".join(parts)


def _header_lines(section: bytes) -> Iterator[bytes]:
    """The lines of a file section before its first hunk or binary data."""
    for line in section.splitlines(keepends=True):
        if line.startswith((b"@@ -", b"GIT binary patch")):
            return
        yield line


def with_moved_predicates(patch: Patch, moved: Mapping[str, str]) -> Patch:
    """``patch`` with the paths of its header's predicates rewritten, all else byte for byte."""
    head = patch.head
    for old, new in moved.items():
        head = replace_path(head, old, new)
    return patch if head == patch.head else replace(patch, raw=head + patch.diff)


def applies_alike(patch: Patch, applied: Applied, objects: Objects) -> bool:
    """Whether GNU patch makes the same files of ``patch`` as git, which gave ``applied``.

    Only hunks are looked at: what a patch does without any (modes, names, binary files) is done by
    both tools, or by git alone. Of headers that are not as tools write them git understands more.
    """
    if not _is_plain(patch):
        return False
    contents: dict[str, bytes] = {}
    for change in patch.files:
        if change.old is None or change.new is None or not change.hunks:
            continue
        entry = applied.before.get(change.old)
        if entry is None or not is_text(entry):
            continue
        if change.old not in contents:
            contents[change.old] = objects.blob(entry)
        lines = split_lines(contents[change.old])
        places = gnu_places(change.hunks, lines)
        if places is None:
            return False
        contents[change.new] = splice(lines, list(zip(change.hunks, places, strict=True)))
    return all(_is(content, path, applied, objects) for path, content in contents.items())


def _is_plain(patch: Patch) -> bool:
    """Whether the headers name their files as tools write them, and no new or deleted one twice."""
    named = Counter(path for change in patch.files for path in change.paths)
    ends = [change for change in patch.files if change.old is None or change.new is None]
    if any(named[path] > 1 for change in ends for path in change.paths):
        return False
    if any(b"+" in hunk.lines for change in patch.files for hunk in change.hunks):
        return False  # a line of nothing without an end, which GNU patch refuses
    lines, sections = laid_out(patch.diff)
    for section, change in zip(sections, patch.files, strict=True):
        header = [line for line in lines[section.start : section.body] if _MARK.match(line)]
        if not all(map(_HEADER.fullmatch, header)):
            return False
        if any(line.startswith(b"diff --git") and _differ(line, change) for line in header):
            return False
        if sum(line.startswith((b"--- ", b"+++ ")) for line in header) not in (0, 2):
            return False
    stops = [*(section.start for section in sections[1:]), len(lines)]
    prose = [
        line
        for section, end in zip(sections, stops, strict=True)
        for line in lines[section.tail : end]
    ]
    return not any(map(_MARK.match, (*prose, *split_lines(patch.head))))


def barred(head: bytes) -> bytes:
    """Prose above a diff in which GNU patch finds no diff."""
    return b"".join(b"  | " + line if _MARK.match(line) else line for line in split_lines(head))


def _differ(line: bytes, change: FileChange) -> bool:
    """Whether the names of a ``diff --git`` line differ though the file stays where it is."""
    if change.kind in (ChangeKind.RENAME, ChangeKind.COPY):
        return False
    names = line.removeprefix(b"diff --git ").rstrip(b"\r\n")
    first, second = names[: len(names) // 2], names[len(names) // 2 + 1 :]
    return first.partition(b"/")[2] != second.partition(b"/")[2]


def _is(content: bytes, path: str, applied: Applied, objects: Objects) -> bool:
    entry = applied.after.get(path, applied.before.get(path))
    return path not in applied.after or entry is None or objects.blob(entry) == content


def gnu_places(hunks: Sequence[Hunk], lines: Sequence[bytes]) -> tuple[int, ...] | None:
    """The line (from 0) where GNU patch puts each hunk, None if it refuses one."""
    positions = []
    drift = frozen = 0
    for hunk in hunks:
        first = hunk.old_start + (0 if hunk.preimage else 1)
        place = _place(hunk, lines, first, first + drift, frozen)
        if place is None:
            return None
        drift = place - first
        frozen = place - 1 + len(hunk.preimage) - _context(hunk)[1]
        positions.append(place - 1)
    return tuple(positions)


def _place(hunk: Hunk, lines: Sequence[bytes], first: int, guess: int, frozen: int) -> int | None:
    """The place of one hunk, counted from 1 as GNU patch does; ``frozen`` is the last line that
    the hunks before it settled."""
    wanted = hunk.preimage
    if not wanted:
        return guess
    before, behind = _context(hunk)
    last = len(lines) - len(wanted) + 1

    def matches(place: int) -> bool:
        return tuple(lines[place - 1 : place - 1 + len(wanted)]) == wanted

    if before < behind and first <= 1:
        return 1 if frozen <= before and last >= 1 and matches(1) else None
    if behind < before:
        return last if last > frozen and last >= 1 and matches(last) else None
    places = [place for place in _lines_like(wanted[0], lines, frozen, last) if matches(place)]
    # of two as near, the one further down
    return min(places, key=lambda place: (abs(place - guess), -place), default=None)


def _lines_like(line: bytes, lines: Sequence[bytes], frozen: int, last: int) -> Iterator[int]:
    """The numbers, from 1, of the lines behind ``frozen`` up to ``last`` that are like ``line``."""
    place = max(frozen, 0)
    with suppress(ValueError):
        while True:
            place = lines.index(line, place, max(last, 0)) + 1
            yield place


def _context(hunk: Hunk) -> tuple[int, int]:
    """How many lines of context stand before the first change and behind the last."""
    changed = [number for number, line in enumerate(hunk.lines) if line[:1] in (b"+", b"-")]
    if not changed:
        return len(hunk.lines), 0
    return changed[0], len(hunk.lines) - 1 - changed[-1]
