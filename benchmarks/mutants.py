"""Change the judge in one place at a time, and see whether a test notices.

The tests run once to learn which of them go through which line; each mutant then runs those alone,
the narrowest first, until one fails. Patchq and the tests are loaded once: each mutant is a fork,
in which the function that is changed gets its new code. With ``--results`` a run goes on where the
last one stopped: a mutant that was killed is not run again until its function changes. Exits 1
where fewer are killed than are wanted.
"""

from __future__ import annotations

import argparse
import ast
import gc
import inspect
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.util import cache_from_source
from io import StringIO
from itertools import islice
from pathlib import Path
from pkgutil import walk_packages
from types import CodeType, FrameType, FunctionType
from typing import Any

# loaded once, for the tests of every mutant
import git as _git  # noqa: F401
import hypothesis as _hypothesis  # noqa: F401
import pytest
import rich.table as _rich  # noqa: F401
import tree_sitter_cuda as _cuda  # noqa: F401
import typer as _typer  # noqa: F401
import yaml as _yaml  # noqa: F401

ROOT = Path(__file__).parents[1]
_PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist")
_NOT_RUN = (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)
_CPU_SECONDS = 240
WANTED = 0.95
# the judge, and what of the languages it alone asks
_JUDGE = (
    "src/patchq/engine/judge",
    "src/patchq/engine/languages/flow.py",
    "src/patchq/engine/languages/live.py",
)

_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.Lt: ast.LtE,
    ast.Gt: ast.GtE,
    ast.In: ast.NotIn,
    ast.Is: ast.IsNot,
    ast.And: ast.Or,
    ast.Add: ast.Sub,
    ast.BitAnd: ast.BitOr,
}
_SWAPS |= {other: one for one, other in _SWAPS.items()}
_NAMES = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Mutant:
    """One change to one file: its ``node`` (in the order of a walk), in one of two ways.

    ``key`` stands for the change and the function it is made in, and for nothing else.
    """

    path: str
    line: int
    change: str
    node: int
    turn: int
    key: str

    def sources(self) -> tuple[str, str]:
        """The file as it is and with the change, laid out alike."""
        tree = ast.parse((ROOT / self.path).read_text(encoding="utf-8"))
        before = ast.unparse(tree)
        _mutate(next(islice(ast.walk(tree), self.node, None)), self.turn)
        return before, ast.unparse(tree)


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file; decorators and annotations are left as they are."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kept = {id(part) for node in ast.walk(tree) for part in _inert(node)}
    functions = {
        id(part): ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for part in ast.walk(node)
    }
    name = str(path.relative_to(ROOT))
    seen: Counter[str] = Counter()
    for number, node in enumerate(ast.walk(tree)):
        for turn in range(2):
            change = None if id(node) in kept else _mutate(deepcopy(node), turn)
            if change is not None:
                line: int = getattr(node, "lineno", 0) or node.target.lineno  # type: ignore[attr-defined]
                words = "\0".join((name, functions.get(id(node), ""), change))
                seen[words] += 1
                key = sha256(f"{words}\0{seen[words]}".encode()).hexdigest()
                yield Mutant(name, line, change, number, turn, key)


def _inert(node: ast.AST) -> Iterator[ast.AST]:
    """What of a node does nothing when it runs, or only says what must hold anyhow."""
    if isinstance(node, ast.keyword) and node.arg in ("strict", "repr"):
        yield node.value
    for name in ("annotation", "returns", "decorator_list"):
        part = getattr(node, name, None) or []
        for each in part if isinstance(part, list) else [part]:
            yield from ast.walk(each)


def _mutate(node: Any, turn: int) -> str | None:
    """Change ``node`` in place in its first or second way; what was done, None where nothing."""
    before = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else ""
    value = getattr(node, "value", None)
    if turn == 0 and isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        node.ops[0] = _SWAPS[type(node.ops[0])]()  # type: ignore[call-overload]
    elif turn == 0 and isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in _SWAPS:
        node.op = _SWAPS[type(node.op)]()  # type: ignore[assignment]
    elif turn == 1 and isinstance(node, ast.BoolOp):
        node.values = node.values[:-1] if len(node.values) > 2 else [node.values[0]] * 2
    elif turn == 0 and isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif turn == 0 and isinstance(node, ast.comprehension) and node.ifs:
        before = f"if {ast.unparse(node.ifs[-1])}"
        node.ifs = node.ifs[:-1]
    elif turn == 0 and isinstance(node, ast.Return) and node.value is not None:
        if ast.unparse(node.value) == "None":
            return None
        node.value = ast.Constant(None)
    elif turn == 0 and isinstance(node, ast.Constant) and isinstance(value, int | float):
        node.value = not value if isinstance(value, bool) else value + 1
    elif turn == 0 and isinstance(node, ast.Name) and node.id in _NAMES:
        node.id = _NAMES[node.id]
    else:
        return None
    after = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else "(left out)"
    return f"{before.splitlines()[0]} -> {after.splitlines()[0]}"


