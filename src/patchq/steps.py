"""Long loops say how far they are, to whoever shows it; where nobody does, they are plain loops."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

_Item = TypeVar("_Item")

Listener = Callable[[int, int, str], None]
"""Called with how many items are done, of how many, and what is done with each."""

_PATIENCE = 1.0
"""Seconds of a loop before it is worth a word."""

_PAUSE = 0.2
_listeners: list[Listener] = []
_subjects: list[str] = []


def heard_by(listener: Listener) -> AbstractContextManager[None]:
    """Have ``listener`` told of all loops meanwhile, and nobody else."""
    return _with(_listeners, listener)


def about(subject: str) -> AbstractContextManager[None]:
    """Have what is told meanwhile begin with ``subject``."""
    return _with(_subjects, subject)


@contextmanager
def _with(stack: list[_Item], item: _Item) -> Iterator[None]:
    stack.append(item)
    try:
        yield
    finally:
        stack.pop()


def counted(items: Sequence[_Item], what: str) -> Iterator[_Item]:
    """``items`` one by one; ``what`` is done with each."""
    due = time.monotonic() + _PATIENCE
    for number, item in enumerate(items):
        if _listeners and time.monotonic() >= due:
            due = time.monotonic() + _PAUSE
            _listeners[-1](number, len(items), ": ".join((*_subjects[-1:], what)))
        yield item
