"""Landlock: a Linux process gives up access to files, to the network, and to other processes.

Three system calls without a wrapper in libc, see landlock(7). A file that no rule names cannot be
read, written, truncated, executed, made or removed. Its metadata can still be read and changed,
for which :mod:`patchq.sandbox.seccomp` is there.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

MINIMUM_VERSION = 3
"""The first version of the interface that knows of truncation (Linux 6.2)."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_NO_NEW_PRIVILEGES = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = (1 << bit for bit in range(4))
_TRUNCATE = 1 << 14
_FILES = (1 << 15) - 1  # all up to truncation
_DEVICES = 1 << 15  # ioctl of devices, from version 5
_NETWORK = 0b11  # TCP: bind and connect, from version 4
_SCOPE = 0b11  # abstract sockets and signals, from version 6


def version() -> int:
    """The version of the interface that the kernel has; 0 for none."""
    try:
        return _call(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def restrict(*, reads: Iterable[str], writes: Iterable[str], executes: Iterable[str]) -> None:
    """Leave this thread, and what it starts, nothing but these paths. There is no way back.

    ``reads`` hold for all below a directory; paths that are not there are skipped. Raises
    OSError if the kernel refuses.
    """
    abi = version()
    if abi < MINIMUM_VERSION:
        raise OSError(f"Landlock has version {abi} here, {MINIMUM_VERSION} is needed")
    files = _FILES | (_DEVICES if abi >= 5 else 0)
    attributes = struct.pack("=QQQ", files, _NETWORK, _SCOPE if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = _call(_CREATE_RULESET, attributes, size, 0)
    for paths, rights in (
        (reads, _READ_FILE | _READ_DIRECTORY),
        (writes, _WRITE_FILE | _TRUNCATE),
        (executes, _EXECUTE | _READ_FILE),
    ):
        for path in paths:
            _allow(ruleset, path, rights)
    _prctl(_NO_NEW_PRIVILEGES, 1)
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        there = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(there).st_mode):
            rights &= ~_READ_DIRECTORY
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, there), 0)
    finally:
        os.close(there)


def _call(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.syscall(
        ctypes.c_long(number),
        *(
            ctypes.c_long(argument) if isinstance(argument, int) else argument
            for argument in arguments
        ),
    )
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {os.strerror(number)}")
    return int(found)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl: {os.strerror(number)}")
