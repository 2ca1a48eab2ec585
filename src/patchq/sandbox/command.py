"""What is asked of a sandbox, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any


class Confinement(Enum):
    """What holds a program back."""

    LANDLOCK = "landlock"
    BUBBLEWRAP = "bubblewrap"
    SANDBOX_EXEC = "sandbox-exec"
    NONE = "none"  # only the limits and the environment: for a program that is trusted


@dataclass(frozen=True)
class Limits:
    """Seconds of time, and bytes of memory and of each file that is written."""

    seconds: float = 60
    memory: int = 4 << 30
    output: int = 64 << 20


@dataclass(frozen=True)
class Command:
    """A program, by its absolute path, with all that it may touch.

    It may read ``reads`` (files, and directories with all below them), the system's libraries and
    its own file; write ``writes``, files that are there already; and execute itself. Its standard
    input is empty, its output goes to the files ``stdout`` and ``stderr``.
    """

    arguments: tuple[str, ...]
    directory: str
    stdout: str
    stderr: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    def facts(self) -> dict[str, Any]:
        """The command as JSON takes it."""
        return asdict(self)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Command:
        """The command that :meth:`facts` gave, after its way through JSON."""
        return cls(
            arguments=tuple(facts["arguments"]),
            directory=facts["directory"],
            stdout=facts["stdout"],
            stderr=facts["stderr"],
            reads=tuple(facts["reads"]),
            writes=tuple(facts["writes"]),
            environment=facts["environment"],
            limits=Limits(**facts["limits"]),
        )


@dataclass(frozen=True)
class Finished:
    """How a command ended: its exit code, negative for a signal; ``late`` if time ran out."""

    code: int
    late: bool = False


LIBRARIES = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
)
"""Where a system has its libraries."""
