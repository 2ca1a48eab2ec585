"""Bring a patch of ``retired.yaml`` back into the series."""

from __future__ import annotations

import difflib
from dataclasses import replace

from patchq.engine.memory import ALIVE, recall
from patchq.engine.project import Project
from patchq.engine.rebase import directory_files
from patchq.engine.stack import Stack
from patchq.errors import FindingsError, InputError, Where
from patchq.model.patch import Patch, read_patch
from patchq.model.retired import Retired
from patchq.model.series import SeriesEntry
from patchq.model.verdict import Verdict
from patchq.model.workspace import SeriesDirectory


def revived_directory(project: Project, tag: str, name: str) -> tuple[dict[str, bytes], Verdict]:
    """The files of the series on ``tag`` with the patch back at its end, and its verdict.

    Raises :class:`InputError` where no record has that name, :class:`FindingsError` where the
    patch does not merge onto the base.
    """
    directory = project.workspace.load(tag)
    record = _record(directory, name)
    patch, verdict = _carried(project, record, directory)
    entry = SeriesEntry(name, strip=patch.strip, guards=record.guards)
    series = directory.series.append(entry)
    rest = tuple(other for other in directory.retired if other is not record)
    patches = {**directory.patches, name: patch}
    files = directory_files(replace(directory, series=series, patches=patches, retired=rest))
    return files, verdict


def _record(directory: SeriesDirectory, name: str) -> Retired:
    where = Where(f"series/{directory.tag}/retired.yaml")
    for record in reversed(directory.retired):
        if record.name == name:
            if name in directory.series.names:
                raise InputError(f"{name} is in the series already", where=where)
            return record
    near = difflib.get_close_matches(name, [record.name for record in directory.retired])
    raise InputError(
        f"there is no retired patch {name}",
        where=where,
        hint=f"Did you mean {' or '.join(near)}?" if near else None,
    )


def _carried(
    project: Project, record: Retired, directory: SeriesDirectory
) -> tuple[Patch, Verdict]:
    tag = directory.tag
    stack = Stack(project.store)
    own = frozenset(guard.name for guard in record.guards if guard.positive)
    below = directory.series.active(project.settings.default_guards | own)
    patched = stack.apply_all(
        project.lock.base(tag).tree, [directory.patches[entry.name] for entry in below], onto=tag
    )
    if record.base == tag:
        patch = read_patch(record.name, record.content, strip=record.strip)
        stack.apply(patched, patch, onto=tag)
        return patch, Verdict.CLEAN
    (recalled,) = recall(project, (record,), tag, patched)
    judgement = recalled.judgement
    if judgement is None:
        raise FindingsError(
            f"{record.name} cannot be judged on {tag}: its own base {record.base} is not at hand, "
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
