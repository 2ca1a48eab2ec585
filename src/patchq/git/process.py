"""Run git so that nothing of the user's configuration or environment changes a result.

Every ``GIT_*`` variable is taken out of the environment when the first :class:`Git` is made (a
``GIT_DIR`` or ``GIT_EXTERNAL_DIFF`` left by a hook would reach each child otherwise); what the
user had stays available through :func:`user_environment` for fetching, which needs their
credentials and proxies.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from patchq.errors import PatchqError, UnavailableError, UpstreamError

MINIMUM_VERSION = (2, 39)
"""``git merge-tree --stdin`` came with 2.39."""

IDENTITY = "patchq"
EMAIL = "patchq@localhost"

_PINNED_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": IDENTITY,
    "GIT_AUTHOR_EMAIL": EMAIL,
    "GIT_COMMITTER_NAME": IDENTITY,
    "GIT_COMMITTER_EMAIL": EMAIL,
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "TZ": "UTC",
}

# core.attributesFile defaults to a file under $XDG_CONFIG_HOME that GIT_CONFIG_GLOBAL does not
# silence; rename limits differ between versions of git.
_PINNED_OPTIONS = (
    "-c",
    f"core.attributesFile={os.devnull}",
    "-c",
    f"core.excludesFile={os.devnull}",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "core.quotePath=true",
    "-c",
    "merge.renameLimit=0",
    "-c",
    "merge.renames=true",
    "-c",
    "merge.directoryRenames=false",
    "-c",
    "merge.conflictStyle=merge",
    "-c",
    "diff.renameLimit=0",
    "-c",
    "gc.auto=0",
)


@cache
def user_environment() -> Mapping[str, str]:
    """The user's own ``GIT_*`` variables, removed from this process on the first call."""
    return {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("GIT_")}


@cache
def load_gitpython() -> None:
    """Import GitPython without the user's configuration and ``GIT_*`` variables.

    It runs git once when it is imported, and takes any failure (a broken ``~/.gitconfig``) for a
    missing git. All of it is a tenth of a second: imported where it is used.
    """
    user_environment()
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    try:
        import git as _  # noqa: F401
    except ModuleNotFoundError:
        raise
    except ImportError as error:  # git did not run, or was killed
        raise PatchqError(
            "`git version` failed, so git cannot be used", hint="See that it runs; then try again."
        ) from error
    finally:
        del os.environ["GIT_CONFIG_GLOBAL"], os.environ["GIT_CONFIG_NOSYSTEM"]


