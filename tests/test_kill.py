"""SIGKILL at every step of every command of the conflict flow: before or after, never between.

A command is run on a copy of the workspace and killed just before one of the steps that change it.
Whatever it leaves, the series is what it was or what it becomes, ``--abort`` ends the rebase, and
``--continue`` reaches the same end as a run that nobody killed.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from commandline import CommandLine
from forkserver import Harm, steps
from miniature import Miniature
from workspaces import make_workspace

from patchq.model.workspace import Workspace

SKIP = ("rebase", "--skip", "--reason", "not ours")
CONTINUE = ("rebase", "--continue")


@dataclass(frozen=True)
class Scene:
    """A workspace before ``command``, and all series bytes that are right from there on."""

    before: Workspace
    command: tuple[str, ...]
    states: tuple[dict[str, bytes], ...]


@pytest.fixture(scope="module")
def patchq(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    return CommandLine(tmp_path_factory.mktemp("home"))


def text(name: str, value: str) -> str:
    lines = [f"{name}_{number} = {number}\n" for number in range(12)]
    return "".join([*lines[:6], f"{name}_6 = {value}\n", *lines[7:]])


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two patches that collide on v2, and one that does not."""
    upstream = Miniature(tmp_path_factory.mktemp("kill") / "upstream")
    names = ("a", "b", "c")
    upstream.commit("Start", {f"{name}/{name}.py": text(name, "0") for name in names})
    upstream.tag("v1")
    upstream.commit("Change", {f"{name}/{name}.py": text(name, "1") for name in "ab"})
    upstream.tag("v2")
    patches = {
        f"{name}.patch": upstream.patch("v1", {f"{name}/{name}.py": text(name, "2")})
        for name in names
    }
    return make_workspace(upstream, patches)


def copied(workspace: Workspace, to: Path) -> Workspace:
    shutil.copytree(workspace.root, to, symlinks=True)
    return Workspace(to)


def series_bytes(workspace: Workspace) -> dict[str, bytes]:
    return {
        str(file.relative_to(workspace.root)): file.read_bytes()
        for file in sorted(workspace.series_dir.rglob("*"))
        if file.is_file()
    }


def is_under_way(workspace: Workspace) -> bool:
    return (workspace.state_dir / "operation.json").exists()


def solve(workspace: Workspace) -> None:
    """Solve what stands in the worktree, as always."""
    worktree = workspace.state_dir / "worktree"
    for file in worktree.glob("*/*.py"):
        solved = re.sub(
            r"<<<<<<< .*?>>>>>>> [^\n]*\n", f"{file.stem}_6 = 3\n", file.read_text(), flags=re.S
        )
        file.write_text(solved)
    # Named, because the link of a copied workspace says where it was copied from. If the
    # worktree is not whole this fails, as it does for review; `--continue` then mends it.
    directory = workspace.store_path / "worktrees" / "worktree"
    subprocess.run(
        ["git", f"--git-dir={directory}", f"--work-tree={worktree}", "add", "-A"],
        check=False,
        capture_output=True,
        cwd=worktree,
    )


def to_the_end(patchq: CommandLine, workspace: Workspace) -> None:
    """Start where need be, solve, continue, until it is written."""
    patchq("status", cwd=workspace.root)  # settles what was cut off, as every command does
    if not is_under_way(workspace) and not workspace.series_path("v2").exists():
        patchq("rebase", "--onto", "v2", cwd=workspace.root)
    for _ in range(6):
        if not is_under_way(workspace):
            return
        if (workspace.state_dir / "worktree" / ".git").exists():
            solve(workspace)
        patchq(*CONTINUE, cwd=workspace.root)
    raise AssertionError(patchq(*CONTINUE, cwd=workspace.root).stderr)


@pytest.fixture(scope="module")
def scenes(
    patchq: CommandLine, start: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Scene]:
    """Each command of the flow, from the first stop to the end."""
    home = tmp_path_factory.mktemp("scenes")
    first = copied(start, home / "first")
    patchq("rebase", "--onto", "v2", cwd=first.root)
    solve(first)
    second = copied(first, home / "second")
    patchq(*CONTINUE, cwd=second.root)
    solve(second)
    last = copied(second, home / "last")
    patchq(*CONTINUE, cwd=last.root)
    skipped = copied(second, home / "skipped")
    patchq(*SKIP, cwd=skipped.root)
    old, new, less = (series_bytes(each) for each in (start, last, skipped))
    assert old != new != less
    undone = copied(last, home / "undone")
    return {
        "start": Scene(start, ("rebase", "--onto", "v2"), (old, new)),
        "continue": Scene(first, CONTINUE, (old, new)),
        "finish": Scene(second, CONTINUE, (old, new)),
        "skip": Scene(second, SKIP, (old, new, less)),
        "abort": Scene(second, ("rebase", "--abort"), (old, new)),
        "undo": Scene(undone, ("undo",), (old, new)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["start", "continue", "finish", "skip", "abort", "undo"])
def test_killed_anywhere(
    patchq: CommandLine, scenes: dict[str, Scene], tmp_path: Path, name: str
) -> None:
    scene = scenes[name]
    whole = copied(scene.before, tmp_path / "whole")
    count = steps(patchq(*scene.command, cwd=whole.root, harm=Harm("KILL", -1)))
    assert count > 2
    # a dozen steps spread over the command, its last ones always
    points = sorted({*range(1, count + 1, 1 + count // 12), count - 2, count - 1, count})
    for point in points:
        killed = copied(scene.before, tmp_path / f"{point}")
        done = patchq(*scene.command, cwd=killed.root, harm=Harm("KILL", point))
        assert done.returncode == -signal.SIGKILL, (point, done.stderr)
        goes_on = copied(killed, tmp_path / f"{point}-on")
        status = patchq("status", cwd=killed.root)
        assert status.returncode == 0, (point, status.stderr)
        assert series_bytes(killed) in scene.states, point
        if is_under_way(killed):
            done = patchq("rebase", "--abort", cwd=killed.root)
            assert done.returncode == 0, (point, done.stderr)
        assert not is_under_way(killed)
        assert series_bytes(killed) in scene.states, point
        to_the_end(patchq, goes_on)
        assert series_bytes(goes_on) in scene.states[1:], point
        shutil.rmtree(killed.root)
        shutil.rmtree(goes_on.root)
