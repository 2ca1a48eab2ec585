"""Python source, parsed by its own parser.

A text that does not parse, or is nested too deeply, raises :class:`NotPythonError`, nothing else.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from itertools import pairwise
from typing import Generic, TypeVar

_Place = TypeVar("_Place")


class NotPythonError(Exception):
    """A text that does not parse: why, and the line where the parser says so."""

    def __init__(self, text: str, line: int | None = None):
        super().__init__(text)
        self.text = text
        self.line = line


def parse(content: bytes) -> ast.Module:
    """The module in ``content``; raises :class:`NotPythonError`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is not ours to complain of
            return ast.parse(content)
    except SyntaxError as error:
        raise NotPythonError(error.msg, error.lineno) from error
    except (ValueError, LookupError) as error:  # a null byte; an encoding that is none of text
        raise NotPythonError(str(error)) from error
    except (RecursionError, MemoryError) as error:  # either, by the version of the parser
        raise NotPythonError("nested too deeply") from error


STAND_IN = "_stands_for_a_class"
"""The class around a member that is parsed without the others."""
_TOP = re.compile(rb"^(?:@|(?:async[ \t]+)?def\b|class\b|[A-Za-z_])", re.MULTILINE)
_MEMBER = re.compile(rb"^    (?:@|(?:async[ \t]+)?def\b|class\b)", re.MULTILINE)
_CLASS = re.compile(rb"^class\b", re.MULTILINE)
_IN_ONE = re.compile(
    rb"\r(?!\n)|\A(?:[^\n]*\n)?[^\n]*coding[:=]|" + STAND_IN.encode(),
)


def statement_pieces(text: bytes) -> list[bytes]:
    """A module in pieces that can be parsed one by one: definitions with their decorators, and what
    is between two. They are the module if each parses; none if it has to be parsed as a whole."""
    return [] if _IN_ONE.search(text) else _cut(text, _TOP)


def member_pieces(piece: bytes) -> list[bytes]:
    """A class in pieces that can be parsed one by one: its head with ``pass`` as the body, and each
    member in a class :data:`STAND_IN` of one more line. Only ``piece`` itself if it is no class."""
    head, *members = _cut(piece, _MEMBER)
    if not members or not _CLASS.search(head):
        return [piece]
    around = f"class {STAND_IN}:\n".encode()
    return [head + b"    pass\n", *(around + member for member in members)]


def _cut(text: bytes, begins: re.Pattern[bytes]) -> list[bytes]:
    """``text`` in pieces: each definition with its decorators, and what is between two."""
    starts, last = [0], b""
    for match in begins.finditer(text):
        word = match[0].strip()
        if last != b"@" and (len(word) > 1 or word == b"@" or len(last) > 1):
            starts.append(match.start())
        last = word
    return [text[first:end] for first, end in pairwise((*starts, len(text))) if first < end]


class Walker(ast.NodeVisitor, Generic[_Place]):
    """A visitor in the same order, but with a stack of its own: no tree is too deep for it.

    A ``visit_…`` method hands the nodes below to :meth:`later` or :meth:`generic_visit`, which
    come after it has returned, each with the ``place`` that was set as it was handed over.
    """

    place: _Place
    _below: list[tuple[ast.AST, _Place]]

    def walk(self, tree: ast.AST) -> None:
        """Visit ``tree`` and all below it."""
        waiting = [(tree, self.place)]
        while waiting:
            node, self.place = waiting.pop()
            self._below = []
            self.visit(node)
            waiting += reversed(self._below)

    def later(self, nodes: Iterable[ast.AST]) -> None:
        """Visit ``nodes`` next."""
        self._below += [(node, self.place) for node in nodes]

    def generic_visit(self, node: ast.AST) -> None:
        """Visit the children of ``node`` next."""
        self.later(ast.iter_child_nodes(node))


def attribute_path(node: ast.expr) -> tuple[str, ...] | None:
    """``a.b.c`` as its parts, None if it does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else None
