"""``patchq status`` and ``patchq undo`` on the real command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commandline import CommandLine
from forkserver import ForkServer
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

from patchq.model.workspace import Workspace


@pytest.fixture(scope="module")
def patchq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    server = ForkServer(tmp_path_factory.mktemp("home"))
    yield server
    server.close()


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    lines = "".join(f"line {number}\n" for number in range(12))
    made.commit("Start", {"a.txt": lines, "b.txt": lines})
    made.tag("v1")
    made.commit("Change (#2)", {"a.txt": lines.replace("line 6", "theirs")})
    made.tag("v2")
    return made


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    """``a`` collides on v2, ``b`` does not."""
    lines = upstream.read("v1", "a.txt").decode()
    mine = lines.replace("line 6", "ours")
    return make_workspace(
        upstream,
        {f"{name}.patch": upstream.patch("v1", {f"{name}.txt": mine}) for name in ("b", "a")},
    )


def told(patchq: CommandLine, workspace: Workspace) -> dict[str, Any]:
    done = patchq("status", "--json", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "patchq.status/1"
    assert isinstance(document, dict)
    return document


def files(workspace: Workspace) -> dict[str, bytes]:
    return {
        str(path.relative_to(workspace.root)): path.read_bytes()
        for path in sorted(workspace.root.rglob("*"))
        if path.is_file() and ".patchq" not in path.parts
    }


# Status


def test_at_rest(patchq: CommandLine, workspace: Workspace, upstream: Miniature) -> None:
    done = patchq("status", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert "bases      2: v1 … v2" in done.stdout
    assert "series     v1 (2)" in done.stdout
    document = told(patchq, workspace)
    assert document["upstream"] == str(upstream.path)
    assert document["series"] == [{"tag": "v1", "patches": 2, "held": []}]
    assert document["rebase"] is None
    assert document["undo"] is None


def test_without_series_or_bases(patchq: CommandLine, upstream: Miniature, tmp_path: Path) -> None:
    patchq("init", tmp_path / "new", "--upstream", upstream.path, cwd=tmp_path)
    done = patchq("status", cwd=tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("none yet") == 2


def test_an_upstream_that_is_away_is_said(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    upstream.path.rename(upstream.path.parent / "away")
    done = patchq("status", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert "series     v1 (2)" in done.stdout
    (limit,) = told(patchq, workspace)["limits"]
    assert str(upstream.path) in limit


def test_held_patches(patchq: CommandLine, workspace: Workspace) -> None:
    patchq("rebase", "--onto", "v2", "--keep-going", cwd=workspace.root)
    assert "held       a.patch on v2: conflict" in patchq("status", cwd=workspace.root).stdout
    held = [{"name": "a.patch", "verdict": "conflict"}]
    assert told(patchq, workspace)["series"][1]["held"] == held


def test_a_rebase_under_way(patchq: CommandLine, workspace: Workspace) -> None:
    stop = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    done = patchq("status", cwd=workspace.root)
    assert stop.stdout.rstrip() in done.stdout
    assert "markers left: a.txt" in done.stdout
    assert "not added: a.txt" in done.stdout
    rebase = told(patchq, workspace)["rebase"]
    assert (rebase["from"], rebase["onto"], rebase["stopped"]) == ("v1", "v2", "a.patch")
    assert (rebase["unmerged"], rebase["marked"]) == (["a.txt"], ["a.txt"])
    assert rebase["worktree"] == str(workspace.state_dir / "worktree")
    (workspace.state_dir / "worktree" / "a.txt").write_text("solved\n")
    assert told(patchq, workspace)["rebase"]["marked"] == []


# Undo


def test_one_step_a_call(patchq: CommandLine, workspace: Workspace) -> None:
    first = files(workspace)
    patchq("rebase", "--onto", "v2", "--keep-going", cwd=workspace.root)
    second = files(workspace)
    patchq("rebase", "--onto", "v2", "--keep-going", "--replace", cwd=workspace.root)
    for before in (second, first):
        done = patchq("undo", cwd=workspace.root)
        assert "took back `rebase --onto v2`" in done.stdout
        assert files(workspace) == before
    done = patchq("undo", cwd=workspace.root)
    assert done.returncode == 2
    assert "nothing to undo" in done.stderr


def test_a_dry_run_says_what(patchq: CommandLine, workspace: Workspace) -> None:
    assert patchq("undo", "--dry-run", cwd=workspace.root).returncode == 2
    patchq("rebase", "--onto", "v2", "--keep-going", cwd=workspace.root)
    before = files(workspace)
    done = patchq("undo", "--dry-run", cwd=workspace.root)
    assert "series/v2: removed" in done.stdout
    assert files(workspace) == before
    assert told(patchq, workspace)["undo"]["command"] == "rebase --onto v2"


def test_what_was_edited_since_is_not_lost(patchq: CommandLine, workspace: Workspace) -> None:
    patchq("rebase", "--onto", "v2", "--keep-going", cwd=workspace.root)
    edited = workspace.series_path("v2") / "b.patch"
    edited.write_bytes(edited.read_bytes() + b"\n")
    before = files(workspace)
    done = patchq("undo", cwd=workspace.root)
    assert done.returncode == 2
    assert "series/v2 was changed since" in done.stderr
    assert files(workspace) == before


def test_a_solved_rebase_goes_with_its_resolution(
    patchq: CommandLine, workspace: Workspace
) -> None:
    before = files(workspace)
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    worktree = workspace.state_dir / "worktree"
    (worktree / "a.txt").write_text("solved\n")
    subprocess.run(["git", "add", "a.txt"], cwd=worktree, check=True)
    done = patchq("rebase", "--continue", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert list((workspace.series_dir / ".resolutions").rglob("*.yaml"))
    patchq("undo", cwd=workspace.root)
    assert files(workspace) == before
