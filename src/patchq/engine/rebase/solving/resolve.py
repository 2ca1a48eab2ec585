"""Solve a patch that is out of its series: open its conflict in the worktree, and take it in.

``rebase --keep-going`` holds a patch that needs review in ``retired.yaml``; one that left earlier
is revived. It is judged again,
from its own base onto the series as it is now, and opened as a rebase that stops would open it.
What is under way stands in ``.patchq/resolve.json``; nothing else is written before it is solved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from patchq.engine.rebase.conflict import Collision
from patchq.engine.rebase.recorded_resolutions import remember
from patchq.engine.rebase.resolved_patch import (
    Unsolved,
    find_unsolved,
    patch_to,
    worktree_state,
)
from patchq.engine.rebase.revive import CollidesError, retired_record, revive
from patchq.engine.rebase.session import take, worktree_of
from patchq.engine.rebase.solving.question import Question
from patchq.engine.rebase.solving.state import STATE, Resolving
from patchq.engine.series.edits import Edited
from patchq.engine.workspace.project import Project
from patchq.errors import InputError, Where
from patchq.git.worktree import WorktreeLayout
from patchq.model.ids import TreeId
from patchq.model.patch import read_patch
from patchq.model.patch_names import meant_name
from patchq.model.retired import RecordState, Retired
from patchq.model.verdict import Action, PatchReport
from patchq.model.workspace import SeriesDirectory, Workspace
from patchq.written import note


@dataclass(frozen=True)
class OpenedConflict:
    """The conflict that was opened, as the judge sees it."""

    report: PatchReport
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class HeldPatches:
    """What a series holds: those that conflict by themselves, and those that only follow them."""

    roots: tuple[str, ...]
    followers: Mapping[str, tuple[str, ...]]


def held(directory: SeriesDirectory) -> HeldPatches:
    """The held patches of a series, roots apart from those that stand on another held one.

    A patch follows a held one that it requires, or that came before it and touches the same file.
    """
    records = [record for record in directory.retired if record.standing is RecordState.HELD]
    roots: list[str] = []
    followers: dict[str, tuple[str, ...]] = {}
    before: dict[str, frozenset[str]] = {}
    for record in records:
        required, paths = _touched(record)
        leaders = tuple(n for n, lower in before.items() if n in required or lower & paths)
        if leaders:
            followers[record.name] = leaders
        else:
            roots.append(record.name)
        before[record.name] = paths
    return HeldPatches(tuple(roots), followers)


def _touched(record: Retired) -> tuple[frozenset[str], frozenset[str]]:
    """What a held patch requires, and its paths; nothing if it was edited and cannot be read."""
    try:
        patch = read_patch(record.name, record.content, strip=record.strip)
        return frozenset(patch.header.requires), frozenset(patch.paths)
    except InputError:
        return frozenset(), frozenset()


def begin(
    project: Project, tag: str, name: str, accept_drift: str | None = None
) -> OpenedConflict | Edited:
    """Open the conflict of the held patch ``name``; or the edit that brings it in, if it has none.

    It has none that was solved before just so, either. One that is drifted is taken for the reason
    ``accept_drift`` alone. Raises :class:`InputError` if no such patch is held,
    :class:`FindingsError` if there is nothing that could be merged.
    """
    directory = project.workspace.load(tag)
    record = _held_record(project.workspace, directory, name)
    return _begin(project, directory, record, accept_drift)


def bring_back(project: Project, tag: str, name: str) -> OpenedConflict | Edited:
    """The edit that revives a patch; or its conflict, opened as that of a held one is.

    Raises as :func:`~patchq.engine.rebase.revive.revive` does.
    """
    try:
        return revive(project, tag, name)
    except CollidesError:
        directory = project.workspace.load(tag)
        return _begin(project, directory, retired_record(directory, name))


def _begin(
    project: Project,
    directory: SeriesDirectory,
    record: Retired,
    accept_drift: str | None = None,
) -> OpenedConflict | Edited:
    question = Question(project, directory, record, accept_drift)
    judgement = question.judged()
    question.refuse_drifted(judgement.report)
    if judgement.report.action in (Action.CARRY, Action.ADAPT) and judgement.patch is not None:
        return question.joined(question.recorded(judgement.patch))
    collision = question.collision(judgement.report)
    remembered = question.remembered(collision)
    if remembered is not None:
        return remembered
    wanted = question.layout(collision)
    state = Resolving(record.name, directory.tag, wanted.identity, accept_drift or "")
    STATE.save(project.workspace, state)
    worktree = worktree_of(project.workspace, project.store)
    worktree.clear(committed=False)
    worktree.lay_out(wanted)
    return OpenedConflict(judgement.report, tuple(collision.conflicts))


def finish(project: Project) -> Edited:
    """Take what stands in the worktree: the patch joins its series, in one transaction.

    Raises :class:`FindingsError` if something is unsolved, naming it.
    """
    state = _state(project.workspace)
    question, collision, wanted = _opened(project, state)
    leave = (
        f"`patchq resolve --abort`, then `patchq drop {state.name} --tag {state.tag} "
        "--reason WHY`, leaves it out of the series."
    )
    made = take(project, state.tag, collision, wanted, leave)
    store = project.store
    patch = question.followed(patch_to(store, question.stack, collision, made.tree))
    changed = store.objects.changed(collision.case.ours, made.tree)
    kept = remember(collision, made.tree, changed, store.objects, onto=state.tag)
    files = {project.workspace.series_dir / file: raw for file, raw in kept.items()}
    edited = replace(question.joined(patch), kept=files)
    edited.write(project, f"resolve {state.name} --tag {state.tag}")
    _end(project, made.tree)
    return edited


def abort(project: Project) -> Resolving | None:
    """Leave the patch out; which one that is, None if that cannot be read.

    Raises :class:`InputError` if none is being solved.
    """
    if not STATE.exists(project.workspace):
        _state(project.workspace)
    try:
        state = STATE.load(project.workspace)
    except InputError:
        state = None  # damaged, and to be forgotten all the same
    _end(project)
    note("the patch that was being solved is left out")
    return state


def unsolved(project: Project, state: Resolving) -> tuple[tuple[str, ...], Unsolved | None]:
    """The paths that conflict, and what of them is unsolved; None without a whole worktree.

    Raises :class:`~patchq.errors.PatchqError` if it is no longer that conflict.
    """
    _, collision, wanted = _opened(project, state)
    worktree = worktree_of(project.workspace, project.store)
    paths = tuple(collision.conflicts)
    if not worktree.holds(wanted.identity):
        return paths, None
    worktree.relink()
    made = worktree_state(project.store, worktree, collision)
    return paths, find_unsolved(project.store.objects, worktree, collision, made)


def _opened(project: Project, state: Resolving) -> tuple[Question, Collision, WorktreeLayout]:
    """The conflict that was opened; raises :class:`InputError` if it is another one now."""
    directory = project.workspace.load(state.tag)
    record = retired_record(directory, state.name)
    question = Question(project, directory, record, state.accept_drift)
    report = question.judged().report
    collision = question.collision(report)
    wanted = question.layout(collision)
    if wanted.identity != state.layout:
        raise InputError(
            f"{state.name} would no longer conflict as it did: the series on {state.tag} changed",
            hint="`patchq resolve --abort`, then open it again.",
        )
    return question, collision, wanted


def _state(workspace: Workspace) -> Resolving:
    state = STATE.load(workspace)
    if state is None:
        raise InputError(
            "no patch is being solved",
            hint="`patchq resolve PATCH` opens the conflict of a held one, `patchq revive PATCH` "
            "that of a retired one.",
        )
    return state


def _end(project: Project, taken: TreeId | None = None) -> None:
    STATE.forget(project.workspace)
    worktree_of(project.workspace, project.store).remove(taken, committed=False)


def _held_record(workspace: Workspace, directory: SeriesDirectory, name: str) -> Retired:
    for record in reversed(directory.retired):
        if record.name == name and record.standing is RecordState.HELD:
            return record
    names = _held_names(directory.retired)
    hint = f"Held are: {', '.join(names)}." if names else "Nothing is held there."
    if name not in names:
        for tag in reversed(workspace.series_names()):
            if meant_name(name, held := _held_names(workspace.retired(tag))) in held:
                hint = f"It is held on {tag}: `patchq resolve {name} {tag}`."
                break
    if any(record.name == name for record in directory.out_of_series):
        hint = f"It left the series: `patchq revive {name} {directory.tag}` brings it back."
    raise InputError(
        f"no patch {name!r} is held by the series on {directory.tag}",
        where=Where(f"series/{directory.tag}/retired.yaml"),
        hint=hint,
    )


def _held_names(records: Sequence[Retired]) -> list[str]:
    return [record.name for record in records if record.standing is RecordState.HELD]
