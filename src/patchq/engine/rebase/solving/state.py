"""What is kept while a held patch is being solved, in ``.patchq/resolve.json``.

Loaded on the way out of a command that was interrupted too: it imports no git.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
    """The patch ``name``, out of the series on ``tag``; ``layout`` is what its worktree is for.

    ``accept_drift`` is why it is taken though it is drifted, empty if it is not.
    """

    name: str
    tag: str
    layout: str
    accept_drift: str = ""


def refuse_while_resolving(workspace: Workspace) -> None:
    """Raise :class:`PatchqError` with the way out while a held patch is being solved."""
    state = STATE.load(workspace)
    if state is not None:
        raise PatchqError(f"{state.name} of {state.tag} is being solved", hint=WAYS_ON)


def _read(fields: Mapping[str, Any]) -> Resolving:
    name, tag, layout = (text_of(fields[key]) for key in ("name", "tag", "layout"))
    return Resolving(name, tag, layout, text_of(fields.get("accept_drift", "")))


def _write(state: Resolving) -> dict[str, object]:
    return asdict(state)


STATE = StateFile(
    "resolve.json",
    "patchq.resolve/1",
    "the patch that is being solved",
    "`patchq resolve --abort` forgets it; series/ is as it was.",
    _read,
    _write,
)
