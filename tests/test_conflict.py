"""A rebase that stops at a conflict, on the real command line and with the user's own git."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import Edits, MakeMiniature, Miniature, symlink
from workspaces import make_workspace, placed

from patchq.errors import Where
from patchq.model.retired import RecordState, read_retired
from patchq.model.verdict import Verdict
from patchq.model.workspace import Workspace

Run = subprocess.CompletedProcess[str]
UserGit = Callable[..., str]


@pytest.fixture(scope="module")
def patchq(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    return CommandLine(tmp_path_factory.mktemp("home"))


def text(name: str, **lines: str) -> str:
    """A file of twelve lines that stand nowhere else, some of them as given."""
    return "".join(f"{name}_{number} = {lines.get(f'l{number}', number)}\n" for number in range(12))


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """``fight`` and ``later`` collide from v1 to v2, ``dead`` is deleted, ``far`` moves."""
    made = miniature()
    files: Edits = {f"src/{name}.py": text(name) for name in ("fight", "later", "calm", "gate")}
    made.commit("Start (#1)", {**files, "old/far.py": text("far"), "docs/notes.md": "notes\n"})
    made.tag("v1")
    made.commit("Fight (#2)", {"src/fight.py": text("fight", l6="'theirs'")})
    made.commit("Later (#3)", {"src/later.py": text("later", l6="'theirs'")})
    made.move("old/far.py", "new/far.py", "Move it (#4)")
    made.commit("Far (#5)", {"new/far.py": text("far", l6="'theirs'")})
    made.commit("Respell (#6)", {"src/gate.py": text("gate", l1="'respelled'")})
    made.tag("v2")
    made.commit("Calm (#7)", {"docs/notes.md": "more notes\n"})
    made.tag("v3")
    return made


def patch(upstream: Miniature, name: str, path: str, **trailers: str) -> bytes:
    edits = {path: text(name, l6="'ours'")}
    return upstream.patch("v1", edits, f"Change {name}", trailers=trailers)


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    """Four patches, of which the second and the third collide on v2."""
    return make_workspace(
        upstream,
        {
            "calm.patch": patch(upstream, "calm", "src/calm.py"),
            "fight.patch": patch(upstream, "fight", "src/fight.py"),
            "far.patch": patch(upstream, "far", "old/far.py"),
            "gate.patch": patch(upstream, "gate", "src/gate.py"),
        },
        bases=("v1", "v2", "v3"),
    )


@pytest.fixture
def git(workspace: Workspace, tmp_path: Path) -> UserGit:
    """The user's git in the worktree, with the user's (hostile) configuration."""
    config = tmp_path / "gitconfig"
    config.write_text(
        "[user]\n\tname = Uma User\n\temail = uma@example.org\n"
        "[core]\n\tautocrlf = true\n\teol = crlf\n\thooksPath = /nowhere\n"
        "[commit]\n\tgpgSign = true\n[merge]\n\tconflictStyle = merge\n"
        '[merge]\n\ttool = mine\n[mergetool "mine"]\n\tcmd = cp "$REMOTE" "$MERGED"\n'
        "\ttrustExitCode = true\n[mergetool]\n\tprompt = false\n"
    )

    def run(*args: str) -> str:
        done = subprocess.run(
            ["git", *args],
            cwd=worktree(workspace),
            env={"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": str(config), "HOME": "/"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def worktree(workspace: Workspace) -> Path:
    return workspace.state_dir / "worktree"


def series_bytes(workspace: Workspace) -> dict[str, bytes]:
    """Everything that is the user's: series and lock."""
    files = [workspace.lock_path, *workspace.series_dir.rglob("*")]
    return {
        str(file.relative_to(workspace.root)): file.read_bytes()
        for file in sorted(files)
        if file.is_file()
    }


def stopped(workspace: Workspace) -> str | None:
    fields = json.loads((workspace.state_dir / "operation.json").read_text())
    found = fields["stopped"]
    assert found is None or isinstance(found, str)
    return found


def in_markers(content: str, solution: str) -> str:
    """``content`` with its conflict solved."""
    solved, count = re.subn(r"<<<<<<< .*?>>>>>>> [^\n]*\n", solution, content, flags=re.S)
    assert count == 1
    return solved


def solve(workspace: Workspace, git: UserGit, path: str, solution: str) -> None:
    """What the user with a plain editor and git does."""
    file = worktree(workspace) / path
    file.write_text(in_markers(file.read_text(), solution))
    git("add", path)


def start(patchq: CommandLine, workspace: Workspace, onto: str = "v2") -> Run:
    done = patchq("rebase", "--onto", onto, cwd=workspace.root)
    assert done.returncode == 1, done.stderr
    return done


def go_on(patchq: CommandLine, workspace: Workspace, code: int = 0) -> Run:
    done = patchq("rebase", "--continue", cwd=workspace.root)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def finish(patchq: CommandLine, workspace: Workspace, git: UserGit) -> Run:
    """From the first stop to the end, both conflicts solved by hand."""
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    go_on(patchq, workspace, 1)
    solve(workspace, git, "new/far.py", "far_6 = 'both'\n")
    return go_on(patchq, workspace)


