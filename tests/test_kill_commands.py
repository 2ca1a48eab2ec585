"""SIGKILL in every writing command, patchq's own process and git's: before or after, never between.

What is killed leaves the series and the lock as they were or as they become; the next command
works, and the killed one can be given again. A short form tries a few steps of each command, the
long one all of them. The flow of a conflict has a harness of its own (``test_kill.py``).
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import SOURCES, CommandLine
from forkserver import steps
from miniature import Miniature
from workspaces import make_workspace

from patchq.model.workspace import Workspace

TEXT = "".join(f"line {number}\n" for number in range(60))
COMMANDS = {
    "import": ("import", "late.patch", "--tag", "v1"),
    "rebase": ("rebase", "--onto", "v2"),
    "drop": ("drop", "b", "--tag", "v1", "--reason", "why"),
    "rename": ("rename", "b", "c2", "--tag", "v1"),
    "move": ("move", "d", "--first", "--tag", "v1"),
    "fold": ("fold", "a", "b", "--tag", "v1"),
    "lock": ("lock", "v3"),
    "undo": ("undo",),
    "port": ("port", "a", "--to", "v2"),
}
_SAMPLES = 4


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    upstream = Miniature(tmp_path_factory.mktemp("kill-commands") / "upstream")
    upstream.commit("Start", {"f": TEXT})
    upstream.tag("v1")
    upstream.commit("Other (#1)", {"g": "g\n"})
    upstream.tag("v2")
    upstream.commit("More (#2)", {"h": "h\n"})
    upstream.tag("v3")

    def edit(number: int) -> bytes:
        return upstream.patch("v1", {"f": TEXT.replace(f"line {number}\n", f"mine {number}\n")})

    patches = {f"{name}.patch": edit(9 * (n + 1)) for n, name in enumerate("abc")}
    workspace = make_workspace(upstream, patches)
    (workspace.root / "late.patch").write_bytes(edit(50))
    patchq = CommandLine(tmp_path_factory.mktemp("home"))
    done = patchq("rename", "c", "d", "--tag", "v1", cwd=workspace.root)  # something to undo
    assert (workspace.state_dir / "transactions").is_dir(), done.stderr
    return workspace


def copied(workspace: Workspace, to: Path) -> Workspace:
    shutil.copytree(workspace.root, to, symlinks=True)
    return Workspace(to)


def content(workspace: Workspace) -> dict[str, bytes]:
    files = [workspace.lock_path, *sorted(workspace.series_dir.rglob("*"))]
    return {str(f.relative_to(workspace.root)): f.read_bytes() for f in files if f.is_file()}


def undated(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without what says when the command ran."""
    marks = (b"Date: ", b"  date: ", b"Last-Update: ", b"From ")
    return {
        name: b"\n".join(line for line in raw.split(b"\n") if not line.startswith(marks))
        for name, raw in files.items()
    }


def check(
    patchq: CommandLine, workspace: Workspace, name: str, before: Workspace, after: Workspace
) -> None:
    """The workspace is as before or after, and the command can be given (again)."""
    done = patchq("status", cwd=workspace.root)
    assert done.returncode in (0, 1), done.stderr
    found, old, new = map(undated, map(content, (workspace, before, after)))
    assert found in (old, new)
    if found == old != new:
        done = patchq(*COMMANDS[name], cwd=workspace.root)
        assert done.returncode == 0, done.stderr
        assert undated(content(workspace)) == new
    left = [f.name for f in workspace.state_dir.glob("*.new")]
    assert not left


@pytest.mark.slow
@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.release)], ids=["short", "long"]
)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command(
    patchq: CommandLine, start: Workspace, tmp_path: Path, name: str, every: bool
) -> None:
    after = copied(start, tmp_path / "after")
    done = patchq(*COMMANDS[name], cwd=after.root, kill_at=-1)
    assert done.returncode == 0, done.stderr
    count = steps(done)
    assert count
    stride = 1 if every else max(1, count // _SAMPLES)
    for step in range(1, count + 1, stride):
        workspace = copied(start, tmp_path / str(step))
        assert patchq(*COMMANDS[name], cwd=workspace.root, kill_at=step).returncode == -9
        check(patchq, workspace, name, start, after)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["import", *(pytest.param(n, marks=pytest.mark.release) for n in ("rebase", "fold", "port"))],
)
def test_a_killed_git(patchq: CommandLine, start: Workspace, tmp_path: Path, name: str) -> None:
    """The n-th git that a command starts is killed at once: said in a sentence, nothing written."""
    after = copied(start, tmp_path / "after")
    assert patchq(*COMMANDS[name], cwd=after.root).returncode == 0
    real = shutil.which("git")
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(
        f'#!/bin/sh\necho >> "$COUNTER"\n[ $(wc -l < "$COUNTER") = "$KILLED" ] && kill -9 $$\n'
        f'exec {real} "$@"\n'
    )
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    for number in range(1, 12):
        workspace = copied(start, tmp_path / str(number))
        counter = tmp_path / f"{number}.count"
        done = subprocess.run(
            [sys.executable, "-m", "patchq", *COMMANDS[name]],
            cwd=workspace.root,
            env={
                "PATH": f"{shim.parent}:{os.environ['PATH']}",
                "HOME": str(tmp_path),
                "PYTHONPATH": SOURCES,
                "COUNTER": str(counter),
                "KILLED": str(number),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        check(patchq, workspace, name, start, after)
        if len(counter.read_text().splitlines()) < number:
            return
