"""How much is left of a change that landed, if upstream edited its lines since.

Neither merging nor reverting it tells then, so each of its lines is followed from the file as it
landed to the file on the new base: it must be there, in its place or moved, or have become a line
that contains it. If one line is gone, part of the change is: the others prove nothing for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from patchq.engine.judge.landing.effect import act_as_before, takes_others
from patchq.engine.judge.landing.file_lines import (
    NEAR,
    FileLines,
    LineChange,
    compact,
    file_lines,
    stands_at,
    words_in,
)
from patchq.engine.judge.landing.spellings import spelled_alike
from patchq.engine.judge.line_search import is_telling
from patchq.engine.languages.matching import SequenceMatcher

_SAYS = re.compile(rb"\w")
_COMPARES = re.compile(rb"\bnot\b|!(?!=)|[=!<>]=|(?<![<>-])[<>](?![<>])")
_VALUES = re.compile(rb"\b(?:[Tt]rue|[Ff]alse|None|NULL|nullptr|\d[\w.]*)\b")
_ALIKE = 0.6


class Survival(Enum):
    """How much of a change is left."""

    WHOLE = "whole"
    REWRITTEN = "rewritten"  # what is gone was replaced by other code with its words
    PART = "part"
    NONE = "none"


def survival(path: str, without: bytes, landed: bytes, final: bytes) -> Survival:
    """How much of a change to the file ``path`` is left in ``final``.

    ``landed`` is the file of the landing commit, ``without`` the same with the change reverted.
    ``NONE`` is left of a change that only removes lines.
    """
    found = _survival(path, without, landed, final)
    if found is not Survival.WHOLE and (alike := spelled_alike(path, without, landed, final)):
        return _survival(path, *alike)
    return found


def _survival(path: str, without: bytes, landed: bytes, final: bytes) -> Survival:
    c = _compare(path, without, landed, final)
    then, now, added, shifted, removed = c.then, c.now, c.added, c.shifted, c.removed
    later, lost, fresh = c.later, c.lost, c.fresh
    fresh -= takes_others([then[number] for number in added], removed, now)
    kept = {
        number: [place]
        for number in added - lost
        if then.is_kept(number, now, place := stands_at(number, later))
        and (number not in shifted or then.raw[number] == now.raw[place])
    }
    reshaped: set[int] = set()
    for edit in later:
        numbers = sorted(added.intersection(range(edit.first, edit.end)))
        if numbers and then.only_laid_out(edit, now):
            reshaped.update(numbers)
            fresh.difference_update(edit.lines)
            kept |= {number: list(edit.lines) for number in numbers}
            continue
        near = _near(edit, later) if numbers else []
        for number in numbers:
            left = {
                place: now[place]
                for place in near
                if place in fresh
                and then.is_kept(number, now, place)
                and (number not in shifted or then.indent(number) == now.indent(place))
            }
            grown = _grown(then[number], left, removed)
            fresh -= grown
            if grown:
                kept[number] = sorted(grown)
    for number in added & lost:
        moved = _moved(number, then, now, fresh, added)
        kept |= {number: moved} if moved else {}
    if not kept:
        return Survival.NONE
    if removed & _around(added, later, now):
        return Survival.PART
    if kept.keys() < added and not _is_rewritten(added - kept.keys(), c):
        return Survival.PART
    if kept.keys() < added or not act_as_before(kept, reshaped, then, now, fresh):
        return Survival.REWRITTEN
    return Survival.WHOLE


def is_whole(path: str, without: bytes, landed: bytes, final: bytes) -> bool:
    """Whether :func:`survival` is ``WHOLE``; told without parsing if the text of a line is gone."""
    without, landed, final = spelled_alike(path, without, landed, final) or (without, landed, final)
    c = _compare(path, without, landed, final)
    fresh = {c.now[place] for place in c.fresh}
    for edit in c.later:
        numbers = c.added.intersection(range(edit.first, edit.end))
        near = {number: c.now[number] for number in _near(edit, c.later)} if numbers else {}
        for number in numbers:
            line = c.then[number]
            if line not in fresh and not _may_grow(line, near, c.removed):
                return False
    return _survival(path, without, landed, final) is Survival.WHOLE


def taken_out(path: str, without: bytes, landed: bytes, final: bytes) -> frozenset[bytes]:
    """The lines of a change that only adds lines, if all were removed: none is anywhere in
    ``final``, and no code with their words replaced them. Else none."""
    c = _compare(path, without, landed, final)
    lines = {c.then[number] for number in c.added}
    lines = set(filter(is_telling, lines)) or lines
    if c.removed or lines & c.now.said or _is_rewritten(c.added, c):
        return frozenset()
    return frozenset(lines)


@dataclass(frozen=True)
class _Comparison:
    """A file as a change landed, and ``now``, with the edits that came ``later``.

    ``added`` are the numbers of the lines that the change added, ``shifted`` of these the ones that
    it only indented; ``removed`` are the texts of those that it removed.
    """

    then: FileLines
    now: FileLines
    added: frozenset[int]
    shifted: frozenset[int]
    removed: frozenset[bytes]
    later: tuple[LineChange, ...]

    @property
    def lost(self) -> set[int]:
        """The numbers of the lines of ``then`` that were edited since."""
        return {number for edit in self.later for number in range(edit.first, edit.end)}

    @property
    def fresh(self) -> set[int]:
        """The numbers of the lines of ``now`` that are new."""
        return {number for edit in self.later for number in edit.lines}


def _compare(path: str, without: bytes, landed: bytes, final: bytes) -> _Comparison:
    old, then, now = (file_lines(path, text) for text in (without, landed, final))
    made = old.became(then, indented=True)
    taken = {old[n] for edit in made for n in range(edit.first, edit.end) if _says(old[n])}
    added = {n for edit in made for n in edit.lines if _says(then[n])}
    # what landed of a line that was only indented is its indentation
    shifted = {number for number in added if then[number] in taken}
    removed = taken - {then[number] for number in shifted}
    return _Comparison(
        then, now, frozenset(added), frozenset(shifted), frozenset(removed), then.became(now)
    )


def _is_near(edit: LineChange, other: LineChange) -> bool:
    return edit.new_first - NEAR <= other.new_end and other.new_first <= edit.new_end + NEAR


def _near(edit: LineChange, later: Sequence[LineChange]) -> list[int]:
    """The numbers of the new lines at most ``NEAR`` lines from an edit."""
    return sorted(n for other in later if _is_near(edit, other) for n in other.lines)


def _is_rewritten(gone: Collection[int], c: _Comparison) -> bool:
    """Whether upstream replaced the lines ``gone``, rather than just removed one.

    Each has new code in its place, in the same definition and with one of its words; all of its
    words, comparisons and negations are in the new code of the file. Comments do not count.
    """
    running = sorted(c.then.live.intersection(gone)) if c.then.live else sorted(gone)
    new = [n for n in c.fresh if not c.now.live or n in c.now.live]
    words, compares = words_in(c.now[n] for n in new), _compares(c.now[n] for n in new)
    if _compares(c.then[n] for n in running) - compares:
        return False
    for number in running:
        wanted = words_in([c.then[number]])
        places = (n for edit in c.later if edit.first <= number < edit.end for n in edit.lines)
        here = [n for n in places if n in new and c.then.is_kept(number, c.now, n)]
        if not wanted & words_in(c.now[n] for n in here) or wanted - words:
            return False
    return True


def _compares(lines: Iterable[bytes]) -> Counter[bytes]:
    return Counter(found for line in lines for found in _COMPARES.findall(line))


def _grown(line: bytes, near: Mapping[int, bytes], removed: Collection[bytes]) -> set[int]:
    """The numbers of the lines ``near`` that ``line`` became: the one most like it, if more so than
    like any line that the change removed; else those that contain it."""
    alike = {number: _likeness(line, other) for number, other in near.items()}
    best = max(alike, key=lambda number: alike[number], default=None)
    if best is not None and _looks_grown(line, near[best], removed):
        return {best}
    joined = _joined_with(line)
    return {n for n, other in near.items() if joined and joined.search(compact(other))}


def _may_grow(line: bytes, near: Mapping[int, bytes], removed: Collection[bytes]) -> bool:
    """Whether :func:`_grown` may find a line among some of ``near``."""
    joined = _joined_with(line)
    return any(
        _looks_grown(line, other, removed) or (joined and joined.search(compact(other)))
        for other in near.values()
    )


def _looks_grown(line: bytes, other: bytes, removed: Collection[bytes]) -> bool:
    alike = _likeness(line, other)
    return (
        alike >= _ALIKE
        and _says_the_same(line, other)
        and all(_likeness(old, other) < alike for old in removed)
    )


def _joined_with(line: bytes) -> re.Pattern[bytes] | None:
    """A pattern that finds ``line`` as a part of a compact line; None if it is too short."""
    text = compact(line)
    whole = rb"(?<!\w)" + re.escape(text) + rb"(?!\w)"
    return re.compile(whole) if len(text) > 3 else None


def _says_the_same(line: bytes, grown: bytes) -> bool:
    """Whether ``grown`` has the same comparisons and negations, and all constants of ``line``."""
    then, now = (Counter(_COMPARES.findall(text)) for text in (line, grown))
    values, new = (Counter(_VALUES.findall(text)) for text in (line, grown))
    return then == now and values <= new


def _moved(
    number: int, then: FileLines, now: FileLines, fresh: set[int], added: Collection[int]
) -> list[int]:
    """The new places of a line that is long enough, with a neighbour that it already had.

    The same line in other code is another line, perhaps that of another fix.
    """
    places = fresh if is_telling(then[number]) else ()
    return [
        place
        for place in places
        if now[place] == then[number]
        and then.is_kept(number, now, place)
        and any(_goes_along(number, place, step, then, now, added) for step in (-1, 1))
    ]


def _goes_along(
    number: int, place: int, step: int, then: FileLines, now: FileLines, added: Collection[int]
) -> bool:
    """Whether the lines on one side are the same up to one that the change did not add."""
    while then[number] == now[place] and 0 <= number < len(then.bare):
        if number not in added and is_telling(then[number]):
            return True
        number, place = number + step, place + step
    return False


def _around(added: Iterable[int], later: Sequence[LineChange], now: FileLines) -> set[bytes]:
    """The texts of the lines that edits put close to those ``added``."""
    return {
        now[place]
        for edit in later
        if any(edit.first - NEAR <= number <= edit.end + NEAR for number in added)
        for place in edit.lines
    }


@lru_cache(maxsize=4096)
def _likeness(one: bytes, other: bytes) -> float:
    """The similarity of two lines, 0 if it is certainly less than ``_ALIKE``."""
    matcher = SequenceMatcher(None, one.decode("latin-1"), other.decode("latin-1"))
    if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
        return 0
    return matcher.ratio()


def _says(line: bytes) -> bool:
    return _SAYS.search(line) is not None
