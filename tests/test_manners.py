"""How the command line behaves everywhere: help, names, notices, JSON, colour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import add_series, make_workspace

from patchq.cli.commands import ELSEWHERE, GROUPS
from patchq.model.verdict import Verdict
from patchq.model.workspace import Workspace

NAMES = [name for names in GROUPS.values() for name in names]


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    for number in (1, 2, 3):
        made.commit(f"Release {number}", {"a.txt": "a\n", "b.txt": f"{number}\n"})
        made.tag(f"v{number}")
    return made


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    patch = upstream.patch("v1", {"a.txt": "A\n"}, "Raise a")
    made = make_workspace(upstream, {"old.patch": patch})
    add_series(made, "v2", {"new.patch": patch})
    return made


def test_help_shows_each_command_in_a_group_with_its_whole_summary(
    patchq: CommandLine, tmp_path: Path
) -> None:
    done = patchq("--help", cwd=tmp_path, env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert not any(line.endswith("...") for line in done.stdout.splitlines()[1:])
    for group, names in GROUPS.items():
        assert f"\n{group}:\n" in done.stdout
        assert all(f"\n  {name} " in done.stdout for name in names)
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_examples(
    patchq: CommandLine, tmp_path: Path, name: str
) -> None:
    done = patchq("help", name, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == patchq(name, "--help", cwd=tmp_path).stdout
    assert f"patchq {name}" in done.stdout.split("Example", 1)[1]


def test_topics(patchq: CommandLine, tmp_path: Path) -> None:
    shown = patchq("help", "verdicts", cwd=tmp_path).stdout
    rows = [line.split()[0] for line in shown.splitlines() if line and line[0] not in "#I"]
    assert rows[1:] == [verdict.value for verdict in Verdict]
    for topic in ("glossary", "exit-codes"):
        assert patchq("help", topic, cwd=tmp_path).stdout.startswith("# ")
    unknown = patchq("help", "weather", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "glossary" in unknown.stderr


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_a_command_of_another_tool_is_answered(
    patchq: CommandLine, tmp_path: Path, name: str
) -> None:
    done = patchq(name, cwd=tmp_path)
    assert done.returncode == 2
    assert ELSEWHERE[name][:30] in " ".join(done.stderr.split())


def test_patchq_alone_is_the_status_or_the_help(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    inside = patchq(cwd=workspace.root)
    assert (inside.returncode, inside.stdout) == (0, patchq("status", cwd=workspace.root).stdout)
    outside = patchq(cwd=tmp_path)
    assert outside.returncode == 2
    assert "Usage: patchq" in outside.stdout


def test_a_patch_of_another_series_is_named(patchq: CommandLine, workspace: Workspace) -> None:
    for command in (("show", "old"), ("drop", "old", "--forget"), ("header", "old.patch")):
        done = patchq(*command, cwd=workspace.root)
        assert done.returncode == 2
        assert "hint: It is in the series on v1." in done.stderr


def test_quiet_leaves_out_notices(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    (upstream.path / "shallow").write_bytes(upstream.git("rev-parse", "v1"))
    loud = patchq("report", "v1", cwd=workspace.root)
    assert "shallow" in loud.stderr
    again = patchq("report", "v1", cwd=workspace.root)
    assert (again.stdout, again.stderr) == (loud.stdout, "")  # said once a workspace
    (workspace.cache_dir / "notices").unlink()
    assert patchq("-q", "report", "v1", cwd=workspace.root).stderr == ""


def test_verbose_shows_git(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("-v", "report", "v1", cwd=workspace.root)
    assert "git apply" in done.stderr
    assert all(line.endswith(" s)") for line in done.stderr.splitlines())


def test_colour(patchq: CommandLine, workspace: Workspace) -> None:
    assert "\x1b[" not in patchq("status", cwd=workspace.root).stdout
    assert "\x1b[" in patchq("--color", "always", "status", cwd=workspace.root).stdout
    done = patchq("--color", "never", "status", cwd=workspace.root, env={"FORCE_COLOR": "1"})
    assert "\x1b[" not in done.stdout


def test_json_of_commands_that_change_the_lock(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    def call(*args: str) -> dict[str, object]:
        done = patchq(*args, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert isinstance(document, dict)
        return document

    made = call("init", "--upstream", str(upstream.path))
    assert made == {
        "schema": "patchq.init/1",
        "workspace": str(tmp_path),
        "upstream": str(upstream.path),
    }
    locked = call("lock", "v1", "v2")
    assert [row["name"] for row in locked["bases"]] == ["v1", "v2"]  # type: ignore[attr-defined]
    assert call("lock", "--check")["moved"] == []
    fetched = call("fetch", "v1")
    assert [row["name"] for row in fetched["bases"]] == ["v1"]  # type: ignore[attr-defined]
    assert call("undo", "--dry-run")["command"] == "lock v1 v2"
    assert call("undo")["paths"] == [{"path": "upstream.lock", "outcome": "restored"}]


def test_the_story_of_a_patch_as_json(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("why", "old.patch", "--json", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    story = json.loads(done.stdout)
    assert (story["schema"], story["name"]) == ("patchq.story/1", "old.patch")
    assert story["bases"]


def test_a_command_fetches_the_bases_that_it_needs(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    root = tmp_path / "fresh"
    made = make_workspace(upstream, {}, bases=("v1", "v2"), root=root)
    lock = made.lock_path.read_text().replace(str(upstream.path), upstream.path.as_uri())
    made.lock_path.write_text(lock)
    (made.series_path("v1") / "old.patch").write_bytes(
        upstream.patch("v1", {"a.txt": "A\n"}, "Raise a")
    )
    (made.series_path("v1") / "series").write_text("old.patch\n")
    done = patchq("report", "v1", cwd=root)
    assert done.returncode == 0, done.stderr
    assert "1 clean" in done.stdout
    assert "patchq: fetching v1" in done.stderr
    assert "fetching" not in patchq("report", "--all", cwd=root).stderr


def test_a_base_that_cannot_be_fetched_is_named(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    made = make_workspace(upstream, {}, bases=("v1", "v2"), root=tmp_path / "fresh")
    made.lock_path.write_text(made.lock_path.read_text().replace(str(upstream.path), "file:///no"))
    done = patchq("report", "v1", cwd=made.root)
    assert done.returncode == 3
    assert "is not in the upstream store" in done.stderr
