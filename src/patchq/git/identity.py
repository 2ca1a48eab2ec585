"""Who the user is, by their own git configuration."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from patchq.git.process import user_environment

UNKNOWN_AUTHOR = "Unknown <unknown@localhost>"


def user_identity(directory: Path, *, as_author: bool = True) -> str:
    """``Name <mail>`` as the user's configuration in ``directory`` and environment give it.

    Without ``as_author``, ``GIT_AUTHOR_NAME`` and ``GIT_AUTHOR_EMAIL`` say nothing: they are the
    author of what is being made, not of what somebody else made.
    """
    user = user_environment()
    environment = {
        **os.environ,
        **{name: value for name, value in user.items() if name.startswith("GIT_CONFIG")},
    }

    def ask(key: str) -> str:
        answer = subprocess.run(
            ["git", "config", "--get", key],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return answer.stdout.decode(errors="replace").strip()

    author = user if as_author else {}
    name = author.get("GIT_AUTHOR_NAME") or ask("user.name")
    mail = author.get("GIT_AUTHOR_EMAIL") or ask("user.email")
    return identity(name, mail) if name or mail else UNKNOWN_AUTHOR


def own_identity(directory: Path) -> str:
    """Who the user is; what ``GIT_AUTHOR_NAME`` says only if git knows nothing else."""
    own = user_identity(directory, as_author=False)
    return user_identity(directory) if own == UNKNOWN_AUTHOR else own


def identity(name: str, mail: str) -> str:
    """``Name <mail>`` of what git allows in one; half of it may be unknown."""
    name, mail = (re.sub(r"[<>\x00-\x1f]", "", part).strip() for part in (name, mail))
    return f"{name or mail} <{mail or 'unknown@localhost'}>"
