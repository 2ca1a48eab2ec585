"""What an edit of a series leaves on record: patches that left, and what goes on with others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from patchq.engine.series.continuity import gaps
from patchq.model.retired import RecordState, Retired
from patchq.model.series import Series
from patchq.model.verdict import Verdict
from patchq.model.workspace import SeriesDirectory, Workspace


def record_of(directory: SeriesDirectory, name: str) -> Retired:
    """The record of a patch of ``directory`` that is taken out of it."""
    entry = directory.series.taken(name)
    return Retired(
        name=name,
        verdict=Verdict.CLEAN,
        reason="",
        evidence=(),
        content=directory.patches[name].raw,
        standing=RecordState.DROPPED,
        since=directory.tag,
        base=directory.tag,
        guards=entry.guards,
        strip=entry.strip,
        comment=entry.comment,
        remark=entry.remark,
    )


def dropped(directory: SeriesDirectory, names: Collection[str], reason: str) -> tuple[Retired, ...]:
    """The memory of ``directory`` with its patches ``names`` as dropped by the user."""
    kept = tuple(record for record in directory.retired if record.name not in names)
    left = (
        replace(record_of(directory, n), reason=reason)
        for n in directory.series.names
        if n in names
    )
    return (*kept, *left)


def lost_remarks(series: Series, names: Iterable[str]) -> tuple[str, ...]:
    """Words on the comments that stood on the lines of patches that are folded into others."""
    remarks = ((name, series.entry(name).remark) for name in names)
    return tuple(
        f"left out of {name}: {remark.decode('utf-8', 'replace')}"
        for name, remark in remarks
        if remark
    )


def vanished(
    workspace: Workspace, directory: SeriesDirectory, names: Sequence[str]
) -> dict[str, Retired]:
    """Those of ``names`` that vanished since the series before, as they are there."""
    wanted = set(names).difference(directory.series.names)
    if not wanted:
        return {}
    found: dict[str, Retired] = {}
    for gap in gaps(workspace, directory.tag):
        if gap.name in wanted:
            before = workspace.load(gap.earlier)
            known = next((record for record in before.retired if record.name == gap.name), None)
            record = known or record_of(before, gap.name)
            found[gap.name] = replace(record, since=directory.tag)
    return found


def with_lineage(
    workspace: Workspace, directory: SeriesDirectory, successors: Mapping[str, tuple[str, ...]]
) -> SeriesDirectory:
    """``directory`` with a record of what goes on with the patches that ``successors`` names.

    Only those that another series has need one.
    """
    lineage = directory.lineage
    others = {
        name
        for other in workspace.series_names()
        if other != directory.tag
        for name in workspace.series(other).names
    }
    for name, by in successors.items():
        if name in others or lineage.ancestors(name):
            lineage = lineage.succeed((name,), by)
    return replace(directory, lineage=lineage)
