"""The real command line: in a fork of a process that has imported patchq, or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import forkserver
import hints
from forkserver import Harm

import patchq

SOURCES = str(Path(patchq.__file__).parents[1])

_READ_AT_START = {"PATH", "PYTHONPATH", "LC_ALL"}
"""What Python and the modules it imports take from the environment once."""


@dataclass(frozen=True)
class CommandLine:
    """``patchq(…)`` with an empty home directory and none of the tester's environment."""

    home: Path

    def __call__(
        self,
        *args: str | Path,
        cwd: Path,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        fresh: bool = False,
        harm: Harm | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``patchq args`` in ``cwd`` with ``env`` added; streams as text, any exit status.

        ``fresh`` starts an interpreter for it. For ``harm`` see :mod:`forkserver`.
        """
        words = [str(arg) for arg in args]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": SOURCES,
            "LC_ALL": "C.UTF-8",
            **(env or {}),
        }
        if not fresh and _READ_AT_START.isdisjoint(env or {}):
            done = forkserver.run(words, cwd, stdin, environment, harm)
        else:
            assert not harm
            done = subprocess.run(
                [sys.executable, "-m", "patchq", *words],
                cwd=cwd,
                input=stdin,
                capture_output=True,
                encoding="utf-8",
                errors="surrogateescape",
                env=environment,
                check=False,
            )
        for hint in hints.hints_in(done.stderr):
            wrong = list(hints.faults(hint, hints.named_command(words)))
            assert not wrong, f"`patchq {' '.join(words)}` has no {', '.join(wrong)}: {hint}"
        return done
