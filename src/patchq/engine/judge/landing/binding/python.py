"""The names that Python binds: definitions, values, and items, attributes and elements of objects.

An item is named ``d['key']``, an attribute ``d.attribute``, an element of a list or set
``d:'element'``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from patchq.engine.judge.landing.binding.bound import Bound
from patchq.engine.judge.landing.binding.python_statements import (
    HELD,
    after_all,
    bindings,
    held_by,
    names_read,
    sources,
)
from patchq.engine.languages.python_text import (
    STAND_IN,
    NotPythonError,
    member_pieces,
    parse,
    statement_pieces,
)
from patchq.recent import kept_for

_BRANCHES = ("body", "orelse", "finalbody", "handlers", "cases")
_MORE_OF_IT = frozenset({"overload", "register", "setter", "getter", "deleter"})
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_COPIES = re.compile(rb"\*\*|\b(?:dict|copy|replace)\(|\|\s*\{")
"""A line that may pass on a copy of an object with other items."""
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "Exception"})


@dataclass(frozen=True)
class _Place:
    """The scopes of a statement: as of :class:`Bound`; ``classes`` is the qualified name of the
    classes around it, ``outer`` the scope around these."""

    block: tuple[int, ...] = ()
    scope: int = 0
    outer: int = 0
    classes: str = ""
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    """What statements bind, and the names that they give to what others stand for."""

    bound: Sequence[Bound] = ()
    copies: Sequence[tuple[str, Bound]] = ()


def bound_in_python(_path: str, text: bytes) -> Iterator[Bound]:
    """The names that a text binds; none if it does not parse."""
    said = _by_pieces(text) or _parsed(text) or _Found()
    yield from said.bound
    held: dict[str, list[Bound]] = {}
    for each in said.bound:
        if part := HELD.search(each.name):
            held.setdefault(each.name[: part.start()], []).append(each)
    for source, copy in said.copies:
        for each in held.get(copy.name, ()):
            if each.takes(replace(copy, name=each.name)):
                yield from _seen(replace(each, name=source + each.name.removeprefix(copy.name)))


def _by_pieces(text: bytes) -> _Found | None:
    """What a text says by its pieces, which are kept: most of a file is as it was one commit
    before. None if it has to be parsed as one."""
    found, line = list[_Found](), 0
    for piece in statement_pieces(text):
        said = _class(piece) or _parsed(piece)
        if said is None:
            return None
        found.append(_moved(said, line))
        line += piece.count(b"\n")
    return _joined(found) if found else None


def _class(piece: bytes) -> _Found | None:
    """What a class says by its members, None if ``piece`` is none or cannot be read so."""
    head, *members = member_pieces(piece)
    around = _parsed(head) if members else None
    if around is None:
        return None
    whole, *others = around.bound
    at = next((n for n, row in enumerate(head.split(b"\n"), 1) if row.startswith(b"class")), 0)
    found, last, line = list[_Found](), whole.last, head.count(b"\n") - 1
    for member in members:
        said = _parsed(member)
        if said is None:
            return None
        stand_in, *inside = said.bound
        found.append(_moved(_Found(inside, said.copies), line - 1, around=(whole.name, at)))
        last = stand_in.last + line - 1
        line += member.count(b"\n") - 1
    own = _Found([replace(whole, last=last), *others], around.copies)
    return _joined([own, *found])


def _moved(said: _Found, lines: int, around: tuple[str, int] | None = None) -> _Found:
    """``said`` so many lines further down; the class ``around`` it has that name, on that line."""
    if not lines and around is None:
        return said
    name, at = around or ("", 0)

    def moved(each: Bound) -> Bound:
        block = tuple(
            -at if around and part == -1 else part + (lines if part > 0 else -lines)
            for part in each.block
        )
        called = each.name.replace(STAND_IN, name, 1) if around else each.name
        first, last = each.first + lines, each.last + lines
        rest = each.holds, each.replaces, each.command
        return Bound(called, first, last, block, each.scope, *rest)

    return _Found(
        [moved(each) for each in said.bound],
        [(source, moved(copy)) for source, copy in said.copies],
    )


def _joined(parts: Sequence[_Found]) -> _Found:
    return _Found(
        [each for part in parts for each in part.bound],
        [each for part in parts for each in part.copies],
    )


@kept_for(4 << 20)
def _parsed(text: bytes) -> _Found | None:
    """What a text says, None if it does not parse."""
    try:
        waiting: list[tuple[ast.AST, _Place]] = [(parse(text), _Place())]
    except NotPythonError:
        return None
    copying = {n for n, line in enumerate(text.split(b"\n"), 1) if _COPIES.search(line)}
    found: list[Bound] = []
    copies: list[tuple[str, Bound]] = []
    while waiting:
        node, place = waiting.pop()
        for branch in _BRANCHES:
            below = getattr(node, branch, None) or []
            block = place.block
            if below and not isinstance(node, ast.Module | _DEFINITIONS | ast.With):
                block = (*block, getattr(below[0], "lineno", getattr(node, "lineno", 0)))
            tried = branch == "body" and _is_fallback(node)
            for child in below:
                is_taken = tried and isinstance(child, ast.Import | ast.ImportFrom)
                inner = place if is_taken else replace(place, block=block)
                if isinstance(child, ast.stmt):
                    found += _bound_by(child, inner)
                    found += _handed_over(child, inner, copying)
                    copies += _copies(child, inner)
                waiting.append((child, _inside(child, inner)))
    return _Found(found, copies)


def _is_fallback(node: ast.AST) -> bool:
    """Whether a statement is a ``try`` with a handler for a failed import."""
    return isinstance(node, ast.Try) and any(
        handler.type is None or not _IMPORT_ERRORS.isdisjoint(names_read(handler.type))
        for handler in node.handlers
    )


def _inside(node: ast.AST, place: _Place) -> _Place:
    if not isinstance(node, _DEFINITIONS):
        return place
    block = (*place.block, -node.lineno)
    if isinstance(node, ast.ClassDef):
        classes = f"{place.classes}{node.name}."
        return _Place(block, len(block), place.outer, classes, place.is_local)
    return _Place(block, len(block), len(block), "", True)


def _bound_by(node: ast.stmt, place: _Place) -> Iterator[Bound]:
    for each in bindings(node):
        known = {part for read in each.read for part in names_read(read)}
        more = any(part.rpartition(".")[2] in _MORE_OF_IT for part in known)
        bound = Bound(
            each.name,
            min(part.lineno for part in each.said) - 1,
            max(part.end_lineno or part.lineno for part in each.said) - 1,
            place.block,
            place.scope,
            # other names that a function binds are local, and are rebound all the time
            each.holds and (isinstance(node, _DEFINITIONS) or not place.is_local or each.is_held),
            each.replaces and each.name != "_" and not more and not _builds_on(each.name, known),
        )
        yield bound
        if place.classes:
            yield replace(bound, name=place.classes + each.name, scope=place.outer)


def _builds_on(name: str, known: Iterable[str]) -> bool:
    """Whether one of the ``known`` names is the name itself, a part of it, or what contains it."""
    return any(
        part == name or part.startswith((f"{name}.", f"{name}[")) or name.startswith(f"{part}[")
        for part in known
    )


def _handed_over(node: ast.stmt, place: _Place, lines: set[int]) -> Iterator[Bound]:
    """The items that an expression such as ``{**d, 'key': 1}`` replaces in a copy of an object."""
    if any(hasattr(node, branch) for branch in _BRANCHES):
        return
    if lines.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
        return
    at = node.lineno - 1
    for each in ast.walk(node):
        if not isinstance(each, ast.expr):
            continue
        for source in sources(each):
            for item in held_by(source, after_all(each)):
                bound = Bound(item.name, at, at, place.block, place.scope, holds=False)
                yield from _seen(replace(bound, replaces=item.replaces))


def _copies(node: ast.stmt, place: _Place) -> Iterator[tuple[str, Bound]]:
    """The other names that an assignment gives to an object or to a copy of it."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            at = node.lineno - 1
            for source in sources(value):
                yield source, Bound(name, at, at, place.block, place.scope)


def _seen(bound: Bound) -> Iterator[Bound]:
    """A binding as a function sees it and, if it is unconditional, as one of the module."""
    yield bound
    if bound.block and max(bound.block) < 0:
        yield replace(bound, block=(), scope=0, holds=False)
