"""What a command costs before it has anything to do: modules, processes."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature
from workspaces import add_series, make_workspace

from patchq.engine.build.cmake import program
from patchq.model.workspace import Workspace

_IMPORTED = re.compile(r"^import time: .*\| +(\S+)$", re.MULTILINE)


@pytest.fixture
def workspace(miniature: MakeMiniature) -> Workspace:
    upstream = miniature()
    upstream.commit("Begin", {"a.txt": "a\nb\nc\nd\ne\n"})
    upstream.tag("v1")
    upstream.commit("Go on", {"b.txt": "b\n"})
    upstream.tag("v2")
    patch = upstream.patch("v1", {"a.txt": "A\nb\nc\nd\ne\n"}, "Shout")
    made = make_workspace(upstream, {"shout.patch": patch})
    add_series(made, "v2", {"shout.patch": patch})
    return made


KEPT = (
    ("status",),
    ("list",),
    ("list", "v1", "--json"),
    ("why", "shout"),
    ("rebase", "--from", "v1", "--onto", "v2", "--dry-run"),
)


@pytest.mark.parametrize("words", KEPT, ids=" ".join)
def test_no_large_library_is_imported_for_what_is_known(
    patchq: CommandLine, workspace: Workspace, words: tuple[str, ...]
) -> None:
    assert patchq(*words, cwd=workspace.root).returncode == 0
    environment = {"PYTHONPROFILEIMPORTTIME": "1"}
    done = patchq("-C", workspace.root, *words, cwd=workspace.root, fresh=True, env=environment)
    assert done.returncode == 0
    imported = {name.partition(".")[0] for name in _IMPORTED.findall(done.stderr)}
    assert "patchq" in imported
    assert imported.isdisjoint(
        {"pydantic", "git", "gitdb", "tree_sitter", "jinja2", "elftools", "asyncio", "pip"}
    )


@pytest.mark.parametrize(
    ("words", "most"), [(words, 0 if "list" in words else 2) for words in KEPT], ids=str
)
def test_few_processes_are_started_for_what_is_known(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path, words: tuple[str, ...], most: int
) -> None:
    assert patchq(*words, cwd=workspace.root).returncode == 0
    log, tools = tmp_path / "log", tmp_path / "tools"
    tools.mkdir()
    wrapper = tools / "git"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>"{log}"\nexec "{shutil.which("git")}" "$@"\n')
    wrapper.chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    assert patchq(*words, cwd=workspace.root, env={"PATH": path}).returncode == 0
    assert len(log.read_text().splitlines() if log.exists() else []) <= most


def test_values_that_typer_refuses_are_refused_in_its_words(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    for words, said in (
        (("--color", "pink", "list"), "'pink' is not one of 'auto', 'always', 'never'"),
        (("report", "--jobs", "0"), "greater than or equal to 1"),
        (("report", "--jobs", "x"), "valid integer"),
    ):
        done = patchq(*words, cwd=workspace.root)
        assert done.returncode == 2
        assert said in done.stderr
    assert patchq("--color", "never", "list", cwd=workspace.root).returncode == 0
    done = patchq("-C", tmp_path / "nowhere", "list", cwd=workspace.root)
    assert done.returncode == 2


def test_a_cmake_is_asked_once_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    inquire = program._inquire

    def counted(of: Path) -> program.CMake | None:
        asked.append(of)
        return inquire(of)

    monkeypatch.setattr(program, "_inquire", counted)
    find = program.find_cmake.__wrapped__
    first = find(tmp_path)
    assert find(tmp_path) == first
    assert len(asked) == 1
    (kept,) = (tmp_path / "cmake").rglob("*.json")
    kept.write_bytes(kept.read_bytes()[:-3])
    assert find(tmp_path) == first
    assert len(asked) == 2

    real = first.program
    script = tmp_path / "bin" / "cmake"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{real}" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setattr(program, "_packaged", lambda: str(script))
    assert find(tmp_path) == find(tmp_path) == first
    assert len(asked) == 4, "what a script starts may change, and the script stay as it is"
