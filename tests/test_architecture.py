"""The house: which rooms may import which, and who may talk to git. See the page on design."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "patchq"

# each room with the floors below it: a room may import any of a lower floor, none of its own
FLOORS = (
    ("errors", "signals"),
    ("files", "sandbox", "scratch", "topics"),
    ("kept_answers",),
    ("model",),
    ("git",),
    ("archives",),
    ("engine.workspace", "engine.languages", "demo"),
    ("engine.build",),
    ("engine.predicates",),
    ("engine.series",),
    ("engine.judge", "engine.backport"),
    ("engine.rebase", "engine.importing"),
    ("engine.verify", "engine.edit"),
    ("engine.export", "engine.status", "engine.release"),
    ("report",),
    ("api",),
    ("cli",),
)
RUNS_GIT = {"run", "text", "start"}
MOST_FILES = 17


def _files() -> list[Path]:
    data = SOURCE / "demo" / "lattice"  # the demo's upstream
    return [path for path in sorted(SOURCE.rglob("*.py")) if data not in path.parents]


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in _files():
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), ast.parse(path.read_bytes())


def _room(module: str) -> str:
    first, _, rest = module.partition(".")
    return f"{first}.{rest.partition('.')[0]}" if first == "engine" and rest else first


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("patchq."):
            assert node.module is not None
            inside = node.module.removeprefix("patchq.")
            yield from (f"{inside}.{alias.name}" for alias in node.names)


def test_imports_run_downwards() -> None:
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    upwards: dict[tuple[str, str], list[str]] = defaultdict(list)
    for module, tree in _modules():
        room = _room(module)
        if room in ("", "__main__", "engine"):
            continue
        assert room in floor, f"{module}: a room that the floors do not know"
        for imported in _imports(tree):
            other = _room(imported)
            if other != room and floor.get(other, -1) >= floor[room]:
                upwards[room, other].append(module)
    assert upwards == {}


def test_only_git_passes_arguments_to_git() -> None:
    found = []
    for module, tree in _modules():
        if _room(module) in ("git", "demo"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                runner = owner.rpartition(".")[2] in ("git", "_git", "persistent")
                if node.func.attr in RUNS_GIT and runner:
                    found.append(f"{module}:{node.lineno}: {owner}.{node.func.attr}")
    assert found == []


def test_every_room_says_what_it_is_for() -> None:
    for directory in sorted({path.parent for path in _files()}):
        purpose = ast.get_docstring(ast.parse((directory / "__init__.py").read_bytes()))
        assert purpose, f"{directory} does not say what it is for"


def test_no_room_of_the_engine_is_overfull() -> None:
    rooms = [path for path in (SOURCE / "engine").rglob("*") if path.is_dir()]
    files = {path.name: len(list(path.glob("*.py"))) for path in rooms}
    assert {name: count for name, count in files.items() if count > MOST_FILES} == {}


def test_the_design_page_names_every_room() -> None:
    page = (SOURCE.parent.parent / "docs" / "explanation" / "design.md").read_text()
    rooms = {_room(module) for module, _ in _modules() if "." in module}
    missing = {room for room in rooms if f"`{room.replace('.', '/')}" not in page}
    assert missing == set()
