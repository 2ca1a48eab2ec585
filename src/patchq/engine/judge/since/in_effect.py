"""Whether the units of a patch that upstream took still have their effect on the new base."""

from __future__ import annotations

from collections.abc import Sequence

from patchq.engine.judge.case import CaseFacts
from patchq.engine.judge.evidence import EvidenceMaker
from patchq.engine.judge.landing.hunk_history import HunkHistory, without_lost_source
from patchq.engine.judge.landing.included import Included
from patchq.engine.judge.landing.moved_removals import Removals
from patchq.engine.judge.landing.unused import Unused, without_effect
from patchq.engine.judge.since.build_files import BuildFiles
from patchq.engine.judge.since.modes import without_their_mode
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.model.verdict import Evidence


class InEffect:
    """Checks landed units against all that can take their effect away, between two bases."""

    def __init__(self, span: UpstreamRange, evidence: EvidenceMaker):
        self._span = span
        self._evidence = evidence
        self._included = Included(span)
        self._build_files = BuildFiles(span)

    def check(
        self, trails: Sequence[HunkHistory], facts: CaseFacts
    ) -> tuple[list[HunkHistory], tuple[Evidence, ...]]:
        """``trails`` of the patch of ``facts``, those marked that lost their effect, and why."""
        span, entries = self._span, facts.entries
        places = {path: place.new for path, place in facts.placements.items()}
        standing = Removals(span, facts.case.applied, entries, places).standing(trails)
        moved = {item.trail.unit for item in standing}
        marked = [
            trail.only_moved if trail.unit in moved else without_lost_source(trail, places)
            for trail in trails
        ]
        marked = without_their_mode(marked, entries, places, span)
        marked, unbuilt = self._build_files.without_unbuilt(marked, places)
        unused = (
            *Unused(span, entries, places).find(marked),
            *self._included.find(marked, places),
        )
        shown = (*self._evidence.still_there(standing), *self._evidence.idle(unused, unbuilt))
        return without_effect(marked, unused), shown
