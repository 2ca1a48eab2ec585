"""Open a series as commits in a worktree: every selected patch is one, for any git tool to use."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from patchq.engine.edit.commits import comment_character, empty_commit, write_patch_commit
from patchq.engine.edit.state import WORKTREE, Edit, forget, is_open, load, save
from patchq.engine.rebase.operation import changed_inputs, hash_inputs
from patchq.engine.series.message import Wording, normalised, now, wording
from patchq.engine.series.restack import Restacker
from patchq.engine.series.selection import select
from patchq.engine.series.stack import PatchRefusedError
from patchq.engine.workspace.project import Project
from patchq.errors import InputError, PatchqError, Where
from patchq.git.identity import user_identity
from patchq.git.store import Store
from patchq.git.worktree import KeptFiles, Worktree, WorktreeLayout
from patchq.model.ids import CommitId
from patchq.model.lock import Base
from patchq.model.workspace import SeriesDirectory, Workspace
from patchq.written import note

_ABORT = "Take that back, or `patchq edit --abort` and begin again."


@dataclass(frozen=True)
class NewPatch:
    """A patch that is to be made: its name, and what its commit says before there is any change."""

    name: str
    subject: str


def worktree_of(workspace: Workspace, store: Store) -> Worktree:
    """The worktree of the open edit, there or not."""
    return Worktree(store, workspace.state_dir / WORKTREE)


def begin(
    project: Project, tag: str, upto: str | None, guards: Sequence[str], new: NewPatch | None = None
) -> Edit:
    """Lay the series on ``tag`` out as commits, up to patch ``upto`` or all of it.

    Raises :class:`InputError` if ``upto`` is not among the selected patches, or one of those
    does not apply.
    """
    workspace, store = project.workspace, project.store
    directory = workspace.load_or_empty(tag)
    base = project.lock.base(tag)
    restacker = Restacker(store, base, project.settings.default_guards)
    selection = select(directory, project.settings, guards)
    patches = [patch for patch in selection.patches if restacker.covers(patch)]
    names = [patch.name for patch in patches]
    if upto is not None and upto not in names:
        raise _cannot_open(directory, upto, base)
    author = user_identity(workspace.root)
    tree, parent = base.tree, base.commit
    commits: dict[str, CommitId] = {}
    trees = []
    for patch in patches:
        try:
            tree = restacker.stack.apply(tree, patch, onto=tag).tree
        except PatchRefusedError as error:
            raise _with_requirements(directory, error) from error
        words = wording(patch, author=author, date=now())
        parent = commits[patch.name] = write_patch_commit(
            store.objects, tree, parent, words, patch.name
        )
        trees.append(tree)
    top = commits[upto] if upto else parent
    if new is not None and new.name in directory.series.names:
        raise InputError(
            f"{new.name} is in the series already",
            where=directory.series.where,
            hint="Choose another name, or change that patch: "
            f"`patchq edit {base.name} {new.name}`.",
        )
    layout = WorktreeLayout(parent, base.commit, tree, None, {})
    worktree = worktree_of(workspace, store)
    worktree.lay_out(layout, then=trees)
    messages = [store.objects.read(commit) for commit in commits.values()]
    worktree.configure("core.commentChar", comment_character(messages))
    worktree.mark("base", base.commit)
    if parent != base.commit:
        worktree.mark("top", parent)
    if new is not None:
        words = Wording(normalised(new.subject), author, now())
        top = empty_commit(store, top, words, new.name)
    worktree.go_to(top)
    edit = Edit(
        tag=tag,
        base=base.commit,
        head=top,
        guards=tuple(sorted(guards)),
        opened=upto,
        commits=commits,
        inputs=hash_inputs(workspace, tag),
        layout=layout.identity,
        since=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    save(workspace, edit)
    return edit


@dataclass(frozen=True)
class AbortedEdit:
    """What is dropped with an edit.

    ``head`` is the commit that it had come to, if that is another one than it began with, and
    ``kept`` what was in no commit. ``broken`` says that the worktree could not be read as one,
    ``unchanged`` that it was as it had been opened.
    """

    head: CommitId | None
    kept: KeptFiles | None
    broken: bool
    unchanged: bool


def abort(workspace: Workspace) -> AbortedEdit:
    """Forget the open edit, whatever state it is in."""
    if not is_open(workspace):
        raise InputError("no edit is open", hint="`patchq edit TAG` opens one.")
    store = Store(workspace.store_path)
    worktree, began, head, tree = worktree_of(workspace, store), None, None, None
    with suppress(PatchqError):
        edit = load(workspace)
        began = edit.head if edit else None
    with suppress(PatchqError):
        tree = store.describe(worktree.head())[0]
        head = worktree.head()
    broken, rests = not (head and worktree.is_linked), False
    if not broken:
        with suppress(PatchqError):
            rests = worktree.snapshot() == tree
    kept = None if rests else worktree.keep_aside(tree)
    forget(workspace)
    note("the edit is forgotten")
    kept = worktree.remove() or kept
    moved = None if head == began else head
    return AbortedEdit(moved, kept, broken, unchanged=rests and not (moved or kept))


def close(project: Project) -> None:
    """Forget the edit and remove its worktree."""
    worktree = worktree_of(project.workspace, project.store)
    taken = worktree.snapshot() if worktree.is_linked else None
    forget(project.workspace)
    worktree.remove(taken)


def resume(project: Project) -> Edit:
    """The open edit, its input checked."""
    edit = load(project.workspace)
    if edit is None:
        raise InputError("no edit is open", hint="`patchq edit TAG` opens one.")
    found = project.lock.base(edit.tag).commit
    if found != edit.base:
        raise InputError(
            f"{edit.tag} was {edit.base} when the edit began, and is {found} in the lock now",
            where=Where("upstream.lock"),
            hint=_ABORT,
        )
    changed = changed_inputs(edit.inputs, hash_inputs(project.workspace, edit.tag))
    if changed:
        where = Where(f"series/{changed[0]}")
        raise InputError("changed since the edit began", where=where, hint=_ABORT)
    worktree = worktree_of(project.workspace, project.store)
    if not worktree.holds(edit.layout):
        raise InputError(
            f"the worktree .patchq/{WORKTREE} is missing or incomplete",
            hint="`patchq edit --abort`, then open it again.",
        )
    worktree.relink()
    return edit


def _with_requirements(directory: SeriesDirectory, error: PatchRefusedError) -> PatchqError:
    """The error, or what the patch requires in vain, which explains it better."""
    patch = error.patch
    absent = [name for name in patch.header.requires if name not in directory.series.names]
    if not absent:
        return error
    verb = "is" if len(absent) == 1 else "are"
    return InputError(
        f"{patch.name} requires {', '.join(absent)}, which {verb} not in the series",
        where=patch.where,
        hint="`patchq backport` and `patchq import` bring a patch into a series.",
    )


def _cannot_open(directory: SeriesDirectory, name: str, base: Base) -> InputError:
    """Why a patch is not among those that are laid out."""
    entry = directory.series.entry(name)
    outside = [path for path in directory.patches[name].paths if not base.covers(path)]
    if outside:
        return InputError(
            f"{name} changes files that the archive of {base.name} does not hold: "
            f"{', '.join(outside)}",
            where=directory.series.where,
            hint="Edit it on a base that has all of upstream, and port it.",
        )
    guards = " ".join(str(guard).removeprefix("#") for guard in entry.guards)
    named = " ".join(f"--with {guard.name}" for guard in entry.guards if guard.positive)
    return InputError(
        f"{name} is not applied under this selection: its guards are {guards}",
        where=directory.series.where,
        hint=f"Turn them on: {named}." if named else "Turn the guard off that keeps it out.",
    )
