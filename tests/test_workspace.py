"""The workspace on disk: found, listed, and loaded with every mistake at its place."""

from pathlib import Path

import pytest

from patchq.errors import InputError, Where
from patchq.model.ids import commit_id, tree_id
from patchq.model.lock import Base, Lock, render_lock
from patchq.model.retired import RecordState, Retired, render_retired
from patchq.model.settings import Settings
from patchq.model.verdict import Verdict
from patchq.model.workspace import Workspace, ensure_state_dir, find_workspace

PATCH = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
BASES = tuple(
    Base(name, commit_id(f"{n:040x}"), tree_id("f" * 40), "2026-10-01T12:00:00+00:00")
    for n, name in enumerate(["v2", "v10", "v1", "v3"])
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.lock_path.write_bytes(render_lock(Lock("https://example.org/x.git", BASES)))
    for tag in ("v1", "v2", "unlocked"):
        workspace.series_path(tag).mkdir(parents=True)
        (workspace.series_path(tag) / "series").write_bytes(b"# order\nfix.patch #+slim\n")
        (workspace.series_path(tag) / "fix.patch").write_bytes(PATCH)
    workspace.series_path("v10").mkdir()
    return workspace


def test_found_from_below(workspace: Workspace) -> None:
    assert find_workspace(workspace.series_path("v1")).root == workspace.root.resolve()


def test_not_found(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        find_workspace(tmp_path)
    assert "patchq init" in (caught.value.hint or "")
    assert "-C DIR" in (caught.value.hint or "")


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such directory"):
        find_workspace(tmp_path / "missing")


def test_a_malformed_recipe_is_found_on_loading(workspace: Workspace) -> None:
    (workspace.series_path("v1") / "recipe.yaml").write_text("version: 1\npins: [\n")
    with pytest.raises(InputError) as caught:
        workspace.load("v1")
    assert str(caught.value.where) == "series/v1/recipe.yaml:3"
    directory, (problem,) = workspace.survey("v1")
    assert problem.where == caught.value.where
    assert list(directory.patches) == ["fix.patch"]


def test_series_on_no_locked_base(workspace: Workspace) -> None:
    assert workspace.unlocked() == ("unlocked",)


def test_series_come_in_the_locks_order(workspace: Workspace) -> None:
    assert workspace.series_names() == ("v2", "v1")


def test_settings_may_be_missing(workspace: Workspace) -> None:
    assert workspace.settings() == Settings()
    workspace.settings_path.write_bytes(b"main: dev\n")
    assert workspace.settings().main == "dev"
    workspace.settings_path.write_bytes(b"main: [\n")
    with pytest.raises(InputError) as caught:
        workspace.settings()
    assert str(caught.value.where).startswith("series/patchq.yaml:")


def test_a_series_is_loaded_whole(workspace: Workspace) -> None:
    path = workspace.series_path("v1")
    retired = Retired(
        "old.patch", Verdict.EXPIRED, "why", (), PATCH, RecordState.RETIRED, since="v1", base="v10"
    )
    (path / "retired.yaml").write_bytes(render_retired([retired]))
    (path / "recipe.yaml").write_bytes(b"pins: {}\n")
    loaded = workspace.load("v1")
    assert loaded.tag == "v1"
    assert loaded.path == path
    assert loaded.series.names == ("fix.patch",)
    assert loaded.patches["fix.patch"].raw == PATCH
    assert loaded.retired == (retired,)
    assert loaded.recipe == b"pins: {}\n"


def test_what_a_series_need_not_have(workspace: Workspace) -> None:
    loaded = workspace.load("v1")
    assert loaded.retired == ()
    assert loaded.recipe is None


def test_a_missing_patch_is_named_with_its_line(workspace: Workspace) -> None:
    path = workspace.series_path("v1")
    (path / "fix.patch").rename(path / "fixx.patch")
    with pytest.raises(InputError, match=r"no file fix\.patch") as caught:
        workspace.load("v1")
    assert caught.value.where == Where("series/v1/series", 2)
    assert "fixx.patch" in (caught.value.hint or "")


def test_a_directory_is_no_patch(workspace: Workspace) -> None:
    path = workspace.series_path("v1")
    (path / "fix.patch").unlink()
    (path / "fix.patch").mkdir()
    with pytest.raises(InputError, match="directory"):
        workspace.load("v1")


@pytest.mark.parametrize(
    ("tag", "words"),
    [("unlocked", "not a base"), ("v10", "no series on v10"), ("../v1", "not a base")],
)
def test_a_series_that_is_not_there(workspace: Workspace, tag: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        workspace.load(tag)


def test_a_missing_lock(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        Workspace(tmp_path).lock()
    assert caught.value.where == Where("upstream.lock")


def test_the_state_directory_ignores_itself(workspace: Workspace) -> None:
    ensure_state_dir(workspace)
    ensure_state_dir(workspace)
    assert (workspace.root / ".patchq/.gitignore").read_bytes() == b"*\n"
