"""Walk the commits between two bases and watch what each does to the units of a patch.

The question asked at every commit is the one asked at the tag: what does a three-way merge of
this change give on that tree? *Empty* means upstream has it there; a unit that was empty at some
commit and collides at the tag has *landed* and was edited since, unless it was taken out again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import dropwhile

from patchq.engine.judge.landing.fates import Fates, small_tree
from patchq.engine.judge.landing.hunk_history import (
    CommitState,
    HunkHistory,
    LandedState,
    last_empty,
)
from patchq.engine.judge.landing.text_check import TextCheck
from patchq.engine.series.hunks import Unit
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.merge import MergeQuestion, MergeState
from patchq.git.objects import Entries, Entry
from patchq.model.ids import TreeId
from patchq.steps import counted


class HistoryWalker:
    """Merges units onto the commits between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects
        self._merger = span.store.merger
        self.fates = Fates(span)

    def states(self, units: Sequence[Unit], ours: Sequence[Entries]) -> list[MergeState]:
        """The state of each unit merged onto the files ``ours`` (by the patch's paths)."""
        questions = [
            self.question(unit, entries) for unit, entries in zip(units, ours, strict=True)
        ]
        answers = self._merger.merge_all(questions)
        return [
            _state(unit, entries, question.ours, answer.tree if answer.clean else None)
            for unit, entries, question, answer in zip(units, ours, questions, answers, strict=True)
        ]

    def follow(
        self,
        units: Sequence[Unit],
        ends: Sequence[MergeState],
        final: Mapping[str, Entry | None],
        *,
        undoing: bool,
    ) -> list[HunkHistory]:
        """The history of each unit; ``final`` are the files on the new base, by the patch's paths.

        Unless ``undoing``, only the landing is looked for, and no commit that a unit conflicts with
        or that took out or rewrote lines of it.
        """
        colliding = [undoing and end is MergeState.COLLIDES for end in ends]
        trails = [
            self._trail(unit, steps, end)
            for unit, steps, end in zip(units, self._steps(units, colliding), ends, strict=True)
        ]
        open_ = [
            number for number, trail in enumerate(trails) if trail.fate is LandedState.UNTRACED
        ]
        fates = self.fates.of([trails[number] for number in open_], final, undoing=undoing)
        for number, trail in zip(open_, fates, strict=True):
            trails[number] = trail
        return [
            self._in_effect(trail, final) for trail in counted(trails, "conditions of landed lines")
        ]

    def _in_effect(self, trail: HunkHistory, final: Entries) -> HunkHistory:
        """``trail``, marked as overruled if its lines are there but have no effect any more.

        If they were edited since, the last commit that has them as they landed is asked instead.
        """
        steps, last = trail.steps, last_empty(trail.steps)
        if trail.end is not MergeState.EMPTY:
            if trail.fate is not LandedState.THERE or last is None:
                return trail
            steps = steps[: last + 1]
            final = steps[last].entries
        if self.fates.overruled(trail.unit, final) is None:
            return trail
        unit = self.fates.as_landed(trail)
        how = self.fates.overruled(unit, final)
        if how is None:
            return trail
        by = None
        for step in reversed(steps):
            if self.fates.overruled(unit, step.entries) is None:
                break
            by = step.commit
        return replace(trail.without_effect, undone=by, how=how.value)

    def never_there(self, units: Sequence[Unit]) -> frozenset[str]:
        """The paths of ``units`` whose new lines no commit between the bases has.

        Paths that no commit touches are not among them.
        """
        asked = self._asked(units)
        states = self._glance(units, [(number, entries) for number, _, entries in asked])
        there = {
            number
            for (number, _, _), state in zip(asked, states, strict=True)
            if state is not MergeState.NOT_EMPTY
        }
        never = {number for number, _, _ in asked} - there
        return frozenset(path for number in never for path in units[number].paths)

    def _steps(
        self, units: Sequence[Unit], colliding: Sequence[bool]
    ) -> list[tuple[CommitState, ...]]:
        """The state of each unit on each commit that touches its files.

        Of a unit that is ``colliding`` on the new base, no state is left as ``NOT_EMPTY``.
        """
        asked = self._asked(units)
        trails: list[list[CommitState]] = [[] for _ in units]
        states = self._glance(units, [(number, entries) for number, _, entries in asked])
        for (number, commit, entries), state in zip(asked, states, strict=True):
            trails[number].append(CommitState(commit, state, entries))
        self._settle(units, trails, lambda number, _: colliding[number])
        self._settle(units, trails, _follows_empty)
        return self._confirmed(units, trails)

    def _asked(self, units: Sequence[Unit]) -> list[tuple[int, CommitInfo, Entries]]:
        """The index of each unit with each commit that touches its files, and these files there."""
        paths = sorted({path for unit in units for path in unit.paths})
        commits = self._span.commits(paths)
        names = _names(paths, self._span, commits)
        by_name: dict[str, list[int]] = {}
        for number, unit in enumerate(units):
            for name in {name for path in unit.paths for name in names[path]}:
                by_name.setdefault(name, []).append(number)
        asked: list[tuple[int, CommitInfo, Entries]] = []
        for commit in commits:
            touched = {name for touch in commit.touches for name in (touch.old, touch.new)}
            here: dict[tuple[str, ...], Entries] = {}
            for number in sorted({n for name in touched for n in by_name.get(name, ())}):
                unit = units[number]
                if unit.paths not in here:
                    here[unit.paths] = self._entries(commit.tree, unit, names)
                asked.append((number, commit, here[unit.paths]))
        return asked

    def _glance(
        self, units: Sequence[Unit], asked: Sequence[tuple[int, Entries]]
    ) -> list[MergeState]:
        """The state of units (by index) on files, as :class:`TextCheck` tells without git."""
        files: dict[tuple[str, ...], list[int]] = {}
        for place, (number, _) in enumerate(asked):
            files.setdefault(units[number].paths, []).append(place)
        seen = [MergeState.UNKNOWN] * len(asked)
        for places in counted(list(files.values()), "files in upstream's commits"):
            glance = TextCheck(self._objects)
            for place in places:
                number, ours = asked[place]
                seen[place] = glance.state(units[number], ours)
        return seen

    def _settle(
        self,
        units: Sequence[Unit],
        trails: Sequence[list[CommitState]],
        matters: Callable[[int, Sequence[CommitState]], bool],
    ) -> None:
        """Ask git for the states that the text does not tell, and for those that are ``NOT_EMPTY``
        if it ``matters`` what they are.

        Steps with the same text near the unit are asked as one question.
        """
        asked = [
            (number, place, step)
            for number, steps in enumerate(trails)
            for place, step in enumerate(steps)
            if step.state is MergeState.UNKNOWN
            or (step.state is MergeState.NOT_EMPTY and matters(number, steps[:place]))
        ]
        asked.sort(key=lambda item: item[2].commit.oid)  # so that files of one commit are read once
        texts = TextCheck(self._objects)
        alike = [
            (number, texts.surroundings(units[number], step.entries)) for number, _, step in asked
        ]
        first = {key: (number, step) for key, (number, _, step) in zip(alike, asked, strict=True)}
        states = dict(zip(first, self._ask(units, list(first.values())), strict=True))
        for key, (number, place, step) in zip(alike, asked, strict=True):
            trails[number][place] = replace(step, state=states[key])

    def _confirmed(
        self, units: Sequence[Unit], trails: Sequence[Sequence[CommitState]]
    ) -> list[tuple[CommitState, ...]]:
        """``trails`` with the first and last empty state confirmed by git; all states are asked of
        git if it does not confirm them."""
        telling = [
            (number, step) for number, steps in enumerate(trails) for step in _first_and_last(steps)
        ]
        states = self._ask(units, telling)
        doubtful = {
            number
            for (number, _), state in zip(telling, states, strict=True)
            if state is not MergeState.EMPTY
        }
        every = [(number, step) for number in sorted(doubtful) for step in trails[number]]
        asked: dict[int, list[CommitState]] = {number: [] for number in doubtful}
        for (number, step), state in zip(every, self._ask(units, every), strict=True):
            asked[number].append(replace(step, state=state))
        return [tuple(asked.get(number, steps)) for number, steps in enumerate(trails)]

    def _ask(
        self, units: Sequence[Unit], steps: Sequence[tuple[int, CommitState]]
    ) -> list[MergeState]:
        """The state by git of each step, given with the index of its unit.

        If the files are as the whole patch leaves them, the unit is empty there.
        """
        open_ = [place for place, (n, s) in enumerate(steps) if s.entries != units[n].whole]
        found = self.states(
            [units[steps[place][0]] for place in open_],
            [steps[place][1].entries for place in open_],
        )
        merged = dict(zip(open_, found, strict=True))
        return [merged.get(place, MergeState.EMPTY) for place in range(len(steps))]

    def _entries(self, tree: TreeId, unit: Unit, names: Mapping[str, set[str]]) -> Entries:
        found: dict[str, Entry | None] = {}
        for path in unit.paths:
            present = (self._objects.file(tree, name) for name in sorted(names[path]))
            found[path] = next((entry for entry in present if entry is not None), None)
        return found

    def _trail(self, unit: Unit, steps: tuple[CommitState, ...], end: MergeState) -> HunkHistory:
        """The history as the states tell it. A unit that landed and is not empty on the new base
        is untraced here: its lines have not been looked for yet."""
        if end is MergeState.COLLIDES and steps and steps[0].state is MergeState.EMPTY:
            steps = self._since_old(unit, steps)
        last = last_empty(steps)
        if last is None:
            return HunkHistory(unit, steps, end)
        landed = steps[self._run_start(steps, last)].commit
        if end is MergeState.EMPTY:
            return HunkHistory(unit, steps, end, landed, LandedState.THERE)
        out = self._taken_out(steps[last], steps[last + 1 :])
        undone = out is not None or end is MergeState.APPLIES
        fate = LandedState.UNDONE if undone else LandedState.UNTRACED
        return HunkHistory(unit, steps, end, landed, fate, out)

    def _since_old(self, unit: Unit, steps: tuple[CommitState, ...]) -> tuple[CommitState, ...]:
        """``steps`` without the first empty ones if the unit is empty on the old base already.

        A unit that takes out code which only a patch below added cannot land upstream.
        """
        old = {path: self._objects.file(self._span.old.tree, path) for path in unit.paths}
        if self.states([unit], [old]) != [MergeState.EMPTY]:
            return steps
        later = dropwhile(lambda step: step.state is MergeState.EMPTY, steps)
        return tuple(later)

    def _run_start(self, steps: Sequence[CommitState], last: int) -> int:
        """The index at which the run of empty states that ends at ``last`` begins.

        A commit of a side branch without the change does not interrupt it, nor does a later edit
        that was undone.
        """
        first = last
        for number in reversed(range(last)):
            if steps[number].state is not MergeState.EMPTY:
                continue
            oid = steps[number].commit.oid
            out = (
                step
                for step in steps[number + 1 : first]
                if step.state in (MergeState.APPLIES, MergeState.ABSENT)
            )
            if any(self._span.descends(step.commit.oid, oid) for step in out):
                break
            first = number
        return first

    def _taken_out(self, landed: CommitState, later: Sequence[CommitState]) -> CommitInfo | None:
        """The commit that reverted the unit: one among ``later`` on which it applies again, or
        whose subject says that it reverts the landing commit. None if there is none."""
        title = re.sub(r"(\s*\(#\d+\))+\s*$", "", landed.commit.subject)
        out = (
            step.commit
            for step in later
            if (step.state is MergeState.APPLIES or _reverts(step.commit.subject, title))
            and self._span.descends(step.commit.oid, landed.commit.oid)
        )
        return next(out, None)

    def question(self, unit: Unit, ours: Entries) -> MergeQuestion:
        """The merge that :meth:`states` asks git for."""
        tree = partial(small_tree, self._objects)
        return MergeQuestion(tree(unit.before), tree(ours), tree(unit.after))


