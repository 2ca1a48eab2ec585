"""C, C++ and CUDA as text: cut into pieces that parse by themselves, and their definitions.

tree-sitter reads one piece at a time: an error in it does not spread to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from patchq.engine.languages.live import DIRECTIVE
from patchq.engine.languages.tokens import C_ASIDE

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


class CDefinition(NamedTuple):
    """A definition: its qualified name, first and last line (0-based)."""

    name: str
    first: int
    last: int


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


_END_AT_MARGIN = re.compile(rb"^\}[^\n]*\n", re.MULTILINE)
_BRACE = re.compile(C_ASIDE + rb"|([{}]|/\*)|" + DIRECTIVE, re.MULTILINE)
_CONDITION = re.compile(DIRECTIVE + rb"(?:[^\n\\]|\\.)*", re.DOTALL | re.MULTILINE)


def definitions(text: bytes) -> tuple[list[CDefinition], bool]:
    """The definitions in ``text``, outer before inner, and whether it parses without errors."""
    root = _parser().parse(_without_halves(text)).root_node
    return _definitions(root), not root.has_error


def pieces(content: bytes) -> Iterator[bytes]:
    """``content`` cut after each closing bracket in column 0 that leaves none open."""
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
    """How many more brackets open than close in ``part``, None if it ends inside a comment.

    Only the first branch of a preprocessor condition counts: each may open the same block.
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
    """``piece`` with those preprocessor conditions blanked that only begin or only end in it."""
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


def _definitions(root: Node) -> list[CDefinition]:
    found = list[CDefinition]()
    waiting = [_Place(child, root) for child in reversed(root.named_children)]
    while waiting:
        place = waiting.pop()
        node, prefix, scope, function = place.node, place.prefix, place.scope, place.function
        is_function = node.type == "function_definition"
        whole = place.parent if place.parent.type == "template_declaration" else node
        first = whole.start_point.row
        name = _name(node)
        if is_function and function is not None:
            if node.child_by_field_name("type") is None or name in _STATEMENTS:
                name = None  # a macro with a block, such as a loop
            else:
                # C has no nested functions: an #ifdef hides a brace of the outer one
                prefix = scope
                if place.is_broken and found[function].last >= first:
                    found[function] = found[function]._replace(last=first - 1)
        if name is not None:
            found.append(CDefinition(f"{prefix}{name}", first, node.end_point.row))
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
    """A node to visit: ``prefix`` is for names in it, ``scope`` the same without functions.

    ``function`` is the index of the definition of the function around it, ``is_broken`` whether
    that one has parse errors.
    """

    node: Node
    parent: Node
    prefix: str = ""
    scope: str = ""
    function: int | None = None
    is_broken: bool = False


def _name(node: Node) -> str | None:
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


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
