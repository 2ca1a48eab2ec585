"""Patches cut from another state of upstream, merged onto a series from what they were cut from."""

from __future__ import annotations

from collections.abc import Iterator

from patchq.engine.backport.missing_names import Names
from patchq.engine.backport.prerequisites import Found, PrerequisiteSearch, SearchOutcome
from patchq.engine.backport.upstream_change import ChangeReader
from patchq.engine.importing.cut_from import Foreign, OriginFinder
from patchq.engine.importing.fit import BroughtOver
from patchq.engine.series.message import wording
from patchq.engine.workspace.project import Project
from patchq.git.apply import Applied
from patchq.git.identity import UNKNOWN_AUTHOR
from patchq.model.ids import CommitId, TreeId
from patchq.model.patch import Patch


class Foreigners:
    """Brings patches over onto trees made from the base ``tag``; ``main`` as for backports."""

    def __init__(self, project: Project, tag: str, main: CommitId | None):
        self._tag = tag
        self._changes = ChangeReader(project.store, project.settings)
        self._origins = OriginFinder(project, main)
        base = project.lock.base(tag)
        self._known: dict[tuple[bytes, int, str], Foreign | None] = {}
        self._search = PrerequisiteSearch(project, base, self._changes, Names(project), main)

    def bring_over(self, patch: Patch, tree: TreeId) -> BroughtOver | None:
        """``patch`` on ``tree`` by a three-way merge; see :data:`BringOver`.

        What the base itself is the origin of has no other to be brought over from.
        """
        foreign = self._foreign(patch)
        if foreign is None or foreign.cut_from.name == self._tag:
            return None
        found = self._search.find(foreign.change, tree)
        remarks = (str(foreign.cut_from), *_needs(found))
        if found.outcome is SearchOutcome.APPLIES:
            (landing,) = found.landings
            return BroughtOver(Applied(landing.tree, landing.before, landing.after), remarks)
        there = found.outcome is SearchOutcome.EMPTY
        # a name may come in with any file
        stands_on = None if found.missing else found.places
        return BroughtOver(None, remarks, tuple(_requests(found)), there, stands_on)

    def _foreign(self, patch: Patch) -> Foreign | None:
        """``patch`` as a change of what it was cut from, which is found once."""
        key = (patch.raw, patch.strip, patch.directory)
        if key not in self._known:
            words = wording(patch, author=UNKNOWN_AUTHOR, date="0 +0000")
            self._known[key] = self._origins.bring(patch, self._tag, self._changes, words)
        return self._known[key]


def _requests(found: Found) -> Iterator[str]:
    """What brings the commits that the change leans on, as ``patchq backport`` takes it."""
    for one in found.prerequisites:
        if found.change.title in one.needed_for():
            numbers = one.change.pull_requests
            yield str(numbers[0]) if numbers else (one.change.commit or "")[:12]


def _needs(found: Found) -> Iterator[str]:
    """What the change leans on, in words: the places first, then the commits."""
    if found.outcome is SearchOutcome.EMPTY:
        yield "all of it is there already"
    hunks: dict[str, list[int]] = {}
    for collision in found.collisions:
        hunks.setdefault(collision.unit.file, []).extend(collision.unit.hunks)
    places = [
        f"{file} ({'hunk' if len(numbers) == 1 else 'hunks'} {', '.join(map(str, numbers))})"
        for file, numbers in hunks.items()
    ]
    if places:
        yield f"a three-way merge conflicts in {', '.join(places)}"
    for name in found.missing:
        yield f"{name.name} is missing"
    needed = [
        f"{(one.change.commit or '')[:12]} ({one.change.subject})"
        for one in found.prerequisites
        if found.change.title in one.needed_for()
    ]
    if needed:
        yield f"needs {', '.join(needed)}"
