"""What a Python module defines, and what some of its lines ask of other modules.

Only what can be told from the text counts: a module that defines names on the fly (``import *``,
``__getattr__``) is *open*, and nothing is said to be missing from it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Callee:
    """The parameters that a function or a class can be given by name; ``open``: any."""

    parameters: frozenset[str]
    open: bool


@dataclass(frozen=True)
class ClassNames:
    """The members that a class body and its methods define; ``open`` where a base may add more."""

    members: frozenset[str]
    methods: dict[str, Callee]
    open: bool


@dataclass(frozen=True)
class Module:
    """A module's top-level names, its classes and functions, and what names stand for modules.

    ``imports`` maps a name to the absolute or relative dotted path it was imported from.
    """

    tree: ast.Module
    names: frozenset[str]
    classes: dict[str, ClassNames]
    callees: dict[str, Callee]
    imports: dict[str, str]
    open: bool


@dataclass(frozen=True)
class Uses:
    """What some lines of a module ask for.

    ``imported`` are dotted paths; ``names`` are bound in the module itself; ``members`` are read
    from ``self`` in a class; ``attributes`` are read from the path of an import; ``loose`` are
    attributes and keywords of values nobody can tell the class of; ``keywords`` go to a function.
    """

    imported: set[tuple[str, int]] = field(default_factory=set)
    names: set[tuple[str, int]] = field(default_factory=set)
    members: set[tuple[str, str, int]] = field(default_factory=set)
    attributes: set[tuple[str, int]] = field(default_factory=set)
    keywords: set[tuple[str, str, int]] = field(default_factory=set)
    loose: set[tuple[str, int]] = field(default_factory=set)


def read_module(content: bytes) -> Module | None:
    """The module in ``content``, None where it does not parse."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return None
    names: set[str] = set()
    classes: dict[str, ClassNames] = {}
    callees: dict[str, Callee] = {}
    is_open = False
    for node in _statements(tree.body):
        bound = tuple(_bound(node))
        names.update(bound)
        is_open = is_open or "*" in bound or "__getattr__" in bound
        if isinstance(node, ast.ClassDef):
            classes[node.name] = _class(node)
            callees[node.name] = _constructor(node, classes[node.name])
        elif isinstance(node, _Function):
            callees[node.name] = _callee(node)
    imports = dict(_imports(ast.walk(tree)))
    return Module(tree, frozenset(names), classes, callees, imports, is_open)


def read_uses(module: Module, lines: Collection[int]) -> Uses:
    """What ``lines`` (from 1) of ``module`` ask for."""
    uses = Uses()
    _Reader(module, lines, uses).visit(module.tree)
    return uses


class _Reader(ast.NodeVisitor):
    """Walks a module once, noting what the chosen lines use."""

    def __init__(self, module: Module, lines: Collection[int], uses: Uses):
        self._module = module
        self._lines = lines
        self._uses = uses
        self._class: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:  # noqa: N802
        self._class.append(node.name)
        self.generic_visit(node)
        self._class.pop()

    def visit_Import(self, node: ast.Import) -> None:  # noqa: N802
        for alias in node.names:
            if alias.lineno in self._lines:
                self._uses.imported.add((alias.name, alias.lineno))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:  # noqa: N802
        source = _source(node)
        for alias in node.names:
            if alias.lineno in self._lines or node.lineno in self._lines:
                self._uses.imported.add((_join(source, alias.name), alias.lineno))

    def visit_Name(self, node: ast.Name) -> None:  # noqa: N802
        if node.lineno in self._lines and isinstance(node.ctx, ast.Load):
            self._uses.names.add((node.id, node.lineno))

    def visit_Attribute(self, node: ast.Attribute) -> None:  # noqa: N802
        line = node.end_lineno or node.lineno
        if line in self._lines and isinstance(node.ctx, ast.Load):
            self._note(node, line)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:  # noqa: N802
        callee = _path(node.func)
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.lineno in self._lines:
                name = ".".join(callee) if callee else ""
                self._uses.keywords.add((name, keyword.arg, keyword.lineno))
        self.generic_visit(node)

    def _note(self, node: ast.Attribute, line: int) -> None:
        path = _path(node)
        if path is not None and path[0] in self._module.imports:
            whole = ".".join([self._module.imports[path[0]], *path[1:]])
            self._uses.attributes.add((whole, line))
        elif path is not None and path[0] in ("self", "cls") and len(path) == 2 and self._class:
            self._uses.members.add((self._class[-1], node.attr, line))
        else:
            self._uses.loose.add((node.attr, line))


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run in the scope of ``body``, those inside blocks included."""
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef | _Function):
            continue
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                yield from _statements([child])
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from _statements(child.body)


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement itself binds."""
    if isinstance(node, ast.ClassDef | _Function):
        yield node.name
    elif isinstance(node, ast.Import):
        yield from ((a.asname or a.name.partition(".")[0]) for a in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (a.asname or a.name for a in node.names)
    else:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt):
                yield from _stored(child)


def _stored(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id


def _class(node: ast.ClassDef) -> ClassNames:
    members: set[str] = set()
    methods: dict[str, Callee] = {}
    for child in _statements(node.body):
        members.update(_bound(child))
        if isinstance(child, _Function):
            methods[child.name] = _callee(child)
            members.update(_own_attributes(child))
    known = {"object", "ABC", "Enum", "Protocol"}
    bases = [base for base in node.bases if not (isinstance(base, ast.Name) and base.id in known)]
    return ClassNames(frozenset(members), methods, bool(bases))


def _own_attributes(function: _Function) -> Iterator[str]:
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("self", "cls")
        ):
            yield node.attr


def _callee(function: _Function) -> Callee:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    wrapped = bool(function.decorator_list) or arguments.kwarg is not None
    return Callee(frozenset(argument.arg for argument in every), wrapped)


def _constructor(node: ast.ClassDef, names: ClassNames) -> Callee:
    """What a class takes: its ``__init__``'s parameters, or the fields that its body declares."""
    if "__init__" in names.methods:
        return names.methods["__init__"]
    fields = {
        child.target.id
        for child in node.body
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name)
    }
    return Callee(frozenset(fields), not fields)


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (first, first)
        elif isinstance(node, ast.ImportFrom):
            source = _source(node)
            for alias in node.names:
                yield alias.asname or alias.name, _join(source, alias.name)


def _source(node: ast.ImportFrom) -> str:
    return "." * node.level + (node.module or "")


def _join(source: str, name: str) -> str:
    return f"{source}{name}" if source.endswith(".") else f"{source}.{name}"


def _path(node: ast.expr) -> list[str] | None:
    """``a.b.c`` as its parts, None where it does not begin with a name."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        start = _path(node.value)
        return None if start is None else [*start, node.attr]
    return None
