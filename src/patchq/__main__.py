"""Run patchq: ``python -m patchq``, and the ``patchq`` command.

Nothing is imported before signals have their meaning: most of a short run is spent importing.
"""

from __future__ import annotations

import os
import sys

from patchq.signals import Interrupted, raise_on_signals


def main() -> None:
    """Run the command line and exit with its code; see :func:`patchq.cli.main.main`."""
    if sys.getfilesystemencoding() != "utf-8":
        # git's paths are UTF-8; in another locale no file could be called by them
        os.execv(sys.executable, [sys.executable, "-X", "utf8", "-m", "patchq", *sys.argv[1:]])
    raise_on_signals()
    try:
        from patchq.cli.main import main as command_line

        code = command_line()
    except Interrupted as signalled:
        sys.stderr.write("patchq: interrupted\n")
        raise signalled from None
    sys.exit(code)


if __name__ == "__main__":
    main()
