"""What an unfinished rebase leaves on disk: ``.patchq/operation.json``.

It holds no half-made series, only what cannot be found again: what was started, on which input, and
what the user decided so far, in order. Everything else is judged anew from the start each time. The
file is replaced in one step and checked when it is read, so there is the state before a decision or
the state after it, and never a third.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from patchq.engine.workspace.state_file import StateFile, text_of
from patchq.errors import PatchqError
from patchq.model.ids import CommitId, commit_id
from patchq.model.workspace import Workspace

FILE = "operation.json"
SCHEMA = "patchq.operation/1"

WAYS_ON = (
    "`patchq status` says where it stands; `patchq rebase --continue`, `--skip` or `--abort` "
    "go on from there."
)


class DecisionKind(Enum):
    """What the user made of a patch."""

    RESOLVED = "resolved"
    SKIPPED = "skipped"
    DRIFT_ACCEPTED = "drift-accepted"


@dataclass(frozen=True)
class Decision:
    """One decision on one patch.

    One that was resolved has its ``content`` from now on, and the files (by their names below
    ``series/``) that keep the resolution; the others have a ``reason``.
    """

    patch: str
    choice: DecisionKind
    reason: str = ""
    content: bytes = b""
    resolutions: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """A rebase under way.

    ``inputs`` are the hashes of all files that the result is made of, by their names below
    ``series/``; ``commits`` what both bases are in the lock. ``target`` is the hash of the
    directory that the result is to replace, None if there is none. ``stopped`` is the patch
    that waits for review; None if everything is decided and only the writing is left.
    ``layout`` identifies what the worktree is for it, None if there is nothing to merge.
    """

    source: str
    onto: str
    lender: str | None
    commits: tuple[CommitId, CommitId]
    inputs: Mapping[str, str]
    target: str | None
    decisions: tuple[Decision, ...]
    stopped: str | None
    layout: str | None
    since: str

    @property
    def label(self) -> str:
        """The command, as messages name it."""
        return f"rebase --onto {self.onto} --from {self.source}"


def load(workspace: Workspace) -> Operation | None:
    """The operation under way, None if there is none.

    Raises :class:`~patchq.errors.InputError` for a file that is damaged, or that another version
    wrote.
    """
    return _FILE.load(workspace)


def save(workspace: Workspace, operation: Operation) -> None:
    """Make ``operation`` the one under way, in one step that survives a crash."""
    _FILE.save(workspace, operation)


def forget(workspace: Workspace) -> None:
    """End the operation under way, whatever its file holds."""
    _FILE.forget(workspace)


def is_under_way(workspace: Workspace) -> bool:
    """Whether there is an operation, readable or not."""
    return _FILE.exists(workspace)


def refuse_meanwhile(workspace: Workspace) -> None:
    """Raise :class:`PatchqError` with the way out where an operation is under way."""
    operation = load(workspace)
    if operation is not None:
        at = f", stopped at {operation.stopped}" if operation.stopped else ""
        raise PatchqError(
            f"a rebase of {operation.source} onto {operation.onto} is under way{at}",
            hint=WAYS_ON,
        )


def hash_inputs(workspace: Workspace, source: str) -> dict[str, str]:
    """The hashes of the settings and of every file of the series ``source``."""
    files = [workspace.settings_path, *sorted(workspace.series_path(source).rglob("*"))]
    return {
        str(file.relative_to(workspace.series_dir)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file()
    }


def hash_target(workspace: Workspace, onto: str) -> str | None:
    """One hash of all that ``series/<onto>`` holds, None if it is not there."""
    directory = workspace.series_path(onto)
    return hash_files(files_below(directory)) if directory.is_dir() else None


def files_below(directory: Path) -> dict[str, bytes]:
    """The contents of all files below ``directory``, by their names in it."""
    return {
        str(file.relative_to(directory)): file.read_bytes()
        for file in directory.rglob("*")
        if file.is_file()
    }


def changed_inputs(began: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The files whose :func:`hash_inputs` are not what they were, those that came or went too."""
    return sorted(name for name in began.keys() | now.keys() if began.get(name) != now.get(name))


def hash_files(files: Mapping[str, bytes]) -> str:
    """The :func:`hash_target` of a directory of these files."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()} {name}\n" for name in sorted(files))
    return hashlib.sha256(os.fsencode("".join(lines))).hexdigest()


def _written(operation: Operation) -> dict[str, Any]:
    return {
        "command": "rebase",
        "source": operation.source,
        "onto": operation.onto,
        "lender": operation.lender,
        "commits": list(operation.commits),
        "inputs": dict(operation.inputs),
        "target": operation.target,
        "decisions": [_written_decision(decision) for decision in operation.decisions],
        "stopped": operation.stopped,
        "layout": operation.layout,
        "since": operation.since,
    }


def _written_decision(decision: Decision) -> dict[str, Any]:
    return {
        "patch": decision.patch,
        "choice": decision.choice.value,
        "reason": decision.reason,
        "content": _encoded(decision.content),
        "resolutions": {name: _encoded(content) for name, content in decision.resolutions.items()},
    }


def _read(fields: Mapping[str, Any]) -> Operation:
    if fields["command"] != "rebase":
        raise ValueError(f"unknown command {fields['command']!r}")
    old, new = fields["commits"]
    return Operation(
        source=text_of(fields["source"]),
        onto=text_of(fields["onto"]),
        lender=_text_or_none(fields["lender"]),
        commits=(commit_id(text_of(old)), commit_id(text_of(new))),
        inputs={text_of(name): text_of(value) for name, value in fields["inputs"].items()},
        target=_text_or_none(fields["target"]),
        decisions=tuple(map(_read_decision, fields["decisions"])),
        stopped=_text_or_none(fields["stopped"]),
        layout=_text_or_none(fields["layout"]),
        since=text_of(fields["since"]),
    )


def _read_decision(fields: Mapping[str, Any]) -> Decision:
    return Decision(
        patch=text_of(fields["patch"]),
        choice=DecisionKind(fields["choice"]),
        reason=text_of(fields["reason"]),
        content=_decoded(fields["content"]),
        resolutions={text_of(name): _decoded(text) for name, text in fields["resolutions"].items()},
    )


def _text_or_none(value: object) -> str | None:
    return None if value is None else text_of(value)


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _decoded(text: object) -> bytes:
    return base64.b64decode(text_of(text), validate=True)


_FILE = StateFile(
    FILE,
    SCHEMA,
    "an unfinished rebase",
    "`patchq rebase --abort` forgets it; series/ and upstream.lock are as they were.",
    _read,
    _written,
)
