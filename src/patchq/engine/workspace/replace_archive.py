"""Upstream's own tag in the place of a base that was imported from an archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from posixpath import dirname, join, normpath

from patchq.engine.workspace.transaction import Transaction
from patchq.engine.workspace.upstream import Request, Upstream, lock_names
from patchq.errors import InputError, UpstreamError
from patchq.git.objects import SYMLINK_MODE, Entry, Objects, decode_path
from patchq.model.lock import Base, Lock, leading_comment, render_lock
from patchq.model.workspace import Workspace

_SHOWN = 5


@dataclass(frozen=True)
class Replaced:
    """The base as it was and as it is; ``more`` are covered paths that only the tag has."""

    archive: Base
    base: Base
    origin: str
    more: tuple[str, ...]


def find_replacement(lock: Lock, upstream: Upstream, name: str) -> Replaced:
    """The tag ``name`` of upstream, found to have every file of the archive as it is there.

    Raises :class:`InputError` if the base is no archive, :class:`UpstreamError` if upstream has no
    such tag, or a file of the archive is another one in it.
    """
    archived = lock.base(name)
    if archived.archive is None:
        raise InputError(f"{name} is from git already; there is no archive to replace")
    store = upstream.store
    store.require((archived,))
    without = replace(lock, bases=tuple(base for base in lock.bases if base.name != name))
    [found] = lock_names(without, upstream, [Request(name)])
    ours = dict(store.objects.walk(archived.tree))
    every = dict(store.objects.walk(found.base.tree))
    theirs = {path: entry for path, entry in every.items() if archived.covers(path)}
    # modes are not compared: a zip need not have them
    other = sorted(
        path
        for path, entry in ours.items()
        if entry.oid not in (_oid(theirs, path), _behind_link(store.objects, every, path))
    )
    if other:
        shown = ", ".join(other[:_SHOWN]) + (" …" if len(other) > _SHOWN else "")
        raise UpstreamError(
            f"{name} of {upstream} is not what {archived.archive.file} was made from: "
            f"{len(other)} of {len(ours)} files differ or are missing: {shown}",
            hint="Nothing was changed. Another commit may be: `patchq lock NAME=COMMIT` locks it "
            "under a name of its own.",
        )
    return Replaced(archived, found.base, found.origin, tuple(sorted(theirs.keys() - ours.keys())))


def _oid(files: Mapping[str, Entry], path: str) -> str | None:
    return files[path].oid if path in files else None


def _behind_link(objects: Objects, files: Mapping[str, Entry], path: str) -> str | None:
    """What a link leads to: a wheel has that file in its place."""
    entry = files.get(path)
    if entry is None or entry.mode != SYMLINK_MODE:
        return None
    return _oid(files, normpath(join(dirname(path), decode_path(objects.read(entry.oid)))))


def write_replacement(workspace: Workspace, replaced: Replaced, label: str) -> None:
    """Put the base into the lock."""
    lock = workspace.lock().replacing(replaced.base)
    comment = leading_comment(workspace.lock_path.read_bytes())
    transaction = Transaction(workspace, label)
    transaction.write_file(workspace.lock_path, render_lock(lock, comment=comment))
    transaction.commit()
