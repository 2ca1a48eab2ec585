"""A program that tries every way out of a sandbox that it knows, and prints those that are open.

``python escapes.py HOST PORT PROCESS``: a directory with ``victim`` in it, a port of this machine
that listens, a process of the same user. Run with ``weak`` behind these it first confines itself,
as an older kernel without namespaces would let it.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import resource
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial

HOST, PORT, PROCESS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
VICTIM, NEW = f"{HOST}/victim", f"{HOST}/new"
CLOSED = {
    *(errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS, errno.EXDEV),
    *(errno.ENOENT, errno.ESRCH),  # it is not to be seen
}
X86 = platform.machine() == "x86_64"
_libc = ctypes.CDLL(None, use_errno=True)


def call(x86: int, generic: int, *arguments: int) -> None:
    """A system call by its number, with arguments that harm nobody if it is open."""
    words = (ctypes.c_long(argument) for argument in arguments)
    if _libc.syscall(ctypes.c_long(x86 if X86 else generic), *words) < 0:
        raise OSError(ctypes.get_errno(), "")


def read(path: str) -> None:
    """Read a file."""
    with open(path, "rb") as file:
        file.read(10)


def create(path: str, flags: int = os.O_WRONLY | os.O_CREAT) -> None:
    """Open a file, perhaps make it."""
    os.close(os.open(path, flags, 0o600))


def connect(family: int, address: object, kind: int = socket.SOCK_STREAM) -> None:
    """Reach somebody."""
    with socket.socket(family, kind) as made:
        made.connect(address)  # type: ignore[arg-type]


def owned_signal() -> None:
    """Have the kernel send a signal for us when something comes through a pipe."""
    import fcntl

    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, PROCESS)
    fcntl.fcntl(reading, getattr(fcntl, "F_SETSIG", 10), signal.SIGUSR1)
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writing, b"x")


def executable_memory() -> None:
    """Code of our own is no way out; a program in memory would be."""
    with mmap.mmap(-1, 4096) as memory:
        memory.write(b"x")
    os.close(os.memfd_create("x"))


def inherited() -> None:
    """A descriptor that was left open."""
    for number in range(3, 256):
        try:
            os.fstat(number)
        except OSError:
            continue
        if not os.get_inheritable(number):
            continue
        return
    raise PermissionError(errno.EPERM, "")


def fork() -> None:
    """Another process."""
    if os.fork() == 0:
        os._exit(0)


WAYS: dict[str, Callable[[], object]] = {
    **{f"read {path}": partial(read, path) for path in (
        VICTIM, f"{HOST}/.ssh/id_ed25519", f"{HOST}/link", f"/proc/self/root{VICTIM}",
        "/proc/self/environ", "/proc/1/environ", f"/proc/{PROCESS}/environ", f"/proc/{PROCESS}/mem",
        "/proc/self/maps", "/proc/version", "/etc/passwd", "/etc/hostname", "/etc/machine-id",
        "/dev/mem", "/dev/kmsg", "/dev/tty", "/sys/kernel/notes", "/proc/self/cwd/trace2",
    )},
    "list": lambda: os.listdir(HOST),
    "list the root": lambda: os.listdir("/"),
    **{f"write {path}": partial(create, path) for path in (
        VICTIM, NEW, "here", "trace2", "/tmp/patchq-new", "/dev/shm/patchq-new", "/dev/tty",
        "/proc/self/mem", "/proc/self/oom_score_adj", f"/proc/{PROCESS}/oom_score_adj",
        "/proc/sys/kernel/hostname", "stdout", "stderr",
    )},
    "truncate": lambda: os.truncate(VICTIM, 0),
    "truncate on opening": partial(create, VICTIM, os.O_RDONLY | os.O_TRUNC),
    "a file without a name": partial(create, HOST, os.O_WRONLY | os.O_TMPFILE),
    "link": lambda: os.link(VICTIM, NEW),
    "link here": lambda: os.link(VICTIM, "linked"),
    "symlink": lambda: os.symlink(VICTIM, NEW),
    "symlink here": lambda: os.symlink(VICTIM, "linked"),
    "rename": lambda: os.rename(VICTIM, NEW),
    "rename the trace": lambda: os.rename("trace", "trace2"),
    "replace the trace": lambda: os.unlink("trace"),
    "unlink": lambda: os.unlink(VICTIM),
    "mkdir": lambda: os.mkdir(NEW),
    "fifo": lambda: os.mkfifo(NEW),
    "device": lambda: os.mknod(NEW, 0o020600, os.makedev(1, 3)),
    "chmod": lambda: os.chmod(VICTIM, 0o777),
    "chown": lambda: os.chown(VICTIM, os.getuid(), os.getgid()),
    "lchown": lambda: os.lchown(VICTIM, os.getuid(), os.getgid()),
    "utime": lambda: os.utime(VICTIM, (1, 1)),
    "attribute": lambda: os.setxattr(VICTIM, "user.x", b"x"),
    "IPv4": partial(connect, socket.AF_INET, ("127.0.0.1", PORT)),
    "IPv6": partial(connect, socket.AF_INET6, ("::1", PORT)),
    "datagram": partial(connect, socket.AF_INET, ("127.0.0.1", PORT), socket.SOCK_DGRAM),
    "unix socket": partial(connect, socket.AF_UNIX, f"{HOST}/socket"),
    "abstract socket": partial(connect, socket.AF_UNIX, f"\0patchq-{PROCESS}"),
    "netlink": partial(connect, socket.AF_NETLINK, (0, 0), socket.SOCK_RAW),
    "socket pair": socket.socketpair,
    "io_uring": partial(call, 425, 425, 1, 0),
    "signal": lambda: os.kill(PROCESS, signal.SIGUSR1),
    "signal a group": lambda: os.killpg(os.getpgid(PROCESS), signal.SIGUSR1),
    "tkill": partial(call, 200, 130, PROCESS, signal.SIGUSR1),
    "tgkill": partial(call, 234, 131, PROCESS, PROCESS, signal.SIGUSR1),
    "queue a signal": partial(call, 129, 138, PROCESS, signal.SIGUSR1, 0),
    "queue a signal for a thread": partial(call, 297, 240, PROCESS, PROCESS, signal.SIGUSR1, 0),
    "pidfd": partial(call, 434, 434, PROCESS, 0),
    "signal by a file": owned_signal,
    "ptrace": partial(call, 101, 117, 16, PROCESS, 0, 0),
    "another's memory": partial(call, 310, 270, PROCESS, 0, 0, 0, 0, 0),
    "another's limits": lambda: resource.prlimit(PROCESS, resource.RLIMIT_CORE, (0, 0)),
    "another's priority": lambda: os.setpriority(os.PRIO_PROCESS, PROCESS, 19),
    "another's processors": lambda: os.sched_setaffinity(PROCESS, {0}),
    "shared memory": partial(call, 29, 194, 0x70617463, 4096, 0o1600),
    "semaphores": partial(call, 64, 190, 0x70617463, 1, 0o1600),
    "messages": partial(call, 68, 186, 0x70617463, 0o1600),
    "message queue": partial(call, 240, 180, 0, 0),
    "memory as a file": executable_memory,
    "user namespace": partial(call, 272, 97, 0x10000000),
    "mount": partial(call, 165, 40, 0, 0, 0, 0, 0),
    "chroot": lambda: os.chroot("/"),
    "file by handle": partial(call, 304, 265, -1, 0, 0),
    "bpf": partial(call, 321, 280, 0, 0, 0),
    "performance counters": partial(call, 298, 241, 0, 0, -1, -1, 0),
    "page faults": partial(call, 323, 282, 0),
    "keys": partial(call, 250, 219, 0, -3, 1),
    "name of the machine": partial(call, 170, 161, 0, 0),
    "clock": partial(call, 159, 171, 0),
    "kernel module": partial(call, 175, 105, 0, 0, 0),
    "kernel log": partial(call, 103, 116, 10, 0, 0),
    "terminal input": partial(call, 16, 29, 0, 0x5412, 0),
    "descriptor": inherited,
    "fork": fork,
    "spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    "run a shell": lambda: os.execv("/bin/sh", ["sh", "-c", "echo run a shell"]),
    "run itself": lambda: os.execv(sys.executable, [sys.executable, "-c", "pass"]),
}  # fmt: skip


def _confine() -> None:
    from patchq.sandbox import landlock, seccomp

    landlock.version = lambda: landlock.MINIMUM_VERSION
    reads = (sys.base_prefix, "/lib", "/usr/lib", "/lib64")
    landlock.restrict(reads=reads, writes=(os.path.abspath("trace"),), executes=())
    seccomp.restrict()


def main() -> None:
    """Try them all."""
    if sys.argv[4:]:
        _confine()
    for name, way in WAYS.items():
        if name == "run itself" and not sys.argv[4:]:
            continue  # that is what it may
        try:
            way()
        except OSError as error:
            if error.errno not in CLOSED:
                print(f"{name}: {error.strerror or os.strerror(error.errno or 0)}", flush=True)
        else:
            print(name, flush=True)
    print("tried", len(WAYS), flush=True)


if __name__ == "__main__":
    main()
