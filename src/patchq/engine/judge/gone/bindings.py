"""Whether the lines that a hunk adds mean the same in the file that their function moved to.

In Python each name that they read is resolved in both files, as far as the text tells. In C a name
means the same if both files have the same lines about it outside of functions, and no header that
only one of them includes has it; an undeclared name is left for the compiler to report. In other
languages a name is known to mean the same only if the function itself, which has the same text in
both files, uses it already.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from patchq.engine.languages.named import bare
from patchq.engine.languages.outline import Definition, outline
from patchq.engine.languages.python_facts import Import, ModuleFacts
from patchq.engine.languages.python_modules import read_facts
from patchq.engine.languages.python_text import NotPythonError, parse
from patchq.engine.languages.tokens import Family, family, tokenize
from patchq.model.diff_layout import split_lines

_INCLUDE = re.compile(rb"^\s*#\s*include\s*[<\"]([^>\"\n]+)", re.MULTILINE)
_BUILTIN = frozenset(dir(builtins))
_NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class SourceText:
    """A file: its path and its text."""

    path: str
    text: bytes


def first_unbound(
    old: SourceText,
    new: SourceText,
    body: bytes,
    lines: range,
    around: range,
    naming: Callable[[bytes], Iterable[str]],
) -> str | None:
    """A name in the added ``lines`` of ``old`` that may mean something else in ``new``, or None.

    ``around`` are the lines of ``old`` that moved, with the added ones, ``body`` is their text
    without these; ``naming`` gives the files of the new base that contain a name.
    """
    if family(old.path) is Family.PYTHON:
        try:
            return next(_python(old, new, body, lines, around), None)
        except NotPythonError as error:
            return error.text
    kind = family(old.path)
    known = tokenize(kind, body).names
    added = b"".join(split_lines(old.text)[lines.start : lines.stop])
    other = sorted(tokenize(kind, added).names - known)
    if kind is Family.C:
        apart = _headers(old.text) ^ _headers(new.text)
        other = [
            name
            for name in other
            if not _same_in_c(name, old, new)
            or not apart.isdisjoint(PurePosixPath(path).name for path in naming(name))
        ]
    return other[0].decode(errors="replace") if other else None


def _headers(text: bytes) -> set[str]:
    """The file names of the headers that a file in C includes."""
    return {PurePosixPath(name.decode(errors="replace")).name for name in _INCLUDE.findall(text)}


def _same_in_c(name: bytes, old: SourceText, new: SourceText) -> bool:
    was, is_ = (_said_of(name, source) for source in (old, new))
    return was is not None and was == is_


def _said_of(name: bytes, source: SourceText) -> set[bytes] | None:
    """The lines about ``name`` in a file in C: those outside of functions and its definition."""
    shown = outline(source.path, source.text)
    if shown is None:
        return None
    lines = split_lines(source.text)
    word = re.compile(rb"\b" + re.escape(name) + rb"\b")

    def text(definition: Definition) -> bytes:
        return b"".join(lines[definition.first : definition.last + 1])

    said = {text(each) for each in shown.definitions if bare(each.name).encode() == name}
    for number, line in enumerate(lines):
        if word.search(line):
            around = shown.around(number, number)
            # the members of a type count, but only the head of a function
            if around is None or b"(" not in text(around).partition(b"{")[0]:
                said.add(line.strip())
    return said


def _python(
    old: SourceText, new: SourceText, body: bytes, lines: range, around: range
) -> Iterator[str]:
    module = parse(old.text)
    facts = read_facts(old.text), read_facts(new.text)
    local = set(_bound_inside(module, around))
    words = tokenize(Family.PYTHON, body + new.text).names
    for node in ast.walk(module):
        if getattr(node, "lineno", -1) - 1 not in lines:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            name = node.id
            if name not in local and not _means_the_same(name, old, new, *facts):
                yield name
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            own = node.value.id in ("self", "cls")
            if own and node.attr.encode() not in words:
                yield f"{node.value.id}.{node.attr}"


def _bound_inside(module: ast.Module, around: range) -> Iterator[str]:
    """The local names of the functions inside ``around``."""
    for function in ast.walk(module):
        if not isinstance(function, _FUNCTION) or function.lineno - 1 not in around:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.alias):
                yield node.asname or node.name.partition(".")[0]
            elif isinstance(node, ast.ExceptHandler):
                yield node.name or ""
            elif isinstance(node, _NAMED) and node is not function:
                yield node.name


def _means_the_same(
    name: str, old: SourceText, new: SourceText, was: ModuleFacts, now: ModuleFacts
) -> bool:
    mine = [item for item in was.imports if item.bound == name]
    theirs = [item for item in now.imports if item.bound == name]
    if not mine and name not in was.names:
        known = name in now.names or theirs or was.stars or now.stars
        return name in _BUILTIN and not known
    if mine:
        targets = {_target(item, old.path) for item in mine}
        others = {_target(item, new.path) for item in theirs}
        return len(targets) == len(others) == 1 and _is_same(targets.pop(), others.pop())
    if theirs:
        here = f"{_module(old.path)}.{name}"
        return all(_is_same(_target(item, new.path), here) for item in theirs)
    return name in now.names and _definition(old, name) == _definition(new, name) is not None


def _definition(source: SourceText, name: str) -> bytes | None:
    shown = outline(source.path, source.text)
    found = shown.named(name) if shown else None
    if found is None:
        return None
    return b"".join(split_lines(source.text)[found.first : found.last + 1])


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _target(item: Import, path: str) -> str:
    """The module that an import names; a relative one resolved from the root of the tree."""
    source = item.module
    if item.level:
        parts: Sequence[str] = path.split("/")[: -item.level]
        source = ".".join([*parts, *([item.module] if item.module else [])])
    return f"{source}.{item.name}" if item.name else source


def _is_same(one: str, other: str) -> bool:
    """Whether two dotted names mean one module: a path may begin above the package."""
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")
