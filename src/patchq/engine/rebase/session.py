"""A rebase that stops for review, and goes on with what they decided.

Every step judges the whole series anew with the decisions so far (kept verdicts make that cheap),
writes down first what was decided and only then touches worktree or series. Cut off anywhere, the
next step finds the state before it or after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NoReturn

from patchq.engine.judge.predicates import SpanPredicates
from patchq.engine.rebase.conflict import Collision, layout
from patchq.engine.rebase.new_series import new_directory
from patchq.engine.rebase.operation import (
    WAYS_ON,
    Decision,
    DecisionKind,
    Operation,
    changed_inputs,
    forget,
    hash_files,
    hash_inputs,
    hash_target,
    is_under_way,
    load,
    save,
)
from patchq.engine.rebase.rebase import Rebased, judge_series, quiet
from patchq.engine.rebase.recorded_resolutions import remember
from patchq.engine.rebase.resolved_patch import (
    Unsolved,
    WorktreeState,
    compare,
    find_unsolved,
    patch_to,
    worktree_state,
)
from patchq.engine.rebase.resurfaced import keep_resurfaced
from patchq.engine.rebase.series_run import Progress, Stop
from patchq.engine.series.stack import Stack
from patchq.engine.workspace.kept_aside import keep_aside, kept_aside
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.transaction import Transaction
from patchq.engine.workspace.upstream_range import upstream_range
from patchq.errors import FindingsError, InputError, PatchqError, Where
from patchq.git.process import GitFailedError
from patchq.git.store import Store
from patchq.git.worktree import Worktree, WorktreeLayout
from patchq.model.ids import TreeId
from patchq.model.verdict import EvidenceKind, Verdict
from patchq.model.workspace import RETIRED, Workspace
from patchq.written import note

WORKTREE = "worktree"

_START = "`patchq rebase --onto TAG` starts one."
_ABORT = "`patchq rebase --abort` forgets the rebase; then start it again."


@dataclass(frozen=True)
class Decided:
    """What the user made of a patch: old against new, and where that is remembered.

    ``left_out`` are files of the worktree that nobody put into the patch.
    """

    patch: str
    comparison: bytes
    resolutions: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class AbortedRebase:
    """Whether the new series was written already, and the files that keep what was solved."""

    written: bool
    resolutions: tuple[str, ...]


def begin(project: Project, rebased: Rebased) -> None:
    """Stop ``rebased`` at its first patch that needs review."""
    source, onto = rebased.source.tag, rebased.onto.name
    lender = project.store.lender
    operation = Operation(
        source=source,
        onto=onto,
        lender=str(lender.directory) if lender else None,
        commits=(project.lock.base(source).commit, rebased.onto.commit),
        inputs=hash_inputs(project.workspace, source),
        target=hash_target(project.workspace, onto),
        decisions=(),
        stopped=None,
        layout=None,
        since=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    _stop(project, operation, rebased.stop)


def write(project: Project, rebased: Rebased, label: str, decisions: tuple[Decision, ...]) -> None:
    """Write the new series, and what was solved on the way, in one transaction."""
    workspace = project.workspace
    transaction = Transaction(workspace, label)
    files = new_directory(rebased)
    transaction.write_directory(workspace.series_path(rebased.onto.name), files)
    for name, raw in _resolutions(decisions).items():
        transaction.keep_file(workspace.series_dir / name, raw)
    for file, raw in kept_aside(workspace, rebased.remembered).items():
        transaction.keep_file(file, raw)
    transaction.commit()
    if RETIRED in files:
        keep_resurfaced(workspace, rebased.onto, files[RETIRED], rebased.report.resurfaced)


def continue_rebase(project: Project, progress: Progress = quiet) -> tuple[Decided | None, Rebased]:
    """Take what stands in the worktree, and go on from there.

    Raises :class:`FindingsError` if something is unsolved, naming it, and :class:`InputError`
    if the rebase's input is not what it was.
    """
    operation = resume(project)
    if operation.stopped is None:
        return None, _advance(project, operation, progress)
    stop = _judged(project, operation, progress).stop
    if operation.layout is None:
        if stop is not None and stop.report.name == operation.stopped:
            _refuse_unmerged(stop)
        return None, _advance(project, operation, progress)
    wanted = _wanted(project, operation, stop)
    assert stop is not None
    assert stop.collision is not None
    leave = "`patchq rebase --skip --reason WHY` leaves the patch out of the series."
    made = take(project, operation.onto, stop.collision, wanted, leave)
    decision, taken = _resolved(project, operation, stop.collision, made)
    return taken, _advance(project, _decided(operation, decision), progress, made.tree)


def skip(project: Project, reason: str, progress: Progress = quiet) -> Rebased:
    """Retire the patch that it stopped at, as the user's decision."""
    operation = _at_a_stop(project)
    assert operation.stopped
    decision = Decision(operation.stopped, DecisionKind.SKIPPED, reason)
    return _advance(project, _decided(operation, decision), progress)


