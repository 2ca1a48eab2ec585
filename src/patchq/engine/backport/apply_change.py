"""A change put onto a tree of another time: placed, merged, and, where it fails, narrowed down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from patchq.engine.backport.missing_commits import Between
from patchq.engine.backport.upstream_change import UpstreamChange
from patchq.engine.series.hunks import Region, Unit, changed_region, joined, split_units
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange, Whereabouts
from patchq.git.merge import Merged, MergeQuestion, MergeState
from patchq.git.objects import Entries, Entry
from patchq.model.ids import CommitId, TreeId
from patchq.model.lock import Base


@dataclass(frozen=True)
class Clash:
    """Lines that both sides changed: where they begin in the target, what it has, what comes."""

    path: str
    line: int
    ours: tuple[bytes, ...]
    theirs: tuple[bytes, ...]


@dataclass(frozen=True)
class UnmergedUnit:
    """A unit of the change that does not merge.

    ``region`` are the lines it replaces in the change's own base; ``clashes`` is empty if whole
    files collide (one of them is missing, say).
    """

    unit: Unit
    region: Region | None
    clashes: tuple[Clash, ...]


@dataclass(frozen=True)
class Landing:
    """A change on the tree ``onto``, and the tree that gives.

    ``before`` and ``after`` are entries by the target's paths; ``conflicted`` are paths of the
    target, ``uncovered`` those of the change that the target, an archive, does not cover.
    """

    change: UpstreamChange
    state: MergeState
    onto: TreeId
    tree: TreeId
    before: Entries
    after: Entries
    moves: Mapping[str, str]
    conflicted: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()


class Lander:
    """Puts changes on trees made from one base of the lock.

    ``between`` are the commits from that base to where the changes come from.
    """

    def __init__(self, project: Project, target: Base, between: Between):
        self._project = project
        self._objects = project.store.objects
        self._merger = project.store.merger
        self._target = target
        self._between = between
        self._spans: dict[str, UpstreamRange] = {}
        self._met: dict[CommitId | None, set[str]] = {}

    def land(self, change: UpstreamChange, tree: TreeId) -> Landing:
        """Put ``change`` on ``tree`` by a three-way merge from its own base."""
        names = {path: self._place(change, path, tree) for path in change.after}
        uncovered = tuple(path for path, name in names.items() if name is None)
        places = {path: name or path for path, name in names.items()}
        self._met.setdefault(change.commit, set()).update(places.values())
        base, theirs = _renamed(change.before, places), _renamed(change.after, places)
        ours = self._objects.files(tree, places.values())
        merged = self._merger.merge(*map(self._objects.tree_of, (base, ours, theirs)))
        after: dict[str, Entry | None] = dict.fromkeys(ours)
        after.update(self._objects.walk(merged.tree))
        changed = {path: entry for path, entry in after.items() if entry != ours.get(path)}
        leaving = {path for path, entry in changed.items() if entry is None}
        blocked = tuple(
            path
            for path in changed.keys() - leaving
            if self._objects.blocker(tree, path, leaving) is not None
        )
        if not merged.clean or uncovered or blocked:
            state = MergeState.COLLIDES
        else:
            state = MergeState.APPLIES if changed else MergeState.EMPTY
        return Landing(
            change=change,
            state=state,
            onto=tree,
            tree=self._objects.overlay(tree, changed) if state is MergeState.APPLIES else tree,
            before={path: ours.get(path) for path in changed},
            after=changed,
            moves={old: new for old, new in places.items() if old != new},
            conflicted=(*merged.conflicted_paths, *sorted(blocked)),
            uncovered=uncovered,
        )

    def places(self, change: UpstreamChange) -> Iterator[str]:
        """The paths of the target at which ``change`` was put, or would be if they were there."""
        for path in change.after:
            yield path
            yield from self._between.names(path)
        yield from self._met.get(change.commit, ())

    def collisions(self, landing: Landing, tree: TreeId) -> tuple[UnmergedUnit, ...]:
        """The units of a change that do not merge onto ``tree``, where it landed in conflict."""
        change = landing.change
        places = {path: landing.moves.get(path, path) for path in change.after}
        units = split_units(change.patch, change.applied, self._objects)
        conflicted = set(landing.conflicted)
        units = tuple(u for u in units if any(places[p] in conflicted for p in u.paths)) or units
        failed = self._failing(units, places, tree)
        return tuple(
            UnmergedUnit(unit, changed_region(unit, self._objects), self._clashes(failed[unit]))
            for unit in units
            if unit in failed
        )

    def _failing(
        self, units: Sequence[Unit], places: Mapping[str, str], tree: TreeId
    ) -> dict[Unit, Merged]:
        """Those of ``units`` that do not merge by themselves, with what git made of each.

        Of a file with many hunks few collide: some of them that merge together need not be asked
        about one by one.
        """
        failed: dict[Unit, Merged] = {}
        groups: list[Sequence[Unit]] = [[unit] for unit in units if unit.edit is None]
        for _, hunks in groupby((unit for unit in units if unit.edit), attrgetter("file")):
            groups += _parts(list(hunks))
        while groups:
            asked = [joined(group, self._objects) for group in groups]
            answers = zip(groups, self._ask(asked, places, tree), strict=True)
            bad = [(group, merged) for group, (_, _, merged) in answers if not merged.clean]
            failed |= {group[0]: merged for group, merged in bad if len(group) == 1}
            groups = [part for group, _ in bad if len(group) > 1 for part in _parts(group)]
        return failed

    def there(self, change: UpstreamChange, tree: TreeId) -> tuple[int, int]:
        """How many units of ``change`` the tree has, and of how many: those that it covers."""
        names = {path: self._place(change, path, tree) for path in change.after}
        places = {path: name for path, name in names.items() if name is not None}
        units = split_units(change.patch, change.applied, self._objects)
        units = tuple(unit for unit in units if all(path in places for path in unit.paths))
        answers = self._ask(units, places, tree)
        return sum(a.clean and a.tree == question.ours for _, question, a in answers), len(units)

    def _ask(
        self, units: Sequence[Unit], places: Mapping[str, str], tree: TreeId
    ) -> list[tuple[Unit, MergeQuestion, Merged]]:
        """What each unit by itself gives on ``tree``."""
        tree_of = self._objects.tree_of
        questions = [
            MergeQuestion(
                tree_of(_renamed(unit.before, places)),
                tree_of(self._objects.files(tree, [places[path] for path in unit.paths])),
                tree_of(_renamed(unit.after, places)),
            )
            for unit in units
        ]
        return list(zip(units, questions, self._merger.merge_all(questions), strict=True))

    def _clashes(self, merged: Merged) -> tuple[Clash, ...]:
        found: list[Clash] = []
        for path in merged.conflicted_paths:
            if len([path for name, _ in merged.conflicts if name == path]) == _ALL_STAGES:
                found += _marked(path, self._objects.content(merged.tree, path) or b"")
        return tuple(found)

    def _place(self, change: UpstreamChange, path: str, tree: TreeId) -> str | None:
        """Where ``path`` belongs in ``tree``; None if the target cannot tell."""
        if self._objects.file(tree, path) is not None:
            return path
        span = self._span(change)
        if not span.covers(path):
            return None
        back = self._between.name_back(path, change.commit)
        if back is not None and self._objects.file(tree, back) is not None:
            return back
        is_old = self._objects.file(change.base, path) is not None
        if is_old and self._between.is_new(path, change.commit) is None:
            placement = span.place(path)
            if placement.where is Whereabouts.MOVED and placement.new is not None:
                return placement.new
        added = span.renames.added(path)
        if added.alternatives:
            return path
        wanted = not is_old or self._objects.file(tree, added.path) is not None
        return added.path if wanted else path

    def _span(self, change: UpstreamChange) -> UpstreamRange:
        """The way backwards, from the change's own base to the target."""
        if change.parent not in self._spans:
            tree, date = self._project.store.describe(change.parent)
            origin = Base(change.parent[:12], change.parent, tree, date)
            self._spans[change.parent] = UpstreamRange(self._project, origin, self._target)
        return self._spans[change.parent]


_ALL_STAGES = 3
_PARTS = 8


def _parts(units: Sequence[Unit]) -> list[Sequence[Unit]]:
    size = -(-len(units) // _PARTS)
    return [units[at : at + size] for at in range(0, len(units), size)]


def _renamed(entries: Entries, places: Mapping[str, str]) -> dict[str, Entry | None]:
    return {places[path]: entry for path, entry in entries.items()}


def _marked(path: str, content: bytes) -> Sequence[Clash]:
    """The conflicts that git marked in a merged file, with their lines in *ours*."""
    clashes: list[Clash] = []
    line = 0
    ours: list[bytes] | None = None
    theirs: list[bytes] | None = None
    for text in content.split(b"\n"):
        if text.startswith(b"<<<<<<< ") and ours is None:
            ours = []
        elif text == b"=======" and ours is not None and theirs is None:
            theirs = []
        elif text.startswith(b">>>>>>> ") and ours is not None and theirs is not None:
            clashes.append(Clash(path, line - len(ours) + 1, tuple(ours), tuple(theirs)))
            ours = theirs = None
        elif theirs is not None:
            theirs.append(text)
        else:
            line += 1
            if ours is not None:
                ours.append(text)
    return clashes
