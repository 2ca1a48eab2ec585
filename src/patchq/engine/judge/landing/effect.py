"""Whether lines that stand, or grew, still do what they did when they landed.

Their words may all be there while upstream put them under a condition, jumps past them, or takes
back what they say in the next line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from patchq.engine.languages.tokens import KEYWORDS, Family
from patchq.engine.series.hunks import common_ends, occurrences

_PASSES = re.compile(
    rb"\b(?:return|goto|break|continue|throw|raise|exit)\b|^(?:case\b.*|default\s*):"
)
_SWITCHES = re.compile(rb"-?\s*" + SWITCH_KEY)
_TAKES_BACK = re.compile(REMOVES.pattern + rb"|\b(?:unset|undef|del)\b")
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
"""The same in a shell."""
_TARGET = re.compile(rb"(?<![&\w])\s*&\w+|^(?:[\w*]+\s+)*[A-Za-z_]\w*\s*=(?!=)")
"""What a line sets, or has set, but does not read."""


class Overruled(Enum):
    """What upstream did about lines that stand as they landed; ``{}`` are those."""

    OFF = "switched lines of {} off, on a condition perhaps"
    SCOPE = "put lines of {} into another scope: a class, function, section or key"
    NAME = "gave the name of what lines of {} are part of, or use, to something else"
    TAKEN_BACK = "put a jump beside lines of {}, or took back what they say"
    SET_BEFORE = "set what lines of {} read to a constant, right before them"


def overruled(
    path: str, without: bytes, changed: bytes, final: bytes, whole: bytes | None = None
) -> Overruled | None:
    """What keeps the lines that a change put into a file, and that stand in ``final`` as they are,
    from what they did; None if they may run there as before: not switched off since, nor on more
    conditions.

    ``whole`` is the file with all the changes that belong together: it is read once for all.
    """
    old, then, now = (file_lines(path, text) for text in (without, changed, final))
    head, tail = common_ends(old.raw, then.raw)
    added = range(head, len(then.raw) - tail)
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
        else _overruled(number + moved, [place], read, now, _fresh(place, read, now))
        for number in added
        if number not in lost and number + moved in read.live
        for place in [stands_at(number, later) + (shift or 0)]
    )
    return next(filter(None, found), None)


def _fresh(place: int, then: FileLines, now: FileLines) -> set[int]:
    """The lines close to one that no line was before, and those that take items out of lists."""
    near = range(max(place - NEAR, 0), min(place + NEAR + 1, len(now.bare)))
    return {n for n in (*near, *now.removers) if now.bare[n] not in then.said}


def _shift(lines: range, then: FileLines, now: FileLines) -> int | None:
    """How far from their place some lines of ``then`` stand in ``now``; None if they do not stand
    in exactly one place there, with those around them."""
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
    """Whether all lines that were ``kept`` still do what they did, for all that the text shows.

    Those ``reshaped`` are known to say it; nothing that landed became the ``fresh`` lines.
    """
    return all(
        (number in reshaped or then.only_grew(number, now, places))
        and _overruled(number, places, then, now, fresh) is None
        for number, places in kept.items()
    )


def _overruled(
    number: int, places: Sequence[int], then: FileLines, now: FileLines, fresh: Collection[int]
) -> Overruled | None:
    """What keeps a line at ``places`` from what it did, if it did anything: other names above it,
    more conditions, ``fresh`` lines that take it back."""
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
    """Whether ``fresh`` lines right beside one jump past it, or take back what it says; or any
    below it takes it out of a list."""
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
    """Whether new lines right above a line, or a condition on it, set what that reads to a
    constant."""
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
    """The new lines right above or below a line that may belong to the same block."""
    indent = len(now.indent(place))
    number = place + step
    while 0 <= number < len(now.raw) and (number in fresh or not now[number]):
        item = now[number if step > 0 else number + 1]  # of a list in YAML: not the same block
        if item.startswith(b"- ") or is_section(now, number):
            return
        if now[number] and (len(now.indent(number)) < indent or now.is_apart(number, place)):
            return
        yield number
        number += step


def _subject(line: bytes) -> bytes:
    """What a line sets, empty if it sets nothing."""
    match = _SETS.match(line)
    return compact(match[0]) if match else b""
