"""What an open edit leaves on disk: ``.patchq/edit.json``, beside the worktree ``.patchq/edit``.

It holds what cannot be found again: on what the edit began, and which commit stood for which patch.
The file is replaced in one step and checked when it is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from patchq.engine.state_file import forget_state, save_state
from patchq.errors import InputError, PatchqError, Where
from patchq.model.workspace import Workspace

FILE = "edit.json"
WORKTREE = "edit"
SCHEMA = "patchq.edit/1"

WAYS_ON = "`patchq refresh` writes it back, `patchq edit --abort` forgets it."
_FORGET = "`patchq edit --abort` forgets it; series/ is as it was."


@dataclass(frozen=True)
class Edit:
    """An open edit of the series on ``tag``, under ``guards``, up to patch ``opened`` (or all).

    ``commits`` are the selected patches in order with the commit that each was given, also of
    those above ``opened``. ``inputs`` are the hashes of all files it began with. ``written`` is the
    hash of the directory that it is about to become, None before that.
    """

    tag: str
    base: str
    guards: tuple[str, ...]
    opened: str | None
    commits: Mapping[str, str]
    inputs: Mapping[str, str]
    layout: str
    since: str
    written: str | None = None

    @property
    def open_names(self) -> tuple[str, ...]:
        """The patches that the worktree began with."""
        names = tuple(self.commits)
        return names if self.opened is None else names[: names.index(self.opened) + 1]


def load(workspace: Workspace) -> Edit | None:
    """The open edit, None where there is none.

    Raises :class:`InputError` for a file that is damaged, or that another version wrote.
    """
    path = _path(workspace)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    where = Where(str(path.relative_to(workspace.root)))
    try:
        fields = json.loads(raw)
        if fields["schema"] != SCHEMA:
            _refuse(f"this is no state that this patchq knows: {fields['schema']!r}", where)
        return _read(fields)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        _refuse(f"the state of an open edit is damaged: {error!r}", where)


def save(workspace: Workspace, edit: Edit) -> None:
    """Make ``edit`` the open one, in one step that survives a crash."""
    save_state(workspace, FILE, _written(edit))


def forget(workspace: Workspace) -> None:
    """End the open edit, whatever its file holds."""
    forget_state(workspace, FILE)


def is_open(workspace: Workspace) -> bool:
    """Whether there is an open edit, readable or not."""
    return _path(workspace).exists()


def refuse_while_open(workspace: Workspace) -> None:
    """Raise :class:`PatchqError` with the way out where an edit is open."""
    edit = load(workspace)
    if edit is not None:
        raise PatchqError(f"an edit of {edit.tag} is open in .patchq/{WORKTREE}", hint=WAYS_ON)


def _path(workspace: Workspace) -> Path:
    return workspace.state_dir / FILE


def _refuse(message: str, where: Where) -> NoReturn:
    raise InputError(message, where=where, hint=_FORGET)


def _written(edit: Edit) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "tag": edit.tag,
        "base": edit.base,
        "guards": list(edit.guards),
        "opened": edit.opened,
        "commits": [[name, commit] for name, commit in edit.commits.items()],
        "inputs": dict(edit.inputs),
        "layout": edit.layout,
        "since": edit.since,
        "written": edit.written,
    }


def _read(fields: Mapping[str, Any]) -> Edit:
    commits = {_text(name): _oid(commit) for name, commit in fields["commits"]}
    opened = fields["opened"]
    if opened is not None and opened not in commits:
        raise ValueError(f"opened at {opened!r}, which has no commit")
    return Edit(
        tag=_text(fields["tag"]),
        base=_oid(fields["base"]),
        guards=tuple(map(_text, fields["guards"])),
        opened=opened,
        commits=commits,
        inputs={_text(name): _text(value) for name, value in fields["inputs"].items()},
        layout=_text(fields["layout"]),
        since=_text(fields["since"]),
        written=None if fields["written"] is None else _text(fields["written"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value


def _oid(value: object) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}", _text(value)):
        raise ValueError(f"expected a commit, found {value!r}")
    return _text(value)
