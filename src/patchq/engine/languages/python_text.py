"""Python source as its own parser sees it, whatever a file of that name may hold.

What cannot be parsed, and what is nested as no one would write it, is an answer and no accident.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
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
    except (RecursionError, MemoryError) as error:  # which of them is the parser's own affair
        raise NotPythonError("nested too deeply") from error


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
