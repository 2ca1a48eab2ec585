"""Whether landed lines that are still in the file still do what they did when they landed.

All of their text may be there while upstream put them under a condition, jumps past them, or undoes
what they do in the next line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from patchq.engine.judge.landing.file_lines import (
    NEAR,
    REMOVES,
    FileLines,
    compact,
    file_lines,
    stands_at,
    words_in,
)
from patchq.engine.judge.landing.headings import (
    SWITCH_KEY,
    is_section,
    is_switched,
    is_under_the_same,
)
from patchq.engine.judge.landing.spellings import spelled_alike
from patchq.engine.languages.tokens import KEYWORDS, Family
from patchq.engine.series.hunks import common_ends, occurrences

_PASSES = re.compile(
    rb"\b(?:return|goto|break|continue|throw|raise|exit)\b|^(?:case\b.*|default\s*):"
)
_SWITCHES = re.compile(rb"-?\s*" + SWITCH_KEY)
_TAKES_BACK = re.compile(REMOVES.pattern + rb"|\b(?:unset|undef|del)\b")
_ITEM = re.compile(rb"[^\s()\";]+")
_REMOVED = re.compile(rb"list\s*\(\s*REMOVE_ITEM\s+\w+\s+([^()$#]*)\)", re.IGNORECASE)
_SETS = re.compile(
    rb"[\w.\[\]>*-]+\s*(?==[^=])|set\s*\(\s*\w+|set\b(?=\s+[-+]\w)|export\s+\w+(?==)"
    rb"|[\w.>-]*set\w*\s*\(\s*[\w.&>-]+(?=\s*,)"
)
_GUARD = re.compile(rb"[}\s]*(?:if|el(?:se\s*)?if|while|until|switch|match|case)\b")
_CONSTANT = (
    rb"(?:[-+]?(?:0x[\da-fA-F]+|\d[\d.]*)[uUlLfF]*|\"[^\"$]*\"|'[^']*'|[Tt]rue|TRUE|[Ff]alse|FALSE|None"
    rb"|NULL|nullptr)"
)
_SETS_CONSTANT = re.compile(
    rb"(?:(?:export|const|auto|int|bool|unsigned|size_t)\s+)*([A-Za-z_]\w*)(?:\s*:[^=]+)?"
    rb"\s*=\s*(?:" + _CONSTANT + rb")\s*;?\s*(?:#.*|//.*)?"
)
_SETS_WORD = re.compile(rb"(?:export\s+)?([A-Za-z_]\w*)=[\w./-]*;?")
"""An assignment of a constant in a shell."""
_TARGET = re.compile(rb"(?<![&\w])\s*&\w+|^(?:[\w*]+\s+)*[A-Za-z_]\w*\s*=(?!=)")
"""The parts of a line that are written but not read: the target of an assignment, an ``&x``."""


class Overruled(Enum):
    """Why landed lines that are unchanged have no effect; ``{}`` stands for the hunks."""

    OFF = "switched lines of {} off, on a condition perhaps"
    SCOPE = "put lines of {} into another scope: a class, function, section or key"
    NAME = "gave the name of what lines of {} are part of, or use, to something else"
    TAKEN_BACK = "put a jump beside lines of {}, or took back what they say"
    SET_BEFORE = "set what lines of {} read to a constant, right before them"


def overruled(
    path: str, without: bytes, changed: bytes, final: bytes, whole: bytes | None = None
) -> Overruled | None:
    """Why lines that a change added have no effect in ``final`` any more, None if they still have.

    ``without`` and ``changed`` are the file before and after the change. Lines that were edited
    since are not looked at. ``whole`` is the file with all changes of the patch: if given, it is
    parsed in place of ``changed``, once for all of them.
    """
    found = _why(path, without, changed, final, whole)
    alike = spelled_alike(path, without, whole or changed, changed, final) if found else ()
    if alike:
        without, read, changed, final = alike
        found = _why(path, without, changed, final, whole and read)
    return found


def _why(
    path: str, without: bytes, changed: bytes, final: bytes, whole: bytes | None
) -> Overruled | None:
    old, then, now = (file_lines(path, text) for text in (without, changed, final))
    head, tail = common_ends(old.raw, then.raw)
    added = range(head, len(then.raw) - tail)
    removed = old.bare[head : len(old.bare) - tail]
    others = takes_others([then[number] for number in added], removed, now)
    shift = _shift(added, then, now)
    later = then.became(now) if shift is None else ()
    lost = {number for edit in later for number in range(edit.first, edit.end)}
    read = then if whole is None else file_lines(path, whole)
    moved = _shift(added, then, read)
    if moved is None:
        read, moved = then, 0
    found = (
        Overruled.OFF
        if place not in now.live
        else _overruled(number + moved, [place], read, now, _fresh(place, read, now) - others)
        for number in added
        if number not in lost and number + moved in read.live
        for place in [stands_at(number, later) + (shift or 0)]
    )
    return next(filter(None, found), None)


def takes_others(added: Iterable[bytes], removed: Iterable[bytes], now: FileLines) -> set[int]:
    """The lines that only take items out of lists of CMake which a change did not put in."""
    if not now.removers:
        return set()
    brought, before = (set(_ITEM.findall(b" ".join(lines))) for lines in (added, removed))
    names = {item.rpartition(b"/")[2] for item in brought - before}
    if any(b"}" in name for name in names):
        return set()  # a variable may hold any
    found = ((number, _REMOVED.fullmatch(now[number])) for number in now.removers)
    return {
        number
        for number, match in found
        if match and names.isdisjoint(i.rpartition(b"/")[2] for i in _ITEM.findall(match[1]))
    }


def _fresh(place: int, then: FileLines, now: FileLines) -> set[int]:
    """The new lines near the line ``place``, and all new lines that take items out of lists."""
    near = range(max(place - NEAR, 0), min(place + NEAR + 1, len(now.bare)))
    return {n for n in (*near, *now.removers) if now.bare[n] not in then.said}


def _shift(lines: range, then: FileLines, now: FileLines) -> int | None:
    """By how many lines ``lines`` of ``then`` are shifted in ``now``; None unless they are, with
    their context, in exactly one place there."""
    first, end = max(lines.start - NEAR, 0), min(lines.stop + NEAR, len(then.raw))
    places = occurrences(now.joined, b"\n".join((*then.raw[first:end], b"")))
    return places[0] - first if len(places) == 1 else None


def act_as_before(
    kept: Mapping[int, Sequence[int]],
    reshaped: Collection[int],
    then: FileLines,
    now: FileLines,
    fresh: Collection[int],
) -> bool:
    """Whether no line of ``kept`` (line of ``then``: its lines in ``now``) lost its effect.

    A line may have got more list items; those in ``reshaped`` are known to be equivalent.
    ``fresh`` are the new lines of ``now`` that no landed line became.
    """
    return all(
        (number in reshaped or then.only_grew(number, now, places))
        and _overruled(number, places, then, now, fresh) is None
        for number, places in kept.items()
    )


def _overruled(
    number: int, places: Sequence[int], then: FileLines, now: FileLines, fresh: Collection[int]
) -> Overruled | None:
    """Why a line of ``then`` has no effect at ``places`` in ``now``: more conditions, another name
    above it, ``fresh`` lines that undo it. None if it has, or never had any."""
    if number not in then.live:
        return None
    if then.is_narrower(number, now, places):
        return Overruled.OFF
    if not any(is_under_the_same(then, number, now, place) for place in places):
        return Overruled.SCOPE
    if all(is_switched(then, number, now, place) for place in places):
        return Overruled.OFF
    if not then.keeps_names(number, now, places):
        return Overruled.NAME
    if any(_is_taken_back(place, fresh, now) for place in places):
        return Overruled.TAKEN_BACK
    return (
        Overruled.SET_BEFORE if any(_is_set_before(place, then, now) for place in places) else None
    )


def _is_taken_back(place: int, fresh: Collection[int], now: FileLines) -> bool:
    """Whether adjacent ``fresh`` lines jump past a line or undo it, or any ``fresh`` line below it
    takes its item out of a list."""
    line = now[place]
    above, below = ([now[n] for n in _run(place, step, fresh, now)] for step in (-1, 1))
    subject, own = _subject(line), words_in([line])
    return (
        any(map(_PASSES.search, above))
        or any(map(_SWITCHES.match, (*above, *below)))
        or any(subject and _subject(other) == subject for other in below)
        or any(_TAKES_BACK.search(other) and own & words_in([other]) for other in below)
        or any(
            n > place and (own - KEYWORDS) & words_in([now[n]]) for n in now.removers if n in fresh
        )
    )


def _is_set_before(place: int, then: FileLines, now: FileLines) -> bool:
    """Whether new lines right above a line, or above a condition that it is under, set a variable
    that it reads to a constant."""
    guards = (at for at in now.above(place) if _GUARD.match(now[at]))
    for at in (place, *guards):
        new = {n for n in range(max(at - NEAR, 0), at) if now.bare[n] not in then.said}
        if not new:
            continue
        read = words_in([_TARGET.sub(b"", now[at])])
        for number in _run(at, -1, new, now):
            match = _SETS_CONSTANT.fullmatch(now[number])
            if match is None and now.kind is Family.OTHER:
                match = _SETS_WORD.fullmatch(now[number])
            if match and match[1] in read and now.indent(number) == now.indent(at):
                return True
    return False


def _run(place: int, step: int, fresh: Collection[int], now: FileLines) -> Iterator[int]:
    """The run of new lines right above (``step`` -1) or below (1) a line, within its block."""
    indent = len(now.indent(place))
    number = place + step
    while 0 <= number < len(now.raw) and (number in fresh or not now[number]):
        item = now[number if step > 0 else number + 1]  # a list item in YAML is another block
        if item.startswith(b"- ") or is_section(now, number):
            return
        if now[number] and (len(now.indent(number)) < indent or now.is_apart(number, place)):
            return
        yield number
        number += step


def _subject(line: bytes) -> bytes:
    """The name that a line assigns to, empty if it is no assignment."""
    match = _SETS.match(line)
    return compact(match[0]) if match else b""
