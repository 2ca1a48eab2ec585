"""Work in several processes that share all that was found before: forked, and each at a part.

What one finds it leaves in a cache, by content and checked when it is read. Whatever goes wrong in
one is no matter: what it did not come to is found here.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from functools import partial
from struct import Struct
from threading import current_thread, main_thread

from patchq.git.store import Store

_PART = Struct("I")
_ROUNDS = 3
"""So many times a process takes a part before those that are left are small."""


def cores() -> int:
    """How many processes may run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def shares(groups: Mapping[tuple[str, ...], int], jobs: int) -> list[frozenset[str]]:
    """All of ``groups``, with what each may cost, in parts for ``jobs`` processes that take one
    after another.

    They get smaller, so that nobody has to wait for long at the end.
    """
    left = sorted(groups, key=lambda group: groups[group])
    cost = sum(groups.values())
    parts = []
    while left:
        most = cost / (_ROUNDS * jobs)
        part, spent = set[str](), 0
        while left and (not part or spent + groups[left[-1]] <= most):
            spent += groups[left[-1]]
            part.update(left.pop())
        cost -= spent
        parts.append(frozenset(part))
    return parts


def share(store: Store, work: Callable[[int], None], parts: int, jobs: int) -> None:
    """Do ``work`` for the numbers below ``parts``, in this process and ``jobs - 1`` others.

    Nothing is done where a process cannot be forked off safely. None is left behind.
    """
    if not _can_fork():
        return
    taking, giving = os.pipe()
    os.write(giving, b"".join(map(_PART.pack, range(parts))))  # who reads a number does that part
    os.close(giving)
    helpers: list[int] = []
    try:
        for number in range(1, jobs):
            helpers.append(_fork(partial(_help, store, f"helper-{number}", taking, work)))
        _take(taking, work)
        while helpers:
            os.waitpid(helpers[-1], 0)
            helpers.pop()
    finally:
        os.close(taking)
        for process in helpers:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _can_fork() -> bool:
    # elsewhere than on Linux what a process has loaded may not survive it; another thread may be
    # anybody's, and holds locks
    return hasattr(os, "sched_getaffinity") and current_thread() is main_thread()


def _take(taking: int, work: Callable[[int], None]) -> None:
    while number := os.read(taking, _PART.size):
        work(*_PART.unpack(number))


def _fork(work: Callable[[], None]) -> int:
    """The id of a process that does ``work`` and nothing else, in silence."""
    process = os.fork()
    if process:
        return process
    try:
        work()
    finally:
        os._exit(0)


def _help(store: Store, name: str, taking: int, work: Callable[[int], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    _end_with(os.getppid())
    store.go_apart(name)
    _take(taking, work)


def _end_with(parent: int) -> None:
    """Have this process end within a second of the one that it helps."""

    def look(_number: int, _frame: object) -> None:
        if os.getppid() != parent:
            os._exit(0)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
