"""A patch split into units: the smallest changes that upstream may have taken one by one.

A unit is one hunk of a text file, or the whole change of a file where it has no hunks of its own
to tell apart (added, deleted, renamed, binary, mode). Each unit is a change of tree entries on
the patch's own base, so that git's three-way merge can be asked about it alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from patchq.git.apply import Applied
from patchq.git.objects import GITLINK_MODE, SYMLINK_MODE, Entries, Entry, Objects
from patchq.model.diff import FileChange, Hunk
from patchq.model.diff_layout import split_lines
from patchq.model.patch import Patch


@dataclass(frozen=True)
class Unit:
    """One change: ``before`` and ``after`` are entries by the patch's own (old) paths.

    ``hunks`` are the indexes of its hunks, (0,) for a change without hunks. ``whole`` are the same
    paths after the whole patch; ``edit`` is, for one hunk of several, the range of bytes that it
    replaces and the new bytes.
    """

    file: str
    hunks: tuple[int, ...]
    before: Entries
    after: Entries
    whole: Entries | None = None
    edit: tuple[int, int, bytes] | None = None

    def __hash__(self) -> int:
        return hash((self.file, self.hunks))

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths it touches."""
        return tuple(self.before)


def split_units(patch: Patch, applied: Applied, objects: Objects) -> tuple[Unit, ...]:
    """The units of ``patch`` as it was applied on its own base."""
    names = Counter(path for change in patch.files for path in change.paths)
    units: list[Unit] = []
    for change in patch.files:
        alone = all(names[path] == 1 for path in change.paths)
        hunks = _hunk_units(change, applied, objects) if alone else None
        units.extend(hunks if hunks is not None else [_whole_unit(change, applied)])
    return tuple(units)


@dataclass(frozen=True)
class Region:
    """Lines of one file on the patch's own base: from ``first`` up to, not including, ``end``."""

    path: str
    lines: tuple[bytes, ...]
    first: int
    end: int

    @property
    def inside(self) -> tuple[bytes, ...]:
        """The lines themselves."""
        return self.lines[self.first : self.end]

    @property
    def last(self) -> int:
        """The number of the last line, ``first`` if there is none."""
        return max(self.end - 1, self.first)


def changed_region(unit: Unit, objects: Objects) -> Region | None:
    """The lines that a unit replaces (the two around it, for an insertion).

    None if it is not the edit of one text file.
    """
    if len(unit.paths) != 1:
        return None
    (path,) = unit.paths
    before, after = unit.before[path], unit.after[path]
    if before is None or after is None or not (is_text(before) and is_text(after)):
        return None
    old = split_lines(objects.read(before.oid))
    new = split_lines(objects.read(after.oid))
    first, tail = common_ends(old, new)
    end = len(old) - tail
    if end <= first:
        first, end = max(first - 1, 0), min(first + 1, len(old))
    return Region(path, tuple(old), first, end)


def _whole_unit(change: FileChange, applied: Applied) -> Unit:
    paths = change.paths
    return Unit(
        file=paths[0],
        hunks=tuple(hunk.index for hunk in change.hunks) or (0,),
        before={path: applied.before.get(path) for path in paths},
        after={path: applied.after.get(path) for path in paths},
    )


def _hunk_units(change: FileChange, applied: Applied, objects: Objects) -> tuple[Unit, ...] | None:
    """One unit for each hunk, None if the hunks of the file cannot be told apart for certain."""
    if len(change.hunks) < 2 or len(change.paths) != 1:
        return None
    (path,) = change.paths
    before, after = applied.before.get(path), applied.after.get(path)
    if before is None or after is None or before.mode != after.mode or not is_text(before):
        return None
    lines = split_lines(objects.read(before.oid))
    positions = locate(change.hunks, lines)
    if positions is None:
        return None
    every = splice(lines, list(zip(change.hunks, positions, strict=True)))
    if every != objects.read(after.oid):
        return None
    offsets = [0, *accumulate(map(len, lines))]
    units = []
    for hunk, at in zip(change.hunks, positions, strict=True):
        start, end = offsets[at], offsets[at + len(hunk.preimage)]
        edit = start, end, b"".join(hunk.postimage)
        alone = objects.derive(before.blob_id, *edit)
        entries = {path: before}, {path: Entry(before.mode, alone)}, {path: after}
        units.append(Unit(path, (hunk.index,), *entries, edit))
    return tuple(units)


