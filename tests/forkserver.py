"""The real command line, many times and fast: one process imports patchq, and forks for each call.

Started as a program it is the server on a Unix socket. Each connection is a request of its own:
arguments, directory, environment and standard input come in, exit status and both streams go out.
A request may ask for a :class:`Harm` that befalls the command.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

_RELEASES = {"os.remove", "os.rmdir", "os.rename"}  # they need no space
_CHANGES = {*_RELEASES, "os.mkdir", "os.truncate", "os.link", "os.symlink", "os.chmod"}
_GIT_CHANGES = {"worktree", "sparse-checkout", "read-tree", "update-index", "index-pack"}
_LENGTH = 8


@dataclass(frozen=True)
class Harm:
    """What befalls a command at the ``at``-th step in which it changes files; counted from 1.

    ``kind`` is the name of a signal, such as KILL, which comes just before the step, or of an
    error, such as ENOSPC, with which that step and all later ones fail. ``git`` kills the
    ``at``-th git as soon as it has been started, ``files`` lets only ``at`` files be open, and
    with ``reader`` nobody reads descriptor ``at``.
    """

    kind: str
    at: int


def run(
    args: Sequence[str],
    cwd: Path,
    stdin: str,
    environment: Mapping[str, str],
    harm: Harm | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``patchq args`` in a fork of this process's server, which has imported all of patchq.

    If something is to befall it, the last line on stderr says how many steps there were.
    """
    request = {
        "args": list(args),
        "cwd": str(cwd),
        "stdin": stdin,
        "env": dict(environment),
        "harm": asdict(harm) if harm else None,
    }
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(_server())
        _send(connection, json.dumps(request).encode())
        code = int(_receive(connection))
        out, err = (
            _receive(connection).decode("utf-8", "surrogateescape").replace("\r\n", "\n")
            for _ in range(2)
        )
    return subprocess.CompletedProcess(list(args), code, out, err)


@cache
def _server() -> str:
    """The address of the server, which ends with this process."""
    directory = tempfile.mkdtemp(prefix="patchq-tests-")
    address = f"{directory}/socket"
    server = subprocess.Popen(
        [sys.executable, __file__, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            "LC_ALL": "C.UTF-8",
        },
    )
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"

    def end() -> None:
        server.kill()
        server.communicate()
        Path(address).unlink()
        Path(directory).rmdir()

    atexit.register(end)
    return address


def steps(done: subprocess.CompletedProcess[str]) -> int:
    """In how many steps a run changed the workspace."""
    return int(done.stderr.splitlines()[-1].removeprefix("steps: "))


def _send(connection: socket.socket, content: bytes) -> None:
    connection.sendall(len(content).to_bytes(_LENGTH, "big") + content)


def _receive(connection: socket.socket) -> bytes:
    length = int.from_bytes(_exactly(connection, _LENGTH), "big")
    return _exactly(connection, length)


def _exactly(connection: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        part = connection.recv(min(length, 1 << 20))
        assert part, "the server of the tests is gone"
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


class _Harmer:
    """Does a :class:`Harm` to this process; as an audit hook it sees the steps."""

    def __init__(self, root: str, harm: Harm):
        self._root = root
        self._harm = harm
        self._error = getattr(errno, harm.kind, None)
        self.count = 0

    def begin(self) -> None:
        """From now on."""
        if self._harm.kind == "git":
            self._count_git()
        elif self._harm.kind == "files":
            limit = self._harm.at
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        elif self._harm.kind == "reader":
            reading, writing = os.pipe()
            os.close(reading)
            os.dup2(writing, self._harm.at)
            os.close(writing)
        else:
            if self._error is None and self._harm.kind != "KILL":
                # ignored in what runs behind nohup or a shell's ``&``
                signal.signal(getattr(signal, f"SIG{self._harm.kind}"), signal.SIG_DFL)
            sys.addaudithook(self._hook)

    def _count_git(self) -> None:
        started = subprocess.Popen.__init__

        def start(process: Any, command: Any, *args: Any, **options: Any) -> None:
            started(process, command, *args, **options)
            if Path(str(command[0])).name == "git":
                self.count += 1
                if self.count == self._harm.at:
                    process.kill()

        subprocess.Popen.__init__ = start  # type: ignore[assignment,method-assign]

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._changes(event, args):
            return
        self.count += 1
        if self._error is not None and self.count >= self._harm.at > 0:
            raise OSError(self._error, os.strerror(self._error), str(args[0]))
        if self._error is None and self.count == self._harm.at:
            os.kill(os.getpid(), getattr(signal, f"SIG{self._harm.kind}"))

    def _changes(self, event: str, args: tuple[Any, ...]) -> bool:
        if event == "subprocess.Popen":
            return self._error is None and not _GIT_CHANGES.isdisjoint(map(str, args[1]))
        if event == "open":
            path, mode, flags = args
            writes = bool(flags & (os.O_WRONLY | os.O_RDWR)) or bool(
                mode and set(mode) & set("wax+")
            )
            return writes and self._inside(path)
        if event in _RELEASES and self._harm.kind == "ENOSPC":
            return False
        return event in _CHANGES and self._inside(args[0])

    def _inside(self, path: object) -> bool:
        name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        if self._error is not None:  # a disk is full for caches and temporary files too
            return name.startswith("/") and not name.startswith(("/dev/", "/proc/"))
        caches = ("/.patchq/cache/", "/.patchq/lock")
        return name.startswith(self._root) and not any(cache in name for cache in caches)


def _serve(address: str) -> None:
    package = import_module("patchq")
    for module in walk_packages(package.__path__, "patchq."):
        import_module(module.name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        # standard input ends with the process that started us
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            connection, _ = listening.accept()
            if not os.fork():
                listening.close()
                _answer(connection)
            connection.close()
            while _reap():
                pass


def _reap() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] > 0
    except ChildProcessError:
        return False


def _answer(connection: socket.socket) -> None:
    """Run what was asked for in a child, so that its death by a signal is told too."""
    request = json.loads(_receive(connection))
    with ExitStack() as files:
        given, out, err = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(request["stdin"].encode("utf-8", "surrogateescape"))
        given.seek(0)
        child = os.fork()
        if not child:
            connection.close()
            for number, file in enumerate((given, out, err)):
                os.dup2(file.fileno(), number)
            _run(request)
        _, status = os.waitpid(child, 0)
        _send(connection, str(os.waitstatus_to_exitcode(status)).encode())
        for file in (out, err):
            file.seek(0)
            _send(connection, file.read())
    os._exit(0)


def _run(request: dict[str, Any]) -> None:
    from patchq.__main__ import main

    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.argv = ["patchq", *request["args"]]
    harm = request["harm"] and Harm(**request["harm"])
    harmer = harm and _Harmer(request["cwd"], harm)
    if harmer:
        harmer.begin()
    try:
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    if harmer:
        sys.stderr.write(f"steps: {harmer.count}\n")
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
