"""``patchq list`` and ``patchq show``: what a series holds, on a terminal, in a pipe, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import SOURCES, CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import add_series, make_workspace

from patchq.model.workspace import Workspace

LONG = "Teach the scheduler to leave the batch alone where no one asked for anything else"
BYTES = b"text\n\xff\xfe latin: \xe9\n"


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    repository = miniature()
    repository.commit("Begin", {"a.txt": "a\n", "b.txt": "b\n"})
    repository.tag("v1")
    repository.tag("v2")
    return repository


@pytest.fixture
def patches(upstream: Miniature) -> dict[str, bytes]:
    return {
        "prune.patch": upstream.patch(
            "v1",
            {"a.txt": "A\nmore\n", "b.txt": None},
            "Prune [a] bit",
            "Why it is pruned.",
            {"X-Kind": "strip", "X-Upstream-PR": "12", "X-Watch": "GB10"},
            author="Jörg Äther <joerg@downstream.example>",
        ),
        "bytes.patch": upstream.patch("v1", {"c.bin": BYTES}, LONG),
        "slow.patch": upstream.patch("v1", {"d": "d\n"}, "Go slow", trailers={"X-Kind": "fix"}),
    }


@pytest.fixture
def workspace(upstream: Miniature, patches: dict[str, bytes]) -> Workspace:
    made = make_workspace(upstream, {"prune.patch": patches["prune.patch"]})
    add_series(
        made, "v2", patches, series="prune.patch\nbytes.patch #-slim\nslow.patch #+slow # later\n"
    )
    return made


def test_the_newest_series_is_listed(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("list", cwd=workspace.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    rows = [line.rstrip() for line in done.stdout.splitlines()]
    assert rows[0].split() == ["#", "PATCH", "GUARDS", "KIND", "SUBJECT", "FILES", "AGE"]
    assert rows[1].split() == ["1", "prune.patch", "strip", "Prune", "[a]", "bit", "2", "2"]
    assert LONG in rows[2]
    assert rows[3].split() == ["-", "slow.patch", "+slow", "fix", "Go", "slow", "1", "1"]
    assert rows[4] == "v2: 2 of 3 active"


def test_guards_turn_patches_on_and_off(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("list", "--with", "slow", "--with", "slim", "--json", cwd=workspace.root)
    found = json.loads(done.stdout)
    assert found["schema"] == "patchq.list/1"
    assert (found["series"], found["guards"]) == ("v2", ["slim", "slow"])
    active = {patch["name"]: patch["active"] for patch in found["patches"]}
    assert active == {"prune.patch": True, "bytes.patch": False, "slow.patch": True}
    assert found["patches"][0]["files"] == ["a.txt", "b.txt"]
    assert found["patches"][0]["age"] == 2
    done = patchq("list", "--with", "fast", cwd=workspace.root)
    assert done.returncode == 2
    assert "Guards are: slim, slow." in done.stderr


def test_paths_are_absolute_and_in_order(patchq: CommandLine, workspace: Workspace) -> None:
    below = workspace.root / "series"
    done = patchq("list", "--paths", "--with", "slow", cwd=below)
    directory = workspace.series_path("v2").resolve()
    names = ["prune.patch", "bytes.patch", "slow.patch"]
    assert done.stdout.splitlines() == [str(directory / name) for name in names]
    done = patchq("list", "v1", "--paths", cwd=below)
    assert done.stdout.splitlines() == [str(workspace.series_path("v1").resolve() / names[0])]


def test_a_variant_turns_its_guards_on(patchq: CommandLine, workspace: Workspace) -> None:
    directory = workspace.series_path("v2")
    (directory / "recipe.yaml").write_text(
        "version: 1\nvariants:\n  lab: {guards: [slow]}\n  lean: {guards: [slim]}\n"
    )
    done = patchq("list", "--variant", "lab", "--paths", cwd=workspace.root)
    names = ("prune.patch", "bytes.patch", "slow.patch")
    assert done.stdout.splitlines() == [str(directory / name) for name in names]
    both = patchq("list", "--variant", "lab", "--variant", "lean", "--json", cwd=workspace.root)
    assert json.loads(both.stdout)["guards"] == ["slim", "slow"]
    wrong = patchq("list", "--variant", "lob", cwd=workspace.root)
    assert wrong.returncode == 2
    assert "series/v2/recipe.yaml: no variant 'lob' in the recipe" in wrong.stderr
    none = patchq("list", "v1", "--variant", "lab", cwd=workspace.root)
    assert "The recipe has no variants." in none.stderr


def test_paths_of_a_selection_that_cannot_stand(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    needy = upstream.patch("v1", {"e": "e\n"}, trailers={"X-Requires": "slow.patch"})
    directory = workspace.series_path("v2")
    (directory / "needy.patch").write_bytes(needy)
    with (directory / "series").open("a") as stream:
        stream.write("needy.patch\n")
    done = patchq("list", "--paths", cwd=workspace.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert "needy.patch requires slow.patch, which is off under this selection" in done.stderr
    assert patchq("list", "--paths", "--with", "slow", cwd=workspace.root).returncode == 0
    assert patchq("list", cwd=workspace.root).returncode == 0


def test_one_bad_patch_hides_no_other(patchq: CommandLine, workspace: Workspace) -> None:
    directory = workspace.series_path("v2")
    (directory / "prune.patch").unlink()
    (directory / "bytes.patch").write_bytes(b"--- a/c\n+++ b/c\n@@ -1,9 +1 @@\n-x\n+y\n")
    done = patchq("list", cwd=workspace.root)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[1] == ["1", "prune.patch", "cannot", "be", "read", "?", "2"]
    assert rows[2][1:] == ["bytes.patch", "-slim", "cannot", "be", "read", "?", "1"]
    assert rows[3][1] == "slow.patch"
    assert done.returncode == 2
    assert "series/v2/series:1: there is no file prune.patch" in done.stderr
    assert "series/v2/bytes.patch" in done.stderr
    listed = json.loads(patchq("list", "--json", cwd=workspace.root).stdout)["patches"]
    assert [patch.get("subject") for patch in listed] == [None, None, "Go slow"]
    paths = patchq("list", "--paths", cwd=workspace.root)
    assert (paths.returncode, paths.stdout) == (2, "")


def test_a_narrow_terminal_loses_nothing(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("list", cwd=workspace.root, env={"COLUMNS": "40"})
    words = " ".join(done.stdout.split())
    assert LONG in words
    assert all(name in words for name in ("prune.patch", "bytes.patch", "slow.patch", "+slow"))


def test_a_workspace_without_a_series(patchq: CommandLine, upstream: Miniature) -> None:
    workspace = make_workspace(upstream, {})
    (workspace.series_path("v1") / "series").unlink()
    done = patchq("list", cwd=workspace.root)
    assert done.returncode == 2
    assert "has no series yet" in done.stderr


@pytest.mark.parametrize("columns", ["80", "60", "40"])
def test_the_list_fits_the_width(columns: str, patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("list", cwd=workspace.root, env={"COLUMNS": columns})
    assert max(map(len, done.stdout.splitlines())) <= int(columns)
    assert "prune.patch" in done.stdout


def test_what_a_patch_says(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("show", "prune", cwd=workspace.root)
    assert (done.returncode, done.stderr) == (0, "")
    head, _, diff = done.stdout.partition("\ndiff --git ")
    assert head.splitlines() == [
        "Patch: v2/prune.patch",
        "Subject: Prune [a] bit",
        "Author: Jörg Äther <joerg@downstream.example>",
        "Date: Tue, 7 Jan 2025 08:00:00 +0000",
        "X-Kind: strip",
        "X-Upstream-PR: 12",
        "X-Watch: GB10",
        "",
        "Why it is pruned.",
        "",
        "  modify  a.txt  1 hunk, +2 -1",
        "  delete  b.txt  1 hunk, +0 -1",
    ]
    assert diff.startswith("a/a.txt b/a.txt\n")


def test_raw_is_the_file(patchq: CommandLine, workspace: Workspace) -> None:
    path = workspace.series_path("v2") / "bytes.patch"
    done = patchq("show", "bytes.patch", "v2", "--raw", cwd=workspace.root)
    assert done.stdout.encode("utf-8", "surrogateescape") == path.read_bytes()
    # and the diff in a pipe is as it is in the file
    shown = patchq("show", "bytes.patch", cwd=workspace.root).stdout
    assert shown.encode("utf-8", "surrogateescape").endswith(
        path.read_bytes().partition(b"---\n")[2]
    )


def test_a_patch_as_json(
    patchq: CommandLine, workspace: Workspace, patches: dict[str, bytes]
) -> None:
    found = json.loads(patchq("show", "prune.patch", "v1", "--json", cwd=workspace.root).stdout)
    assert (found["schema"], found["series"]) == ("patchq.show/1", "v1")
    assert found["sha256"] == hashlib.sha256(patches["prune.patch"]).hexdigest()
    assert {"key": "X-Kind", "value": "strip"} in found["fields"]
    assert [(file["kind"], file["added"], file["removed"]) for file in found["files"]] == [
        ("modify", 2, 1),
        ("delete", 0, 1),
    ]


def test_a_patch_that_is_not_there(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("show", "prun.patch", cwd=workspace.root)
    assert done.returncode == 2
    assert "Did you mean prune.patch" in done.stderr


def on_terminal(workspace: Workspace, home: Path, *args: str, **env: str) -> bytes:
    """What the command writes where stdout is a terminal."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as reader:
        process = subprocess.Popen(
            [sys.executable, "-m", "patchq", *args],
            cwd=workspace.root,
            stdout=theirs,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "PYTHONPATH": SOURCES,
                "TERM": "xterm-256color",
                "LC_ALL": "C.UTF-8",
                "COLUMNS": "80",
                **env,
            },
        )
        os.close(theirs)
        written = b""
        try:
            while block := reader.read(65536):
                written += block
        except OSError:  # Linux: the other end of a pty was closed
            pass
        assert process.wait() == 0
    return written


