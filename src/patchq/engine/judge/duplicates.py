"""Hunks that merge cleanly and would add lines which upstream has elsewhere in the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchq.engine.judge.case import CaseFacts
from patchq.engine.series.hunks import Unit
from patchq.engine.series.repeated_lines import brought_by, find_duplicate
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.merge import MergeState
from patchq.model.verdict import Evidence, EvidenceKind


def duplicates(
    span: UpstreamRange, units: Sequence[Unit], states: Sequence[MergeState], facts: CaseFacts
) -> Iterator[tuple[tuple[str, int], Evidence]]:
    """The place (file, hunk) of hunks whose added lines upstream has elsewhere, with the evidence.

    If the commits are known, one of them must have added all of the lines.
    """
    objects = span.store.objects
    applying = {
        (unit.file, index)
        for unit, state in zip(units, states, strict=True)
        if state is MergeState.APPLIES
        for index in unit.hunks
    }
    for change in facts.case.patch.files:
        path = change.paths[-1]
        before, ours = facts.case.applied.before.get(path), facts.entries.get(path)
        after = objects.file(facts.merged.tree, path)
        if before is None or ours is None or after is None or before == ours:
            continue
        texts = [objects.blob(entry) for entry in (before, ours, after)]
        for hunk in change.hunks:
            place = (change.paths[0], hunk.index)
            duplicate = find_duplicate(hunk, path, *texts) if place in applying else None
            if duplicate is None:
                continue
            name = facts.placements[path].new or path
            commits = span.commits((path,))
            commit = brought_by(duplicate, commits, (name, path), objects)
            if commits and commit is None:
                continue
            more = f" and {len(duplicate.lines) - 1} more" if len(duplicate.lines) > 1 else ""
            line = duplicate.lines[0].decode(errors="replace")
            text = f"upstream put {line!r}{more} elsewhere in the file; the merge would repeat it"
            yield place, span.evidence(EvidenceKind.DUPLICATE, text, commit, paths=(name,))
