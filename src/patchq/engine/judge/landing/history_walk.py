"""Walk the commits between two bases and watch what each does to the units of a patch.

The question asked at every commit is the one asked at the tag: what does a three-way merge of
this change give on that tree? *Empty* means upstream has it there; a unit that was empty at some
commit and collides at the tag has *landed* and was edited since, unless it was taken out again.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from patchq.engine.judge.landing.surviving_lines import Survival, is_whole, survival
from patchq.engine.judge.landing.text_check import State, TextCheck
from patchq.engine.series.hunks import Unit
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.merge import MergeQuestion
from patchq.git.objects import Entries, Entry

_FileSides = tuple[str, Entry | None, Entry | None, Entry | None]
"""A path, and its file without a change, as the change landed, and later."""


@dataclass(frozen=True)
class CommitState:
    """A unit at one commit."""

    commit: CommitInfo
    state: State
    entries: Entries


class LandedState(Enum):
    """What became of a unit after the last commit on which it was empty."""

    NEVER = "never"  # there was no such commit
    THERE = "there"  # edited since perhaps, but its lines show it
    REWRITTEN = "rewritten"  # upstream put other code, with their words, in place of its lines
    HALF = "half"  # part of its lines was taken out again
    UNTRACED = "untraced"  # rewritten beyond recognition, or taken out: nobody can tell
    UNDONE = "undone"  # taken out again
    ELSEWHERE = "elsewhere"  # only moved: what the unit takes out stands in another place


_ENDED = frozenset({LandedState.REWRITTEN, LandedState.HALF, LandedState.UNDONE})
FATES = {
    Survival.WHOLE: LandedState.THERE,
    Survival.REWRITTEN: LandedState.REWRITTEN,
    Survival.PART: LandedState.HALF,
    Survival.NONE: LandedState.UNTRACED,
}
"""What became of a landed unit, by how much of it is left."""


@dataclass(frozen=True)
class HunkHistory:
    """A unit from the old base to the new one: at each commit that touches it, and at the end.

    ``undone`` is the commit that took it out again or rewrote it, or part of it, if one did.
    """

    unit: Unit
    steps: tuple[CommitState, ...]
    end: State
    landed: CommitInfo | None = None
    fate: LandedState = LandedState.NEVER
    undone: CommitInfo | None = None

    @property
    def has_landed(self) -> bool:
        """Upstream has the unit: it is empty at the end, or landed and its lines show it."""
        if self.end is State.EMPTY:
            return self.fate is not LandedState.ELSEWHERE
        return self.end is State.COLLIDES and self.fate is LandedState.THERE

    @property
    def once_landed(self) -> bool:
        """Upstream took the unit; whether it still has it, the lines do not tell."""
        return self.end is not State.EMPTY and self.fate in (
            LandedState.REWRITTEN,
            LandedState.UNTRACED,
            LandedState.HALF,
        )

    @property
    def ended_by(self) -> CommitInfo | None:
        """The commit from which on the unit is in the state it has at the end.

        Of a merge that brought it into this state, it is the commit that was merged.
        """
        found = None
        for number in reversed(range(len(self.steps))):
            if self.steps[number].state is not self.end:
                break
            found = number
        if found is None:
            return None
        same = (s.commit for s in reversed(self.steps[:found]) if s.state is self.end)
        commit = self.steps[found].commit
        return commit if len(commit.parents) == 1 else next(same, commit)


@dataclass(frozen=True)
class _Change:
    """A unit in the files it landed in: as they are, and as they would be without it."""

    unit: Unit
    without: Entries
    landed: Entries


class HistoryWalker:
    """Asks git about units along one span."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects
        self._merger = span.store.merger
        self._survivals: dict[_FileSides, Survival] = {}

    def states(self, units: Sequence[Unit], ours: Sequence[Entries]) -> list[State]:
        """The state of each unit on its own entries ``ours``, by the patch's paths."""
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
        ends: Sequence[State],
        final: Mapping[str, Entry | None],
        *,
        undoing: bool = True,
    ) -> list[HunkHistory]:
        """The trail of each unit; ``final`` are the entries at the end, by the patch's paths.

        Unless ``undoing``, the commits that took lines of a unit out or rewrote them are not looked
        for.
        """
        trails = [
            self._trail(unit, steps, end)
            for unit, steps, end in zip(units, self._steps(units), ends, strict=True)
        ]
        open_ = [
            number for number, trail in enumerate(trails) if trail.fate is LandedState.UNTRACED
        ]
        fates = self._fates([trails[number] for number in open_], final, undoing=undoing)
        for number, trail in zip(open_, fates, strict=True):
            trails[number] = trail
        return trails

    def _steps(self, units: Sequence[Unit]) -> list[tuple[CommitState, ...]]:
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
        states = self._look(
            [units[number] for number, _, _ in asked], [entries for _, _, entries in asked]
        )
        trails: list[list[CommitState]] = [[] for _ in units]
        for (number, commit, entries), state in zip(asked, states, strict=True):
            trails[number].append(CommitState(commit, state, entries))
        return self._confirmed(units, trails)

    def _look(self, units: Sequence[Unit], ours: Sequence[Entries]) -> list[State]:
        """:meth:`states`, where the text alone does not show what git would say."""
        glance = TextCheck(self._objects)
        seen = [glance.state(unit, entries) for unit, entries in zip(units, ours, strict=True)]
        open_ = [number for number, state in enumerate(seen) if state is None]
        found = self.states([units[n] for n in open_], [ours[n] for n in open_])
        merged = dict(zip(open_, found, strict=True))
        return [merged[n] if state is None else state for n, state in enumerate(seen)]

    def _confirmed(
        self, units: Sequence[Unit], trails: Sequence[Sequence[CommitState]]
    ) -> list[tuple[CommitState, ...]]:
        """``trails``, with git asked about the steps that a landing is read from."""
        telling = [
            (number, step) for number, steps in enumerate(trails) for step in _first_and_last(steps)
        ]
        states = self._ask(units, telling)
        doubtful = {
            number
            for (number, _), state in zip(telling, states, strict=True)
            if state is not State.EMPTY
        }
        every = [(number, step) for number in sorted(doubtful) for step in trails[number]]
        asked: dict[int, list[CommitState]] = {number: [] for number in doubtful}
        for (number, step), state in zip(every, self._ask(units, every), strict=True):
            asked[number].append(replace(step, state=state))
        return [tuple(asked.get(number, steps)) for number, steps in enumerate(trails)]

    def _ask(self, units: Sequence[Unit], steps: Sequence[tuple[int, CommitState]]) -> list[State]:
        """What git says of each step of the unit with that number."""
        return self.states(
            [units[number] for number, _ in steps], [step.entries for _, step in steps]
        )

    def _entries(self, tree: str, unit: Unit, names: Mapping[str, set[str]]) -> Entries:
        found: dict[str, Entry | None] = {}
        for path in unit.paths:
            present = (self._objects.file(tree, name) for name in sorted(names[path]))
            found[path] = next((entry for entry in present if entry is not None), None)
        return found

    def _trail(self, unit: Unit, steps: tuple[CommitState, ...], end: State) -> HunkHistory:
        """The trail by its steps alone: of one that landed and is not empty at the end, no trace
        has been looked for yet."""
        last = _last_empty(steps)
        if last is None:
            return HunkHistory(unit, steps, end)
        landed = steps[self._run_start(steps, last)].commit
        if end is State.EMPTY:
            return HunkHistory(unit, steps, end, landed, LandedState.THERE)
        out = self._taken_out(steps[last], steps[last + 1 :])
        undone = out is not None or end is State.APPLIES
        fate = LandedState.UNDONE if undone else LandedState.UNTRACED
        return HunkHistory(unit, steps, end, landed, fate, out)

    def _run_start(self, steps: Sequence[CommitState], last: int) -> int:
        """Where the run of empty states that ends at ``last`` begins.

        A commit of a side branch that had not got the change yet does not interrupt it, nor does
        an edit on top that was taken back.
        """
        first = last
        for number in range(last - 1, -1, -1):
            if steps[number].state is not State.EMPTY:
                continue
            oid = steps[number].commit.oid
            out = (
                step
                for step in steps[number + 1 : first]
                if step.state in (State.APPLIES, State.ABSENT)
            )
            if any(self._span.descends(step.commit.oid, oid) for step in out):
                break
            first = number
        return first

    def _taken_out(self, landed: CommitState, later: Sequence[CommitState]) -> CommitInfo | None:
        """The commit after which the unit applied again, having landed, and not since: a revert.

        What collides at the end collides with what came after the revert, then. A subject that
        quotes the landed one as reverted counts too.
        """
        title = re.sub(r"(\s*\(#\d+\))+\s*$", "", landed.commit.subject)
        out = (
            step.commit
            for step in later
            if (step.state is State.APPLIES or _reverts(step.commit.subject, title))
            and self._span.descends(step.commit.oid, landed.commit.oid)
        )
        return next(out, None)

    def _fates(
        self, trails: Sequence[HunkHistory], final: Entries, *, undoing: bool
    ) -> list[HunkHistory]:
        """``trails`` of units that landed and are not empty at the end, with what became of them.

        The unit is taken out of the tree it landed in, and the same is done to the end. It was
        undone if that changes nothing there. If git cannot take it out cleanly, or no trace of its
        lines is left, nobody can tell.
        """
        thens = [_landed_on(trail.steps) for trail in trails]
        ends = [{path: final.get(path) for path in trail.unit.paths} for trail in trails]
        withouts = self._merger.merge_all(
            [
                MergeQuestion(
                    self._tree(trail.unit.after), self._tree(then), self._tree(trail.unit.before)
                )
                for trail, then in zip(trails, thens, strict=True)
            ]
        )
        removals = self._merger.merge_all(
            [
                MergeQuestion(self._tree(then), self._tree(end), without.tree)
                for then, end, without in zip(thens, ends, withouts, strict=True)
            ]
        )
        found = []
        for trail, then, end, without, removal in zip(
            trails, thens, ends, withouts, removals, strict=True
        ):
            change = _Change(trail.unit, self._inside(without.tree, then), then)
            if not without.clean:
                fate = LandedState.UNTRACED
            elif removal.clean and removal.tree == self._tree(end):
                fate = LandedState.UNDONE
            else:
                fate = FATES[self._survival(change, end)]
            undone = self._undone_by(trail, change) if undoing and fate in _ENDED else None
            found.append(replace(trail, fate=fate, undone=undone))
        return found

    def _survival(self, change: _Change, final: Entries) -> Survival:
        """How much of a change is left in all of its files."""
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
        """The commit after the landing from which on not all of the unit is left."""
        last = _last_empty(trail.steps)
        found = None
        for step in reversed(trail.steps[(last or 0) + 1 :]):
            if self._is_whole(change, step.entries):
                break
            if self._span.descends(step.commit.oid, trail.steps[last or 0].commit.oid):
                found = step.commit
        return found

    def _inside(self, tree: str, entries: Entries) -> Entries:
        """The entries of a tree that :meth:`_tree` or a merge of such gave."""
        return {path: self._objects.file(tree, name) for path, name in _names_below(entries)}

    def question(self, unit: Unit, ours: Entries) -> MergeQuestion:
        """What :meth:`states` asks of one unit."""
        return MergeQuestion(self._tree(unit.before), self._tree(ours), self._tree(unit.after))

    def _tree(self, entries: Entries) -> str:
        """A tree of just these paths, below the directory that they have in common.

        A merge goes by how paths stand to each other: the directories above would only cost
        objects.
        """
        return self._objects.tree_of({name: entries[path] for path, name in _names_below(entries)})


