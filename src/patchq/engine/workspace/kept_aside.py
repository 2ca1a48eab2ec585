"""Files of the workspace that no longer stand in their place, and are kept for the user."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from patchq.files import replace_file
from patchq.model.workspace import Workspace


def aside(root: Path, path: Path) -> Path:
    """Where a file of the workspace at ``root`` is kept that no longer stands in its place."""
    return Workspace(root).state_dir / "kept" / path.relative_to(root)


def keep_aside(root: Path, path: Path, content: bytes) -> Path:
    """Keep what was to be, or was, the content of ``path``; returns where."""
    kept = aside(root, path)
    kept.parent.mkdir(parents=True, exist_ok=True)
    replace_file(kept, content)
    return kept


def kept_aside(workspace: Workspace, names: Iterable[str]) -> dict[Path, bytes]:
    """Those of the workspace's files ``names`` that are kept aside, by where they belong."""
    home = aside(workspace.root, workspace.root)
    files = (workspace.root / name for name in names)
    return {
        workspace.root / file.relative_to(home): file.read_bytes()
        for file in files
        if file.is_relative_to(home)
    }
