"""Which function, class or kernel a line of source belongs to.

Python is read with its own parser, C, C++ and CUDA with tree-sitter, CMake by its own rules. A file
that does not parse, or of another language, has no symbols: nothing is concluded from it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from patchq.engine.languages.cmake_text import LISTS, NotCMakeError, blocks
from patchq.engine.languages.live import DIRECTIVE
from patchq.engine.languages.python_text import (
    STAND_IN,
    NotPythonError,
    member_pieces,
    parse,
    statement_pieces,
)
from patchq.engine.languages.tokens import C_ASIDE
from patchq.recent import kept_for

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


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
    """Parse each piece by itself, and keep it: most of a file is as it was one commit before.

    A file whose pieces do not parse (one may begin inside a string) is parsed as a whole.
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
    """``shown`` so many lines further down."""
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


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


_END_AT_MARGIN = re.compile(rb"^\}[^\n]*\n", re.MULTILINE)
_BRACE = re.compile(C_ASIDE + rb"|([{}]|/\*)|" + DIRECTIVE, re.MULTILINE)
_CONDITION = re.compile(DIRECTIVE + rb"(?:[^\n\\]|\\.)*", re.DOTALL | re.MULTILINE)
_LARGE = 1 << 16
"""Pieces of that many bytes are not kept."""


def _cuda(content: bytes) -> Outline:
    """Parse each piece by itself, and keep it, as of Python.

    One with errors, for lack of a macro, still gives its function. If it gives none, what stands
    around it may tell.
    """
    found, line, complete = list[Outline](), 0, True
    for piece in _c_pieces(content):
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
    root = _parser().parse(_without_halves(text)).root_node
    return Outline(tuple(_cuda_definitions(root))), not root.has_error


_parsed_c = lru_cache(maxsize=4096)(_parse_c)


def _c_pieces(content: bytes) -> Iterator[bytes]:
    """``content`` cut behind each bracket at the margin that closes all that is open."""
    start = last = open_ = 0
    for match in _END_AT_MARGIN.finditer(content):
        braces = _braces(content[last : match.end()])
        if braces is None:
            continue
        last, open_ = match.end(), open_ + braces
        if not open_:
            yield content[start:last]
            start = last
    if start < len(content):
        yield content[start:]


@lru_cache(maxsize=4096)
def _braces(part: bytes) -> int | None:
    """How many more open than close in ``part``, None if it ends inside a comment.

    Of the branches of a condition only the first counts: each may open the same block.
    """
    braces, others = 0, list[bool]()
    for sign, directive in _BRACE.findall(part):
        if sign == b"/*":
            return None
        if sign:
            if not any(others):
                braces += 1 if sign == b"{" else -1
        elif directive == b"endif":
            del others[-1:]
        elif directive.startswith(b"if"):
            others.append(False)
        elif directive:
            others[-1:] = [True]
    return braces


def _without_halves(piece: bytes) -> bytes:
    """``piece`` without those conditions of the preprocessor that only begin or end in it."""
    open_: list[list[re.Match[bytes]]] = [[]]
    for match in _CONDITION.finditer(piece):
        if match[1].startswith(b"if"):
            open_.append([])
        open_[-1].append(match)
        if match[1] == b"endif" and len(open_) > 1:
            open_.pop()
    blanked = bytearray(piece)
    for match in chain.from_iterable(open_):
        blanked[match.start() : match.end()] = re.sub(rb"[^\n]", b" ", match[0])
    return bytes(blanked)


def _cuda_definitions(root: Node) -> list[Definition]:
    found: list[Definition] = []
    waiting = [_Place(child, root) for child in reversed(root.named_children)]
    while waiting:
        place = waiting.pop()
        node, prefix, scope, function = place.node, place.prefix, place.scope, place.function
        is_function = node.type == "function_definition"
        whole = place.parent if place.parent.type == "template_declaration" else node
        first = whole.start_point.row
        name = _cuda_name(node)
        if is_function and function is not None:
            if node.child_by_field_name("type") is None or name in _STATEMENTS:
                name = None  # a macro and its block, such as a loop
            else:
                # C has no function in a function: an #ifdef has one half of the braces
                prefix = scope
                if place.is_broken and found[function].last >= first:
                    found[function] = replace(found[function], last=first - 1)
        if name is not None:
            found.append(Definition(f"{prefix}{name}", first, node.end_point.row))
            scope = prefix if is_function else f"{prefix}{name}::"
            prefix = f"{prefix}{name}::"
            function = len(found) - 1 if is_function else None
        is_broken = node.has_error if is_function and name else place.is_broken
        waiting += [
            _Place(child, node, prefix, scope, function, is_broken)
            for child in reversed(node.named_children)
            if not child.type.endswith(_WITHOUT_DEFINITIONS)
        ]
    return found


_STATEMENTS = ("if", "for", "while", "switch", "return")
_WITHOUT_DEFINITIONS = ("_expression", "_literal", "argument_list", "comment")


class _Place(NamedTuple):
    """A node to look at: ``prefix`` is for names in it, ``scope`` the same without functions.

    ``function`` is the place in the list of the function around it, ``is_broken`` whether that one
    did not parse without errors.
    """

    node: Node
    parent: Node
    prefix: str = ""
    scope: str = ""
    function: int | None = None
    is_broken: bool = False


def _cuda_name(node: Node) -> str | None:
    if node.type in ("class_specifier", "struct_specifier", "enum_specifier"):
        field = node.child_by_field_name("name")
        return _text(field) if field and node.child_by_field_name("body") else None
    if node.type != "function_definition":
        return None
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (c for c in declarator.named_children if c.type.endswith("declarator")), None
        )
    field = declarator.child_by_field_name("declarator") if declarator else None
    return _text(field) if field else None


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


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


_READERS: dict[str, Callable[[bytes], Outline | None]] = {
    ".py": _python,
    ".pyi": _python,
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".cu", ".cuh"), _cuda),
    ".cmake": _cmake,
    LISTS: _cmake,
}
