"""Held patches: their conflict in the worktree, and back into the series once it is solved."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
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
    assert (
        "held: 1 needs review by itself, 1 follows it; `patchq resolve` lists them" in done.stderr
    )
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
        "held on v2: 1 needs review by itself, 1 follows it\n"
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
    assert patchq("resolve", cwd=root).stdout.startswith("held on v2: 1 needs review by itself\n")


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
    assert patchq("resolve", cwd=root).stdout.startswith("held on v2: 1 needs review by itself")
    assert patchq("undo", cwd=root).returncode == 0
    assert (series / "series").read_text() == "fine.patch\n"


def test_abort_leaves_it_held(root: Path, patchq: CommandLine) -> None:
    before = (root / "series/v2/retired.yaml").read_bytes()
    assert patchq("resolve", "ten.patch", "v2", cwd=root).returncode == 1
    assert (
        patchq("resolve", "--abort", cwd=root).stdout == "ten.patch stays out of the series on v2\n"
    )
    assert (root / "series/v2/retired.yaml").read_bytes() == before
    assert not (root / ".patchq/resolve.json").exists()
    assert "no patch is being solved" in patchq("resolve", "--continue", cwd=root).stderr


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


def test_revive_of_a_held_patch_opens_its_conflict_too(root: Path, patchq: CommandLine) -> None:
    asked = patchq("revive", "ten", "--dry-run", cwd=root)
    assert asked.returncode == 1
    assert "hint: `patchq resolve ten.patch v2` opens its conflict" in asked.stderr
    opened = patchq("revive", "ten", cwd=root)
    assert opened.returncode == 1, opened.stderr
    assert "ten.patch conflicts on v2 in app.py" in opened.stdout
    assert "`patchq resolve --continue` takes it" in opened.stdout
    solve(root, "line X", "line X, as a word")
    assert patchq("resolve", "--continue", cwd=root).returncode == 0
    assert (root / "series/v2/series").read_text() == "ten.patch\nfine.patch\n"


def test_status_shows_what_is_being_solved(root: Path, patchq: CommandLine) -> None:
    patchq("resolve", "ten", cwd=root)
    shown = " ".join(patchq("status", cwd=root).stdout.split())
    assert "ten.patch is being solved for the series on v2, in app.py" in shown
    assert "markers left: app.py not added: app.py" in shown
    assert str(root / ".patchq/worktree") in shown
    assert "patchq resolve --continue take what is there patchq resolve --abort" in shown
    solve(root, "line X", "line X, as a word")
    document = json.loads(patchq("status", "--json", cwd=root).stdout)["resolve"]
    assert document == {
        "name": "ten.patch",
        "tag": "v2",
        "worktree": str(root / ".patchq/worktree"),
        "conflicts": ["app.py"],
        "unmerged": [],
        "marked": [],
        "problem": None,
    }
    shutil.rmtree(root / ".patchq/worktree")
    shown = " ".join(patchq("status", cwd=root).stdout.split())
    assert "the worktree is missing or incomplete: `patchq resolve --continue` sets it" in shown
    (root / ".patchq/resolve.json").write_text("no")
    assert "is damaged" in patchq("status", cwd=root).stdout
    assert patchq("resolve", "--abort", cwd=root).returncode == 0
    assert json.loads(patchq("status", "--json", cwd=root).stdout)["resolve"] is None


def test_a_conflict_that_was_solved_before_is_solved_again(root: Path, patchq: CommandLine) -> None:
    """Also if what is remembered was put aside by an undo: it is part of the workspace again."""
    patchq("resolve", "ten", cwd=root)
    solve(root, "line X", "line X, as a word")
    assert patchq("resolve", "--continue", cwd=root).returncode == 0
    solved = (root / "series/v2/ten.patch").read_bytes()
    assert patchq("undo", cwd=root).returncode == 0
    assert not list((root / "series/.resolutions").rglob("*.yaml"))
    done = patchq("resolve", "ten", cwd=root)
    assert done.returncode == 0, done.stderr
    assert "ten.patch conflicted in app.py; it is solved as remembered in " in done.stderr
    assert (root / "series/v2/ten.patch").read_bytes() == solved
    (kept,) = (root / "series/.resolutions").rglob("*.yaml")
    undone = patchq("undo", cwd=root)
    assert f"{kept.relative_to(root)} is kept in " in undone.stderr
    for file in (root / ".patchq/kept").rglob("*.yaml"):
        file.unlink()
    assert "conflicts on v2" in patchq("resolve", "ten", cwd=root).stdout


@pytest.fixture
def resurfaced(miniature: MakeMiniature, patchq: CommandLine) -> Path:
    """A workspace in which ``ten`` is needed again on v3, on lines that upstream changed."""
    upstream = miniature()
    upstream.commit("Begin", {"app.py": LINES, "b.py": LINES})
    upstream.tag("v1")
    upstream.commit("Say ten (#2)", {"app.py": TEN})
    upstream.tag("v2")
    upstream.commit('Revert "Say ten (#2)" (#3)', {"app.py": LINES})
    upstream.commit("Other (#5)", {"app.py": OTHER})
    upstream.tag("v3")
    patches = {
        "ten.patch": upstream.patch("v1", {"app.py": TEN}, trailers={"X-Kind": "fix"}),
        "fine.patch": upstream.patch("v1", {"b.py": TEN}),
    }
    root = make_workspace(upstream, patches, bases=("v1", "v2", "v3")).root
    patchq("rebase", "--onto", "v2", cwd=root)
    done = patchq("rebase", "--onto", "v3", cwd=root)
    assert "`patchq revive ten.patch v3` brings it back" in done.stderr
    return root


def test_revive_opens_the_conflict_of_a_resurfaced_patch(
    resurfaced: Path, patchq: CommandLine
) -> None:
    root = resurfaced
    asked = patchq("revive", "ten", "--dry-run", cwd=root)
    assert asked.returncode == 1
    assert "hint: `patchq revive ten.patch v3` opens its conflict" in asked.stderr
    assert not (root / ".patchq/worktree").exists()
    named = patchq("resolve", "ten", cwd=root)
    assert "hint: It left the series: `patchq revive ten.patch v3` brings it back" in named.stderr
    opened = patchq("revive", "ten", "v3", cwd=root)
    assert opened.returncode == 1, opened.stderr
    assert "ten.patch conflicts on v3 in app.py" in opened.stdout
    assert "`patchq resolve --continue` takes it" in opened.stdout
    worktree = root / ".patchq/worktree"
    assert "<<<<<<< v3 (ours)" in (worktree / "app.py").read_text()
    (worktree / "app.py").write_text(OTHER.replace("line X\n", "line X, as a word\n"))
    subprocess.run(["git", "-C", worktree, "add", "app.py"], check=True)
    done = patchq("resolve", "--continue", cwd=root)
    assert done.returncode == 0, done.stderr
    assert (root / "series/v3/series").read_text() == "ten.patch\nfine.patch\n"
    assert (
        not (root / "series/v3/retired.yaml").exists()
        or "name: ten" not in (root / "series/v3/retired.yaml").read_text()
    )
    assert "resurfaced" not in patchq("status", cwd=root).stdout
    assert patchq("verify", "v3", cwd=root).returncode == 0
    assert patchq("lint", cwd=root).returncode == 0


def test_revive_opens_the_conflict_of_what_was_dropped_here(
    root: Path, patchq: CommandLine
) -> None:
    """Its own place is taken by another patch of the same lines."""
    reason = ("--tag", "v2", "--reason", "x")
    assert patchq("drop", "fine", *reason, cwd=root).returncode == 0
    upstream = Miniature(root.parent / "other")
    upstream.commit("Begin", {"app.py": OTHER, "b.py": LINES})
    other = upstream.patch("main", {"b.py": LINES.replace("line 10\n", "line y\n")}, "Say y")
    assert patchq("import", "-", "--tag", "v2", stdin=other.decode(), cwd=root).returncode == 0
    opened = patchq("revive", "fine", "v2", cwd=root)
    assert opened.returncode == 1, opened.stderr
    assert "fine.patch conflicts on v2 in b.py" in opened.stdout
    worktree = root / ".patchq/worktree"
    (worktree / "b.py").write_text(LINES.replace("line 10\n", "line y, as a word\n"))
    subprocess.run(["git", "-C", worktree, "add", "b.py"], check=True)
    done = patchq("resolve", "--continue", cwd=root)
    assert done.returncode == 0, done.stderr
    assert (root / "series/v2/series").read_text() == "Say-y.patch\nfine.patch\n"


def test_what_does_not_apply_to_its_own_base_says_how_to_get_at_it(
    root: Path, patchq: CommandLine
) -> None:
    """It stands on a patch that was dropped too, and has no other series."""
    series = root / "series/v1"
    for name in ("eleven", "ten"):
        assert patchq("drop", name, "--tag", "v1", "--reason", "x", cwd=root).returncode == 0
    done = patchq("revive", "eleven", "v1", cwd=root)
    assert done.returncode == 1
    assert "does not apply to v1" in done.stderr
    assert "hint: `patchq show eleven.patch --tag v1` prints it" in done.stderr
    assert patchq("show", "eleven.patch", "--tag", "v1", cwd=root).returncode == 0
    assert (series / "series").read_text() == "fine.patch\n"


def test_next_names_first_what_is_under_way(root: Path, patchq: CommandLine) -> None:
    stopped = patchq("rebase", "--from", "v1", "--onto", "v3", cwd=root)
    assert stopped.returncode == 1, stopped.stderr
    listed = " ".join(patchq("next", "v3", "--from", "v1", cwd=root).stdout.split())
    first = "Blocks the build first: a rebase of v1 onto v3 is under way, stopped at ten.patch. "
    assert first in listed
    assert "`patchq rebase --continue`, `--skip` or `--abort` go on from there" in listed
    assert "$ patchq rebase --continue" in listed
    assert "rebase --onto" not in listed
    patchq("rebase", "--abort", cwd=root)
    patchq("resolve", "ten", "v2", cwd=root)
    assert "first: ten.patch of v2 is being solved" in patchq("next", "v3", cwd=root).stdout


def test_what_is_held_and_opened_as_json(root: Path, patchq: CommandLine) -> None:
    def shown(*words: str) -> dict[str, Any]:
        document = json.loads(patchq(*words, "--json", cwd=root).stdout)
        assert document.pop("schema").startswith("patchq.")
        return dict(document)

    follower = {"name": "eleven.patch", "follows": ["ten.patch"]}
    held = [{"name": "ten.patch", "follows": []}, follower]
    assert shown("resolve") == {"series": "v2", "held": held, "opened": None}
    place = str(root / ".patchq/worktree")
    opened = {"name": "ten.patch", "conflicts": ["app.py"], "worktree": place}
    assert shown("revive", "ten") == {"series": "v2", "held": None, "opened": opened}
    assert shown("resolve", "--abort") == {"series": "v2", "held": None, "opened": None}
    assert shown("resolve", "ten")["opened"] == opened
    solve(root, "line X", "line X, as a word")
    assert shown("resolve", "--continue")["order"] == ["ten.patch", "fine.patch"]


@pytest.mark.parametrize("collides", [False, True])
def test_a_held_drifted_patch_is_taken_for_a_reason_alone(
    miniature: MakeMiniature, patchq: CommandLine, collides: bool
) -> None:
    upstream = miniature()
    upstream.commit("Begin", {"app.py": LINES, "gate.py": "wide\n"})
    upstream.tag("v1")
    upstream.commit("Narrow", {"gate.py": "narrow\n"} | ({"app.py": OTHER} if collides else {}))
    upstream.tag("v2")
    words = "Say ten\n\nX-Expect: contains gate.py ^wide$\nX-Kind: fix"
    mail = upstream.format(upstream.detached("v1", words, {"app.py": TEN}))
    root = make_workspace(upstream, {"ten.patch": mail}, bases=("v1", "v2")).root
    patchq("rebase", "--onto", "v2", "--keep-going", cwd=root)
    before = (root / "series/v2/retired.yaml").read_bytes()
    for command in ("resolve", "revive"):
        refused = patchq(command, "ten", cwd=root)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "ten.patch is drifted on v2: X-Expect: contains gate.py ^wide$" in refused.stderr
        assert "`patchq resolve ten.patch v2 --accept-drift WHY`" in refused.stderr
    assert (root / "series/v2/retired.yaml").read_bytes() == before
    done = patchq("resolve", "ten", "--accept-drift", "wide  is gone", cwd=root)
    if collides:
        assert "ten.patch conflicts on v2 in app.py" in done.stdout
        solve(root, "line X", "line ten")
        done = patchq("resolve", "--continue", cwd=root)
    assert done.returncode == 0, done.stderr
    patch = (root / "series/v2/ten.patch").read_text()
    assert "X-Drift-Accepted: v2: wide is gone (was X-Expect: contains gate.py ^wide$)" in patch
    assert "\nX-Expect:" not in patch
    assert patchq("verify", "v2", cwd=root).returncode == 0


def test_no_drift_is_accepted_where_there_is_none(root: Path, patchq: CommandLine) -> None:
    done = patchq("resolve", "ten", "--accept-drift", "why", cwd=root)
    assert (done.returncode, done.stdout) == (2, "")
    assert "ten.patch is not drifted on v2" in done.stderr
    assert patchq("resolve", "--accept-drift", "why", cwd=root).returncode == 2