def test_colour_on_a_terminal_only_where_wanted(workspace: Workspace, tmp_path: Path) -> None:
    for command in (["show", "prune.patch"], ["list"]):
        assert b"\x1b[" in on_terminal(workspace, tmp_path, *command)
        plain = on_terminal(workspace, tmp_path, *command, NO_COLOR="1")
        assert b"\x1b[3" not in plain
        assert b"prune.patch" in plain


def test_files_name_the_patches_that_touch_them(patchq: CommandLine, workspace: Workspace) -> None:
    (workspace.series_path("v2") / "series").write_text(
        "prune.patch\nbytes.patch #-slim\nslow.patch #+slow\n"
    )
    done = patchq("files", cwd=workspace.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "a.txt  prune.patch\nb.txt  prune.patch\nc.bin  bytes.patch\n"
    selected = patchq("files", "--paths", "--with", "slow", "--with", "slim", cwd=workspace.root)
    assert selected.stdout == "a.txt\nb.txt\nd\n"
    named = patchq("files", "slow.patch", "--json", cwd=workspace.root)
    assert json.loads(named.stdout) == {
        "schema": "patchq.files/1",
        "series": "v2",
        "guards": [],
        "files": [{"path": "d", "patches": ["slow.patch"]}],
    }
    assert patchq("files", "v2", cwd=workspace.root).stdout == done.stdout
    swapped = patchq("files", "slow", "v2", "--paths", cwd=workspace.root)
    assert swapped.stdout == "d\n"
    unknown = patchq("files", "slwo.patch", cwd=workspace.root)
    assert (unknown.returncode, "slow.patch" in unknown.stderr) == (2, True)


def test_what_guards_leave_out_is_told(patchq: CommandLine, miniature: MakeMiniature) -> None:
    """By status, verify and export alike: how many, which, and by which guard."""
    upstream = miniature()
    upstream.commit("Start", {"a.txt": "a\n"})
    upstream.tag("v1")
    names = ("in.patch", "big.patch", "slim.patch")
    patches = {name: upstream.patch("v1", {name: "x\n"}) for name in names}
    series = "in.patch\nbig.patch #+big\nslim.patch #-slim\n"
    root = make_workspace(upstream, patches, bases=("v1",), series=series).root

    def out(*args: str) -> str:
        done = patchq(*args, cwd=root)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "series     v1 (2 of 3)\nguarded    big.patch (+big) is off on v1\n" in out("status")
    assert "v1 · 2 patches: passed\n1 guarded off: big.patch (+big)\n" in out("verify")
    assert "guarded off big.patch (+big)\n" in out("export", "v1", "-o", "out")
    both = out("verify", "--with", "big", "--with", "slim")
    assert "2 patches: passed\n1 guarded off: slim.patch (-slim)\n" in both
    off = [{"name": "big.patch", "guards": ["+big"]}]
    assert json.loads(out("verify", "--json"))["guarded_off"] == off
    assert json.loads(out("status", "--json"))["series"][0]["guarded_off"] == off
    assert json.loads(out("export", "v1", "-o", "again", "--json"))["guarded_off"] == off
    assert "guarded off" not in out("verify", "--with", "big")
