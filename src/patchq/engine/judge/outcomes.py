"""The outcome of each hunk of a patch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from patchq.engine.judge.case import CaseFacts
from patchq.engine.judge.landing.hunk_history import HunkHistory
from patchq.engine.series.hunks import locate
from patchq.engine.workspace.upstream_range import Whereabouts
from patchq.git.history import CommitInfo
from patchq.git.merge import MergeState
from patchq.git.objects import Objects
from patchq.model.diff_layout import split_lines
from patchq.model.patch import Patch
from patchq.model.verdict import HunkOutcome, HunkState, Verdict


def outcomes(patch: Patch, state: HunkState) -> tuple[HunkOutcome, ...]:
    return tuple(
        HunkOutcome(change.paths[0], index, state)
        for change in patch.files
        for index in ([hunk.index for hunk in change.hunks] or [0])
    )


def carried_outcomes(
    facts: CaseFacts, objects: Objects, upstream: Collection[tuple[str, int]] = ()
) -> tuple[HunkOutcome, ...]:
    """The outcomes of the hunks of a carried patch; ``upstream`` are those that landed."""
    found = []
    for change in facts.case.patch.files:
        entry = facts.entries.get(change.paths[0])
        lines = split_lines(objects.blob(entry)) if change.hunks else []
        places = locate(change.hunks, lines) if entry else None
        for number, index in enumerate([hunk.index for hunk in change.hunks] or [0]):
            offset = None
            if places is not None and change.hunks:
                hunk = change.hunks[number]
                offset = places[number] - (hunk.old_start - bool(hunk.preimage))
            taken = (change.paths[0], index) in upstream
            found.append(
                HunkOutcome(change.paths[0], index, HunkState.UPSTREAM)
                if taken
                else HunkOutcome(change.paths[0], index, HunkState.CARRIED, offset)
            )
    return tuple(found)


def conflicting(
    hunks: Iterable[HunkOutcome], which: Callable[[HunkOutcome], bool]
) -> tuple[HunkOutcome, ...]:
    """``hunks``, some of which cannot be carried."""
    return tuple(
        replace(hunk, state=HunkState.CONFLICTING, offset=None) if which(hunk) else hunk
        for hunk in hunks
    )


def trail_outcomes(trails: Sequence[HunkHistory], facts: CaseFacts) -> tuple[HunkOutcome, ...]:
    return tuple(
        HunkOutcome(
            trail.unit.file,
            index,
            hunk_state(trail, facts),
            commit=commit.oid if (commit := decided_by(trail)) else None,
        )
        for trail in trails
        for index in trail.unit.hunks
    )


def decided_by(trail: HunkHistory) -> CommitInfo | None:
    """The commit that decided the fate of a unit that upstream touched."""
    if trail.has_landed or trail.once_landed:
        return trail.landed
    return trail.ended_by if trail.end is MergeState.COLLIDES else None


def hunk_state(trail: HunkHistory, facts: CaseFacts) -> HunkState:
    if trail.has_landed:
        return HunkState.UPSTREAM
    if is_gone(trail, facts):
        return HunkState.GONE
    return HunkState.CARRIED if trail.end is MergeState.APPLIES else HunkState.CONFLICTING


def unsettled(trails: Sequence[HunkHistory]) -> Verdict:
    """The verdict on a patch that needs review."""
    landed = any(trail.has_landed or trail.once_landed for trail in trails)
    return Verdict.SUPERSEDED if landed else Verdict.CONFLICT


def is_gone(trail: HunkHistory, facts: CaseFacts) -> bool:
    return (
        trail.end is MergeState.ABSENT
        and not trail.has_landed
        and all(
            facts.placements[path].where is Whereabouts.GONE
            for path, entry in trail.unit.before.items()
            if entry is not None
        )
    )
