"""Patches that left the series earlier, judged again: retirement has a memory.

Upstream may undo what made a patch superfluous. Every record of ``retired.yaml`` keeps the patch
and the base it stood on, so the same question can be put again on each new base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patchq.engine.judge.cache import kept_verdicts
from patchq.engine.judge.case import Case, Judgement
from patchq.engine.judge.judge import RULES, Judge
from patchq.engine.series.stack import Stack, below
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import PatchqError
from patchq.git.apply import Refused
from patchq.kept_answers import key_of
from patchq.model.patch import Patch, read_patch
from patchq.model.retired import RecordState, Retired
from patchq.model.verdict import EvidenceKind, Memory, PatchReport, Remembered, Verdict

ALIVE = frozenset({Verdict.CLEAN, Verdict.MOVED, Verdict.ADAPTED, Verdict.PARTIAL})


@dataclass(frozen=True)
class Recalled:
    """A record, what it is now, and the judgement that carries it where it is needed again."""

    record: Retired
    remembered: Remembered
    judgement: Judgement | None


def recall(
    project: Project, records: Sequence[Retired], onto: str, patched: str | None = None
) -> tuple[Recalled, ...]:
    """Judge every record again on the base ``onto``, or on ``patched``, a tree made from it."""
    return tuple(_recall(project, record, onto, patched) for record in records)


def _recall(project: Project, record: Retired, onto: str, patched: str | None) -> Recalled:
    judgement = _judge(project, record, onto, patched)
    now = judgement.report if judgement else None
    remembered = Remembered(record.name, record.verdict, record.since, _memory(record, now), now)
    return Recalled(record, remembered, judgement)


def _memory(record: Retired, now: PatchReport | None) -> Memory:
    if record.standing is RecordState.HELD:
        return Memory.HELD
    if record.standing is RecordState.DROPPED:  # a person's decision, which upstream cannot undo
        return Memory.SETTLED
    if now is None or now.verdict is Verdict.NOT_COVERED:
        return Memory.UNKNOWN
    undone = any(item.kind is EvidenceKind.UNDONE for item in now.evidence)
    return Memory.RESURFACED if now.verdict in ALIVE or undone else Memory.SETTLED


def _judge(project: Project, record: Retired, onto: str, patched: str | None) -> Judgement | None:
    """None where the patch no longer stands on the base it left from (or that base is away)."""
    if record.base not in project.lock.names or record.base == onto:
        return None
    try:
        patch = read_patch(record.name, record.content, strip=record.strip)
        span = project.upstream_range(record.base, onto)
    except PatchqError:
        return None
    stack = Stack(project.store)
    judge = Judge(span, stack, patch.paths)
    uncovered = judge.uncovered(patch)
    if uncovered is not None:
        return uncovered
    under = _under(project, record)
    cache = kept_verdicts(project.workspace)
    key = key_of(
        [
            "recalled",
            RULES,
            span.identity,
            [patch.name, patch.sha256, patch.strip, patched],
            [[lower.name, lower.sha256, lower.strip] for lower in under],
        ]
    )
    kept = cache.get(key)
    if kept is None:
        judgement = _judge_on(judge, stack, span, patch, under, patched)
        kept = {} if judgement is None else {patch.name: judgement}
        if judgement is None or not judgement.is_fault:
            cache.put(key, kept)
    return kept.get(patch.name)


def _judge_on(
    judge: Judge,
    stack: Stack,
    span: UpstreamRange,
    patch: Patch,
    under: Sequence[Patch],
    patched: str | None,
) -> Judgement | None:
    missing = [name for name in patch.header.requires if name not in {p.name for p in under}]
    if missing:
        return judge.without_base(patch, missing)
    tree = span.old.tree
    for lower in under:
        applied = stack.try_apply(tree, lower)
        if isinstance(applied, Refused):
            return None
        tree = applied.tree
    applied = stack.try_apply(tree, patch)
    if isinstance(applied, Refused):
        return None
    return judge.judge(Case(patch, applied, patched or span.new.tree))


def _under(project: Project, record: Retired) -> tuple[Patch, ...]:
    """The patches it stood on, from the series it left, as far as that is still there."""
    if record.base not in project.workspace.series_names():
        return ()
    directory = project.workspace.load(record.base)
    if record.name not in directory.series.names:
        return ()
    entry = directory.series.entry(record.name)
    lower = below(directory.series, entry, project.settings.default_guards)
    return tuple(directory.patches[other.name] for other in lower)
