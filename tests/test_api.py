"""``patchq.Workspace``: what a script does, without the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

import patchq
from patchq.api.importing import ImportOptions, as_guard
from patchq.engine.rebase.solving.resolve import OpenedConflict
from patchq.engine.series.edits import Place, Side
from patchq.engine.series.header_edit import set_field
from patchq.model.export_format import ExportFormat
from patchq.model.verdict import Action, Verdict


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    lines = "".join(f"line {number}\n" for number in range(20))
    made.commit("Begin", {"a.txt": lines, "b.txt": lines})
    made.tag("v1")
    made.commit("Move (#3)", {"b.txt": None, "c.txt": lines})
    made.tag("v2")
    made.commit("Collide (#4)", {"a.txt": lines.replace("line 3", "theirs")})
    made.tag("v3")
    return made


@pytest.fixture
def root(upstream: Miniature) -> Path:
    lines = upstream.read("v1", "a.txt").decode()
    patches = {
        "a.patch": upstream.patch("v1", {"a.txt": lines.replace("line 3", "ours")}, "Raise it"),
        "b.patch": upstream.patch("v1", {"b.txt": lines.replace("line 5", "ours")}, "Lower it"),
    }
    settings = "version: 1\nlive: {v1: production}\n"
    return make_workspace(upstream, patches, bases=("v1", "v2", "v3"), settings=settings).root


def test_a_morning_in_python(root: Path, tmp_path: Path) -> None:
    said: list[str] = []
    workspace = patchq.Workspace.open(root / "series", say=said.append)
    assert workspace.lock.names == ("v1", "v2", "v3")
    assert workspace.newest_series == "v1"

    report = workspace.report(onto="v2")
    assert [patch.verdict for patch in report.patches] == [Verdict.CLEAN, Verdict.MOVED]
    assert list(workspace.series_names) == ["v1"]

    rebased = workspace.rebase("v2")
    assert rebased.stop is None
    assert list(workspace.series_names) == ["v1", "v2"]
    assert workspace.verify().passed
    assert not any(finding.severity.value == "error" for finding in workspace.lint())

    exported = workspace.export("v2", tmp_path / "tree.tar")
    assert exported.form is ExportFormat.TAR
    assert (tmp_path / "tree.tar.verify.json").is_file()
    whole = workspace.export("v2", tmp_path / "tree", verify=False)
    assert (tmp_path / "tree" / "c.txt").read_text().count("ours") == 1
    assert whole.tar_sha256 == exported.tar_sha256

    work = workspace.next("v3")
    assert [item.subject for item in work.items][:1] == ["a.patch"]
    assert workspace.matrix().columns[0].role == "production"
    assert [c.base for c in workspace.story("a").columns] == ["v1", "v2", "v3"]
    (waiting,) = workspace.report(onto="v3").needs_review
    assert waiting.action is Action.REVIEW

    stopped = workspace.rebase("v3")
    assert stopped.stop is not None
    assert stopped.stop.report.name == "a.patch"
    with pytest.raises(patchq.PatchqError, match=r"unfinished|under way"):
        workspace.rebase("v3")
    assert list(workspace.series_names) == ["v1", "v2"]

    under_way = workspace.rebase_under_way
    assert under_way is not None
    assert under_way.stopped == "a.patch"
    with pytest.raises(patchq.PatchqError, match=r"a\.txt"):
        workspace.continue_rebase()
    worktree = workspace.files.state_dir / "worktree"
    lines = "".join(f"line {number}\n" for number in range(20))
    (worktree / "a.txt").write_text(lines.replace("line 3", "both"))
    git("add", "a.txt", cwd=worktree)
    decided, rebased = workspace.continue_rebase()
    assert decided is not None
    assert decided.patch == "a.patch"
    assert rebased.stop is None
    assert rebased.carried == ("a.patch", "b.patch")
    assert workspace.rebase_under_way is None
    assert workspace.gaps("v3") == ()


def git(*args: str, cwd: Path) -> None:
    subprocess.run(["git", *args], cwd=cwd, check=True, capture_output=True)


def test_changes_of_a_series(root: Path) -> None:
    workspace = patchq.Workspace.open(root)
    edited = workspace.rename("b", "low", dry_run=True)
    assert edited.new.series.names == ("a.patch", "low.patch")
    assert workspace.last_change is None

    workspace.move(["b"], Place(Side.BEFORE))
    assert workspace.files.series("v1").names == ("b.patch", "a.patch")
    assert workspace.drop(["a"], "not needed").changes.written.keys() == {"series", "retired.yaml"}
    revived = workspace.revive("a")
    assert not isinstance(revived, OpenedConflict)
    assert revived.new.series.names == ("b.patch", "a.patch")
    workspace.guard("a", [as_guard("slim")])
    assert [row.active for row in workspace.listing().rows] == [True, False]
    assert [row.active for row in workspace.listing(guards=["slim"]).rows] == [True, True]
    assert workspace.touched()[1] == {"b.txt": ("b.patch",)}
    assert workspace.compare_guards("v1", ["slim"]).added == ("a.patch",)
    workspace.edit_header("b", lambda patch: set_field(patch, "X-Kind", "fix"))
    assert workspace.files.load("v1").patches["b.patch"].header.kind == "fix"
    assert workspace.undo().label == "header b.patch --tag v1"
    assert workspace.fix() == ()

    opened = workspace.edit(new=("c", "Add a line"))
    worktree = workspace.files.state_dir / "edit"
    (worktree / "c.txt").write_text("new\n")
    refreshed = workspace.refresh(amend=True)
    assert refreshed is not None
    assert refreshed.edit == opened
    assert workspace.files.series("v1").names == ("b.patch", "c.patch", "a.patch")
    workspace.edit()
    assert workspace.abort_edit().unchanged


def test_what_is_held_is_resolved_and_ported(root: Path) -> None:
    workspace = patchq.Workspace.open(root)
    rebased = workspace.rebase("v3", source="v1", keep_going=True)
    assert rebased.carried == ("b.patch",)
    assert workspace.held("v3").roots == ("a.patch",)
    opened = workspace.resolve("a", "v3")
    assert isinstance(opened, OpenedConflict)
    assert opened.conflicts == ("a.txt",)
    left = workspace.abort_resolve()
    assert left is not None
    assert (left.name, left.tag) == ("a.patch", "v3")

    (ported,) = workspace.port(["a"], ["v2"], dry_run=True)
    assert ported.added == ("a.patch",)
    assert "v2" not in workspace.series_names
    (ported,) = workspace.port(["a"], ["v2"])
    assert workspace.files.series("v2").names == ("a.patch",)
    assert workspace.compare("v1", "v2").old == "v1"


def test_patches_come_in(root: Path, upstream: Miniature, tmp_path: Path) -> None:
    workspace = patchq.Workspace.open(root)
    file = tmp_path / "c.diff"
    file.write_bytes(upstream.bare_diff("v1", {"c.txt": "more\n"}))
    found, tag = workspace.collect([str(file)])
    assert tag is None
    assert workspace.triage(found, ImportOptions()).files[0].best is not None
    result = workspace.import_patches([str(file)], "v1")
    assert not result.has_failures
    assert workspace.files.series("v1").names == ("a.patch", "b.patch", "c.patch")
    again = workspace.import_patches([str(file)], "v1")
    assert [one.error.message for one in again.batch.failures] == [
        "c.patch is in the series on v1 already"
    ]

    (brought,) = workspace.backport(["4"], onto="v2", main="main", dry_run=True)
    assert [patch.name for patch in brought.patches] == ["collide-pr4.patch"]
    found_bases, added = workspace.lock_bases("dev=main", after="v3")
    assert added == ("dev",)
    assert [base.name for base, _ in workspace.moved("v1", "v2")] == ["v1", "v2"]
    assert workspace.newer_tags() == ()
    assert found_bases[0].base.commit == upstream.commit_id("main")
    assert "# v1 → v2" in workspace.notes("v2", "v1")


def test_the_page_shows_what_runs(root: Path, tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "how-to" / "python.md").read_text()
    code = "".join(block.split("```")[0] for block in page.split("```python\n")[1:])
    target = repr(str(tmp_path / "t.tar"))
    code = code.replace('"downstream"', repr(str(root))).replace('"tree.tar"', target)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    clean, moved, _, names, review, carried = done.stdout.splitlines()
    assert (clean, moved) == ("clean a.patch", "moved b.patch")
    assert names == "('a.patch', 'lower-it.patch')"
    assert review == "needs review: a.patch"
    assert carried == "('b.patch',)"
    assert (tmp_path / "t.tar").is_file()


def test_errors_are_of_one_kind(root: Path, tmp_path: Path) -> None:
    with pytest.raises(patchq.PatchqError):
        patchq.Workspace.open(tmp_path)
    workspace = patchq.Workspace.open(root)
    with pytest.raises(patchq.PatchqError, match="v9"):
        workspace.report(onto="v9")


def test_importing_the_package_is_cheap() -> None:
    code = "import sys, patchq; print([n for n in sys.modules if n.startswith('patchq.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError, match="has no attribute 'Workbench'"):
        _ = patchq.Workbench
