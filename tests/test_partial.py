"""Stores that lack files: fetched in part, completed in batches, the same answers as of a whole."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import Miniature
from workspaces import add_series

from patchq.errors import UpstreamError
from patchq.git.lender import find_lender
from patchq.git.partial import ObjectSource
from patchq.git.search import count_texts
from patchq.git.store import Store, open_store
from patchq.model.ids import ObjectId
from patchq.model.workspace import Workspace

NOWHERE = "file:///nowhere/upstream"
HISTORY = 5
UNLIKE = re.compile(r'^patchq: fetching|"exported_at"')
REBASE = ("rebase", "--onto", "v2", "--json")


def module(name: str, **changed: str) -> str:
    lines = [changed.get(f"at{n}", f"    {name}_step_{n}(state, {n})\n") for n in range(40)]
    return "".join([f"def {name}(state):\n", *lines, "    return state\n"])


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Miniature:
    """A server with files that move, change and go between v1 and v2, and history around them."""
    made = Miniature(tmp_path_factory.mktemp("server") / "upstream")
    made.git("config", "uploadpack.allowFilter", "true")
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    for number in range(HISTORY):
        made.commit(f"Old {number}", {"old.txt": f"state {number}\n"})
    made.commit(
        "Start",
        {
            "core/run.py": module("run"),
            "core/move.py": module("move"),
            "core/gone.py": module("gone"),
            "core/merged.py": module("merged"),
            "lib/idle.py": module("idle"),
        },
    )
    made.tag("v1")
    made.commit("Tune run (#11)", {"core/run.py": module("run", at3="    tuned(state)\n")})
    made.commit("Merge ours (#12)", {"core/merged.py": module("merged", at20="    ours(state)\n")})
    made.move("core/move.py", "lib/move.py", "Move it (#13)")
    made.commit("Change it (#14)", {"lib/move.py": module("move", at2="    moved(state)\n")})
    made.commit("Drop it (#15)", {"core/gone.py": None})
    made.tag("v2", message="annotated")
    made.commit("Idle less (#16)", {"lib/idle.py": module("idle", at30="    busy(state)\n")})
    made.tag("v3")
    made.branch("refs/pull/7/head", at="v3")
    made.commit("Pull", {"lib/idle.py": module("idle", at9="    p()\n")}, branch="refs/pull/7/head")
    made.commit("Later (#17)", {"core/run.py": module("run", at3="    tuned(state, 2)\n")})
    return made


def patches(upstream: Miniature) -> dict[str, bytes]:
    changes = {
        f"{name}.patch": {f"core/{name}.py": module(name, at20="    ours(state)\n")}
        for name in ("run", "move", "gone", "merged")
    }
    return {name: upstream.patch("v1", edits, name) for name, edits in changes.items()}


@dataclass(frozen=True)
class Desk:
    """A workspace, and the command line in it."""

    root: Path
    patchq: CommandLine

    def __call__(self, *args: str | Path, code: int = 0) -> str:
        done = self.patchq(*args, cwd=self.root)
        assert done.returncode == code, done.stderr
        return done.stdout

    @property
    def store(self) -> Path:
        return Workspace(self.root).store_path

    def packs(self) -> int:
        """How many fetches brought something: each leaves one pack, git's own lazy ones too."""
        return len(list((self.store / "objects" / "pack").glob("*.pack")))

    def take_from(self, upstream: str) -> None:
        """Put another upstream into the lock."""
        lock = self.root / "upstream.lock"
        lock.write_text(re.sub("(?m)^upstream: .*$", f"upstream: {upstream}", lock.read_text()))

    def forget(self) -> None:
        """Lose all that was fetched."""
        shutil.rmtree(self.root / ".patchq")


@dataclass(frozen=True)
class Office:
    """Two workspaces of one upstream, once set up: fetched in part, and whole."""

    partial: Path
    whole: Path


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, upstream: Miniature) -> Office:
    place = tmp_path_factory.mktemp("office")
    series = patches(upstream)
    patchq = CommandLine(place)
    for name, allowed in (("whole", "false"), ("partial", "true")):
        upstream.git("config", "uploadpack.allowFilter", allowed)
        patchq("init", name, "--upstream", f"file://{upstream.path}", cwd=place)
        desk = Desk(place / name, patchq)
        Workspace(desk.root).settings_path.write_text("main: main\n")
        desk("lock", "v1", "v2", "v3")
        desk("fetch")
        add_series(Workspace(desk.root), "v1", series)
    return Office(place / "partial", place / "whole")


