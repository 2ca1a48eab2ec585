"""What was decided on a base that has a series: by rule, by hand, with which reason."""

from __future__ import annotations

from dataclasses import replace

from patchq.engine.rebase.drift import FIELD
from patchq.engine.series.continuity import gaps
from patchq.model.retired import RecordState, Retired
from patchq.model.verdict import (
    ACTIONS,
    Action,
    Memory,
    PatchReport,
    Remembered,
    Report,
    Verdict,
)
from patchq.model.workspace import SeriesDirectory, Workspace


def lost(workspace: Workspace, tag: str) -> tuple[Remembered, ...]:
    """The patches that vanished on the way to the series on ``tag``."""
    return tuple(
        Remembered(gap.name, None, gap.earlier, Memory.LOST, missing=gap.tag)
        for gap in gaps(workspace, tag)
    )


def as_decided(workspace: Workspace, report: Report, directory: SeriesDirectory) -> Report:
    """``report``, which judges the series before, with what ``directory`` made of each patch."""
    vanished = lost(workspace, directory.tag)
    missing = {item.name for item in vanished}
    records = {record.name: record for record in directory.out_of_series}
    patches = tuple(
        _decided(patch, records.get(patch.name), directory)
        for patch in report.patches
        if patch.name not in missing
    )
    remembered = tuple(
        item
        for item in report.remembered
        if item.name not in missing and item.name not in directory.series.names
    )
    known = {item.name for item in remembered} | {patch.name for patch in patches}
    held = tuple(
        Remembered(record.name, record.verdict, record.since, Memory.HELD)
        for record in records.values()
        if record.standing is RecordState.HELD and record.name not in known
    )
    return replace(report, patches=patches, remembered=(*remembered, *vanished, *held))


def with_revived(decided: Report, report: Report, directory: SeriesDirectory) -> Report:
    """``decided`` with what ``report`` says of retired patches that ``directory`` has again."""
    revived = tuple(
        _decided(replace(item.now, notes=(*item.now.notes, _back(item))), None, directory)
        for item in report.remembered
        if item.now and item.name in directory.series.names
    )
    known = {patch.name for patch in decided.patches}
    more = tuple(patch for patch in revived if patch.name not in known)
    return replace(decided, patches=(*decided.patches, *more))


def _back(item: Remembered) -> str:
    how = f" as {item.retired_as.value}" if item.retired_as else ""
    return f"brought back: it had left{how} on {item.since}"


def _decided(patch: PatchReport, record: Retired | None, directory: SeriesDirectory) -> PatchReport:
    if record is not None:
        return _out(patch, record)
    name = patch.name
    later = sorted(directory.lineage.successors_of(name) - {name})
    if not later and name not in directory.series.names:
        # the series starts over: nothing was decided of it there
        return replace(patch, notes=(*patch.notes, f"not in the series on {directory.tag}"))
    notes = [f"goes on as {', '.join(later)}"] if later else []
    if patch.action not in (Action.REVIEW, Action.DROP):
        return replace(patch, notes=(*patch.notes, *notes))
    notes += _accepted(directory, name) if name in directory.series.names else []
    words = "resolved by hand" if patch.action is Action.REVIEW else "kept by hand"
    if not notes:
        notes = [f"{patch.verdict.value}, {words}"]
    return replace(
        patch, verdict=Verdict.ADAPTED, notes=(*patch.notes, *notes), blocked_by=(), skipped=None
    )


def _accepted(directory: SeriesDirectory, name: str) -> list[str]:
    """The drift that was accepted on this base, as the patch's header records it."""
    start = f"{directory.tag}: "
    return [
        f"drift accepted: {value.removeprefix(start)}"
        for value in directory.patches[name].header.fields(FIELD)
        if value.startswith(start)
    ]


def _out(patch: PatchReport, record: Retired) -> PatchReport:
    """A patch that left, with the verdict and the reason that were recorded."""
    told = replace(patch, evidence=record.evidence or patch.evidence, blocked_by=())
    if record.standing is RecordState.HELD:
        return replace(told, verdict=record.verdict, notes=(*patch.notes, "held"))
    by_rule = ACTIONS[record.verdict] is Action.DROP
    if record.standing is RecordState.RETIRED and by_rule:
        return replace(told, verdict=record.verdict)
    how = "dropped" if record.standing is RecordState.DROPPED else "skipped"
    # a patch that was dropped later had been carried: its verdict is that of the rebase
    verdict = patch.verdict if record.standing is RecordState.DROPPED else record.verdict
    notes = (*patch.notes, f"{how}: {record.reason}")
    return replace(told, verdict=verdict, skipped=record.reason, notes=notes)
