"""CMake source as CMake's own lexer takes it: commands, their arguments, and what is not closed.

The rules are those of cmake-language(7), Source/LexerParser/cmListFileLexer.in.l and the nesting
check of cmListFileCache.cxx. A parser of a library would have to be compiled on some machines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

LISTS = "CMakeLists.txt"
"""The file that CMake reads in each directory."""

_VARIABLE = r"\$\([A-Za-z0-9_]*\)"
_PLAIN = r'(?:[^ \0\t\r\n()#"\[=\\]|\\[^\0\n])'
_QUOTES_INSIDE = rf'"(?:{_VARIABLE}|{_PLAIN}|[ \t\[=])*+"'
_LEGACY = rf"(?:{_VARIABLE}|{_PLAIN}|{_QUOTES_INSIDE})"
_TOKEN = rf"""
      (?P<newline>\n)
    | (?P<space>[ \t\r]+)
    | (?P<bracket>\#?\[(?P<equals>=*)\[)
    | (?P<comment>\#[^\n]*)
    | (?P<open>\()
    | (?P<close>\))
    | (?P<quoted>"(?:[^\\"]|\\.)*+")
    | (?P<word>(?:{_VARIABLE}|{_PLAIN}|=|\[=*{_LEGACY})(?:{_LEGACY}|[\[=])*+|\[)
    """
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

_CLOSED_BY = {
    "endif": ("if", "elseif", "else"),
    "elseif": ("if", "elseif"),
    "else": ("if", "elseif"),
    "endwhile": ("while",),
    "endforeach": ("foreach",),
    "endfunction": ("function",),
    "endmacro": ("macro",),
    "endblock": ("block",),
}
_OPEN = frozenset(("if", "while", "foreach", "function", "macro", "block"))


class NotCMakeError(Exception):
    """A text that CMake would not parse: why, and the line (1-based)."""

    def __init__(self, text: str, line: int):
        super().__init__(text)
        self.text = text
        self.line = line


@dataclass(frozen=True)
class CMakeCommand:
    """One call: its name in lower case, its first argument, and its lines (1-based)."""

    name: str
    argument: str
    first: int
    last: int


@dataclass(frozen=True)
class Block:
    """What stands between a command such as ``function`` and the one that closes it."""

    opened: CMakeCommand
    closed: CMakeCommand


def is_cmake(path: str) -> bool:
    """Whether CMake reads the file ``path``."""
    return path.endswith(".cmake") or PurePosixPath(path).name == LISTS


def blocks(content: bytes) -> list[Block]:
    """The blocks of a file, inner before outer; raises :class:`NotCMakeError`."""
    open_: list[CMakeCommand] = []
    found = []
    for command in commands(content):
        if command.name in _CLOSED_BY:
            if not open_ or open_[-1].name not in _CLOSED_BY[command.name]:
                raise NotCMakeError(f"{command.name}() closes nothing", command.first)
            found.append(Block(open_.pop(), command))
        if command.name in _OPEN or command.name in ("elseif", "else"):
            open_.append(command)
    if open_:
        raise NotCMakeError(f"{open_[-1].name}() is not closed", open_[-1].first)
    return found


def commands(content: bytes) -> Iterator[CMakeCommand]:
    """The calls of a file, in order; raises :class:`NotCMakeError`."""
    text = content.decode(errors="surrogateescape").removeprefix("\ufeff")
    position, line, fresh = 0, 1, True
    name, first, depth, argument = "", 0, 0, None
    last: str | None = None
    tokens = re.compile(_TOKEN, re.VERBOSE | re.DOTALL)  # kept by re: few runs read CMake
    while position < len(text):
        match = tokens.match(text, position)
        if match is None:
            what = "a quote is not closed" if text[position] == '"' else "an unexpected character"
            raise NotCMakeError(what, line)
        kind, start, position = match.lastgroup, line, match.end()
        if match["bracket"]:
            closing = f"]{match['equals']}]"
            end = text.find(closing, position)
            if end < 0:
                raise NotCMakeError("a bracket is not closed", line)
            position, kind = end + len(closing), "bracket"
        token = text[match.start() : position]
        line += token.count("\n")
        before, last = last, kind
        if kind in ("space", "comment"):
            continue
        if depth:
            argued = kind in ("word", "quoted", "bracket") and not token.startswith("#")
            if argued and (
                before == "bracket" or (kind == "bracket" and before in ("word", "quoted"))
            ):
                raise NotCMakeError("an argument is not separated from the one before", line)
            depth += (kind == "open") - (kind == "close")
            if argument is None and argued:
                argument = token
            if not depth:
                yield CMakeCommand(name.lower(), argument or "", first, line)
                name, argument, fresh = "", None, False
        elif name:
            if kind != "open":
                raise NotCMakeError(f"{name} is not followed by a parenthesis", first)
            depth = 1
        elif kind == "newline":
            fresh = True
        elif kind == "bracket" and token.startswith("#"):
            fresh = False
        elif kind == "word" and fresh and _IDENTIFIER.match(token):
            name, first = token, start
        else:
            raise NotCMakeError("a command is not well formed", line)
    if name:
        raise NotCMakeError(f"{name}() is not closed", first)
