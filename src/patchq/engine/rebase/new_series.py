"""The files of the series that a rebase writes."""

from __future__ import annotations

from dataclasses import replace

from patchq.engine.rebase.rebase import Rebased
from patchq.model.retired import Lineage, RecordState, Retired, render_retired
from patchq.model.verdict import Action, PatchReport
from patchq.model.workspace import RECIPE, RETIRED, SERIES, SeriesDirectory


def new_directory(rebased: Rebased) -> dict[str, bytes]:
    """The files of the new series directory, by name; see :func:`new_series`."""
    return directory_files(new_series(rebased))


def new_series(rebased: Rebased) -> SeriesDirectory:
    """The series as it is on the new base, under the tag of the old one.

    Patches that need review are held in ``retired.yaml``; whether they may be is the caller's
    decision.
    """
    source = rebased.source
    records = [
        _record(rebased, report)
        for report in rebased.report.patches
        if report.action in (Action.DROP, Action.REVIEW)
    ]
    left = {record.name for record in records}
    carried = {
        name: judgement.patch
        for name, judgement in rebased.judgements.items()
        if name not in left and judgement.patch is not None
    }
    return replace(
        source,
        series=source.series.without(left, comments=True),
        patches=carried,
        retired=_memory(source.out_of_series, records),
        lineage=Lineage(),
    )


def directory_files(directory: SeriesDirectory) -> dict[str, bytes]:
    """The files that a series directory is made of, by name."""
    files = {SERIES: directory.series.raw}
    files.update((name, patch.raw) for name, patch in directory.patches.items())
    if directory.retired or directory.lineage:
        files[RETIRED] = render_retired(directory.retired, directory.lineage)
    if directory.recipe is not None:
        files[RECIPE] = directory.recipe
    return files


def _memory(earlier: tuple[Retired, ...], records: list[Retired]) -> tuple[Retired, ...]:
    names = {record.name for record in records}
    return (*(old for old in earlier if old.name not in names), *records)


def _record(rebased: Rebased, report: PatchReport) -> Retired:
    held = report.action is Action.REVIEW
    entry = rebased.source.series.taken(report.name)
    return Retired(
        name=report.name,
        verdict=report.verdict,
        reason=report.skipped or _reason(report),
        evidence=report.evidence,
        content=rebased.source.patches[report.name].raw,
        standing=RecordState.HELD if held else RecordState.RETIRED,
        since=rebased.onto.name,
        base=rebased.source.tag,
        guards=entry.guards,
        strip=entry.strip,
        comment=entry.comment,
        remark=entry.remark,
    )


def _reason(report: PatchReport) -> str:
    return report.evidence[0].text if report.evidence else report.verdict.value
