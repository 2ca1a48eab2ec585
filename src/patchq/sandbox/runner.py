"""Find the sandbox that this machine has, and run commands in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from patchq.errors import PatchqError, UpstreamError
from patchq.sandbox import landlock, seccomp, wrappers
from patchq.sandbox.command import Command, Confinement, Finished

CHOICE = "PATCHQ_SANDBOX"
"""The environment variable that names the only sandbox to try; ``none`` leaves none."""

_SERVE = """\
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # who is interrupted ends our input
sys.path.insert(0, sys.argv.pop())
from patchq.sandbox.launcher import serve
serve()
"""


class NoSandboxError(UpstreamError):
    """This machine has no sandbox: what upstream wrote cannot be evaluated."""


class Runner:
    """Runs commands, several at a time from several threads, under one kind of confinement."""

    def __init__(self, confinement: Confinement, wrapper: str = ""):
        self.confinement = confinement
        self._wrapper = wrapper
        self._idle: SimpleQueue[_Launcher] = SimpleQueue()
        self._idle.put(_Launcher(confinement, wrapper))
        weakref.finalize(self, _close_all, self._idle)

    def run(self, command: Command) -> Finished:
        """Run ``command`` to its end; raises :class:`PatchqError` if it cannot be started."""
        with self._launcher() as launcher:
            return launcher.run(command)

    @contextmanager
    def _launcher(self) -> Iterator[_Launcher]:
        try:
            launcher = self._idle.get_nowait()
        except Empty:
            launcher = _Launcher(self.confinement, self._wrapper)
        try:
            yield launcher
        finally:
            self._idle.put(launcher)


def open_sandbox() -> Runner:
    """A runner in a sandbox; raises :class:`NoSandboxError` with what was tried."""
    reasons = []
    for confinement in _candidates():
        found = _obstacle(confinement)
        if found is None:
            try:
                return Runner(confinement, _wrapper(confinement))
            except NoSandboxError as error:
                found = error.message
        reasons.append(f"{confinement.value}: {found}")
    raise NoSandboxError("; ".join(reasons) or f"{CHOICE} is none")


def open_unconfined() -> Runner:
    """A runner that only limits what it runs: for what is trusted."""
    return Runner(Confinement.NONE)


def _candidates() -> list[Confinement]:
    asked = os.environ.get(CHOICE)
    if asked == "none":
        return []
    system = (
        [Confinement.SANDBOX_EXEC]
        if sys.platform == "darwin"
        else [Confinement.LANDLOCK, Confinement.BUBBLEWRAP]
    )
    if not asked:
        return system
    found = [confinement for confinement in system if confinement.value == asked]
    if not found:
        known = ", ".join([confinement.value for confinement in system] + ["none"])
        raise PatchqError(f"{CHOICE}={asked}: there is no such sandbox", hint=f"One of: {known}.")
    return found


def _obstacle(confinement: Confinement) -> str | None:
    """Why a kind of confinement cannot be had, as far as that can be told without trying."""
    if confinement is Confinement.SANDBOX_EXEC:
        return None if Path(wrappers.SANDBOX_EXEC).exists() else "not installed"
    if not seccomp.supported():
        return f"the system calls of {os.uname().machine} are not known"
    if confinement is Confinement.BUBBLEWRAP:
        return None if _wrapper(confinement) else "not installed"
    version = landlock.version()
    if version < landlock.MINIMUM_VERSION:
        has = f"has version {version} of it" if version else "has none"
        return f"the kernel {has}, {landlock.MINIMUM_VERSION} (Linux 6.2) is needed"
    return None


def _wrapper(confinement: Confinement) -> str:
    return (shutil.which("bwrap") or "") if confinement is Confinement.BUBBLEWRAP else ""


class _Launcher:
    """One :mod:`patchq.sandbox.launcher`."""

    def __init__(self, confinement: Confinement, wrapper: str):
        package = Path(__file__).parents[2]
        # without the user's modules, settings and site: -I and -S
        arguments = [sys.executable, "-I", "-S", "-c", _SERVE, confinement.value, wrapper]
        try:
            self._process = subprocess.Popen(
                [*arguments, str(package)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd="/",
                env={"LC_ALL": "C.UTF-8"},
            )
        except OSError as error:
            raise PatchqError(f"{sys.executable} cannot be started: {error}") from error
        fault = self._answer()["fault"]
        if fault:
            self.close()
            raise NoSandboxError(fault)

    def run(self, command: Command) -> Finished:
        """Run ``command`` to its end."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # its answer is missing too
            self._process.stdin.write(f"{json.dumps(command.facts())}\n".encode())
            self._process.stdin.flush()
        answer = self._answer()
        if "fault" in answer:
            raise PatchqError(f"{command.arguments[0]} cannot be started: {answer['fault']}")
        return Finished(**answer)

    def close(self) -> None:
        """End it, and what it runs."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PatchqError(
                "the process that starts sandboxed programs has ended",
                hint="Is there enough memory?",
            )
        answer: dict[str, Any] = json.loads(line)
        return answer


def _close_all(idle: SimpleQueue[_Launcher]) -> None:
    with suppress(Empty):
        while True:
            idle.get_nowait().close()