@pytest.fixture
def partial(tmp_path: Path, office: Office, patchq: CommandLine) -> Desk:
    """A workspace whose store was fetched in part."""
    return Desk(shutil.copytree(office.partial, tmp_path / "partial"), patchq)


@pytest.fixture
def whole(tmp_path: Path, office: Office, patchq: CommandLine) -> Desk:
    """The same, of a server that knows no filter."""
    return Desk(shutil.copytree(office.whole, tmp_path / "whole"), patchq)


def missing(store: Path, upstream: Miniature, *revisions: str) -> set[str]:
    listed = upstream.git(
        f"--git-dir={store}",
        *("rev-list", "--objects", "--missing=print"),
        *map(upstream.id, revisions),
    )
    return {line[1:] for line in listed.decode().splitlines() if line.startswith("?")}


def files(root: Path) -> dict[str, bytes]:
    paths = (path for path in (*root.glob("*.gz"), *root.glob("series/**/*")) if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


# Fetching


def test_locking_and_fetching_bring_no_files(partial: Desk, upstream: Miniature) -> None:
    listed = upstream.git(
        *("rev-list", "--objects", "--no-object-names", "--filter=object:type=blob"),
        *("--filter-provided-objects", "main"),
    )
    assert missing(partial.store, upstream, "main") == set(listed.decode().split())
    assert "promisor" not in (partial.store / "config").read_text()


def test_a_server_without_filters_gives_all(whole: Desk, upstream: Miniature) -> None:
    assert missing(whole.store, upstream, "main") == set()
    whole.take_from(NOWHERE)
    whole("rebase", "--onto", "v2", "--dry-run")


def test_whole_leaves_nothing_to_fetch(partial: Desk, upstream: Miniature) -> None:
    partial("fetch", "--whole")
    assert missing(partial.store, upstream, "main") == set()


# The same answers


@pytest.mark.parametrize(
    ("command", "fetches"),
    [
        (("rebase", "--onto", "v2", "--json"), 1),
        (("report", "--all", "--format", "json"), 2),
        (("report", "v1", "--against", "main", "--format", "json"), 1),
        (("verify", "v1", "--json"), 1),
        (("export", "v1", "-o", "out.tar.gz", "--json"), 1),
        (("backport", "16", "--onto", "v1", "--json"), 1),
        (("backport", "pull/7", "--onto", "v1", "--json"), 2),
        (("port", "run.patch", "--to", "v2,v3"), 2),
        (("lint", "v1"), 1),
    ],
)
def test_the_same_as_on_a_whole_store(
    whole: Desk, partial: Desk, command: tuple[str, ...], fetches: int
) -> None:
    before = partial.packs()
    answers = []
    for each in (whole, partial):
        done = each.patchq(*command, cwd=each.root)
        words = (done.stdout + done.stderr).replace(str(each.root), "ROOT").splitlines()
        answers.append((done.returncode, [line for line in words if not UNLIKE.search(line)]))
    assert answers[0] == answers[1]
    assert answers[0][0] in (0, 1), answers[0]
    assert files(whole.root) == files(partial.root)
    assert partial.packs() - before <= fetches


def cut(upstream: Miniature, where: str) -> bytes:
    """A patch for v1 that was cut from elsewhere: from older history, a later tag, or bare."""
    if where == "old":
        return upstream.patch("v1~3", {"old.txt": "state 2\nmore\n"}, "Old")
    if where == "later":
        body = module("run", at3="    tuned(state)\n", at5="    five(state)\n")
        return upstream.patch("v3", {"core/run.py": body}, "Later")
    bare = upstream.bare_diff("main", {"core/run.py": module("run", at3="    tuned(state, 3)\n")})
    return bare.replace(b"index ", b"xindex ")


@pytest.mark.parametrize("where", ["old", "later", "bare"])
@pytest.mark.parametrize("command", [("import", "--tag"), ("backport", "--onto")])
def test_foreign_patches_are_placed_the_same(
    whole: Desk, partial: Desk, upstream: Miniature, where: str, command: tuple[str, str]
) -> None:
    name, option = command
    file = partial.root.parent / "foreign.patch"
    file.write_bytes(cut(upstream, where))
    asked = (file,) if name == "import" else ("--file", file)
    before = partial.packs()
    answers = []
    for each in (whole, partial):
        done = each.patchq(name, *asked, option, "v1", "--dry-run", "--json", cwd=each.root)
        words = (done.stdout + done.stderr).splitlines()
        answers.append((done.returncode, [line for line in words if not UNLIKE.search(line)]))
    assert answers[0] == answers[1]
    assert partial.packs() - before <= 3


def test_what_needs_no_files_fetches_none(partial: Desk) -> None:
    partial.take_from(NOWHERE)
    for command in ("list", "status"):
        partial(command)


def test_what_was_brought_once_is_not_asked_for_again(partial: Desk) -> None:
    report = json.loads(partial("report", "v1", "--onto", "v2", "--format", "json"))
    assert {patch["name"]: patch["verdict"] for patch in report["patches"]} == {
        "run.patch": "clean",
        "move.patch": "moved",
        "gone.patch": "unreachable",
        "merged.patch": "upstreamed",
    }
    partial.take_from(NOWHERE)
    partial("rebase", "--onto", "v2")


def test_only_what_is_asked_for_comes(partial: Desk, upstream: Miniature) -> None:
    partial("rebase", "--onto", "v2", "--dry-run")
    lacking = missing(partial.store, upstream, "main", "v3")
    assert upstream.id("v3:lib/idle.py") in lacking
    assert {upstream.id(f"v1~{n}:old.txt") for n in range(2, HISTORY + 1)} <= lacking


def test_without_the_network_it_is_said_what_to_do(partial: Desk, upstream: Miniature) -> None:
    partial.take_from(NOWHERE)
    done = partial.patchq("rebase", "--onto", "v2", cwd=partial.root)
    assert done.returncode == 3
    assert "files of upstream that this needs are not here" in done.stderr
    assert "--upstream PATH" in done.stderr
    assert not (partial.root / "series" / "v2").exists()
    partial("--upstream", upstream.path, "rebase", "--onto", "v2")


def test_an_imported_archive_stands_beside_partial_bases(
    partial: Desk, upstream: Miniature, tmp_path: Path
) -> None:
    tar = tmp_path / "v2.tar"
    upstream.git("archive", "--prefix=x/", f"--output={tar}", "v2")
    partial("import-upstream", tar, "--tag", "a2")
    before = partial.packs()
    partial("report", "v1", "--onto", "a2")
    assert partial.packs() - before == 1
    store = open_store(partial.store, supply=ObjectSource(f"file://{upstream.path}"))
    assert store.objects.read(upstream.id("v3:lib/idle.py")) == upstream.read("v3", "lib/idle.py")
    assert upstream.id("v1~3:old.txt") in missing(partial.store, upstream, "v1")


# Lenders


@pytest.fixture
def lender(tmp_path: Path, upstream: Miniature) -> Path:
    clone = tmp_path / "lender.git"
    upstream.git(
        *("clone", "--quiet", "--bare", "--filter=blob:none"),
        f"file://{upstream.path}",
        str(clone),
    )
    return clone


@pytest.mark.parametrize("from_url", [True, False])
def test_what_a_partial_lender_lacks_comes_into_our_store(
    whole: Desk, partial: Desk, lender: Path, from_url: bool
) -> None:
    if not from_url:
        partial.take_from(str(lender))
    partial.forget()
    before = sorted(lender.rglob("*"))
    done = partial.patchq("--upstream", lender, *REBASE, cwd=partial.root)
    assert "is a partial clone" in done.stderr
    assert done.stdout == whole(*REBASE)
    assert files(partial.root / "series") == files(whole.root / "series")
    assert partial.packs() == 1
    assert sorted(lender.rglob("*")) == before


def test_a_pull_request_beside_a_whole_lender(partial: Desk, upstream: Miniature) -> None:
    partial.forget()
    upstream.git(
        "clone", "--quiet", "--bare", f"file://{upstream.path}", str(partial.root / "full")
    )
    partial("--upstream", "full", "backport", "pull/7", "--onto", "v1", "--main", "v3")
    assert partial.packs() == 2
    assert (
        "refs/upstream/pull/7"
        in upstream.git(f"--git-dir={partial.store}", "for-each-ref").decode()
    )


def test_a_lender_without_trees(partial: Desk, lender: Path, upstream: Miniature) -> None:
    shutil.rmtree(lender)
    upstream.git(
        *("clone", "--quiet", "--bare", "--filter=tree:0"),
        f"file://{upstream.path}",
        str(lender),
    )
    partial.forget()
    partial("--upstream", lender, "rebase", "--onto", "v2")
    assert partial.packs() <= 2


def test_a_partial_lender_of_nobody(partial: Desk, lender: Path) -> None:
    (lender / "config").unlink()
    partial.take_from(str(lender))
    partial.forget()
    done = partial.patchq("rebase", "--onto", "v2", cwd=partial.root)
    assert done.returncode == 3
    assert "a partial clone lends its objects" in done.stderr


# The safety net


@pytest.fixture
def store(partial: Desk, upstream: Miniature) -> Store:
    return open_store(partial.store, supply=ObjectSource(f"file://{upstream.path}"))


def test_an_unforeseen_file_is_answered_by_a_wider_batch(
    store: Store, partial: Desk, upstream: Miniature
) -> None:
    before = partial.packs()
    assert store.objects.read(upstream.id("v2:core/run.py")) == upstream.read("v2", "core/run.py")
    assert partial.packs() == before + 1
    assert store.objects.read(upstream.id("v3:lib/idle.py")) == upstream.read("v3", "lib/idle.py")
    assert partial.packs() == before + 1
    assert store.objects.read(upstream.id("v1~3:old.txt")) == upstream.read("v1~3", "old.txt")
    assert partial.packs() == before + 2
    assert missing(partial.store, upstream, "v3") == set()


def test_a_search_never_passes_over_what_is_missing(
    store: Store, partial: Desk, upstream: Miniature
) -> None:
    before = partial.packs()
    found, _ = count_texts(store.git, upstream.tree_id("v1"), [b"idle_step_7(state, 7)"])
    assert list(found) == [(b"idle_step_7(state, 7)", "lib/idle.py")]
    assert partial.packs() == before + 1


def test_an_object_of_nowhere_stays_an_error(store: Store, partial: Desk) -> None:
    before = partial.packs()
    with pytest.raises(UpstreamError, match="missing"):
        store.objects.read(ObjectId("1" * 40))
    with pytest.raises(UpstreamError, match="1" * 40):
        store.git.run("diff-tree", "-p", "1" * 40, "2" * 40)
    assert partial.packs() == before


def test_what_git_would_pass_over(store: Store, partial: Desk, upstream: Miniature) -> None:
    before = partial.packs()
    wanted = [upstream.id("v1~3:old.txt"), upstream.id("v2:core/run.py")]
    store.objects.verify(wanted)
    assert all(map(store.objects.has, wanted))
    assert partial.packs() - before <= 2


def test_files_are_found_by_the_beginning_of_their_ids(
    store: Store, partial: Desk, upstream: Miniature
) -> None:
    wanted = upstream.id("v1~3:old.txt")
    assert store.gaps is not None
    before = missing(partial.store, upstream, "main")
    store.gaps.close_named([wanted[:10], "", "0123456789"])
    assert before - missing(partial.store, upstream, "main") == {wanted}


def test_a_known_answer_does_not_outlive_its_objects(
    tmp_path: Path, partial: Desk, lender: Path, upstream: Miniature
) -> None:
    partial.forget()
    full = tmp_path / "full.git"
    upstream.git("clone", "--quiet", "--bare", f"file://{upstream.path}", str(full))
    pack = next((full / "objects" / "pack").glob("*.pack"))
    pack.with_suffix(".promisor").touch()
    partial("--upstream", full, "rebase", "--onto", "v2", "--dry-run")
    assert list((partial.store / "whole").rglob("*.json"))
    shutil.rmtree(full)
    assert find_lender(lender).promisor == f"file://{upstream.path}"
    partial("--upstream", lender, "rebase", "--onto", "v2", "--dry-run")
    assert partial.packs() == 1