def tree_of(upstream: Miniature, workspace: Workspace, tag: str) -> dict[str, bytes]:
    """What git makes of the series on its tag."""
    directory = workspace.load(tag)
    return placed(upstream, tag, *(directory.patches[n].raw for n in directory.series.names))


# The stop


def test_the_stop_says_what_why_and_how_on(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    before = series_bytes(workspace)
    done = start(patchq, workspace)
    commit = upstream.git("log", "--format=%H", "-1", "--grep=Fight", "v2").decode()[:9]
    for words in (
        "v1 → v2 stopped at patch 2 of 4",
        "conflict  fight.patch",
        f"{commit} (#2)",
        "conflicting src/fight.py hunk 1",
        "1 more may need you",
        "patchq rebase --continue",
        "patchq rebase --skip --reason WHY",
        "patchq rebase --abort",
    ):
        assert words in done.stdout
    assert len(done.stdout.splitlines()) < 20
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert series_bytes(workspace) == before


def test_the_worktree_is_sparse_and_marked(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    assert not (worktree(workspace) / "docs").exists()
    content = (worktree(workspace) / "src/fight.py").read_bytes()
    assert b"\r" not in content
    assert re.findall(rb"^(?:[<|>]{7} .*|=======)$", content, re.M) == [
        b"<<<<<<< v2 (ours)",
        b"||||||| v1 (base)",
        b"=======",
        b">>>>>>> fight.patch",
    ]
    assert git("status", "--porcelain") == "UU src/fight.py\n"
    assert "++<<<<<<< v2 (ours)" in git("diff")
    assert (worktree(workspace) / "src/calm.py").read_text() == text("calm", l6="'ours'")


def test_a_moved_file_stands_at_its_new_path(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    done = go_on(patchq, workspace, 1)
    assert "stopped at patch 3 of 4" in done.stdout
    assert git("status", "--porcelain") == "UU new/far.py\n"


# Going on


def test_by_hand_to_the_end(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, git: UserGit
) -> None:
    old = series_bytes(workspace)
    start(patchq, workspace)
    done = finish(patchq, workspace, git)
    assert "far.patch, old against new:" in done.stdout
    assert "++far_6 = 'both'" in done.stdout
    assert "conflict, resolved by hand" in done.stdout
    assert tree_of(upstream, workspace, "v2") == {
        "src/calm.py": text("calm", l6="'ours'").encode(),
        "src/fight.py": text("fight", l6="'both'").encode(),
        "new/far.py": text("far", l6="'both'").encode(),
        "src/gate.py": text("gate", l1="'respelled'", l6="'ours'").encode(),
    }
    new = series_bytes(workspace)
    assert {name: new[name] for name in old} == old
    assert not worktree(workspace).exists()
    assert not (workspace.state_dir / "operation.json").exists()


def test_the_head_of_the_patch_stays(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    finish(patchq, workspace, git)
    before = workspace.load("v1").patches["fight.patch"]
    assert workspace.load("v2").patches["fight.patch"].head == before.head


def test_markers_and_unmerged_paths_are_refused_by_name(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    done = go_on(patchq, workspace, 1)
    assert "conflict markers are left in:\n  src/fight.py" in done.stderr
    git("add", "src/fight.py")
    assert "conflict markers are left in:\n  src/fight.py" in go_on(patchq, workspace, 1).stderr
    git("checkout", "--merge", "src/fight.py")
    file = worktree(workspace) / "src/fight.py"
    file.write_text(text("fight", l6="'both'"))
    done = go_on(patchq, workspace, 1)
    assert "not marked as solved:\n  src/fight.py" in done.stderr
    assert "git add" in done.stderr
    assert stopped(workspace) == "fight.patch"
    git("add", "src/fight.py")
    assert "stopped at patch 3" in go_on(patchq, workspace, 1).stdout


def test_marker_lines_that_upstream_has_are_no_conflict(
    patchq: CommandLine, miniature: MakeMiniature
) -> None:
    upstream = miniature()
    odd = "<<<<<<< not a conflict\n"
    upstream.commit("Start", {"a.py": odd + text("a")})
    upstream.tag("v1")
    upstream.commit("Change", {"a.py": odd + text("a", l6="1")})
    upstream.tag("v2")
    raw = upstream.patch("v1", {"a.py": odd + text("a", l6="2")})
    workspace = make_workspace(upstream, {"a.patch": raw})
    start(patchq, workspace)
    (worktree(workspace) / "a.py").write_text(odd + text("a", l6="3"))
    subprocess.run(["git", "add", "a.py"], cwd=worktree(workspace), check=True)
    go_on(patchq, workspace)


def test_mergetool(patchq: CommandLine, workspace: Workspace, git: UserGit) -> None:
    start(patchq, workspace)
    git("mergetool")
    assert (worktree(workspace) / "src/fight.py.orig").exists()
    go_on(patchq, workspace, 1)
    git("mergetool")
    done = go_on(patchq, workspace)
    assert ".orig" not in done.stdout
    assert workspace.load("v2").patches["fight.patch"].paths == ("src/fight.py",)


def test_files_added_deleted_and_renamed_are_taken(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, git: UserGit
) -> None:
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    (worktree(workspace) / "src/helper.py").write_text("helped = True\n")
    git("add", "src/helper.py")
    git("rm", "--quiet", "src/later.py")
    git("mv", "src/gate.py", "src/gates.py")
    done = go_on(patchq, workspace, 1)
    assert "src/helper.py (new)" in done.stdout
    solve(workspace, git, "new/far.py", "far_6 = 'both'\n")
    done = go_on(patchq, workspace, 1)  # gate.patch has lost its file
    assert "stopped at patch 4 of 4" in done.stdout
    patchq("rebase", "--skip", "--reason", "renamed", cwd=workspace.root)
    changed = tree_of(upstream, workspace, "v2")
    assert changed["src/helper.py"] == b"helped = True\n"
    assert changed["src/gates.py"] == text("gate", l1="'respelled'").encode()
    assert {"src/later.py", "src/gate.py"}.isdisjoint(changed)


def test_what_nobody_added_is_left_out(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, git: UserGit
) -> None:
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    (worktree(workspace) / "build.log").write_text("x\n")
    (worktree(workspace) / "src/added.py").write_text("added = True\n")
    git("add", "src/added.py")
    done = go_on(patchq, workspace, 1)
    assert "left out of fight.patch, which has no such file" in done.stderr
    assert "build.log" in done.stderr
    assert "added.py" not in done.stderr
    patchq("rebase", "--skip", "--reason", "no", cwd=workspace.root)
    changed = tree_of(upstream, workspace, "v2")
    assert "build.log" not in changed
    assert changed["src/added.py"] == b"added = True\n"


def test_a_change_of_other_files_is_asked_about(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, git: UserGit
) -> None:
    """Neither lost nor taken: it may be half of the solution, or what a build made."""
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    (worktree(workspace) / "src/later.py").write_text("later = 'by a build'\n")
    (worktree(workspace) / "src/gate.py").unlink()
    (worktree(workspace) / "src/intent.py").write_text("intended = True\n")
    git("add", "--intent-to-add", "src/intent.py")
    done = go_on(patchq, workspace, 1)
    assert "not marked as solved:\n  src/gate.py\n  src/intent.py\n  src/later.py" in done.stderr
    assert "not added: src/later.py" in patchq("status", cwd=workspace.root).stdout
    git("restore", "src/later.py", "src/gate.py")
    git("add", "src/intent.py")
    go_on(patchq, workspace, 1)
    patchq("rebase", "--skip", "--reason", "no", cwd=workspace.root)
    changed = tree_of(upstream, workspace, "v2")
    assert "src/later.py" not in changed
    assert changed["src/intent.py"] == b"intended = True\n"


def test_a_commit_in_the_worktree_is_as_good(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, git: UserGit
) -> None:
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    git("commit", "--quiet", "-m", "solved")
    assert git("log", "-1", "--format=%an") == "Uma User\n"
    go_on(patchq, workspace, 1)
    patchq("rebase", "--skip", "--reason", "no", cwd=workspace.root)
    fight = tree_of(upstream, workspace, "v2")["src/fight.py"]
    assert fight == text("fight", l6="'both'").encode()


def test_nothing_left_asks_for_skip(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    git("checkout", "--ours", "src/fight.py")
    git("add", "src/fight.py")
    done = go_on(patchq, workspace, 1)
    assert "nothing of fight.patch is left" in done.stderr
    assert "--skip" in done.stderr


def test_from_inside_the_worktree(patchq: CommandLine, workspace: Workspace, git: UserGit) -> None:
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    inside = worktree(workspace)
    done = patchq("rebase", "--continue", cwd=inside)
    assert done.returncode == 1, done.stderr
    solve(workspace, git, "new/far.py", "far_6 = 'both'\n")
    done = patchq("rebase", "--continue", cwd=inside)
    assert done.returncode == 0, done.stderr


def test_a_deleted_file_is_for_the_user_to_decide(
    patchq: CommandLine, miniature: MakeMiniature
) -> None:
    """Its code moved and changed: the user takes the change there; both files are remembered."""
    upstream = miniature()
    lines = "".join(f"distinct_setting_{number} = {number}\n" for number in range(20))
    upstream.commit("Start", {"a.py": lines, "b.py": "import os\n"})
    upstream.tag("v1")
    changed = lines.replace("= 8\n", "= 88\n")
    upstream.commit("Move by hand", {"a.py": None, "b.py": "import os\n\n" + changed})
    upstream.tag("v2")
    raw = upstream.patch("v1", {"a.py": lines.replace("= 7\n", "= 77\n")})
    workspace = make_workspace(upstream, {"a.patch": raw})
    start(patchq, workspace)
    here = worktree(workspace)
    subprocess.run(["git", "rm", "-q", "a.py"], cwd=here, check=True, capture_output=True)
    moved = (here / "b.py").read_text().replace("= 7\n", "= 77\n")
    (here / "b.py").write_text(moved)
    subprocess.run(["git", "add", "b.py"], cwd=here, check=True)
    go_on(patchq, workspace)
    assert tree_of(upstream, workspace, "v2") == {"b.py": moved.encode()}
    done = patchq("rebase", "--onto", "v2", "--replace", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert tree_of(upstream, workspace, "v2") == {"b.py": moved.encode()}


def test_a_change_of_type_conflicts_at_its_own_path(
    patchq: CommandLine, miniature: MakeMiniature
) -> None:
    """No file ``lnk~<commit>``, git's name for one of the sides, comes into the patch."""
    upstream = miniature()
    upstream.commit("Start", {"lnk": symlink("one"), "a": "a\n"})
    upstream.tag("v1")
    upstream.commit("Retarget", {"lnk": symlink("two")})
    upstream.tag("v2")
    raw = upstream.patch("v1", {"lnk": "a file\n"}, "Make it a file")
    workspace = make_workspace(upstream, {"l.patch": raw})
    start(patchq, workspace)
    here = worktree(workspace)

    def run(*args: str) -> str:
        done = subprocess.run(["git", *args], cwd=here, check=True, capture_output=True, text=True)
        return done.stdout

    assert run("diff", "--name-only", "--diff-filter=U").split() == ["lnk"]
    run("checkout", "--theirs", "lnk")
    run("add", "lnk")
    go_on(patchq, workspace)
    assert tree_of(upstream, workspace, "v2") == {"lnk": b"a file\n"}


# Skipping, accepting, aborting


def test_skip_retires_as_the_users_decision(patchq: CommandLine, workspace: Workspace) -> None:
    start(patchq, workspace)
    done = patchq("rebase", "--skip", cwd=workspace.root)
    assert done.returncode == 2
    assert "--reason" in done.stderr
    for reason in ("no longer ours", "too far"):
        done = patchq("rebase", "--skip", "--reason", reason, cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert "skipped: no longer ours" in done.stdout
    raw = (workspace.series_path("v2") / "retired.yaml").read_bytes()
    record, _ = read_retired(raw, Where("retired.yaml"))
    assert (record.name, record.reason) == ("fight.patch", "no longer ours")
    assert record.verdict is Verdict.CONFLICT
    assert record.standing is RecordState.RETIRED
    assert record.content == (workspace.series_path("v1") / "fight.patch").read_bytes()
    judged = patchq("report", "v2", "--onto", "v3", cwd=workspace.root)
    assert "2 retired patches settled" in judged.stdout


def test_a_patch_without_its_base_can_only_be_skipped(
    patchq: CommandLine, upstream: Miniature
) -> None:
    raw = patch(upstream, "calm", "src/calm.py", **{"X-Requires": "lost.patch"})
    workspace = make_workspace(upstream, {"calm.patch": raw})
    done = start(patchq, workspace)
    assert "rebase --continue" not in done.stdout
    assert not worktree(workspace).exists()
    assert "cannot be merged" in go_on(patchq, workspace, 1).stderr
    done = patchq("rebase", "--skip", "--reason", "lost", cwd=workspace.root)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("requires", "series", "words"),
    [
        (("lost.patch",), "calm.patch\n", "lost.patch, which is not in the series"),
        (("lost", "away"), "calm.patch\n", "lost, away, which are not in the series"),
        (
            ("gate.patch",),
            "gate.patch #+x\ncalm.patch\n",
            "gate.patch, which is off by guards (+x)",
        ),
        (("gate.patch",), "calm.patch\ngate.patch\n", "gate.patch, which is after it"),
        (
            ("lost", "gate.patch"),
            "gate.patch #+x\ncalm.patch\n",
            "lost, which is not in the series, and gate.patch, which is off by guards (+x)",
        ),
    ],
)
def test_where_a_required_patch_is_instead_of_below_it_is_said(
    patchq: CommandLine, upstream: Miniature, requires: Sequence[str], series: str, words: str
) -> None:
    trailers = {"X-Requires": ", ".join(requires)}
    patches = {
        "calm.patch": patch(upstream, "calm", "src/calm.py", **trailers),
        "gate.patch": patch(upstream, "gate", "src/gate.py"),
    }
    names = [line.split()[0] for line in series.splitlines()]
    listed = {name: patches[name] for name in names}
    workspace = make_workspace(upstream, listed, series=series)
    told = " ".join(start(patchq, workspace).stdout.split())
    assert f"stands on {words}: it cannot be merged" in told
    assert f"calm.patch stands on {words}" in go_on(patchq, workspace, 1).stderr


def test_a_worktree_that_cannot_be_set_up(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    """As on a full disk: said, and mended by the next step."""
    patchq("report", "v1", "--onto", "v2", cwd=workspace.root)
    blocker = workspace.store_path / "worktrees"
    blocker.write_bytes(b"")
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 2
    assert "stopped at fight.patch, but its worktree could not be set up" in done.stderr
    blocker.unlink()
    assert "set up again" in go_on(patchq, workspace, 1).stderr
    finish(patchq, workspace, git)


@pytest.fixture
def gated(upstream: Miniature) -> Workspace:
    """One patch that merges, and whose expectation fails on v2."""
    raw = patch(
        upstream, "gate", "src/gate.py", **{"X-Expect": "contains src/gate.py 'gate_1 = 1$'"}
    )
    return make_workspace(upstream, {"gate.patch": raw})


def test_drift_is_accepted_with_a_reason(
    patchq: CommandLine, gated: Workspace, upstream: Miniature
) -> None:
    done = start(patchq, gated)
    assert "drifted  gate.patch" in done.stdout
    assert "--accept-drift WHY" in done.stdout
    assert "gate.patch is drifted" in go_on(patchq, gated, 1).stderr
    done = patchq("rebase", "--accept-drift", "respelled only", cwd=gated.root)
    assert done.returncode == 0, done.stderr
    assert "drift accepted: respelled only" in done.stdout
    gate = tree_of(upstream, gated, "v2")["src/gate.py"]
    assert gate == text("gate", l1="'respelled'", l6="'ours'").encode()


def test_an_accepted_drift_is_settled_from_then_on(patchq: CommandLine, gated: Workspace) -> None:
    before = gated.load("v1").patches["gate.patch"]
    start(patchq, gated)
    patchq("rebase", "--accept-drift", "respelled  only", cwd=gated.root)
    carried = gated.load("v2").patches["gate.patch"]
    assert carried.diff == before.diff
    was = b"X-Expect: contains src/gate.py 'gate_1 = 1$'"
    noted = b"X-Drift-Accepted: v2: respelled only (was %b)" % was
    assert carried.head == before.head.replace(was, noted)
    done = patchq("verify", "v2", cwd=gated.root)
    assert done.returncode == 0, done.stdout + done.stderr
    patchq("lock", "v3", cwd=gated.root)
    done = patchq("rebase", "--onto", "v3", cwd=gated.root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert gated.load("v3").patches["gate.patch"].raw == carried.raw


def test_of_what_is_expected_only_what_failed_is_accepted(
    patchq: CommandLine, upstream: Miniature
) -> None:
    """Where the patch collides as well, what was accepted holds for the solution too."""
    raw = patch(
        upstream, "fight", "src/fight.py", **{"X-Expect": "contains src/fight.py 'fight_6 = 6'"}
    ).replace(b"X-Expect:", b"X-Expect: path-exists src/gate.py\nX-Expect:")
    workspace = make_workspace(upstream, {"fight.patch": raw})
    assert "drifted" in start(patchq, workspace).stdout
    done = patchq("rebase", "--accept-drift", "ours wins", cwd=workspace.root)
    assert done.returncode == 1, done.stdout + done.stderr
    file = worktree(workspace) / "src/fight.py"
    file.write_text(in_markers(file.read_text(), "fight_6 = 'both'\n"))
    subprocess.run(["git", "add", "src/fight.py"], cwd=worktree(workspace), check=True)
    go_on(patchq, workspace)
    header = workspace.load("v2").patches["fight.patch"].header
    assert [str(trailer) for trailer in header.trailers] == [
        "X-Expect: path-exists src/gate.py",
        "X-Drift-Accepted: v2: ours wins (was X-Expect: contains src/fight.py 'fight_6 = 6')",
    ]


def test_drift_goes_on_after_an_edit_of_the_header(patchq: CommandLine, gated: Workspace) -> None:
    start(patchq, gated)
    file = gated.series_path("v1") / "gate.patch"
    file.write_bytes(file.read_bytes().replace(b"gate_1 = 1$", b"gate_1 ="))
    go_on(patchq, gated)


def test_only_a_drifted_patch_is_accepted(patchq: CommandLine, workspace: Workspace) -> None:
    start(patchq, workspace)
    done = patchq("rebase", "--accept-drift", "why not", cwd=workspace.root)
    assert done.returncode == 2
    assert "fight.patch is not drifted" in done.stderr


def test_abort_restores_every_byte(patchq: CommandLine, workspace: Workspace, git: UserGit) -> None:
    before = series_bytes(workspace)
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    go_on(patchq, workspace, 1)
    done = patchq("rebase", "--abort", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert series_bytes(workspace) == before
    assert "what you solved is kept in .patchq/kept/series/.resolutions/" in done.stderr
    assert not worktree(workspace).exists()
    assert patchq("rebase", "--abort", cwd=workspace.root).returncode == 2


@pytest.mark.parametrize("end", [("--abort",), ("--skip", "--reason", "later")], ids=lambda e: e[0])
@pytest.mark.parametrize("commits", [False, True], ids=["staged", "committed"])
def test_what_was_solved_and_not_taken_is_kept(
    patchq: CommandLine, workspace: Workspace, git: UserGit, end: tuple[str, ...], commits: bool
) -> None:
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'hours of work'\n")
    if commits:
        git("commit", "-q", "-m", "solved")
    done = patchq("rebase", *end, cwd=workspace.root)
    kept = [file for file in (workspace.state_dir / "kept").rglob("fight.py") if file.is_file()]
    assert [b"hours of work" in file.read_bytes() for file in kept] == [True]
    assert ".patchq/kept/worktree-1" in done.stderr


def test_an_abort_keeps_nothing_of_a_conflict_as_it_was_laid_out(
    patchq: CommandLine, workspace: Workspace
) -> None:
    start(patchq, workspace)
    assert patchq("rebase", "--abort", cwd=workspace.root).returncode == 0
    assert not (workspace.state_dir / "kept").exists()


@pytest.mark.parametrize(
    "args",
    [
        ("rebase", "--onto", "v2"),
        ("rebase", "--onto", "v3", "--keep-going"),
        ("undo",),
        ("import", "new.patch", "--tag", "v1"),
        ("lock", "v3"),
    ],
)
def test_another_operation_is_refused_with_the_way_out(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, args: tuple[str, ...]
) -> None:
    raw = upstream.patch("v1", {"docs/notes.md": "other\n"})
    (workspace.root / "new.patch").write_bytes(raw)
    start(patchq, workspace)
    before = series_bytes(workspace)
    done = patchq(*args, cwd=workspace.root)
    assert done.returncode == 2
    assert "a rebase of v1 onto v2 is under way, stopped at fight.patch" in done.stderr
    assert "--abort" in done.stderr
    assert series_bytes(workspace) == before


def test_judging_meanwhile_is_fine(patchq: CommandLine, workspace: Workspace) -> None:
    start(patchq, workspace)
    assert patchq("rebase", "--onto", "v3", "--dry-run", cwd=workspace.root).returncode == 1
    assert patchq("report", "v1", "--onto", "v2", cwd=workspace.root).returncode == 0


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--onto", "v2", "--continue"),
        ("--skip", "--abort"),
        ("--continue", "--reason", "x"),
        ("--continue", "--dry-run"),
    ],
)
def test_usage(patchq: CommandLine, workspace: Workspace, args: tuple[str, ...]) -> None:
    assert patchq("rebase", *args, cwd=workspace.root).returncode == 2


@pytest.mark.parametrize("way", ["--continue", "--abort", "--skip"])
def test_without_a_rebase_there_is_no_way_on(
    patchq: CommandLine, workspace: Workspace, way: str
) -> None:
    done = patchq("rebase", way, cwd=workspace.root)
    assert done.returncode == 2
    assert "no rebase is under way" in done.stderr


# The state on disk


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"{",
        b"[]",
        b'{"schema": "patchq.operation/9"}',
        b'{"schema": "patchq.operation/1", "command": "rebase"}',
    ],
)
def test_a_state_that_is_not_ours_is_explained(
    patchq: CommandLine, workspace: Workspace, state: bytes
) -> None:
    before = series_bytes(workspace)
    start(patchq, workspace)
    (workspace.state_dir / "operation.json").write_bytes(state)
    for args in (("--continue",), ("--skip", "--reason", "x"), ("--onto", "v2")):
        done = patchq("rebase", *args, cwd=workspace.root)
        assert done.returncode == 2
        assert ".patchq/operation.json" in done.stderr
        assert "--abort" in done.stderr
    assert "operation.json" in patchq("status", cwd=workspace.root).stdout
    assert patchq("rebase", "--abort", cwd=workspace.root).returncode == 0
    assert series_bytes(workspace) == before
    assert not worktree(workspace).exists()


def test_a_series_edited_meanwhile_is_named(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    file = workspace.series_path("v1") / "calm.patch"
    file.write_bytes(file.read_bytes().replace(b"Change calm", b"Change it"))
    done = go_on(patchq, workspace, 2)
    assert "series/v1/calm.patch: changed since the rebase began" in done.stderr


def test_a_base_that_moved_in_the_lock_is_named(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    start(patchq, workspace)
    old, new = upstream.id("v2"), upstream.id("v3")
    lock = workspace.lock_path.read_text()
    workspace.lock_path.write_text(lock.replace(old, "f" * 40).replace(new, old))
    done = go_on(patchq, workspace, 2)
    assert old in done.stderr
    assert "f" * 40 in done.stderr


def test_a_lost_worktree_is_set_up_anew(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    subprocess.run(["rm", "-r", worktree(workspace)], check=True)
    done = go_on(patchq, workspace, 1)
    assert "set up again" in done.stderr
    finish(patchq, workspace, git)


@pytest.mark.parametrize("lost", ["link", "store", "pruned"])
def test_what_was_solved_in_a_lost_worktree_is_kept(
    patchq: CommandLine, workspace: Workspace, git: UserGit, lost: str
) -> None:
    start(patchq, workspace)
    solved = worktree(workspace) / "src/fight.py"
    solved.write_text("fight_6 = 'both'\n")
    (worktree(workspace) / "notes").write_text("mine\n")
    if lost == "link":
        (worktree(workspace) / ".git").unlink()
    elif lost == "store":
        shutil.rmtree(workspace.store_path)
    else:
        link = (worktree(workspace) / ".git").rename(workspace.root / "link")
        subprocess.run(
            ["git", "--git-dir", workspace.store_path, "worktree", "prune", "--expire=now"],
            check=True,
        )
        link.rename(worktree(workspace) / ".git")
    done = go_on(patchq, workspace, 1)
    kept = workspace.state_dir / "kept/worktree-1"
    assert f"notes, src/fight.py (now in {kept})" in done.stderr
    assert (kept / "src/fight.py").read_text() == "fight_6 = 'both'\n"
    assert (kept / "notes").read_text() == "mine\n"
    assert "set up again" in go_on(patchq, workspace, 1).stderr
    finish(patchq, workspace, git)


def test_a_moved_workspace_goes_on(patchq: CommandLine, workspace: Workspace, git: UserGit) -> None:
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    moved = Workspace(workspace.root.rename(workspace.root.parent / "moved"))
    patchq("status", cwd=moved.root)
    done = subprocess.run(
        ["git", "status", "--porcelain"], cwd=worktree(moved), capture_output=True, check=True
    )
    assert done.stdout == b"M  src/fight.py\n"
    assert "stopped at patch 3" in go_on(patchq, moved, 1).stdout


def test_the_lender_is_remembered(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, git: UserGit
) -> None:
    lock = workspace.lock_path.read_text()
    away = lock.replace(str(upstream.path), "/nowhere/upstream")
    workspace.lock_path.write_text(away)
    lent = ("--upstream", upstream.path)
    assert patchq(*lent, "rebase", "--onto", "v2", cwd=workspace.root).returncode == 1
    finish(patchq, workspace, git)


# Remembered


def test_the_same_conflict_is_solved_by_itself(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    finish(patchq, workspace, git)
    first = series_bytes(workspace)
    done = patchq("rebase", "--onto", "v2", "--replace", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("resolved as remembered in") == 2
    assert series_bytes(workspace) == first


def test_on_another_tag_too(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, git: UserGit
) -> None:
    start(patchq, workspace)
    finish(patchq, workspace, git)
    done = patchq("rebase", "--from", "v1", "--onto", "v3", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert tree_of(upstream, workspace, "v3") == tree_of(upstream, workspace, "v2")


def test_only_where_all_three_blobs_are_the_same(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, git: UserGit
) -> None:
    start(patchq, workspace)
    finish(patchq, workspace, git)
    raw = upstream.patch("v1", {"src/fight.py": text("fight", l6="'other'")})
    (workspace.series_path("v1") / "fight.patch").write_bytes(raw)
    done = patchq("rebase", "--onto", "v2", "--replace", cwd=workspace.root)
    assert "stopped at patch 2" in done.stdout


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("alike", [False, True])
def test_a_conflict_that_was_solved_in_two_ways_is_not_remembered(
    patchq: CommandLine, miniature: MakeMiniature, *, more: bool, alike: bool
) -> None:
    """Two files with the same three sides, with and without a change to a third."""
    made = miniature()
    made.commit("Start", {"one.py": text("x"), "two.py": text("x"), "other.py": text("o")})
    made.tag("v1")
    theirs = text("x", l6="'theirs'")
    made.commit("Theirs", {"one.py": theirs, "two.py": theirs})
    made.tag("v2")
    ours = text("x", l6="'ours'")
    raw = made.patch("v1", {"one.py": ours, "two.py": ours})
    workspace = make_workspace(made, {"x.patch": raw}, bases=("v1", "v2"))
    start(patchq, workspace)
    solved = {
        "one.py": text("x", l6="'both'"),
        "two.py": text("x", l6="'both'" if alike else "'neither'"),
        **({"other.py": text("o", l6="'more'")} if more else {}),
    }
    for name, content in solved.items():
        (worktree(workspace) / name).write_text(content)
    subprocess.run(["git", "add", "-A"], cwd=worktree(workspace), check=True)
    go_on(patchq, workspace)
    assert (workspace.series_dir / ".resolutions").exists() is alike
    done = patchq("rebase", "--onto", "v2", "--replace", "--dry-run", cwd=workspace.root)
    assert ("resolved as remembered in" in done.stdout) is alike


def test_what_else_was_changed_must_be_the_same_too(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, git: UserGit
) -> None:
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    (worktree(workspace) / "src/calm.py").write_text(text("calm", l6="'ours'", l9="'more'"))
    git("add", "src/calm.py")
    go_on(patchq, workspace, 1)
    patchq("rebase", "--skip", "--reason", "no", cwd=workspace.root)
    calm = upstream.patch("v1", {"src/calm.py": text("calm", l6="'mine'")})
    judged = patchq("rebase", "--onto", "v2", "--dry-run", cwd=workspace.root)
    assert "resolved as remembered" in judged.stdout
    (workspace.series_path("v1") / "calm.patch").write_bytes(calm)
    judged = patchq("rebase", "--onto", "v2", "--dry-run", cwd=workspace.root)
    assert "resolved as remembered" not in judged.stdout


def test_a_spoilt_resolution_is_named(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    finish(patchq, workspace, git)
    for file in (workspace.series_dir / ".resolutions").rglob("*.yaml"):
        file.write_bytes(file.read_bytes().replace(b"ours: ", b"ours: 0"))
    done = patchq("rebase", "--onto", "v2", "--dry-run", cwd=workspace.root)
    assert done.returncode == 2
    assert "series/.resolutions/" in done.stderr


def test_solved_again_to_the_same_bytes_is_remembered_too(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    finish(patchq, workspace, git)
    first = series_bytes(workspace)
    shutil.rmtree(workspace.series_dir / ".resolutions")
    patchq("rebase", "--onto", "v2", "--replace", cwd=workspace.root)
    finish(patchq, workspace, git)
    assert series_bytes(workspace) == first


def test_an_aborted_rebase_keeps_what_was_solved(
    patchq: CommandLine, workspace: Workspace, git: UserGit
) -> None:
    start(patchq, workspace)
    solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
    go_on(patchq, workspace, 1)
    done = patchq("rebase", "--abort", cwd=workspace.root)
    (kept,) = (workspace.state_dir / "kept/series/.resolutions").rglob("*.yaml")
    assert f"kept in {kept.relative_to(workspace.root)}" in done.stderr
    assert patchq("undo", "--dry-run", cwd=workspace.root).returncode == 2, "nothing to undo"
    done = start(patchq, workspace)
    assert "fight.patch: conflict, resolved as remembered" in done.stdout
    assert "stopped at patch 3 of 4" in done.stdout


def test_bytes_that_are_no_text(patchq: CommandLine, miniature: MakeMiniature) -> None:
    upstream = miniature()

    def content(middle: bytes) -> Mapping[str, bytes]:
        return {"café.bin": b"\xff\xfe\0" + middle + b"\0\x80"}

    upstream.commit("Start", content(b"0"))
    upstream.tag("v1")
    upstream.commit("Change", content(b"1"))
    upstream.tag("v2")
    workspace = make_workspace(upstream, {"a.patch": upstream.patch("v1", content(b"2"))})
    start(patchq, workspace)
    (name,) = content(b"3")
    (worktree(workspace) / name).write_bytes(content(b"3")[name])
    subprocess.run(["git", "add", "-A"], cwd=worktree(workspace), check=True)
    go_on(patchq, workspace)
    assert tree_of(upstream, workspace, "v2") == content(b"3")
    done = patchq("rebase", "--onto", "v2", "--replace", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert tree_of(upstream, workspace, "v2") == content(b"3")


@pytest.mark.parametrize("way", ["continue", "skip", "abort"])
def test_files_that_nobody_took_are_kept(
    patchq: CommandLine, workspace: Workspace, git: UserGit, way: str
) -> None:
    start(patchq, workspace)
    here = worktree(workspace)
    (here / "mine.txt").write_text("new, and not added\n")
    (here / ".gitignore").write_text("*.log\n")
    (here / "run.log").write_text("ignored\n")
    if way == "continue":
        solve(workspace, git, "src/fight.py", "fight_6 = 'both'\n")
        done = patchq("rebase", "--continue", cwd=workspace.root)
    elif way == "skip":
        done = patchq("rebase", "--skip", "--reason", "no", cwd=workspace.root)
    else:
        done = patchq("rebase", "--abort", cwd=workspace.root)
    assert "kept in .patchq/kept/worktree-1" in done.stderr, done.stderr
    kept = workspace.state_dir / "kept" / "worktree-1"
    assert (kept / "mine.txt").read_text() == "new, and not added\n"
    assert (kept / "run.log").read_text() == "ignored\n"


def test_replacing_a_series_loses_nothing_of_it(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    patchq("rebase", "--onto", "v2", "--keep-going", cwd=workspace.root)
    own = workspace.series_path("v2") / "own.patch"
    own.write_bytes(upstream.patch("v2", {"own.txt": "own\n"}, "Ours"))
    with (workspace.series_path("v2") / "series").open("a") as series:
        series.write("own.patch\n")
    done = patchq("rebase", "--onto", "v2", "--replace", "--keep-going", cwd=workspace.root)
    assert done.returncode == 2
    assert "would lose own.patch" in done.stderr
    assert own.is_file()


def test_a_report_never_goes_into_a_series(patchq: CommandLine, workspace: Workspace) -> None:
    file = workspace.series_path("v1") / "series"
    before = file.read_bytes()
    for form in ("html", "table", "json"):
        done = patchq("report", "v1", "--format", form, "-o", str(file), cwd=workspace.root)
        assert done.returncode == 2
        assert "not a place for a report" in done.stderr
    assert file.read_bytes() == before
