"""The git layer on miniature repositories: objects, merges, history, renames, strict apply."""

from __future__ import annotations

import os
import signal
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from miniature import Edits, MakeMiniature, Miniature, executable, symlink

from patchq.engine.backport.vocabulary import Vocabulary
from patchq.errors import UnavailableError, UpstreamError
from patchq.git.apply import Applied, Refused
from patchq.git.branch import write_repository
from patchq.git.history import History, Touch, narrow
from patchq.git.lender import find_lender
from patchq.git.mail import MailedChange
from patchq.git.merge import MergeQuestion
from patchq.git.newobjects import NewObjects
from patchq.git.objects import EMPTY_TREE, Entry, encode_path
from patchq.git.process import Git, Result
from patchq.git.raw_objects import DamagedObjectError, MissingObjectError, object_id
from patchq.git.renames import AddedPlace, RenameMap
from patchq.git.search import (
    blobs_with_words,
    count_texts,
    files_with_words,
    known_words,
    lines_with_words,
)
from patchq.git.store import Store, open_store
from patchq.git.tarball import Snapshot, write_tar
from patchq.git.worktree import Worktree, WorktreeLayout
from patchq.model.ids import ObjectId, TreeId

TEN = "".join(f"line number {number}\n" for number in range(10))


def ten(*changes: tuple[int, str]) -> str:
    """Ten lines, some of them others."""
    lines = TEN.splitlines(keepends=True)
    for number, line in changes:
        lines[number] = f"{line}\n"
    return "".join(lines)


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """A repository to ask about."""
    made = miniature()
    made.commit(
        "Start",
        {
            "README": "read\n",
            "a/b/deep.py": TEN,
            "a/b/run.sh": executable("#!/bin/sh\n"),
            "a/link": symlink("b/deep.py"),
            "a-b": "sorts between a and a/\n",
            "ä/ü ö.txt": "umlauts\n",
        },
    )
    made.tag("v1")
    return made


@pytest.fixture
def store(upstream: Miniature, tmp_path: Path) -> Store:
    return open_store(tmp_path / "store.git", find_lender(upstream.path))


def tree(upstream: Miniature, at: str = "main") -> TreeId:
    return upstream.tree_id(at)


def as_git_has_it(upstream: Miniature, edits: dict[str, str | None]) -> TreeId:
    """The tree that git itself makes of v1 with edits."""
    return upstream.tree_id(upstream.detached("v1", "Edit", edits))


# Objects


def test_an_entry_by_its_path(upstream: Miniature, store: Store) -> None:
    root, objects = tree(upstream), store.objects
    assert objects.entry(root, "a/b/deep.py") == Entry("100644", upstream.id("main:a/b/deep.py"))
    assert objects.entry(root, "a/b/run.sh") == Entry("100755", upstream.id("main:a/b/run.sh"))
    assert objects.entry(root, "ä/ü ö.txt") is not None
    directory = objects.entry(root, "a/b")
    assert directory is not None
    assert directory.is_tree
    assert objects.file(root, "a/b") is None
    for absent in ("a/c", "nowhere/at/all", "README/below", "a/link/deep.py"):
        assert objects.entry(root, absent) is None


def test_what_stands_in_the_way_of_a_path(upstream: Miniature, store: Store) -> None:
    root = tree(upstream)
    assert store.objects.blocker(root, "README/below/it") == "README"
    assert store.objects.blocker(root, "a/link/deep.py") == "a/link"
    assert store.objects.blocker(root, "README/below/it", {"README"}) is None
    assert store.objects.blocker(root, "a/b") == "a/b/deep.py"
    assert store.objects.blocker(root, "a/b", {"a/b/deep.py", "a/b/run.sh"}) is None
    for free in ("README", "a/b/new.py", "new/new/new", "a/link"):
        assert store.objects.blocker(root, free) is None


@pytest.mark.parametrize(
    "edits",
    [
        {"a/b/deep.py": "new\n"},
        {"a/b/new.py": "new\n", "new/er/est": "new\n"},
        {"a/b/deep.py": None},
        {"a/b/deep.py": None, "a/b/run.sh": None},
        {"a/b/deep.py": None, "a/b/run.sh": None, "a/link": None, "a/new": "new\n"},
        {"ä/ü ö.txt": None, "ä/é": "é\n"},
        {"a.py": "1\n", "a0": "2\n", "a/b.py": "3\n", "a/b0": "4\n"},
        {"README": None, "README/me": "now a directory\n"},
    ],
    ids=[
        "replaced",
        "added",
        "removed",
        "directory emptied",
        "partly emptied",
        "not ascii",
        "order",
        "file to directory",
    ],
)
def test_overlay_makes_the_tree_git_makes(
    upstream: Miniature, store: Store, edits: dict[str, str | None]
) -> None:
    changes = {
        path: None if text is None else Entry("100644", store.objects.write_blob(text.encode()))
        for path, text in edits.items()
    }
    assert store.objects.overlay(tree(upstream), changes) == as_git_has_it(upstream, edits)