def joined(units: Sequence[Unit], objects: Objects) -> Unit:
    """Some of the hunks of one file, each of which has its ``edit``, as one unit."""
    if len(units) == 1:
        return units[0]
    ((path, before),) = units[0].before.items()
    assert before is not None
    content, at = objects.read(before.oid), 0
    pieces: list[bytes] = []
    for start, end, text in (unit.edit for unit in units if unit.edit):
        pieces += content[at:start], text
        at = end
    oid = objects.write_blob(b"".join((*pieces, content[at:])))
    hunks = tuple(hunk for unit in units for hunk in unit.hunks)
    return replace(units[0], hunks=hunks, after={path: Entry(before.mode, oid)}, edit=None)


def is_text(entry: Entry) -> bool:
    """Whether an entry is a regular file: no submodule and no symbolic link."""
    return entry.mode not in (GITLINK_MODE, SYMLINK_MODE)


def common_ends(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[int, int]:
    """The numbers of common lines at the beginning of two texts, and in the rest at the end."""
    same = min(len(old), len(new))
    head = _alike(same, lambda low, high: old[low:high] == new[low:high])
    before, behind = len(old), len(new)
    tail = _alike(
        same - head,
        lambda low, high: old[before - high : before - low] == new[behind - high : behind - low],
    )
    return head, tail


def occurrences(content: bytes, text: bytes) -> list[int]:
    """The (0-based) lines at which ``content`` has ``text``, which is whole lines."""
    found = []
    at = content.find(text)
    while at >= 0:
        if at == 0 or content[at - 1 : at] == b"\n":
            found.append(content.count(b"\n", 0, at))
        at = content.find(text, at + 1)
    return found


def _alike(size: int, are_same: Callable[[int, int], bool]) -> int:
    """How many of ``size`` lines are equal from the first on; ``are_same`` compares a range.

    By bisection, so that each line is compared about twice.
    """
    low, high = 0, size
    while low < high:
        middle = (low + high + 1) // 2
        if are_same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def locate(hunks: Sequence[Hunk], lines: list[bytes]) -> tuple[int, ...] | None:
    """The 0-based line of each hunk in ``lines``, in order; None if one has no place.

    As with git apply, the match nearest to the line that the hunk names counts, shifted by the
    offset of earlier hunks.
    """
    positions: list[int] = []
    floor = drift = 0
    for hunk in hunks:
        wanted = hunk.preimage
        start = hunk.old_start - 1 if wanted else hunk.old_start
        at = _nearest(wanted, lines, start + drift, floor)
        if at is None:
            return None
        positions.append(at)
        drift = at - start
        floor = at + len(wanted)
    return tuple(positions)


def _nearest(wanted: Sequence[bytes], lines: list[bytes], around: int, floor: int) -> int | None:
    last = len(lines) - len(wanted)
    if last < floor:
        return None
    if not wanted:
        return min(max(around, floor), last)
    first, *rest = wanted
    places = (at for at in range(floor, last + 1) if lines[at] == first)
    matches = (at for at in places if lines[at + 1 : at + len(wanted)] == rest)
    # of two equally near, the later one
    return min(matches, key=lambda at: (abs(at - around), -at), default=None)


def splice(lines: Sequence[bytes], changes: Sequence[tuple[Hunk, int]]) -> bytes:
    """``lines`` with each hunk applied at its (0-based) line, in order."""
    result: list[bytes] = []
    position = 0
    for hunk, at in changes:
        result.extend(lines[position:at])
        result.extend(hunk.postimage)
        position = at + len(hunk.preimage)
    result.extend(lines[position:])
    return b"".join(result)
