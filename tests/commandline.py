"""The real command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import patchq

SOURCES = str(Path(patchq.__file__).parents[1])


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
    ) -> subprocess.CompletedProcess[str]:
        """Run ``patchq args`` in ``cwd`` with ``env`` added; streams as text, any exit status."""
        return subprocess.run(
            [sys.executable, "-m", "patchq", *map(str, args)],
            cwd=cwd,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "PYTHONPATH": SOURCES,
                "LC_ALL": "C.UTF-8",
                **(env or {}),
            },
            check=False,
        )
