"""What names stand for in a scope of a Python module: bound once, imported, or wrapped."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

Wrapper = tuple[ast.expr, frozenset[str]]
"""What a function returns that does nothing else, and the names of its arguments."""

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def imported_values(module: ast.Module, valued: Collection[str]) -> dict[str, ast.expr]:
    """The names with a value that the module imports, as if each was assigned from a call of it."""
    imports = (node for node in module.body if isinstance(node, ast.ImportFrom))
    names = (alias.asname or alias.name for node in imports for alias in node.names)
    return {name: ast.Call(ast.Name(name), [], []) for name in names if name in valued}


def wrappers(module: ast.Module) -> dict[str, Wrapper]:
    """The functions of the module that only return an expression, of those defined once."""
    found: dict[str, list[Wrapper | None]] = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(wrapper(node))
    return {name: each[0] for name, each in found.items() if len(each) == 1 and each[0]}


def wrapper(node: ast.FunctionDef) -> Wrapper | None:
    statements = node.body[1:] if ast.get_docstring(node, clean=False) else node.body
    match statements:
        case [ast.Return(value=ast.expr() as value)]:
            arguments = (each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg))
            return value, frozenset(arguments)
    return None


def bindings(scope: ast.AST) -> dict[str, list[ast.expr | None]]:
    """All that a scope binds each name to; None for what is not a plain assignment."""
    bound: dict[str, list[ast.expr | None]] = {}
    for node in own_nodes(scope):
        if isinstance(node, ast.Assign):
            single = len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
            for target in node.targets:
                for name in names_in(target):
                    bound.setdefault(name, []).append(node.value if single else None)
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            bound.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            bound.setdefault(node.id, [])
        elif isinstance(node, ast.arg):
            bound.setdefault(node.arg, []).append(None)
        elif isinstance(node, ast.AugAssign | ast.For | ast.NamedExpr | ast.withitem):
            for name in names_in(node):
                bound.setdefault(name, []).append(None)
    return bound


def bound_once(bound: Mapping[str, list[ast.expr | None]]) -> dict[str, ast.expr]:
    """The names that are bound once, by one plain assignment, and to what."""
    return {
        name: values[0]
        for name, values in bound.items()
        if len(values) == 1 and values[0] is not None
    }


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, less those of the scopes in it (their arguments are theirs too)."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, (*SCOPES, ast.Lambda)):
            waiting[:0] = list(ast.iter_child_nodes(node))


def names_in(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


def statements(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        value = getattr(node, name, None)
        if isinstance(value, list):
            yield from value


def has_body(node: ast.AST) -> bool:
    return any(True for _ in statements(node))


def defaults(node: ast.AST) -> list[ast.expr]:
    arguments = getattr(node, "args", None)
    if arguments is None:
        return []
    return [*arguments.defaults, *(each for each in arguments.kw_defaults if each)]


def expressions(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The expressions of one statement itself, each with whether it is its test."""
    for field, value in ast.iter_fields(node):
        if field in ("body", "orelse", "finalbody", "handlers", "cases"):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.expr):
                yield item, field in ("test", "guard")
            elif isinstance(item, ast.withitem):
                yield item.context_expr, False


def inner_tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.IfExp):
        return [node.test]
    return list(node.ifs) if isinstance(node, ast.comprehension) else []
