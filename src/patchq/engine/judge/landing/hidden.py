"""Landings that merging a single hunk does not show.

If the landing commit also edited lines next to a hunk, or one hunk depends on another, merging that
hunk conflicts on every commit. So two more questions are asked of hunks that conflict: did one
commit make the same edits, context aside, in the same definition (as git-patch-id compares
patches)? And did all hunks of the file, or of the patch, land together?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from patchq.engine.judge.landing.file_lines import LineChange, edits
from patchq.engine.judge.landing.headings import HEADED
from patchq.engine.judge.landing.history_walk import HistoryWalker
from patchq.engine.judge.landing.hunk_history import HunkHistory, LandedState, text_before
from patchq.engine.judge.line_search import is_telling
from patchq.engine.languages.outline import Outline, outline
from patchq.engine.series.hunks import Unit
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.apply import Applied
from patchq.git.merge import MergeState
from patchq.git.objects import Entries
from patchq.recent import kept_for
from patchq.steps import counted


@dataclass(frozen=True)
class _Change:
    """An edit of consecutive lines; ``first`` is its line in the new text.

    ``name`` is the definition around it, None outside of all. ``beside`` are the lines right above
    and below: for two edits to be the same, they have one of these in common, or the edit adds a
    paragraph (see :func:`_is_apart`).
    """

    removed: tuple[bytes, ...]
    added: tuple[bytes, ...]
    first: int
    name: str | None
    beside: frozenset[tuple[int, bytes]]
    is_paragraph: bool


class HiddenLandings:
    """Finds hidden landings between two bases."""

    def __init__(self, span: UpstreamRange, walker: HistoryWalker):
        self._walker = walker
        self._objects = span.store.objects

    def find(
        self, trails: Sequence[HunkHistory], applied: Applied, final: Entries
    ) -> list[HunkHistory]:
        """``trails``, with those marked as landed that conflict and landed nevertheless.

        ``final`` are the files of the patch on the new base.
        """
        found = [
            self._alone(t, final) if _is_open(t) else t
            for t in counted(trails, "hunks in upstream's commits")
        ]
        for group in _groups(found):
            members = [found[number] for number in group]
            if not any(map(_is_open, members)) or any(t.end in _ELSE for t in members):
                continue
            whole = self._together(members, applied, final)
            for number in group if whole.has_landed else ():
                if _is_open(found[number]):
                    there = LandedState.THERE
                    found[number] = replace(found[number], landed=whole.landed, fate=there)
        return found

    def _together(
        self, trails: Sequence[HunkHistory], applied: Applied, final: Entries
    ) -> HunkHistory:
        """The history of several hunks as one unit."""
        paths = dict.fromkeys(path for trail in trails for path in trail.unit.paths)
        unit = Unit(
            trails[0].unit.file,
            tuple(index for trail in trails for index in trail.unit.hunks),
            {path: applied.before[path] for path in paths},
            {path: applied.after[path] for path in paths},
        )
        ours = {path: final.get(path) for path in paths}
        (end,) = self._walker.states([unit], [ours])
        return self._walker.follow([unit], [end], ours, undoing=False)[0]

    def _alone(self, trail: HunkHistory, final: Entries) -> HunkHistory:
        if len(trail.unit.paths) != 1:
            return trail
        (path,) = trail.unit.paths
        if trail.unit.after[path] is None:
            return self._by_deletion(trail, path)
        return self._by_lines(trail, path, final)

    def _by_deletion(self, trail: HunkHistory, path: str) -> HunkHistory:
        """The history of a deletion, with the last commit that deleted the file without a rename.

        The content may be in another file now, so the state is ``ELSEWHERE``.
        """
        for step in reversed(trail.steps):
            for touch in step.commit.touches:
                if touch.old == path and touch.status == "D":
                    return replace(trail, landed=step.commit, fate=LandedState.ELSEWHERE)
                if path in (touch.old, touch.new):
                    return trail
        return trail

    # -- the same edits ----------------------------------------------------------------------

    def _by_lines(self, trail: HunkHistory, path: str, final: Entries) -> HunkHistory:
        """The history with the last commit that made the same edits as the hunk, if one did."""
        old, new = (
            self._objects.blob(side[path]) for side in (trail.unit.before, trail.unit.after)
        )
        wanted = _changes(path, old, new)
        if not any(is_telling(line) for change in wanted for line in change.added):
            return trail
        for step in reversed(trail.steps):
            landed = self._objects.blob(step.entries.get(path))
            if not all(line in landed for change in wanted for line in change.added):
                continue
            made = _changes(path, text_before(self._objects, step, path), landed)
            without = _without(path, wanted, made, landed)
            if without is not None:
                return self._walker.fates.since(trail, step, path, without, final)
        return trail


_ELSE = frozenset({MergeState.APPLIES, MergeState.ABSENT})


def _is_open(trail: HunkHistory) -> bool:
    return trail.end is MergeState.COLLIDES and trail.fate is LandedState.NEVER


def _groups(trails: Sequence[HunkHistory]) -> Iterator[list[int]]:
    """The indices of the trails of each file that has several; last, of all trails."""
    files: dict[str, list[int]] = {}
    for number, trail in enumerate(trails):
        files.setdefault(trail.unit.file, []).append(number)
    yield from (group for group in files.values() if len(group) > 1)
    if len(files) > 1:
        yield list(range(len(trails)))


@kept_for(16 << 20)
def _changes(path: str, old: bytes, new: bytes) -> tuple[_Change, ...]:
    before, after = old.split(b"\n"), new.split(b"\n")
    shown = outline(path, new)
    return tuple(
        _Change(
            tuple(before[edit.first : edit.end]),
            tuple(after[edit.new_first : edit.new_end]),
            edit.new_first,
            _home(shown, edit.new_first, edit.new_end),
            _beside(after, edit.new_first, edit.new_end - edit.new_first),
            _adds_paragraph(path, before, after, edit),
        )
        for edit in edits(before, after)
    )


_TELLING = 2


def _adds_paragraph(
    path: str, before: Sequence[bytes], after: Sequence[bytes], edit: LineChange
) -> bool:
    """Whether an edit only adds a paragraph that is long enough to be recognised."""
    added = after[edit.new_first : edit.new_end]
    return (
        edit.first == edit.end
        and PurePosixPath(path).suffix not in HEADED
        and sum(map(is_telling, added)) >= _TELLING
        and _is_apart(after, edit.new_first, len(added))
        and not any(True for _ in _runs(added, before))
    )


def _is_apart(lines: Sequence[bytes], first: int, size: int) -> bool:
    """Whether lines are a paragraph: not indented, between blank lines or the ends of the file."""
    inside = [line for line in lines[first : first + size] if line.strip()]
    edges = [
        (lines[at] if 0 <= at < len(lines) else b"", lines[within])
        for at, within in ((first - 1, first), (first + size, first + size - 1))
    ]
    return (
        bool(inside)
        and not inside[0][:1].isspace()
        and all(not outer.strip() or not inner.strip() for outer, inner in edges)
    )


def _home(shown: Outline | None, first: int, end: int) -> str | None:
    """The definition around some lines, or around the place of removed ones; None outside."""
    around = shown.around(min(first, end - 1), end - 1) if shown else None
    return around.name if around else None


def _without(
    path: str, wanted: Sequence[_Change], made: Sequence[_Change], landed: bytes
) -> bytes | None:
    """``landed`` with the ``wanted`` changes reverted, None unless each is part of exactly one of
    the changes ``made``."""
    lines = landed.split(b"\n")
    shown = outline(path, landed)
    for change in reversed(wanted):
        size = len(change.added)
        places = [
            other.first + at
            for other in made
            for at in _runs(change.added, other.added)
            if any(True for _ in _runs(change.removed, other.removed))
            and not any(True for _ in _runs(change.added, other.removed))
            and _home(shown, other.first + at, other.first + at + size) == change.name
            and (
                _beside(lines, other.first + at, size) & change.beside
                or (change.is_paragraph and _is_apart(lines, other.first + at, size))
            )
        ]
        if len(places) != 1:
            return None
        lines[places[0] : places[0] + size] = change.removed
    return b"\n".join(lines)


def _beside(lines: Sequence[bytes], first: int, size: int) -> frozenset[tuple[int, bytes]]:
    """The side (-1, 1) and text of the lines right above and below, without blank ones."""
    places = ((-1, first - 1), (1, first + size))
    return frozenset(
        (side, lines[at].strip())
        for side, at in places
        if 0 <= at < len(lines) and re.search(rb"\w", lines[at])
    )


def _runs(run: Sequence[bytes], lines: Sequence[bytes]) -> Iterator[int]:
    """The indices at which ``run`` is in ``lines``."""
    return (n for n in range(len(lines) - len(run) + 1) if lines[n : n + len(run)] == run)
