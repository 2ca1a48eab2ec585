"""The upstream commits that a change needs and a tag lacks: the smallest ordered set of them.

Found by cause, kept by proof. What fails names its causes: lines that collide, the commits that
wrote them since the tag; names that are missing, the commits that brought them. They are added
until everything applies and resolves; then each is left out in turn, and stays out where it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from patchq.engine.backport.apply_change import Lander, Landing, UnmergedUnit
from patchq.engine.backport.missing_commits import Between
from patchq.engine.backport.missing_names import MissingName, Names
from patchq.engine.backport.upstream_change import ChangeReader, UpstreamChange
from patchq.engine.workspace.project import Project
from patchq.git.merge import MergeState
from patchq.model.ids import CommitId, TreeId
from patchq.model.lock import Base

LIMIT = 5
_ROOM = 2
"""How many times the limit the set may have before what it can do without is taken out."""


class SearchOutcome(Enum):
    """How a search ended."""

    APPLIES = "applies"  # by itself
    EMPTY = "empty"  # the tree has all of it
    FOUND = "found"  # with prerequisites
    TOO_MANY = "too-many"
    BY_HAND = "by-hand"  # no commit can help


_BAD = (SearchOutcome.TOO_MANY, SearchOutcome.BY_HAND)


@dataclass(frozen=True)
class Reason:
    """Why a commit is needed: by which change, for what."""

    needed_by: str
    text: str


@dataclass(frozen=True)
class Prerequisite:
    """An upstream commit that comes along, and why."""

    change: UpstreamChange
    reasons: tuple[Reason, ...]

    def needed_for(self) -> tuple[str, ...]:
        """The titles of the changes that need it."""
        return tuple(dict.fromkeys(reason.needed_by for reason in self.reasons))


@dataclass(frozen=True)
class Found:
    """What a change needs on a tree.

    ``landings`` are the prerequisites in order and then the change, each on the one before, where
    the outcome is a good one. ``collisions`` and ``missing`` are what fails without any of them.
    For ``TOO_MANY``, ``prerequisites`` are those known so far. ``places`` are the paths of the tree
    that the change or a prerequisite meets there, or may.
    """

    outcome: SearchOutcome
    change: UpstreamChange
    prerequisites: tuple[Prerequisite, ...]
    landings: tuple[Landing, ...]
    collisions: tuple[UnmergedUnit, ...]
    missing: tuple[MissingName, ...]
    places: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Attempt:
    """Some commits and the change, put on one after another, as far as it went."""

    landings: tuple[Landing, ...]
    stuck: UpstreamChange | None = None
    collisions: tuple[UnmergedUnit, ...] = ()
    missing: tuple[tuple[MissingName, CommitId], ...] = ()


class PrerequisiteSearch:
    """Searches for one change at a time on trees made from one base of the lock.

    ``main`` is upstream's, if that is known: most changes are on the way there.
    """

    def __init__(
        self,
        project: Project,
        target: Base,
        changes: ChangeReader,
        names: Names,
        main: CommitId | None = None,
    ):
        self._project = project
        self._target = target
        self._changes = changes
        self._names = names
        self._main = main

    def find(self, change: UpstreamChange, tree: TreeId, limit: int = LIMIT) -> Found:
        """What ``change`` needs on ``tree``, at most ``limit`` commits."""
        return self._run(change, tree).find(limit)

    def needs(self, change: UpstreamChange, tree: TreeId, commits: Iterable[CommitId]) -> bool:
        """Whether ``change`` applies and resolves on ``tree`` with just these commits first."""
        return self._run(change, tree).holds(tuple(commits))

    def _run(self, change: UpstreamChange, tree: TreeId) -> _Run:
        connected = None if self._target.archive is not None else self._target.commit
        ends = (connected, self._main or change.parent, change.commit)
        self._project.store.complete(end for end in ends if end is not None)
        between = Between(self._project.store, connected, change.parent, self._main)
        return _Run(self._project, self._target, self._changes, self._names, change, tree, between)


class _Run:
    """One search."""

    def __init__(
        self,
        project: Project,
        target: Base,
        changes: ChangeReader,
        names: Names,
        change: UpstreamChange,
        tree: TreeId,
        between: Between,
    ):
        self._between = between
        self._lander = Lander(project, target, between)
        self._changes = changes
        self._names = names
        self._target = target
        self._change = change
        self._tree = tree
        self._idle: set[CommitId] = set()
        self._landed: dict[tuple[CommitId | None, TreeId], Landing] = {}
        self._lacking: dict[
            tuple[CommitId | None, TreeId], tuple[tuple[MissingName, CommitId], ...]
        ] = {}

    def find(self, limit: int) -> Found:
        alone = self._attempt(())
        if alone.stuck is None:
            state = alone.landings[-1].state
            outcome = SearchOutcome.EMPTY if state is MergeState.EMPTY else SearchOutcome.APPLIES
            return self._found(outcome, alone, alone, {})
        reasons: dict[CommitId, list[Reason]] = {}
        attempt = alone
        while attempt.stuck is not None:
            causes = [
                (oid, reason)
                for oid, reason in self._causes(attempt)
                if oid not in reasons and oid not in self._idle and oid != self._change.commit
            ]
            if not causes:
                return self._found(SearchOutcome.BY_HAND, alone, attempt, reasons)
            for oid, reason in causes:
                reasons.setdefault(oid, []).append(reason)
            if len(reasons) > _ROOM * limit:
                return self._found(SearchOutcome.TOO_MANY, alone, attempt, reasons)
            attempt = self._attempt(tuple(reasons))
        chosen, attempt = self._fewest(tuple(o for o in reasons if o not in self._idle), attempt)
        kept = {oid: reasons[oid] for oid in chosen}
        outcome = SearchOutcome.FOUND if len(kept) <= limit else SearchOutcome.TOO_MANY
        return self._found(outcome, alone, attempt, kept)

    def holds(self, commits: Sequence[CommitId]) -> bool:
        return self._attempt(commits).stuck is None

    def _fewest(
        self, commits: tuple[CommitId, ...], attempt: _Attempt
    ) -> tuple[tuple[CommitId, ...], _Attempt]:
        """The commits less those that nothing needs, dearest first."""
        for oid in sorted(commits, key=lambda oid: -sum(self._changes.commit(oid).lines)):
            rest = tuple(other for other in commits if other != oid)
            without = self._attempt(rest)
            if without.stuck is None:
                commits, attempt = rest, without
        return commits, attempt

    def _found(
        self,
        outcome: SearchOutcome,
        alone: _Attempt,
        attempt: _Attempt,
        reasons: Mapping[CommitId, Sequence[Reason]],
    ) -> Found:
        prerequisites = tuple(
            Prerequisite(self._changes.commit(oid), tuple(reasons[oid]))
            for oid in self._ordered(reasons)
        )
        titles = {self._change.title, *(p.change.title for p in prerequisites)}
        return Found(
            outcome=outcome,
            change=self._change,
            prerequisites=tuple(
                replace(p, reasons=tuple(r for r in p.reasons if r.needed_by in titles))
                for p in prerequisites
            ),
            landings=() if outcome in _BAD else attempt.landings,
            collisions=alone.collisions,
            missing=tuple(name for name, _ in alone.missing),
            places=frozenset(
                place
                for change in (self._change, *(p.change for p in prerequisites))
                for place in self._lander.places(change)
            ),
        )

    def _ordered(self, commits: Iterable[CommitId]) -> list[CommitId]:
        return sorted(commits, key=lambda oid: self._between.order.get(oid, -1))

    def _attempt(self, commits: Sequence[CommitId]) -> _Attempt:
        """Put everything on; what is missing is looked for once nothing collides."""
        tree = self._tree
        landings: list[Landing] = []
        for change in (*map(self._changes.commit, self._ordered(commits)), self._change):
            if change.commit in self._idle:
                continue
            landing = self._land(change, tree)
            if landing.state is MergeState.EMPTY and change is not self._change:
                assert change.commit is not None
                self._idle.add(change.commit)
            elif landing.state is MergeState.COLLIDES:
                collisions = self._lander.collisions(landing, tree)
                return _Attempt(tuple(landings), change, collisions)
            else:
                landings.append(landing)
                tree = landing.tree
        chosen = frozenset(commits) | self._idle
        for landing in landings:
            missing = tuple(found for found in self._missing(landing) if found[1] not in chosen)
            if missing:
                return _Attempt(tuple(landings), landing.change, missing=missing)
        return _Attempt(tuple(landings))

    def _land(self, change: UpstreamChange, tree: TreeId) -> Landing:
        key = (change.commit, tree)
        if key not in self._landed:
            self._landed[key] = self._lander.land(change, tree)
        return self._landed[key]

    def _missing(self, landing: Landing) -> tuple[tuple[MissingName, CommitId], ...]:
        """What a change misses where it landed, and who brings that."""
        change = landing.change
        key = (change.commit, landing.tree)
        if key not in self._lacking:
            names: Sequence[MissingName] = ()
            if landing.state is MergeState.APPLIES and self._between.has_commits:
                names = self._names.missing(change, landing, self._target.tree)
            sources = [(name, self._brought_by(name, change.commit)) for name in names]
            self._lacking[key] = tuple((name, oid) for name, oid in sources if oid is not None)
        return self._lacking[key]

    def _brought_by(self, name: MissingName, end: CommitId | None) -> CommitId | None:
        """The oldest commit since the target after which the source has ``name``."""
        found = []
        for home in name.homes:
            if name.holds is None:
                commits = self._between.before(home, end)
                found += [
                    c.oid
                    for c in commits
                    if any(t.new == home and t.status in "AR" for t in c.touches)
                ][:1]
            else:
                commit = self._between.first_with(home, name.holds, end)
                found += [commit.oid] if commit else []
        return min(found, key=lambda oid: self._between.order.get(oid, -1), default=None)

    def _causes(self, attempt: _Attempt) -> Iterator[tuple[CommitId, Reason]]:
        change = attempt.stuck
        assert change is not None
        self._between.expect(c.region.path for c in attempt.collisions if c.region is not None)
        for collision in attempt.collisions:
            for oid, text in self._collision_causes(change, collision):
                yield oid, Reason(change.title, text)
        for name, oid in attempt.missing:
            yield oid, Reason(change.title, f"brings {name.name} ({name.homes[0]})")

    def _collision_causes(
        self, change: UpstreamChange, collision: UnmergedUnit
    ) -> Iterator[tuple[CommitId, str]]:
        region = collision.region
        if region is not None:
            hunk = f"hunk {collision.unit.hunks[0]} of {region.path}"
            writers = self._between.writers(region.path, region.first, region.end, change.commit)
            added = self._between.is_new(region.path, change.commit)
            for oid in writers:
                is_added = added is not None and added.oid == oid
                yield oid, f"added {region.path}" if is_added else f"wrote what {hunk} stands on"
            if writers:
                return
        for path in collision.unit.paths:
            if collision.unit.before.get(path) is None:
                continue
            added = self._between.is_new(path, change.commit)
            newest = added or next(self._between.before(path, change.commit), None)
            if newest is not None:
                yield newest.oid, f"added {path}" if added else f"changed {path}"
