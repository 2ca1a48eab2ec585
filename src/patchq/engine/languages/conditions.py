"""Conditions on what the hardware can do, evaluated for one target as far as the text tells.

In Python a condition is the test of a statement or a truth-valued expression that calls one of
the capability helpers, uses a name that was assigned from one, or calls a function of the module
that only returns one. Everything else in it is unknown, and ``and``, ``or`` and ``not`` carry the
unknown along (Kleene's three-valued logic).
"""

from __future__ import annotations

import ast
import operator
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from patchq.engine.languages.python_scopes import (
    SCOPES,
    Wrapper,
    bindings,
    bound_once,
    defaults,
    expressions,
    has_body,
    imported_values,
    inner_tests,
    statements,
    wrappers,
)
from patchq.engine.languages.python_text import NotPythonError, parse

Value = bool | int | tuple[int, ...]

_UNKNOWN = object()
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_MADE: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "bool": bool, "int": int}
_TRUTHS = (ast.BoolOp, ast.Compare)
_NEWLINE = re.compile(rb"\r\n|\r|\n")
_MOST_DEPTH = 40
"""How many names are followed from one to the next."""


@dataclass(frozen=True)
class Condition:
    """A condition: the function it stands in (dotted, empty at the top), line, text, and answer.

    ``leaves`` says that the branch it guards ends by leaving (return, raise, continue, break);
    ``end`` is its last line.
    """

    function: str
    line: int
    text: str
    answer: bool | None
    leaves: bool = False
    end: int = 0

    @property
    def admits(self) -> bool | None:
        """Whether the target gets past it: into a guarded branch, or not into one that leaves."""
        return None if self.answer is None else self.answer is not self.leaves


def python_conditions(
    content: bytes, helpers: Mapping[str, Value], known: Mapping[str, Value] | None = None
) -> tuple[Condition, ...]:
    """The conditions in Python source, in order; none in what does not parse.

    What is ``known`` besides ``helpers`` helps to decide them. Both are calls, by the last part of
    a name or by the whole if that is given, or names that the module imports.
    """
    try:
        module = parse(content)
    except NotPythonError:
        return ()
    try:
        words = {name.rpartition(".")[2] for name in helpers}
        relevant = _Relevant(content, module, words)
        reader = _Reader(helpers, known, relevant, wrappers(module))
        reader.scope(module, "", imported_values(module, {*helpers, *(known or {})}))
    except RecursionError:  # nested too deeply
        return ()
    return tuple(sorted(reader.found, key=lambda condition: condition.line))


