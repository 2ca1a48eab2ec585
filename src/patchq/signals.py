"""Signals that end patchq, as an exception: what is half done is taken back on the way out.

Loaded before anything else: it imports as little as it can.
"""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(SystemExit):
    """A signal came; ``exit_code`` is what shells give it, 128 and its number."""

    def __init__(self, number: int):
        self.exit_code = 128 + number
        super().__init__(self.exit_code)


_came: list[float] = []
_first: list[Interrupted] = []
_lost: list[Interrupted] = []
_PATIENCE = 5.0
"""So many seconds there are for taking back what is half done; a signal after that ends it."""


_SOON = 0.01


def have_come() -> bool:
    """Whether a signal has ended what was under way: nothing may take long any more."""
    return bool(_came)


def first() -> Interrupted | None:
    """What the first signal raised, None if none has come."""
    return _first[0] if _first else None


def raise_on_signals() -> None:
    """From now on have the signals that end a program raise :class:`Interrupted`.

    One that is ignored (``nohup``, a background job of a script) stays ignored.
    """
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise)
    sys.unraisablehook = _not_raised


def ignore_signals() -> None:
    """From now on ignore them: the work is done, and Python's own end knows no handlers.

    While the interpreter shuts down, a signal would end the process by its default action.
    """
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def _not_raised(unraisable: UnraisableHookArgs) -> None:
    """Python passes over what is raised in a finalizer: have it raised again behind that."""
    if not isinstance(unraisable.exc_value, Interrupted):
        sys.__unraisablehook__(unraisable)
        return
    from threading import Thread, main_thread

    _lost.append(unraisable.exc_value)
    Thread(target=_send_again, args=(main_thread().ident,), daemon=True).start()


def _send_again(to: int) -> None:
    """Send what was lost to the thread ``to``, until it has been raised there."""
    time.sleep(_SOON)
    while lost := _lost[-1:]:
        signal.pthread_kill(to, lost[0].exit_code - 128)
        time.sleep(_SOON)


def _raise(number: int, frame: FrameType | None) -> None:
    if _lost:
        if not _is_below_hook(frame):  # there it would be passed over for good
            raise _lost.pop()
        return
    _came.append(time.monotonic())
    if len(_came) == 1:
        _first.append(Interrupted(number))
        raise _first[0]
    if _came[-1] - _came[0] > _PATIENCE:
        os._exit(128 + number)  # what is half done is taken back by the next command


def _is_below_hook(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not _not_raised.__code__:
        frame = frame.f_back
    return frame is not None
