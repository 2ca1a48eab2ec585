"""The user's own editor, as git finds it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from patchq.errors import InputError
from patchq.git.process import user_environment


def edit_file(file: Path) -> None:
    """Open ``file`` in the user's editor and wait (git-var(1), ``GIT_EDITOR``).

    Raises :class:`InputError` if there is none, or where it fails.
    """
    environment = {**os.environ, **user_environment()}
    asked = subprocess.run(
        ["git", "var", "GIT_EDITOR"],
        cwd=file.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    editor = asked.stdout.decode(errors="replace").strip()
    if not editor:
        raise InputError("there is no editor", hint="Set EDITOR, or give the change as options.")
    # through a shell, as git does: the editor may be a command with options
    done = subprocess.run(
        ["sh", "-c", f'{editor} "$@"', editor, str(file)], env=environment, check=False
    )
    if done.returncode:
        raise InputError(f"the editor ended with status {done.returncode}; nothing was changed")