def test_an_overlay_of_nothing_is_the_same_tree(upstream: Miniature, store: Store) -> None:
    root, objects = tree(upstream), store.objects
    assert objects.overlay(root, {}) == root
    assert objects.overlay(root, {"not/there": None, "README/not": None}) == root
    assert objects.overlay(root, dict.fromkeys(upstream.paths("main"))) == EMPTY_TREE


@pytest.mark.parametrize("through", ["README/x", "a/link/x"])
def test_an_overlay_goes_through_no_file(upstream: Miniature, store: Store, through: str) -> None:
    with pytest.raises(UpstreamError, match="cannot go through"):
        store.objects.overlay(tree(upstream), {through: Entry("100644", ObjectId("0" * 40))})


def test_a_walk_sees_every_file(upstream: Miniature, store: Store) -> None:
    seen = sorted(path for path, _ in store.objects.walk(tree(upstream)))
    assert seen == sorted(upstream.paths("main"))


def test_a_missing_object_is_named(store: Store) -> None:
    assert not store.objects.has(ObjectId("1" * 40))
    with pytest.raises(MissingObjectError, match="1111"):
        store.objects.read(ObjectId("1" * 40))


def test_questions_leave_nothing_in_store_or_lender(upstream: Miniature, store: Store) -> None:
    places = (store.directory / "objects", upstream.path / "objects")
    before = [sorted(place.rglob("*")) for place in places]
    readme = Entry("100644", store.objects.write_blob(b"for now\n"))
    changed = store.objects.overlay(tree(upstream), {"README": readme})
    store.merger.merge(tree(upstream), changed, merge_tree(store, README="otherwise\n"))
    assert store.objects.content(changed, "README") == b"for now\n"
    assert [sorted(place.rglob("*")) for place in places] == before


def test_a_reader_that_was_killed_is_no_closed_output(upstream: Miniature, store: Store) -> None:
    store.objects.read(upstream.id("main:README"))
    reader = store.objects._reader._process
    assert reader is not None
    reader.kill()
    reader.wait()
    with pytest.raises(UpstreamError, match="cat-file: ended by signal"):
        store.objects.read(upstream.commit_id("main"))


# Merging


def merge_tree(store: Store, **files: str) -> TreeId:
    """A tree of ``name="content"`` files."""
    blobs = {
        name: Entry("100644", store.objects.write_blob(text.encode()))
        for name, text in files.items()
    }
    return store.objects.tree_of(blobs)


def test_a_clean_merge(store: Store) -> None:
    merged = store.merger.merge(
        merge_tree(store, f=TEN),
        merge_tree(store, f=ten((0, "ours"))),
        merge_tree(store, f=ten((9, "theirs"))),
    )
    assert merged.clean
    assert merged.conflicts == ()
    assert merged.tree == merge_tree(store, f=ten((0, "ours"), (9, "theirs")))


def test_a_conflict_with_its_stages(store: Store) -> None:
    sides = [ten(), ten((5, "ours")), ten((5, "theirs"))]
    merged = store.merger.merge(*(merge_tree(store, f=text, g="same\n") for text in sides))
    assert not merged.clean
    assert merged.conflicted_paths == ("f",)
    stages = [stage for _, stage in merged.conflicts]
    assert [stage.number for stage in stages] == [1, 2, 3]
    assert [store.objects.read(stage.oid).decode() for stage in stages] == sides
    marked = store.objects.content(merged.tree, "f")
    assert marked is not None
    assert b"<<<<<<< " in marked


def test_a_file_deleted_on_one_side_and_edited_on_the_other(store: Store) -> None:
    merged = store.merger.merge(
        merge_tree(store, f=TEN, g=""), merge_tree(store, g=""), merge_tree(store, f="new\n", g="")
    )
    assert not merged.clean
    assert [stage.number for _, stage in merged.conflicts] == [1, 3]


