"""A seccomp filter that closes what Landlock leaves open, see seccomp(2).

No socket of any kind, no new process, no shared memory or message queue, no change of a file's
mode, owner, times or attributes, no signal to another process and no look into one, nothing of
the machine's administration. The same program serves for bubblewrap.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator, Mapping

_MODE_OPTION, _MODE_FILTER = 22, 2
_NO_NEW_PRIVILEGES = 38

# linux/bpf_common.h, linux/seccomp.h, linux/audit.h
_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_EPERM, _ENOSYS = 1, 38
_THREAD = 0x00010000  # CLONE_THREAD
_X32 = 0x40000000

_DENIED = """
    socket              41 198  socketpair          53 199
    fork                57   -  vfork               58   -  execveat           322 281
    kill                62 129  tkill              200 130  rt_sigqueueinfo    129 138
    rt_tgsigqueueinfo  297 240  pidfd_send_signal  424 424  pidfd_open         434 434
    pidfd_getfd        438 438  process_madvise    440 440  process_mrelease   448 448
    ptrace             101 117  process_vm_readv   310 270  process_vm_writev  311 271
    kcmp               312 272  migrate_pages      256 238  move_pages         279 239
    setpriority        141 140  ioprio_set         251  30  sched_setaffinity  203 122
    sched_setscheduler 144 119  sched_setparam     142 118  sched_setattr      314 274
    shmget              29 194  shmat               30 196  shmctl              31 195
    semget              64 190  semop               65 193  semctl              66 191
    semtimedop         220 192  msgget              68 186  msgsnd              69 189
    msgrcv              70 188  msgctl              71 187  mq_open            240 180
    mq_unlink          241 181  memfd_create       319 279  userfaultfd        323 282
    io_uring_setup     425 425  bpf                321 280  perf_event_open    298 241
    add_key            248 217  request_key        249 218  keyctl             250 219
    chmod               90   -  fchmod              91  52  fchmodat           268  53
    fchmodat2          452 452  chown               92   -  fchown              93  55
    lchown              94   -  fchownat           260  54  utime              132   -
    utimes             235   -  futimesat          261   -  utimensat          280  88
    setxattr           188   5  lsetxattr          189   6  fsetxattr          190   7
    setxattrat         463 463  removexattr        197  14  lremovexattr       198  15
    fremovexattr       199  16  removexattrat      466 466  file_setattr       469 469
    mknod              133   -  mknodat            259  33  fanotify_init      300 262
    name_to_handle_at  303 264  open_by_handle_at  304 265
    unshare            272  97  setns              308 268  chroot             161  51
    pivot_root         155  41  mount              165  40  umount2            166  39
    open_tree          428 428  move_mount         429 429  fsopen             430 430
    fsconfig           431 431  fsmount            432 432  fspick             433 433
    mount_setattr      442 442
    reboot             169 142  kexec_load         246 104  kexec_file_load    320 294
    init_module        175 105  finit_module       313 273  delete_module      176 106
    swapon             167 224  swapoff            168 225  acct               163  89
    quotactl           179  60  quotactl_fd        443 443  syslog             103 116
    sethostname        170 161  setdomainname      171 162  settimeofday       164 170
    clock_settime      227 112  adjtimex           159 171  clock_adjtime      305 266
    iopl               172   -  ioperm             173   -  vhangup            153  58
"""
"""Names and numbers: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h."""

# include/uapi/asm-generic/{fcntl,ioctls}.h, linux/sockios.h: signals to another process by the
# way of a file, and input for a terminal
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15
_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX = 0x8901, 0x8902, 0x5412, 0x541C

_CLONE3 = 435
_ARCHITECTURES: Mapping[str, tuple[int, int]] = {
    "x86_64": (0xC000003E, 0),
    "aarch64": (0xC00000B7, 1),
    "riscv64": (0xC00000F3, 1),
}
"""What the kernel calls a machine, and its column in tables of system calls."""

_Steps = list[tuple[int, int, int, int]]
_REFUSE = (_RETURN, 0, 0, _FAIL | _EPERM)


def supported() -> bool:
    """Whether the system calls of this machine are known."""
    return os.uname().machine in _ARCHITECTURES


def program(machine: str | None = None, *, process: int | None = None) -> bytes:
    """The filter for ``machine`` (this one), as an array of ``struct sock_filter``.

    ``process`` is the one that it is for, which may signal itself; without it, any may be: in a
    PID namespace there is no other.
    """
    machine = machine or os.uname().machine
    architecture, column = _ARCHITECTURES[machine]
    steps: _Steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for number in sorted(_denied(column)):
        steps += [(_EQUAL, 0, 1, number), _REFUSE]
    # libc goes back to clone, whose flags can be looked at
    steps += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _FAIL | _ENOSYS)]
    steps += _looked_at((56, 220)[column], 0, [(_BITS, 1, 0, _THREAD), _REFUSE])
    steps += _looked_at((72, 25)[column], 1, _none_of(_F_SETOWN, _F_SETSIG, _F_SETOWN_EX))
    refused = _none_of(_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX)
    steps += _looked_at((16, 29)[column], 1, refused)
    steps += _looked_at((302, 261)[column], 0, [(_EQUAL, 1, 0, 0), _REFUSE])  # prlimit64
    if process is not None:  # tgkill
        steps += _looked_at((234, 131)[column], 0, [(_EQUAL, 1, 0, process), _REFUSE])
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _denied(column: int) -> Iterator[int]:
    words = _DENIED.split()
    for numbers in zip(words[1::3], words[2::3], strict=True):
        if numbers[column] != "-":
            yield int(numbers[column])


def _looked_at(number: int, argument: int, steps: _Steps) -> _Steps:
    """Allow a call unless ``steps`` refuse it, which look at the low half of one argument."""
    load = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument)
    return [(_EQUAL, 0, len(steps) + 2, number), load, *steps, (_RETURN, 0, 0, _ALLOW)]


def _none_of(*values: int) -> _Steps:
    return [step for value in values for step in ((_EQUAL, 0, 1, value), _REFUSE)]


def restrict() -> None:
    """Put this thread, and what it becomes, under the filter; raises OSError if refused."""
    steps = program(process=os.getpid())
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