def _names_below(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Each path with its name below the directory that all have in common."""
    paths = list(paths)
    common = posixpath.commonpath([posixpath.dirname(path) for path in paths])
    return [(path, posixpath.relpath(path, common or ".")) for path in paths]


def _first_and_last(steps: Sequence[CommitState]) -> list[CommitState]:
    """The first and the last step on which the unit is empty."""
    empty = [step for step in steps if step.state is State.EMPTY]
    return [empty[0], empty[-1]] if empty else []


def _last_empty(steps: Sequence[CommitState]) -> int | None:
    return max((n for n, step in enumerate(steps) if step.state is State.EMPTY), default=None)


def _landed_on(steps: Sequence[CommitState]) -> Entries:
    """The files on the last commit that has the unit."""
    return next(step.entries for step in reversed(steps) if step.state is State.EMPTY)


def _reverts(subject: str, title: str) -> bool:
    return "revert" in subject.lower() and title in subject


def _state(unit: Unit, ours: Entries, ours_tree: str, merged: str | None) -> State:
    if merged == ours_tree:
        return State.EMPTY
    if all(ours.get(path) is None for path, entry in unit.before.items() if entry) and any(
        unit.before.values()
    ):
        return State.ABSENT
    return State.COLLIDES if merged is None else State.APPLIES


def _names(
    paths: Sequence[str], span: UpstreamRange, commits: Sequence[CommitInfo]
) -> dict[str, set[str]]:
    """Every name each path has between the bases; never one that is another of ``paths``."""
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
