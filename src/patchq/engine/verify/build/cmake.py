"""A CMake to evaluate projects with: the package of that name, or the system's."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from patchq.errors import PatchqError

MINIMUM_VERSION = (3, 25)
"""``cmake_language``, ``cmake_path`` and ``foreach(… RANGE)`` as the stand-ins use them."""

STANDINS = Path(__file__).with_name("standins.cmake")

_TIMEOUT = 60
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


@dataclass(frozen=True)
class Evaluation:
    """What a run left: CMake's trace, event by event, and its words where it failed."""

    trace: Sequence[Mapping[str, Any]]
    errors: str


@dataclass(frozen=True)
class CMake:
    """One installed CMake."""

    program: Path
    version: str

    def evaluate(self, variables: Mapping[str, str]) -> Evaluation:
        """Run the stand-ins with ``variables``, in an environment without the user's.

        Raises :class:`PatchqError` where it does not come to an end of its own.
        """
        with tempfile.TemporaryDirectory(prefix="patchq-trace-") as scratch:
            trace = Path(scratch, "trace.json")
            try:
                done = subprocess.run(
                    [
                        str(self.program),
                        *(f"-D{name}:STRING={value}" for name, value in variables.items()),
                        "--trace-expand",
                        "--trace-format=json-v1",
                        f"--trace-redirect={trace}",
                        "-P",
                        str(STANDINS),
                    ],
                    cwd=scratch,
                    env={**_ENVIRONMENT, "HOME": scratch},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_TIMEOUT,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise PatchqError(
                    f"CMake has not evaluated the project in {_TIMEOUT} s",
                    hint="Is there a loop without end in it?",
                ) from error
            except OSError as error:
                raise PatchqError(f"CMake cannot be started: {error}") from error
            if done.returncode < 0:
                raise PatchqError(
                    f"CMake was ended by signal {-done.returncode} while it evaluated the project",
                    hint="Is there enough memory?",
                )
            events = _events(trace)
        errors = done.stderr.decode(errors="replace") if done.returncode else ""
        if done.returncode and not errors.strip():
            errors = f"CMake failed with exit code {done.returncode}"
        return Evaluation([event for event in events if "cmd" in event], errors)


def _events(trace: Path) -> list[dict[str, Any]]:
    try:
        lines = trace.read_text(encoding="utf-8", errors="replace").split("\n")
        return [json.loads(line) for line in lines if line.startswith("{")]
    except (OSError, ValueError) as error:
        raise PatchqError(
            f"CMake has left no whole trace of the evaluation: {error}",
            hint="Is there space left for temporary files?",
        ) from error


@cache
def find_cmake() -> CMake:
    """The CMake to use; raises :class:`PatchqError` where there is none that serves."""
    programs = [path for path in (_packaged(), shutil.which("cmake")) if path]
    versions = []
    for program in programs:
        version = _version(program)
        if version and tuple(map(int, version.split("."))) >= MINIMUM_VERSION:
            return CMake(Path(program), version)
        versions.append(f"{program} is {version or 'not a CMake that runs'}")
    wanted = ".".join(map(str, MINIMUM_VERSION))
    found = "; ".join(versions) or "there is none"
    raise PatchqError(
        f"evaluating the build needs CMake {wanted} or newer: {found}",
        hint="Install it with patchq's extra: pip install 'patchq[verify]'.",
    )


def has_cmake() -> bool:
    """Whether there is a CMake that serves."""
    try:
        find_cmake()
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


def _version(program: str) -> str | None:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    match = re.search(r"cmake version (\d+\.\d+\.\d+)", done.stdout)
    return match[1] if match else None
