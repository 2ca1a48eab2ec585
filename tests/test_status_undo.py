"""``patchq status`` and ``patchq undo`` on the real command line."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

from patchq.engine.workspace.transaction import newest, recover, undo
from patchq.errors import InputError
from patchq.model.workspace import Workspace


@pytest.fixture(scope="module")
def patchq(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    return CommandLine(tmp_path_factory.mktemp("home"))


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
    assert document["series"] == [
        {
            "tag": "v1",
            "patches": 2,
            "guarded_off": [],
            "held": [],
            "resurfaced": [],
            "problem": None,
        }
    ]
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


BROKEN = {
    "a.patch": (b"From: nobody\n", 2, "a.patch"),
    "series": (b"a.patch -R\n", None, "series:1"),
    "retired.yaml": (b"version: 9\n", 2, "retired.yaml"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_series_that_cannot_be_read_is_said_beside_the_rest(
    patchq: CommandLine, workspace: Workspace, name: str
) -> None:
    patchq("rebase", "--onto", "v2", "--keep-going", cwd=workspace.root)
    content, patches, place = BROKEN[name]
    (workspace.series_path("v1") / name).write_bytes(content)
    broken, whole = told(patchq, workspace)["series"]
    assert broken["patches"] == patches
    assert broken["problem"].startswith(f"series/v1/{place}")
    assert (whole["patches"], len(whole["held"]), whole["problem"]) == (1, 1, None)
    done = patchq("status", cwd=workspace.root)
    assert done.returncode == 0
    assert f"broken     series/v1/{place}" in done.stdout
    assert f"v1 ({patches or '?'}), v2 (1)" in done.stdout
    assert "undo       rebase --onto v2" in done.stdout


def test_settings_that_cannot_be_read_are_said_beside_the_rest(
    patchq: CommandLine, workspace: Workspace
) -> None:
    workspace.settings_path.write_text("nonsense: 1\n")
    document = told(patchq, workspace)
    assert "nonsense" in document["limits"][0]
    assert document["series"][0]["patches"] == 2


# Undo


DAMAGED = [
    b"",
    b"[]",
    b"{}",
    b"\xff",
    b'{"label": "x", "time": 1, "changes": []}',
    b'{"label": "x", "time": "t", "changes": [{}]}',
    b'{"label": "x", "time": "t", "changes": [{"path": "../x", "kind": "file", "existed": true,'
    b' "digest": null}]}',
]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
@pytest.mark.parametrize("state", ["done", "forward", "back"])
def test_a_damaged_record_is_named_with_the_way_out(
    workspace: Workspace, state: str, content: bytes
) -> None:
    slot = workspace.state_dir / "transactions" / "00000001"
    slot.mkdir(parents=True)
    (slot / f"{state}.json").write_bytes(content)
    steps = (undo, newest) if state == "done" else (recover,)
    for step in steps:
        with pytest.raises(InputError, match="damaged") as caught:
            step(workspace)
        assert str(caught.value.where) == f".patchq/transactions/00000001/{state}.json"
        assert ".patchq/transactions/00000001" in (caught.value.hint or "")


def test_status_goes_on_where_nothing_can_be_undone(
    patchq: CommandLine, workspace: Workspace
) -> None:
    patchq("rebase", "--onto", "v2", "--keep-going", cwd=workspace.root)
    (record,) = workspace.state_dir.glob("transactions/*/done.json")
    record.write_bytes(record.read_bytes()[:40])
    assert "damaged" in told(patchq, workspace)["undo"]["problem"]
    done = patchq("status", cwd=workspace.root)
    assert "undo       .patchq/transactions/00000001/done.json: the record" in done.stdout
    for command in (["undo"], ["undo", "--dry-run"]):
        refused = patchq(*command, cwd=workspace.root)
        assert refused.returncode == 2
        assert "then remove .patchq/transactions/00000001" in " ".join(refused.stderr.split())


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


def test_a_step_is_called_as_it_was_typed(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    def last(*args: str) -> str:
        assert patchq(*args, cwd=workspace.root).returncode == 0
        (line, *_) = patchq("undo", "--dry-run", cwd=workspace.root).stdout.splitlines()
        return line.split("`")[1]

    name = workspace.series("v1").names[0]
    guarded = last("-q", "guard", name, "--when", "slow", "--tag", "v1")
    assert guarded == f"guard {name} --when slow --tag v1"
    set_words = last("header", name, "--add", "X-Watch: GB10", "--tag=v1")
    assert set_words == f"header {name} --add 'X-Watch: GB10' --tag=v1"
    patch = upstream.patch("v1", {"new-file": "x\n"}, "Add it")
    names = []
    for number in range(12):
        file = workspace.root.parent / f"p{number}.patch"
        file.write_bytes(patch.replace(b"new-file", b"new-%d" % number))
        names.append(str(file))
    imported = last("import", *names, "--tag", "v1")
    assert imported == f"import {' '.join(names[:5])} (and 7 more) --tag v1"


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


def test_a_solved_rebase_goes_and_its_resolution_stays(
    patchq: CommandLine, workspace: Workspace
) -> None:
    before = files(workspace)
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    worktree = workspace.state_dir / "worktree"
    (worktree / "a.txt").write_text("solved\n")
    subprocess.run(["git", "add", "a.txt"], cwd=worktree, check=True)
    done = patchq("rebase", "--continue", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    (kept,) = (workspace.series_dir / ".resolutions").rglob("*.yaml")
    name, raw = str(kept.relative_to(workspace.root)), kept.read_bytes()
    written = files(workspace)
    assert f"  {name}: kept aside\n" in patchq("undo", "--dry-run", cwd=workspace.root).stdout
    done = patchq("undo", cwd=workspace.root)
    assert f"{name} is kept in .patchq/kept/{name}" in done.stderr
    assert files(workspace) == before
    assert (workspace.state_dir / "kept" / name).read_bytes() == raw
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 0, done.stdout
    assert files(workspace) == written


def test_a_series_on_no_locked_base_is_said(patchq: CommandLine, workspace: Workspace) -> None:
    shutil.copytree(workspace.series_path("v1"), workspace.series_path("v9"))
    assert "series/v9 is on no base of upstream.lock" in patchq("status", cwd=workspace.root).stdout
    assert told(patchq, workspace)["unlocked"] == ["v9"]


def test_a_malformed_recipe_is_refused_before_anything_is_written(
    patchq: CommandLine, workspace: Workspace
) -> None:
    (workspace.series_path("v1") / "recipe.yaml").write_text("version: 1\npins: [\n")
    for options in (("--keep-going",), ("--dry-run",)):
        done = patchq("rebase", "--onto", "v2", *options, cwd=workspace.root)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("error: series/v1/recipe.yaml:3: ")
    assert not workspace.series_path("v2").exists()
    assert "series/v1/recipe.yaml:3" in patchq("status", cwd=workspace.root).stdout


def test_held_patches_fail_a_report_that_is_asked_to(
    patchq: CommandLine, workspace: Workspace
) -> None:
    patchq("rebase", "--onto", "v2", "--keep-going", cwd=workspace.root)
    plain = patchq("report", "v2", "--onto", "v1", cwd=workspace.root)
    assert plain.returncode == 0, plain.stderr
    failing = patchq("report", "v2", "--onto", "v1", "--fail-on", "held", cwd=workspace.root)
    assert (failing.returncode, failing.stdout) == (1, plain.stdout)
    unknown = patchq("report", "--fail-on", "hold", cwd=workspace.root)
    assert "held, resurfaced" in unknown.stderr
