"""One patchq at a time in a workspace: the second waits, then says who holds the lock."""

from __future__ import annotations

import fcntl
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from patchq.errors import PatchqError
from patchq.model.workspace import Workspace, ensure_state_dir

_POLL = 0.05

# flock belongs to the open file, so a second open in this process would wait for the first.
_held: set[Path] = set()


@contextmanager
def exclusive(workspace: Workspace, wait: float = 10.0) -> Iterator[None]:
    """Hold the workspace's lock; may be nested within one process.

    The lock ends with the process, however that ends. Raises :class:`PatchqError`, naming the
    holder, where another process has it for longer than ``wait`` seconds.
    """
    root = workspace.root.resolve()
    if root in _held:
        yield
        return
    try:
        file = _acquire(ensure_state_dir(workspace) / "lock", time.monotonic() + wait)
    except OSError as error:
        raise PatchqError(
            f"the workspace cannot be locked: {error}; nothing was changed"
        ) from error
    _held.add(root)
    try:
        yield
    finally:
        _held.discard(root)
        os.close(file)


def _acquire(path: Path, deadline: float) -> int:
    while (file := _try_acquire(path)) is None:
        if time.monotonic() >= deadline:
            raise PatchqError(
                f"another patchq is running in this workspace: {_holder(path)}",
                hint="Wait for it to end, or end it; what it began is then finished or taken back.",
            )
        time.sleep(_POLL)
    return file


def _try_acquire(path: Path) -> int | None:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(file, path):
            _sign(file)
            return file
    except BlockingIOError:
        pass
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    return None


def _is_at(file: int, path: Path) -> bool:
    """Whether ``path`` still is the file that was locked (``.patchq`` may have been deleted)."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _sign(file: int) -> None:
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    since = datetime.now(UTC).isoformat(timespec="seconds")
    os.ftruncate(file, 0)
    os.pwrite(
        file, f"process {os.getpid()}, `{command}`, since {since}\n".encode(errors="replace"), 0
    )


def _holder(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip() or "an unknown process"
    except FileNotFoundError:
        return "an unknown process"
