"""The real command line, many times and fast: one process imports patchq, and forks for each call.

Started as a program it is the server: it reads a request a line, runs ``patchq.cli.main.run`` in a
child, and answers with the child's exit status. A request may ask that the child kills itself with
SIGKILL just before the n-th step in which it changes the workspace.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from commandline import SOURCES, CommandLine

_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}
_GIT_CHANGES = {"worktree", "sparse-checkout", "read-tree", "update-index", "index-pack"}


class ForkServer(CommandLine):
    """Runs patchq as :class:`CommandLine` does."""

    def __init__(self, home: Path):
        super().__init__(home)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": SOURCES,
            "LC_ALL": "C.UTF-8",
        }
        server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        object.__setattr__(self, "_server", server)

    def __call__(
        self,
        *args: str | Path,
        cwd: Path,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        kill_at: int = 0,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``patchq args``; with ``kill_at`` the child kills itself before that step.

        With a ``kill_at`` of -1 the last line on stderr says how many steps there are.
        """
        assert not stdin
        assert not env
        server: subprocess.Popen[bytes] = object.__getattribute__(self, "_server")
        assert server.stdin
        assert server.stdout
        with tempfile.TemporaryDirectory() as scratch:
            words = [str(arg) for arg in args]
            request = {
                "args": words,
                "cwd": str(cwd),
                "kill_at": kill_at,
                "out": f"{scratch}/out",
                "err": f"{scratch}/err",
            }
            server.stdin.write(json.dumps(request).encode() + b"\n")
            server.stdin.flush()
            code = int(server.stdout.readline())
            out, err = (
                Path(scratch, name).read_text(encoding="utf-8", errors="surrogateescape")
                for name in ("out", "err")
            )
        return subprocess.CompletedProcess(words, code, out, err)

    def close(self) -> None:
        """End the server."""
        server: subprocess.Popen[bytes] = object.__getattribute__(self, "_server")
        server.communicate()


def steps(done: subprocess.CompletedProcess[str]) -> int:
    """In how many steps a run changed the workspace."""
    return int(done.stderr.splitlines()[-1].removeprefix("steps: "))


class _Killer:
    """An audit hook that counts the steps that change files below ``root``."""

    def __init__(self, root: str, kill_at: int):
        self._root = root
        self._kill_at = kill_at
        self.count = 0

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self._changes(event, args):
            self.count += 1
            if self.count == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    def _changes(self, event: str, args: tuple[Any, ...]) -> bool:
        if event == "subprocess.Popen":
            return not _GIT_CHANGES.isdisjoint(map(str, args[1]))
        if event == "open":
            path, mode, flags = args
            writes = bool(flags & (os.O_WRONLY | os.O_RDWR)) or bool(
                mode and set(mode) & set("wax+")
            )
            return writes and self._inside(path)
        return event in _CHANGES and self._inside(args[0])

    def _inside(self, path: object) -> bool:
        name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        caches = ("/.patchq/cache/", "/.patchq/lock")
        return name.startswith(self._root) and not any(cache in name for cache in caches)


def _serve() -> None:
    for name in ("cli.main", "engine.rebase.session", "engine.status", "report.statusview"):
        import_module(f"patchq.{name}")
    for line in sys.stdin.buffer:
        child = os.fork()
        if not child:
            _run(json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _run(request: dict[str, Any]) -> None:
    from patchq.cli.main import run

    os.chdir(request["cwd"])
    for number, name in ((0, os.devnull), (1, request["out"]), (2, request["err"])):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o644), number)
    killer = _Killer(request["cwd"], request["kill_at"])
    sys.addaudithook(killer)
    code = run(request["args"])
    sys.stdout.flush()
    if request["kill_at"] < 0:
        sys.stderr.write(f"steps: {killer.count}\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve()
