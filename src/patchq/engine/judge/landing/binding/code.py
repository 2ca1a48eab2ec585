"""The names that C, CMake, make and shells bind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from patchq.engine.judge.landing.binding.bound import TAKES_IN, Bound
from patchq.engine.languages.cmake_text import NotCMakeError, commands
from patchq.engine.languages.flow import blocks_of
from patchq.engine.languages.live import parts
from patchq.engine.languages.outline import outline

# C and its family

_DEFINE = re.compile(r"[ \t]*#[ \t]*(?:(?:define|undef)[ \t]+(\w+)|include[ \t]*\"([^\"]+)\")")


def bound_in_c(path: str, text: bytes) -> Iterator[Bound]:
    """The macros and definitions of a file. Of two definitions with one name, none replaces the
    other: they may be overloads."""
    yield from macros_in_c(text)
    shown = outline(path, text)
    for each in shown.definitions if shown else ():
        yield Bound(each.name, each.first, each.last, replaces=False)


def macros_in_c(text: bytes) -> Iterator[Bound]:
    """The ``#define``, ``#undef`` and ``#include "…"`` directives of a file."""
    lines = text.decode("latin-1").split("\n")
    around = parts(text)
    for number, line in enumerate(lines):
        match = _DEFINE.match(line) if "#" in line else None
        if match is None:
            continue
        block = tuple(part[0] for part in around[number])
        if match[2]:
            yield Bound(TAKES_IN + match[2], number, number, block, holds=False)
        else:
            last = number
            while lines[last].endswith("\\") and last + 1 < len(lines):
                last += 1
            missing = re.match(rf"[ \t]*#[ \t]*ifndef[ \t]+{match[1]}\b", lines[number - 1])
            yield Bound(match[1], number, last, block, replaces=not missing)


# CMake, make and shells

_ARGUMENT = r"(?:\"(?:\\.|[^\"\\])*\"|[^\s\"()]+)\s+"
_REPLACED = re.compile(
    rf"\s*\w+\s*\(\s*(?:REGEX\s+)?REPLACE\s+{_ARGUMENT}{_ARGUMENT}(\w+)\s+\"?\$\{{\1\}}",
    re.IGNORECASE,
)
"""A command of CMake that replaces a part of a variable by something else."""
_TARGET = re.compile(r"target_(\w+)")
_PROPERTY = re.compile(r"\b(?:PROPERTIES|PROPERTY)\s+(\w+)")
_PROPERTY_OF = re.compile(r"\(\s*TARGET\s+(\S+)\s+(?:\w+\s+)*PROPERTY\s+(\w+)")
_VARIABLE = re.compile(
    r"[ \t]*(?:(?:export|readonly|declare|typeset|local)[ \t]+(?:-\w+[ \t]+)*)?(\w+)="
    r"(?:[^\s\"'();&|]|\"(?:\\.|[^\"\\])*\"|'[^']*'|\$\([^)]*\))*[ \t]*(?:[;#].*)?"
)
_UNSET = re.compile(r"[ \t]*(?:unset|export[ \t]+-n)[ \t]+(?:-[fv][ \t]+)?(\w[\w \t]*)")
_SOURCES = re.compile(r"[ \t]*(?:\.|source)[ \t]+(\"[^\"]*\"|'[^']*'|[^\s;&|]+)")
_FUNCTION = re.compile(r"[ \t]*(?:function[ \t]+([\w:.-]+)|([\w:.-]+)[ \t]*\([ \t]*\))[ \t({]*")
_MADE = re.compile(r"(?:override[ \t]+|export[ \t]+)*([\w.-]+)[ \t]*(?::{0,3}|[!+])=(.*)")
_UNMADE = re.compile(r"(?:override[ \t]+)?(?:undefine|unexport)[ \t]+([\w.-]+)[ \t]*$")
_INCLUDES = re.compile(r"[-s]?include[ \t]+([^#=:]+)$")
_MADE_FOR = re.compile(r"([^\s:#=$]+)[ \t]*:[ \t]*(?:private[ \t]+)?" + _MADE.pattern)
_RULE = re.compile(r"([^\s:#=.$][^\s:=$]*)[ \t]*:(?![=])")
_WORD = re.compile(
    r"(?:^|(?<=[\s;]))\#.*|(?:[^\s\"'();&|]|\\.|\"(?:\\.|[^\"\\])*\"|'[^']*'|\$\([^)]*\))+|[();&|]+"
)
_GIVEN = re.compile(r"(\w+)=(.*)", re.DOTALL)
_UNSET_FOR = re.compile(r"(?:-u|--unset=?)(\w*)$")
_BEFORE_A_COMMAND = re.compile(
    r"if|then|el(?:if|se)|while|until|do|[{!]|exec|sudo|time|nice|RUN|(?:run|script):|[|>]|env|-.*"
)
_MAKES = frozenset({"make", "gmake", "$(MAKE)", "${MAKE}"})


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
        elif each.name == "string" and (match := _REPLACED.match(said)):
            yield Bound(match[1], first, last, block, scope, holds=False)
        elif target:
            yield Bound(f"{each.argument} {target[1].upper()}", first, last, block, replaces=False)
        elif each.name == "include" and each.argument.strip('"').endswith(".cmake"):
            yield Bound(TAKES_IN + each.argument.strip('"'), first, last, block, scope, holds=False)
        elif each.name == "set_property" and (match := _PROPERTY_OF.search(said)):
            fresh = "APPEND" not in said
            yield Bound(f"{match[1]} {match[2]}", first, last, block, replaces=fresh)
        elif each.name == "set_target_properties":
            for match in _PROPERTY.finditer(said):
                yield Bound(f"{each.argument} {match[1]}", first, last, block)


