"""A store that is damaged: mended if nothing is lost by it, else the file is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

from patchq.model.workspace import Workspace


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    for number in (1, 2):
        made.commit(f"commit {number}", {"a.txt": f"{number}\n" * 50})
        made.tag(f"v{number}")
    return made


@pytest.fixture
def workspace(upstream: Miniature, patchq: CommandLine) -> Workspace:
    """One whose store holds all that it needs in packs of its own."""
    made = make_workspace(upstream, {"p.patch": upstream.patch("v1", {"p.txt": "x\n"})})
    lock = made.lock_path.read_text()
    made.lock_path.write_text(lock.replace(str(upstream.path), f"file://{upstream.path}"))
    assert patchq("fetch", cwd=made.root).returncode == 0
    return made


def _pack(store: Path) -> Path:
    return next((store / "objects" / "pack").glob("*.pack"))


def _change(file: Path, at: int, content: bytes) -> None:
    file.chmod(0o644)
    whole = file.read_bytes()
    file.write_bytes(whole[:at] + content + whole[at + len(content) :])


@pytest.mark.parametrize("content", [b"", b"garbage\n", b"\xff\x00" * 20, None])
def test_head_is_written_anew(
    patchq: CommandLine, workspace: Workspace, content: bytes | None
) -> None:
    """It says nothing that the store does not know."""
    head = workspace.store_path / "HEAD"
    head.unlink() if content is None else head.write_bytes(content)
    done = patchq("report", "v1", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"patchq: {workspace.store_path} was damaged; written anew: HEAD\n"
    assert patchq("report", "v1", cwd=workspace.root).stderr == ""


def test_directories_in_the_place_of_files(patchq: CommandLine, workspace: Workspace) -> None:
    head = workspace.store_path / "HEAD"
    head.unlink()
    (head / "below").mkdir(parents=True)
    shutil.rmtree(workspace.store_path / "refs")
    done = patchq("report", "v1", cwd=workspace.root)
    assert done.returncode == 0
    assert "written anew: refs, HEAD" in done.stderr


_DAMAGES: dict[str, Callable[[Path], object]] = {
    ".pack is damaged: its content is not what its checksum says (git ": lambda store: _change(
        _pack(store), 16, b"A" * 40
    ),
    "packed-refs is damaged: line 2, 'zzz', is no ref (git ": lambda store: (
        store / "packed-refs"
    ).write_text("# pack-refs with: peeled\nzzz\n"),
    "bad config line 1 in file ": lambda store: (store / "config.worktree").write_text("[x\n"),
    "not a git repository: ": lambda store: (store / "commondir").write_text("../x"),
}


@pytest.mark.parametrize("words", _DAMAGES)
def test_the_file_is_named(patchq: CommandLine, workspace: Workspace, words: str) -> None:
    _DAMAGES[words](workspace.store_path)
    done = patchq("report", "v1", cwd=workspace.root)
    assert done.returncode == 3
    error, hint = done.stderr.splitlines()
    assert words in error
    assert hint == (
        f"hint: The store can be made anew: remove it (`rm -rf {workspace.store_path}`), then run "
        "`patchq fetch`."
    )
    shutil.rmtree(workspace.store_path)
    assert patchq("fetch", cwd=workspace.root).returncode == 0
    assert patchq("report", "v1", cwd=workspace.root).returncode == 0


def test_a_ref_that_fetching_writes(patchq: CommandLine, workspace: Workspace) -> None:
    ref = workspace.store_path / "refs" / "upstream" / "main"
    ref.write_text("xx\n")
    done = patchq("fetch", cwd=workspace.root)
    assert done.returncode == 3
    assert f"{ref} is damaged: 'xx' is neither an object id nor the name of a ref" in done.stderr


def test_a_store_that_is_a_file(patchq: CommandLine, workspace: Workspace) -> None:
    shutil.rmtree(workspace.store_path)
    workspace.store_path.write_text("x")
    done = patchq("report", "v1", cwd=workspace.root)
    assert done.returncode == 3
    assert "is no repository of git: Not a directory" in done.stderr


def test_what_is_under_way_ends_first(patchq: CommandLine, workspace: Workspace) -> None:
    """Its worktree is one of the store's: the store may go once it has been forgotten."""
    assert patchq("edit", cwd=workspace.root).returncode == 0
    (workspace.store_path / "packed-refs").write_text("zzz\n")
    done = patchq("report", "v1", cwd=workspace.root)
    assert done.returncode == 3
    assert "First end what is under way: an edit of v1 is open" in done.stderr
    done = patchq("edit", "--abort", cwd=workspace.root)
    assert done.returncode == 0, done.stderr


def test_a_lender_is_named(patchq: CommandLine, workspace: Workspace, upstream: Miniature) -> None:
    shutil.rmtree(workspace.store_path)
    upstream.git("gc", "--quiet")
    _change(_pack(upstream.path), 16, b"A" * 40)
    done = patchq("--upstream", upstream.path, "report", "v1", cwd=workspace.root)
    assert done.returncode == 3
    error, hint = done.stderr.splitlines()
    assert f"{_pack(upstream.path)} is damaged" in error
    assert hint == (
        f"hint: {upstream.path} lends its objects: `git fsck` there says more. Lend another clone "
        "with --upstream."
    )


def test_a_git_that_was_killed(patchq: CommandLine, workspace: Workspace, tmp_path: Path) -> None:
    git = tmp_path / "git"
    real = shutil.which("git")
    git.write_text(
        f'#!/bin/sh\ncase "$*" in *--batch-command*) kill -9 $$;; esac\nexec {real} "$@"\n'
    )
    git.chmod(0o755)
    done = patchq("report", "v1", cwd=workspace.root, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "error: git cat-file: ended by signal 9",
        "hint: Was there not enough memory? Run the command again.",
    ]
