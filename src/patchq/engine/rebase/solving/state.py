"""What is kept while a held patch is being solved, in ``.patchq/resolve.json``.

Loaded on the way out of a command that was interrupted too: it imports no git.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from patchq.engine.workspace.state_file import StateFile, text_of
from patchq.errors import PatchqError
from patchq.model.workspace import Workspace

WAYS_ON = (
    "Solve the conflict in .patchq/worktree and `git add` it there; `patchq resolve --continue` "
    "takes it, `patchq resolve --abort` leaves the patch out of the series."
)


@dataclass(frozen=True)
class Resolving:
    """The patch ``name``, out of the series on ``tag``; ``layout`` is what its worktree is for."""

    name: str
    tag: str
    layout: str


def refuse_while_resolving(workspace: Workspace) -> None:
    """Raise :class:`PatchqError` with the way out while a held patch is being solved."""
    state = STATE.load(workspace)
    if state is not None:
        raise PatchqError(f"{state.name} of {state.tag} is being solved", hint=WAYS_ON)


def _read(fields: Mapping[str, Any]) -> Resolving:
    return Resolving(*(text_of(fields[key]) for key in ("name", "tag", "layout")))


def _write(state: Resolving) -> dict[str, object]:
    return {"name": state.name, "tag": state.tag, "layout": state.layout}


STATE = StateFile(
    "resolve.json",
    "patchq.resolve/1",
    "the patch that is being solved",
    "`patchq resolve --abort` forgets it; series/ is as it was.",
    _read,
    _write,
)
