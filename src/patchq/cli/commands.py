"""The list of commands, in groups, and what to type for a command that other tools have."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from patchq.errors import InputError

GROUPS = {
    "Look": ("status", "list", "show", "files", "diff", "lint", "help"),
    "New tag": (
        *("next", "outdated", "lock", "fetch", "import-upstream", "report", "why", "gates"),
        *("rebase", "port", "revive", "resolve", "notes"),
    ),
    "Edit": (
        *("import", "backport", "new", "edit", "refresh", "header", "guard"),
        *("rename", "move", "fold", "split", "drop", "undo"),
    ),
    "Ship": ("verify", "export", "ci"),
    "Begin": ("init", "demo"),
}
"""The commands by what they are for, in the order of the help."""

MODULES = {
    "next": "next_tag",
    "import": "import_patches",
    "list": "list_patches",
    "help": "help_command",
}

ELSEWHERE = {
    "push": "patchq applies a series as a whole: `patchq edit` opens it as commits, "
    "`patchq export TAG --format quilt` writes a tree for quilt.",
    "pop": "`patchq edit TAG PATCH` opens the series up to PATCH, as if those above were popped.",
    "goto": "`patchq edit TAG PATCH` opens the series up to PATCH.",
    "applied": "`patchq list` shows the series; `-` marks patches whose guards are off.",
    "unapplied": "`patchq list` shows the series; `-` marks patches whose guards are off.",
    "series": "`patchq list` shows the series.",
    "top": "`patchq list` shows the series; the last patch is the top one.",
    "log": "`git log series/` has the history of a series, `patchq why PATCH` a patch's story.",
    "add": "`patchq new` begins a patch; `git add` works in its worktree.",
    "pull": "`patchq lock TAG` pins a new upstream tag, `patchq rebase --onto TAG` goes there.",
    "apply": "`patchq export TAG` writes the patched tree.",
    "delete": "`patchq drop PATCH` takes a patch out of a series.",
    "merge": "`patchq rebase --onto TAG` merges each patch onto another base.",
    "continue": "`patchq rebase --continue` goes on with a rebase, `patchq refresh` with an edit.",
    "abort": "`patchq rebase --abort` ends a rebase, `patchq edit --abort` an edit.",
}
"""Commands of quilt, StGit and git that users type, and what serves here."""


class Commands(TyperGroup):
    """Shows the commands by group."""

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Each group with the whole summary of its commands."""
        width = max(map(len, self.commands))
        for group, names in GROUPS.items():
            with formatter.section(group):
                limit = formatter.width - width - 6
                formatter.write_dl(
                    [
                        (f"{name:{width}}", self.commands[name].get_short_help_str(limit))
                        for name in names
                    ]
                )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is meant; one of another tool is answered with what serves here."""
        if args and args[0] not in self.commands and args[0] in ELSEWHERE:
            raise InputError(f"patchq has no command {args[0]!r}", hint=ELSEWHERE[args[0]])
        name, command, rest = super().resolve_command(ctx, args)
        return name, command, _with_named_tag(command, rest)


def _with_named_tag(command: Any, args: list[str]) -> list[str]:
    """``--tag TAG`` as the argument that it stands for, if the command takes one."""
    if any("--tag" in param.opts for param in command.params):
        return args
    arguments = (param for param in command.params if param.param_type_name == "argument")
    if not any("TAG" in (param.metavar or "") for param in arguments):
        return args
    for place, word in enumerate(args):
        if word == "--":
            break
        if word == "--tag" and place + 1 < len(args):
            return [*args[:place], *args[place + 2 :], args[place + 1]]
        if word.startswith("--tag="):
            return [*args[:place], *args[place + 1 :], word.removeprefix("--tag=")]
    return args


def register_all(app: typer.Typer) -> None:
    """Add every command to ``app``."""
    for names in GROUPS.values():
        for name in names:
            module = MODULES.get(name, name.replace("-", "_"))
            import_module(f"patchq.cli.{module}").register(app)