def test_many_questions_in_one_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    base = merge_tree(store, f=TEN)
    questions = [
        MergeQuestion(base, merge_tree(store, f=ten((0, "x"))), merge_tree(store, f=ten((n, "y"))))
        for n in range(10)
    ]
    trivial = MergeQuestion(base, base, merge_tree(store, f="all new\n"))
    started: list[str] = []
    run = store.git.run

    def counted(*args: str, stdin: bytes = b"") -> Result:
        started.append(args[0])
        return run(*args, stdin=stdin)

    monkeypatch.setattr(store.git, "run", counted)
    answers = store.merger.merge_all([*questions, trivial, questions[3]])
    assert [answer.clean for answer in answers] == [False, False, *[True] * 10]
    assert answers[3] == answers[-1]
    assert answers[10].tree == trivial.theirs
    assert answers[9].tree == merge_tree(store, f=ten((0, "x"), (9, "y")))
    assert store.merger.merge_all(questions) == answers[:10]
    assert started == ["merge-tree"]


def test_an_odd_path_in_a_conflict(store: Store) -> None:
    name = 'new\nline "quoted" ü'
    sides = (ten(), ten((5, "ours")), ten((5, "theirs")))
    merged = store.merger.merge(*(merge_tree(store, **{name: text}) for text in sides))
    assert merged.conflicted_paths == (name,)


# History


def test_commits_that_touch_a_path_through_its_renames(upstream: Miniature, store: Store) -> None:
    start = upstream.commit_id("main")
    first = upstream.commit("Edit", {"a/b/deep.py": ten((1, "x"))})
    second = upstream.move("a/b/deep.py", "a/deeper.py", "Move")
    third = upstream.commit("Edit there", {"a/deeper.py": ten((1, "x"), (2, "y"))})
    fourth = upstream.move("a/deeper.py", "deepest.py", "Move on")
    upstream.commit("Elsewhere", {"README": "more\n"})
    fifth = upstream.commit("Edit at last", {"deepest.py": ten((1, "z"))})
    history = History(store.git)
    for asked in (["a/b/deep.py"], ["deepest.py"], ["a/b/deep.py", "deepest.py"]):
        found = history.touching(start, upstream.commit_id("main"), asked)
        assert [commit.oid for commit in found] == [first, second, third, fourth, fifth]
    assert found[1].touches == (Touch("R", "a/b/deep.py", "a/deeper.py"),)
    assert found[0].touches == (Touch("M", "a/b/deep.py", "a/b/deep.py"),)
    assert found[0].tree == tree(upstream, first)
    assert found[0].subject == "Edit"
    assert found[0].parents == (start,)


def test_a_deletion_and_an_addition(upstream: Miniature, store: Store) -> None:
    start = upstream.commit_id("main")
    upstream.commit("Delete", {"README": None})
    upstream.commit("Add", {"README": "quite another thing\n"})
    found = History(store.git).touching(start, upstream.commit_id("main"), ["README"])
    assert [touch.status for commit in found for touch in commit.touches] == ["D", "A"]


def test_a_path_of_glob_characters_means_itself(upstream: Miniature, store: Store) -> None:
    start = upstream.commit_id("main")
    starred = upstream.commit("Star", {"*.py": "x\n", ":(top)odd": "y\n"})
    upstream.commit("Other", {"other.py": "x\n"})
    history = History(store.git)
    for path in ("*.py", ":(top)odd"):
        found = history.touching(start, upstream.commit_id("main"), [path])
        assert [commit.oid for commit in found] == [starred]


def test_commits_of_a_merged_branch_count_and_the_merge_does_not(
    upstream: Miniature, store: Store
) -> None:
    start = upstream.commit_id("main")
    upstream.branch("topic")
    edited = upstream.commit("On the branch", {"README": "branch\n"}, branch="topic")
    upstream.commit("On main", {"a-b": "main\n"})
    upstream.commit("Merge topic", {"README": "branch\n"}, merges=["topic"])
    found = History(store.git).touching(start, upstream.commit_id("main"), ["README"])
    assert [commit.oid for commit in found] == [edited]


def test_ancestors(upstream: Miniature, store: Store) -> None:
    start, later = upstream.commit_id("main"), upstream.commit("More", {"README": "more\n"})
    history = History(store.git)
    assert history.contains(start, later)
    assert history.contains(later, later)
    assert not history.contains(later, start)
    assert [commit.oid for commit in history.subjects(start, later)] == [later]


# Renames


def renames(upstream: Miniature, store: Store, cache: Path) -> RenameMap:
    return RenameMap(store.git, store.objects, tree(upstream, "v1"), tree(upstream), cache)


def test_a_file_never_takes_the_place_of_a_directory(upstream: Miniature, store: Store) -> None:
    root, objects = tree(upstream), store.objects
    file = Entry("100644", objects.write_blob(b"file\n"))
    for changes in ({"a": file}, {"a/b": file}, {"a/b": file, "a/b/run.sh": None}):
        with pytest.raises(UpstreamError, match="place of a directory"):
            objects.overlay(root, changes)
    gone = dict.fromkeys(("a/b/deep.py", "a/b/run.sh"))
    replaced = objects.overlay(root, {"a/b": file, **gone})
    assert set(objects.differing(root, replaced)) == {"a/b", *gone}
    assert replaced == as_git_has_it(upstream, {**gone, "a/b": "file\n"})
    assert objects.overlay(root, {"a": None}) == root


