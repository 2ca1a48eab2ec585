"""``patchq.Workspace``: what a script does, without the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

import patchq
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


def test_the_page_shows_what_runs(root: Path, tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "how-to" / "python.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    target = repr(str(tmp_path / "t.tar"))
    code = code.replace('"downstream"', repr(str(root))).replace('"tree.tar"', target)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "clean a.patch"
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
