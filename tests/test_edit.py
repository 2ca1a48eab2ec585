"""``patchq edit`` and ``refresh``: commits in a worktree, and back to patch files."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from commandline import SOURCES, CommandLine
from miniature import ENVIRONMENT, MakeMiniature, Miniature
from seriesbench import A, B, Bench, C, begin, changed, lines, three
from workspaces import make_workspace

from patchq.engine.rebase.operation import hash_target
from patchq.model.retired import RecordState
from patchq.model.verdict import Memory, Verdict


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    return begin(miniature())


@pytest.fixture
def bench(upstream: Miniature, patchq: CommandLine) -> Bench:
    return Bench(upstream, make_workspace(upstream, three(upstream)), patchq)


def at(text: str, number: int) -> str:
    return text.splitlines()[number - 1]


# -- nothing changes -------------------------------------------------------------------------------


def test_the_worktree_has_one_commit_a_patch_with_its_name(bench: Bench) -> None:
    bench.run("edit")
    log = bench.git(
        "log",
        "--reverse",
        "--format=%s|%an|%(trailers:key=Patch-Name,valueonly)",
        "worktree/base..",
    )
    rows = [row for row in log.splitlines() if row]
    assert rows == [
        "Change [a] line|Iris Downstream|one.patch",
        "Change b early|Iris Downstream|two.patch",
        "Change b late|Iris Downstream|three.patch",
    ]
    assert (bench.worktree / "dir/c.txt").read_text() == C


def test_status_says_what_is_open(bench: Bench) -> None:
    assert bench.json("status")["edit"] is None
    bench.run("edit")
    assert "v1 is open for editing" in bench.run("status")
    aborted = bench.json("edit", "--abort")
    assert (aborted["unchanged"], aborted["head"], aborted["kept"]) == (True, None, None)
    bench.run("edit")
    (bench.worktree / "loose.txt").write_text("mine\n")
    kept = bench.json("edit", "--abort")["kept"]
    assert isinstance(kept, dict)
    assert kept["files"] == ["loose.txt"]
    assert bench.json("status")["edit"] is None


def test_a_refresh_that_changes_nothing_changes_no_byte(
    upstream: Miniature, patchq: CommandLine
) -> None:
    quilt = (
        b"Description: a quilt patch\n with prose of its own.\nForwarded: not-needed\n\n"
        b"Index: dir/c.txt\n===================================================================\n"
        + upstream.bare_diff("v1", {"dir/c.txt": changed(C, 8)})
        .partition(b"--- a/")[2]
        .replace(b"dir/c.txt\n+++ b/dir", b"--- dir/c.txt\n+++ dir", 1)
        .removeprefix(b"dir/c.txt\n")
    )
    patches = {
        **three(upstream),
        "quilt.patch": quilt,
        "binary.patch": upstream.patch("v1", {"data.bin": bytes(range(256))}, "Add data"),
        "crlf.patch": upstream.patch("v1", {"dos.txt": "x\r\ny\r\n"}, "[dos] Add it"),
        "bare.patch": upstream.bare_diff("v1", {"new/deep.txt": "deep\n"}),
    }
    series = "# the order\none.patch\n\ntwo.patch # why\nthree.patch\nquilt.patch -p0\n" + (
        "binary.patch\n# tail\ncrlf.patch\nbare.patch"
    )
    bench = Bench(upstream, make_workspace(upstream, patches, series=series), patchq)
    before = bench.files()
    times = {f: f.stat().st_mtime_ns for f in bench.workspace.series_path("v1").iterdir()}
    bench.run("edit")
    said = bench.run("refresh")
    assert "unchanged   7 patches" in said
    assert bench.files() == before
    assert times == {f: f.stat().st_mtime_ns for f in bench.workspace.series_path("v1").iterdir()}
    assert not bench.worktree.exists()
    assert "nothing to undo" in bench.run("undo", code=2)


def test_a_refresh_in_the_worktree_says_where_to_go_then(bench: Bench) -> None:
    root = bench.workspace.root
    bench.run("edit")
    gone = str(bench.worktree)
    script = f"cd {gone} && {sys.executable} -m patchq refresh && {sys.executable} -m patchq list"
    done = subprocess.run(
        ["sh", "-c", script],
        env={"PATH": os.environ["PATH"], "HOME": str(bench.patchq.home), "PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"patchq: the current directory has been deleted: `cd {root}`",
        "error: the current directory has been deleted",
        f"hint: `cd {root}`, or name the workspace by its full path with -C.",
    ]


@pytest.mark.slow
def test_sixty_patches_reordered_split_folded_and_renamed(
    miniature: MakeMiniature, patchq: CommandLine
) -> None:
    upstream = miniature()
    texts = {f"f{number:02}.txt": lines(f"f{number}", 60) for number in range(30)}
    upstream.commit("Begin", dict(texts))
    upstream.tag("v1")
    upstream.tag("v2")
    patches: dict[str, bytes] = {}
    tip, state = "v1", dict(texts)
    for number in range(60):
        first, second = f"f{number % 30:02}.txt", f"f{(number + 1) % 30:02}.txt"
        edits = {
            first: changed(state[first], 10 + 20 * (number // 30)),
            second: changed(state[second], 5 + 20 * (number // 30)),
        }
        state |= edits
        tip = upstream.detached(tip, f"Change number {number}", edits)
        patches[f"p{number:02}.patch"] = upstream.format(tip)
    bench = Bench(upstream, make_workspace(upstream, patches), patchq)
    before, tree = bench.files(), bench.tree()
    bench.run("edit")
    bench.rebase(
        "todo = todo[:40] + todo[50:][::-1] + todo[40:50]\n"
        "todo[3] = todo[3].replace('pick', 'edit'); todo[20] = todo[20].replace('pick', 'edit')\n"
        "todo[31] = todo[31].replace('pick', 'fixup')\n"
        "todo[36] = todo[36].replace('pick', 'squash')\n"
    )
    for _ in range(2):  # the first half keeps message and name
        name = bench.git("show", "--name-only", "--format=", "HEAD").splitlines()[0]
        bench.git("reset", "-q", "HEAD^")
        bench.git("add", name)
        bench.git("commit", "-q", "-C", "ORIG_HEAD")
        bench.git("commit", "-q", "-a", "-m", f"The other half beside {name}")
        bench.git("rebase", "--continue")
    done = bench.json("refresh")
    bench.run("rename", "p45.patch", "renamed")
    after = bench.files()
    names = list(patches)
    folded = {"p31.patch", "p36.patch"}
    split = {"The-other-half-beside-f03.txt.patch", "The-other-half-beside-f20.txt.patch"}
    touched = {"p03.patch", "p20.patch", "p30.patch", "p35.patch"}
    assert before.keys() - after.keys() == folded | {"p45.patch"}
    assert after.keys() - before.keys() == split | {"renamed.patch"}
    assert {n for n in before.keys() & after.keys() if before[n] != after[n]} == {
        *touched,
        "series",
    }
    assert after["renamed.patch"] == before["p45.patch"]
    order = [*names[:40], *reversed(names[50:]), *names[40:50]]
    order = [name for name in order if name not in folded]
    for name, half in zip(("p03.patch", "p20.patch"), sorted(split), strict=True):
        order.insert(order.index(name) + 1, half)
    order[order.index("p45.patch")] = "renamed.patch"
    assert bench.series() == order
    assert bench.tree() == tree
    assert isinstance(done["patches"], list)
    what = {patch["name"]: patch["what"] for patch in done["patches"]}
    assert {name for name, words in what.items() if words == ["folded"]} == folded
    assert {name for name, words in what.items() if words == ["new"]} == split
    moved = {name for name, words in what.items() if "moved" in words}
    assert moved == set(names[50:])
    assert done["removed"] == sorted(folded)
    assert bench.workspace.load("v1").retired == ()


# -- what changed ----------------------------------------------------------------------------------


def test_an_amended_patch_keeps_its_header_and_the_rest_its_bytes(bench: Bench) -> None:
    before = bench.files()
    bench.run("edit", "v1", "two.patch")
    bench.write("b.txt", changed(B, 5, to="amended"))
    assert "not committed" in bench.run("refresh", code=1)
    bench.git("commit", "-q", "-a", "--amend", "--no-edit")
    said = bench.run("refresh")
    assert "changed     two.patch" in said
    assert "unchanged   2 patches" in said
    after = bench.files()
    head = before["two.patch"].partition(b"diff --git")[0]
    assert after["two.patch"].startswith(head)
    assert b"+b amended 5\n" in after["two.patch"]
    assert {n for n in before if before[n] != after[n]} == {"two.patch"}
    assert at(bench.tree()["b.txt"].decode(), 25) == "b changed 25"
    bench.run("undo")
    assert bench.files() == before


def test_patches_above_are_merged_and_rewritten_only_where_they_must(bench: Bench) -> None:
    before = bench.files()
    bench.run("edit", "two.patch")
    grown = changed(B, 5).replace("b line 23\n", "b line 23 is another\n")
    bench.write("b.txt", grown)
    said = bench.run("refresh", "--amend")
    assert "re-applied  three.patch" in said
    after = bench.files()
    assert b" b line 23 is another\n" in after["three.patch"]
    assert after["one.patch"] == before["one.patch"]
    assert bench.series() == ["one.patch", "two.patch", "three.patch"]


def test_a_conflict_above_writes_nothing_and_can_be_solved_there(bench: Bench) -> None:
    before = bench.files()
    bench.run("edit", "two.patch")
    bench.write("b.txt", changed(changed(B, 5), 25, to="mine"))
    bench.git("commit", "-q", "-a", "--amend", "--no-edit")
    said = bench.run("refresh", code=1)
    assert "three.patch does not merge" in said
    assert bench.files() == before
    assert bench.worktree.is_dir()
    commit = said.partition("git cherry-pick ")[2].partition("`")[0]
    bench.git("cherry-pick", commit, code=1)
    assert "git cherry-pick" in bench.run("refresh", code=1)
    bench.write("b.txt", changed(changed(B, 5), 25, to="both"))
    bench.git("add", "b.txt")
    bench.git("cherry-pick", "--continue")
    bench.run("refresh")
    assert bench.series() == ["one.patch", "two.patch", "three.patch"]
    assert at(bench.tree()["b.txt"].decode(), 25) == "b both 25"


def test_a_reworded_patch_keeps_its_name_with_or_without_its_trailer(bench: Bench) -> None:
    before = bench.files()
    bench.run("edit")
    bench.git("commit", "-q", "--amend", "-m", "Say it better\n\nX-Kind: strip")
    bench.rebase("todo[0] = todo[0].replace('pick', 'edit')")
    message = bench.git("show", "-s", "--format=%B").replace("Change [a] line", "[a] Change it")
    bench.git("commit", "-q", "--amend", "-m", message)
    bench.git("rebase", "--continue")
    said = bench.run("refresh")
    assert said.count("reworded") == 2
    assert bench.series() == ["one.patch", "two.patch", "three.patch"]
    directory = bench.workspace.load("v1")
    three, one = directory.patches["three.patch"], directory.patches["one.patch"]
    assert (three.header.subject, three.header.kind) == ("Say it better", "strip")
    assert three.header.author == "Iris Downstream <iris@downstream.example>"
    assert three.diff == before["three.patch"][-len(three.diff) :]
    assert one.header.subject == "[a] Change it"
    assert (one.header.kind, one.header.watch) == ("fix", ("GB10",))
    assert "# not a comment" in one.header.body
    assert b"Patch-Name" not in b"".join(bench.files().values())


def test_a_line_that_looks_like_a_comment_survives_an_editor(bench: Bench) -> None:
    before = bench.files()
    bench.run("edit", "one.patch")
    bench.git("commit", "-q", "--amend", env={"GIT_EDITOR": "sed -i s/Because/Since/"})
    bench.run("refresh")
    after = bench.files()["one.patch"]
    assert after == before["one.patch"].replace(b"Because", b"Since")


def test_new_commits_become_patches_named_by_their_subject(bench: Bench) -> None:
    bench.run("edit", "two.patch")
    bench.write("added file.txt", "added\n")
    bench.git("add", ".")
    bench.git("commit", "-q", "-m", "Add a file: it's new\n\n--- a/looks\nlike a diff")
    bench.run("refresh")
    name = "Add-a-file-it-s-new.patch"
    assert bench.series() == ["one.patch", "two.patch", name, "three.patch"]
    patch = bench.workspace.load("v1").patches[name]
    assert patch.header.author == "Uma User <uma@user.example>"
    assert patch.paths == ("added file.txt",)
    assert bench.tree()["added file.txt"] == b"added\n"


def test_a_trailer_that_names_a_new_file_renames_the_patch(bench: Bench) -> None:
    before = bench.files()
    bench.run("edit", "one.patch")
    message = bench.git("show", "-s", "--format=%B").replace("one.patch", "first.patch")
    bench.git("commit", "-q", "--amend", "-m", message)
    said = bench.run("refresh")
    assert "renamed     first.patch (was one.patch)" in said
    assert bench.series() == ["first.patch", "two.patch", "three.patch"]
    assert bench.files()["first.patch"] == before["one.patch"]


def test_a_split_keeps_the_name_for_the_first_and_the_guards_for_both(
    upstream: Miniature, patchq: CommandLine
) -> None:
    both = upstream.patch("v1", {"a.txt": changed(A, 5), "b.txt": changed(B, 5)}, "Change both")
    workspace = make_workspace(upstream, {"both.patch": both}, series="both.patch #-slim # why\n")
    bench = Bench(upstream, workspace, patchq)
    bench.run("edit")
    bench.git("reset", "-q", "HEAD^")
    bench.git("commit", "-q", "-m", "Change a alone", "a.txt")
    bench.git("commit", "-q", "-a", "-C", "ORIG_HEAD")
    assert "Change-a-alone.patch (out of both.patch)" in bench.run("refresh")
    assert bench.files()["series"] == b"Change-a-alone.patch #-slim\nboth.patch #-slim # why\n"
    assert bench.tree()["a.txt"].decode() == changed(A, 5)


def test_a_dropped_commit_is_remembered_and_settled(bench: Bench) -> None:
    before = bench.files()
    bench.run("edit")
    bench.rebase("del todo[1]")
    said = bench.run("refresh")
    assert "dropped     two.patch" in said
    assert "`patchq revive two.patch v1` brings it back" in said
    assert bench.series() == ["one.patch", "three.patch"]
    (record,) = bench.workspace.load("v1").retired
    assert (record.name, record.standing) == ("two.patch", RecordState.DROPPED)
    assert record.content == before["two.patch"]
    report = bench.json("rebase", "--onto", "v2", "--dry-run")
    assert isinstance(report["remembered"], list)
    assert [item["memory"] for item in report["remembered"]] == [Memory.SETTLED.value]
    assert record.verdict is Verdict.CLEAN
    bench.run("revive", "two.patch")
    assert bench.series() == ["one.patch", "three.patch", "two.patch"]
    assert bench.files()["two.patch"] == before["two.patch"]


def test_a_commit_that_changes_nothing_is_refused(bench: Bench) -> None:
    bench.run("edit", "one.patch")
    bench.write("a.txt", A)
    assert "the commit of one.patch changes nothing" in bench.run("refresh", "--amend", code=1)


# -- guards ----------------------------------------------------------------------------------------


@pytest.fixture
def guarded(upstream: Miniature, patchq: CommandLine) -> Bench:
    base = upstream.detached("v1", "base", {"a.txt": changed(A, 5)})
    patches = {
        "base.patch": upstream.patch("v1", {"a.txt": changed(A, 5)}, "Base"),
        "fast.patch": upstream.patch(base, {"a.txt": changed(A, 5, 8)}, "Fast"),
        "slow.patch": upstream.patch(base, {"a.txt": changed(A, 5, 9)}, "Slow"),
        "last.patch": upstream.patch("v1", {"b.txt": changed(B, 3)}, "Last"),
    }
    series = "# all\nbase.patch\nfast.patch #+fast\nslow.patch #-fast\nlast.patch\n"
    return Bench(upstream, make_workspace(upstream, patches, series=series), patchq)


def test_patches_that_guards_turn_off_stay_and_are_merged(guarded: Bench) -> None:
    before = guarded.files()
    guarded.run("edit")
    guarded.rebase("todo[0] = todo[0].replace('pick', 'edit')")
    guarded.write("a.txt", changed(A, 5, 12))
    guarded.git("commit", "-q", "-a", "--amend", "--no-edit")
    guarded.git("rebase", "--continue")
    guarded.run("refresh")
    after = guarded.files()
    assert after["series"] == before["series"]
    assert after["last.patch"] == before["last.patch"]
    assert guarded.tree("fast")["a.txt"].decode() == changed(A, 5, 8, 12)
    assert guarded.tree()["a.txt"].decode() == changed(A, 5, 9, 12)


@pytest.mark.parametrize("options", [("--with", "fast"), ("--variant", "quick")])
def test_a_selection_with_a_guard_can_be_edited(guarded: Bench, options: tuple[str, str]) -> None:
    recipe = guarded.workspace.series_path("v1") / "recipe.yaml"
    recipe.write_text("version: 1\nvariants:\n  quick: {guards: [fast]}\n")
    before = guarded.files()
    refused = guarded.run("edit", "fast.patch", code=2)
    assert "not applied under this selection" in refused
    assert "Turn them on: --with fast." in refused
    guarded.run("edit", "fast.patch", *options)
    guarded.write("a.txt", changed(A, 5, 8, 20))
    guarded.run("refresh", "--amend")
    after = guarded.files()
    assert {n for n in before if before[n] != after[n]} == {"fast.patch"}
    assert guarded.tree("fast")["a.txt"].decode() == changed(A, 5, 8, 20)


# -- new -------------------------------------------------------------------------------------------


def test_a_new_patch_is_begun_and_written(bench: Bench) -> None:
    bench.run("new", "gate", "-m", "Gate it off", "--after", "one.patch")
    assert "the commit of gate.patch changes nothing" in bench.run("refresh", code=1)
    bench.write("gate.txt", "off\n")
    assert "not committed" in bench.run("refresh", code=1)
    assert "new         gate.patch" in bench.run("refresh", "--amend")
    assert bench.series() == ["one.patch", "gate.patch", "two.patch", "three.patch"]
    header = bench.workspace.load("v1").patches["gate.patch"].header
    assert (header.subject, header.author) == ("Gate it off", "Uma User <uma@user.example>")
    assert "already" in bench.run("new", "gate.patch", "-m", "x", code=2)


def test_a_series_can_begin_with_a_new_patch(upstream: Miniature, patchq: CommandLine) -> None:
    bench = Bench(upstream, make_workspace(upstream, {}), patchq)
    bench.run("new", "first", "-m", "The first", "--tag", "v2")
    bench.write("first.txt", "1\n")
    bench.run("refresh", "--amend")
    assert bench.workspace.series("v2").names == ("first.patch",)


# -- an open edit ----------------------------------------------------------------------------------


def test_other_commands_that_write_are_refused_meanwhile(bench: Bench) -> None:
    bench.run("edit")
    for command in (
        ("drop", "one.patch", "--forget"),
        ("rename", "one.patch", "x"),
        ("edit",),
        ("undo",),
        ("rebase", "--onto", "v2"),
        ("new", "x", "-m", "x"),
    ):
        assert "an edit of v1 is open" in bench.run(*command, code=2)
    before = bench.files()
    head = bench.git("rev-parse", "HEAD")
    assert head not in (said := bench.run("edit", "--abort"))
    assert "nothing had been changed in it" in said
    assert not bench.worktree.exists()
    assert bench.files() == before
    bench.run("rename", "one.patch", "x")


def test_a_dry_run_writes_nothing_and_leaves_the_edit_open(bench: Bench) -> None:
    before = bench.files()
    bench.run("edit")
    bench.rebase("del todo[2]")
    said = bench.run("refresh", "--dry-run")
    assert "would write series, retired.yaml; would remove three.patch" in said
    assert bench.files() == before
    assert bench.worktree.is_dir()


def test_the_worktree_must_be_at_rest_and_straight(bench: Bench) -> None:
    bench.run("edit")
    bench.rebase("todo[1] = todo[1].replace('pick', 'edit')")
    assert "`git rebase` is under way" in bench.run("refresh", code=1)
    bench.git("rebase", "--abort")
    bench.git("checkout", "-q", "--detach", "worktree/base~0")
    bench.git("checkout", "-q", "--orphan", "elsewhere")
    bench.git("commit", "-q", "-m", "Elsewhere")
    assert "does not descend from v1" in bench.run("refresh", code=1)
    bench.git("checkout", "-q", "--detach", "worktree/top")
    bench.git("merge", "-q", "--allow-unrelated-histories", "-s", "ours", "-m", "M", "elsewhere")
    assert "is a merge" in bench.run("refresh", code=1)
    bench.git("reset", "-q", "--hard", "HEAD^")
    bench.run("refresh")


def test_a_series_that_changed_meanwhile_is_not_overwritten(bench: Bench) -> None:
    bench.run("edit")
    with (bench.workspace.series_path("v1") / "series").open("a") as file:
        file.write("# by hand\n")
    assert "series/v1/series: changed since the edit began" in bench.run("refresh", code=2)
    assert bench.files()["series"].endswith(b"# by hand\n")
    bench.run("edit", "--abort")


def test_a_worktree_that_vanished_is_told(bench: Bench) -> None:
    bench.run("edit")
    (bench.worktree / ".git").unlink()
    assert "missing or incomplete" in bench.run("refresh", code=2)
    bench.run("edit", "--abort")
    bench.run("edit")


def test_what_a_broken_worktree_holds_is_kept(bench: Bench) -> None:
    bench.run("edit")
    (bench.worktree / ".git").unlink()
    (bench.worktree / "mine.txt").write_text("mine\n")
    said = bench.run("edit", "--abort")
    kept = bench.workspace.state_dir / "kept" / f"{bench.worktree.name}-1"
    assert f"mine.txt (now in {kept})" in said
    assert (kept / "mine.txt").read_text() == "mine\n"


def test_what_is_dropped_with_an_edit_is_said(bench: Bench) -> None:
    bench.run("edit")
    bench.git("commit", "-q", "--allow-empty", "-m", "Mine")
    head = bench.git("rev-parse", "HEAD")
    for name in ("staged.txt", "new.txt"):
        bench.write(name, "mine\n")
    bench.git("add", "staged.txt")
    said = bench.run("edit", "--abort")
    assert f"its commits up to {head}, still in .patchq/store.git" in said
    kept = bench.workspace.state_dir / "kept" / f"{bench.worktree.name}-1"
    assert f"some files were in no commit: new.txt, staged.txt (now in {kept})" in said
    assert said.count("kept") == 1
    assert (kept / "staged.txt").read_text() == "mine\n"
    assert "nothing had been changed" not in said


def test_a_damaged_state_can_only_be_forgotten(bench: Bench) -> None:
    bench.run("edit")
    state = bench.workspace.state_dir / "edit.json"
    state.write_text(state.read_text().replace('"base"', '"bass"'))
    assert "damaged" in bench.run("refresh", code=2)
    assert "damaged" in bench.run("drop", "one.patch", "--forget", code=2)
    bench.run("edit", "--abort")


def test_a_refresh_cut_off_behind_its_writing_is_only_closed(bench: Bench) -> None:
    bench.run("edit")
    bench.rebase("todo.reverse()")
    state = bench.workspace.state_dir / "edit.json"
    held = json.loads(state.read_text())
    bench.run("refresh")
    after = bench.files()
    held["written"] = hash_target(bench.workspace, "v1")
    state.write_text(json.dumps(held))
    assert "written already" in bench.run("refresh")
    assert not state.exists()
    assert bench.files() == after


def test_the_users_identity_counts_and_their_conversions_do_not(bench: Bench) -> None:
    hooks = bench.workspace.root.parent / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-commit").chmod(0o755)
    (bench.patchq.home / ".gitconfig").write_text(
        "[user]\n\tname = Configured\n\temail = configured@user.example\n"
        "[core]\n\tautocrlf = true\n\teol = crlf\n"
        f"\thooksPath = {hooks}\n[commit]\n\tgpgSign = true\n[gc]\n\tauto = 1\n"
    )
    bench.run("edit")
    assert b"\r" not in (bench.worktree / "a.txt").read_bytes()
    bench.write("crlf.txt", "one\r\n")
    bench.git("add", ".")
    environment = {key: value for key, value in ENVIRONMENT.items() if key in ("PATH", "LC_ALL")}
    done = subprocess.run(
        ["git", "-C", str(bench.worktree), "commit", "-q", "-m", "Add it"],
        env={**environment, "HOME": str(bench.patchq.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    bench.run("refresh")
    patch = bench.workspace.load("v1").patches["Add-it.patch"]
    assert patch.header.author == "Configured <configured@user.example>"
    assert bench.tree()["crlf.txt"] == b"one\r\n"
