"""Bring a patch of ``retired.yaml`` back into the series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from patchq.engine.rebase.retired import ALIVE, recall
from patchq.engine.series.edits import Edited
from patchq.engine.series.restack import Restacker, Work
from patchq.engine.series.stack import PatchRefusedError
from patchq.engine.workspace.project import Project
from patchq.errors import FindingsError, InputError, Where
from patchq.model.ids import TreeId
from patchq.model.nearest import did_you_mean
from patchq.model.patch import Patch, read_patch
from patchq.model.retired import RecordState, Retired
from patchq.model.series import NoSuchPatchError
from patchq.model.verdict import Verdict
from patchq.model.workspace import SeriesDirectory, Workspace

_TO_SOLVE = frozenset({Verdict.CONFLICT, Verdict.SUPERSEDED})
_HINTS = {
    Verdict.UPSTREAMED: "There is nothing to bring back: upstream has all of it.",
}


class CollidesError(FindingsError):
    """The patch does not merge by itself."""

    def __init__(self, directory: SeriesDirectory, record: Retired, words: str):
        command = "resolve" if record.standing is RecordState.HELD else "revive"
        super().__init__(
            f"{record.name} {words}",
            hint=f"`patchq {command} {record.name} {directory.tag}` opens its conflict in "
            ".patchq/worktree.",
        )


def revive(project: Project, tag: str, name: str) -> Edited:
    """The series on ``tag`` with the patch back in the place it had, else at its end.

    It stands where it stood in the series that it left, as far as it merges there. Raises
    :class:`InputError` if no record has that name, :class:`CollidesError` if the patch has to be
    merged by hand, and :class:`FindingsError` if there is nothing to merge.
    """
    directory = project.workspace.load(tag)
    record = retired_record(directory, name)
    order = order_of(project.workspace, record, directory.series.names)
    try:
        return _brought_back(project, directory, record, order)
    except (FindingsError, PatchRefusedError) as error:
        if not set(directory.series.names) & set(order[order.index(name) + 1 :]):
            raise  # its own place is the end
        why = f", for in its own place {error.message}"
        return _brought_back(project, directory, record, (name,), why)


def order_of(workspace: Workspace, record: Retired, others: Sequence[str]) -> tuple[str, ...]:
    """The series that has the patch and most of the ``others``; the one it left, if several do."""
    names = workspace.series_names()
    first = [record.base] if record.base in names else []
    orders = (workspace.series(tag).names for tag in (*first, *reversed(names)))
    known = [order for order in orders if record.name in order]
    return max(known, key=lambda order: len({*order} & {*others}), default=(record.name,))


def _brought_back(
    project: Project,
    directory: SeriesDirectory,
    record: Retired,
    order: Sequence[str],
    why: str = "",
) -> Edited:
    """The series on ``directory``'s base with the patch before those that follow it in ``order``.

    ``why`` says why it is not in its own place.
    """
    name, tag = record.name, directory.tag
    series = directory.series.place(record.entry, order)
    restacker = Restacker(project.store, project.lock.base(tag), project.settings.default_guards)
    tree = restacker.tree_below(series, series.entry(name), directory.patches)
    patch, verdict = _carried(project, record, directory, restacker, tree)
    series = directory.series.place(replace(record.entry, strip=patch.strip), order)
    old = replace(
        directory, retired=tuple(other for other in directory.retired if other is not record)
    )
    after = series.names[series.names.index(name) + 1 :]
    if after and verdict is not Verdict.NOT_COVERED:
        applied = restacker.stack.apply(tree, patch, onto=tag)
        works = restacker.works(directory, lenient=True)
        works[name] = Work(patch, applied.before, applied.after)
        new = restacker.restack(old, series, works)
    else:
        new = replace(old, series=series, patches={**old.patches, name: patch})
    place = f"before {after[0]}, as it stood" if after else f"as the last{why}"
    return Edited(
        directory, new, (f"{name} comes back as {verdict.value}, {place}", *restacker.notices)
    )


def retired_record(directory: SeriesDirectory, name: str) -> Retired:
    """The record of a patch that is not in the series: that which holds it, else the newest.

    Raises :class:`InputError` if there is none.
    """
    where = Where(f"series/{directory.tag}/retired.yaml")
    records = [record for record in reversed(directory.retired) if record.name == name]
    if records and name in directory.series.names:
        raise InputError(f"{name} is in the series already", where=where)
    if records:
        held = (record for record in records if record.standing is RecordState.HELD)
        return next(held, records[0])
    raise NoSuchPatchError(
        name,
        f"there is no retired patch {name}",
        where=where,
        hint=did_you_mean(
            name,
            [record.name for record in directory.retired],
            f"`patchq report {directory.tag}` shows what is remembered.",
        ),
    )


def _carried(
    project: Project,
    record: Retired,
    directory: SeriesDirectory,
    restacker: Restacker,
    patched: TreeId,
) -> tuple[Patch, Verdict]:
    tag = directory.tag
    if record.base == tag:
        patch = read_patch(record.name, record.content, strip=record.strip)
        if not restacker.covers(patch):  # as a rebase carries it, byte for byte
            return patch, Verdict.NOT_COVERED
        try:
            restacker.stack.apply(patched, patch, onto=tag)
        except PatchRefusedError as error:
            raise CollidesError(directory, record, error.message) from error
        return patch, Verdict.CLEAN
    (recalled,) = recall(project, directory, tag, (record,), patched)
    judgement = recalled.judgement
    if judgement is None:
        raise FindingsError(
            f"{record.name} cannot be judged on {tag}: its own base {record.base} is not here, "
            "or it no longer applies there",
            hint=f"`patchq fetch {record.base}` brings the base; `patchq show {record.name} --tag "
            f"{tag}` prints the patch, to change it by hand and `patchq import` it.",
        )
    verdict = judgement.report.verdict
    if verdict is Verdict.NOT_COVERED:
        return read_patch(record.name, record.content, strip=record.strip), verdict
    if verdict not in ALIVE or judgement.patch is None:
        first = judgement.report.evidence[0].text if judgement.report.evidence else ""
        words = f"is {verdict.value} on {tag}{': ' if first else ''}{first}"
        if verdict in _TO_SOLVE:
            raise CollidesError(directory, record, words)
        hint = _HINTS.get(verdict)
        if verdict is Verdict.DRIFTED and record.standing is RecordState.HELD:
            hint = f"`patchq resolve {record.name} {tag} --accept-drift WHY` takes it all the same."
        raise FindingsError(f"{record.name} {words}", hint=hint)
    return judgement.patch, verdict
