"""From a tree that someone made of a collision to the patch that makes it."""

from __future__ import annotations

from patchq.engine.rebase.conflict import Collision
from patchq.engine.series.rewrite import Carrier
from patchq.engine.series.stack import Stack
from patchq.git.compare import Version, range_diff
from patchq.git.objects import Entry, Objects
from patchq.git.store import Store
from patchq.model.patch import Patch

_NO_SECTION = b"@@ Commit message\n \n"
"""How range-diff heads a difference that begins with the first file's name."""


def changed_paths(objects: Objects, old: str, new: str, prefix: str = "") -> set[str]:
    """Every file that differs between two trees."""
    before, after = objects.tree(old), objects.tree(new)
    changed: set[str] = set()
    for name in before.keys() | after.keys():
        was, now, path = before.get(name), after.get(name), f"{prefix}{name}"
        if was == now:
            continue
        if was and now and was.is_tree and now.is_tree:
            changed |= changed_paths(objects, was.oid, now.oid, f"{path}/")
        else:
            changed |= _files(objects, was, path) | _files(objects, now, path)
    return changed


def _files(objects: Objects, entry: Entry | None, path: str) -> set[str]:
    if entry is None:
        return set()
    if not entry.is_tree:
        return {path}
    return {below for below, _ in objects.walk(entry.oid, f"{path}/")}


def patch_to(store: Store, stack: Stack, collision: Collision, tree: str) -> Patch:
    """The patch of ``collision`` rewritten so that it leads to ``tree``; its head is kept.

    What still applies of it keeps its bytes (see :mod:`patchq.engine.series.rewrite`).
    """
    objects = store.objects
    ours = collision.case.ours
    paths = changed_paths(objects, ours, tree)
    carrier = Carrier(stack, store.mailer, objects)
    carried = carrier.carry(
        collision.case.patch,
        ours,
        tree,
        objects.files(ours, sorted(paths)),
        objects.files(tree, sorted(paths)),
        collision.moves,
    )
    return carried.patch


def compare(store: Store, collision: Collision, tree: str) -> bytes:
    """The patch as it was against the patch that leads to ``tree``, as git range-diff shows it."""
    objects = store.objects
    case = collision.case
    paths = sorted(changed_paths(objects, case.ours, tree))
    versions = (
        Version(objects.tree_of(old), objects.tree_of(new), f"{case.patch.name}\n")
        for old, new in (
            (case.applied.before, case.applied.after),
            (objects.files(case.ours, paths), objects.files(tree, paths)),
        )
    )
    return range_diff(store.git, objects, *versions).removeprefix(_NO_SECTION)
