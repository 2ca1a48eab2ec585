"""What a merge of a whole patch onto the new base gives, before any verdict is made of it."""

from __future__ import annotations

from collections.abc import Mapping

from patchq.engine.judge.case import Case, CaseFacts, distinct
from patchq.engine.workspace.upstream_range import Placement, UpstreamRange, Whereabouts
from patchq.git.objects import Entry


class Merges:
    """Merges the patches of one span."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects
        self._merger = span.store.merger

    def find(self, case: Case) -> CaseFacts:
        """Where its files are on the new base, and what the merge gives."""
        applied = case.applied
        placements, entries = self.places(case)
        tree = self._objects.tree_of
        merged = self._merger.merge(tree(applied.before), tree(entries), tree(applied.after))
        return CaseFacts(case, placements, entries, merged)

    def places(self, case: Case) -> tuple[dict[str, Placement], dict[str, Entry | None]]:
        """Where the paths of a patch belong, and what is there."""
        found = distinct({path: self._span.place(path) for path in case.applied.paths})
        placements = {
            # upstream's file went, but here it is the patch that brings one
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
        """The paths that cannot be there, each with the file in the place of its directory."""
        places = {path: self._span.place(path).new or path for path in case.applied.paths}
        leaving = {places[path] for path, entry in case.applied.after.items() if entry is None}
        found = {
            path: self._objects.blocker(case.ours, new, leaving)
            for path, new in places.items()
            if new not in leaving
        }
        return {path: blocker for path, blocker in found.items() if blocker is not None}

    def has_effect(self, facts: CaseFacts) -> bool:
        """Whether the patch merges, and changes something where it does."""
        return facts.merged.clean and not self.is_empty(facts)

    def is_empty(self, facts: CaseFacts) -> bool:
        """Whether the patch merges, and changes nothing: the new base has it."""
        merged = facts.merged
        return merged.clean and merged.tree == self._objects.tree_of(facts.entries)
