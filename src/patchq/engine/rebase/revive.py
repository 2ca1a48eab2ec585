"""Bring a patch of ``retired.yaml`` back into the series."""

from __future__ import annotations

from dataclasses import replace

from patchq.engine.rebase.retired import ALIVE, recall
from patchq.engine.series.edits import Edited
from patchq.engine.series.restack import Restacker
from patchq.engine.workspace.project import Project
from patchq.errors import FindingsError, InputError, Where
from patchq.model.nearest import did_you_mean
from patchq.model.patch import Patch, read_patch
from patchq.model.retired import Retired
from patchq.model.series import SeriesEntry
from patchq.model.verdict import Verdict
from patchq.model.workspace import SeriesDirectory


def revive(project: Project, tag: str, name: str) -> Edited:
    """The series on ``tag`` with the patch back at its end.

    Raises :class:`InputError` if no record has that name, :class:`FindingsError` if the
    patch does not merge onto the base.
    """
    directory = project.workspace.load(tag)
    record = _record(directory, name)
    patch, verdict = _carried(project, record, directory)
    entry = SeriesEntry(name, strip=patch.strip, guards=record.guards)
    revived = replace(
        directory,
        series=directory.series.append(entry),
        patches={**directory.patches, name: patch},
        retired=tuple(other for other in directory.retired if other is not record),
    )
    return Edited(directory, revived, (f"{name} comes back as {verdict.value}",))


def _record(directory: SeriesDirectory, name: str) -> Retired:
    where = Where(f"series/{directory.tag}/retired.yaml")
    for record in reversed(directory.retired):
        if record.name == name:
            if name in directory.series.names:
                raise InputError(f"{name} is in the series already", where=where)
            return record
    raise InputError(
        f"there is no retired patch {name}",
        where=where,
        hint=did_you_mean(
            name,
            [record.name for record in directory.retired],
            "`patchq report` shows what is remembered.",
        ),
    )


def _carried(
    project: Project, record: Retired, directory: SeriesDirectory
) -> tuple[Patch, Verdict]:
    tag, guards = directory.tag, project.settings.default_guards
    restacker = Restacker(project.store, project.lock.base(tag), guards)
    own = frozenset(guard.name for guard in record.guards if guard.positive)
    patched = restacker.tree(directory.series.active(guards | own), directory.patches)
    if record.base == tag:
        patch = read_patch(record.name, record.content, strip=record.strip)
        restacker.stack.apply(patched, patch, onto=tag)
        return patch, Verdict.CLEAN
    (recalled,) = recall(project, directory, tag, (record,), patched)
    judgement = recalled.judgement
    if judgement is None:
        raise FindingsError(
            f"{record.name} cannot be judged on {tag}: its own base {record.base} is not here, "
            "or it no longer applies there",
            hint=f"Run `patchq fetch {record.base}`.",
        )
    verdict = judgement.report.verdict
    if verdict not in ALIVE or judgement.patch is None:
        first = judgement.report.evidence[0].text if judgement.report.evidence else ""
        raise FindingsError(
            f"{record.name} is {verdict.value} on {tag}{': ' if first else ''}{first}",
            hint="Change it by hand and `patchq import` it.",
        )
    return judgement.patch, verdict