# -- running -----------------------------------------------------------------------------------


class Recorder:
    """A pytest plugin: which test goes through which line of the judge."""

    def __init__(self, places: Sequence[str]):
        self._places = tuple(str(ROOT / place) for place in places)
        self.seen: dict[str, set[str]] = defaultdict(set)
        self._test = ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Remember whose turn it is, from its fixtures on."""
        self._test = nodeid
        sys.settrace(self._call)

    def pytest_runtest_logfinish(self) -> None:
        """Stop looking."""
        sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _arg: object) -> Any:
        return self._line if frame.f_code.co_filename.startswith(self._places) else None

    def _line(self, frame: FrameType, _event: str, _arg: object) -> Any:
        place = f"{Path(frame.f_code.co_filename).relative_to(ROOT)}:{frame.f_lineno}"
        self.seen[place].add(self._test)
        return self._line


def _record(options: argparse.Namespace) -> dict[str, list[str]]:
    """The tests by line."""
    with tempfile.TemporaryDirectory(prefix="patchq-mutants-") as scratch:
        kept = options.map or Path(scratch) / "map.json"
        if not kept.exists():
            recorder = Recorder(options.places)

            def record() -> int:
                status = pytest.main([*_PYTEST, *options.tests], plugins=[recorder])
                seen = {place: sorted(tests) for place, tests in recorder.seen.items()}
                kept.write_text(json.dumps(seen), encoding="utf-8")
                return status

            if _forked(record, ROOT, 8 * _CPU_SECONDS):
                kept.unlink()
                raise SystemExit("the tests fail as they are")
        known: dict[str, list[str]] = json.loads(kept.read_text(encoding="utf-8"))
        return known


def _forked(run: Callable[[], int], root: Path, seconds: int = _CPU_SECONDS) -> int:
    """The status of ``run`` in a process of its own, with the project at ``root``."""
    child = os.fork()
    if not child:
        signal.alarm(8 * seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        _enter(root)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os._exit(int(run()))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _enter(root: Path) -> None:
    os.chdir(root)
    sys.path.insert(0, str(root / "src"))


class Loaded:
    """Patchq and the tests of the copy at ``root``, loaded into this process."""

    def __init__(self, root: Path, tests: Sequence[str]):
        _enter(root)
        package = import_module("patchq")
        for module in walk_packages(package.__path__, "patchq."):
            import_module(module.name)
        with redirect_stdout(StringIO()):
            pytest.main([*_PYTEST, "--collect-only", *tests])
        self._root = root
        self._functions: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                code = each.__code__
                self._functions[code.co_filename, code.co_qualname].append(each)

    def put(self, place: Path, before: str, after: str) -> None:
        """Give the functions of a file that differ between two texts of it their new code.

        If it is not in functions that they differ, all is forgotten, to be loaded anew.
        """
        old, new = (compile(text, str(place), "exec") for text in (before, after))
        pairs = list(zip(_functions(old), _functions(new), strict=True))
        names = Counter(code.co_qualname for code, _ in pairs)
        changed = [code for was, code in pairs if was != code]
        found = [self._functions.get((str(place), code.co_qualname), []) for code in changed]
        if (
            _outside(old) == _outside(new)
            and all(found)
            and all(names[code.co_qualname] == 1 for code in changed)
        ):
            for functions, code in zip(found, changed, strict=True):
                for function in functions:
                    function.__code__ = code
            return
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(str(self._root)):
                del sys.modules[name]


def _functions(code: CodeType) -> Iterator[CodeType]:
    """The functions and methods of a module."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            is_function = part.co_flags & inspect.CO_OPTIMIZED
            yield from (part,) if is_function else _functions(part)


