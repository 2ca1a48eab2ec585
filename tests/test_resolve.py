"""Held patches: their conflict in the worktree, and back into the series once it is solved."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature
from test_import import LINES, TEN
from workspaces import make_workspace

OTHER = LINES.replace("line 10\n", "line X\n")
ABOVE = TEN.replace("line 11\n", "line eleven\n")


@pytest.fixture
def root(miniature: MakeMiniature, patchq: CommandLine) -> Path:
    """A workspace in which v2 holds ``ten`` and, above it, ``eleven``; ``fine`` is carried."""
    upstream = miniature()
    upstream.commit("Begin", {"app.py": LINES, "b.py": LINES})
    upstream.tag("v1")
    upstream.commit("Other (#5)", {"app.py": OTHER})
    upstream.tag("v2")
    upstream.commit("More", {"c.py": LINES})
    upstream.tag("v3")
    one = upstream.detached("v1", "Say ten\n\nX-Kind: fix", {"app.py": TEN})
    two = upstream.detached(one, "Say eleven", {"app.py": ABOVE})
    patches = {
        "ten.patch": upstream.format(one),
        "eleven.patch": upstream.format(two),
        "fine.patch": upstream.patch("v1", {"b.py": TEN}),
    }
    root = make_workspace(upstream, patches, bases=("v1", "v2", "v3")).root
    done = patchq("rebase", "--onto", "v2", "--keep-going", cwd=root)
    assert (root / "series/v2/series").read_text() == "fine.patch\n", done.stderr
    assert "held: 1 conflicts by itself, 1 follows it; `patchq resolve` lists them" in done.stderr
    return root


def solve(root: Path, old: str, new: str) -> None:
    """Take the patch's side in the worktree, on what is there."""
    worktree = root / ".patchq/worktree"
    file = worktree / "app.py"
    assert "<<<<<<< v2 (ours)" in file.read_text()
    file.write_text(OTHER.replace(f"{old}\n", f"{new}\n"))
    subprocess.run(["git", "-C", worktree, "add", "app.py"], check=True)


def test_roots_are_told_from_followers(root: Path, patchq: CommandLine) -> None:
    done = patchq("resolve", cwd=root)
    assert done.returncode == 1
    assert done.stdout == (
        "held on v2: 1 conflicts by itself, 1 follows it\n"
        "  ten.patch\n"
        "  eleven.patch follows ten.patch\n"
    )


def test_a_tag_alone_names_the_series(root: Path, patchq: CommandLine) -> None:
    for words in (("v2",), ("--tag", "v2")):
        assert patchq("resolve", *words, cwd=root).stdout == patchq("resolve", cwd=root).stdout
    other = patchq("resolve", "v1", cwd=root)
    assert (other.returncode, other.stdout) == (0, "nothing is held on v1\n")
    there = patchq("resolve", "ten", "--tag", "v1", cwd=root)
    assert there.returncode == 2
    assert "hint: It is held on v2: `patchq resolve ten.patch v2`." in there.stderr


def test_nothing_left_of_a_held_patch_names_the_way_out(root: Path, patchq: CommandLine) -> None:
    patchq("resolve", "ten", cwd=root)
    worktree = root / ".patchq/worktree"
    (worktree / "app.py").write_text(OTHER)
    subprocess.run(["git", "-C", worktree, "add", "app.py"], check=True)
    done = patchq("resolve", "--continue", cwd=root)
    assert done.returncode == 1
    assert "rebase" not in done.stderr
    assert "`patchq resolve --abort`, then `patchq drop ten.patch --tag v2" in done.stderr
    assert patchq("resolve", "--abort", cwd=root).returncode == 0
    dropped = patchq("drop", "ten.patch", "--tag", "v2", "--reason", "theirs will do", cwd=root)
    assert dropped.returncode == 0, dropped.stderr
    assert patchq("resolve", cwd=root).stdout.startswith("held on v2: 1 conflicts by itself\n")


