"""A patch before the judge, what was found out about it, and what the judge says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from patchq.engine.workspace.upstream_range import Placement, Whereabouts
from patchq.git.apply import Applied
from patchq.git.merge import Merged
from patchq.git.objects import Entries
from patchq.model.patch import Patch
from patchq.model.verdict import PatchReport, Verdict


@dataclass(frozen=True)
class Judgement:
    """A verdict, and the patch to carry where there is one."""

    report: PatchReport
    patch: Patch | None = None

    @property
    def stands(self) -> bool:
        """Whether there is a patch that applies to the new base."""
        return self.patch is not None and self.report.verdict is not Verdict.NOT_COVERED


@dataclass(frozen=True)
class Case:
    """A patch before the judge: as it stands on the old base, and the tree it has to go onto.

    ``ours`` is the new base with the patches below it as they were carried. Where a person
    ``accepted`` the drift of the patch, its ``X-Expect`` is not asked.
    """

    patch: Patch
    applied: Applied
    ours: str
    accepted: bool = False


@dataclass(frozen=True)
class Facts:
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

    def with_state(self, where: Whereabouts) -> tuple[str, ...]:
        return tuple(path for path, place in self.placements.items() if place.where is where)


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
