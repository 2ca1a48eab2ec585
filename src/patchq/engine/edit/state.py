"""What an open edit leaves on disk: ``.patchq/edit.json``, beside the worktree ``.patchq/edit``.

It holds what cannot be found again: on what the edit began, and which commit stood for which patch.
Loaded on the way out of a command that was interrupted too: it imports no git.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from patchq.engine.workspace.state_file import StateFile, text_of
from patchq.errors import PatchqError
from patchq.model.ids import CommitId, commit_id
from patchq.model.workspace import Workspace

FILE = "edit.json"
WORKTREE = "edit"
SCHEMA = "patchq.edit/2"

WAYS_ON = "`patchq refresh` writes it back, `patchq edit --abort` forgets it."


@dataclass(frozen=True)
class Edit:
    """An open edit of the series on ``tag``, under ``guards``, up to patch ``opened`` (or all).

    ``head`` is the commit that the worktree began at. ``commits`` are the selected patches in
    order with the commit that each was given, also of those above ``opened``. ``inputs`` are the
    hashes of all files it began with. ``written`` is the hash of the directory that it is about to
    become, None before that.
    """

    tag: str
    base: CommitId
    head: CommitId
    guards: tuple[str, ...]
    opened: str | None
    commits: Mapping[str, CommitId]
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
    """The open edit, None if there is none.

    Raises :class:`~patchq.errors.InputError` for a file that is damaged, or that another version
    wrote.
    """
    return _FILE.load(workspace)


def save(workspace: Workspace, edit: Edit) -> None:
    """Make ``edit`` the open one, in one step that survives a crash."""
    _FILE.save(workspace, edit)


def forget(workspace: Workspace) -> None:
    """End the open edit, whatever its file holds."""
    _FILE.forget(workspace)


def is_open(workspace: Workspace) -> bool:
    """Whether there is an open edit, readable or not."""
    return _FILE.exists(workspace)


def refuse_while_open(workspace: Workspace) -> None:
    """Raise :class:`PatchqError` with the way out where an edit is open."""
    edit = load(workspace)
    if edit is not None:
        raise PatchqError(f"an edit of {edit.tag} is open in .patchq/{WORKTREE}", hint=WAYS_ON)


def _written(edit: Edit) -> dict[str, Any]:
    return {
        "tag": edit.tag,
        "base": edit.base,
        "head": edit.head,
        "guards": list(edit.guards),
        "opened": edit.opened,
        "commits": [[name, commit] for name, commit in edit.commits.items()],
        "inputs": dict(edit.inputs),
        "layout": edit.layout,
        "since": edit.since,
        "written": edit.written,
    }


def _read(fields: Mapping[str, Any]) -> Edit:
    commits = {text_of(name): _oid(commit) for name, commit in fields["commits"]}
    opened = fields["opened"]
    if opened is not None and opened not in commits:
        raise ValueError(f"opened at {opened!r}, which has no commit")
    return Edit(
        tag=text_of(fields["tag"]),
        base=_oid(fields["base"]),
        head=_oid(fields["head"]),
        guards=tuple(map(text_of, fields["guards"])),
        opened=opened,
        commits=commits,
        inputs={text_of(name): text_of(value) for name, value in fields["inputs"].items()},
        layout=text_of(fields["layout"]),
        since=text_of(fields["since"]),
        written=None if fields["written"] is None else text_of(fields["written"]),
    )


def _oid(value: object) -> CommitId:
    if not re.fullmatch(r"[0-9a-f]{40}", text_of(value)):
        raise ValueError(f"expected a commit, found {value!r}")
    return commit_id(text_of(value))


_FILE = StateFile(
    FILE,
    SCHEMA,
    "an open edit",
    "`patchq edit --abort` forgets it; series/ is as it was.",
    _read,
    _written,
)