def _follows_empty(_number: int, before: Sequence[CommitState]) -> bool:
    """Whether the unit was empty on a commit ``before``: only then do other states matter."""
    return any(step.state is MergeState.EMPTY for step in before)


def _first_and_last(steps: Sequence[CommitState]) -> list[CommitState]:
    """The first and the last step on which the unit is empty, none if there is none."""
    empty = [step for step in steps if step.state is MergeState.EMPTY]
    return [empty[0], empty[-1]] if empty else []


def _reverts(subject: str, title: str) -> bool:
    return "revert" in subject.lower() and title in subject


def _state(unit: Unit, ours: Entries, ours_tree: TreeId, merged: str | None) -> MergeState:
    if merged == ours_tree:
        return MergeState.EMPTY
    if all(ours.get(path) is None for path, entry in unit.before.items() if entry) and any(
        unit.before.values()
    ):
        return MergeState.ABSENT
    return MergeState.COLLIDES if merged is None else MergeState.APPLIES


def _names(
    paths: Sequence[str], span: UpstreamRange, commits: Sequence[CommitInfo]
) -> dict[str, set[str]]:
    """Every name of each path between the bases; never one that is another of ``paths``."""
    names = {path: {path, span.place(path).new or path} for path in paths}
    renames = [
        (touch.old, touch.new)
        for commit in commits
        for touch in commit.touches
        if touch.status == "R"
    ]
    owners: dict[str, set[str]] = {}
    for path, known in names.items():
        for name in known:
            owners.setdefault(name, set()).add(path)
    for old, new in renames:
        for path in owners.get(old, ()):
            names[path].add(new)
            owners.setdefault(new, set()).add(path)
    every = set(paths)
    for path, known in names.items():
        known -= (known & every) - {path}
    return names
