"""Patches that left the series earlier, judged again: retirement has a memory.

Upstream may undo what made a patch superfluous. Every record of ``retired.yaml`` keeps the patch
and the base it stood on, so the same question can be put again on each new base.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from patchq.engine.judge.cache import kept_verdicts
from patchq.engine.judge.case import PatchedBase, PlacedPatch
from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.placed import PlaceJudge
from patchq.engine.series.stack import PatchRefusedError, Stack, absent, below
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import upstream_range
from patchq.errors import PatchqError
from patchq.model.ids import TreeId
from patchq.model.patch import Patch, read_patch
from patchq.model.retired import RecordState, Retired, provided_by_upstream
from patchq.model.verdict import EvidenceKind, Memory, PatchReport, Remembered, Verdict
from patchq.model.workspace import SeriesDirectory

ALIVE = frozenset({Verdict.CLEAN, Verdict.MOVED, Verdict.ADAPTED, Verdict.PARTIAL})


@dataclass(frozen=True)
class Recalled:
    """A record, what it is now, and the judgement that carries it where it is needed again."""

    record: Retired
    remembered: Remembered
    judgement: Judgement | None


def recall(
    project: Project,
    directory: SeriesDirectory,
    onto: str,
    records: Iterable[Retired] | None = None,
    patched: TreeId | None = None,
) -> tuple[Recalled, ...]:
    """Judge what left the series of ``directory`` again on the base ``onto``.

    All that is not in the series again, or just ``records``; on ``patched``, a tree made from the
    base, if one is given.
    """
    provided = provided_by_upstream(directory.retired)
    chosen = directory.out_of_series if records is None else records
    return tuple(_recall(project, record, onto, patched, provided) for record in chosen)


def _recall(
    project: Project, record: Retired, onto: str, patched: TreeId | None, provided: frozenset[str]
) -> Recalled:
    judgement = _judge(project, record, onto, patched, provided)
    now = judgement.report if judgement else None
    remembered = Remembered(record.name, record.verdict, record.since, _memory(record, now), now)
    return Recalled(record, remembered, judgement)


def _memory(record: Retired, now: PatchReport | None) -> Memory:
    if record.standing is RecordState.HELD:
        return Memory.HELD
    if record.standing is RecordState.DROPPED:  # the user's decision, which upstream cannot undo
        return Memory.SETTLED
    if now is None or now.verdict is Verdict.NOT_COVERED or _is_blind(now):
        return Memory.UNKNOWN
    return Memory.RESURFACED if is_needed_again(now) else Memory.SETTLED


def is_needed_again(now: PatchReport) -> bool:
    """Whether upstream undid what made a patch superfluous, by what the patch is now.

    Lines that upstream only rewrote are still there in another shape.
    """
    undone = any(item.kind is EvidenceKind.UNDONE for item in now.evidence)
    return now.verdict in ALIVE or undone


def _is_blind(now: PatchReport) -> bool:
    """Whether it could not be merged: a patch that it requires is nowhere, or it is a fault."""
    kinds = {item.kind for item in now.evidence}
    missing = now.verdict is Verdict.CONFLICT and EvidenceKind.REQUIRES in kinds
    return missing or EvidenceKind.FAULT in kinds


def _judge(
    project: Project, record: Retired, onto: str, patched: TreeId | None, provided: frozenset[str]
) -> Judgement | None:
    """None if the patch no longer stands on the base it left from (or that base is away)."""
    if record.base not in project.lock.names or record.base == onto:
        return None
    try:
        patch = read_patch(record.name, record.content, strip=record.strip)
        span = upstream_range(project, record.base, onto)
    except PatchqError:
        return None
    stack = Stack(project.store)
    under = _under(project, record)
    there = {lower.name for lower in under} | provided
    placed = PlacedPatch(
        stack=stack,
        patch=patch,
        old=PatchedBase(record.base, span.old.tree, tuple(under)),
        new=PatchedBase(onto, patched or span.new.tree),
        below=frozenset(lower.name for lower in under),
        missing=absent(patch, there),
    )
    try:
        judge = PlaceJudge(span, stack, patch.paths, kept_verdicts(project.workspace))
        return judge.judge_in_place(placed)
    except PatchRefusedError:
        return None


def _under(project: Project, record: Retired) -> Sequence[Patch]:
    """The patches it stood on, from the series it left, as far as that is still there."""
    if record.base not in project.workspace.series_names():
        return ()
    directory = project.workspace.load(record.base)
    if record.name not in directory.series.names:
        return ()
    entry = directory.series.entry(record.name)
    lower = below(directory.series, entry, project.settings.default_guards)
    return [directory.patches[other.name] for other in lower]
