"""The process that starts the sandboxed programs: reads commands, runs one at a time, answers.

A process of its own, with one thread, as namespaces and the steps between fork(2) and execve(2)
need it. Each line of its standard input is a command as JSON, each line of its standard output an
answer; the first one says whether there is a sandbox. It ends, and what it runs, when its input
does.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import struct
import sys
import time
from typing import Any, NoReturn

from patchq.sandbox import landlock, seccomp, wrappers
from patchq.sandbox.command import LIBRARIES, Command, Confinement, Finished

_NEW_NAMESPACES = 0x10000000 | 0x40000000 | 0x08000000  # user, network, IPC
_DIE_WITH_PARENT = 1
_PROGRAM_INTERPRETER = 3
_SIGNALLED = 128  # what bwrap adds to the number of a signal, as a shell does


def serve() -> None:
    """Run commands until the standard input ends: ``launcher CONFINEMENT [WRAPPER]``."""
    confinement, wrapper = Confinement(sys.argv[1]), sys.argv[2]
    woken, wake = os.pipe()
    for descriptor in (woken, wake):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    if confinement is Confinement.LANDLOCK:
        _unshare()
    _answer({"fault": _self_test(confinement, wrapper)})
    for line in sys.stdin.buffer:
        command = Command.of(json.loads(line))
        try:
            finished = _run(command, confinement, wrapper, woken)
        except OSError as error:
            _answer({"fault": str(error)})
        else:
            _answer({"code": finished.code, "late": finished.late})


def _answer(facts: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(facts)}\n")
    sys.stdout.flush()


def _unshare() -> None:
    """Leave the host's network and users, if that is allowed: a wall more behind the others."""
    ctypes.CDLL(None).unshare(ctypes.c_int(_NEW_NAMESPACES))


def _self_test(confinement: Confinement, wrapper: str) -> str | None:
    """Why there is no sandbox of this kind, None if there is one."""
    if confinement is Confinement.NONE:
        return None
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if confinement is Confinement.LANDLOCK:
                _confine(reads=(), writes=(), executes=())
                _expect_closed()
            else:
                for descriptor in (0, 1, 2):
                    os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
                program = wrapper if confinement is Confinement.BUBBLEWRAP else "/usr/bin/true"
                test = Command((program, "--version"), "/", "", "", reads=(program,))
                _wrap(confinement, wrapper, test)
        except OSError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        fault = said.read().decode(errors="replace")
    return fault or (f"{wrapper or confinement.value} does not work here" if status else None)


def _expect_closed() -> None:
    """Raise OSError unless files, sockets and processes are closed to this process."""
    for what, attempt in (
        ("files", lambda: os.open("/", os.O_RDONLY | os.O_DIRECTORY)),
        ("network", lambda: __import__("socket").socket()),
        ("processes", os.fork),
    ):
        try:
            found = attempt()
        except PermissionError:
            continue
        if what == "processes" and found == 0:
            os._exit(0)
        raise OSError(f"the sandbox leaves {what} open")


def _run(command: Command, confinement: Confinement, wrapper: str, woken: int) -> Finished:
    """Run ``command`` to its end; raises OSError if it cannot be started as asked."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        _become(command, confinement, wrapper, write)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        fault = said.read()
    if fault:
        os.waitpid(child, 0)
        raise OSError(fault.decode(errors="replace"))
    finished = _wait(child, command.limits.seconds, woken)
    if confinement is Confinement.BUBBLEWRAP and finished.code > _SIGNALLED:
        return Finished(_SIGNALLED - finished.code)
    return finished


def _wait(child: int, seconds: float, woken: int) -> Finished:
    deadline = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return Finished(os.waitstatus_to_exitcode(status))
        left = deadline - time.monotonic()
        ready = select.select([0, woken], [], [], left)[0] if left > 0 else []
        if woken in ready:
            os.read(woken, 4096)
        if left <= 0 or 0 in ready:  # nobody asks while a command runs: the input has ended
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            if 0 in ready:
                sys.exit(0)
            return Finished(-signal.SIGKILL, late=True)


def _become(command: Command, confinement: Confinement, wrapper: str, fault: int) -> NoReturn:
    """In the child: turn into the program; what goes wrong is written to ``fault``."""
    try:
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        for descriptor, opened in (
            (0, os.open(os.devnull, os.O_RDONLY)),
            (1, os.open(command.stdout, flags, 0o600)),
            (2, os.open(command.stderr, flags, 0o600)),
        ):
            os.dup2(opened, descriptor)
        _limit(command)
        os.chdir(command.directory)
        if confinement is Confinement.LANDLOCK:
            program = command.arguments[0]
            executes = [program, *_interpreter(program)]
            _confine(reads=(*LIBRARIES, *command.reads), writes=command.writes, executes=executes)
        _wrap(confinement, wrapper, command)
    except BaseException as error:
        os.write(fault, (str(error) or repr(error)).encode())
    finally:
        os._exit(127)


def _limit(command: Command) -> None:
    limits = command.limits
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, int(limits.seconds) + 1),
        (resource.RLIMIT_FSIZE, limits.output),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_AS, limits.memory),
    ):
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):  # macOS has no limit of the address space
            if sys.platform == "linux":
                raise


def _confine(*, reads: tuple[str, ...], writes: tuple[str, ...], executes: Any) -> None:
    landlock.restrict(reads=reads, writes=writes, executes=executes)
    seccomp.restrict()


def _wrap(confinement: Confinement, wrapper: str, command: Command) -> NoReturn:
    arguments = list(command.arguments)
    if confinement is Confinement.BUBBLEWRAP:
        read, write = os.pipe()
        os.write(write, seccomp.program())
        os.close(write)
        os.set_inheritable(read, True)
        arguments = wrappers.bubblewrap(wrapper, command, read)
    elif confinement is Confinement.SANDBOX_EXEC:
        arguments = wrappers.sandbox_exec(command)
    os.execve(arguments[0], arguments, dict(command.environment))


def _interpreter(program: str) -> list[str]:
    """The dynamic linker that an ELF ``program`` names, see elf(5)."""
    descriptor = os.open(program, os.O_RDONLY)
    try:
        head = os.pread(descriptor, 64, 0)
        if head[:6] != b"\x7fELF\x02\x01":
            return []
        (offset,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        table = os.pread(descriptor, size * count, offset)
        for start in range(0, len(table), size):
            kind, _, where = struct.unpack_from("<IIQ", table, start)
            if kind == _PROGRAM_INTERPRETER:
                (length,) = struct.unpack_from("<Q", table, start + 32)
                return [os.fsdecode(os.pread(descriptor, length, where).rstrip(b"\0"))]
        return []
    finally:
        os.close(descriptor)
