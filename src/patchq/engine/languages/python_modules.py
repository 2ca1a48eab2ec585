"""Read the text of a Python module: what it says it imports and defines; no code is ever run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from patchq.engine.languages.python_facts import (
    STAR,
    Attempt,
    AttributeUse,
    Import,
    ModuleFacts,
    When,
)
from patchq.engine.languages.python_text import NotPythonError, Walker, attribute_path, parse

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_ATTRIBUTE_ERRORS = {"AttributeError", "Exception", "BaseException"}
_PROBES = {"hasattr", "getattr", "setattr", "delattr"}


def read_facts(content: bytes) -> ModuleFacts:
    """The facts of a module's text."""
    try:
        tree = parse(content)
    except NotPythonError as error:
        return ModuleFacts(error=(error.line or 1, error.text))
    return facts_of(tree)


def facts_of(tree: ast.Module) -> ModuleFacts:
    """The facts of a module that was parsed."""
    reader = _Reader()
    reader.walk(tree)
    return reader.facts()


@dataclass(frozen=True)
class _Place:
    """What is known of where the reader stands."""

    scope: str = "module"
    when: When = When.LOADING
    attempt: Attempt | None = None
    probing: bool = False


@dataclass
class _Reader(Walker[_Place], ast.NodeVisitor):
    """Walks a module once."""

    place: _Place = field(default_factory=_Place)
    imports: list[Import] = field(default_factory=list)
    uses: list[AttributeUse] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    typing_names: set[str] = field(default_factory=set)
    rebound: set[str] = field(default_factory=set)
    probed: set[str] = field(default_factory=set)
    exported: list[str] | None = None
    computed: bool = False
    open: bool = False

    def facts(self) -> ModuleFacts:
        """What was found."""
        imported = {item.bound for item in self.imports} - self.rebound
        uses = dict.fromkeys(
            use
            for use in self.uses
            if use.path[0] in imported and self.probed.isdisjoint(use.path[1:])
        )
        known = None if self.computed or self.exported is None else tuple(self.exported)
        return ModuleFacts(
            imports=tuple(self.imports),
            uses=tuple(uses),
            names=frozenset(self.names),
            typing_names=frozenset(self.typing_names - self.names),
            exported=known,
            open=self.open,
        )

    @contextmanager
    def _at(self, place: _Place) -> Iterator[None]:
        before, self.place = self.place, place
        yield
        self.place = before

    def _bind(self, name: str) -> None:
        """A name that gets a value here."""
        if self.place.scope == "module":
            typing = self.place.when is When.NEVER
            (self.typing_names if typing else self.names).add(name)
            self.open = self.open or name == "__getattr__"

    # -- scopes

    def _function(self, node: _Function) -> None:
        self._bind(node.name)
        self.rebound.add(node.name)
        self.later(node.decorator_list)
        # its annotations and defaults are evaluated where it stands
        self.later([node.args, *([node.returns] if node.returns else [])])
        with self._at(self._inside("function")):
            self.later(node.body)

    def _inside(self, scope: str) -> _Place:
        place = self.place
        if scope == "class":
            return replace(place, scope="class" if place.scope == "module" else place.scope)
        later = place.when if place.when is When.NEVER else When.LATER
        return replace(place, scope="function", when=later, attempt=None)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name)
        self.rebound.add(node.name)
        self.later([*node.decorator_list, *node.bases, *node.keywords])
        with self._at(self._inside("class")):
            self.later(node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        with self._at(self._inside("function")):
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self.later([node.test])
        never, later = replace(self.place, when=When.NEVER), replace(self.place, when=When.LATER)
        body = orelse = self.place
        if _is_type_checking(node.test):
            body = never
        elif isinstance(node.test, ast.UnaryOp) and _is_type_checking(node.test.operand):
            orelse = never
        elif _is_main(node.test):
            body = later
        with self._at(body):
            self.later(node.body)
        with self._at(orelse):
            self.later(node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
        self._try(node)

    def visit_TryStar(self, node: ast.TryStar) -> None:
        self._try(node)

    def _try(self, node: ast.Try | ast.TryStar) -> None:
        caught = {name for handler in node.handlers for name in _caught(handler)}
        probing = self.place.probing or bool(caught & _ATTRIBUTE_ERRORS)
        body = replace(self.place, probing=probing)
        handlers = self.place
        if caught & _IMPORT_ERRORS:
            body = replace(body, attempt=Attempt(node.lineno, False))
            handlers = replace(handlers, attempt=Attempt(node.lineno, True))
        with self._at(body):
            self.later(node.body)
        with self._at(handlers):
            self.later(node.handlers)
        self.later([*node.orelse, *node.finalbody])

    def visit_With(self, node: ast.With) -> None:
        self.later(node.items)
        suppressed = {
            name
            for item in node.items
            if isinstance(item.context_expr, ast.Call)
            and _last_name(item.context_expr.func) == "suppress"
            for argument in item.context_expr.args
            for name in [_last_name(argument)]
        }
        place = self.place
        if suppressed & _IMPORT_ERRORS:
            place = replace(place, attempt=Attempt(node.lineno, False))
        with self._at(replace(place, probing=place.probing or bool(suppressed))):
            self.later(node.body)

    # -- imports

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            first = alias.name.partition(".")[0]
            self._import(alias.name, 0, None, alias.asname or first, alias.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name
            self._import(node.module or "", node.level, alias.name, bound, alias.lineno)

    def _import(self, module: str, level: int, name: str | None, bound: str, line: int) -> None:
        when, attempt = self.place.when, self.place.attempt
        self.imports.append(Import(module, level, name, bound, line, when, attempt))
        if name != STAR:
            self._bind(bound)

    def visit_Call(self, node: ast.Call) -> None:
        function = _last_name(node.func)
        text = [item.value for item in node.args if isinstance(item, ast.Constant)]
        words = [value for value in text if isinstance(value, str)]
        if function in ("import_module", "__import__") and words and len(node.args) == 1:
            if not words[0].startswith("."):
                self._import_called(words[0], node.lineno)
        elif function in _PROBES:
            self.probed.update(words)
        elif function == "exec" and self.place.scope == "module":
            self.open = True
        elif isinstance(node.func, ast.Attribute) and _is_globals(node.func.value):
            self.open = self.open or node.func.attr in ("update", "setdefault", "__setitem__")
        self.generic_visit(node)

    def _import_called(self, module: str, line: int) -> None:
        when, attempt = self.place.when, self.place.attempt
        self.imports.append(Import(module, 0, None, "", line, when, attempt))

    # -- names

    def visit_Global(self, node: ast.Global) -> None:
        self.names.update(node.names)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id)
            self.rebound.add(node.id)

    def visit_arg(self, node: ast.arg) -> None:
        self.rebound.add(node.arg)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._named(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self._named(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self._named(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._named(node.rest)
        self.generic_visit(node)

    def _named(self, name: str | None) -> None:
        if name is not None:
            self._bind(name)
            self.rebound.add(name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = attribute_path(node)
        if path is None:
            self.generic_visit(node)
        elif not isinstance(node.ctx, ast.Load):
            self.probed.add(node.attr)
        elif not self.place.probing:
            self.uses.append(AttributeUse(path, node.end_lineno or node.lineno, self.place.when))

    def visit_Subscript(self, node: ast.Subscript) -> None:
        stored = not isinstance(node.ctx, ast.Load)
        itself = _is_own_entry(node) or _is_globals(node.value)
        self.open = self.open or (stored and itself)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._all_names(target, node.value, more=False)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._all_names(node.target, node.value, more=False)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._all_names(node.target, node.value, more=True)
        self.generic_visit(node)

    def _all_names(self, target: ast.expr, value: ast.expr, *, more: bool) -> None:
        """Read what becomes of ``__all__``."""
        if not (isinstance(target, ast.Name) and target.id == "__all__"):
            return
        items = value.elts if isinstance(value, ast.List | ast.Tuple) else None
        if items is None or not all(isinstance(item, ast.Constant) for item in items):
            self.computed = True
            return
        words = [str(item.value) for item in items if isinstance(item, ast.Constant)]
        self.exported = [*(self.exported or ()), *words] if more else words


def _is_type_checking(test: ast.expr) -> bool:
    return _last_name(test) == "TYPE_CHECKING"


def _is_main(test: ast.expr) -> bool:
    """``__name__ == "__main__"``."""
    if not isinstance(test, ast.Compare):
        return False
    sides: Sequence[ast.expr] = [test.left, *test.comparators]
    return any(_last_name(side) == "__name__" for side in sides)


def _caught(handler: ast.ExceptHandler) -> Iterator[str]:
    kind = handler.type
    if kind is None:
        yield "BaseException"
    for item in kind.elts if isinstance(kind, ast.Tuple) else [kind] if kind else []:
        yield _last_name(item)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_globals(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _last_name(node.func) == "globals"


def _is_own_entry(node: ast.Subscript) -> bool:
    """``sys.modules[__name__]``: the module puts something else in its own place."""
    return attribute_path(node.value) == ("sys", "modules") and _last_name(node.slice) == "__name__"
