"""The miniature upstream of the demo, and what its history does to the downstream's series."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import patchq
from patchq.demo import series, upstream
from patchq.git.process import Git
from patchq.model.verdict import Verdict

PRINT_EVERYTHING = """
import sys
from hashlib import sha256
from pathlib import Path
from patchq.demo import series, upstream
from patchq.git.process import Git
upstream.build(Path(sys.argv[1], "upstream"))
print(Git(Path(sys.argv[1], "upstream").absolute()).text("for-each-ref"))
for name, content in series.downstream(Path(sys.argv[1], "scratch")).items():
    print(name, sha256(content).hexdigest())
"""

HOSTILE_CONFIG = """\
[core]
	autocrlf = true
	safecrlf = true
[commit]
	gpgsign = true
[tag]
	gpgsign = true
[diff]
	noprefix = true
	context = 9
	mnemonicPrefix = true
	renames = false
[format]
	signature = me
	attach = true
	numbered = true
	subjectPrefix = RFC
	signOff = true
	outputDirectory = /nonexistent
[user]
	name = Somebody
	email = somebody@example.org
[init]
	defaultBranch = trunk
	defaultObjectFormat = sha256
"""


@dataclass(frozen=True)
class Demo:
    """The upstream and the downstream's commits on it, in one repository."""

    git: Git
    files: dict[str, bytes]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    store = tmp_path_factory.mktemp("demo") / "store"
    files = series.downstream(store)
    return Demo(Git(store), files)


def build_in_process(directory: Path, environment: dict[str, str], umask: int) -> str:
    directory.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PRINT_EVERYTHING, directory.name],
        cwd=directory.parent,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(patchq.__file__).parents[1]),
            **environment,
        },
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_builds_are_equal_wherever_they_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    (home / ".gitconfig").write_text(HOSTILE_CONFIG)
    (home / ".config/git/attributes").write_text("* text eol=crlf\n*.py diff=python\n")
    hostile = {
        "HOME": str(home),
        "TZ": "Pacific/Kiritimati",
        "LC_ALL": "tr_TR.UTF-8",
        "GIT_DIR": "/nonexistent",
        "GIT_INDEX_FILE": "/nonexistent",
        "GIT_AUTHOR_DATE": "2001-01-01T00:00:00",
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "diff.noprefix",
        "GIT_CONFIG_VALUE_0": "true",
    }
    plain = build_in_process(tmp_path / "plain", {"HOME": os.devnull, "TZ": "UTC"}, 0o022)
    assert build_in_process(tmp_path / "hostile", hostile, 0o077) == plain
    assert [tag for tag in upstream.TAGS if f"refs/tags/{tag}\n" in plain] == list(upstream.TAGS)


def test_the_upstream_stands_alone(tmp_path: Path) -> None:
    upstream.build(tmp_path / "upstream")
    git = Git(tmp_path / "upstream")
    assert git.run("fsck", "--strict", "--no-dangling").stderr == b""
    assert git.text("for-each-ref", "--format=%(refname)").splitlines() == [
        "refs/heads/main",
        *(f"refs/heads/release/{tag}" for tag in upstream.TAGS),
        *(f"refs/tags/{tag}" for tag in upstream.TAGS),
    ]
    for subject in git.text("log", "--all", "--format=%s").splitlines():
        assert re.search(r" \(#\d+\)$", subject), subject


def test_trees_in_memory_are_the_trees_in_git(demo: Demo) -> None:
    for tag in upstream.TAGS:
        listing = demo.git.text("ls-tree", "-r", "--name-only", tag).splitlines()
        tree = upstream.history().trees[tag]
        assert listing == sorted(tree)
        assert all(
            demo.git.run("cat-file", "blob", f"{tag}:{path}").stdout == content
            for path, content in tree.items()
        )


@pytest.mark.parametrize(("old", "new"), series.EXPECTED)
def test_the_merge_base_lies_behind_both_tags(demo: Demo, old: str, new: str) -> None:
    base = demo.git.text("merge-base", old, new)
    tips = demo.git.text("rev-parse", f"{old}^{{commit}}", f"{new}^{{commit}}").splitlines()
    assert base not in tips
    merge = demo.git.run("merge-tree", "--write-tree", "--name-only", old, new, allow=(1,))
    assert b"\npython/lattice/version.py\n" in merge.stdout  # a file that no patch touches