def accept_drift(project: Project, reason: str, progress: Progress = quiet) -> Rebased:
    """Carry a drifted patch although its expectation failed, if it merges."""
    operation = _at_a_stop(project)
    stop = _judged(project, operation, progress).stop
    if stop is None or stop.report.verdict is not Verdict.DRIFTED:
        raise InputError(f"{operation.stopped} is not drifted", hint=WAYS_ON)
    decision = Decision(stop.report.name, DecisionKind.DRIFT_ACCEPTED, reason)
    return _advance(project, _decided(operation, decision), progress)


def abort(workspace: Workspace) -> AbortedRebase:
    """Forget the rebase, whatever state it is in; raises :class:`InputError` if there is none.

    What it writes comes last and all at once, so there is nothing to restore; a command that was
    cut off just after may have written it already. What the user solved stays remembered.
    """
    if not is_under_way(workspace):
        raise InputError("no rebase is under way", hint=_START)
    try:
        operation = load(workspace)
    except PatchqError:
        operation = None  # damaged, and to be forgotten all the same
    written = (
        operation is not None
        and operation.stopped is None
        and hash_target(workspace, operation.onto) != operation.target
    )
    root = workspace.root
    kept = [
        keep_aside(root, workspace.series_dir / name, raw)
        for name, raw in _resolutions(operation.decisions if operation else ()).items()
    ]
    forget(workspace)
    note("the rebase is forgotten")
    worktree_of(workspace, Store(workspace.store_path)).remove(committed=False)
    return AbortedRebase(written, tuple(str(file.relative_to(root)) for file in kept))


def resume(project: Project) -> Operation:
    """The operation under way, its input checked.

    Raises :class:`InputError` if there is none, or where series, settings or lock are not what
    they were when it began. The patch it stopped at may have been edited: a drifted one is given
    another expectation that way.
    """
    operation = load(project.workspace)
    if operation is None:
        raise InputError("no rebase is under way", hint=_START)
    for name, commit in zip((operation.source, operation.onto), operation.commits, strict=True):
        found = project.lock.base(name).commit
        if found != commit:
            raise InputError(
                f"{name} was {commit} when the rebase began, and is {found} in the lock now",
                where=Where("upstream.lock"),
                hint=_ABORT,
            )
    inputs = hash_inputs(project.workspace, operation.source)
    own = None if operation.layout else f"{operation.source}/{operation.stopped}"
    for name in changed_inputs(operation.inputs, inputs):
        if name != own or name not in inputs:
            raise InputError(
                "changed since the rebase began",
                where=Where(f"series/{name}"),
                hint=f"Take that back, or: {_ABORT}",
            )
    return replace(operation, inputs=inputs)


def judge_stopped(project: Project, operation: Operation) -> tuple[Rebased, Unsolved | None]:
    """The series as judged with the decisions so far, and what is unsolved in the worktree."""
    rebased = _judged(project, operation, quiet)
    collision = rebased.stop.collision if rebased.stop else None
    if collision is None:
        return rebased, None
    worktree = worktree_of(project.workspace, project.store)
    if not operation.layout or not worktree.holds(operation.layout):
        return rebased, None
    worktree.relink()
    made = worktree_state(project.store, worktree, collision)
    return rebased, find_unsolved(project.store.objects, worktree, collision, made)


def _resolutions(decisions: Iterable[Decision]) -> dict[str, bytes]:
    """What was solved, by the names of the files below ``series/`` that keep it."""
    return {name: raw for each in decisions for name, raw in each.resolutions.items()}


def worktree_of(workspace: Workspace, store: Store) -> Worktree:
    """The worktree of the workspace's unfinished rebase, there or not."""
    return Worktree(store, workspace.state_dir / WORKTREE)


def _judged(project: Project, operation: Operation, progress: Progress) -> Rebased:
    return judge_series(project, operation.source, operation.onto, progress, operation.decisions)


def _advance(
    project: Project, operation: Operation, progress: Progress, taken: TreeId | None = None
) -> Rebased:
    """Judge anew, write down how far that comes, and stop there or finish.

    ``taken`` is the tree that was made of the worktree.
    """
    rebased = _judged(project, operation, progress)
    _stop(project, operation, rebased.stop, taken)
    if rebased.stop is None:
        _finish(project, operation, rebased)
    return rebased


def _stop(
    project: Project, operation: Operation, stop: Stop | None, taken: TreeId | None = None
) -> None:
    """Write down where it stopped, then lay the worktree out."""
    wanted = _layout(project, operation, stop.collision) if stop and stop.collision else None
    stopped = replace(
        operation,
        stopped=stop.report.name if stop else None,
        layout=wanted.identity if wanted else None,
    )
    save(project.workspace, stopped)
    worktree = worktree_of(project.workspace, project.store)
    try:
        worktree.clear(taken, committed=False)
        if wanted is not None:
            worktree.lay_out(wanted)
    except (OSError, GitFailedError) as error:
        raise PatchqError(
            f"stopped at {stopped.stopped}, but its worktree could not be set up: {error}",
            hint="Fix that; `patchq rebase --continue` then sets it up, `--abort` forgets "
            "the rebase.",
        ) from error