@dataclass(frozen=True)
class Result:
    """What a git process left: exit status, and both streams as bytes."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def reason(self) -> str:
        """The first error that git wrote on stderr, else its last line; without ``fatal:``.

        Behind an error there may be more: what follows of it, and advice.
        """
        if self.status < 0:
            return f"ended by signal {-self.status}"
        lines = self.stderr.decode(errors="replace").strip().splitlines()
        errors = [line for line in lines if line.startswith(("fatal: ", "error: "))]
        told = (errors or lines[-1:])[:1]
        return re.sub(r"^(fatal|error): ", "", told[0]) if told else f"exit status {self.status}"


class HeldObjects(Protocol):
    """Objects in memory."""

    def flush(self) -> None:
        """Have all of them on disk."""


FetchMissing = Callable[[bytes], bool]
"""Told what git said of missing objects; whether they are here now, so that asking again helps."""


_observers: list[Callable[[str, float], None]] = []


def observe(observer: Callable[[str, float], None]) -> None:
    """Have ``observer`` told each git command that ends, and how many seconds it took."""
    _observers.append(observer)


class GitFailedError(UpstreamError):
    """A git process ended with a status its caller did not allow for."""

    def __init__(self, command: str, result: Result, hint: str | None = None):
        super().__init__(f"git {command}: {result.reason}", hint=hint)
        self.result = result


class GitEndedError(GitFailedError, UnavailableError):
    """Somebody ended a git process: the kernel for want of memory, or the user."""

    def __init__(self, command: str, result: Result):
        super().__init__(command, result, "Was there not enough memory? Run the command again.")


class ReaderFailedError(GitFailedError, UnavailableError):
    """git can read no object of the store."""


_BY_OTHERS = {-number for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}


class Git:
    """git with a pinned environment, on one repository (or none).

    ``directory`` is the git directory, given as ``GIT_DIR`` so that no discovery (and so no
    ownership check or config of a surrounding repository) takes place. New objects go to
    ``scratch`` where one is given; its alternates must then name the repository's own objects.
    What a process says on stderr goes to ``fetch_missing`` first; if it helped, the process is run
    again.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        scratch: Path | None = None,
        fetch_missing: FetchMissing | None = None,
    ):
        user_environment()
        self.held: HeldObjects | None = None
        """What is written to ``scratch`` before a process starts."""
        self._fetch_missing = fetch_missing
        self.directory = directory = directory.absolute() if directory else None
        self.environment = dict(_PINNED_ENVIRONMENT)
        if directory is not None:
            self.environment["GIT_DIR"] = str(directory)
        if scratch is not None:
            self.environment["GIT_OBJECT_DIRECTORY"] = str(scratch)

    def go_apart(self, scratch: Path) -> None:
        """Have new objects go to ``scratch`` from now on, and fetch nothing."""
        self.environment["GIT_OBJECT_DIRECTORY"] = str(scratch)
        self._fetch_missing = None

    def start(
        self, args: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start ``git args`` with pipes on all three streams."""
        if self.held is not None:
            self.held.flush()
        return self.start_reading(args, environment)

    def start_reading(
        self,
        args: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        errors: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """:meth:`start` for what needs no object that is still in memory."""
        try:
            return subprocess.Popen(
                ("git", *_PINNED_OPTIONS, *args),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self._where,
                env={**os.environ, **self.environment, **(environment or {})},
            )
        except FileNotFoundError as error:
            raise PatchqError("git is not installed, or not on the PATH") from error

    @property
    def _where(self) -> Path | None:
        """The working directory: git starts in none that was deleted meanwhile."""
        there = self.directory is not None and os.access(self.directory, os.X_OK)
        return self.directory if there else None

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        allow: Sequence[int] = (0,),
    ) -> Result:
        """Run ``git args`` to its end.

        Raises :class:`GitFailedError` if the exit status is not in ``allow``.
        """
        result = self._end(args, stdin, environment)
        while (
            result.stderr and self._fetch_missing is not None and self._fetch_missing(result.stderr)
        ):
            result = self._end(args, stdin, environment)
        return _checked(args, result, allow)

    @contextmanager
    def running(
        self, *args: str, environment: Mapping[str, str] | None = None
    ) -> Iterator[Callable[[], Result]]:
        """``git args`` beside us: what is called waits for its end, and raises as :meth:`run`.

        It must not read objects that may be missing, nor write much to its streams. It is ended
        with the context.
        """
        begun = time.perf_counter()
        process = self.start(args, environment)

        def end() -> Result:
            out, err = process.communicate()
            _observe(args, begun)
            return _checked(args, Result(process.returncode, out, err), (0,))

        try:
            yield end
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def _end(
        self, args: Sequence[str], stdin: bytes, environment: Mapping[str, str] | None
    ) -> Result:
        begun = time.perf_counter()
        process = self.start(args, environment)
        try:
            out, err = process.communicate(stdin)
        except BaseException:
            process.kill()  # it would go on for nobody
            raise
        _observe(args, begun)
        return Result(process.returncode, out, err)

    def text(self, *args: str, stdin: bytes = b"") -> str:
        """Standard output of ``git args`` as text, without its last newline."""
        return self.run(*args, stdin=stdin).stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def _checked(args: Sequence[str], result: Result, allow: Sequence[int]) -> Result:
    if result.status in _BY_OTHERS:
        raise GitEndedError(args[0], result)
    if result.status not in allow:
        raise GitFailedError(args[0], result)
    return result


def _observe(args: Sequence[str], begun: float) -> None:
    for observer in _observers:
        observer(" ".join(args), time.perf_counter() - begun)


@cache
def require_version() -> tuple[int, ...]:
    """git's version; raises if it is older than :data:`MINIMUM_VERSION`."""
    text = Git().text("version")
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    found = tuple(int(part) for part in match.groups(default="0")) if match else (0,)
    if found < MINIMUM_VERSION:
        wanted = ".".join(map(str, MINIMUM_VERSION))
        raise PatchqError(
            f"git {wanted} or newer is needed; this is {text!r}",
            hint="git merge-tree --stdin, which patchq merges with, came with 2.39.",
        )
    return found
