"""Make a directory a workspace."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from patchq.engine.workspace.transaction import Transaction, recover
from patchq.engine.workspace.upstream import location_in_lock
from patchq.errors import InputError, Where
from patchq.model.lock import Lock, read_lock, render_lock
from patchq.model.workspace import LOCK, Workspace

_SETTINGS = b"""\
# Settings of this workspace; every key may be left out.
version: 1

# How a commit of upstream names its pull request.
#pr_pattern: '\\(#(\\d+)\\)'

# What a merge says of its pull request, for commits whose subject names none.
#merge_pattern: '^Merge pull request #(\\d+)'

# Upstream's main branch, for forecasts; without it, the server's HEAD counts.
#main: main

# Groups of patches that can be selected, and those that are selected by default.
#guards:
#  experimental: not yet proved on the hardware
#default_guards: [experimental]
"""
_ATTRIBUTES = (b"*.patch -text", b"series/*/series -text")
_IGNORED = (b"/.patchq/",)


def make_workspace(directory: Path, location: str, *, going_on: bool = False) -> Workspace:
    """Make ``directory`` a workspace for the upstream at ``location``, all or nothing.

    Files that are there are kept, and added to where git has to know something. Raises
    :class:`InputError` if it is a workspace already, and as :func:`location_in_lock` does;
    ``going_on`` takes one for the same upstream that has no series yet.
    """
    root = directory.resolve()
    workspace = Workspace(root)
    upstream = location_in_lock(location, root)
    rendered = render_lock(Lock(upstream))
    # an earlier init may have been cut off
    settled = workspace.state_dir.is_dir() and recover(workspace)
    made = workspace.lock_path.read_bytes() if workspace.lock_path.is_file() else None
    if settled and made == rendered:
        return workspace
    if (
        going_on
        and made is not None
        and not workspace.series_names()
        and workspace.lock().upstream == upstream
    ):
        return workspace
    if os.path.lexists(workspace.lock_path):
        raise InputError(f"{root} is a workspace already: it has {LOCK}")
    if (root / "HEAD").is_file() and (root / "objects").is_dir() and (root / "refs").is_dir():
        raise InputError(
            f"{root} is the inside of a git repository, where no workspace belongs",
            hint=f"For a workspace on that upstream: `patchq init DIR --upstream {root}`.",
        )
    try:
        read_lock(rendered, Where(LOCK))
    except InputError as error:
        raise InputError(f"--upstream: {error.message}") from error
    root.mkdir(parents=True, exist_ok=True)
    transaction = Transaction(workspace, "init")
    transaction.write_file(workspace.lock_path, rendered)
    if not workspace.settings_path.exists():
        transaction.write_file(workspace.settings_path, _SETTINGS)
    for name, lines in ((".gitattributes", _ATTRIBUTES), (".gitignore", _IGNORED)):
        present = (root / name).read_bytes() if (root / name).is_file() else b""
        transaction.write_file(root / name, _with_lines(present, lines))
    transaction.commit()
    return workspace


def _with_lines(content: bytes, lines: Iterable[bytes]) -> bytes:
    present = {line.strip() for line in content.splitlines()}
    added = b"".join(line + b"\n" for line in lines if line not in present)
    return content + (b"\n" if added and content and not content.endswith(b"\n") else b"") + added
