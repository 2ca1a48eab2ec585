"""Patches that cannot be merged at all, and are carried byte for byte."""

from __future__ import annotations

from collections.abc import Sequence

from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.outcomes import outcomes
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
    """The judgement on a patch of which a base does not cover all, None if both do."""
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
    """The judgement on a patch that is carried as it is, for nothing can be found out."""
    return unseen(patch, Evidence(EvidenceKind.NOT_COVERED, why), patch.paths)


def unseen(patch: Patch, evidence: Evidence, places: Sequence[str | None]) -> Judgement:
    """A patch that is carried byte for byte, for it cannot be judged."""
    report = PatchReport(
        name=patch.name,
        verdict=Verdict.NOT_COVERED,
        paths=tuple(map(PathChange, patch.paths, places)),
        hunks=outcomes(patch, HunkState.UNCOVERED),
        evidence=(evidence,),
        kind=patch.header.kind,
    )
    return Judgement(report, patch)
