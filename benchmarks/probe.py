"""A patch whose fate is known, what may be said of it, and what was said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from source import Function, functions

from patchq.model.ids import TreeId
from patchq.model.patch import Patch
from patchq.model.verdict import ACTIONS, Action, EvidenceKind, PatchReport, Verdict

_LINE = re.compile(rb"^[ \t]*patchq_probe_[0-9a-f]+(?: = 1|\(1\);)\r?\n", re.M)
_COMMENT = re.compile(rb"(?:  # patchq_probe_[0-9a-f]+| /\* patchq_probe_[0-9a-f]+ \*/)")


class Fate(Enum):
    """The groups: what upstream did to the place of a patch."""

    VERBATIM = "function in another file, unchanged"
    CHANGED = "function in another file, changed"
    RENAMED = "function renamed"
    REMOVED = "function or file removed"
    REPLACED = "function gone, other code in its place"
    FILE = "file renamed to another stem"
    STACKED = "stands on a patch that collides"
    FUTURE = "commit past both tags"


class Outcome(Enum):
    """What was made of a patch."""

    RIGHT = "carried, rightly"
    ELSEWHERE = "carried, wrongly"
    NAMED = "review, the place named"
    REVIEW = "review"
    UNREACHABLE = "retired as unreachable"
    RETIRED = "retired otherwise"
    LOWER_CARRIED = "nothing to say: the patch below is carried"
    FAILED = "failed"


_CARRIED = frozenset({Outcome.RIGHT})
_ASKED = frozenset({Outcome.NAMED, Outcome.REVIEW})

WANTED: Mapping[Fate, frozenset[Outcome]] = {
    Fate.VERBATIM: _CARRIED,
    Fate.CHANGED: _CARRIED | {Outcome.NAMED},
    Fate.RENAMED: _CARRIED | {Outcome.NAMED},
    Fate.REMOVED: frozenset({Outcome.UNREACHABLE}),
    Fate.REPLACED: _ASKED,
    Fate.FILE: _CARRIED,
    Fate.STACKED: frozenset({Outcome.NAMED, Outcome.LOWER_CARRIED}),
    Fate.FUTURE: _CARRIED,
}
"""What is asked for."""

SAFE: Mapping[Fate, frozenset[Outcome]] = {
    **dict.fromkeys(Fate, _CARRIED | _ASKED),
    Fate.REMOVED: _ASKED | {Outcome.UNREACHABLE},
    Fate.STACKED: _ASKED | {Outcome.LOWER_CARRIED},
}
"""What loses nothing: everything else is a wrong retirement, or wrong in silence."""


@dataclass(frozen=True)
class Place:
    """Where a probe's line belongs: in this function, or between the lines that stand around it.

    Where ``lines`` are given, they are what the function has to be with it.
    """

    path: str
    function: str | None = None
    lines: tuple[bytes, ...] | None = None
    around: tuple[bytes, bytes] | None = None


@dataclass(frozen=True)
class Probe:
    """A patch for the old tag; ``made_of`` says where it comes from.

    ``tree`` is the old tag with it. ``mark`` are words of the line it brings; ``places`` are those
    where the line may come to stand. ``function`` is the one it edits. ``below`` is the patch it
    stands on. ``right`` is the new tag with it, as it should be, and ``merges`` whether plain
    merge gives that (None: gives something else, in silence).
    """

    fate: Fate
    patch: Patch
    made_of: str
    tree: TreeId
    mark: bytes = b""
    places: tuple[Place, ...] = ()
    function: Function | None = None
    below: Probe | None = None
    right: TreeId | None = None
    merges: bool | None = True

    @property
    def name(self) -> str:
        """The name of its patch."""
        return self.patch.name


@dataclass(frozen=True)
class Answer:
    """What became of one probe."""

    probe: Probe
    report: PatchReport
    outcome: Outcome

    @property
    def wanted(self) -> bool:
        """Whether it is what was asked for."""
        return self.outcome in WANTED[self.probe.fate]

    @property
    def safe(self) -> bool:
        """Whether nothing is lost, and nothing is wrong in silence."""
        return self.outcome in SAFE[self.probe.fate]


def not_carried(probe: Probe, report: PatchReport) -> Outcome | None:
    """What was made of a patch that is not carried, None where it is."""
    action = ACTIONS[report.verdict]
    if any(item.kind is EvidenceKind.FAULT for item in report.evidence):
        return Outcome.FAILED
    if report.verdict is Verdict.UNREACHABLE:
        return Outcome.UNREACHABLE
    if action is Action.DROP:
        return Outcome.RETIRED
    if action is not Action.REVIEW:
        return None
    if probe.below is not None:
        named = probe.below.name in report.blocked_by
    else:
        told = " ".join(
            [*report.notes, *(f"{e.text} {' '.join(e.paths)}" for e in report.evidence)]
        )
        named = any(place.path in told for place in probe.places)
    return Outcome.NAMED if named else Outcome.REVIEW


def stands_right(probe: Probe, found: Mapping[str, bytes]) -> bool:
    """Whether the probe's line stands once in the files ``found``, and where it belongs."""
    having = {path: content for path, content in found.items() if probe.mark in content}
    if len(having) != 1 or sum(text.count(probe.mark) for text in having.values()) != 1:
        return False
    ((path, content),) = having.items()
    content = _without_others(content, probe.mark)
    return any(
        _in_place(probe.mark, place, content) for place in probe.places if place.path == path
    )


def _without_others(content: bytes, mark: bytes) -> bytes:
    """``content`` without what other probes of a series put into the same function."""

    def left(match: re.Match[bytes]) -> bytes:
        return match[0] if mark in match[0] else b""

    return _COMMENT.sub(left, _LINE.sub(left, content))


def _in_place(mark: bytes, place: Place, content: bytes) -> bool:
    if place.around is not None:
        lines = content.splitlines()
        at = next(number for number, line in enumerate(lines) if mark in line)
        around = tuple(lines[n].strip() if 0 <= n < len(lines) else b"" for n in (at - 1, at + 1))
        return around == place.around
    return any(
        function.name == place.function
        and mark in b"".join(function.lines)
        and place.lines in (None, function.lines)
        for function in functions(place.path, content)
    )
