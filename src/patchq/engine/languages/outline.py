"""Which function, class or kernel a line of source belongs to.

Python is read with its own parser, C, C++ and CUDA with tree-sitter, CMake by its own rules. A file
that does not parse, or of another language, has no symbols: nothing is concluded from it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from patchq.engine.languages.c_text import definitions, pieces
from patchq.engine.languages.cmake_text import LISTS, NotCMakeError, blocks
from patchq.engine.languages.python_text import (
    STAND_IN,
    NotPythonError,
    member_pieces,
    parse,
    statement_pieces,
)
from patchq.recent import kept_for


@dataclass(frozen=True)
class Definition:
    """A definition: qualified name, and its first and last line (0-based, both inside)."""

    name: str
    first: int
    last: int

    def spans(self, first: int, last: int) -> bool:
        """Whether all the lines from ``first`` to ``last`` are inside."""
        return self.first <= first and last <= self.last


@dataclass(frozen=True)
class Outline:
    """The definitions of a file, outer before inner, and where its imports stand."""

    definitions: tuple[Definition, ...]
    imports: tuple[Definition, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Every name defined."""
        return frozenset(definition.name for definition in self.definitions)

    def named(self, name: str) -> Definition | None:
        """The first definition of ``name``."""
        return next((each for each in self.definitions if each.name == name), None)

    def parent(self, definition: Definition) -> Definition | None:
        """The innermost definition around ``definition``."""
        return self._parents.get(definition)

    def children(self, around: Definition | None) -> list[Definition]:
        """The definitions directly inside ``around`` (None: inside the file), in order."""
        inside = [each for each in self.definitions if self._parents.get(each) == around]
        return sorted(inside, key=lambda each: each.first)

    @cached_property
    def _parents(self) -> dict[Definition, Definition]:
        found: dict[Definition, Definition] = {}
        open_: list[Definition] = []
        for each in sorted(self.definitions, key=lambda each: (each.first, -each.last)):
            while open_ and open_[-1].last < each.first:
                open_.pop()
            if open_ and open_[-1].spans(each.first, each.last):
                found[each] = open_[-1]
            open_.append(each)
        return found

    def around(self, first: int, last: int) -> Definition | None:
        """The innermost definition around these lines."""
        inside = [d for d in self.definitions if d.spans(first, last)]
        return min(inside, key=lambda d: d.last - d.first, default=None)

    def in_imports(self, first: int, last: int) -> bool:
        """Whether these lines are inside one import statement."""
        return any(statement.spans(first, last) for statement in self.imports)


@kept_for(32 << 20)
def outline(path: str, content: bytes) -> Outline | None:
    """The outline of a source file, None if it has no language we read or does not parse."""
    reader = _READERS.get(PurePosixPath(path).suffix) or _READERS.get(PurePosixPath(path).name)
    return None if reader is None else reader(content)


def _python(content: bytes) -> Outline | None:
    """The outline by pieces, which are kept: most of a file is unchanged from commit to commit.

    If a piece does not parse (it may begin inside a string), the file is parsed as a whole.
    """
    found, line = list[Outline](), 0
    for piece in statement_pieces(content):
        shown = _class(piece) or _parsed(piece)
        if shown is None:
            return _parsed(content)
        found.append(_moved(shown, line))
        line += piece.count(b"\n")
    return _joined(found) if found else _parsed(content)


def _class(piece: bytes) -> Outline | None:
    """The outline of a class by its members, None if ``piece`` is none or cannot be read so."""
    head, *members = member_pieces(piece)
    around = _parsed(head) if members else None
    if around is None:
        return None
    whole, *own = around.definitions
    found, end = [Outline(tuple(own), around.imports)], whole.last
    line = head.count(b"\n") - 1
    for member in members:
        shown = _parsed(member)
        if shown is None:
            return None
        stand_in, *inside = shown.definitions
        named = [replace(each, name=each.name.replace(STAND_IN, whole.name, 1)) for each in inside]
        found.append(_moved(Outline(tuple(named), shown.imports), line - 1))
        end = stand_in.last + line - 1
        line += member.count(b"\n") - 1
    return _joined([Outline((replace(whole, last=end),)), *found])


def _moved(shown: Outline, lines: int) -> Outline:
    """``shown`` with all line numbers increased by ``lines``."""
    definitions, imports = (
        tuple(Definition(each.name, each.first + lines, each.last + lines) for each in kind)
        for kind in (shown.definitions, shown.imports)
    )
    return Outline(definitions, imports)


def _joined(parts: Sequence[Outline]) -> Outline:
    return Outline(
        tuple(each for part in parts for each in part.definitions),
        tuple(each for part in parts for each in part.imports),
    )


@lru_cache(maxsize=4096)
def _parsed(text: bytes) -> Outline | None:
    try:
        module = parse(text)
    except NotPythonError:
        return None
    found = list(_python_statements(module))
    imports = tuple(
        Definition("import", node.lineno - 1, (node.end_lineno or node.lineno) - 1)
        for _, node in found
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    definitions = tuple(
        Definition(name, _first_line(node), (node.end_lineno or node.lineno) - 1)
        for name, node in found
        if isinstance(node, _PYTHON_DEFINITION)
    )
    return Outline(definitions, imports)


_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
_PYTHON_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1


def _python_statements(module: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Every statement of ``module`` with its qualified name, if it defines one; no expressions."""
    waiting: list[tuple[ast.AST, str]] = [(module, "")]
    while waiting:
        node, prefix = waiting.pop()
        if isinstance(node, _PYTHON_DEFINITION):
            name = f"{prefix}{node.name}"
            yield name, node
            prefix = f"{name}."
        elif isinstance(node, ast.stmt):
            yield "", node
        below = [(child, prefix) for field in _BLOCKS for child in getattr(node, field, ())]
        waiting += reversed(below)


_LARGE = 1 << 16
"""Pieces of at least that many bytes are not kept."""


def _c(content: bytes) -> Outline:
    """The outline by pieces, which are kept.

    A piece with errors, because of a macro, mostly has its function all the same. If one has none,
    the file is parsed as a whole; that is used if it has all names of the pieces.
    """
    found, line, complete = list[Outline](), 0, True
    for piece in pieces(content):
        shown, is_sound = (_parsed_c if len(piece) < _LARGE else _parse_c)(piece)
        complete &= is_sound or bool(shown.definitions) or b"{" not in piece
        found.append(_moved(shown, line))
        line += piece.count(b"\n")
    joined = _joined(found)
    if complete or len(found) == 1:
        return joined
    whole, _ = _parse_c(content)
    return whole if whole.names >= joined.names else joined


def _parse_c(text: bytes) -> tuple[Outline, bool]:
    """The outline of ``text``, and whether it has no errors."""
    found, is_sound = definitions(text)
    return Outline(tuple(Definition(*each) for each in found)), is_sound


_parsed_c = lru_cache(maxsize=4096)(_parse_c)


def _cmake(content: bytes) -> Outline | None:
    try:
        found = [block for block in blocks(content) if block.opened.name in ("function", "macro")]
    except NotCMakeError:
        return None
    return Outline(
        tuple(
            Definition(block.opened.argument.lower(), block.opened.first - 1, block.closed.last - 1)
            for block in sorted(found, key=lambda block: block.opened.first)
        )
    )


_READERS: dict[str, Callable[[bytes], Outline | None]] = {
    ".py": _python,
    ".pyi": _python,
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".cu", ".cuh"), _c),
    ".cmake": _cmake,
    LISTS: _cmake,
}
