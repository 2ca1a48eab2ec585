"""The names that Python binds: definitions, values, and items, attributes and elements of objects.

An item is named ``d['key']``, an attribute ``d.attribute``, an element of a list or set
``d:'element'``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from patchq.engine.judge.landing.binding.bound import TAKES_IN, Bound
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
_HELD = re.compile(r"[.:\[]")
_COPIES = re.compile(rb"\*\*|\b(?:dict|copy|replace)\(|\|\s*\{")
"""A line that may pass on a copy of an object with other items."""
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "Exception"})
_COPYING = frozenset({"dict", "copy", "deepcopy", "replace", "_replace", "OrderedDict"})


@dataclass(frozen=True)
class _Place:
    """The scopes of a statement: as of :class:`Bound`; ``classes`` is the qualified name of the
    classes around it, ``outer`` the scope around these."""

    block: tuple[int, ...] = ()
    scope: int = 0
    outer: int = 0
    classes: str = ""
    is_local: bool = False


@dataclass(frozen=True)
class _Binding:
    """A name that a statement binds or removes: the nodes ``said`` do it, and ``read`` others."""

    name: str
    said: Sequence[ast.stmt | ast.expr | ast.alias | ast.keyword]
    read: Iterable[ast.expr] = ()
    replaces: bool = True
    holds: bool = True


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
        if part := _HELD.search(each.name):
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
        handler.type is None or not _IMPORT_ERRORS.isdisjoint(_read(handler.type))
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
    for each in _bindings(node):
        known = {part for read in each.read for part in _read(read)}
        more = any(part.rpartition(".")[2] in _MORE_OF_IT for part in known)
        bound = Bound(
            each.name,
            min(part.lineno for part in each.said) - 1,
            max(part.end_lineno or part.lineno for part in each.said) - 1,
            place.block,
            place.scope,
            # other names that a function binds are local, and are rebound all the time
            each.holds and (isinstance(node, _DEFINITIONS) or not place.is_local or _is_held(each)),
            each.replaces and each.name != "_" and not more and not _builds_on(each.name, known),
        )
        yield bound
        if place.classes:
            yield replace(bound, name=place.classes + each.name, scope=place.outer)


def _is_held(each: _Binding) -> bool:
    return _HELD.search(each.name) is not None


def _builds_on(name: str, known: Iterable[str]) -> bool:
    """Whether one of the ``known`` names is the name itself, a part of it, or what contains it."""
    return any(
        part == name or part.startswith((f"{name}.", f"{name}[")) or name.startswith(f"{part}[")
        for part in known
    )


def _bindings(node: ast.stmt) -> Iterator[_Binding]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield _Binding(node.name, [node, *node.decorator_list], node.decorator_list)
        case ast.ClassDef():
            read = [*node.decorator_list, *node.bases]
            yield _Binding(node.name, [node, *node.decorator_list], read)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
                for name in filter(None, map(_path, items)):
                    yield _Binding(name, [node], [value])
                if name := _of_module(target):
                    yield _Binding(name, [node], [value])
                if name := _path(target):
                    yield from _held(name, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value) if name := _path(target):
            yield _Binding(name, [node], [value])
            yield from _held(name, value)
        case ast.AugAssign(target=target, op=ast.BitOr(), value=value) if name := _path(target):
            yield from _taken(_held(name, value))
        case ast.AugAssign(target=target, op=ast.Sub(), value=value) if name := _path(target):
            yield from _taken_out(name, value)
        case ast.Delete(targets=targets):
            yield from (_Binding(name, [node]) for name in filter(None, map(_path, targets)))
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _passing([target])
        case ast.With(items=items) | ast.AsyncWith(items=items):
            yield from _passing(item.optional_vars for item in items if item.optional_vars)
        case ast.If(test=said) | ast.While(test=said) | ast.Expr(value=ast.NamedExpr() as said):
            found = (each for each in ast.walk(said) if isinstance(each, ast.NamedExpr))
            yield from _passing(each.target for each in found)
        case ast.ImportFrom(names=[ast.alias(name="*") as each], module=module, level=level):
            path = "../" * (level - 1) + (module or "__init__").replace(".", "/") + ".py"
            yield _Binding(TAKES_IN + path, [each], holds=False)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (_Binding(each.asname or each.name, [each]) for each in names)
        case ast.Expr(value=ast.Call() as call):
            yield from _by_call(call)


def _passing(targets: Iterable[ast.expr]) -> Iterator[_Binding]:
    """The names bound by a loop, a ``with`` or a ``:=``; they replace others and hold nothing."""
    for target in targets:
        items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        for item in items:
            if name := _path(item):
                yield _Binding(name, [target], holds=False)


def _of_module(target: ast.expr) -> str:
    """The global name that ``globals()["name"]`` or the like sets, empty if it is none."""
    match target:
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id="globals" | "vars"), args=[]),
            slice=ast.Constant(value=str(name)),
        ):
            return name
        case ast.Attribute(value=value, attr=name) if _is_module(value):
            return name
    return ""


def _is_module(node: ast.expr) -> bool:
    return ast.unparse(node) == "sys.modules[__name__]"


def _by_call(call: ast.Call) -> Iterator[_Binding]:
    match call.func, call.args:
        case ast.Name(id="setattr" | "delattr"), [target, ast.Constant(value=str(name)), *read]:
            path = name if _is_module(target) else f"{_path(target)}.{name}"
            yield _Binding(path, [call], read)
        case ast.Attribute(value=value, attr=method), given if name := _path(value):
            match method, given:
                case "pop", [ast.Constant(value=key), *_]:
                    yield _Binding(f"{name}[{key!r}]", [call])
                case "clear", []:
                    yield _Binding(name, [call], holds=False)
                case "update", _:
                    also = ast.Call(ast.Name("dict"), given, call.keywords)
                    yield from _taken(_held(name, also))
                case "remove" | "discard", [ast.Constant()]:
                    yield from _taken_out(name, ast.Set(elts=given))
                case "difference_update", [ast.Set() | ast.List() as items]:
                    yield from _taken_out(name, items)


def _held(name: str, value: ast.expr) -> Iterator[_Binding]:
    """The items, attributes and elements in a literal value of ``name``."""
    match value:
        case ast.Dict(keys=keys, values=values):
            for key, each in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant):
                    yield _Binding(f"{name}[{key.value!r}]", [key, each], [each])
                    yield from _held(f"{name}[{key.value!r}]", each)
        case ast.Set(elts=items) | ast.List(elts=items):
            for each in items:
                if isinstance(each, ast.Constant):
                    yield _Binding(f"{name}:{each.value!r}", [each], replaces=False)
        case ast.Call(func=func, args=args, keywords=keywords):
            is_dict = isinstance(func, ast.Name) and func.id in ("dict", "OrderedDict")
            for keyword in keywords:
                if keyword.arg:
                    part = f"{name}[{keyword.arg!r}]" if is_dict else f"{name}.{keyword.arg}"
                    yield _Binding(part, [keyword], [keyword.value])
                    yield from _held(part, keyword.value)
            for each in args:
                if is_dict or isinstance(each, ast.Dict | ast.Set | ast.List):
                    yield from _held(name, each)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _held(name, left)
            yield from _held(name, right)


def _taken(held: Iterable[_Binding]) -> Iterator[_Binding]:
    return (replace(each, holds=False) for each in held)


def _taken_out(name: str, items: ast.expr) -> Iterator[_Binding]:
    return (replace(each, replaces=True, holds=False) for each in _held(name, items))


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
        for source in _sources(each):
            for item in _held(source, _after_all(each)):
                bound = Bound(item.name, at, at, place.block, place.scope, holds=False)
                yield from _seen(replace(bound, replaces=item.replaces))


def _after_all(value: ast.expr) -> ast.expr:
    """The part of a dictionary display after the last ``**``."""
    if not isinstance(value, ast.Dict) or None not in value.keys:
        return value
    first = len(value.keys) - value.keys[::-1].index(None)
    return ast.Dict(keys=value.keys[first:], values=value.values[first:])


def _sources(value: ast.expr) -> Iterator[str]:
    """The names of the objects that a value is, or is a copy of."""
    match value:
        case ast.Dict(keys=keys, values=values):
            copied = [each for key, each in zip(keys, values, strict=True) if key is None]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[source]) if (
            name in _COPYING
        ):
            copied = [source]
        case ast.Call(func=ast.Attribute(value=source, attr=name), args=[]) if name in _COPYING:
            copied = [source]
        case ast.BinOp(left=source, op=ast.BitOr()):
            copied = [source]
        case _:
            copied = [value]
    yield from filter(None, map(_path, copied))


def _copies(node: ast.stmt, place: _Place) -> Iterator[tuple[str, Bound]]:
    """The other names that an assignment gives to an object or to a copy of it."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            at = node.lineno - 1
            for source in _sources(value):
                yield source, Bound(name, at, at, place.block, place.scope)


def _seen(bound: Bound) -> Iterator[Bound]:
    """A binding as a function sees it and, if it is unconditional, as one of the module."""
    yield bound
    if bound.block and max(bound.block) < 0:
        yield replace(bound, block=(), scope=0, holds=False)


def _read(node: ast.expr) -> Iterator[str]:
    """The names that an expression reads."""
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.expr) and (name := _path(each)):
            yield name
        else:
            waiting.extend(ast.iter_child_nodes(each))


def _path(node: ast.expr) -> str:
    """The name of a variable, or of an item or attribute of one; empty if it has none."""
    parts: list[str] = []
    while True:
        match node:
            case ast.Name(id=name):
                return name + "".join(reversed(parts))
            case ast.Attribute(value=node, attr=attribute):
                parts.append(f".{attribute}")
            case ast.Subscript(value=node, slice=ast.Constant(value=key)):
                parts.append(f"[{key!r}]")
            case ast.Call(
                func=ast.Attribute(value=node, attr="get" | "pop" | "setdefault"),
                args=[ast.Constant(value=key), *_],
            ):
                parts.append(f"[{key!r}]")
            case _:
                return ""
