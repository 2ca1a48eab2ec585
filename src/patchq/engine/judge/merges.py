"""The merge of a whole patch onto the new base, from which its verdict is made."""

from __future__ import annotations

from collections.abc import Mapping

from patchq.engine.judge.case import Case, CaseFacts, distinct
from patchq.engine.workspace.upstream_range import Placement, UpstreamRange, Whereabouts
from patchq.git.objects import Entry


class Merges:
    """Merges patches from one base onto another."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects
        self._merger = span.store.merger

    def find(self, case: Case) -> CaseFacts:
        """The places of its files on the new base, and the result of the merge."""
        applied = case.applied
        placements, entries = self.places(case)
        tree = self._objects.tree_of
        merged = self._merger.merge(tree(applied.before), tree(entries), tree(applied.after))
        return CaseFacts(case, placements, entries, merged)

    def places(self, case: Case) -> tuple[dict[str, Placement], dict[str, Entry | None]]:
        """The places of the paths of a patch on the new base, and the entries there."""
        found = distinct({path: self._span.place(path) for path in case.applied.paths})
        placements = {
            # upstream's file is gone, but the patch itself adds one here
            path: Placement(path, path, Whereabouts.SAME)
            if place.where is Whereabouts.GONE and case.applied.before.get(path) is None
            else place
            for path, place in found.items()
        }
        return placements, {
            path: self._objects.file(case.ours, place.new) if place.new else None
            for path, place in placements.items()
        }

    def blocked(self, case: Case) -> Mapping[str, str]:
        """The paths that cannot exist, each with the file that is in place of its directory."""
        places = {path: self._span.place(path).new or path for path in case.applied.paths}
        leaving = {places[path] for path, entry in case.applied.after.items() if entry is None}
        found = {
            path: self._objects.blocker(case.ours, new, leaving)
            for path, new in places.items()
            if new not in leaving
        }
        return {path: blocker for path, blocker in found.items() if blocker is not None}

    def has_effect(self, facts: CaseFacts) -> bool:
        """Whether the patch merges cleanly and changes something."""
        return facts.merged.clean and not self.is_empty(facts)

    def is_empty(self, facts: CaseFacts) -> bool:
        """Whether the patch merges cleanly and changes nothing: the new base has it."""
        merged = facts.merged
        return merged.clean and merged.tree == self._objects.tree_of(facts.entries)