def test_the_kernel_tree_moves_in_pure_renames(demo: Demo) -> None:
    commit = demo.git.text("log", "--all", "--format=%H", "--grep=(#110)")
    changes = demo.git.text("diff-tree", "-r", "-M", "--no-commit-id", "--name-status", commit)
    assert {line.split("\t")[0] for line in changes.splitlines()} == {"R100"}
    assert not [path for path in trees("v1.1") if path.startswith(upstream.KERNEL_BEFORE)]


def test_the_deleted_kernel_lives_nowhere_else(demo: Demo) -> None:
    patch = demo.files["blockwise-smem.patch"].split(b"\n@@ ", 1)[1]
    stands_on = {line[1:] for line in patch.splitlines()[1:] if line[:1] in (b" ", b"-")}
    path = f"{upstream.KERNEL_BEFORE}/csrc/moe/blockwise_fp4.cuh"
    before = trees("v1.0")
    assert stands_on <= set(before.pop(path).splitlines())
    assert not stands_on & set(count_lines(trees("v1.1")) - count_lines(before))


def test_the_merged_backport_is_there_and_the_reverted_one_is_not() -> None:
    for edit in (upstream.WIDE_TABLE, upstream.WIDE_SLOTS):
        assert edit.new.encode() in trees("v1.1")[edit.path]
    draft = upstream.CLAMP_PROPOSAL.path
    assert trees("v1.1")[draft] == trees("v1.0")[draft]
    assert upstream.CLAMP_PROPOSAL.new.encode() in trees("v1.2")[draft]
    assert upstream.CLAMP_ROLLBACK.new.encode() not in trees("v1.2")[draft]


def test_every_file_parses_on_every_tag_and_after_the_series(demo: Demo) -> None:
    for tree in (*upstream.TAGS, "downstream"):
        for path in demo.git.text("ls-tree", "-r", "--name-only", tree).splitlines():
            if path.endswith(".py"):
                compile(blob(demo, tree, path), path, "exec")
            elif path.endswith(".toml"):
                tomllib.loads(blob(demo, tree, path).decode())


@pytest.mark.parametrize(
    ("name", "field", "holds_on"),
    [
        ("fp4-gate.patch", "X-Retire-When", {"v1.2"}),
        ("sparse-gate.patch", "X-Expect", {"v1.0", "v1.1"}),
        ("arch-prune.patch", "X-Verify", {"downstream"}),
        ("scheduler-drain.patch", "X-Retire-When", set()),
        ("tiny-kernel.patch", "X-Retire-When", set()),
        ("sampling-min-p.patch", "X-Retire-When", set()),
    ],
)
def test_predicates_turn_where_the_table_says(
    demo: Demo, name: str, field: str, holds_on: set[str]
) -> None:
    header = demo.files[name].split(b"\ndiff --git", 1)[0].decode()
    predicates = re.findall(rf"^{field}: (contains|lacks) (\S+) (\S+)$", header, re.MULTILINE)
    assert predicates
    for word, path, regex in predicates:
        found = {tree for tree in (*upstream.TAGS, "downstream") if search(demo, tree, path, regex)}
        absent = {*upstream.TAGS, "downstream"} - found
        # On the downstream's own tree a patch may fire its predicate by itself: only X-Verify asks.
        asked = {"downstream"} if field == "X-Verify" else set(upstream.TAGS)
        assert (found if word == "contains" else absent) & asked == holds_on


def test_the_series_names_every_patch_in_order(demo: Demo) -> None:
    lines = demo.files["series"].decode().splitlines()
    entries = [line.split(" #") for line in lines if not line.startswith("#")]
    names = [entry[0] for entry in entries]
    assert {*names, "series"} == set(demo.files)
    assert [entry for entry in entries if len(entry) > 1] == [
        ["sampling-min-p.patch", f"+{series.GUARD}"]
    ]
    assert list(series.EXPECTED["v1.0", "v1.1"]) == names
    retired = {Verdict.UPSTREAMED, Verdict.UNREACHABLE, Verdict.EXPIRED}
    assert list(series.EXPECTED["v1.1", "v1.2"]) == [
        name for name in names if series.EXPECTED["v1.0", "v1.1"][name] not in retired
    ]


