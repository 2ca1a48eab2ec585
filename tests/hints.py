"""Commands and options that messages name: are they there, at the command at hand?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import typer

from patchq.cli.main import app

_APP = typer.main.get_command(app)
COMMANDS = _APP.commands  # type: ignore[attr-defined]

_QUOTED = re.compile(r"`([^`]*)`")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_TAKE_A_VALUE = ("-C", "--upstream", "--color")


@cache
def options_of(name: str | None) -> frozenset[str]:
    """The options of a command with those of patchq itself; of no command just the latter."""
    params = [*_APP.params, *(COMMANDS[name].params if name else ())]
    known = {option for p in params for option in (*p.opts, *p.secondary_opts)}
    tagged = any("TAG" in (p.metavar or "") for p in params)  # see TaggedCommand
    return frozenset(known | {"--help", *(["--tag"] if tagged else [])})


ANY = frozenset().union(*(options_of(name) for name in COMMANDS))


def named_command(words: Sequence[str]) -> str | None:
    """The command among the words after ``patchq``; None if there is none."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in _TAKE_A_VALUE else rest[1:]
    return rest[0] if rest and re.fullmatch(r"[a-z][a-z-]*", rest[0]) else None


def faults(text: str, running: str | None) -> Iterator[str]:
    """What ``text`` names that is not there.

    An option alone belongs to the command that is named before it in the text, or else to the
    ``running`` one; to any, if that is not known.
    """
    known = options_of(running) if running in COMMANDS else ANY
    at, foreign = 0, False
    for match in _QUOTED.finditer(text):
        yield from _missing(text[at : match.start()], known)
        at = match.end()
        words = match[1].split()
        if words[:1] == ["patchq"]:
            name = named_command(words[1:])
            if name is not None and name not in COMMANDS:
                yield f"patchq {name}"
                continue
            own, foreign = options_of(name), False
            known = known | own
            yield from _missing(match[1], own)
        elif words[:1] == ["git"]:
            foreign = True  # and so are the options named after it
        elif words and words[0].startswith("--") and not foreign:
            yield from _missing(match[1], known)
    yield from _missing(text[at:], known)


def _missing(text: str, known: frozenset[str]) -> Iterator[str]:
    return (option for option in _OPTION.findall(text) if option not in known)


def hints_in(shown: str) -> Iterator[str]:
    """The hints on what a command wrote to stderr."""
    for line in shown.splitlines():
        if line.startswith("hint: "):
            yield line.removeprefix("hint: ")


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module by their lines, what is filled in as ``X``; no docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docs = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {
        part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
    }
    for node in ast.walk(tree):
        if node in docs or node in inside:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (str(p.value) if isinstance(p, ast.Constant) else "X" for p in node.values)
            yield node.lineno, "".join(parts)
