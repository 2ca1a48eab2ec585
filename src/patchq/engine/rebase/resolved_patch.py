"""From what someone made of a collision in the worktree to the patch that makes it."""

from __future__ import annotations

from dataclasses import dataclass

from patchq.engine.rebase.conflict import Collision
from patchq.engine.series.rewrite import Carrier
from patchq.engine.series.stack import Stack
from patchq.git.compare import Version, range_diff
from patchq.git.objects import GITLINK_MODE, Entries, Entry, Objects
from patchq.git.store import Store
from patchq.git.worktree import Worktree
from patchq.model.ids import TreeId
from patchq.model.patch import Patch

_MARKERS = (b"<<<<<<< ", b"||||||| ", b">>>>>>> ")
_NO_SECTION = b"@@ Commit message\n \n"
"""How range-diff heads a difference that begins with the first file's name."""


def patch_to(store: Store, stack: Stack, collision: Collision, tree: TreeId) -> Patch:
    """The patch of ``collision`` rewritten so that it leads to ``tree``; its head is kept.

    What still applies of it keeps its bytes (see :mod:`patchq.engine.series.rewrite`).
    """
    objects = store.objects
    ours = collision.case.ours
    paths = objects.changed(ours, tree)
    carrier = Carrier(stack, store.mailer, objects)
    carried = carrier.carry(
        collision.case.patch,
        ours,
        tree,
        objects.files(ours, paths),
        objects.files(tree, paths),
        collision.moves,
    )
    return carried.patch


def patch_as_solved(
    store: Store, stack: Stack, collision: Collision, files: Entries
) -> Patch | None:
    """The patch of ``collision`` solved as ``files``; None if nothing of it would be left."""
    tree = store.objects.overlay(collision.case.ours, files)
    return None if tree == collision.case.ours else patch_to(store, stack, collision, tree)


def compare(store: Store, collision: Collision, tree: TreeId) -> bytes:
    """The patch as it was against the patch that leads to ``tree``, as git range-diff shows it."""
    objects = store.objects
    case = collision.case
    paths = objects.changed(case.ours, tree)
    versions = (
        Version(objects.tree_of(old), objects.tree_of(new), f"{case.patch.name}\n")
        for old, new in (
            (case.applied.before, case.applied.after),
            (objects.files(case.ours, paths), objects.files(tree, paths)),
        )
    )
    return range_diff(store.git, objects, *versions).removeprefix(_NO_SECTION)


@dataclass(frozen=True)
class Unsolved:
    """What stands between a stop and going on, by path; ``unmerged`` is what was not added."""

    unmerged: tuple[str, ...]
    marked: tuple[str, ...]


@dataclass(frozen=True)
class WorktreeState:
    """What the user made: ``tree``, without the files ``left_out``, which git does not know.

    ``not_added`` are known files that were changed there, and are neither added nor the patch's.
    """

    tree: TreeId
    left_out: tuple[str, ...]
    not_added: tuple[str, ...]


def worktree_state(store: Store, worktree: Worktree, collision: Collision) -> WorktreeState:
    """The patch's files as they stand there, and of others what was added."""
    objects = store.objects
    tree = worktree.snapshot()
    index = worktree.index()
    own = collision.merged.keys() | collision.conflicts.keys()
    changed = objects.changed(collision.case.ours, tree)
    others = objects.files(tree, [path for path in changed if path not in own])
    left_out = tuple(path for path, entry in others.items() if entry and path not in index)
    return WorktreeState(
        tree=objects.overlay(tree, dict.fromkeys(left_out)),
        left_out=left_out,
        not_added=tuple(p for p, entry in others.items() if p in index and index[p] != entry),
    )


def find_unsolved(
    objects: Objects, worktree: Worktree, collision: Collision, made: WorktreeState
) -> Unsolved:
    """What of ``made`` is not solved yet."""
    changed = objects.changed(collision.case.ours, made.tree)
    marked = tuple(path for path in changed if _has_markers(objects, collision, made.tree, path))
    return Unsolved((*worktree.unmerged(), *made.not_added), marked)


def _has_markers(objects: Objects, collision: Collision, tree: TreeId, path: str) -> bool:
    """Whether the file has conflict markers that no side of the merge had."""
    sides = collision.conflicts.get(path)
    known: set[bytes] = set()
    for entry in (
        objects.file(collision.case.ours, path),
        *((entry for _, entry in sides.stages()) if sides else ()),
    ):
        known.update(_lines_of(objects, entry))
    return any(
        line.startswith(_MARKERS) and line not in known
        for line in _lines_of(objects, objects.file(tree, path))
    )


def _lines_of(objects: Objects, entry: Entry | None) -> list[bytes]:
    if entry is None or entry.mode == GITLINK_MODE:
        return []
    return objects.read(entry.oid).splitlines()
