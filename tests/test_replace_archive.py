"""A git tag in the place of an archive base, and what an archive says of its requirements."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import Entry, MakeMiniature, Miniature
from miniature import symlink as link
from workspaces import add_series, make_workspace

from patchq.model.lock import render_lock
from patchq.model.workspace import Workspace

LISTS = "project(k)\nflags\nend\n"
TREE: Mapping[str, bytes | str | Entry] = {
    "kernel/CMakeLists.txt": LISTS,
    "python/demo/__init__.py": "one\n",
    "python/demo/notes": link("../../notes"),
    "python/demo/only_in_git.txt": "x\n",
    "notes": "words\n",
}
METADATA = """\
Metadata-Version: 2.1
Name: demo
Version: 2
Requires-Dist: torch==2.14.1
Requires-Dist: addict==2.4.0; extra == "more"

Requires-Dist: not==1
"""
IMPORT = ("import-upstream", "demo-2-py3-none-any.whl", "--tag", "v2", "--prefix", "python")


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    repository = miniature()
    repository.commit("Begin", TREE)
    repository.tag("v1")
    repository.commit("Go on", {"python/demo/__init__.py": "two\n"})
    repository.tag("v2")
    return repository


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    """A series on v1, which v2 has after an import without what the archive does not cover."""
    patches = {
        "kernel.patch": upstream.patch("v1", {"kernel/CMakeLists.txt": "project(k)\nours\nend\n"}),
        "python.patch": upstream.patch("v1", {"python/demo/__init__.py": "one\nmore\n"}),
    }
    return make_workspace(upstream, patches, bases=("v1",))


def wheel(workspace: Workspace, content: str = "two\n", metadata: str | None = METADATA) -> None:
    with zipfile.ZipFile(workspace.root / IMPORT[1], "w") as packed:
        files = {"demo/__init__.py": content, "demo/notes": "words\n"}
        if metadata is not None:
            files["demo-2.dist-info/METADATA"] = metadata
        for name, text in files.items():
            packed.writestr(zipfile.ZipInfo(name), text)


def run(patchq: CommandLine, workspace: Workspace, *args: str, code: int = 0) -> str:
    done = patchq(*args, cwd=workspace.root)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_the_tag_replaces_an_archive_that_is_a_part_of_it(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    wheel(workspace)
    run(patchq, workspace, *IMPORT)
    archived = workspace.lock_path.read_bytes()
    directory = add_series(workspace, "v2", {})
    for name in ("kernel.patch", "series"):
        (directory / name).write_bytes((workspace.series_path("v1") / name).read_bytes())
    (directory / "series").write_text("kernel.patch\n")
    refused = run(patchq, workspace, "export", "v2", "-o", "out", code=1)
    assert "`patchq lock v2 --replace-archive`" in refused
    said = run(patchq, workspace, "lock", "v2", "--replace-archive")
    assert "only in the tag: 1 covered file\n" in said
    assert "clean  kernel.patch" in said
    assert "python.patch" not in said
    base = workspace.lock().base("v2")
    assert (base.archive, base.commit) == (None, upstream.id("v2"))
    run(patchq, workspace, "undo")
    assert workspace.lock_path.read_bytes() == archived
    assert "there is no archive" in run(
        patchq, workspace, "lock", "v1", "--replace-archive", code=2
    )


def series_on_wheel(patchq: CommandLine, workspace: Workspace, upstream: Miniature) -> Path:
    """The series directory of v2, which is a wheel now, with one patch that it covers and one that
    it does not; no ``series`` file yet."""
    wheel(workspace)
    run(patchq, workspace, *IMPORT)
    directory = add_series(workspace, "v2", {})
    kernel = (workspace.series_path("v1") / "kernel.patch").read_bytes()
    python = upstream.patch("v2", {"python/demo/__init__.py": "two\nmore\n"})
    for name, raw in {"kernel.patch": kernel, "python.patch": python}.items():
        (directory / name).write_bytes(raw)
    return directory


def test_verify_checks_what_an_archive_covers_and_names_the_rest(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    directory = series_on_wheel(patchq, workspace, upstream)
    (directory / "series").write_text("kernel.patch\npython.patch\n")
    said = run(patchq, workspace, "verify", "v2")
    assert "2 patches: passed, 1 not covered by the base" in said
    assert "1 patch strictly, in order" in said
    assert "not checked, v2 does not cover what they touch: kernel.patch" in said
    both = {"kernel/CMakeLists.txt": "project(k)\nours\nend\n", "python/demo/__init__.py": "2\n"}
    (directory / "python.patch").write_bytes(upstream.patch("v2", both))
    said = run(patchq, workspace, "verify", "v2", code=1)
    assert "python.patch: kernel/CMakeLists.txt is not covered by" in said


def test_what_an_archive_does_not_cover_leaves_and_comes_back_and_is_named(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    directory = series_on_wheel(patchq, workspace, upstream)
    (workspace.series_path("v1") / "series").write_text("python.patch\nkernel.patch\n")
    for order in ("python.patch\nkernel.patch # ours\n", "kernel.patch # ours\n"):
        (directory / "series").write_text(order)
        before = {file.name: file.read_bytes() for file in directory.iterdir()}
        run(patchq, workspace, "drop", "kernel", "--tag", "v2", "--reason", "no")
        said = run(patchq, workspace, "revive", "kernel", "v2")
        assert "kernel.patch comes back as not-covered" in said
        now = {file.name: file.read_bytes() for file in directory.iterdir()}
        assert {name: now[name] for name in before} == before
    said = run(patchq, workspace, "edit", "v2")
    assert "not opened, not covered by the base: kernel.patch" in said


def test_an_archive_of_something_else_stays(patchq: CommandLine, workspace: Workspace) -> None:
    wheel(workspace, "other\n")
    run(patchq, workspace, *IMPORT)
    before = workspace.lock_path.read_bytes()
    said = run(patchq, workspace, "lock", "v2", "--replace-archive", code=3)
    assert "1 of 2 files differ or are missing: python/demo/__init__.py" in said
    assert workspace.lock_path.read_bytes() == before


def test_metadata_is_kept_with_the_base(patchq: CommandLine, workspace: Workspace) -> None:
    wheel(workspace)
    said = run(patchq, workspace, *IMPORT)
    assert "requires 2 packages" in said
    archive = workspace.lock().base("v2").archive
    assert archive is not None
    assert archive.requires == ("torch==2.14.1", 'addict==2.4.0; extra == "more"')
    lock = workspace.lock_path.read_bytes()
    # a lock from before: the same import again adds what was not kept
    bare = lock[: lock.index(b"      requires: |")]
    workspace.lock_path.write_bytes(bare)
    known = workspace.lock()
    found = known.base("v2").archive
    assert found is not None
    assert found.requires is None
    run(patchq, workspace, *IMPORT)
    assert workspace.lock_path.read_bytes() == lock
    assert render_lock(workspace.lock(), comment="") in lock


def test_an_archive_without_metadata_says_nothing(
    patchq: CommandLine, workspace: Workspace
) -> None:
    wheel(workspace, metadata=None)
    run(patchq, workspace, *IMPORT)
    archive = workspace.lock().base("v2").archive
    assert archive is not None
    assert archive.requires is None
    recipe = "pyprojects: [python/pyproject.toml]\npins: {torch: 2.13.0}\n"
    (add_series(workspace, "v2", {}) / "recipe.yaml").write_text(recipe)
    # it fails for the patches of v1, which are nowhere
    said = " ".join(run(patchq, workspace, "verify", "v2", code=1).split())
    assert "what v2 requires is not known" in said
    assert "torch==2.13.0: what upstream asks for is not known" in said