class _Relevant:
    """The lines of a module with the name of a helper, or one that may depend on a helper.

    Most functions have none and are not read. Names count by spelling, in any scope.
    """

    def __init__(self, content: bytes, module: ast.Module, helpers: Collection[str]):
        texts = _NEWLINE.split(content)
        assigned = list(_assigned(module))
        words, new = set[str](), set(helpers)
        lines = set[int]()
        while new:
            alternatives = "|".join(map(re.escape, new)).encode()
            word = re.compile(rb"\b(?:" + alternatives + rb")\b")
            lines.update(n for n, text in enumerate(texts, 1) if word.search(text))
            self._lines = sorted(lines)
            words |= new
            new = {name for name, node in assigned if name not in words and self.has(node)}

    def has(self, node: ast.AST) -> bool:
        """Whether one of the lines of ``node`` is relevant."""
        start, end = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if start is None or end is None:
            return True
        start = min([start, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        place = bisect_left(self._lines, start)
        return place < len(self._lines) and self._lines[place] <= end


def _assigned(module: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """The names that are assigned or defined anywhere, each with the statement."""
    waiting: list[ast.AST] = [module]
    while waiting:
        for node in statements(waiting.pop()):
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from ((each.id, node) for each in targets if isinstance(each, ast.Name))
            else:
                if isinstance(node, ast.FunctionDef):
                    yield node.name, node
                waiting.append(node)


class _Reader:
    def __init__(
        self,
        helpers: Mapping[str, Value],
        known: Mapping[str, Value] | None = None,
        relevant: _Relevant | None = None,
        wrappers: Mapping[str, Wrapper] | None = None,
    ):
        self._helpers = helpers
        self._values = {**(known or {}), **helpers}
        self._relevant = relevant
        self._wrappers = wrappers or {}
        self._globals: Mapping[str, ast.expr] = {}
        self.found: list[Condition] = []

    def scope(self, node: ast.AST, name: str, outer: Mapping[str, ast.expr]) -> None:
        """Read the statements of a module, class or function, and the scopes in it."""
        bound = bindings(node)
        seen = {each: value for each, value in outer.items() if each not in bound}
        names = {**seen, **bound_once(bound)}
        if isinstance(node, ast.Module):
            self._globals = names
        for child in statements(node):
            if self._relevant and not self._relevant.has(child):
                continue
            if isinstance(child, SCOPES):
                inner = f"{name}.{child.name}" if name else child.name
                for expression in (*child.decorator_list, *defaults(child)):
                    self._read(expression, name, names)
                self.scope(child, inner, names)
                continue
            for expression, is_test in expressions(child):
                if is_test and self._uses(expression, names):
                    self._keep(expression, name, names, leaves=_leaves(child))
                else:
                    self._read(expression, name, names)
            self.scope(child, name, names) if has_body(child) else None

    def _read(self, node: ast.AST, function: str, names: Mapping[str, ast.expr]) -> None:
        """Keep the outermost truth-valued expressions below ``node`` that use a helper."""
        if isinstance(node, _TRUTHS) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        ):
            if self._uses(node, names):
                self._keep(node, function, names)
            return
        tests = inner_tests(node)
        for test in tests:
            if self._uses(test, names):
                self._keep(test, function, names)
        for child in ast.iter_child_nodes(node):
            if child not in tests:
                self._read(child, function, names)

    def _keep(
        self,
        node: ast.expr,
        function: str,
        names: Mapping[str, ast.expr],
        *,
        leaves: bool = False,
    ) -> None:
        value = self._value(node, names)
        answer = None if value is _UNKNOWN else bool(value)
        end = node.end_lineno or node.lineno
        self.found.append(Condition(function, node.lineno, ast.unparse(node), answer, leaves, end))

    def _uses(self, node: ast.AST, names: Mapping[str, ast.expr], depth: int = 0) -> bool:
        for each in ast.walk(node):
            if isinstance(each, ast.Call):
                name = self._named(each, self._helpers)
                wrapped = None if name else self._wrapped(each)
                if name or (wrapped and depth < _MOST_DEPTH and self._uses(*wrapped, depth + 1)):
                    return True
            if isinstance(each, ast.Name) and each.id in names and depth < _MOST_DEPTH:
                rest = {name: bound for name, bound in names.items() if name != each.id}
                if self._uses(names[each.id], rest, depth + 1):
                    return True
        return False

    def _value(self, node: ast.expr, names: Mapping[str, ast.expr], depth: int = 0) -> Any:
        def of(child: ast.expr) -> Any:
            return self._value(child, names, depth + 1)

        if depth > _MOST_DEPTH:
            return _UNKNOWN
        match node:
            case ast.Constant(value=bool() | int()):
                return node.value
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                values = [of(item) for item in items]
                return _UNKNOWN if _UNKNOWN in values else tuple(values)
            case ast.Call():
                return self._called(node, of, depth)
            case ast.Attribute(value=base, attr="major" | "minor" as part):
                return _computed(operator.getitem, of(base), ("major", "minor").index(part))
            case ast.Name(id=name) if name in names:
                rest = {each: bound for each, bound in names.items() if each != name}
                return self._value(names[name], rest, depth + 1)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                value = of(operand)
                return _UNKNOWN if value is _UNKNOWN else not value
            case ast.BoolOp(op=op, values=operands):
                return _junction([of(each) for each in operands], isinstance(op, ast.And))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = of(test)
                return _UNKNOWN if chosen is _UNKNOWN else of(body if chosen else orelse)
            case ast.Subscript(value=base, slice=index):
                return _computed(operator.getitem, of(base), of(index))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return _computed(_ARITHMETIC[type(op)], of(left), of(right))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return _comparison([of(each) for each in (left, *comparators)], ops)
        return _UNKNOWN

    def _called(self, node: ast.Call, of: Callable[[ast.expr], Any], depth: int) -> Any:
        name = self._named(node, self._values)
        if name is not None:
            return self._values[name]
        wrapped = self._wrapped(node)
        if wrapped is not None:
            return self._value(*wrapped, depth + 1)
        match node:
            case ast.Call(func=ast.Name(id="tuple" | "bool" | "int" as kind), args=[argument]):
                return _computed(lambda value, make: make(value), of(argument), _MADE[kind])
            case ast.Call(func=ast.Attribute(value=base, attr="to_int"), args=[]):
                return _computed(lambda value, tens: value[0] * tens + value[1], of(base), 10)
        return _UNKNOWN

    def _named(self, node: ast.Call, values: Mapping[str, Value]) -> str | None:
        """The name that ``values`` has for what is called."""
        parts = _parts(node.func)
        return next((name for name in (".".join(parts), *parts[-1:]) if name in values), None)

    def _wrapped(self, node: ast.Call) -> tuple[ast.expr, Mapping[str, ast.expr]] | None:
        """What a function of the module returns that does nothing else, and the names in it."""
        function = node.func
        if not isinstance(function, ast.Name) or function.id not in self._wrappers:
            return None
        value, arguments = self._wrappers[function.id]
        return value, {n: bound for n, bound in self._globals.items() if n not in arguments}


def _leaves(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(
        node.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break
    )


def admits(conditions: Sequence[Condition], function: str) -> bool | None:
    """Whether a target gets past all ``conditions`` of ``function``; None if that is unknown.

    ``function`` is its name, dotted or not. Without any condition it admits.
    """
    found = [
        condition.admits
        for condition in conditions
        if condition.function == function or condition.function.endswith(f".{function}")
    ]
    if any(answer is False for answer in found):
        return False
    return None if None in found else True


def truth(node: ast.expr, names: Mapping[str, ast.expr]) -> bool | None:
    """Whether an expression is true if ``names`` stand for these values; None if it is unknown."""
    value = _Reader({})._value(node, names)
    return None if value is _UNKNOWN else bool(value)


def _junction(values: Sequence[Any], is_and: bool) -> Any:
    """``and`` or ``or`` of values of which some are unknown."""
    known = [bool(value) for value in values if value is not _UNKNOWN]
    if is_and and not all(known):
        return False
    if not is_and and any(known):
        return True
    return _UNKNOWN if len(known) < len(values) else is_and


def _comparison(values: Sequence[Any], ops: Sequence[ast.cmpop]) -> Any:
    parts = [
        _computed(_COMPARE[type(op)], left, right) if type(op) in _COMPARE else _UNKNOWN
        for op, left, right in zip(ops, values, values[1:], strict=False)
    ]
    return _junction(parts, is_and=True)


def _computed(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if left is _UNKNOWN or right is _UNKNOWN:
        return _UNKNOWN
    try:
        return function(left, right)
    except (TypeError, ValueError, IndexError, ArithmeticError):
        return _UNKNOWN


def _parts(node: ast.expr) -> list[str]:
    """The parts of a dotted name, as far back as it is one."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return [node.id, *parts] if isinstance(node, ast.Name) else parts
