"""Walk the commits between two bases and watch what each does to the units of a patch.

The question asked at every commit is the one asked at the tag: what does a three-way merge of
this change give on that tree? *Empty* means upstream has it there; a unit that was empty at some
commit and collides at the tag has *landed* and was edited since, unless it was taken out again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from patchq.engine.hop import Hop
from patchq.engine.traces import still_there
from patchq.engine.units import Unit
from patchq.git.history import CommitInfo
from patchq.git.merge import Question
from patchq.git.objects import Entries, Entry


class State(Enum):
    """What a merge of one unit onto a tree gives."""

    EMPTY = "empty"  # nothing: the tree has it
    APPLIES = "applies"
    COLLIDES = "collides"
    ABSENT = "absent"  # none of the files it edits is there


@dataclass(frozen=True)
class Step:
    """A unit at one commit."""

    commit: CommitInfo
    state: State
    entries: Entries


@dataclass(frozen=True)
class Trail:
    """A unit from the old base to the new one: at each commit that touches it, and at the end."""

    unit: Unit
    steps: tuple[Step, ...]
    end: State
    landed: CommitInfo | None
    undone: bool

    @property
    def has_landed(self) -> bool:
        """Upstream has the unit: it is empty at the end, or landed and was edited since."""
        return self.end is State.EMPTY or (
            self.end is State.COLLIDES and self.landed is not None and not self.undone
        )

    @property
    def ended_by(self) -> CommitInfo | None:
        """The commit from which on the unit is in the state it has at the end."""
        found = None
        for step in reversed(self.steps):
            if step.state is not self.end:
                break
            found = step.commit
        return found


class Walker:
    """Asks git about units along one hop."""

    def __init__(self, hop: Hop):
        self._hop = hop
        self._objects = hop.store.objects
        self._merger = hop.store.merger

    def states(self, units: Sequence[Unit], ours: Sequence[Entries]) -> list[State]:
        """The state of each unit on its own entries ``ours``, by the patch's paths."""
        questions = [
            self._question(unit, entries) for unit, entries in zip(units, ours, strict=True)
        ]
        answers = self._merger.merge_all(questions)
        return [
            _state(unit, entries, question.ours, answer.tree if answer.clean else None)
            for unit, entries, question, answer in zip(units, ours, questions, answers, strict=True)
        ]

    def follow(
        self, units: Sequence[Unit], ends: Sequence[State], final: Mapping[str, Entry | None]
    ) -> list[Trail]:
        """The trail of each unit; ``final`` are the entries at the end, by the patch's paths."""
        steps = self._steps(units)
        return [
            self._trail(unit, trail, end, {path: final.get(path) for path in unit.paths})
            for unit, trail, end in zip(units, steps, ends, strict=True)
        ]

    def _steps(self, units: Sequence[Unit]) -> list[tuple[Step, ...]]:
        paths = sorted({path for unit in units for path in unit.paths})
        commits = self._hop.commits(paths)
        names = _names(paths, self._hop, commits)
        asked: list[tuple[int, CommitInfo, Entries]] = []
        for commit in commits:
            touched = {name for touch in commit.touches for name in (touch.old, touch.new)}
            for number, unit in enumerate(units):
                if any(touched & names[path] for path in unit.paths):
                    asked.append((number, commit, self._entries(commit.tree, unit, names)))
        states = self.states(
            [units[number] for number, _, _ in asked], [entries for _, _, entries in asked]
        )
        trails: list[list[Step]] = [[] for _ in units]
        for (number, commit, entries), state in zip(asked, states, strict=True):
            trails[number].append(Step(commit, state, entries))
        return [tuple(trail) for trail in trails]

    def _entries(self, tree: str, unit: Unit, names: Mapping[str, set[str]]) -> Entries:
        found: dict[str, Entry | None] = {}
        for path in unit.paths:
            present = (self._objects.file(tree, name) for name in sorted(names[path]))
            found[path] = next((entry for entry in present if entry is not None), None)
        return found

    def _trail(self, unit: Unit, steps: tuple[Step, ...], end: State, final: Entries) -> Trail:
        last = max((n for n, step in enumerate(steps) if step.state is State.EMPTY), default=None)
        if last is None:
            return Trail(unit, steps, end, None, False)
        first = self._run_start(steps, last)
        undone = end is not State.EMPTY and self._undone(unit, steps[last].entries, final)
        return Trail(unit, steps, end, steps[first].commit, undone)

    def _run_start(self, steps: Sequence[Step], last: int) -> int:
        """Where the run of empty states that ends at ``last`` begins.

        A commit of a side branch that had not got the change yet does not interrupt it.
        """
        first = last
        for number in range(last - 1, -1, -1):
            if steps[number].state is not State.EMPTY:
                continue
            between = steps[number + 1 : first]
            oid = steps[number].commit.oid
            if any(self._hop.descends(step.commit.oid, oid) for step in between):
                break
            first = number
        return first

    def _undone(self, unit: Unit, landed: Entries, final: Entries) -> bool:
        """Whether upstream took the unit out again after it landed.

        It did where taking it out of the tree it landed in changes nothing at the end, and where
        no trace of it is left. Where git cannot take it out cleanly, nothing can be said, and it
        counts as undone: a patch is never retired on a guess.
        """
        tree = self._objects.tree_of
        without = self._merger.merge(tree(unit.after), tree(landed), tree(unit.before))
        if not without.clean:
            return True
        ours = tree(final)
        removal = self._merger.merge(tree(landed), ours, without.tree)
        if removal.clean and removal.tree == ours:
            return True
        return not all(self._shows(unit, path, landed, final) for path in unit.paths)

    def _shows(self, unit: Unit, path: str, landed: Entries, final: Entries) -> bool:
        states = (unit.before.get(path), unit.after.get(path), landed.get(path), final.get(path))
        if states[0] == states[1]:
            return True
        return still_there(*(self._objects.read(entry.oid) if entry else b"" for entry in states))

    def _question(self, unit: Unit, ours: Entries) -> Question:
        tree = self._objects.tree_of
        return Question(tree(unit.before), tree(ours), tree(unit.after))


def _state(unit: Unit, ours: Entries, ours_tree: str, merged: str | None) -> State:
    if merged == ours_tree:
        return State.EMPTY
    if all(ours.get(path) is None for path, entry in unit.before.items() if entry) and any(
        unit.before.values()
    ):
        return State.ABSENT
    return State.COLLIDES if merged is None else State.APPLIES


def _names(paths: Sequence[str], hop: Hop, commits: Sequence[CommitInfo]) -> dict[str, set[str]]:
    """Every name each path has between the bases; never one that is another of ``paths``."""
    names = {path: {path, hop.place(path).new or path} for path in paths}
    renames = [
        (touch.old, touch.new)
        for commit in commits
        for touch in commit.touches
        if touch.status == "R"
    ]
    for path, known in names.items():
        for old, new in renames:
            if old in known:
                known.add(new)
        known -= set(paths) - {path}
    return names
