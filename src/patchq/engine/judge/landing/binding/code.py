"""The names that C, CMake, make and shells bind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchq.engine.judge.landing.binding.bound import Bound
from patchq.engine.languages.cmake_text import NotCMakeError, commands
from patchq.engine.languages.flow import blocks_of
from patchq.engine.languages.live import CONDITION
from patchq.engine.languages.outline import outline

# C and its family

_DEFINE = re.compile(r"[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)")


def bound_in_c(path: str, text: bytes) -> Iterator[Bound]:
    """Macros; and functions, which only a macro takes the name of: overloads have one name."""
    lines = text.decode("latin-1").split("\n")
    parts: list[int] = []
    for number, line in enumerate(lines):
        condition = CONDITION.match(line.encode("latin-1"))
        if condition:
            if not condition[1].startswith(b"if"):
                del parts[-1:]
            if condition[1] != b"endif":
                parts.append(number)
        match = _DEFINE.match(line)
        if match:
            last = number
            while lines[last].endswith("\\") and last + 1 < len(lines):
                last += 1
            yield Bound(match[1], number, last, tuple(parts))
    shown = outline(path, text)
    for each in shown.definitions if shown else ():
        yield Bound(each.name, each.first, each.last, replaces=False)


# CMake, make and shells

_TARGET = re.compile(r"target_(\w+)")
_PROPERTY = re.compile(r"\b(?:PROPERTIES|PROPERTY)\s+(\w+)")
_VARIABLE = re.compile(
    r"[ \t]*(?:(?:export|readonly|declare|typeset)[ \t]+(?:-\w+[ \t]+)*)?(\w+)="
    r"(?:[^\s\"'();&|]|\"(?:\\.|[^\"\\])*\"|'[^']*'|\$\([^)]*\))*[ \t]*(?:[;#].*)?"
)
_UNSET = re.compile(r"[ \t]*unset[ \t]+(?:-[fv][ \t]+)?(\w+)")
_FUNCTION = re.compile(r"[ \t]*(?:function[ \t]+([\w:.-]+)|([\w:.-]+)[ \t]*\([ \t]*\))[ \t({]*")
_MADE = re.compile(r"(?:override[ \t]+|export[ \t]+)*([\w.-]+)[ \t]*(?::{0,3}|!)=(.*)")
_RULE = re.compile(r"([^\s:#=.$][^\s:=$]*)[ \t]*:(?![=])")


def bound_in_cmake(path: str, text: bytes) -> Iterator[Bound]:
    lines = text.decode("latin-1").split("\n")
    try:
        found = list(commands(text))
    except NotCMakeError:
        return
    blocks = blocks_of(path, text)
    functions = {each.first - 1 for each in found if each.name == "function"}
    for each in found:
        first, last = each.first - 1, each.last - 1
        block = blocks.around(first)
        scope = max((at + 1 for at, start in enumerate(block) if start in functions), default=0)
        said = "\n".join(lines[first : last + 1])
        target = _TARGET.fullmatch(each.name)
        if each.name in ("function", "macro"):
            yield Bound(each.argument.lower() + "()", first, blocks.end(first), block)
        elif each.name in ("set", "unset") and "PARENT_SCOPE" not in said:
            fresh = f"${{{each.argument}}}" not in said and ("CACHE" not in said or "FORCE" in said)
            yield Bound(each.argument, first, last, block, scope, replaces=fresh)
        elif target:
            yield Bound(f"{each.argument} {target[1].upper()}", first, last, block, replaces=False)
        elif each.name == "set_target_properties":
            for match in _PROPERTY.finditer(said):
                yield Bound(f"{each.argument} {match[1]}", first, last, block)


def bound_in_shell(path: str, text: bytes) -> Iterator[Bound]:
    blocks = blocks_of(path, text)
    for number, line in enumerate(text.decode("latin-1").split("\n")):
        last, fresh = number, True
        if match := _FUNCTION.match(line):
            starts = (start for start in (number, number + 1) if blocks.end(start) > start)
            name, last = f"{match[1] or match[2]}()", blocks.end(next(starts, number))
        elif match := _VARIABLE.fullmatch(line):
            name, fresh = match[1], not re.search(rf"\$\{{?{match[1]}\b", line)
        elif match := _UNSET.match(line):
            name = f"{match[1]}()" if " -f" in match[0] else match[1]
        else:
            continue
        yield Bound(name, number, last, blocks.around(number), replaces=fresh)


def bound_in_make(path: str, text: bytes) -> Iterator[Bound]:
    lines = text.decode("latin-1").split("\n")
    blocks = blocks_of(path, text)
    for number, line in enumerate(lines):
        last = number
        if match := _MADE.match(line):
            name = match[1]
            fresh = not re.search(rf"\$[({{]{re.escape(name)}[)}}:]", match[2])
        elif match := _RULE.match(line):
            while last + 1 < len(lines) and lines[last + 1].startswith("\t"):
                last += 1
            name, fresh = f"{match[1]}:", last > number
        else:
            continue
        yield Bound(name, number, last, blocks.around(number), replaces=fresh)
