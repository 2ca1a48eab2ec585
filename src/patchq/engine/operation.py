"""What an unfinished rebase leaves on disk: ``.patchq/operation.json``.

It holds no half-made series, only what cannot be found again: what was started, on which input, and
what the user decided so far, in order. Everything else is judged anew from the start each time. The
file is replaced in one step and checked when it is read, so there is the state before a decision or
the state after it, and never a third.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn

from patchq.engine.state_file import forget_state, save_state
from patchq.errors import InputError, PatchqError, Where
from patchq.model.workspace import Workspace

FILE = "operation.json"
SCHEMA = "patchq.operation/1"

WAYS_ON = (
    "`patchq status` says where it stands; `patchq rebase --continue`, `--skip` or `--abort` "
    "go on from there."
)
_FORGET = "`patchq rebase --abort` forgets it; series/ and upstream.lock are as they were."


class Choice(Enum):
    """What a person made of a patch."""

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
    choice: Choice
    reason: str = ""
    content: bytes = b""
    resolutions: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """A rebase under way.

    ``inputs`` are the hashes of all files that the result is made of, by their names below
    ``series/``; ``commits`` what both bases are in the lock. ``target`` is the hash of the
    directory that the result is to replace, None where there is none. ``stopped`` is the patch
    that waits for a person; None where everything is decided and only the writing is left.
    ``layout`` identifies what the worktree is for it, None where there is nothing to merge.
    """

    source: str
    onto: str
    lender: str | None
    commits: tuple[str, str]
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
    """The operation under way, None where there is none.

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
    except ValueError:
        _refuse("the state of an unfinished rebase is damaged: it is not JSON", where)
    schema = fields.get("schema") if isinstance(fields, dict) else None
    if schema != SCHEMA:
        _refuse(f"this is no state that this patchq knows: {schema!r}, not {SCHEMA!r}", where)
    try:
        return _read(fields)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        _refuse(f"the state of an unfinished rebase is damaged: {error!r}", where)


def save(workspace: Workspace, operation: Operation) -> None:
    """Make ``operation`` the one under way, in one step that survives a crash."""
    save_state(workspace, FILE, _written(operation))


def forget(workspace: Workspace) -> None:
    """End the operation under way, whatever its file holds."""
    forget_state(workspace, FILE)


def is_under_way(workspace: Workspace) -> bool:
    """Whether there is an operation, readable or not."""
    return _path(workspace).exists()


def refuse_meanwhile(workspace: Workspace) -> None:
    """Raise :class:`PatchqError` with the way out where an operation is under way."""
    if is_under_way(workspace):
        operation = load(workspace)
        assert operation is not None
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
    """One hash of all that ``series/<onto>`` holds, None where it is not there."""
    directory = workspace.series_path(onto)
    if not directory.is_dir():
        return None
    return hash_files(
        {
            str(file.relative_to(directory)): file.read_bytes()
            for file in directory.rglob("*")
            if file.is_file()
        }
    )


def hash_files(files: Mapping[str, bytes]) -> str:
    """The :func:`hash_target` of a directory of these files."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()} {name}\n" for name in sorted(files))
    return hashlib.sha256(os.fsencode("".join(lines))).hexdigest()


def _path(workspace: Workspace) -> Path:
    return workspace.state_dir / FILE


def _refuse(message: str, where: Where) -> NoReturn:
    raise InputError(message, where=where, hint=_FORGET)


def _written(operation: Operation) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
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
        source=_text(fields["source"]),
        onto=_text(fields["onto"]),
        lender=_text_or_none(fields["lender"]),
        commits=(_text(old), _text(new)),
        inputs={_text(name): _text(value) for name, value in fields["inputs"].items()},
        target=_text_or_none(fields["target"]),
        decisions=tuple(map(_read_decision, fields["decisions"])),
        stopped=_text_or_none(fields["stopped"]),
        layout=_text_or_none(fields["layout"]),
        since=_text(fields["since"]),
    )


def _read_decision(fields: Mapping[str, Any]) -> Decision:
    return Decision(
        patch=_text(fields["patch"]),
        choice=Choice(fields["choice"]),
        reason=_text(fields["reason"]),
        content=_decoded(fields["content"]),
        resolutions={_text(name): _decoded(text) for name, text in fields["resolutions"].items()},
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _decoded(text: object) -> bytes:
    return base64.b64decode(_text(text), validate=True)
