"""Write files so that a reader finds the old or the new one, and never a part.

Everything that patchq replaces outside of a transaction goes through :func:`replace_file`; what a
process that was killed left behind is removed by :func:`sweep`.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ASIDE = re.compile(r"\..+\.(\d+)\.patchq-new")


def replace_file(
    path: Path, content: bytes, *, durable: bool = False, aside_in: Path | None = None
) -> None:
    """Give the file ``path`` this content in one step; its directory must exist, its mode stays.

    ``durable``: it also survives a crash of the machine. It is written aside in its own directory,
    or in ``aside_in`` of the same file system. Raises :class:`OSError`, and the file is as it was.
    """
    aside = (aside_in or path.parent) / (f".{path.name}.{os.getpid()}.patchq-new")
    try:
        with aside.open("wb") as file:
            file.write(content)
            with suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            if durable:
                file.flush()
                os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise
    if durable:
        sync(path.parent)


def sync(directory: Path) -> None:
    """Have the names in ``directory`` survive a crash (fsync(2))."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(directory: Path) -> None:
    """Remove what :func:`replace_file` left aside in ``directory`` when its process was killed."""
    with suppress(OSError):
        for file in directory.iterdir():
            match = _ASIDE.fullmatch(file.name)
            if match and not _is_alive(int(match[1])):
                file.unlink(missing_ok=True)


@contextmanager
def scratch_beside(directory: Path, prefix: str) -> Iterator[Path]:
    """A directory in ``directory``, gone when done; those of killed processes go first.

    Raises :class:`OSError` if it cannot be made.
    """
    left = re.compile(rf"{re.escape(prefix)}(\d+)\.\w+")
    for entry in directory.iterdir():
        match = left.fullmatch(entry.name)
        if match and entry.is_dir() and not _is_alive(int(match[1])):
            shutil.rmtree(entry, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{prefix}{os.getpid()}.", dir=directory) as scratch:
        yield Path(scratch)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
