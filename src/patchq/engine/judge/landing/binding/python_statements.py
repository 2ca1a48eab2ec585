"""What one statement of Python binds, and what it reads for that."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from patchq.engine.judge.landing.binding.bound import TAKES_IN

HELD = re.compile(r"[.:\[]")
"""Begins the part of a name that is inside of an object."""
_COPYING = frozenset({"dict", "copy", "deepcopy", "replace", "_replace", "OrderedDict"})


@dataclass(frozen=True)
class Binding:
    """A name that a statement binds or removes: the nodes ``said`` do it, and ``read`` others."""

    name: str
    said: Sequence[ast.stmt | ast.expr | ast.alias | ast.keyword]
    read: Iterable[ast.expr] = ()
    replaces: bool = True
    holds: bool = True

    @property
    def is_held(self) -> bool:
        """Whether the name is that of an item, an attribute or an element of an object."""
        return HELD.search(self.name) is not None


def bindings(node: ast.stmt) -> Iterator[Binding]:
    """The names that a statement binds, without those of statements inside it."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield Binding(node.name, [node, *node.decorator_list], node.decorator_list)
        case ast.ClassDef():
            read = [*node.decorator_list, *node.bases]
            yield Binding(node.name, [node, *node.decorator_list], read)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
                for name in filter(None, map(_path, items)):
                    yield Binding(name, [node], [value])
                if name := _of_module(target):
                    yield Binding(name, [node], [value])
                if name := _path(target):
                    yield from held_by(name, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value) if name := _path(target):
            yield Binding(name, [node], [value])
            yield from held_by(name, value)
        case ast.AugAssign(target=target, op=ast.BitOr(), value=value) if name := _path(target):
            yield from _taken(held_by(name, value))
        case ast.AugAssign(target=target, op=ast.Sub(), value=value) if name := _path(target):
            yield from _taken_out(name, value)
        case ast.Delete(targets=targets):
            yield from (Binding(name, [node]) for name in filter(None, map(_path, targets)))
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _passing([target])
        case ast.With(items=items) | ast.AsyncWith(items=items):
            yield from _passing(item.optional_vars for item in items if item.optional_vars)
        case ast.If(test=said) | ast.While(test=said) | ast.Expr(value=ast.NamedExpr() as said):
            found = (each for each in ast.walk(said) if isinstance(each, ast.NamedExpr))
            yield from _passing(each.target for each in found)
        case ast.ImportFrom(names=[ast.alias(name="*") as each], module=module, level=level):
            path = "../" * (level - 1) + (module or "__init__").replace(".", "/") + ".py"
            yield Binding(TAKES_IN + path, [each], holds=False)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (Binding(each.asname or each.name, [each]) for each in names)
        case ast.Expr(value=ast.Call() as call):
            yield from _by_call(call)


def _passing(targets: Iterable[ast.expr]) -> Iterator[Binding]:
    """The names bound by a loop, a ``with`` or a ``:=``; they replace others and hold nothing."""
    for target in targets:
        items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        for item in items:
            if name := _path(item):
                yield Binding(name, [target], holds=False)


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


def _by_call(call: ast.Call) -> Iterator[Binding]:
    match call.func, call.args:
        case ast.Name(id="setattr" | "delattr"), [target, ast.Constant(value=str(name)), *read]:
            path = name if _is_module(target) else f"{_path(target)}.{name}"
            yield Binding(path, [call], read)
        case ast.Attribute(value=value, attr=method), given if name := _path(value):
            match method, given:
                case "pop", [ast.Constant(value=key), *_]:
                    yield Binding(f"{name}[{key!r}]", [call])
                case "clear", []:
                    yield Binding(name, [call], holds=False)
                case "update", _:
                    also = ast.Call(ast.Name("dict"), given, call.keywords)
                    yield from _taken(held_by(name, also))
                case "remove" | "discard", [ast.Constant()]:
                    yield from _taken_out(name, ast.Set(elts=given))
                case "difference_update", [ast.Set() | ast.List() as items]:
                    yield from _taken_out(name, items)


def held_by(name: str, value: ast.expr) -> Iterator[Binding]:
    """The items, attributes and elements in a literal value of ``name``."""
    match value:
        case ast.Dict(keys=keys, values=values):
            for key, each in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant):
                    yield Binding(f"{name}[{key.value!r}]", [key, each], [each])
                    yield from held_by(f"{name}[{key.value!r}]", each)
        case ast.Set(elts=items) | ast.List(elts=items):
            for each in items:
                if isinstance(each, ast.Constant):
                    yield Binding(f"{name}:{each.value!r}", [each], replaces=False)
        case ast.Call(func=func, args=args, keywords=keywords):
            is_dict = isinstance(func, ast.Name) and func.id in ("dict", "OrderedDict")
            for keyword in keywords:
                if keyword.arg:
                    part = f"{name}[{keyword.arg!r}]" if is_dict else f"{name}.{keyword.arg}"
                    yield Binding(part, [keyword], [keyword.value])
                    yield from held_by(part, keyword.value)
            for each in args:
                if is_dict or isinstance(each, ast.Dict | ast.Set | ast.List):
                    yield from held_by(name, each)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from held_by(name, left)
            yield from held_by(name, right)


def _taken(held: Iterable[Binding]) -> Iterator[Binding]:
    return (replace(each, holds=False) for each in held)


def _taken_out(name: str, items: ast.expr) -> Iterator[Binding]:
    return (replace(each, replaces=True, holds=False) for each in held_by(name, items))


def after_all(value: ast.expr) -> ast.expr:
    """The part of a dictionary display after the last ``**``."""
    if not isinstance(value, ast.Dict) or None not in value.keys:
        return value
    first = len(value.keys) - value.keys[::-1].index(None)
    return ast.Dict(keys=value.keys[first:], values=value.values[first:])


def sources(value: ast.expr) -> Iterator[str]:
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


def names_read(node: ast.expr) -> Iterator[str]:
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
