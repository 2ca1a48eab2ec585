"""What git leaves in a store when it is killed: temporary packs and objects."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def packing(store: Path) -> Iterator[None]:
    """Say that a process of ours has git write packs into ``store``, until it ends or is killed."""
    descriptor = os.open(store / "packing.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def sweep_packs(store: Path) -> None:
    """Remove what killed processes of git left in ``store``, unless one is at work there.

    A ``.keep`` is there while a pack is written; git-fast-import(1) refuses to write a pack again
    that has one.
    """
    objects = store / "objects"
    left = [*objects.glob("pack/tmp_*"), *objects.glob("pack/.tmp-*"), *objects.glob("tmp_*")]
    left += objects.glob("pack/*.keep")
    if not left:
        return
    with suppress(OSError):
        descriptor = os.open(store / "packing.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for file in left:
                file.unlink(missing_ok=True)
        finally:
            os.close(descriptor)
