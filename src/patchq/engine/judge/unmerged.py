"""Patches that cannot be merged at all."""

from __future__ import annotations

from collections.abc import Sequence

from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.outcomes import outcomes
from patchq.engine.series.stack import Absent, absent_words
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.model.patch import Patch
from patchq.model.verdict import (
    Evidence,
    EvidenceKind,
    HunkState,
    PatchReport,
    PathChange,
    Verdict,
)
from patchq.model.words import some


def uncovered(span: UpstreamRange, patch: Patch) -> Judgement | None:
    """The judgement on a patch whose paths a base does not all cover, None if both do."""
    blind = [path for path in patch.paths if not span.covers(path)]
    if not blind:
        return None
    archive = span.new if span.new.archive else span.old
    evidence = Evidence(
        EvidenceKind.NOT_COVERED,
        f"{archive.name} is an archive that does not hold {some(blind)}",
        paths=tuple(blind),
    )
    return unseen(patch, evidence, tuple(None if path in blind else path for path in patch.paths))


def unjudged(patch: Patch, why: str) -> Judgement:
    """The judgement on a patch that cannot be judged and is carried as it is."""
    return unseen(patch, Evidence(EvidenceKind.NOT_COVERED, why), patch.paths)


def unseen(patch: Patch, evidence: Evidence, places: Sequence[str | None]) -> Judgement:
    """The judgement, with ``evidence``, on a patch that is carried byte for byte unjudged."""
    report = PatchReport(
        name=patch.name,
        verdict=Verdict.NOT_COVERED,
        paths=tuple(map(PathChange, patch.paths, places)),
        hunks=outcomes(patch, HunkState.UNCOVERED),
        evidence=(evidence,),
        kind=patch.header.kind,
    )
    return Judgement(report, patch)


def without_base(
    span: UpstreamRange,
    patch: Patch,
    missing: Sequence[Absent],
    ruled: tuple[Verdict, Evidence] | None,
    *,
    inactive: bool,
) -> Judgement:
    """The judgement on a patch whose required patches are not below it: only its header decides.

    An ``inactive`` one, whose guards are off, is carried as it is.
    """
    verdict = ruled[0] if ruled else Verdict.CONFLICT
    names = tuple(each.name for each in missing)
    requires = Evidence(
        EvidenceKind.REQUIRES,
        "requires itself: nothing can come before it"
        if patch.name in names
        else f"stands on {absent_words(missing)}: it cannot be merged",
    )
    places = tuple(span.place(path).new for path in patch.paths)
    if inactive and verdict is not Verdict.EXPIRED:
        return unseen(patch, requires, places)
    state = HunkState.GONE if verdict is Verdict.EXPIRED else HunkState.CONFLICTING
    report = PatchReport(
        name=patch.name,
        verdict=verdict,
        paths=tuple(map(PathChange, patch.paths, places)),
        hunks=outcomes(patch, state),
        evidence=(*(ruled[1:] if ruled else ()), requires),
        blocked_by=names,
        kind=patch.header.kind,
    )
    return Judgement(report)
