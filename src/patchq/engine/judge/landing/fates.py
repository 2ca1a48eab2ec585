"""What became of a unit that landed, if merging it onto the new base is not empty any more.

The unit is reverted in the tree it landed in, and that revert is merged into the new base. If the
merge does not tell, the lines of the unit are followed.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from patchq.engine.judge.landing.effect import Overruled, overruled
from patchq.engine.judge.landing.hunk_history import (
    CommitState,
    HunkHistory,
    LandedState,
    entry_before,
    last_empty,
)
from patchq.engine.judge.landing.surviving_lines import Survival, is_whole, survival, taken_out
from patchq.engine.series.hunks import Unit
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.merge import MergeQuestion, MergeState
from patchq.git.objects import Entries, Entry, Objects
from patchq.model.ids import TreeId
from patchq.steps import counted

_FileSides = tuple[str, Entry | None, Entry | None, Entry | None]
"""A path, and its file without the change, right after it landed, and on the new base."""


_ENDED = frozenset(
    {LandedState.REWRITTEN, LandedState.HALF, LandedState.UNTRACED, LandedState.UNDONE}
)
FATES = {
    Survival.WHOLE: LandedState.THERE,
    Survival.REWRITTEN: LandedState.REWRITTEN,
    Survival.PART: LandedState.HALF,
    Survival.NONE: LandedState.UNTRACED,
}
"""The state of a landed unit by how much of it is left."""


@dataclass(frozen=True)
class _Change:
    """A unit with the files of the commit it landed on: as they are, and with it reverted."""

    unit: Unit
    without: Entries
    landed: Entries


class Fates:
    """Finds what became of landed units between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects
        self._merger = span.store.merger
        self._survivals: dict[_FileSides, Survival] = {}

    def of(
        self, trails: Sequence[HunkHistory], final: Entries, *, undoing: bool
    ) -> list[HunkHistory]:
        """``trails`` with their state; all are of units that landed and no longer merge to nothing.

        ``final`` are the files on the new base. If merging the revert of a unit into them changes
        nothing, it was undone; if git cannot revert it cleanly, or none of its lines is left, it is
        untraced. Only if ``undoing``, the commit that undid a unit is looked for.
        """
        tree = partial(small_tree, self._objects)
        thens = [_landed_on(trail.steps) for trail in trails]
        ends = [{path: final.get(path) for path in trail.unit.paths} for trail in trails]
        withouts = self._merger.merge_all(
            [
                MergeQuestion(
                    tree(trail.unit.after),
                    tree(then),
                    tree(trail.unit.before),
                )
                for trail, then in zip(trails, thens, strict=True)
            ]
        )
        removals = self._merger.merge_all(
            [
                MergeQuestion(tree(then), tree(end), without.tree)
                for then, end, without in zip(thens, ends, withouts, strict=True)
            ]
        )
        found = []
        for trail, then, end, without, removal in zip(
            counted(trails, "lines since they landed"), thens, ends, withouts, removals, strict=True
        ):
            change = _Change(trail.unit, self._inside(without.tree, then), then)
            if not without.clean:
                found.append(replace(trail, fate=LandedState.UNTRACED))
                continue
            if removal.clean and removal.tree == tree(end):
                fate = LandedState.UNDONE
            else:
                fate = FATES[self._survival(change, end)]
            trail = replace(trail, fate=fate)
            found.append(self._ended(trail, change, end) if undoing else trail)
        return found

    def since(
        self, trail: HunkHistory, step: CommitState, path: str, without: bytes, final: Entries
    ) -> HunkHistory:
        """``trail`` as landed on ``step``, with its state; ``without`` is the file ``path`` of that
        commit with the unit reverted."""
        entry = step.entries[path]
        assert entry is not None
        before = {path: Entry(entry.mode, self._objects.write_blob(without))}
        change = _Change(trail.unit, before, {path: entry})
        fate = FATES[self._survival(change, final)]
        return self._ended(replace(trail, landed=step.commit, fate=fate), change, final)

    def _ended(self, trail: HunkHistory, change: _Change, end: Entries) -> HunkHistory:
        """``trail`` with the commit that undid or rewrote it, if there is one."""
        by = self._undone_by(trail, change) if trail.fate in _ENDED else None
        if by and trail.fate is LandedState.UNTRACED and self._is_gone(change, end, by):
            return replace(trail, fate=LandedState.GONE, undone=by)
        return replace(trail, undone=by)

    def _is_gone(self, change: _Change, end: Entries, by: CommitInfo) -> bool:
        """Whether the commit ``by`` took out all lines of a change and added them nowhere else."""
        blob = self._objects.blob
        lines = frozenset[bytes]().union(
            *(
                taken_out(path, blob(change.without.get(path)), blob(then), blob(end.get(path)))
                for path, then in change.landed.items()
            )
        )
        return bool(lines) and lines.isdisjoint(self._span.store.history.added_lines(by.oid))

    def overruled(self, unit: Unit, final: Entries) -> Overruled | None:
        """Why lines that ``unit`` adds have no effect in the files ``final``, None if they have."""
        blob, whole = self._objects.blob, unit.whole or unit.after
        found = (
            overruled(
                path,
                *map(blob, (unit.before[path], after, final.get(path), whole[path])),
            )
            for path, after in unit.after.items()
            if after is not None and final.get(path) not in (None, after, whole[path])
        )
        return next(filter(None, found), None)

    def as_landed(self, trail: HunkHistory) -> Unit:
        """The unit of ``trail`` rebased onto the commit before the one it landed on; the unit as it
        is if that does not merge cleanly."""
        unit, tree = trail.unit, partial(small_tree, self._objects)
        step = next((step for step in trail.steps if step.commit == trail.landed), None)
        if step is None:
            return unit
        before = {path: entry_before(self._objects, step, path) for path in unit.paths}
        asked = MergeQuestion(tree(unit.before), tree(before), tree(unit.after))
        (merged,) = self._merger.merge_all([asked])
        if not merged.clean:
            return unit
        after = self._inside(merged.tree, unit.after)
        return replace(unit, before=before, after=after, whole=None, edit=None)

    def _survival(self, change: _Change, final: Entries) -> Survival:
        """How much of a change is left in the files ``final``, all of them together."""
        shown = {
            self._file_survival(path, change.without.get(path), then, final.get(path))
            for path, then in change.landed.items()
            if then != change.without.get(path)
        }
        if len(shown) < 2:
            return shown.pop() if shown else Survival.WHOLE
        some = shown - {Survival.WHOLE, Survival.REWRITTEN}
        return Survival.PART if some else Survival.REWRITTEN

    def _is_whole(self, change: _Change, final: Entries) -> bool:
        blob = self._objects.blob
        return all(
            is_whole(path, blob(change.without.get(path)), blob(then), blob(final.get(path)))
            for path, then in change.landed.items()
            if then != change.without.get(path)
        )

    def _file_survival(
        self, path: str, without: Entry | None, landed: Entry | None, final: Entry | None
    ) -> Survival:
        sides = (path, without, landed, final)
        if sides not in self._survivals:
            blobs = map(self._objects.blob, (without, landed, final))
            self._survivals[sides] = survival(path, *blobs)
        return self._survivals[sides]

    def _undone_by(self, trail: HunkHistory, change: _Change) -> CommitInfo | None:
        """The first commit after the landing that does not have all of the unit.

        Found by bisection: of a unit that was undone twice, either commit may be named.
        """
        last = last_empty(trail.steps)
        commits = [step.commit for step in trail.steps]
        if last is None and trail.landed in commits:  # found by its lines, not by a merge
            last = commits.index(trail.landed)
        if last is None:
            return None
        landed = commits[last].oid
        after = [s for s in trail.steps[last + 1 :] if self._span.descends(s.commit.oid, landed)]
        first = bisect_left(after, True, key=lambda s: not self._is_whole(change, s.entries))
        return after[first].commit if first < len(after) else None

    def _inside(self, tree: TreeId, entries: Entries) -> Entries:
        """The entries of a tree made by :func:`small_tree`, or by a merge of such trees."""
        return {path: self._objects.file(tree, name) for path, name in names_below(entries)}


def _landed_on(steps: Sequence[CommitState]) -> Entries:
    """The files on the last commit on which the unit is empty."""
    return next(step.entries for step in reversed(steps) if step.state is MergeState.EMPTY)


def small_tree(objects: Objects, entries: Entries) -> TreeId:
    """A tree of just these paths, relative to their common directory.

    A merge only needs the paths relative to each other; the directories above would cost objects.
    """
    return objects.tree_of({name: entries[path] for path, name in names_below(entries)})


def names_below(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Each path, and the same relative to the common directory of all."""
    paths = list(paths)
    common = posixpath.commonpath([posixpath.dirname(path) for path in paths])
    above = len(f"{common}/") if common else 0
    return [(path, path[above:]) for path in paths]
