"""The one door through which ``series/`` and ``upstream.lock`` are written: all or nothing.

How a transaction lies on disk, and survives what cuts it off, is told in :mod:`.slot`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from patchq.engine.workspace.journal import Journal, Kind, is_inside
from patchq.engine.workspace.locking import exclusive
from patchq.engine.workspace.slot import (
    BACK,
    DONE,
    Content,
    Kept,
    digest_of,
    next_slot,
    refused,
    slots,
    unfinished,
)
from patchq.errors import InputError, PatchqError
from patchq.files import sweep
from patchq.model.workspace import Workspace
from patchq.signals import Interrupted
from patchq.written import note

KEPT = 20
"""How many finished transactions can be undone."""
_SHOWN = 3


class Transaction:
    """Changes to a workspace, collected in memory and made together by :meth:`commit`.

    ``label`` is the command, as messages and ``patchq undo`` name it.
    """

    def __init__(self, workspace: Workspace, label: str):
        self._workspace = workspace
        self._label = label
        self._contents: dict[PurePosixPath, Content] = {}
        self._above: dict[PurePosixPath, PurePosixPath] = {}
        """Every directory above one of them, with one that it is above."""

    def write_file(self, path: Path, content: bytes) -> None:
        """Make ``path`` a file of this content."""
        self._change(path, content)

    def keep_file(self, path: Path, content: bytes) -> None:
        """Make ``path`` a file of this content, which goes :func:`aside` when it is taken back.

        For what the user made that serves whatever becomes of the command.
        """
        self._change(path, Kept(content))

    def write_directory(self, path: Path, files: Mapping[str, bytes]) -> None:
        """Make ``path`` a directory of exactly these files, whatever it holds now."""
        for name in files:
            if not is_inside(PurePosixPath(name)):
                raise ValueError(f"{name!r} is not inside {path}")
        self._change(path, dict(files))

    def remove(self, path: Path) -> None:
        """Remove the file or directory ``path``, if there is one."""
        self._change(path, None)

    def _change(self, path: Path, content: Content) -> None:
        name = PurePosixPath(path.relative_to(self._workspace.root))
        if not is_inside(name):
            raise ValueError(f"{path} is not inside the workspace")
        other = next((above for above in name.parents if above in self._contents), None)
        other = other or self._above.get(name)
        if other is not None:
            raise ValueError(f"{name} and {other} overlap in one transaction")
        self._contents[name] = content
        self._above.update(dict.fromkeys(name.parents, name))

    def commit(self) -> None:
        """Make all changes, or none.

        Raises :class:`PatchqError` if the disk refuses (full, read-only, another file system),
        with everything as it was before.
        """
        if not self._contents:
            return
        with exclusive(self._workspace):
            if unfinished(self._workspace):
                raise PatchqError(
                    "another command was interrupted while this one ran; nothing was changed",
                    hint="Run the command again.",
                )
            slot = next_slot(self._workspace)
            try:
                slot.stage(self._label, self._contents)
                slot.put()
            except BaseException as error:
                slot.abandon()
                if slot.has(DONE):
                    self._note()
                if isinstance(error, OSError):
                    raise refused(self._label, error) from error
                raise
            self._note()
            for done in slots(self._workspace)[:-KEPT]:
                done.discard()

    def _note(self) -> None:
        paths = [str(path) for path in self._contents]
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        note(f"{', '.join(paths[:_SHOWN])}{more} (`patchq undo` takes it back)")


def recover(workspace: Workspace) -> str | None:
    """Bring to an end what an earlier command was cut off in; every command begins with this.

    Returns words for the user, or None if there was nothing to do. Raises
    :class:`PatchqError` if the disk refuses, or the command's record is damaged.
    """
    for directory in (workspace.state_dir, workspace.root):  # where reports are written
        sweep(directory)
    if not unfinished(workspace):
        return None
    with exclusive(workspace):
        # What was unfinished a moment ago may have been another process at work.
        return "; ".join(slot.settle() for slot in unfinished(workspace)) or None


def undo(workspace: Workspace) -> Journal:
    """Take back the newest finished transaction, all but what it keeps, and return its journal.

    Raises :class:`InputError` if there is none, where its record is damaged, or where what it
    wrote was edited since.
    """
    with exclusive(workspace):
        done = [slot for slot in slots(workspace) if slot.has(DONE)]
        if not done:
            raise InputError("there is nothing to undo", hint="`git log` has the rest.")
        slot = done[-1]
        journal = slot.journal(DONE)
        for change in journal.changes:
            if (
                change.kind is not Kind.KEPT
                and digest_of(workspace.root / change.path) != change.digest
            ):
                raise InputError(
                    f"{change.path} was changed since `{journal.label}`; nothing was undone",
                    hint="Take that change back first, or use git.",
                )
        try:
            slot.enter(DONE, BACK)
            slot.abandon()
        except Interrupted:
            slot.abandon()
            raise
        finally:
            if not (slot.has(DONE) or slot.has(BACK)):
                note(f"`{journal.label}` is taken back")
        return journal


def newest(workspace: Workspace) -> Journal | None:
    """What :func:`undo` would take back, None if there is nothing.

    Raises :class:`InputError` if its record is damaged.
    """
    done = [slot for slot in slots(workspace) if slot.has(DONE)]
    return done[-1].journal(DONE) if done else None
