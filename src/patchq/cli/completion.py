"""What the shell offers for TAG, PATCH and GUARD, wherever a command takes one.

An argument or option is completed by its metavar, so that a command has nothing to do for it. All
is read from the workspace's text files: no store is opened, nothing is written, and where anything
is wrong nothing is offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_type_hints

import typer

from patchq.errors import PatchqError
from patchq.model.workspace import Workspace, find_workspace

VARIABLE = "_PATCHQ_COMPLETE"
"""The variable by which a shell's completion script asks (``patchq --show-completion``)."""

_ANYWHERE = ("show", "why", "port")  # these find the series that has the patch

_METAVAR = re.compile(r"\[?(TAG|PATCH|GUARD)\b")


def attach(app: typer.Typer) -> None:
    """Have every TAG, PATCH and GUARD of the commands of ``app`` completed."""
    for command in app.registered_commands:
        function: Any = command.callback
        hints = get_type_hints(function, include_extras=True)
        for hint in hints.values():
            for info in getattr(hint, "__metadata__", ()):
                match = _METAVAR.match(getattr(info, "metavar", None) or "")
                if match:
                    info.autocompletion = _COMPLETERS[match[1]]
        # evaluated once, so that these very objects are the ones that typer sees
        function.__annotations__ = hints


def complete_tag(ctx: typer.Context, incomplete: str) -> list[str]:
    """Bases of the lock, also behind a comma."""
    return _offer(ctx, incomplete, lambda workspace: workspace.lock().names)


def complete_patch(ctx: typer.Context, incomplete: str) -> list[str]:
    """Patches of the series that the command is about, else of the newest."""
    if ctx.info_name in ("revive", "resolve"):
        return _offer(ctx, incomplete, lambda workspace: _retired(workspace, _tag(ctx, workspace)))
    return _offer(ctx, incomplete, lambda workspace: _patches(ctx, workspace))


def complete_guard(ctx: typer.Context, incomplete: str) -> list[str]:
    """Guards of that series, and those that the settings name."""
    return _offer(ctx, incomplete, lambda workspace: _guards(workspace, _tag(ctx, workspace)))


_COMPLETERS: dict[str, Callable[[typer.Context, str], list[str]]] = {
    "TAG": complete_tag,
    "PATCH": complete_patch,
    "GUARD": complete_guard,
}


def _offer(
    ctx: typer.Context, incomplete: str, names: Callable[[Workspace], Iterable[str]]
) -> list[str]:
    head, comma, tail = incomplete.rpartition(",")
    try:
        workspace = find_workspace(Path(ctx.find_root().params.get("directory") or "."))
        return [head + comma + name for name in names(workspace) if name.startswith(tail)]
    except (PatchqError, OSError):
        return []


def _named(ctx: typer.Context, workspace: Workspace) -> str | None:
    """The series that stands on the command line already."""
    series = workspace.series_names()
    named = (ctx.params.get(name) for name in ("tag", "source", "old"))
    return next((tag for tag in named if tag in series), None)


def _tag(ctx: typer.Context, workspace: Workspace) -> str | None:
    """The series that the command is about: the one named, else the newest."""
    return _named(ctx, workspace) or next(iter(workspace.series_names()[-1:]), None)


def _patches(ctx: typer.Context, workspace: Workspace) -> Iterable[str]:
    named = _named(ctx, workspace)
    if named is None and ctx.info_name in _ANYWHERE:
        tags = reversed(workspace.series_names())
        return dict.fromkeys(name for tag in tags for name in workspace.series(tag).names)
    tag = named or _tag(ctx, workspace)
    return workspace.series(tag).names if tag else ()


def _retired(workspace: Workspace, tag: str | None) -> Iterable[str]:
    return [record.name for record in workspace.load(tag).retired] if tag else ()


def _guards(workspace: Workspace, tag: str | None) -> Iterable[str]:
    settings = workspace.settings()
    own = workspace.series(tag).guards if tag else ()
    return sorted({*own, *settings.guards, *settings.default_guards})
