"""What a Python module defines, and what some of its lines ask of other modules.

Only what can be told from the text counts: a module that defines names on the fly (``import *``,
``__getattr__``) is *open*, and nothing is said to be missing from it.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from patchq.engine.languages.python_facts import ModuleFacts, dotted
from patchq.engine.languages.python_modules import facts_of
from patchq.engine.languages.python_text import NotPythonError, Walker, attribute_path, parse

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Callee:
    """The parameters that a function or a class can be given by name; ``open``: any."""

    parameters: frozenset[str]
    open: bool


@dataclass(frozen=True)
class ClassNames:
    """The members that a class body and its methods define."""

    members: frozenset[str]


@dataclass(frozen=True)
class ParsedModule:
    """A module as its parser sees it; what it defines is looked up when asked for."""

    tree: ast.Module

    @cached_property
    def _facts(self) -> ModuleFacts:
        return facts_of(self.tree)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name bound at the top level, for type checkers too."""
        return self._facts.names | self._facts.typing_names

    @property
    def open(self) -> bool:
        """Whether it may have names that its text does not tell."""
        return self._facts.open or bool(self._facts.stars)

    @cached_property
    def imports(self) -> dict[str, str]:
        """The dotted path that each imported name stands for, wherever it is imported."""
        return {item.bound: item.path for item in self._facts.imports if item.bound}

    def class_names(self, name: str) -> ClassNames | None:
        """The top-level class ``name``."""
        node = self._definitions.get(name)
        return _class(node) if isinstance(node, ast.ClassDef) else None

    def callee(self, name: str) -> Callee | None:
        """What the top-level function or class ``name`` can be given by name."""
        node = self._definitions.get(name)
        if isinstance(node, ast.ClassDef):
            return _constructor(node)
        return None if node is None else _callee(node)

    @cached_property
    def _definitions(self) -> dict[str, ast.ClassDef | _Function]:
        return {
            node.name: node
            for node in _statements(self.tree.body)
            if isinstance(node, ast.ClassDef | _Function)
        }


@dataclass(frozen=True)
class NameUses:
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


def read_module(content: bytes) -> ParsedModule | None:
    """The module in ``content``, None if it does not parse."""
    try:
        return ParsedModule(parse(content))
    except NotPythonError:
        return None


def read_uses(module: ParsedModule, lines: Collection[int]) -> NameUses:
    """What ``lines`` (from 1) of ``module`` ask for."""
    uses = NameUses()
    _Reader(module, lines, uses).walk(module.tree)
    return uses


class _Reader(Walker[str], ast.NodeVisitor):
    """Walks a module once, noting what the chosen lines use; the place is the class around."""

    def __init__(self, module: ParsedModule, lines: Collection[int], uses: NameUses):
        self._module = module
        self._lines = lines
        self._sorted = sorted(lines)
        self._uses = uses
        self.place = ""

    def visit(self, node: ast.AST) -> None:
        """Go into ``node`` unless it lies off the lines."""
        last = getattr(node, "end_lineno", None)
        if last is None or self._meets(getattr(node, "lineno", last), last):
            super().visit(node)

    def _meets(self, first: int, last: int) -> bool:
        place = bisect_left(self._sorted, first)
        return place < len(self._sorted) and self._sorted[place] <= last

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.place = node.name
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.lineno in self._lines:
                self._uses.imported.add((alias.name, alias.lineno))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        source = _source(node)
        for alias in node.names:
            if alias.lineno in self._lines or node.lineno in self._lines:
                self._uses.imported.add((dotted(source, alias.name), alias.lineno))

    def visit_Name(self, node: ast.Name) -> None:
        if node.lineno in self._lines and isinstance(node.ctx, ast.Load):
            self._uses.names.add((node.id, node.lineno))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        line = node.end_lineno or node.lineno
        if line in self._lines and isinstance(node.ctx, ast.Load):
            self._note(node, line)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        callee = attribute_path(node.func)
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.lineno in self._lines:
                name = ".".join(callee) if callee else ""
                self._uses.keywords.add((name, keyword.arg, keyword.lineno))
        self.generic_visit(node)

    def _note(self, node: ast.Attribute, line: int) -> None:
        path = attribute_path(node)
        if path is not None and path[0] in self._module.imports:
            whole = ".".join([self._module.imports[path[0]], *path[1:]])
            self._uses.attributes.add((whole, line))
        elif path is not None and path[0] in ("self", "cls") and len(path) == 2 and self.place:
            self._uses.members.add((self.place, node.attr, line))
        else:
            self._uses.loose.add((node.attr, line))


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run in the scope of ``body``, those inside blocks included."""
    waiting = [*reversed(body)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.ClassDef | _Function):
            waiting += reversed([*_inside(node)])


def _inside(node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements directly inside ``node``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from child.body


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
    for child in _statements(node.body):
        members.update(_bound(child))
        if isinstance(child, _Function):
            members.update(_own_attributes(child))
    return ClassNames(frozenset(members))


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


def _constructor(node: ast.ClassDef) -> Callee:
    """What a class takes: its ``__init__``'s parameters, or the fields that its body declares."""
    for child in node.body:
        if isinstance(child, _Function) and child.name == "__init__":
            return _callee(child)
    fields = {
        child.target.id
        for child in node.body
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name)
    }
    return Callee(frozenset(fields), not fields)


def _source(node: ast.ImportFrom) -> str:
    return "." * node.level + (node.module or "")
