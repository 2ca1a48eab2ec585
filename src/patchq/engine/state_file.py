"""The small JSON files of ``.patchq/`` that say which operation is under way."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patchq.model.workspace import Workspace, ensure_state_dir


def save_state(workspace: Workspace, name: str, fields: Mapping[str, Any]) -> None:
    """Make ``fields`` the content of the file, in one step that survives a crash."""
    directory = ensure_state_dir(workspace)
    aside = directory / f"{name}.new"
    with aside.open("wb") as file:
        file.write(json.dumps(fields, indent=1).encode("ascii"))
        file.flush()
        os.fsync(file.fileno())
    aside.replace(directory / name)
    _sync(directory)


def forget_state(workspace: Workspace, name: str) -> None:
    """Take the file away, whatever it holds."""
    (workspace.state_dir / name).unlink(missing_ok=True)
    _sync(workspace.state_dir)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