MERGES = {
    Verdict.CLEAN: {"strict"},
    Verdict.MOVED: {"merged"},
    Verdict.ADAPTED: {"merged"},
    Verdict.PARTIAL: {"merged"},
    Verdict.UPSTREAMED: {"empty"},
    Verdict.UNREACHABLE: {"conflict"},
    Verdict.SUPERSEDED: {"conflict"},
    Verdict.CONFLICT: {"conflict"},
    Verdict.EXPIRED: {"conflict"},
    Verdict.DRIFTED: {"strict", "merged"},
}
"""What whole-tree merges, which know nothing of verdicts, must show for each one."""


def test_plain_git_merges_agree_with_the_table(demo: Demo) -> None:
    commits = demo.git.text("rev-list", "--reverse", f"{series.BASE}..downstream").splitlines()
    steps = {
        patch.name: Step(f"{commit}^^{{tree}}", f"{commit}^{{tree}}")
        for patch, commit in zip(series.PATCHES, commits, strict=True)
    }
    for (_, new), verdicts in series.EXPECTED.items():
        carried: dict[str, Step] = {}
        ours = f"{new}^{{tree}}"
        for name, verdict in verdicts.items():
            outcome, tree = three_way(demo.git, steps[name], ours)
            assert outcome in MERGES[verdict], name
            if outcome in ("strict", "merged"):
                carried[name] = Step(ours, tree)
                ours = tree
        steps = carried


@dataclass(frozen=True)
class Step:
    """A patch as the tree before it and the tree after it."""

    before: str
    after: str


def three_way(git: Git, step: Step, ours: str) -> tuple[str, str]:
    """How the step fares on the tree ``ours``, and the tree that results."""
    base = git.text("commit-tree", "-m", "base", step.before)
    left, right = (
        git.text("commit-tree", "-m", "side", "-p", base, tree) for tree in (ours, step.after)
    )
    merge = git.run(
        "-c",
        "merge.directoryRenames=true",
        "merge-tree",
        "--write-tree",
        "--no-messages",
        left,
        right,
        allow=(0, 1),
    )
    tree = merge.stdout.decode().splitlines()[0]
    if merge.status:
        return "conflict", tree
    if tree == git.text("rev-parse", ours):
        return "empty", tree
    return ("strict" if strict(git, step, ours) == tree else "merged"), tree


def strict(git: Git, step: Step, ours: str) -> str | None:
    """The tree that ``git apply`` makes of the step on ``ours``, if it applies."""
    assert git.directory is not None
    index = {"GIT_INDEX_FILE": str(git.directory / "strict-index")}
    diff = git.run("diff-tree", "-p", "--binary", "--full-index", step.before, step.after).stdout
    git.run("read-tree", ours, environment=index)
    if git.run("apply", "--cached", stdin=diff, environment=index, allow=(0, 1)).status:
        return None
    return git.run("write-tree", environment=index).stdout.decode().strip()


def trees(name: str) -> dict[str, bytes]:
    return upstream.history().trees[name]


def count_lines(tree: dict[str, bytes]) -> Counter[bytes]:
    return Counter(line for content in tree.values() for line in content.splitlines())


def search(demo: Demo, tree: str, path: str, regex: str) -> bool:
    return any(
        re.search(regex.encode(), line)
        for moved in homes(path)
        for line in blob(demo, tree, moved).splitlines()
    )


def homes(path: str) -> Iterator[str]:
    yield path
    if path.startswith(upstream.KERNEL_BEFORE):
        yield upstream.KERNEL_AFTER + path.removeprefix(upstream.KERNEL_BEFORE)


def blob(demo: Demo, tree: str, path: str) -> bytes:
    return demo.git.run("cat-file", "blob", f"{tree}:{path}", allow=(0, 128)).stdout