def test_verify_export_and_next_name_the_command(root: Path, patchq: CommandLine) -> None:
    verified = " ".join(patchq("verify", "v2", cwd=root).stdout.split())
    assert "`patchq resolve ten.patch v2` opens its conflict" in verified
    assert "0 X-Requires, 2 held" in verified
    exported = patchq("export", "v2", "-o", str(root / "tree"), cwd=root)
    assert "`patchq resolve ten.patch v2`" in exported.stderr
    patchq("rebase", "--onto", "v3", cwd=root)
    listed = patchq("next", "v3", cwd=root).stdout
    assert listed.count("ten.patch: held, waits for a resolution") == 1
    assert "is held for review" not in listed


def test_a_held_patch_is_solved_and_joins_its_series(root: Path, patchq: CommandLine) -> None:
    opened = patchq("resolve", "ten", cwd=root)
    assert opened.returncode == 1, opened.stderr
    assert "ten.patch conflicts on v2 in app.py" in opened.stdout
    early = patchq("resolve", "--continue", cwd=root)
    assert early.returncode == 1
    assert "conflict markers are left in" in early.stderr
    other = patchq("drop", "fine", "--tag", "v2", "--reason", "x", cwd=root)
    assert "ten.patch of v2 is being solved" in other.stderr
    solve(root, "line X", "line X, as a word")
    done = patchq("resolve", "--continue", cwd=root)
    assert done.returncode == 0, done.stderr
    series = root / "series/v2"
    assert (series / "series").read_text() == "ten.patch\nfine.patch\n"
    assert "+line X, as a word\n" in (series / "ten.patch").read_text()
    assert "X-Kind: fix\n" in (series / "ten.patch").read_text()
    assert not (root / ".patchq/worktree").exists()
    assert list((root / "series/.resolutions").iterdir())
    assert patchq("resolve", cwd=root).stdout.startswith("held on v2: 1 conflicts by itself")
    assert patchq("undo", cwd=root).returncode == 0
    assert (series / "series").read_text() == "fine.patch\n"


def test_abort_leaves_it_held(root: Path, patchq: CommandLine) -> None:
    before = (root / "series/v2/retired.yaml").read_bytes()
    assert patchq("resolve", "ten.patch", "v2", cwd=root).returncode == 1
    assert patchq("resolve", "--abort", cwd=root).stdout == "ten.patch stays held\n"
    assert (root / "series/v2/retired.yaml").read_bytes() == before
    assert not (root / ".patchq/resolve.json").exists()
    assert "no held patch is being solved" in patchq("resolve", "--continue", cwd=root).stderr


def test_what_is_not_held_is_refused(root: Path, patchq: CommandLine) -> None:
    done = patchq("resolve", "fine", cwd=root)
    assert done.returncode == 2
    assert "hint: Held are: ten.patch, eleven.patch." in done.stderr


def test_those_above_follow_a_patch_back_into_its_place(
    miniature: MakeMiniature, patchq: CommandLine
) -> None:
    """``above`` was carried without ``ten``, two lines away from it, and keeps its comment."""
    upstream = miniature()
    upstream.commit("Begin", {"app.py": LINES, "b.py": LINES})
    upstream.tag("v1")
    upstream.commit("Other (#5)", {"app.py": OTHER})
    upstream.tag("v2")
    ten = upstream.detached("v1", "Say ten", {"app.py": TEN})
    wide = {"app.py": TEN.replace("line 20\n", "line twenty\n")}
    above = upstream.detached(ten, "Say twenty", wide)
    patches = {
        "first.patch": upstream.patch("v1", {"b.py": TEN}),
        "ten.patch": upstream.format(ten),
        "above.patch": upstream.format(above),
    }
    root = make_workspace(upstream, patches).root
    done = patchq("rebase", "--onto", "v2", "--keep-going", cwd=root)
    series = root / "series/v2/series"
    assert series.read_text() == "first.patch\nabove.patch\n", done.stderr
    series.write_text("first.patch\n# why it is above\nabove.patch\n")
    assert patchq("resolve", "ten", cwd=root).returncode == 1
    solve(root, "line X", "line X, as a word")
    done = patchq("resolve", "--continue", cwd=root)
    assert done.returncode == 0, done.stderr
    assert series.read_text() == "first.patch\nten.patch\n# why it is above\nabove.patch\n"
    assert patchq("verify", "v2", cwd=root).returncode == 0
