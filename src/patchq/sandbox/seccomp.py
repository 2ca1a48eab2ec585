"""A seccomp filter that closes what Landlock leaves open, see seccomp(2).

No socket of any kind, no new process, no change of a file's mode, owner, times or attributes, no
signal to another process and no look into one. The same program serves for bubblewrap.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Mapping

_MODE_OPTION, _MODE_FILTER = 22, 2
_NO_NEW_PRIVILEGES = 38

# linux/bpf_common.h, linux/seccomp.h, linux/audit.h
_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_EPERM, _ENOSYS = 1, 38
_THREAD = 0x00010000  # CLONE_THREAD
_X32 = 0x40000000

# arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h; from 424 on they
# are the same
_COMMON = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "pidfd_open": 434,
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
}
_X86_64 = {
    "socket": 41,
    "fork": 57,
    "vfork": 58,
    "kill": 62,
    "chmod": 90,
    "fchmod": 91,
    "chown": 92,
    "fchown": 93,
    "lchown": 94,
    "ptrace": 101,
    "rt_sigqueueinfo": 129,
    "utime": 132,
    "pivot_root": 155,
    "mount": 165,
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
    "tkill": 200,
    "utimes": 235,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "fchownat": 260,
    "futimesat": 261,
    "fchmodat": 268,
    "unshare": 272,
    "utimensat": 280,
    "perf_event_open": 298,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "memfd_create": 319,
    "bpf": 321,
    "execveat": 322,
    "userfaultfd": 323,
}
_GENERIC = {
    "setxattr": 5,
    "lsetxattr": 6,
    "fsetxattr": 7,
    "removexattr": 14,
    "lremovexattr": 15,
    "fremovexattr": 16,
    "mount": 40,
    "pivot_root": 41,
    "fchmod": 52,
    "fchmodat": 53,
    "fchownat": 54,
    "fchown": 55,
    "utimensat": 88,
    "unshare": 97,
    "ptrace": 117,
    "kill": 129,
    "tkill": 130,
    "rt_sigqueueinfo": 138,
    "socket": 198,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "perf_event_open": 241,
    "setns": 268,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "memfd_create": 279,
    "bpf": 280,
    "execveat": 281,
    "userfaultfd": 282,
}
_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
_CLONE3 = 435
_ARCHITECTURES: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "x86_64": (0xC000003E, _X86_64),
    "aarch64": (0xC00000B7, _GENERIC),
    "riscv64": (0xC00000F3, _GENERIC),
}


def supported() -> bool:
    """Whether the system calls of this machine are known."""
    return os.uname().machine in _ARCHITECTURES


def program(machine: str | None = None) -> bytes:
    """The filter for ``machine`` (this one), as an array of ``struct sock_filter``."""
    machine = machine or os.uname().machine
    architecture, numbers = _ARCHITECTURES[machine]
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for number in sorted({*numbers.values(), *_COMMON.values()}):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _FAIL | _EPERM)]
    # libc goes back to clone, whose flags can be looked at
    steps += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _FAIL | _ENOSYS)]
    steps += [
        (_EQUAL, 0, 3, _CLONE[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_BITS, 1, 0, _THREAD),
        (_RETURN, 0, 0, _FAIL | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def restrict() -> None:
    """Put this thread, and what it starts, under the filter; raises OSError if refused."""
    steps = program()
    # struct sock_fprog: a length, and a pointer at its own alignment
    buffer = ctypes.create_string_buffer(steps, len(steps))
    attributes = struct.pack("HP", len(steps) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    none = [ctypes.c_ulong(0)] * 3
    if libc.prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), *none) or libc.prctl(
        _MODE_OPTION, ctypes.c_ulong(_MODE_FILTER), attributes, *none[:2]
    ):
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")