def test_what_differs_between_two_trees(upstream: Miniature, store: Store) -> None:
    root, objects = tree(upstream), store.objects
    file = Entry("100644", objects.write_blob(b"file\n"))
    changed = objects.overlay(root, {"a/b/deep.py": file, "new/x": file, "README": None})
    assert set(objects.differing(root, changed)) == {"a/b/deep.py", "new/x", "README"}
    assert not list(objects.differing(root, root))


def test_a_patch_that_adds_a_file_over_a_directory_is_refused(
    upstream: Miniature, store: Store
) -> None:
    patch = upstream.patch("v1", {"new": "a file\n"}).replace(b"/new", b"/a")
    result = store.applier.apply(tree(upstream), patch, ["a"])
    assert isinstance(result, Refused)
    assert "a" in result.reason


def spoil(upstream: Miniature, revision: str, content: bytes) -> ObjectId:
    """Put other content under the id of a blob of ``upstream``, loose; returns the id."""
    oid = upstream.id(revision)
    file = upstream.path / "objects" / oid[:2] / oid[2:]
    file.chmod(0o644)
    file.write_bytes(zlib.compress(b"blob %d\0" % len(content) + content))
    return oid


def test_content_that_is_not_what_its_id_says_is_never_used(
    upstream: Miniature, store: Store, tmp_path: Path
) -> None:
    patch = upstream.patch("v1", {"a/b/deep.py": ten((3, "mine"))})
    other = upstream.detached("v1", "Other", {"a/b/deep.py": ten((8, "theirs"))})
    oid = spoil(upstream, "v1:a/b/deep.py", b"x" + TEN.encode())
    root = tree(upstream, "v1")
    less = store.objects.overlay(root, {"README": None})
    layout = WorktreeLayout(upstream.commit_id("v1"), upstream.commit_id("v1"), root, ("a",), {})
    uses: list[Callable[[], object]] = [
        lambda: store.objects.read(oid),
        lambda: store.objects.content(root, "a/b/deep.py"),
        lambda: store.applier.apply(root, patch, ["a/b/deep.py"]),
        lambda: store.merger.merge(root, tree(upstream, other), less),
        lambda: write_tar(store, Snapshot(root, "v1", "2026-01-01T00:00:00Z", "p"), tmp_path / "t"),
        lambda: write_repository(
            store,
            upstream.commit_id("v1"),
            upstream.commit_id("v1"),
            "b",
            "v1",
            tmp_path / "repository",
        ),
        lambda: Worktree(store, tmp_path / "worktree").lay_out(layout),
    ]
    for use in uses:
        with pytest.raises(DamagedObjectError, match=oid):
            use()


def test_a_killed_reader_is_not_an_object_that_is_missing(
    upstream: Miniature, store: Store
) -> None:
    missing = ObjectId("1" * 40)
    blob = ObjectId(upstream.id("v1:README"))
    assert not store.objects.has(missing)
    assert store.objects.has(blob)
    with pytest.raises(MissingObjectError):
        store.objects.read(missing)
    end_children("cat-file")
    for ask in (store.objects.read, store.objects.has):
        with pytest.raises(UnavailableError, match="cat-file: ended by signal"):
            ask(blob)


