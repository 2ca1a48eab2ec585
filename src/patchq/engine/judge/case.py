"""A patch to be judged, with its place in a series, and the facts about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from patchq.engine.judge.cache import RULES
from patchq.engine.judge.predicates import SpanPredicates
from patchq.engine.series.stack import Absent, Stack, met
from patchq.engine.workspace.upstream_range import Placement, UpstreamRange, Whereabouts
from patchq.git.apply import Applied
from patchq.git.mail import Mailer
from patchq.git.merge import Merged
from patchq.git.objects import Entries, Objects
from patchq.kept_answers import key_of
from patchq.model.diff import ChangeKind, scan
from patchq.model.ids import TreeId
from patchq.model.patch import Patch, Reach
from patchq.model.verdict import Verdict


@dataclass(frozen=True)
class Case:
    """A patch to be judged: as it applies to the old base, and the tree that it is to go onto.

    ``ours`` is the new base with the patches below it as they were carried. If a reviewer
    ``accepted`` the drift of the patch, its ``X-Expect`` is not asked.
    """

    patch: Patch
    applied: Applied
    ours: TreeId
    accepted: bool = False


@dataclass(frozen=True)
class CaseFacts:
    """The facts about a case on the new base."""

    case: Case
    placements: Mapping[str, Placement]
    entries: Entries  # ours, by the patch's own paths
    merged: Merged

    @property
    def moves(self) -> dict[str, str]:
        return {
            path: place.new
            for path, place in self.placements.items()
            if place.new is not None and place.new != path
        }


def distinct(placements: Mapping[str, Placement]) -> dict[str, Placement]:
    """``placements`` without two paths of a patch in one place.

    If upstream moved a file to a path that the patch has too (for example by the same rename), the
    old path is gone and git's merge decides.
    """
    return {
        path: Placement(path, None, Whereabouts.GONE)
        if place.where is Whereabouts.MOVED and place.new in placements
        else place
        for path, place in placements.items()
    }


def renamed_apart(facts: CaseFacts, mailer: Mailer, objects: Objects) -> dict[str, str]:
    """The files that the patch and upstream gave different names, with those of the patch.

    git calls it a conflict (rename/rename). A directory that upstream moved, with all that is in
    it, takes the patch's new name along.
    """
    applied, placements = facts.case.applied, facts.placements
    moved = {
        path
        for path, place in placements.items()
        if place.where is Whereabouts.MOVED and applied.after.get(path) is None
    }
    if not moved:
        return {}
    diff = mailer.diff(objects.tree_of(applied.before), objects.tree_of(applied.after))
    renames = {
        change.old: change.new
        for change in scan(diff)
        if change.kind is ChangeKind.RENAME and change.old in moved
    }
    return {
        old: new
        for old, new in renames.items()
        if old and new and not _moved_along(placements[old], placements[new])
    }


def _moved_along(one: Placement, other: Placement) -> bool:
    """Whether two files moved with a common directory."""
    move = _directory_move(one)
    return move is not None and move == _directory_move(other)


def _directory_move(place: Placement) -> tuple[list[str], list[str]] | None:
    """The directories that a path moved from and to; None if its own name changed."""
    old, new = place.old.split("/"), (place.new or "").split("/")
    if old[-1] != new[-1]:
        return None
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return old, new


@dataclass(frozen=True)
class PatchedBase:
    """A base by name, the tree to begin from, and the patches that stand on it."""

    name: str
    tree: TreeId
    patches: tuple[Patch, ...] = ()


@dataclass(frozen=True)
class LostPatch:
    """A patch below that is not on the new base, though upstream has not taken it.

    ``became`` says why; ``verdict`` is the one that it got there, if any.
    """

    patch: Patch
    became: str
    verdict: Verdict | None = None


@dataclass(frozen=True, eq=False)
class PlacedPatch:
    """A patch with the patches below it, on the old base and on the new one.

    ``below`` are the names of these patches, ``missing`` those that it requires and that are not
    among them, ``lost`` those among them that are not on the new base, in order. If a reviewer
    ``accepted`` the drift of the patch, its ``X-Expect`` is not asked. ``inactive`` says that its
    guards are off by default.
    """

    stack: Stack = field(repr=False)
    patch: Patch
    old: PatchedBase
    new: PatchedBase
    below: frozenset[str] = frozenset()
    missing: tuple[Absent, ...] = ()
    lost: tuple[LostPatch, ...] = ()
    accepted: bool = False
    inactive: bool = False

    @cached_property
    def applied(self) -> Applied:
        """The patch on the old base; raises :class:`PatchRefusedError` if it does not apply."""
        tree = self.stack.apply_all(self.old.tree, self.old.patches, onto=self.old.name)
        return self.stack.apply(tree, self.patch, onto=self.old.name)

    @cached_property
    def ours(self) -> TreeId:
        """The tree that it is to go onto."""
        return self.stack.apply_all(self.new.tree, self.new.patches, onto=self.new.name)

    @property
    def can_be_merged(self) -> bool:
        """Whether all that it requires is there, so that it can be merged at all."""
        lost = {item.patch.name for item in self.lost}
        return not self.missing and lost.isdisjoint(self.patch.header.requires)

    @property
    def case(self) -> Case:
        """The case to be judged."""
        return Case(self.patch, self.applied, self.ours, self.accepted)

    def on(self, places: Iterable[str]) -> PlacedPatch:
        """The patch on only those below it that can affect it; ``places`` are its paths on the new
        base.

        The others touch none of its files, nor any that those touch: the merge is the same.
        """
        reach = Reach.of((*self.patch.paths, *places))
        old, new = (met(reach, base.patches) for base in (self.old, self.new))
        return replace(
            self,
            old=replace(self.old, patches=old),
            new=replace(self.new, patches=new),
            lost=tuple(
                item
                for item in self.lost
                if item.patch in old or item.patch.name in self.patch.header.requires
            ),
        )

    def key(self, span: UpstreamRange, predicates: SpanPredicates) -> str:
        """A key for all that the judgement depends on, except for lost patches below."""
        return key_of(
            [
                RULES,
                span.identity,
                [self.patch.name, self.patch.sha256, self.patch.strip],
                [[base.tree, _identities(base.patches)] for base in (self.old, self.new)],
                self.accepted,
                predicates.depends_on(self.patch),
            ]
        )

    def key_with_lost(self, span: UpstreamRange, predicates: SpanPredicates) -> str:
        """A key for all that the judgement depends on, lost patches below included."""
        lost = [
            [
                item.patch.name,
                *_identities([item.patch]),
                item.became,
                item.verdict and item.verdict.value,
            ]
            for item in self.lost
        ]
        return key_of(["lost", self.key(span, predicates), lost])


def _identities(patches: Iterable[Patch]) -> list[list[object]]:
    return [[patch.sha256, patch.strip] for patch in patches]
