"""The list of commands, in groups, and what to type for a command that other tools have.

A command's module is imported when the command is meant: most runs need one of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from patchq.cli import completion
from patchq.cli.values import PlainValues
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
    "redo": "what `patchq undo` took back cannot be taken back: run the command again.",
    "merge": "`patchq rebase --onto TAG` merges each patch onto another base.",
    "continue": "`patchq rebase --continue` goes on with a rebase, `patchq refresh` with an edit.",
    "abort": "`patchq rebase --abort` ends a rebase, `patchq edit --abort` an edit.",
    "variants": "`variants:` in series/TAG/recipe.yaml has them, `patchq ci matrix` lists them; "
    "--variant NAME of list, diff, verify and export selects one.",
    "guards": "`patchq list` shows the guards of each patch, `patchq guard PATCH` changes them.",
    "recipe": "a recipe is the file series/TAG/recipe.yaml; `patchq import --recipe FILE --tag "
    "TAG` writes one from a shell script's settings.",
    "pins": "`pins:` in series/TAG/recipe.yaml has them; `patchq verify TAG` compares them with "
    "upstream's.",
    "targets": "`targets:` in series/patchq.yaml has them; --target NAME of verify selects one.",
    "tags": "`patchq status` shows the locked bases, `patchq outdated` the tags after them.",
    "retired": "`patchq report` shows the retired patches; series/TAG/retired.yaml keeps them.",
    "squash": "`patchq fold PATCH OTHER...` folds other patches into PATCH.",
    "reorder": "`patchq move PATCH --before|--after OTHER` moves a patch.",
    "remove": "`patchq drop PATCH` takes a patch out of a series.",
    "commit": "`patchq refresh` writes an edit back as patches; commit series/ with git.",
}
"""Commands of quilt, StGit and git, and words of our own, that users type; and what serves here."""
ELSEWHERE |= {
    other: ELSEWHERE[word]
    for other, word in {
        **{"variant": "variants", "target": "targets", "pin": "pins", "bases": "tags"},
        **{"rm": "remove", "delete": "remove"},
    }.items()
}


WORDS = "patchq.words"
"""Where a context keeps the command and its words, without global options."""


class _Known(Mapping[str, Any]):
    """Every command by its name, made when it is asked for."""

    def __iter__(self) -> Iterator[str]:
        return (name for names in GROUPS.values() for name in names)

    def __len__(self) -> int:
        return sum(map(len, GROUPS.values()))

    def __contains__(self, name: object) -> bool:
        return any(name in names for names in GROUPS.values())

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return _made(name)


@cache
def _made(name: str) -> Any:
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    import_module(f"patchq.cli.{MODULES.get(name, name.replace('-', '_'))}").register(alone)
    if completion.VARIABLE in os.environ:
        completion.attach(alone)
    for command in alone.registered_commands:
        command.cls = TaggedCommand
    return typer.main.get_command(alone)


class Commands(PlainValues, TyperGroup):
    """Shows the commands by group."""

    def __init__(self, **attributes: Any):
        super().__init__(**attributes)
        self.commands: Any = _Known()

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
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take global options after the command too (``patchq report -q``)."""
        args = self._hoisted(args)
        named = self._place(args)
        ctx.meta[WORDS] = () if named is None else tuple(args[named:])
        return super().parse_args(ctx, args)

    def _place(self, args: list[str]) -> int | None:
        """Where the command stands, None if none does."""
        return next((at for at, _ in _own_words(self, args) if args[at] in self.commands), None)

    def _hoisted(self, args: list[str]) -> list[str]:
        """``args`` with the global options of the command's words moved before the command."""
        named = self._place(args)
        if named is None:
            return args
        command, rest = self.commands[args[named]], args[named + 1 :]
        theirs = {option for param in command.params for option in param.opts}
        ours = {
            option: param
            for param in self.params
            for option in param.opts
            if option in _ANYWHERE and option not in theirs
        }
        moved: list[str] = []
        gone: set[int] = set()
        for at, option in _own_words(command, rest, also=ours):
            if option in ours:
                end = at + 1 + (rest[at] == option and _takes_value(ours[option]))
                moved += rest[at:end]
                gone.update(range(at, end))
        kept = [word for at, word in enumerate(rest) if at not in gone]
        return [*args[:named], *moved, args[named], *kept]


_ANYWHERE = ("-q", "--quiet", "-v", "--verbose", "--color", "--debug", "-C", "--upstream")


class TaggedCommand(PlainValues, TyperCommand):
    """A command whose TAG may be given as ``--tag TAG`` too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As the library does, with ``--tag TAG`` as the argument that it stands for."""
        arguments = [p for p in self.params if p.param_type_name == "argument"]
        tags = [n for n, p in enumerate(arguments) if "[TAG]" in (p.metavar or "")]
        rest, tag = self._without_named_tag(args) if tags else (args, None)
        if tag is None:
            return super().parse_args(ctx, args)
        place = tags[-1]
        positional = [at for at, word in _own_words(self, rest) if not word.startswith("-")]
        if len(positional) < place:
            left = super().parse_args(ctx, rest)
            ctx.params[arguments[place].name] = tag
            return left
        at = positional[place] if len(positional) > place else len(rest)
        return super().parse_args(ctx, [*rest[:at], tag, *rest[at:]])

    def _without_named_tag(self, args: list[str]) -> tuple[list[str], str | None]:
        if any("--tag" in param.opts for param in self.params):
            return args, None
        for at, option in _own_words(self, args):
            if args[at] == "--tag" and at + 1 < len(args):
                return [*args[:at], *args[at + 2 :]], args[at + 1]
            if option == "--tag" and "=" in args[at]:
                return [*args[:at], *args[at + 1 :]], args[at].partition("=")[2]
        return args, None


def _own_words(
    command: Any, args: list[str], also: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[tuple[int, str]]:
    """The words of ``args`` that are no option's value, and their places; options without theirs.

    ``also`` are options that ``command`` does not have itself.
    """
    options = {option: param for param in command.params for option in param.opts} | {**also}
    at = 0
    while at < len(args):
        word = args[at]
        option = word.partition("=")[0] if word.startswith("--") else word
        if word == "--":
            yield from ((place, "") for place in range(at + 1, len(args)))
            return
        yield at, option
        at += 2 if option == word and option in options and _takes_value(options[option]) else 1


def _takes_value(param: Any) -> bool:
    return param.param_type_name == "option" and not (param.is_flag or param.count)