def end_children(command: str) -> None:
    """Kill those processes that we started with this word among their arguments."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    found = [
        int(child)
        for child in children
        if command in Path(f"/proc/{child}/cmdline").read_text().split("\0")
    ]
    assert found
    for child in found:
        os.kill(child, signal.SIGKILL)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)


def test_many_files_are_verified_by_one_process(upstream: Miniature, store: Store) -> None:
    names = [f"many/{number}" for number in range(200)]
    blobs = [
        upstream.git("hash-object", "-w", "--stdin", stdin=name.encode()).decode().strip()
        for name in names
    ]
    entries = [Entry("100644", ObjectId(blob)) for blob in blobs]
    root = store.objects.tree_of(dict(zip(names, entries, strict=True)))
    spoil(upstream, blobs[150], b"other\n")
    with pytest.raises(DamagedObjectError, match=blobs[150]):
        store.objects.verify_files(root)


def test_where_a_file_went(upstream: Miniature, store: Store, tmp_path: Path) -> None:
    upstream.move("a/b/deep.py", "c/deep.py", "Move")
    upstream.commit("Delete", {"ä/ü ö.txt": None})
    moves = renames(upstream, store, tmp_path)
    assert moves.file("a/b/deep.py") == "c/deep.py"
    assert moves.file("README") == "README"
    assert moves.file("ä/ü ö.txt") is None


def test_what_was_found_is_kept(upstream: Miniature, store: Store, tmp_path: Path) -> None:
    upstream.move("ä", "a/ö", "Move")
    first = renames(upstream, store, tmp_path).renames
    (cache,) = tmp_path.rglob("*.json")
    again = RenameMap(store.git, store.objects, tree(upstream, "v1"), tree(upstream), tmp_path)
    assert again.renames == first == {"ä/ü ö.txt": "a/ö/ü ö.txt"}
    cache.write_text(cache.read_text()[:7])
    cut_off = RenameMap(store.git, store.objects, tree(upstream, "v1"), tree(upstream), tmp_path)
    assert cut_off.renames == first


def split(upstream: Miniature, **places: str) -> None:
    """Files ``src/<name>`` at v1, each at its place now."""
    files = {name: ten((0, f"this is {name}")) for name in places}
    upstream.commit("Make", {f"src/{name}": text for name, text in files.items()})
    upstream.tag("v1")
    moved: dict[str, str | None] = dict.fromkeys(f"src/{name}" for name in files)
    upstream.commit("Split", {**moved, **{places[name]: text for name, text in files.items()}})


def test_an_added_file_follows_its_directory(
    upstream: Miniature, store: Store, tmp_path: Path
) -> None:
    split(upstream, one="lib/one", two="lib/two", three="lib/three")
    moves = renames(upstream, store, tmp_path)
    assert moves.added("src/new").path == "lib/new"
    assert moves.added("src/deep/er/new").path == "lib/deep/er/new"
    assert moves.added("other/new").path == "other/new"
    assert moves.added("new").path == "new"


def test_an_added_file_goes_where_most_went(
    upstream: Miniature, store: Store, tmp_path: Path
) -> None:
    split(upstream, one="lib/one", two="lib/two", three="misc/three")
    assert renames(upstream, store, tmp_path).added("src/new").path == "lib/new"


def test_an_even_split_names_the_others(upstream: Miniature, store: Store, tmp_path: Path) -> None:
    split(upstream, one="lib/one", two="misc/two")
    found = renames(upstream, store, tmp_path).added("src/new")
    assert found == AddedPlace("lib/new", ("misc",))


def test_a_directory_of_which_something_is_left_did_not_move(
    upstream: Miniature, store: Store, tmp_path: Path
) -> None:
    split(upstream, one="lib/one", two="lib/two", three="src/three")
    assert renames(upstream, store, tmp_path).added("src/new").path == "src/new"


def test_a_directory_inside_a_moved_one(upstream: Miniature, store: Store, tmp_path: Path) -> None:
    upstream.commit("Make", {"src/sub/x": ten((0, "x")), "src/y": ten((0, "y"))})
    upstream.tag("v1")
    upstream.move("src", "lib/core", "Move")
    moves = renames(upstream, store, tmp_path)
    assert moves.added("src/sub/new").path == "lib/core/sub/new"
    assert moves.added("src/new").path == "lib/core/new"


def test_commits_for_many_paths_serve_for_each_of_them(upstream: Miniature, store: Store) -> None:
    start = upstream.commit_id("main")
    upstream.commit("Edit one", {"README": "read on\n"})
    upstream.commit("Edit both", {"README": "read\n", "a/b/deep.py": ten((0, "zero"))})
    upstream.move("a/b", "c", "Move")
    upstream.commit("Edit it there", {"c/deep.py": ten((0, "zero"), (9, "nine"))})
    upstream.commit("Another", {"other": "text\n"})
    history, end = History(store.git), upstream.commit_id("main")
    every = history.touching(start, end, ["README", "a/b/deep.py", "a/b/run.sh", "other"])
    for paths in (["README"], ["a/b/deep.py"], ["c/deep.py"], ["README", "a/b/run.sh"], ["none"]):
        assert narrow(every, paths) == history.touching(start, end, paths)
    assert len(narrow(every, ["a/b/deep.py"])) == 3


def test_a_walk_answers_for_each_path_and_each_tip_in_it(upstream: Miniature, store: Store) -> None:
    start = upstream.commit_id("main")
    first = upstream.commit("Edit one", {"README": "read on\n"})
    upstream.branch("topic")
    beside = upstream.commit("Beside", {"README": "read that\n"}, branch="topic")
    upstream.move("a/b", "c", "Move")
    middle = upstream.commit("Edit it there", {"c/deep.py": ten((0, "zero"))})
    merge = upstream.commit("Merge topic", {"README": "read that\n"}, merges=["topic"])
    end = upstream.commit("Edit both", {"README": "read\n", "c/deep.py": ten((9, "nine"))})
    apart = upstream.commit("Elsewhere", {"README": "no\n"}, branch="topic")
    history = History(store.git)
    for tip in (first, beside, middle, merge, end, apart, start):
        walk = history.walk(start, tip, end)
        for path in ("README", "a/b/deep.py", "c/deep.py", "none"):
            assert walk.touching([path]) == History(store.git).touching(start, tip, [path])
    assert history.walk(start, end, end).order.keys() == {first, beside, middle, merge, end} | {
        commit.oid for commit in history.touching(start, end, ["a/b/deep.py"])
    }


def test_what_commits_did_to_some_files(upstream: Miniature, store: Store) -> None:
    one = upstream.commit("Edit", {"README": "read on\n", "a/b/deep.py": ten((1, "x"))})
    two = upstream.move("a/b/deep.py", "deeper.py", "Move")
    three = upstream.commit("Edit there", {"deeper.py": ten((1, "x"), (2, "y"))})
    history, names = History(store.git), ["a/b/deep.py", "deeper.py"]
    found = history.edits([three, two, one], names)
    assert [edits.oid for edits in found] == [three, two, one]
    assert [[(c.old, c.new) for c in edits.files] for edits in found] == [
        [("deeper.py", "deeper.py")],
        [("a/b/deep.py", "deeper.py")],
        [("a/b/deep.py", "a/b/deep.py")],
    ]
    assert found[0].files[0].hunks[0].added == (b"y\n",)
    assert history.edits([], names) == ()


# Searching


def test_lines_are_counted_whole(upstream: Miniature, store: Store) -> None:
    upstream.commit("Say it", {"x": "  say it twice\nsay it twice\nwe say it twice\n"})
    found, _ = count_texts(store.git, tree(upstream), [b"say it twice", b"never said"])
    assert found == {(b"say it twice", "x"): 2}


def test_lines_are_taken_literally(upstream: Miniature, store: Store) -> None:
    lines = [r"if (a|b)* == [0-9]{2}: # \1", "^start.of$ +1?", "plain words"]
    others = ["if a == 0", "xstart of +1", "start.of +1"]
    upstream.commit("Say it", {"x": "\n".join([*lines, *others, ""])})
    found, _ = count_texts(store.git, tree(upstream), [line.encode() for line in lines])
    assert found == {(line.encode(), "x"): 1 for line in lines}


def test_words_are_found_whole_beside_longer_ones(upstream: Miniature, store: Store) -> None:
    text = "cache caches a.cache\nfile.list of files\nfile.lists\n"
    upstream.commit("Say it", {"x": text, "d[1]/y": "cache\n", "d[1]/e/z": "cache\n"})
    words = ["cache", "file", "file.list", "cach"]
    found = files_with_words(store.git, tree(upstream), words)
    assert found == {
        "cache": {"x", "d[1]/y", "d[1]/e/z"},
        "file": {"x"},
        "file.list": {"x"},
    }
    assert files_with_words(store.git, tree(upstream), words, ["d[1]"]) == {"cache": {"d[1]/y"}}
    assert known_words(store.git, tree(upstream), words, [".txt"]) == frozenset()


def test_a_vocabulary_knows_what_git_finds(
    upstream: Miniature, store: Store, tmp_path: Path
) -> None:
    home = tree(upstream, upstream.commit("Begin", {"x.c": "int count;\n", "y.py": "only_here\n"}))
    new = {"x.c": "int count, counted; /* naïve */\n", "z/x.c": "counted\n", "n.c": "\0nul"}
    later = tree(upstream, upstream.commit("Go on", new))
    words = {"count", "counted", "only_here", "nowhere", "nul", "na"}
    for _ in range(2):  # found, and then kept
        vocabulary = Vocabulary(store, tmp_path, home, (".c", ".h"))
        left = vocabulary.unknown(words, home)
        assert left == words - known_words(store.git, home, words, [".c", ".h"])
        assert vocabulary.unknown(words, later) == {"only_here", "nowhere", "nul"}
        expected = lines_with_words(store.git, later, left, [".c", ".h"])
        assert tuple(vocabulary.lines(later, left)) == expected != ()
    assert vocabulary.unknown({"naïve", "never"}, later) == {"never"}
    assert list(vocabulary.lines(later, {"naïve"})) == [("x.c", new["x.c"].strip().encode())]


# Applying


def test_apply_moves_by_offset_but_never_by_fuzz(upstream: Miniature, store: Store) -> None:
    patch = upstream.bare_diff("v1", {"a/b/deep.py": ten((5, "five"))})
    upstream.commit("Shift", {"a/b/deep.py": "# more\n" * 5 + TEN})
    shifted = store.applier.apply(tree(upstream), patch, ["a/b/deep.py"])
    assert isinstance(shifted, Applied)
    expected = ("# more\n" * 5 + ten((5, "five"))).encode()
    assert store.objects.content(shifted.tree, "a/b/deep.py") == expected
    upstream.commit("Change context", {"a/b/deep.py": ten((3, "three"))})
    refused = store.applier.apply(tree(upstream), patch, ["a/b/deep.py"])
    assert isinstance(refused, Refused)
    assert "a/b/deep.py" in refused.reason


def test_apply_changes_its_paths_and_no_other(upstream: Miniature, store: Store) -> None:
    patch = upstream.bare_diff("v1", {"a/b/run.sh": executable("#!/bin/bash\n"), "new/x": "x\n"})
    applied = store.applier.apply(tree(upstream), patch, ["a/b/run.sh", "new/x"])
    assert isinstance(applied, Applied)
    assert applied.paths == ("a/b/run.sh", "new/x")
    assert applied.before["new/x"] is None
    after = applied.after["a/b/run.sh"]
    assert after is not None
    assert after.mode == "100755"
    changed = store.git.text("diff-tree", "-r", "--name-only", tree(upstream), applied.tree)
    assert changed.split() == ["a/b/run.sh", "new/x"]


def added(path: str, content: str = "planted\n", mode: str = "100644") -> bytes:
    """A diff that adds a file, whatever its path."""
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1 @@\n+{content}"
    ).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    "path",
    [
        "../escape",
        "a/../../escape",
        "/tmp/escape",
        ".git/hooks/post-checkout",
        "a/.git/config",
        ".GIT/config",
        "a/link/escape",
        "README/below",
    ],
)
def test_apply_writes_nowhere_else(upstream: Miniature, store: Store, path: str) -> None:
    refused = store.applier.apply(tree(upstream), added(path), [path])
    assert isinstance(refused, Refused)


@pytest.mark.parametrize("path", ["a:b", "C:/x", ".g\u200cit/config", "caf\udce9", "a\\..\\b"])
def test_apply_takes_each_path_that_git_takes(upstream: Miniature, store: Store, path: str) -> None:
    diff = added(path)
    applied = store.applier.apply(tree(upstream), diff, [path])
    assert isinstance(applied, Applied)
    changed = diff.replace(b"new file mode 100644\n--- /dev/null", b"--- a/" + encode_path(path))
    changed = changed.replace(b"@@ -0,0 +1 @@\n+planted", b"@@ -1 +1 @@\n-planted\n+grown")
    grown = store.applier.apply(applied.tree, changed, [path])
    assert isinstance(grown, Applied)
    assert store.objects.content(grown.tree, path) == b"grown\n"


@pytest.mark.parametrize("path", [".git /x", "git~1/x"])
def test_apply_refuses_what_git_refuses_in_a_tree(store: Store, path: str) -> None:
    """As a tree made by hand may hold it."""
    blob = store.objects.write_blob(b"planted\n")
    hostile = store.objects.tree_of({path: Entry("100644", blob)})
    diff = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-planted\n+grown\n".encode()
    refused = store.applier.apply(hostile, diff, [path])
    assert isinstance(refused, Refused)
    assert path in refused.reason


def test_apply_asks_git_once_about_plain_paths(
    upstream: Miniature, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    run = Git.run

    def counted(self: Git, *args: str, **options: Any) -> Result:
        ran.append(args[0])
        return run(self, *args, **options)

    monkeypatch.setattr(Git, "run", counted)
    store.applier.apply(tree(upstream), added("new/x"), ["new/x"])
    assert [name for name in ran if name != "rev-parse"] == ["apply"]


def test_apply_goes_through_no_symlink_of_an_earlier_patch(
    upstream: Miniature, store: Store
) -> None:
    root = tree(upstream)
    link = added("door", "/etc\n\\ No newline at end of file\n", mode="120000")
    planted = store.applier.apply(root, link, ["door"])
    assert isinstance(planted, Applied)
    assert store.objects.content(planted.tree, "door") == b"/etc"
    refused = store.applier.apply(planted.tree, added("door/passwd"), ["door/passwd"])
    assert isinstance(refused, Refused)


def test_a_refusal_is_all_or_nothing(upstream: Miniature, store: Store) -> None:
    good = upstream.bare_diff("v1", {"README": "fine\n"})
    bad = upstream.bare_diff("v1", {"a/b/deep.py": ten((5, "five"))})
    bad = bad.replace(b" line number 4", b" line number 44")
    refused = store.applier.apply(tree(upstream), good + bad, ["README", "a/b/deep.py"])
    assert isinstance(refused, Refused)


# Words


def test_words_are_found_in_process_as_git_finds_them(store: Store) -> None:
    words = ["tile", "tile_bytes", "bytes", "a-b", "x.y", "ché_e", "absent"]
    texts = [
        b"tile tile_bytes2 x-bytes\n",
        b"untile; (tile_bytes)\nx.y xzy\n",
        "a-b, ché_e\n".encode(),
        b"tile\0tile_bytes\n",
        b"\xff bytes\xff tile\r\nza-b\n",
        b"",
    ]
    files = {
        f"{number}.h": Entry("100644", store.objects.write("blob", text))
        for number, text in enumerate(texts)
    }
    tree = store.objects.tree_of(files)
    blobs = {entry.blob_id: path for path, entry in files.items()}
    by_git = files_with_words(store.git, tree, words)
    found = blobs_with_words(store.git, store.objects, list(blobs), words)
    assert {word: {blobs[oid] for oid in oids} for word, oids in found.items()} == by_git
    assert by_git["tile"] == {"0.h", "4.h"}


def test_git_reads_the_packs_that_are_written_here(miniature: MakeMiniature) -> None:
    repository = miniature()
    sizes = (0, 1, 15, 16, 17, 2047, 2048, 300_000)
    objects = {("blob", b"%d" % size + b"x" * size) for size in sizes}
    objects |= {("tree", b""), ("blob", b""), ("blob", os.urandom(70_000))}
    commit = (
        b"tree %s\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\none\n" % EMPTY_TREE.encode()
    )
    objects.add(("commit", commit))
    new = NewObjects(repository.path / "objects", Git(repository.path))
    oids = {object_id(kind.encode(), content): (kind, content) for kind, content in objects}
    for oid, (kind, content) in oids.items():
        new.add(oid, kind, content)
    new.flush()
    (pack,) = (repository.path / "objects/pack").glob("*.pack")
    repository.git("verify-pack", "--verbose", str(pack))
    for oid, (kind, content) in oids.items():
        assert repository.git("cat-file", kind, oid) == content


def test_many_packs_have_one_index(miniature: MakeMiniature) -> None:
    repository = miniature()
    new = NewObjects(repository.path / "objects", Git(repository.path))
    oids = []
    for number in range(40):
        for part in range(6):
            content = b"%d of %d" % (part, number)
            oids.append(object_id(b"blob", content))
            new.add(oids[-1], "blob", content)
        new.flush()
    packs = repository.path / "objects/pack"
    assert (packs / "multi-pack-index").exists()
    repository.git("multi-pack-index", "verify")
    listed = "".join(f"{oid}\n" for oid in oids).encode()
    found = repository.git("cat-file", "--batch-check=%(objecttype)", stdin=listed).split()
    assert found == [b"blob"] * 240


def test_mails_of_many_changes_are_those_of_each(store: Store, upstream: Miniature) -> None:
    """By one process, in the order asked for; two that are the same are one commit of git's."""
    tree, objects = upstream.tree_id("v1"), store.objects
    changes = []
    for number in (3, 1, 2, 1):
        entry = Entry("100644", objects.write_blob(ten((number, "changed")).encode()))
        after = objects.overlay(tree, {"a/b/deep.py": entry})
        body = "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001"
        changes.append(MailedChange(tree, after, f"{number}\n\n{body}\n", "A <a@b>", "0 +0000"))
    each = [
        store.mailer.mail(c.old, c.new, message=c.message, author=c.author, date=c.date)
        for c in changes
    ]
    assert store.mailer.mails(changes) == each
    assert store.mailer.mails(changes[:1]) == each[:1]
    assert each[1] == each[3] != each[2]


def test_what_a_range_adds_is_the_same_in_parts_of_any_size(
    upstream: Miniature, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.move("a/b/deep.py", "c/deep.py", "Move")
    lines: Edits = {"README": "read\ndiff --git a/x b/x\n", "ä/ü ö.txt": "Umlaute", "bin": b"\0\1"}
    upstream.commit("Edit", {**lines, "c/deep.py": ten((2, "two"), (8, "eight"))})
    old, new = tree(upstream, "v1"), tree(upstream)
    whole = store.history.added_text(old, new)
    assert whole["README"] == b"diff --git a/x b/x\n"
    assert whole["c/deep.py"] == b"two\neight\n"
    monkeypatch.setattr("patchq.git.history._PART", 1)
    assert store.history.added_text(old, new) == whole
