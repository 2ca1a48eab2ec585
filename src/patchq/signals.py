"""Signals that end patchq, as an exception: what is half done is taken back on the way out.

Loaded before anything else: it imports as little as it can.
"""

from __future__ import annotations

import os
import signal
import time

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(SystemExit):
    """A signal came; ``exit_code`` is what shells give it, 128 and its number."""

    def __init__(self, number: int):
        self.exit_code = 128 + number
        super().__init__(self.exit_code)


_came: list[float] = []
_PATIENCE = 5.0
"""So many seconds there are for taking back what is half done; a signal after that ends it."""


def have_come() -> bool:
    """Whether a signal has ended what was under way: nothing may take long any more."""
    return bool(_came)


def raise_on_signals() -> None:
    """From now on have the signals that end a program raise :class:`Interrupted`.

    One that is ignored (``nohup``, a background job of a script) stays ignored.
    """
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise)


def _raise(number: int, _frame: object) -> None:
    _came.append(time.monotonic())
    if len(_came) == 1:
        raise Interrupted(number)
    if _came[-1] - _came[0] > _PATIENCE:
        os._exit(128 + number)  # what is half done is taken back by the next command
