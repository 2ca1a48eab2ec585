"""A patch before the judge, and what was found out about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from patchq.engine.workspace.upstream_range import Placement, Whereabouts
from patchq.git.apply import Applied
from patchq.git.mail import Mailer
from patchq.git.merge import Merged
from patchq.git.objects import Entries, Objects
from patchq.model.diff import ChangeKind, scan
from patchq.model.ids import TreeId
from patchq.model.patch import Patch


@dataclass(frozen=True)
class Case:
    """A patch before the judge: as it stands on the old base, and the tree it has to go onto.

    ``ours`` is the new base with the patches below it as they were carried. If a reviewer
    ``accepted`` the drift of the patch, its ``X-Expect`` is not asked.
    """

    patch: Patch
    applied: Applied
    ours: TreeId
    accepted: bool = False


@dataclass(frozen=True)
class CaseFacts:
    """What was found out about a case on the new base."""

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
    """No two paths of a patch in one place.

    Where upstream moved a file to a path that the patch has too (it made the patch's own rename,
    say), the old path is gone and git's merge decides.
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
    """Whether two files moved with one directory that they have in common."""
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
