"""What merging one unit would give, if the text alone tells.

Most commits edit other parts of a file than the hunk in question. If the hunk's old text, with
context, is in the file exactly once and its new text is not, the hunk applies; the other way round,
the file has it. Anything else is left to git's merge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1

from patchq.engine.series.hunks import Unit, common_ends
from patchq.git.merge import MergeState
from patchq.git.objects import GITLINK_MODE, SYMLINK_MODE, Entries, Objects
from patchq.model.diff_layout import split_lines
from patchq.model.ids import ObjectId
from patchq.recent import Recent

_CONTEXT = 3
_RUN = 5
_FAR = (10, 25, 60, 120)
"""Distances in lines from a hunk at which a run of lines may mark the end of its surroundings."""
_START = b"\0\n"
_END = b"\0"
_HELD = 8 << 20
"""How many bytes of files are kept: questions about one commit come together."""
_NO_LINES = (GITLINK_MODE, SYMLINK_MODE)


@dataclass(frozen=True)
class _Texts:
    """The two sides of a hunk with their context; None if one is in its file more than once.

    ``fresh`` are lines that only the new side has, and no other part of the file. ``marks`` are
    runs of lines above and below the hunk that are in its file once, the nearest first.
    """

    sides: tuple[bytes, bytes] | None
    fresh: tuple[bytes, ...]
    marks: tuple[tuple[bytes, ...], tuple[bytes, ...]]


class TextCheck:
    """Compares units with files; a file is read once if the questions about it come together."""

    def __init__(self, objects: Objects):
        self._objects = objects
        self._files: Recent[ObjectId, bytes] = Recent(_HELD, len)
        self._texts: dict[Unit, _Texts | None] = {}

    def state(self, unit: Unit, ours: Entries) -> MergeState:
        """The state of ``unit`` on ``ours`` as the text tells it, else ``UNKNOWN``.

        A file without one of the unit's new lines does not have the unit: ``NOT_EMPTY``.
        """
        if ours == unit.whole:
            return MergeState.EMPTY
        texts = self._read(unit)
        entry = next(iter(ours.values()), None)
        if texts is None or entry is None or entry.mode in _NO_LINES:
            return MergeState.UNKNOWN
        content = self._file(entry.oid)
        if texts.sides is not None:
            counts = tuple(_count(side, content) for side in texts.sides)
            if counts == (1, 0):
                return MergeState.APPLIES
            if counts == (0, 1):
                return MergeState.EMPTY
        missing = any(line not in content for line in texts.fresh)
        return MergeState.NOT_EMPTY if missing else MergeState.UNKNOWN

    def surroundings(self, unit: Unit, ours: Entries) -> tuple[object, ...]:
        """A key for what a merge of ``unit`` into ``ours`` depends on: equal keys, equal outcomes.

        That is the text between a run of lines above the hunk and one below it that are in the file
        exactly once, or up to the ends of the file.
        """
        texts, entry = self._read(unit), next(iter(ours.values()), None)
        if texts is None or entry is None or entry.mode in _NO_LINES:
            return tuple(ours.items())
        content = self._file(entry.oid)
        above, below = (
            next((mark for mark in marks if _count(mark, content) == 1), b"")
            for marks in texts.marks
        )
        first, end = content.find(above), content.find(below) if below else len(content)
        if first > end:
            return tuple(ours.items())
        return entry.mode, above, below, sha1(content[first:end]).digest()

    def _read(self, unit: Unit) -> _Texts | None:
        if unit not in self._texts:
            self._texts[unit] = self._sides(unit)
        return self._texts[unit]

    def _sides(self, unit: Unit) -> _Texts | None:
        if len(unit.paths) != 1:
            return None
        (path,) = unit.paths
        before, after = unit.before[path], unit.after[path]
        if before is None or after is None or before.mode != after.mode:
            return None
        if before.mode in _NO_LINES:
            return None
        old, new = (split_lines(self._objects.read(entry.oid)) for entry in (before, after))
        head, tail = common_ends(old, new)
        first, rest = max(head - _CONTEXT, 0), max(tail - _CONTEXT, 0)
        # a hunk with few lines of context is at the start or the end of the file
        start = b"\n" if head >= _CONTEXT else _START
        end = b"" if tail >= _CONTEXT else _END
        sides = [start + b"".join(lines[first : len(lines) - rest]) + end for lines in (old, new)]
        there = self._file(before.oid), _START + self._objects.read(after.oid) + _END
        unique = all(_count(side, file) == 1 for side, file in zip(sides, there, strict=True))
        added = dict.fromkeys(b"\n" + line for line in new[head : len(new) - tail])
        fresh = (line for line in added if line.strip() and line not in there[0])
        above, below = (
            tuple(run for run in _runs(old, places) if _count(run, there[0]) == 1)
            for places in (
                [head - far - _RUN for far in _FAR],
                [len(old) - tail + far for far in _FAR],
            )
        )
        return _Texts((sides[0], sides[1]) if unique else None, tuple(fresh), (above, below))

    def _file(self, oid: ObjectId) -> bytes:
        """The content between line ends, so that whole lines can be searched for."""
        content = self._files.get(oid)
        if content is None:
            content = _START + self._objects.read(oid) + _END
            self._files.keep(oid, content)
        return content


def _runs(lines: Sequence[bytes], places: Iterable[int]) -> Iterator[bytes]:
    """The runs of lines that begin at ``places``, each between line ends."""
    for first in places:
        if 0 <= first <= len(lines) - _RUN:
            yield b"\n" + b"".join(lines[first : first + _RUN])


def _count(text: bytes, content: bytes) -> int:
    """How often ``text`` is in ``content``: 0, 1, or 2 for more.

    Two in a row share a line end, which bytes.count would count for one of them only.
    """
    first = content.find(text)
    if first < 0:
        return 0
    return 1 if content.find(text, first + 1) < 0 else 2