def _finish(project: Project, operation: Operation, rebased: Rebased) -> None:
    workspace = project.workspace
    if not _is_written(workspace, operation, rebased):
        if hash_target(workspace, operation.onto) != operation.target:
            raise InputError(
                "changed since the rebase began",
                where=Where(f"series/{operation.onto}"),
                hint=_ABORT,
            )
        write(project, rebased, operation.label, operation.decisions)
    forget(workspace)
    worktree_of(workspace, project.store).remove(committed=False)


def _is_written(workspace: Workspace, operation: Operation, rebased: Rebased) -> bool:
    """Whether a command that was cut off later has written all of it."""
    kept = (item for each in operation.decisions for item in each.resolutions.items())
    files = ((workspace.series_dir / name, raw) for name, raw in kept)
    return hash_target(workspace, operation.onto) == hash_files(new_directory(rebased)) and all(
        file.is_file() and file.read_bytes() == raw for file, raw in files
    )


def _decided(operation: Operation, decision: Decision) -> Operation:
    return replace(operation, decisions=(*operation.decisions, decision))


def _at_a_stop(project: Project) -> Operation:
    operation = resume(project)
    if operation.stopped is None:
        raise InputError(
            "everything is decided; only the writing is left",
            hint="`patchq rebase --continue` writes it, `--abort` forgets it.",
        )
    return operation


def _refuse_unmerged(stop: Stop) -> NoReturn:
    if stop.report.verdict is Verdict.DRIFTED:
        raise FindingsError(
            f"{stop.report.name} is drifted: what it expects of upstream does not hold",
            hint="`--accept-drift REASON` carries it all the same; or edit its X-Expect in the old "
            "series and continue; or `--skip`.",
        )
    told = (item.text for item in stop.report.evidence if item.kind is EvidenceKind.REQUIRES)
    why = next(told, "stands on patches that are not in the series: it cannot be merged")
    raise FindingsError(
        f"{stop.report.name} {why}",
        hint="`patchq rebase --skip` leaves it out; or `--abort`, change the old series, and begin "
        "again.",
    )


def _wanted(project: Project, operation: Operation, stop: Stop | None) -> WorktreeLayout:
    """What the worktree is for this stop; raises if it is not what was laid out."""
    if stop is not None and stop.collision is not None:
        wanted = _layout(project, operation, stop.collision)
        if stop.report.name == operation.stopped and wanted.identity == operation.layout:
            return wanted
    raise InputError(
        f"the rebase would no longer stop at {operation.stopped} as it did: "
        "series/.resolutions changed meanwhile, or this is another version of patchq",
        hint=_ABORT,
    )


def _layout(project: Project, operation: Operation, collision: Collision) -> WorktreeLayout:
    old, new = project.lock.base(operation.source), project.lock.base(operation.onto)
    return layout(project.store, collision, old, new)


def take(
    project: Project, onto: str, collision: Collision, wanted: WorktreeLayout, leave: str
) -> WorktreeState:
    """What the user made on ``onto``, once nothing in it is unsolved.

    ``leave`` says how to go on if nothing of the patch is left. Raises :class:`FindingsError` if
    something is unsolved, naming it.
    """
    name = collision.case.patch.name
    worktree = worktree_of(project.workspace, project.store)
    if not worktree.holds(wanted.identity):
        worktree.lay_out(wanted)
        raise FindingsError(
            f"the worktree of {name} was missing or incomplete: it is set up again",
            hint="Solve the conflict in .patchq/worktree, then continue.",
        )
    worktree.relink()
    made = worktree_state(project.store, worktree, collision)
    unsolved = find_unsolved(project.store.objects, worktree, collision, made)
    if unsolved.marked:
        raise FindingsError(
            f"conflict markers are left in:{_lines(unsolved.marked)}",
            hint="Edit them in .patchq/worktree, `git add` them, then continue.",
        )
    if unsolved.unmerged:
        raise FindingsError(
            f"not marked as solved:{_lines(unsolved.unmerged)}",
            hint="In .patchq/worktree, `git add FILE` (or `git rm FILE`) says that it is; "
            "`git restore FILE` puts one back that the patch has nothing to do with.",
        )
    if made.tree == collision.case.ours:
        raise FindingsError(
            f"nothing of {name} is left: the worktree is what {onto} has",
            hint=leave,
        )
    return made


def _resolved(
    project: Project, operation: Operation, collision: Collision, made: WorktreeState
) -> tuple[Decision, Decided]:
    store, tree = project.store, made.tree
    stack = Stack(store)
    name = collision.case.patch.name
    patch = patch_to(store, stack, collision, tree)
    span = upstream_range(project, operation.source, operation.onto)
    content = SpanPredicates(span).followed(patch).raw
    changed = store.objects.changed(collision.case.ours, tree)
    kept = remember(collision, tree, changed, store.objects, onto=operation.onto)
    decision = Decision(name, DecisionKind.RESOLVED, content=content, resolutions=kept)
    return decision, Decided(name, compare(store, collision, tree), _names(kept), made.left_out)


def _names(kept: Mapping[str, bytes]) -> tuple[str, ...]:
    return tuple(f"series/{name}" for name in kept)


def _lines(paths: tuple[str, ...]) -> str:
    return "".join(f"\n  {path}" for path in paths)
