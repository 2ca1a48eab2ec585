"""Repositories that lend objects: every shape of them, and that none is ever written to."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

from patchq.engine.rebase.rebase import judge_series
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream import Upstream
from patchq.errors import UpstreamError
from patchq.git.history import History
from patchq.git.lender import Lender, find_lender
from patchq.git.remote import Remote
from patchq.git.store import Store, open_store
from patchq.model.verdict import Verdict
from patchq.model.workspace import Workspace

URL = "https://upstream.example/x"


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    for number in range(1, 5):
        made.commit(f"commit {number}", {"a.py": f"{number}\n", f"d/{number}.py": "x\n"})
        made.tag(f"v{number}", message="annotated" if number % 2 else None)
    return made


@pytest.fixture
def root(tmp_path: Path, patchq: CommandLine) -> Path:
    """A workspace whose upstream is a server that no test reaches."""
    assert patchq("init", "w", "--upstream", URL, cwd=tmp_path).returncode == 0
    return tmp_path / "w"


def clone(upstream: Miniature, to: Path, *options: str) -> Path:
    upstream.git("clone", "--quiet", *options, f"file://{upstream.path}", str(to))
    return to


def snapshot(directory: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path.relative_to(directory)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in (directory, *directory.rglob("*"))
    }


def opened(tmp_path: Path, lender: Path) -> Store:
    return open_store(tmp_path / "store.git", find_lender(lender))


def test_a_lender_is_never_written_to(
    tmp_path: Path, root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    lender = clone(upstream, tmp_path / "clone")
    before = snapshot(lender)
    for command in (("lock", "v1", "v2", "dev=main"), ("fetch",), ("lock", "--check")):
        done = patchq("--upstream", "../clone", *command, cwd=root)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    assert Workspace(root).lock().names == ("v1", "v2", "dev")
    assert snapshot(lender) == before


def test_a_read_only_lender_serves(
    tmp_path: Path, root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    lender = clone(upstream, tmp_path / "clone", "--bare")
    directories = [path for path in (lender, *lender.rglob("*")) if path.is_dir()]
    for directory in directories:
        directory.chmod(0o555)
    try:
        done = patchq("lock", "v1", cwd=root, env={"PATCHQ_UPSTREAM": str(lender)})
    finally:
        for directory in directories:
            directory.chmod(0o755)
    assert done.returncode == 0, done.stderr


def test_fetching_does_not_open_a_lender_as_a_repository(
    tmp_path: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    patchq("init", "w", "--upstream", f"file://{upstream.path}", cwd=tmp_path)
    lender = clone(upstream, tmp_path / "clone", "--bare")
    patchq("--upstream", lender, "lock", "v1", cwd=tmp_path / "w")
    (lender / "config").write_text("[core\n")  # git would refuse to open it
    before = snapshot(lender)
    done = patchq("lock", "v2", cwd=tmp_path / "w")
    assert done.returncode == 0, done.stderr
    upstream.commit("five", {"a.py": "5\n"})
    done = patchq("fetch", cwd=tmp_path / "w")
    assert (done.returncode, done.stderr) == (0, "")
    assert snapshot(lender) == before


@pytest.mark.parametrize("packed", [False, True])
def test_a_bare_lender_without_config(tmp_path: Path, upstream: Miniature, packed: bool) -> None:
    if packed:
        upstream.git("pack-refs", "--all")
    (upstream.path / "config").unlink()
    store = opened(tmp_path, upstream.path)
    assert store.lender is not None
    assert store.lender.limits == ()
    commits = Upstream(store, Remote(URL, store.directory, terminal=False)).commits(
        ["refs/tags/v1", "refs/heads/main", "refs/tags/v9"]
    )
    assert set(commits) == {"refs/tags/v1", "refs/heads/main"}
    assert store.resolve(commits["refs/tags/v1"]) == commits["refs/tags/v1"]
    assert store.lender.head() == "refs/heads/main"


@pytest.mark.parametrize("inside", ["", ".git"])
def test_a_work_tree_and_its_git_directory(
    tmp_path: Path, upstream: Miniature, inside: str
) -> None:
    lender = clone(upstream, tmp_path / "clone")
    assert find_lender(lender / inside) == Lender(lender / ".git")


def test_a_linked_worktree_lends_what_its_repository_has(
    tmp_path: Path, root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    lender = clone(upstream, tmp_path / "clone", "--bare")
    upstream.git(f"--git-dir={lender}", "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert find_lender(tmp_path / "linked") == Lender(lender)
    (administrative,) = (lender / "worktrees").iterdir()
    assert find_lender(administrative) == Lender(lender)
    done = patchq("--upstream", tmp_path / "linked", "lock", "v1", cwd=root)
    assert done.returncode == 0, done.stderr


def test_a_clone_knows_upstreams_branches(
    tmp_path: Path, root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    lender = clone(upstream, tmp_path / "clone")
    upstream.git(f"--git-dir={lender}/.git", "update-ref", "refs/heads/main", upstream.id("v1^{}"))
    done = patchq("--upstream", lender, "lock", "dev=main", cwd=root)
    assert (done.returncode, "ambiguous" in done.stderr) == (2, True)
    done = patchq("--upstream", lender, "lock", "dev=refs/remotes/origin/main", cwd=root)
    assert done.returncode == 0, done.stderr
    assert Workspace(root).lock().base("dev").commit == upstream.id("main")


def test_a_shallow_lender_is_said_and_serves_as_far_as_it_goes(
    tmp_path: Path, root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    lender = clone(upstream, tmp_path / "clone", "--bare", "--depth=2")
    done = patchq("--upstream", lender, "lock", "v4", f"v3={upstream.id('v3^{}')}", cwd=root)
    assert done.returncode == 0, done.stderr
    assert "is a shallow clone" in done.stderr
    store = open_store(root / ".patchq" / "store.git")
    history = History(store.git).subjects(upstream.commit_id("v3"), upstream.commit_id("v4"))
    assert [commit.subject for commit in history] == ["commit 4"]
    done = patchq("--upstream", lender, "lock", f"v2={upstream.id('v2')}", cwd=root)
    assert (done.returncode, "there is no commit" in done.stderr) == (3, True)


def test_where_history_is_cut_off_no_commit_is_blamed_and_nothing_is_kept_for_later(
    tmp_path: Path, miniature: MakeMiniature
) -> None:
    upstream = miniature()
    start, fixed = "one\ntwo\nthree\n", "one\n2\nthree\n"
    upstream.commit("Start (#1)", {"x": start})
    upstream.tag("v1")
    landed = upstream.commit("Say 2 (#2)", {"x": fixed})
    upstream.commit("Add another file (#3)", {"y": "y\n"})
    upstream.tag("v2")
    workspace = make_workspace(upstream, {"two.patch": upstream.patch("v1", {"x": fixed})})
    lender = clone(upstream, tmp_path / "clone", "--bare", "--depth=1")
    upstream.git(f"--git-dir={lender}", "fetch", "-q", "--depth=1", "origin", "tag", "v1")

    def merged_by() -> list[str | None]:
        store = open_store(workspace.store_path, find_lender(lender))
        project = Project(workspace, workspace.lock(), workspace.settings(), store)
        (patch,) = judge_series(project, "v1", "v2").report.patches
        assert patch.verdict is Verdict.UPSTREAMED
        return list(dict.fromkeys(item.commit for item in patch.evidence))

    assert merged_by() == [None]
    upstream.git(f"--git-dir={lender}", "fetch", "-q", "--unshallow", "origin")
    assert merged_by() == [landed]


def test_fetching_completes_what_a_shallow_lender_lacks(
    tmp_path: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    patchq("init", "w", "--upstream", f"file://{upstream.path}", cwd=tmp_path)
    lender = clone(upstream, tmp_path / "clone", "--bare", "--depth=1")
    root = tmp_path / "w"
    assert patchq("--upstream", lender, "lock", "v4", cwd=root).returncode == 0
    assert (root / ".patchq" / "store.git" / "shallow").is_file()
    assert patchq("lock", "v1", "v3", cwd=root).returncode == 0
    store = open_store(root / ".patchq" / "store.git")
    assert not (store.directory / "shallow").exists()
    assert store.git.text("rev-list", "--count", upstream.id("v4^{}")) == "4"


def test_a_partial_lender_is_said(
    tmp_path: Path, root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    upstream.git("config", "uploadpack.allowFilter", "true")
    lender = clone(upstream, tmp_path / "clone", "--bare", "--filter=blob:none")
    before = snapshot(lender)
    done = patchq("--upstream", lender, "lock", "v1", cwd=root)
    assert done.returncode == 0, done.stderr
    assert "is a partial clone" in done.stderr
    store = open_store(root / ".patchq" / "store.git")
    with pytest.raises(UpstreamError, match="missing"):
        store.objects.read(upstream.id("v1:a.py"))
    assert snapshot(lender) == before


def test_a_lender_that_borrows_from_nowhere_is_said(tmp_path: Path, upstream: Miniature) -> None:
    lender = tmp_path / "clone"
    upstream.git("clone", "--quiet", "--bare", "--shared", str(upstream.path), str(lender))
    assert find_lender(lender).limits == ()
    store = opened(tmp_path, lender)
    assert store.resolve(upstream.id("v1")) == upstream.id("v1^{}")
    upstream.path.rename(tmp_path / "moved")
    (limit,) = find_lender(lender).limits
    assert str(upstream.path / "objects") in limit


def test_a_lender_that_vanished(
    tmp_path: Path, root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    lender = clone(upstream, tmp_path / "clone", "--bare")
    patchq("--upstream", lender, "lock", "v1", cwd=root)
    lender.rename(tmp_path / "moved")
    done = patchq("--upstream", lender, "fetch", cwd=root)
    assert (done.returncode, "is not a git repository" in done.stderr) == (3, True)
    done = patchq("--upstream", tmp_path / "moved", "fetch", cwd=root)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_lender_that_lost_an_object(
    tmp_path: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    patchq("init", "w", "--upstream", upstream.path, cwd=tmp_path)
    root = tmp_path / "w"
    patchq("lock", "v1", cwd=root)
    commit, tree = upstream.id("v1^{}"), upstream.id("v1^{tree}")
    lost = lose(upstream, tree)
    done = patchq("fetch", cwd=root)
    assert (done.returncode, tree in done.stderr) == (3, True), done.stderr
    lose(upstream, commit)
    done = patchq("lock", "v1", cwd=root)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert not lost.exists()


def lose(upstream: Miniature, oid: str) -> Path:
    """Remove one object of the repository for good."""
    packs = list((upstream.path / "objects" / "pack").glob("*.pack"))
    aside = upstream.path / "pack"
    for pack in packs:
        moved = pack.rename(aside)
        pack.with_suffix(".idx").unlink()
        upstream.git("unpack-objects", "-q", stdin=moved.read_bytes())
        moved.unlink()
    file = upstream.path / "objects" / oid[:2] / oid[2:]
    file.unlink()
    return file


@pytest.mark.parametrize("damage", ["", "ref: refs/tags/v1\n", "nonsense\n", "../../config"])
def test_a_damaged_ref_is_an_error(upstream: Miniature, damage: str) -> None:
    (upstream.path / "refs" / "tags" / "v1").write_text(damage)
    with pytest.raises(UpstreamError, match=r"refs/tags/v1 of .* is damaged"):
        find_lender(upstream.path).ref("refs/tags/v1")


def test_a_symbolic_ref_is_followed(upstream: Miniature) -> None:
    upstream.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    assert find_lender(upstream.path).ref("refs/heads/alias") == upstream.id("main")


def test_other_object_ids_are_refused(tmp_path: Path, upstream: Miniature) -> None:
    upstream.git("init", "--quiet", "--bare", "--object-format=sha256", str(tmp_path / "other"))
    with pytest.raises(UpstreamError, match="SHA-256"):
        find_lender(tmp_path / "other")


def test_a_path_with_odd_characters_lends(tmp_path: Path, upstream: Miniature) -> None:
    odd = upstream.path.rename(tmp_path / '"odd: #1 é\udcff"')
    store = opened(tmp_path, odd)
    assert store.resolve(main_of(odd)) == main_of(odd)


def main_of(directory: Path) -> str:
    return find_lender(directory).ref("refs/heads/main") or ""
