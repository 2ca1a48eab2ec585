"""What killed processes leave is removed by the next, and what lives is left alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from commandline import SOURCES, CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

from patchq.files import scratch_beside
from patchq.git.fast_import import commit_files
from patchq.git.leftovers import packing, sweep_packs
from patchq.git.process import Git, Result
from patchq.git.store import open_store

DEAD = 2**22 + 1  # above any process id of Linux


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    made.commit("Start", {"a": "a\n"})
    made.tag("v1")
    made.commit("Next", {"a": "b\n"})
    made.tag("v2")
    return made


def test_temporary_packs_go_unless_somebody_writes_them(tmp_path: Path) -> None:
    store = tmp_path / "store.git"
    open_store(store)
    left = store / "objects/pack/tmp_pack_x"
    left.write_bytes(b"cut off")
    with packing(store):
        sweep_packs(store)
        assert left.exists()
    open_store(store)
    assert not left.exists()


def test_an_import_goes_on_after_one_that_was_killed(tmp_path: Path) -> None:
    files = [(f"{number}", "100644", os.urandom(200)) for number in range(200)]  # a pack, not loose
    date = datetime(2026, 8, 1, tzinfo=UTC)

    def imported(name: str) -> Path:
        open_store(tmp_path / name)
        commit_files(Git(tmp_path / name), "refs/heads/x", "x", date, files)
        (pack,) = (tmp_path / name).glob("objects/pack/*.pack")
        return pack

    pack = imported("one.git")
    open_store(tmp_path / "two.git")
    kept = (tmp_path / "two.git/objects/pack" / pack.name).with_suffix(".keep")
    kept.write_text("fast-import\n")
    assert imported("two.git").name == pack.name
    assert not kept.exists()


def test_the_pack_of_an_import_is_being_written(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.git")
    left = tmp_path / "store.git/objects/pack/tmp_pack_x"

    class Watched(Git):
        def run(self, *args: str, **options: Any) -> Result:
            left.write_bytes(b"half")
            sweep_packs(tmp_path / "store.git")
            assert left.exists()
            return super().run(*args, **options)

    git = Watched(tmp_path / "store.git")
    date = datetime(2026, 8, 1, tzinfo=UTC)
    commit, _ = commit_files(git, "refs/heads/x", "x", date, [("a", "100644", b"a\n")])
    assert store.objects.has(commit)


def test_a_directory_beside_an_export_goes(tmp_path: Path) -> None:
    left = tmp_path / f".x.tar.gz.{DEAD}.abc_12"
    left.mkdir()
    mine = tmp_path / f".x.tar.gz.{os.getpid()}.abc"
    mine.mkdir()
    other = tmp_path / f".y.tar.gz.{DEAD}.abc"
    other.mkdir()
    with scratch_beside(tmp_path, ".x.tar.gz.") as made:
        assert sorted(tmp_path.iterdir()) == sorted([mine, other, made])


def test_a_scratch_directory_does_not_outlive_its_process(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from patchq.scratch import scratch_root; print(scratch_root());"
        "sys.stdout.flush(); {}"
    )

    def run(end: str) -> Path:
        done = subprocess.run(
            [sys.executable, "-c", program.format(end)],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": SOURCES, "TMPDIR": str(tmp_path)},
            check=False,
        )
        return Path(done.stdout.strip())

    assert not run("pass").exists()
    killed = run("os.kill(os.getpid(), signal.SIGKILL)")
    assert killed.is_dir()
    assert oct(killed.parent.stat().st_mode & 0o777) == "0o700"
    run("pass")
    assert not killed.exists()


def test_a_server_that_says_nothing_is_given_up(upstream: Miniature, patchq: CommandLine) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        workspace = make_workspace(upstream, {})
        text = workspace.lock_path.read_text()
        url = f"git://127.0.0.1:{server.getsockname()[1]}/x"
        workspace.lock_path.write_text(text.replace(str(upstream.path), url))
        done = patchq("fetch", cwd=workspace.root, env={"PATCHQ_FETCH_TIMEOUT": "0.5"})
    assert done.returncode == 3
    assert "no progress for 0.5 seconds" in done.stderr


@pytest.mark.parametrize("by_url", [True, False])
def test_fetch_refuses_a_tag_that_moved(
    upstream: Miniature, patchq: CommandLine, by_url: bool
) -> None:
    workspace = make_workspace(upstream, {})
    if by_url:
        text = workspace.lock_path.read_text()
        workspace.lock_path.write_text(text.replace(str(upstream.path), f"file://{upstream.path}"))
    assert patchq("fetch", cwd=workspace.root).returncode == 0
    old, new = upstream.id("v1"), upstream.id("v2")
    upstream.git("tag", "--force", "v1", new)
    done = patchq("fetch", cwd=workspace.root)
    assert done.returncode == 3
    assert old in done.stderr
    assert new in done.stderr


def test_an_edited_date_is_found(upstream: Miniature, patchq: CommandLine) -> None:
    workspace = make_workspace(upstream, {})
    text = workspace.lock_path.read_text()
    date = text.partition("date: ")[2].partition("\n")[0]
    workspace.lock_path.write_text(text.replace(date, f"1999{date[4:]}", 1))
    done = patchq("lock", "--check", cwd=workspace.root)
    assert done.returncode == 3
    assert "1999" in done.stderr
