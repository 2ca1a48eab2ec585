"""The house: which rooms may import which, and who may talk to git. See the page on design."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "patchq"

# each room with the floors below it: a room may import any of a lower floor, none of its own
FLOORS = (
    ("errors", "recent", "signals", "steps", "written"),
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
MOST_LINES = 400


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


def test_no_two_classes_have_one_name() -> None:
    found = defaultdict(list)
    for module, tree in _modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    del found["Workspace"]  # the facade, and its files
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


def test_no_class_is_above_300_lines() -> None:
    long = {
        node.name
        for _, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and (node.end_lineno or 0) - node.lineno >= 300
    }
    assert long == set()


def test_no_function_has_a_parameter_of_its_own_name() -> None:
    found = [
        f"{module}:{node.lineno}: {node.name}"
        for module, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name in {arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)}
    ]
    assert found == []


def test_long_modules_are_few_and_the_design_page_says_why() -> None:
    page = (SOURCE.parent.parent / "docs" / "explanation" / "design.md").read_text()
    long = {
        str(path.relative_to(SOURCE))
        for path in _files()
        if len(path.read_text().splitlines()) > MOST_LINES
    }
    assert len(long) <= 5
    assert {name for name in long if f"`{name}`" not in page} == set()


def test_the_commands_write_through_the_facade() -> None:
    writers = {"transaction.Transaction", "locking.exclusive", "project.Project"}
    found = []
    for module, tree in _modules():
        for imported in _imports(tree) if _room(module) == "cli" else ():
            if imported.removeprefix("engine.workspace.") in writers:
                found.append(f"{module}: {imported}")
    assert found == []
