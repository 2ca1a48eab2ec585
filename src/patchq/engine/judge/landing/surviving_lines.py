"""What is left of a change that landed, if upstream edited the lines again.

Neither a clean merge nor a clean removal tells then whether upstream still has it, so its lines
are followed, one by one, from the file as it landed to the file at the end: each must stand, in
its place or another, or have become one that grew from it. A line that only went is lost, and so
is the change, in part: its other lines prove nothing for this one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from functools import lru_cache

from patchq.engine.series.hunks import common_ends

_SAYS = re.compile(rb"\w")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,}")
_ALIKE = 0.6
_NEAR = 3
"""So many lines around those that were replaced may hold what grew from them."""


class Survival(Enum):
    """How much of a change is left."""

    WHOLE = "whole"
    PART = "part"
    NONE = "none"


def survival(without: bytes, landed: bytes, final: bytes) -> Survival:
    """How much of a change shows in ``final``.

    ``landed`` is the file as the change left it upstream, ``without`` the same but for the change.
    Of a change that only takes lines out nothing is left to be seen.
    """
    old, then, now = (_lines(text) for text in (without, landed, final))
    edits = tuple(_edits(old, then))
    removed = {line for edit in edits for line in old[edit.first : edit.end] if _says(line)}
    added = [
        number
        for edit in edits
        for number in range(edit.new_first, edit.new_end)
        if _says(then[number])
    ]
    later = tuple(_edits(then, now))
    fresh = Counter(line for edit in later for line in now[edit.new_first : edit.new_end])
    lost = {number for edit in later for number in range(edit.first, edit.end)}
    kept = [number for number in added if number not in lost]
    used: set[int] = set()
    for edit in later:
        near = [
            number
            for other in later
            if edit.new_first - _NEAR <= other.new_end and other.new_first <= edit.new_end + _NEAR
            for number in range(other.new_first, other.new_end)
        ]
        for number in added:
            if edit.first <= number < edit.end:
                left = {place: now[place] for place in near if place not in used}
                grown = _grown(then[number], left, removed)
                used |= grown
                kept += [number] if grown else []
    moved = [number for number in added if number not in kept and _moved(then[number], fresh)]
    if not added or not (kept or moved):
        return Survival.NONE
    back = removed & _around(added, later, now)
    whole = len(kept) + len(moved) == len(added) and not back
    return Survival.WHOLE if whole else Survival.PART


@dataclass(frozen=True)
class _Edit:
    """Lines from ``first`` up to ``end`` that became those from ``new_first`` to ``new_end``."""

    first: int
    end: int
    new_first: int
    new_end: int


def _lines(text: bytes) -> list[bytes]:
    return [line.strip() for line in text.split(b"\n")]


def _edits(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[_Edit]:
    head, tail = common_ends(old, new)
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
    for kind, first, end, new_first, new_end in matcher.get_opcodes():
        if kind != "equal":
            yield _Edit(head + first, head + end, head + new_first, head + new_end)


def _grown(line: bytes, near: Mapping[int, bytes], removed: set[bytes]) -> set[int]:
    """The lines ``near`` that grew from ``line``, by number: one that looks like it, and more so
    than like any line that the change took out, or those that it was joined with."""
    alike = {number: _likeness(line, other) for number, other in near.items()}
    best = max(alike, key=lambda number: alike[number], default=None)
    if (
        best is not None
        and alike[best] >= _ALIKE
        and all(_likeness(old, near[best]) < alike[best] for old in removed)
    ):
        return {best}
    compact = _compact(line)
    return {n for n, other in near.items() if len(compact) > 3 and compact in _compact(other)}


def _moved(line: bytes, fresh: Counter[bytes]) -> bool:
    """Whether a line that says enough stands in another place; it is taken from ``fresh``."""
    if len(set(_WORD.findall(line))) < 2 or not fresh[line]:
        return False
    fresh[line] -= 1
    return True


def _around(added: Sequence[int], later: Sequence[_Edit], now: Sequence[bytes]) -> set[bytes]:
    """The lines that were put close to those ``added``."""
    return {
        line
        for edit in later
        if any(edit.first - _NEAR <= number <= edit.end + _NEAR for number in added)
        for line in now[edit.new_first : edit.new_end]
    }


def _compact(line: bytes) -> bytes:
    return re.sub(rb"\s", b"", line)


@lru_cache(maxsize=4096)
def _likeness(one: bytes, other: bytes) -> float:
    """How alike two lines are; 0 if it is certainly less than what counts."""
    matcher = SequenceMatcher(None, one.decode("latin-1"), other.decode("latin-1"))
    if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
        return 0
    return matcher.ratio()


def _says(line: bytes) -> bool:
    return _SAYS.search(line) is not None
