"""Find out where a workspace stands; nothing that is missing or broken keeps the rest unsaid."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeVar

from patchq.engine.edit import state as edit_state
from patchq.engine.rebase.operation import Operation, is_under_way, load
from patchq.engine.rebase.resurfaced import kept_resurfaced
from patchq.engine.rebase.solving.state import STATE
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.transaction import newest
from patchq.engine.workspace.upstream import open_upstream
from patchq.errors import PatchqError
from patchq.model.retired import RecordState
from patchq.model.status import (
    EditStatus,
    LastChange,
    RebaseStatus,
    ResolveStatus,
    SeriesStatus,
    Status,
)
from patchq.model.workspace import Workspace

_Found = TypeVar("_Found")

_NOT_WHOLE = "the worktree is missing or incomplete: {} sets it up again"
_NO_UPSTREAM = "the upstream is not available locally"


def find_status(workspace: Workspace, location: str | None) -> Status:
    """The status; ``location`` is the upstream to use in place of the recorded one."""
    lock = workspace.lock()
    operation, problem = _try(lambda: load(workspace))
    recorded = operation.lender if operation else None
    project, limits = _open(workspace, location or recorded or lock.upstream)
    lender = project.store.lender if project else None
    settings, _ = _try(workspace.settings)
    guards = settings.default_guards if settings else ()
    return Status(
        root=str(workspace.root),
        upstream=lock.upstream,
        lender=str(lender.directory) if lender else None,
        limits=limits,
        bases=lock.names,
        series=tuple(_series(workspace, tag, guards) for tag in workspace.series_names()),
        rebase=_rebase(workspace, project, operation, problem),
        edit=_edit(workspace),
        last=_last(workspace),
        unlocked=workspace.unlocked(),
        resolve=_resolve(workspace, project),
    )


def _open(workspace: Workspace, location: str) -> tuple[Project | None, tuple[str, ...]]:
    try:
        settings = workspace.settings()
        opened = open_upstream(workspace, location)
    except PatchqError as error:
        return None, (str(error),)
    return Project(workspace, workspace.lock(), settings, opened.store), opened.limits


def _try(find: Callable[[], _Found]) -> tuple[_Found | None, str | None]:
    """What ``find`` returns, or what keeps it from that."""
    try:
        return find(), None
    except PatchqError as error:
        return None, str(error)


def _edit(workspace: Workspace) -> EditStatus | None:
    worktree = str(workspace.state_dir / edit_state.WORKTREE)
    edit, problem = _try(lambda: edit_state.load(workspace))
    if problem:
        return EditStatus("?", None, "?", worktree, problem=problem)
    if edit is None:
        return None
    return EditStatus(edit.tag, edit.opened, edit.since, worktree)


def _series(workspace: Workspace, tag: str, guards: Collection[str]) -> SeriesStatus:
    series, _ = _try(lambda: workspace.series(tag))
    retired, _ = _try(lambda: workspace.retired(tag))
    resurfaced, _ = _try(lambda: kept_resurfaced(workspace, workspace.lock().base(tag)))
    _, problem = _try(lambda: workspace.load(tag))
    return SeriesStatus(
        tag=tag,
        patches=len(series.entries) if series else None,
        held=tuple(
            (record.name, record.verdict)
            for record in retired or ()
            if record.standing is RecordState.HELD
        ),
        resurfaced=tuple(
            name for name in resurfaced or () if series is None or name not in series.names
        ),
        problem=problem,
        guarded_off=series.guarded_off(guards) if series else (),
    )


def _rebase(
    workspace: Workspace,
    project: Project | None,
    operation: Operation | None,
    problem: str | None,
) -> RebaseStatus | None:
    if not is_under_way(workspace):
        return None
    from patchq.engine.rebase.session import WORKTREE, judge_stopped, resume  # heavy

    if operation is None:
        return RebaseStatus("?", "?", "?", (), None, problem=problem)
    known = RebaseStatus(
        source=operation.source,
        onto=operation.onto,
        since=operation.since,
        decided=tuple((each.patch, each.choice.value) for each in operation.decisions),
        stopped=operation.stopped,
    )
    if project is None:
        return replace(known, problem=_NO_UPSTREAM)
    try:
        rebased, unsolved = judge_stopped(project, resume(project))
    except PatchqError as error:
        return replace(known, problem=_with_hint(error))
    worktree = str(workspace.state_dir / WORKTREE) if operation.layout else None
    return replace(
        known,
        report=rebased.report,
        worktree=worktree,
        unmerged=unsolved.unmerged if unsolved else (),
        marked=unsolved.marked if unsolved else (),
        problem=None
        if unsolved or not worktree
        else _NOT_WHOLE.format("`patchq rebase --continue`"),
    )


def _resolve(workspace: Workspace, project: Project | None) -> ResolveStatus | None:
    if not STATE.exists(workspace):
        return None
    from patchq.engine.rebase.session import WORKTREE  # heavy
    from patchq.engine.rebase.solving.resolve import unsolved

    worktree = str(workspace.state_dir / WORKTREE)
    state, problem = _try(lambda: STATE.load(workspace))
    if state is None:
        return ResolveStatus("?", "?", worktree, problem=problem)
    known = ResolveStatus(state.name, state.tag, worktree)
    if project is None:
        return replace(known, problem=_NO_UPSTREAM)
    try:
        conflicts, left = unsolved(project, state)
    except PatchqError as error:
        return replace(known, problem=_with_hint(error))
    return replace(
        known,
        conflicts=conflicts,
        unmerged=left.unmerged if left else (),
        marked=left.marked if left else (),
        problem=None if left else _NOT_WHOLE.format("`patchq resolve --continue`"),
    )


def _with_hint(error: PatchqError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)


def _last(workspace: Workspace) -> LastChange | None:
    journal, problem = _try(lambda: newest(workspace))
    if problem:
        return LastChange("?", "?", (), problem=problem)
    if journal is None:
        return None
    return LastChange(journal.label, journal.time, tuple(each.path for each in journal.changes))
