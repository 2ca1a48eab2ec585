"""Which names the lines of a file are about, and which of these another line has taken.

A line may stand as it landed while what it is part of is defined anew further down, or while its
function became ``old_…`` and another one has its name.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from patchq.engine.languages.cmake_text import NotCMakeError, commands, is_cmake
from patchq.engine.languages.flow import blocks_of, is_shell
from patchq.engine.languages.live import CONDITION
from patchq.engine.languages.outline import outline
from patchq.engine.languages.python_text import NotPythonError, attribute_path, parse
from patchq.engine.languages.tokens import Family, family


@dataclass(frozen=True)
class Bound:
    """A name that lines from ``first`` to ``last`` bind: a definition, a value, a key.

    ``block`` are the conditional blocks and the scopes around it, the first ``scope`` of which the
    name belongs to. ``holds`` if what these lines do is what the name stands for; ``replaces`` if
    nothing of what the name stood for before is left.
    """

    name: str
    first: int
    last: int
    block: tuple[int, ...] = ()
    scope: int = 0
    holds: bool = True
    replaces: bool = True

    def takes(self, other: Bound) -> bool:
        """Whether it takes the name from ``other``, which stands above, in every case."""
        return (
            self.replaces
            and self.name == other.name
            and self.first > other.last
            and self.scope == other.scope <= len(self.block)
            and other.block[: len(self.block)] == self.block
        )


class FileNames:
    """The names that a file binds."""

    def __init__(self, path: str, text: bytes):
        self._path = path
        self._text = text

    def keeps(self, number: int, now: FileNames, place: int) -> bool:
        """Whether what a line was part of has its names yet, as far as anything has, and they
        stand for it where the line is at ``place`` now."""
        before, after = self._around(number), now._around(place)
        left = {each.name for each in after}
        return not any(
            now._count[each.name] >= self._count[each.name]
            for each in before
            if each.name not in left
        ) and now._taken(place, after) <= self._taken(number, before)

    def written_out(self, number: int) -> set[str]:
        """The names of what a line is part of, or binds, if what uses it has to write them."""
        if _reader(self._path, self._text) not in (_c, _cmake, _make, _shell):
            return set()
        found = {_symbol(each.name) for each in self._around(number)}
        return {name for name in found if _WRITTEN.fullmatch(name)}

    def has(self, name: str) -> bool:
        """Whether the file binds what others write as ``name``."""
        return any(_symbol(each.name) == name for each in self._bound)

    def _around(self, number: int) -> list[Bound]:
        return [each for each in self._bound if each.holds and each.first <= number <= each.last]

    def _taken(self, number: int, around: Iterable[Bound]) -> int:
        """How often other lines take one of these names; or, by a macro, what the line calls."""
        taken = sum(other.takes(each) for each in around for other in self._bound)
        if family(self._path) is not Family.C:
            return taken
        called = set(_CALLED.findall(self._lines[number]))
        called |= {each.name for each in around if not each.replaces}
        return taken + sum(self._macros[name] for name in called)

    @cached_property
    def _bound(self) -> tuple[Bound, ...]:
        reader = _reader(self._path, self._text)
        return tuple(reader(self._path, self._text)) if reader else ()

    @cached_property
    def _count(self) -> Counter[str]:
        return Counter(each.name for each in self._bound)

    @cached_property
    def _macros(self) -> Counter[str]:
        return Counter(each.name for each in self._bound if each.replaces)

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.decode("latin-1").split("\n")


_CALLED = re.compile(r"(\w+)\s*\(")
_WRITTEN = re.compile(r"[\w.+-]+", re.ASCII)
"""A name that is not made of others: ``${prefix}_sources`` is."""


def _symbol(name: str) -> str:
    """A name as others write it."""
    return name.rpartition("::")[2].split(" ")[0].rstrip("():")


def _reader(path: str, text: bytes) -> Callable[[str, bytes], Iterator[Bound]] | None:
    kind, name = family(path), PurePosixPath(path)
    if kind is Family.PYTHON:
        return _python
    if kind is Family.C:
        return _c
    if is_cmake(path):
        return _cmake
    if name.suffix in (".yaml", ".yml", ".json"):
        return _keyed
    if name.suffix in (".toml", ".ini", ".cfg", ".properties"):
        return _sectioned
    if name.suffix in (".mk", ".mak") or name.name.lower() in ("makefile", "gnumakefile"):
        return _make
    return _shell if is_shell(path, text) else None


# Python


_BRANCHES = ("body", "orelse", "finalbody", "handlers", "cases")
_MORE_OF_IT = frozenset({"overload", "register", "setter", "getter", "deleter"})
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class _Place:
    """Where a statement of Python is; ``classes`` are those around it within ``outer``."""

    block: tuple[int, ...] = ()
    scope: int = 0
    outer: int = 0
    classes: str = ""
    is_local: bool = False


def _python(_path: str, text: bytes) -> Iterator[Bound]:
    try:
        waiting: list[tuple[ast.AST, _Place]] = [(parse(text), _Place())]
    except NotPythonError:
        return
    while waiting:
        node, place = waiting.pop()
        for branch in _BRANCHES:
            below = getattr(node, branch, None) or []
            block = place.block
            if below and not isinstance(node, ast.Module | _DEFINITIONS | ast.With):
                block = (*block, getattr(below[0], "lineno", getattr(node, "lineno", 0)))
            for child in below:
                inner = _Place(block, place.scope, place.outer, place.classes, place.is_local)
                yield from _statement(child, inner)
                waiting.append((child, _inside(child, inner)))


def _inside(node: ast.AST, place: _Place) -> _Place:
    if not isinstance(node, _DEFINITIONS):
        return place
    block = (*place.block, -node.lineno)
    if isinstance(node, ast.ClassDef):
        classes = f"{place.classes}{node.name}."
        return _Place(block, len(block), place.outer, classes, place.is_local)
    return _Place(block, len(block), len(block), "", True)


def _statement(node: ast.AST, place: _Place) -> Iterator[Bound]:
    if not isinstance(node, ast.stmt):
        return
    for name, read, said in _names_of(node):
        decorators = (each.lineno for each in getattr(said, "decorator_list", ()))
        first = min([said.lineno, *decorators]) - 1
        last = (said.end_lineno or said.lineno) - 1
        known = {part for each in read for part in _read(each)}
        replaces = name != "_" and name not in known and _MORE_OF_IT.isdisjoint(known)
        holds = isinstance(node, _DEFINITIONS) or not place.is_local
        scopes = [(name, place.scope)]
        if place.classes:
            scopes.append((place.classes + name, place.outer))
        for known_as, scope in scopes:
            yield Bound(known_as, first, last, place.block, scope, holds, replaces)


def _names_of(
    node: ast.stmt,
) -> Iterator[tuple[str, Sequence[ast.expr], ast.stmt | ast.alias]]:
    """The names that a statement binds or takes away, what is read for that, and what says it."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield node.name, node.decorator_list, node
        case ast.ClassDef():
            yield node.name, [*node.decorator_list, *node.bases], node
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
                yield from ((name, [value], node) for item in items if (name := _dotted(item)))
        case ast.AnnAssign(target=target, value=ast.expr() as value) if _dotted(target):
            yield _dotted(target), [value], node
        case ast.Delete(targets=targets):
            yield from ((name, (), node) for target in targets if (name := _dotted(target)))
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((each.asname or each.name, (), each) for each in names)
        case ast.Expr(
            value=ast.Call(
                func=ast.Name(id="setattr"), args=[target, ast.Constant(value=str(name)), value]
            )
        ):
            yield f"{_dotted(target)}.{name}", [value], node


