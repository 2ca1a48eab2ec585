"""A CMake to evaluate projects with: the package of that name, or the system's."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from patchq.errors import PatchqError
from patchq.kept_answers import KeptAnswers, key_of
from patchq.sandbox.command import Command, Finished, Limits
from patchq.sandbox.runner import Runner

MINIMUM_VERSION = (3, 25)
"""``cmake_language``, ``cmake_path`` and ``foreach(… RANGE)`` as the stand-ins use them."""

STANDINS = Path(__file__).with_name("standins.cmake")
_INQUIRY = Path(__file__).with_name("inquiry.cmake")

LIMITS = Limits(seconds=60, memory=2 << 30, output=128 << 20)

# The same on every machine: nothing of it may reach a result. A time of the day is 1970's.
_ENVIRONMENT = {
    "PATH": "/nowhere",
    "HOME": "/nowhere",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "SOURCE_DATE_EPOCH": "0",
}


@dataclass(frozen=True)
class Evaluation:
    """What a run left: CMake's trace, event by event, and its words where it failed."""

    trace: Sequence[Mapping[str, Any]]
    errors: str


@dataclass(frozen=True)
class CMake:
    """One installed CMake: its program, the directory of its own modules, its commands."""

    program: Path
    version: str
    root: Path
    commands: tuple[str, ...] = ()

    def evaluate(
        self, variables: Mapping[str, str], runner: Runner, reads: Sequence[Path] = ()
    ) -> Evaluation:
        """Run the stand-ins with ``variables``; the project's files are among ``reads``.

        Raises :class:`PatchqError` if it does not come to an end of its own.
        """
        with tempfile.TemporaryDirectory(prefix="patchq-trace-") as holder:
            scratch = Path(holder).resolve()
            trace, said, errors = (scratch / name for name in ("trace", "stdout", "stderr"))
            trace.touch()
            finished = runner.run(
                Command(
                    arguments=(
                        str(self.program),
                        *(f"-D{name}:STRING={value}" for name, value in variables.items()),
                        "--trace-expand",
                        "--trace-format=json-v1",
                        f"--trace-redirect={trace}",
                        "-P",
                        str(STANDINS),
                    ),
                    directory=str(scratch),
                    stdout=str(said),
                    stderr=str(errors),
                    reads=tuple(str(path) for path in (STANDINS, self.root, *reads)),
                    writes=(str(trace),),
                    environment=_ENVIRONMENT,
                    limits=LIMITS,
                )
            )
            _check(finished)
            events = _events(trace)
            words = errors.read_text(encoding="utf-8", errors="replace") if finished.code else ""
        if finished.code and not words.strip():
            words = f"CMake failed with exit code {finished.code}"
        return Evaluation([event for event in events if "cmd" in event], words)


def _check(finished: Finished) -> None:
    """Raise :class:`PatchqError` if a limit ended it, or a signal."""
    if finished.late or finished.code == -signal.SIGXCPU:
        raise PatchqError(
            f"CMake has not evaluated the project in {LIMITS.seconds:.0f} s",
            hint="Is there a loop without end in it?",
        )
    if finished.code == -signal.SIGXFSZ:
        raise PatchqError(
            f"CMake wrote more than {LIMITS.output >> 20} MiB while it evaluated the project",
            hint="Is there a loop without end in it?",
        )
    if finished.code < 0:
        raise PatchqError(
            f"CMake was ended by signal {-finished.code} while it evaluated the project",
            hint=f"It has {LIMITS.memory >> 30} GiB of memory: is there a recursion without end?",
        )


def _events(trace: Path) -> list[dict[str, Any]]:
    try:
        *lines, rest = trace.read_text(encoding="utf-8", errors="replace").split("\n")
        if rest or not lines:
            raise ValueError("it is cut off")
        return [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise PatchqError(
            f"CMake left no complete trace of the evaluation: {error}",
            hint="Is there space left for temporary files?",
        ) from error


@cache
def find_cmake(cache: Path | None = None) -> CMake:
    """The CMake to use; raises :class:`PatchqError` if there is none that serves.

    What a program said of itself is kept below ``cache``, as long as it is the same file.
    """
    programs = [path for path in (_packaged(), shutil.which("cmake")) if path]
    unfit = []
    for program in programs:
        found = _known(Path(program), cache)
        if found and tuple(map(int, found.version.split("."))) >= MINIMUM_VERSION:
            return found
        unfit.append(f"{program} is {found.version if found else 'not a CMake that runs'}")
    wanted = ".".join(map(str, MINIMUM_VERSION))
    raise PatchqError(
        f"evaluating the build needs CMake {wanted} or newer: "
        f"{'; '.join(unfit) or 'there is none'}",
        hint="Install it: pip install 'cmake>=3.25', or with the system's packages.",
    )


def has_cmake(cache: Path | None = None) -> bool:
    """Whether there is a CMake that serves; see :func:`find_cmake`."""
    try:
        find_cmake(cache)
    except PatchqError:
        return False
    return True


def _packaged() -> str | None:
    """The program of PyPI's package, which comes with a slow script around it."""
    spec = find_spec("cmake")
    for directory in (spec and spec.submodule_search_locations) or ():
        program = Path(directory, "data", "bin", "cmake")
        if program.is_file():
            return str(program)
    return None


def _known(program: Path, cache: Path | None) -> CMake | None:
    """What ``program`` says of itself, asked once for each file unless it is a script."""
    try:
        state = program.stat()
    except OSError:
        return None
    if cache is None:
        return _inquire(program)
    kept = KeptAnswers(cache / "cmake", "patchq.cmake/1", _read, _write)
    key = key_of([str(program), state.st_ino, state.st_size, state.st_mtime_ns])
    found = kept.get(key)
    if found is None:
        found = _inquire(program)
        if found and found.program == program.resolve():  # a script may start another one next time
            kept.put(key, found)
    return found


def _read(kept: Mapping[str, Any]) -> CMake:
    program, root = Path(kept["program"]), Path(kept["root"])
    return CMake(program, kept["version"], root, tuple(kept["commands"]))


def _write(found: CMake) -> dict[str, object]:
    return {
        "program": str(found.program),
        "version": found.version,
        "root": str(found.root),
        "commands": found.commands,
    }


def _inquire(program: Path) -> CMake | None:
    """What a CMake, or a script around one, says of itself; None if it says nothing."""
    try:
        done = subprocess.run(
            [program, "-P", str(_INQUIRY)], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    words = done.stderr.split("\n")
    if done.returncode or len(words) != 5:
        return None
    version, path, root, commands, _ = words
    return CMake(Path(path).resolve(), version, Path(root).resolve(), tuple(commands.split(";")))
