"""Helpers that judge columns of the matrix beside us, each in a process of its own.

A helper only fills the kept verdicts, under content and checked when read; the matrix is then made
as it would be without any. Whatever goes wrong in one is no matter: its column is judged here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from patchq.engine.workspace.project import Project
from patchq.errors import PatchqError
from patchq.git.lender import find_lender
from patchq.git.store import open_store
from patchq.model.workspace import Workspace

_PATIENCE = 1.0
"""Seconds of processor: what takes no more in all is kept already, and needs no help."""


def _spent() -> float:
    """Seconds of processor, also of git: others on the machine do not count."""
    return sum(os.times()[:4])


@dataclass
class Helpers:
    """Up to ``jobs - 1`` processes for ``work``: pairs of a series and the base to judge it on.

    They begin at its end while we begin at its start; at once, or (``at_once`` false) when it shows
    that there is enough to do. A context manager: none is left behind.
    """

    project: Project
    work: Sequence[tuple[str, str]]
    jobs: int
    at_once: bool = False
    _begun: float = field(default_factory=_spent)
    _running: dict[tuple[str, str], subprocess.Popen[bytes]] = field(default_factory=dict)
    _taken: set[tuple[str, str]] = field(default_factory=set)

    def __enter__(self) -> Helpers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()

    @property
    def free(self) -> int:
        """How many processes may judge now, this one included."""
        return max(1, self.jobs - self._busy)

    @property
    def _busy(self) -> int:
        return sum(process.poll() is None for process in self._running.values())

    def take(self, item: tuple[str, str]) -> None:
        """We are about to judge ``item``: if a helper is at it, wait until it is done."""
        self._taken.add(item)
        self.start()
        process = self._running.get(item)
        while process is not None and process.poll() is None:
            time.sleep(0.02)
            self.start()

    def start(self) -> None:
        """Give work to those that are free."""
        if not self.at_once and _spent() - self._begun < _PATIENCE:
            return
        busy = self._busy
        for item in reversed(self.work):
            if busy >= self.jobs - 1:
                return
            if item not in self._taken:
                self._taken.add(item)
                self._running[item] = self._process(*item)
                busy += 1

    def _process(self, source: str, onto: str) -> subprocess.Popen[bytes]:
        lender = self.project.store.lender
        place = [str(lender.directory)] if lender else []
        root = self.project.workspace.root
        return subprocess.Popen(
            [sys.executable, "-m", __name__, str(root), source, onto, *place],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def help_out(root: Path, source: str, onto: str, lender: Path | None) -> None:
    """Judge the series on ``source`` on ``onto``, for the kept verdicts."""
    from patchq.engine.rebase.rebase import judge_series

    workspace = Workspace(root)
    store = open_store(workspace.store_path, find_lender(lender) if lender else None)
    project = Project(workspace, workspace.lock(), workspace.settings(), store)
    judge_series(project, source, onto, jobs=1)


if __name__ == "__main__":
    with suppress(PatchqError, KeyboardInterrupt):
        directory, series, base, *lent = sys.argv[1:]
        help_out(Path(directory), series, base, Path(lent[0]) if lent else None)