def bound_in_shell(path: str, text: bytes) -> Iterator[Bound]:
    blocks = blocks_of(path, text)
    lines = text.decode("latin-1").split("\n")
    functions = {number for number, line in enumerate(lines) if _FUNCTION.match(line)}
    for number, line in enumerate(lines):
        block = blocks.around(number)
        if number in functions:
            match = _FUNCTION.match(line)
            starts = (start for start in (number, number + 1) if blocks.end(start) > start)
            name = f"{match[1] or match[2]}()" if match else ""
            yield Bound(name, number, blocks.end(next(starts, number)), block)
        elif match := _VARIABLE.fullmatch(line):
            fresh = _reads(match[1]).search(line) is None
            yield Bound(match[1], number, number, block, replaces=fresh)
        elif match := _UNSET.match(line):
            for name in match[1].split():
                known_as = f"{name}()" if " -f" in match[0] else name
                yield Bound(known_as, number, number, block)
        elif match := _SOURCES.match(line):
            yield Bound(TAKES_IN + match[1].strip("'\""), number, number, block, holds=False)
        else:
            # a variable that is set for a command inside a function counts outside of it too
            own = tuple(each for each in block if each not in functions)
            yield from for_commands(lines, number, own)


def bound_in_make(path: str, text: bytes) -> Iterator[Bound]:
    lines = text.decode("latin-1").split("\n")
    blocks = blocks_of(path, text)
    for number, line in enumerate(lines):
        block = blocks.around(number)
        if line.startswith("\t"):
            yield from for_commands(lines, number, block)
        elif match := _MADE.match(line):
            fresh = "$(filter" in match[2] or _reads(match[1]).search(match[2]) is None
            fresh = fresh and "+=" not in line[: match.start(2)]
            yield Bound(match[1], number, number, block, replaces=fresh)
        elif match := _INCLUDES.match(line):
            yield from (
                Bound(TAKES_IN + file, number, number, block, holds=False)
                for file in match[1].split()
            )
        elif match := _UNMADE.match(line):
            yield Bound(match[1], number, number, block)
        elif match := _MADE_FOR.match(line):
            fresh = _reads(match[2]).search(match[3]) is None
            fresh = fresh and "+=" not in line[: match.start(3)]
            made_for = f"{match[1]}:"
            yield Bound(match[2], number, number, block, replaces=fresh, command=made_for)
        elif match := _RULE.match(line):
            last = number
            while last + 1 < len(lines) and lines[last + 1].startswith("\t"):
                last += 1
            yield Bound(f"{match[1]}:", number, last, block, replaces=last > number)


def bound_in_dockerfile(_path: str, text: bytes) -> Iterator[Bound]:
    """The variables of each stage of a Dockerfile."""
    lines = text.decode("latin-1").split("\n")
    stage, instruction = 0, ""
    for number, line in enumerate(lines):
        words = line.split()
        if not lines[number - 1].endswith("\\") and words:
            instruction = words[0].upper()
            if instruction == "FROM":
                stage = number
            elif instruction == "RUN":
                yield from for_commands(lines, number, (stage,), 1)
            elif instruction == "ENV" and len(words) > 2 and "=" not in words[1]:
                yield Bound(words[1], number, number, (stage,), 1)
        is_set = instruction in ("ENV", "ARG")
        for match in map(_GIVEN.fullmatch, _WORD.findall(line) if is_set else ()):
            if match:
                fresh = _reads(match[1]).search(match[2]) is None
                yield Bound(match[1], number, number, (stage,), 1, replaces=fresh)


def for_commands(
    lines: Sequence[str], number: int, block: tuple[int, ...], scope: int = 0
) -> Iterator[Bound]:
    """The variables that are set or unset for one command: ``X=9 make``, ``make X=9``,
    ``env -u X make``."""
    last = number
    while lines[last].endswith("\\") and last + 1 < len(lines):
        last += 1
    said = " ".join(line.rstrip("\\") for line in lines[number : last + 1])
    if ("=" not in said and "-u" not in said) or (number and lines[number - 1].endswith("\\")):
        return
    command, given = "", list[tuple[str, str]]()
    words = iter(_WORD.findall(said.lstrip("\t @-+")))
    for word in words:
        if word[0] == "#":
            return
        if word[0] in "();&|":
            command, given = "", []
            continue
        match = _GIVEN.fullmatch(word)
        if match and (not command or command in _MAKES):
            given.append((match[1], match[2]))
        elif not command and (match := _UNSET_FOR.match(word)):
            given.append((match[1] or next(words, ""), ""))
        elif not command and not _BEFORE_A_COMMAND.fullmatch(word):
            command = word
        if command:
            for name, value in given:
                fresh = _reads(name).search(value) is None
                yield Bound(name, number, last, block, scope, False, fresh, command)
            given = []


@lru_cache(maxsize=256)
def _reads(name: str) -> re.Pattern[str]:
    """A pattern for the expansion of a variable in a shell or in make."""
    return re.compile(rf"\$[({{]?{re.escape(name)}\b")
