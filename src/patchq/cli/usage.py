"""Wrong usage in the words of every other error: what is wrong, and what to type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

from patchq.cli.commands import GROUPS, Commands

_EXTRA = re.compile(r"got unexpected extra arguments? ?(?:\(s\))? \((.+)\)$")
_WANTED = re.compile(r"TAG\b|(?:REF|PATH|FILE)$")
_OURS = re.compile(r"Value error, ")


def told(error: typer.TyperException, arguments: Sequence[str] = ()) -> tuple[str, str | None]:
    """The message and the hint for what the library found wrong with ``arguments``."""
    context = getattr(error, "ctx", None)
    # an option without its value is found before there is a context
    named = next(
        (word for word in arguments if any(word in names for names in GROUPS.values())), ""
    )
    command = context.command_path if context is not None else f"patchq {named}".rstrip()
    explained = f"`{command} --help` explains it."
    option = getattr(error, "option_name", None)
    possibilities = getattr(error, "possibilities", None)
    if option == "--tag":
        return f"{command} has no option --tag", _tags_of(context)
    if option and possibilities is not None:
        near = [each for each in sorted(possibilities) if _alike(option, each)]
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        return f"{command} has no option {option}", meant + f"`{command} --help` lists its options."
    words = " ".join(_OURS.sub("", error.format_message()).split())
    words = re.sub(r"^Invalid value(?: for '?([^':]+)'?)?: ", _place, words)
    words, question, meant = words.partition(" Did you mean ")
    words = re.sub(r"^([A-Z])(?=[a-z ])", lambda match: match[1].lower(), words.rstrip("."))
    if extra := _EXTRA.match(words):
        words = f"{'arguments' if ' ' in extra[1] else 'one argument'} too many: {extra[1]}"
        if meant := _goes_with(_command(context, named)):
            explained = f"{explained} What else it takes goes with an option: {meant}."
    if option and words.endswith("requires an argument"):
        meant = _goes_with(_command(context, named), only=option)
        explained = f"{explained} Its options: {meant}." if meant else explained
    if words.startswith(("missing ", "no such ")):
        words = words.replace("'", "")
    if words.startswith("no such command"):
        explained = f"`{command} --help` lists the commands."
    return words, f"Did you mean {meant.replace(chr(39), '')}" if question else explained


def _command(context: Any, name: str) -> Any:
    return context.command if context is not None else Commands().commands.get(name)


def _goes_with(command: Any, only: str | None = None) -> str:
    """The options of a command that take a tag or a place, and what each is for.

    With an ``only`` option nothing if it is none of them.
    """
    found = {
        param.opts[0]: f"{param.opts[0]} {param.metavar} ({_clause(param.help or '')})"
        for param in (command.params if command is not None else ())
        if param.param_type_name == "option" and _WANTED.match(param.metavar or "")
    }
    return ", ".join(found.values()) if only is None or only in found else ""


def _clause(text: str) -> str:
    """The first part of a help text, as a part of a sentence."""
    first = re.split(r"[;:.,]", text, maxsplit=1)[0]
    return first[:1].lower() + first[1:]


def _tags_of(context: Any) -> str:
    """Where a TAG goes for the command, in words."""
    if context is None or context.parent is None:
        return "It stands behind the command: `patchq list --tag TAG`."
    params = context.command.params
    named = [param.opts[0] for param in params if "TAG" in (param.metavar or "")]
    places = " or ".join(named)
    return f"Here a TAG goes with {places}." if places else "This command takes no TAG."


def _place(match: re.Match[str]) -> str:
    return f"{match[1]}: " if match[1] else ""


def _alike(wrong: str, option: str) -> bool:
    """Whether the one may be a slip for the other: the same letters nearly, or its beginning."""
    from difflib import SequenceMatcher

    wrong, option = wrong.lstrip("-"), option.lstrip("-")
    return option.startswith(wrong) or SequenceMatcher(None, wrong, option).ratio() > 0.7
