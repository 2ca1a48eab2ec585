"""Run patchq: ``python -m patchq``, and the ``patchq`` command.

Nothing is imported before signals have their meaning: most of a short run is spent importing.
"""

from __future__ import annotations

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # until main: no traceback
    signal.signal(signal.SIGINT, lambda number, _frame: os._exit(128 + number))

import gc
import sys
from contextlib import suppress

from patchq.signals import Interrupted, have_come, ignore_signals, raise_on_signals
from patchq.written import interrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_ALLOCATIONS = 100_000
"""After so many objects cycles are looked for: patches and trees are many, and hold none."""


def main() -> None:
    """Run the command line and exit with its code; see :func:`patchq.cli.main.main`."""
    if sys.getfilesystemencoding() != "utf-8":
        # git's paths are UTF-8; in another locale no file could be called by them
        os.execv(sys.executable, [sys.executable, "-X", "utf8", "-m", "patchq", *sys.argv[1:]])
    raise_on_signals()
    gc.set_threshold(_ALLOCATIONS, 20, 20)
    try:
        from patchq.cli.main import main as command_line

        code = command_line()
        ignore_signals()
    except Interrupted as signalled:
        sys.stderr.write(f"patchq: {interrupted()}\n")
        code = signalled.exit_code
    if have_come():
        _end(code)
    sys.exit(code)


def _end(code: int) -> NoReturn:
    """Exit at once: what is in memory and in temporary files may be much to clear away."""
    from patchq.scratch import leave

    leave()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
