"""Nothing vanishes between two series: lint, verify, report and the matrix say what did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from seriesbench import USER, A, B, begin, changed
from workspaces import add_series, make_workspace, open_project

from patchq.engine.rebase.matrix.lifecycle import lifecycle
from patchq.engine.series.continuity import gaps
from patchq.errors import Where
from patchq.model.retired import Lineage, RecordState, Retired, read_lineage, read_retired
from patchq.model.retired import render_retired as render
from patchq.model.verdict import Verdict
from patchq.model.workspace import Workspace


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = begin(miniature())
    made.commit("Go on (#2)", {"b.txt": changed(B, 25, to="newer")})
    made.tag("v2")
    made.commit("And on (#3)", {"b.txt": changed(B, 5, 25, to="newer")})
    made.tag("v3")
    return made


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    """One, two and three on v1, of which three collides on v3; only one on v2."""
    patches = {
        "one.patch": upstream.patch("v1", {"a.txt": changed(A, 5)}),
        "two.patch": upstream.patch("v1", {"a.txt": changed(A, 15)}),
        "three.patch": upstream.patch("v1", {"b.txt": changed(B, 5)}),
    }
    workspace = make_workspace(upstream, patches, bases=("v1", "v2", "v3"))
    add_series(workspace, "v2", {name: patches[name] for name in ("one.patch", "three.patch")})
    return workspace


LOST = "in v1, not in v2, no record"


def remember(workspace: Workspace, tag: str, *, lineage: Lineage | None = None) -> None:
    path = workspace.series_path(tag) / "retired.yaml"
    path.write_bytes(render(workspace.retired(tag), lineage))


def lost(workspace: Workspace, tag: str = "v2") -> list[str]:
    return [gap.name for gap in gaps(workspace, tag)]


def test_every_command_that_looks_says_what_vanished(
    patchq: CommandLine, workspace: Workspace
) -> None:
    for command in (("lint",), ("verify", "v2"), ("report", "v1", "--onto", "v2")):
        done = patchq(*command, cwd=workspace.root)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "two.patch" in done.stdout
        assert LOST in done.stdout
    done = patchq("report", "--all", cwd=workspace.root)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"lost two.patch: {LOST}" in done.stdout
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 2
    assert "`patchq port two.patch --from v1 --to v2` brings what it lacks" in done.stderr
    document = json.loads(patchq("report", "v2", "--format", "json", cwd=workspace.root).stdout)
    assert [(item["name"], item["memory"]) for item in document["remembered"]] == [
        ("two.patch", "lost")
    ]


def test_it_is_brought_or_its_absence_is_recorded(
    patchq: CommandLine, workspace: Workspace
) -> None:
    done = patchq("port", "two.patch", "--from", "v1", "--to", "v2", cwd=workspace.root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert lost(workspace) == []
    patchq("undo", cwd=workspace.root)
    assert lost(workspace) == ["two.patch"]
    done = patchq(
        "drop", "two.patch", "--tag", "v2", "--reason", "not wanted any more", cwd=workspace.root
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert lost(workspace) == []
    (record,) = workspace.load("v2").retired
    assert (record.standing, record.reason, record.base) == (
        RecordState.DROPPED,
        "not wanted any more",
        "v1",
    )
    assert record.content == workspace.load("v1").patches["two.patch"].raw
    assert patchq("lint", cwd=workspace.root).returncode == 0


def test_a_series_that_begins_anew_goes_on_from_none(workspace: Workspace) -> None:
    remember(workspace, "v2", lineage=Lineage(begins="another product"))
    assert lost(workspace) == []


def test_an_import_where_no_series_was_begins_anew_and_says_it(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    (workspace.root / "fix.patch").write_bytes(upstream.patch("v3", {"a.txt": changed(A, 9)}))
    done = patchq("import", "fix.patch", "--tag", "v3", cwd=workspace.root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "series/v3 starts over: imported, not rebased from v2" in done.stderr
    assert lost(workspace, "v3") == []
    three = lifecycle(open_project(workspace, upstream)).columns[2].patch("three.patch")
    assert three is not None  # nobody decided on it there
    assert (three.verdict, three.notes) == (Verdict.CONFLICT, ("not in the series on v3",))
    patchq("undo", cwd=workspace.root)
    assert not workspace.series_path("v3").exists()


def test_what_was_remembered_is_not_forgotten(workspace: Workspace) -> None:
    record = Retired(
        "old.patch", Verdict.UPSTREAMED, "landed", (), b"x\n", RecordState.RETIRED, "v1", "v1"
    )
    (workspace.series_path("v1") / "retired.yaml").write_bytes(render([record]))
    assert lost(workspace) == ["two.patch", "old.patch"]


def test_a_recipe_vanishes_no_more_than_a_patch(workspace: Workspace) -> None:
    (workspace.series_path("v1") / "recipe.yaml").write_text("version: 1\n")
    assert lost(workspace) == ["two.patch", "recipe.yaml"]


@pytest.mark.parametrize("tag", ["v1", "v2"])
@pytest.mark.parametrize(
    "command",
    [
        ("rename", "one.patch", "uno"),
        ("fold", "one.patch", "three.patch"),
        ("split", "both.patch", "--take", "b.txt", "--into", "rest"),
    ],
    ids=lambda command: command[0],
)
def test_identity_survives_edits_of_either_series(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path, tag: str, command: tuple[str, ...]
) -> None:
    patches = {
        "one.patch": upstream.patch("v1", {"a.txt": changed(A, 5)}),
        "three.patch": upstream.patch("v1", {"b.txt": changed(B, 5)}),
        "both.patch": upstream.patch("v1", {"a.txt": changed(A, 25), "b.txt": changed(B, 15)}),
    }
    workspace = make_workspace(upstream, patches, root=tmp_path / "edited")
    add_series(workspace, "v2", patches)
    done = patchq(*command, "--tag", tag, cwd=workspace.root, env=USER)
    assert done.returncode == 0, done.stdout + done.stderr
    assert lost(workspace) == []
    assert workspace.lineage(tag)
    if command[0] == "rename":
        (workspace.series_path(tag) / "retired.yaml").unlink()
        assert len(lost(workspace)) == 1


def test_names_are_followed_over_any_number_of_steps() -> None:
    lineage = Lineage().succeed(["a"], ("b",)).succeed(["b"], ("b", "c")).succeed(["x"], ("c",))
    assert lineage.successors_of("a") == {"b", "c"}
    assert lineage.ancestors("c") == {"a", "b", "x"}
    raw, where = render([], lineage), Where("retired.yaml")
    assert (read_lineage(raw, where), read_retired(raw, where)) == (lineage, ())


def test_the_matrix_tells_what_was_decided_where_a_series_is(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    patchq("drop", "two.patch", "--tag", "v2", "--reason", "not wanted", cwd=workspace.root)
    done = patchq("rebase", "--onto", "v3", cwd=workspace.root)
    assert done.returncode == 1
    done = patchq("rebase", "--skip", "--reason", "upstream does better", cwd=workspace.root)
    assert done.returncode == 0, done.stdout + done.stderr
    matrix = lifecycle(open_project(workspace, upstream))
    _, second, third = matrix.columns
    two, three = second.patch("two.patch"), third.patch("three.patch")
    assert two is not None
    assert (two.skipped, two.verdict) == ("not wanted", Verdict.CLEAN)
    assert three is not None
    assert (three.skipped, three.verdict) == ("upstream does better", Verdict.CONFLICT)
    assert matrix.open == ()
    done = patchq("report", "--all", cwd=workspace.root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dropped 2" in done.stdout


def test_a_conflict_that_the_series_has_solved_is_no_open_one(
    upstream: Miniature, workspace: Workspace, patchq: CommandLine
) -> None:
    """Solved by hand, and how is not kept in series/.resolutions."""
    remember(workspace, "v2", lineage=Lineage(begins="for a test"))
    solved = upstream.patch("v3", {"b.txt": changed(B, 25, to="newer")})
    one = workspace.load("v2").patches["one.patch"].raw
    add_series(workspace, "v3", {"one.patch": one, "three.patch": solved})
    matrix = lifecycle(open_project(workspace, upstream))
    three = matrix.columns[2].patch("three.patch")
    assert three is not None
    assert three.verdict is Verdict.ADAPTED
    assert "conflict, resolved by hand" in three.notes
    report = matrix.columns[2].report
    assert report is not None
    assert report.lost == ()
    assert "resolved by hand" in patchq("why", "three.patch", cwd=workspace.root).stdout
