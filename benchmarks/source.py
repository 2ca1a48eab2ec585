"""Source as the labels see it: the functions of a file, windows of lines, what git's diff says.

None of it is patchq's: labels must not come from what is judged. Functions are Python's by ``ast``,
C's by where its braces stand in the first column.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from patchq.git.objects import GITLINK_MODE, SYMLINK_MODE, Objects
from patchq.git.process import Git
from patchq.model.ids import ObjectId, TreeId

C_SUFFIXES = frozenset({".c", ".h", ".cc", ".cpp", ".hpp", ".cu", ".cuh"})
WINDOW = 3

_C_NAME = re.compile(rb"([A-Za-z_]\w*)\s*\(")
_C_STATEMENT = re.compile(rb"[ \t]+[^\s#/*}].*;\s*$")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_PYTHON_NAME = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.M)
_C_DEFINED = re.compile(rb"^(?![ \t#/*}]).*?\b(\w+)[ \t]*\(", re.M)


@dataclass(frozen=True)
class Function:
    """A function in a file, decorators and all; lines count from 0, ``end`` is the line after."""

    path: str
    name: str
    """With the class it is in (``Engine.run``)."""
    start: int
    end: int
    lines: tuple[bytes, ...]
    body: int
    """The first line of the body, counted from ``start``."""
    spots: tuple[int, ...]
    """The lines of the body before which a statement can stand, counted like it."""

    def __str__(self) -> str:
        return f"{self.path}:{self.name}"

    @property
    def bare(self) -> str:
        """The name without the class."""
        return self.name.rpartition(".")[2]

    @property
    def is_python(self) -> bool:
        """Whether it is Python (else C or one of its kin)."""
        return self.path.endswith(".py")

    @cached_property
    def said(self) -> tuple[bytes, ...]:
        """Its lines without indentation, blank ones left out."""
        return tuple(line for raw in self.lines if (line := raw.strip()))


def functions(path: str, content: bytes) -> Iterator[Function]:
    """The functions of a file, not those within functions; none of what cannot be parsed."""
    if path.endswith(".py"):
        yield from _python(path, content)
    elif PurePosixPath(path).suffix in C_SUFFIXES:
        yield from _c(path, content)


def _python(path: str, content: bytes) -> Iterator[Function]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = content.splitlines(keepends=True)
    yield from _python_below(path, lines, module.body, "")


def _python_below(
    path: str, lines: Sequence[bytes], body: Sequence[ast.stmt], prefix: str
) -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _python_below(path, lines, node.body, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            start, end = _first_line(node), node.end_lineno or node.lineno
            spots = tuple(_first_line(statement) - start for statement in node.body)
            if len(set(spots)) == len(spots) and spots[0] > node.lineno - 1 - start:
                lines_of = tuple(lines[start:end])
                after = spots[1:] or spots
                yield Function(path, f"{prefix}{node.name}", start, end, lines_of, spots[0], after)


def _first_line(node: ast.stmt) -> int:
    """The line of a statement, or of its first decorator, counted from 0."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1


def _c(path: str, content: bytes) -> Iterator[Function]:
    lines = content.splitlines(keepends=True)
    start = 0
    for number, line in enumerate(lines):
        flush, last = not line.startswith((b" ", b"\t")), line.rstrip()
        if not last or line.startswith((b"#", b"*/", b"}")) or last.endswith(b"*/"):
            start = number + 1
        elif flush and last.endswith(b";"):
            start = number + 1  # a declaration
        elif flush and last.endswith(b"{"):
            head = b"".join(lines[start : number + 1])
            end = next((n for n in range(number, len(lines)) if lines[n].startswith(b"}")), None)
            name = _C_NAME.search(head)
            if end is None or name is None or b"=" in head.split(b"(")[0]:
                continue
            text = tuple(lines[start : end + 1])
            body = number + 1 - start
            spots = tuple(_c_spots(text, body, len(text) - 1))
            if spots:
                yield Function(path, name[1].decode(), start, end + 1, text, body, spots)


def _c_spots(lines: Sequence[bytes], first: int, last: int) -> Iterator[int]:
    """Behind each statement that stands right below the function's brace."""
    body = [line for line in lines[first:last] if line.strip() and not line.startswith(b"#")]
    depth = min((len(line) - len(line.lstrip()) for line in body), default=0)
    for number in range(first + 1, last):
        before, line = lines[number - 1], lines[number]
        at = len(before) - len(before.lstrip())
        same = line.strip() and len(line) - len(line.lstrip()) == depth
        if at == depth and same and _C_STATEMENT.match(before) and not line.startswith(b"#"):
            yield number


# -- trees -------------------------------------------------------------------------------------