def _outside(code: CodeType) -> CodeType:
    """A module or class without what its functions do."""
    parts = (
        part
        if not isinstance(part, CodeType)
        else None
        if part.co_flags & inspect.CO_OPTIMIZED
        else _outside(part)
        for part in code.co_consts
    )
    return code.replace(co_consts=tuple(parts))


def _is_killed(mutant: Mutant, tests: Sequence[str], root: Path, loaded: Loaded) -> bool:
    """Whether a test fails on the copy of the project at ``root``, with the mutant in it."""
    place = root / mutant.path
    kept = place.read_bytes()
    compiled = Path(cache_from_source(str(place)))
    before, after = mutant.sources()
    place.write_text(after, encoding="utf-8")
    compiled.unlink(missing_ok=True)

    def run() -> int:
        loaded.put(place, before, after)
        return pytest.main([*_PYTEST, "-x", *tests])

    try:
        status = _forked(run, root)
        if status in _NOT_RUN:
            raise SystemExit(f"pytest did not run the tests: {status}")
        return status != 0
    finally:
        place.write_bytes(kept)
        compiled.unlink(missing_ok=True)


def _drawn(options: argparse.Namespace, tests: Mapping[str, Sequence[str]]) -> list[Mutant]:
    places = [ROOT / place for place in options.places]
    files = [
        file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])
    ]
    found = [mutant for file in sorted(files) for mutant in mutants(file)]
    print(f"{len(found)} mutants, {len(tests)} lines that tests go through", flush=True)
    # drawn by what they are: a change elsewhere in the judge leaves the others in the sample
    found.sort(key=lambda mutant: sha256(f"{options.seed}{mutant.key}".encode()).digest())
    return found[: options.count]


def _through(path: str, tests: Mapping[str, Sequence[str]]) -> list[str]:
    """The tests that go through any line of a file: for what runs when it is imported."""
    places = [place for place in tests if place.rpartition(":")[0] == path]
    return sorted({test for place in places for test in tests[place]})


def _absolute(path: str) -> Path:
    return Path(path).absolute()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="+", help="test files")
    parser.add_argument("--places", nargs="+", default=_JUDGE, help="folders and files to change")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--map", type=_absolute, help="where the tests by line are kept")
    parser.add_argument("--results", type=_absolute, help="where it is kept which were killed")
    parser.add_argument("--most", type=int, default=0, help="run this many tests of each at most")
    parser.add_argument("--all", action="store_true", help="run every test before one survives")
    parser.add_argument("--first", type=int, default=0, help="begin with this one of the drawn")
    parser.add_argument("--last", type=int, help="stop after this one")
    options = parser.parse_args()
    tests = _record(options)
    drawn = _drawn(options, tests)
    # a test that goes through few lines is about them, one through many sees how they end
    breadth = Counter(test for through in tests.values() for test in through)
    kept = options.results and options.results.exists() and options.results.read_text()
    killed = set((kept or "").split())
    with tempfile.TemporaryDirectory(prefix="patchq-mutants-") as scratch:
        root = Path(scratch) / "project"
        for name in ("src", "tests", "docs", "series", "pyproject.toml", "README.md"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            root.mkdir(exist_ok=True)
            copy(ROOT / name, root / name)
        loaded = Loaded(root, options.tests)
        for number, mutant in enumerate(drawn, start=1):
            wanted = options.first <= number <= (options.last or number)
            if mutant.key in killed or not wanted:
                continue
            through = tests.get(f"{mutant.path}:{mutant.line}") or _through(mutant.path, tests)
            through = sorted(through, key=lambda test: (breadth[test], test))
            if 0 < options.most < len(through):
                half = options.most // 2
                through = [*through[:half], *through[-half:]]
            dead = bool(through) and _is_killed(mutant, through, root, loaded)
            if options.all and not dead:
                dead = _is_killed(mutant, options.tests, root, loaded)
            word = "killed" if dead else f"SURVIVED {len(through)} tests"
            print(f"{number} {mutant.path}:{mutant.line}: {mutant.change}: {word}", flush=True)
            if not dead:
                continue
            killed.add(mutant.key)
            if options.results:
                with options.results.open("a", encoding="utf-8") as file:
                    file.write(f"{mutant.key}\n")
    count = sum(mutant.key in killed for mutant in drawn)
    print(f"\n{count} of {len(drawn)} killed ({count / len(drawn):.1%})")
    return 0 if count >= WANTED * len(drawn) else 1


if __name__ == "__main__":
    sys.exit(main())
