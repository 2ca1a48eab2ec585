"""Pages of the docs, block by block, as a reader types them; what they show is what is printed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from miniature import MakeMiniature, Miniature
from pages import DEP3, DOCS, LIMITS, LOG, ROOT, Reader, read_readme

SGLANG = os.environ.get("PATCHQ_TEST_SGLANG")


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    made.commit("Begin", {"src/limits.c": LIMITS, "src/log.c": LOG, "README": "teh readme\n"})
    made.tag("v1.0")
    made.commit("Fix a typo", {"README": "the readme\n"})
    made.commit("Log to a file", {"src/log.c": LOG.replace("log(9)", "log_to_file(9)")})
    made.commit("Two more limits", {"src/limits.c": f"int a;\nint b;\n{LIMITS}"})
    made.tag("v1.1")
    return made


@pytest.fixture
def reader(upstream: Miniature, tmp_path: Path) -> Reader:
    pile = tmp_path / "pile"
    pile.mkdir()
    for name, subject, changes in (
        ("raise-limit", "Raise a limit", {"src/limits.c": LIMITS.replace("_7 = 7", "_7 = 70")}),
        ("fix-typo", "Fix a typo", {"README": "the readme\n"}),
        ("log-level", "Log the level", {"src/log.c": LOG.replace("log(9)", "log(9, level)")}),
    ):
        raw = upstream.bare_diff("v1.0", dict(changes))
        (pile / f"{name}.patch").write_bytes(DEP3.format(subject).encode() + raw)
    (pile / "series").write_text("raise-limit.patch\nfix-typo.patch\nlog-level.patch\n")
    return Reader(tmp_path, upstream)


@pytest.fixture
def workspace(reader: Reader) -> Path:
    reader.run('patchq init ws --upstream "$UPSTREAM" --from "$PATCHES" --tag v1.0', reader.home)
    return reader.home / "ws"


@pytest.fixture
def package(reader: Reader) -> Path:
    """A Debian package with its patches, in git."""
    root = reader.home / "package"
    (root / "debian/source").mkdir(parents=True)
    shutil.copytree(reader.home / "pile", root / "debian/patches")
    (root / "debian/source/format").write_text("3.0 (quilt)\n")
    (root / "debian/control").write_text(
        "Source: x\nMaintainer: A <a@b>\n\nPackage: x\nArchitecture: all\nDescription: x\n"
    )
    (root / "debian/changelog").write_text(
        "x (1.0-1) unstable; urgency=low\n\n  * x\n\n -- A <a@b>  Mon, 03 Aug 2026 10:00:00 +0200\n"
    )
    reader.run(
        'git init -q -b master && git pull -q "$UPSTREAM" tag v1.0 && git add -A '
        "&& git commit -q -m Debian",
        root,
    )
    return root


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def branch(reader: Reader) -> Path:
    """A clone with a branch of three commits."""
    clone = reader.home / "clone"
    reader.run(
        'git clone -q "$UPSTREAM" clone && cd clone && git checkout -q -b downstream v1.0\n'
        'for name in raise-limit fix-typo log-level; do git apply "$PATCHES/$name.patch"\n'
        'git commit -q -a -m "$name"; done',
        reader.home,
    )
    return clone


def test_the_quick_start(reader: Reader) -> None:
    reader.read("quick-start.md", reader.home, leave_out="pip install")
    assert (reader.cwd / "lifecycle.html").is_file()


@pytest.mark.slow
def test_the_demo(reader: Reader) -> None:
    def solve(language: str, text: str) -> None:
        assert language == "cmake"
        (name,) = reader.run("git diff --name-only --diff-filter=U", reader.cwd).split()
        file = reader.cwd / name
        solved = re.sub(r"<{7}.*>{7}[^\n]*\n", lambda _: text, file.read_text(), flags=re.DOTALL)
        file.write_text(solved)

    reader.read("tutorials/demo.md", reader.home, follow=solve)
    assert (reader.cwd / ".patchq/worktree").is_dir()
    reader.run("patchq rebase --abort && rm -r series/.resolutions", reader.cwd)
    for page in ("reference/report.md", "reference/export.md"):
        reader.read_sessions(page, reader.cwd)
    printed = reader.run("patchq verify v1.1", reader.cwd)
    sections = re.findall(r"^[✔✖·] ([\w-]+) ", printed, re.M)
    table = (DOCS / "reference/verify.md").read_text(encoding="utf-8").split("\n\n")[2]
    assert re.findall(r"^\| `([\w-]+)`", table, re.M) == sections


@pytest.mark.release
@pytest.mark.skipif(SGLANG is None, reason="PATCHQ_TEST_SGLANG names no clone")
@pytest.mark.parametrize(
    "page", ["../README.md", "tutorials/real-tag.md", "how-to/carry-a-pr.md", "reference/verify.md"]
)
def test_what_was_recorded_on_sglang(reader: Reader, page: str) -> None:
    for name in ("series", "upstream.lock"):
        reader.run(f"cp -r '{ROOT / name}' .", reader.home)
    reader.environment["PATCHQ_UPSTREAM"] = str(SGLANG)
    reader.read_sessions(page, reader.home)


def test_retire(reader: Reader, workspace: Path) -> None:
    reader.read("how-to/retire.md", workspace)
    header = reader.run("patchq header fix-typo.patch", workspace)
    assert "X-Upstream-PR: 123" in header


@pytest.mark.slow
def test_variants(reader: Reader, workspace: Path) -> None:
    reader.cwd = workspace
    page = (DOCS / "how-to/variants.md").read_text(encoding="utf-8")
    recipe = re.search(r"```yaml\n# series/v1.0/recipe.yaml\n(.*?)```", page, re.DOTALL)
    assert recipe
    (workspace / "series/v1.0/recipe.yaml").write_text(f"version: 1\n{recipe[1]}")
    reader.read("how-to/variants.md", workspace)
    assert (workspace / "demo-debug.tar.gz").is_file()


def test_without_a_network(reader: Reader, workspace: Path) -> None:
    reader.read("how-to/air-gapped.md", workspace, leave_out="/srv/mirrors|pip download")
    assert (reader.home / "workspace.tar.gz").is_file()


@pytest.mark.slow
def test_from_git_buildpackage(reader: Reader, package: Path) -> None:
    need("gbp")
    need("dpkg-source")
    reader.read("how-to/gbp.md", package)
    queue = reader.home / "queue/series/v1.0/series"
    assert queue.read_text().split() == ["raise-limit.patch", "fix-typo.patch", "log-level.patch"]
    assert "level" in (package / "src/log.c").read_text()


@pytest.mark.slow
def test_from_stgit(reader: Reader) -> None:
    need("stg")
    clone = branch(reader)
    reader.run("stg init && stg uncommit -n 3", clone)
    reader.read("how-to/stgit.md", clone)
    assert "int last;" in (reader.home / "series/series/v1.0/raise-limit.patch").read_text()


def test_from_a_branch(reader: Reader) -> None:
    reader.read("how-to/branch.md", branch(reader))
    log = reader.run("git -C downstream.git log --oneline patchq/v1.0", reader.cwd)
    assert log.count("\n") == 4


@pytest.mark.slow
def test_from_scripts(reader: Reader, workspace: Path) -> None:
    shutil.rmtree(workspace / "series/v1.0")
    (reader.home / "patches").mkdir()
    for name in ("raise-limit", "log-level"):
        shutil.copy(reader.home / f"pile/{name}.patch", reader.home / "patches")
    shutil.copy(reader.home / "pile/raise-limit.patch", reader.home / "patches/debug-v1.1.patch")
    raw = reader.upstream.bare_diff("v1.1", {"README": "the README\n"})
    (reader.home / "patches/debug-v1.1.patch").write_bytes(DEP3.format("Debug").encode() + raw)
    (reader.home / "build.recipe").write_text("APPLY_DEBUG=1\n")
    reader.read("how-to/scripts.md", workspace)


@pytest.mark.slow
def test_the_readme(tmp_path: Path) -> None:
    reader = read_readme(tmp_path)
    assert (tmp_path / "spark/sglang-sm121.tar.gz").is_file()
    assert (tmp_path / "spark/lifecycle.html").is_file()
    assert reader.cwd == tmp_path / "my-patches"
