"""Temporary directories that do not outlive their process, however that ends.

All of a process lie in one directory that it holds a lock on; a later process removes those that
nobody holds any more.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_LOCK = "lock"
_YOUNG = 60  # seconds; a directory this young may be about to be locked


def scratch_root() -> Path:
    """This process's own temporary directory."""
    return _root(os.getpid())


@lru_cache(maxsize=1)
def _root(process: int) -> Path:
    home = _home()
    if home is None:
        root = Path(tempfile.mkdtemp(prefix="patchq-"))
    else:
        _sweep(home)
        root = Path(tempfile.mkdtemp(prefix=f"{process}-", dir=home))
    unlocked = root / f"{_LOCK}.new"  # a lock by its name is held: nobody finds it before
    descriptor = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # for as long as the process lives
    unlocked.rename(root / _LOCK)
    atexit.register(_remove, root, process)
    return root


def _home() -> Path | None:
    """The directory for those of all processes of this user; None if it is somebody else's."""
    home = Path(tempfile.gettempdir(), f"patchq-{os.getuid()}")
    with suppress(OSError):
        with suppress(FileExistsError):
            home.mkdir(mode=0o700)
        found = home.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
            if stat.S_IMODE(found.st_mode) & 0o077:
                home.chmod(0o700)
            return home
    return None


def _sweep(home: Path) -> None:
    for left in home.iterdir():
        with suppress(OSError):
            if _is_left(left):
                shutil.rmtree(left, ignore_errors=True)


def _is_left(directory: Path) -> bool:
    lock = directory / _LOCK
    if not lock.exists():
        return time.time() - directory.stat().st_mtime > _YOUNG
    descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def leave() -> None:
    """Have a process of its own remove this one's directory, which may take long.

    What it does not come to, a later process of patchq removes.
    """
    if not _root.cache_info().currsize:
        return
    root = scratch_root()
    left = root.with_name(f"{root.name}.left")
    with suppress(OSError):
        root.rename(left)  # whoever else would remove it finds nothing to do
        subprocess.Popen(
            ["rm", "-rf", "--", str(left)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )


def _remove(root: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(root, ignore_errors=True)