class Tree:
    """All that is in a tree of the upstream."""

    def __init__(self, objects: Objects, oid: TreeId):
        self.oid = oid
        self._objects = objects
        self._functions: dict[str, tuple[Function, ...]] = {}

    @cached_property
    def blobs(self) -> Mapping[str, ObjectId]:
        """The object of each file, by path."""
        return {
            path: entry.oid
            for path, entry in self._objects.walk(self.oid)
            if entry.mode not in (GITLINK_MODE, SYMLINK_MODE)
        }

    def text(self, path: str) -> bytes:
        """The content of a file."""
        return self._objects.read(self.blobs[path])

    def functions(self, path: str) -> tuple[Function, ...]:
        """The functions of a file, none where there is no such file."""
        if path not in self._functions:
            found = functions(path, self.text(path)) if path in self.blobs else ()
            self._functions[path] = tuple(found)
        return self._functions[path]

    @cached_property
    def source(self) -> tuple[str, ...]:
        """The files in which functions are looked for."""
        wanted = C_SUFFIXES | {".py"}
        return tuple(path for path in self.blobs if PurePosixPath(path).suffix in wanted)

    @cached_property
    def defined(self) -> Mapping[str, frozenset[str]]:
        """The files in which a bare name is defined, or looks as if it were."""
        found: dict[str, set[str]] = defaultdict(set)
        for path in self.source:
            pattern = _PYTHON_NAME if path.endswith(".py") else _C_DEFINED
            for name in set(pattern.findall(self.text(path))):
                found[name.decode()].add(path)
        return {name: frozenset(paths) for name, paths in found.items()}

    @cached_property
    def windows(self) -> frozenset[int]:
        """Every run of three lines (without indentation and blank lines) of every file."""
        return frozenset(window for path in self.blobs for window in windows(said(self.text(path))))

    @cached_property
    def counts(self) -> Mapping[bytes, int]:
        """How many files a line stands in, without indentation."""
        found: dict[bytes, int] = defaultdict(int)
        for path in self.blobs:
            for line in set(said(self.text(path))):
                found[line] += 1
        return found


def said(content: bytes) -> list[bytes]:
    """The lines without indentation, blank ones left out; none of a binary file."""
    if b"\0" in content[:8000]:
        return []
    return [line for raw in content.splitlines() if (line := raw.strip())]


def windows(lines: Sequence[bytes]) -> Iterator[int]:
    """The runs of three lines, each as a number."""
    for at in range(len(lines) - WINDOW + 1):
        yield hash(b"\n".join(lines[at : at + WINDOW]))


# -- what git's diff says ----------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """A hunk without context: lines of the old file (from 0) that others stand for now."""

    start: int
    count: int
    added: int


@dataclass
class FileDiff:
    """What became of a file between two trees; ``new`` is None where it is gone."""

    old: str
    new: str | None
    cuts: list[Cut] = field(default_factory=list)

    def takes_out(self, first: int, end: int, lines: Sequence[bytes]) -> bool:
        """Whether the lines from ``first`` to ``end`` of ``lines`` are deleted, and none put there.

        Of several lines that are the same git may show another as deleted: so a deletion is slid.
        """
        return self.new is None or any(
            start <= first and end <= start + cut.count
            for cut in self.cuts
            if not cut.added
            for start in _slid(cut, lines)
        )

    def replaces(self, first: int, end: int) -> bool:
        """Whether half of the lines from ``first`` to ``end``, or more, went for others.

        So many must have come as half of what went with them: fewer may belong beside it.
        """
        return self.new is not None and any(
            2 * (min(end, cut.start + cut.count) - max(first, cut.start)) >= end - first
            and 2 * cut.added >= max(cut.count, 6)
            for cut in self.cuts
        )


def _slid(cut: Cut, lines: Sequence[bytes]) -> Iterator[int]:
    """Where the deletion may begin as well."""
    up = down = cut.start
    yield up
    while up > 0 and lines[up - 1] == lines[up - 1 + cut.count]:
        up -= 1
        yield up
    while down + cut.count < len(lines) and lines[down] == lines[down + cut.count]:
        down += 1
        yield down


def tree_diff(git: Git, old: str, new: str) -> dict[str, FileDiff]:
    """The changed files of two trees by old path, as ``git diff-tree -M -U0`` tells of them."""
    form = ("-r", "-p", "-M", "-l0", "-U0", "--no-color", "--no-ext-diff", "--no-textconv")
    raw = git.run("-c", "core.quotePath=false", "diff-tree", *form, old, new).stdout
    found: dict[str, FileDiff] = {}
    for part in re.split(rb"^diff --git ", raw, flags=re.M)[1:]:
        head, *rest = part.split(b"\n@@ ", 1)
        names = dict(re.findall(rb"^(rename from|rename to|---|\+\+\+) (.+)$", head, re.M))
        before = names.get(b"rename from") or _name(names.get(b"---"))
        after = names.get(b"rename to") or _name(names.get(b"+++"))
        if before is None:
            continue
        path = before.decode(errors="replace")
        diff = FileDiff(path, after.decode(errors="replace") if after else None)
        for match in _HUNK.finditer(b"@@ " + rest[0] if rest else b""):
            start, count, _, added = (int(group or 1) for group in match.groups())
            diff.cuts.append(Cut(start - bool(count), count, added))
        found[path] = diff
    return found


def _name(side: bytes | None) -> bytes | None:
    return None if side in (None, b"/dev/null") else side.rstrip(b"\t")[2:]
