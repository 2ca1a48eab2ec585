"""How far long work is: what, n of m, time left; on one line of a terminal that is gone after."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from patchq.report.terminal import Terminal


class Bar:
    """The line; :meth:`pause` leaves the terminal to somebody else's progress."""

    def __init__(self, progress: Progress, what: str):
        self._progress = progress
        self._what = what
        self._process = os.getpid()
        self._task = progress.add_task(what, total=None, count="")

    def show(self, done: int, total: int, name: str) -> None:
        """Say that ``done`` of ``total`` are done, and what ``name`` the last one (or next) has."""
        if os.getpid() != self._process:
            return  # a helper that was forked off: who holds the locks of the line stayed behind
        self._progress.update(
            self._task,
            completed=done,
            total=total or None,
            count=f"{done} of {total}" if total else "",
            description=f"{self._what}: {name}" if name else self._what,
        )

    def pause(self) -> None:
        """Take the line away."""
        self._progress.stop()

    def resume(self) -> None:
        """Show it again."""
        self._progress.start()


class _Time(ProgressColumn):
    """The time left where it can be told, else the time it has taken."""

    max_refresh = 0.5

    def __init__(self) -> None:
        super().__init__()
        self._left = TimeRemainingColumn()
        self._taken = TimeElapsedColumn()

    def render(self, task: Task) -> Text:
        if task.total is not None and task.time_remaining is not None:
            return self._left.render(task) + Text(" left")
        return self._taken.render(task)


@contextmanager
def showing(what: str) -> Iterator[Bar]:
    """Show ``what`` on stderr until the end."""
    text = TextColumn(
        "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")
    )
    columns = (SpinnerColumn(), text, TextColumn("{task.fields[count]}"), _Time())
    # what the line is made of is to be obeyed: past a stream that shows it, also while others
    # who write to stderr are led to the console, so that the line stays the last
    console = Terminal(file=getattr(sys.stderr, "rich_proxied_file", sys.stderr))
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bar(progress, what)