def _read(node: ast.expr) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.expr) and (name := _dotted(each)):
            yield name
            yield name.rpartition(".")[2] if name.rpartition(".")[2] in _MORE_OF_IT else name


def _dotted(node: ast.expr) -> str:
    return ".".join(attribute_path(node) or ())


# C and its family

_DEFINE = re.compile(r"[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)")


def _c(path: str, text: bytes) -> Iterator[Bound]:
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


def _cmake(path: str, text: bytes) -> Iterator[Bound]:
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


def _shell(path: str, text: bytes) -> Iterator[Bound]:
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


def _make(path: str, text: bytes) -> Iterator[Bound]:
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


# Keys

_KEY = re.compile(r"[\"']?([^\s\"':{}\[\],#][^\"':]*)[\"']?\s*:(?:\s|$)")
_SECTION = re.compile(r"\s*(\[\[?)([^\]]+)\]")
_SETTING = re.compile(r"\s*[\"']?([\w.-]+)[\"']?\s*=(?!=)")


def _keyed(_path: str, text: bytes) -> Iterator[Bound]:
    """The keys of YAML and JSON, by indentation."""
    lines = text.decode("latin-1").split("\n")
    open_: list[tuple[int, int, bool, str]] = []  # column, line, whether an item, key
    last = document = 0

    def closed(column: int, *, item: bool) -> Iterator[Bound]:
        while open_ and (open_[-1][0], open_[-1][2] or not item) >= (column, True):
            _, first, is_item, key = open_.pop()
            block = (document, *(~line if dash else line for _, line, dash, _ in open_))
            if key and not is_item:
                yield Bound(key, first, last, block, len(block))

    for number, line in enumerate(lines):
        said = line.strip()
        if not said or said.startswith("#"):
            continue
        column = len(line) - len(line.lstrip())
        yield from closed(column, item=said.startswith("- "))
        last = number
        if said == "---":
            document = number
        while said.startswith("- "):
            open_.append((column, number, True, ""))
            rest = said[2:].lstrip()
            column, said = column + len(said) - len(rest), rest
        match = _KEY.match(said)
        open_.append((column, number, False, match[1] if match else ""))
    yield from closed(0, item=False)


def _sectioned(_path: str, text: bytes) -> Iterator[Bound]:
    """The settings of TOML and INI, each with the section that it is in."""
    section, array, entry = "", "", 0
    for number, line in enumerate(text.decode("latin-1").split("\n")):
        if match := _SECTION.match(line):
            section = match[2].strip()
            if len(match[1]) > 1:
                array, entry = section, number
            if array and f"{section}.".startswith(f"{array}."):
                section = f"{section}#{entry}"
        elif match := _SETTING.match(line):
            yield Bound(f"{section}\n{match[1]}", number, number)
