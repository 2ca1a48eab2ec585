"""The builder that the other tests stand on."""

from __future__ import annotations

import subprocess
from pathlib import Path

from miniature import ENVIRONMENT, MakeMiniature, executable, symlink


def test_commits_hold_modes_links_and_bytes(miniature: MakeMiniature) -> None:
    repo = miniature()
    repo.commit(
        "Start (#1)",
        {
            "run.sh": executable("#!/bin/sh\n"),
            "link": symlink("run.sh"),
            "blob.bin": b"\0\xff\r\n",
            'odd "name"\\ é\n': "text",
            "raw-\udcff": "text",
        },
    )
    modes = {line.split()[0] for line in repo.git("ls-tree", "-r", "main").splitlines()}
    assert modes == {b"100644", b"100755", b"120000"}
    assert repo.read("main", "blob.bin") == b"\0\xff\r\n"
    assert repo.read("main", "link") == b"run.sh"
    assert {'odd "name"\\ é\n', "raw-\udcff"} < set(repo.paths("main"))


def test_a_file_makes_room_for_a_directory(miniature: MakeMiniature) -> None:
    repo = miniature()
    repo.commit("Start", {"a": "file"})
    repo.commit("Grow", {"a/b": "file", "a": None})
    assert repo.paths("main") == ["a/b"]


def test_a_move_is_a_pure_rename(miniature: MakeMiniature) -> None:
    repo = miniature()
    repo.commit("Start", {"old/deep/a.py": "a\n", "old/b.py": "b\n", "c.py": "c\n"})
    moved = repo.move("old/", "new/home/", "Move (#2)")
    raw = repo.git("diff-tree", "-r", "-M", "--name-status", "--no-commit-id", moved)
    assert [line.split(b"\t")[0] for line in raw.splitlines()] == [b"R100", b"R100"]
    assert repo.paths("main") == ["c.py", "new/home/b.py", "new/home/deep/a.py"]


def test_branches_tags_and_merges(miniature: MakeMiniature) -> None:
    repo = miniature()
    first = repo.commit("Start", {"a": "1\n"})
    repo.branch("release/v1", at=first)
    released = repo.commit("Set the version", {"version": "1\n"}, branch="release/v1")
    repo.branch("refs/pull/7/head", at=first)
    proposed = repo.commit("Propose", {"b": "1\n"}, branch="refs/pull/7/head")
    merge = repo.commit("Merge (#7)", {"b": "1\n"}, merges=["refs/pull/7/head"])
    assert repo.tag("v1", at="release/v1") == released
    assert repo.tag("v2", at="main", message="Release") == merge
    assert repo.id("v2") != merge
    assert repo.git("log", "-1", "--format=%P", merge).decode().split() == [first, proposed]


def test_patches_stack_and_leave_no_ref(miniature: MakeMiniature) -> None:
    repo = miniature()
    repo.commit("Start", {"a": "1\n2\n3\n", "blob": b"\0\1"})
    repo.tag("v1")
    refs = repo.git("for-each-ref")
    lower = repo.detached("v1", "Lower", {"a": "1\n2\nthree\n"})
    upper = repo.patch(
        lower,
        {"a": "one\n2\nthree\n", "blob": b"\0\2", "new": executable("x\n")},
        subject="[gb10] Upper",
        body="Why.",
        trailers={"Origin": "vendor", "X-Verify": ["path-exists a", "path-exists new"]},
    )
    assert repo.git("for-each-ref") == refs
    assert upper.startswith(b"From " + b"0" * 40 + b" Mon Sep 17 00:00:00 2001\n")
    assert (
        b"Subject: [PATCH] [gb10] Upper\n\nWhy.\n\nOrigin: vendor\n"
        b"X-Verify: path-exists a\nX-Verify: path-exists new\n\ndiff --git" in upper
    )
    assert repo.id(f"{lower}:a").encode() in upper
    assert b"GIT binary patch" in upper


def test_real_git_applies_what_it_makes(miniature: MakeMiniature, tmp_path: Path) -> None:
    repo = miniature()
    repo.commit("Start", {"a": "1\n2\n3\n"})
    edits = {"a": "1\n2\nthree\n"}
    diff = repo.bare_diff("main", edits)
    assert diff.startswith(b"diff --git a/a b/a\nindex ")
    for number, patch in enumerate((diff, repo.patch("main", edits))):
        tree = tmp_path / str(number)
        tree.mkdir()
        (tree / "a").write_bytes(repo.read("main", "a"))
        subprocess.run(["git", "apply"], input=patch, cwd=tree, env=ENVIRONMENT, check=True)
        assert (tree / "a").read_text() == "1\n2\nthree\n"


def test_two_builds_are_the_same(miniature: MakeMiniature) -> None:
    def build(name: str) -> str:
        repo = miniature(name)
        repo.commit("Start", {"a": "1\n"})
        return repo.commit("Go on", {"a": "2\n"})

    assert build("one") == build("two")
