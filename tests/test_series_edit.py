"""``patchq drop``, ``rename``, ``move``, ``fold``, ``split``, ``guard`` and ``header``."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from seriesbench import USER, A, B, Bench, begin, changed, three
from workspaces import add_series, make_workspace

from patchq.model.patch import Patch
from patchq.model.retired import RecordState, Retired, render_retired
from patchq.model.verdict import Verdict


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    return begin(miniature())


@pytest.fixture
def bench(upstream: Miniature, patchq: CommandLine) -> Bench:
    return Bench(upstream, make_workspace(upstream, three(upstream)), patchq)


def stacked(upstream: Miniature) -> dict[str, bytes]:
    """Two patches of which the second edits a line of the first, and one that requires it."""
    first = upstream.detached("v1", "First", {"a.txt": changed(A, 5), "b.txt": changed(B, 5)})
    second = upstream.detached(first, "Second", {"a.txt": changed(A, 5, to="again")})
    requires = {"X-Requires": "first.patch, second.patch"}
    return {
        "first.patch": upstream.format(first),
        "second.patch": upstream.format(second),
        "third.patch": upstream.patch("v1", {"new.txt": "new\n"}, "Third", trailers=requires),
    }


@pytest.fixture
def stack(upstream: Miniature, patchq: CommandLine) -> Bench:
    return Bench(upstream, make_workspace(upstream, stacked(upstream)), patchq)


def differing(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


# -- drop ------------------------------------------------------------------------------------------


def test_a_dropped_patch_is_kept_with_the_reason(bench: Bench) -> None:
    before = bench.files()
    assert "give a reason" in bench.run("drop", "two.patch", code=2)
    assert bench.files() == before
    bench.run("drop", "two.patch", "--reason", "built elsewhere")
    after = bench.files()
    assert differing(before, after) == {"two.patch", "series", "retired.yaml"}
    (record,) = bench.workspace.load("v1").retired
    assert (record.standing, record.reason) == (RecordState.DROPPED, "built elsewhere")
    assert (record.content, record.base) == (before["two.patch"], "v1")
    bench.run("undo")
    assert bench.files() == before
    bench.run("drop", "two.patch", "one.patch", "--forget")
    assert bench.files().keys() == {"three.patch", "series"}


SECTIONS = "# first\n# two lines\none.patch\n\n# rest\ntwo.patch\nthree.patch # mine\n"
ALONE = "# for 1\none.patch\n# for 2\ntwo.patch\n# for 3\nthree.patch\n"
NARROW = "one.patch\n# for 2\ntwo.patch\nthree.patch\n"


@pytest.mark.parametrize(
    ("series", "name", "left"),
    [
        (SECTIONS, "one", "\n# rest\ntwo.patch\nthree.patch # mine\n"),
        (SECTIONS, "two", SECTIONS.replace("two.patch\n", "")),
        (ALONE, "one", ALONE.replace("# for 1\none.patch\n", "")),
        (ALONE, "two", ALONE.replace("# for 2\ntwo.patch\n", "")),
        (ALONE, "three", ALONE.replace("# for 3\nthree.patch\n", "")),
        (NARROW, "two", NARROW.replace("two.patch\n", "")),
    ],
)
def test_a_comment_goes_and_comes_back_with_the_patch_that_it_is_for(
    bench: Bench, series: str, name: str, left: str
) -> None:
    """Unless another patch stands under it too; then the patch comes back below it."""
    add_series(bench.workspace, "v2", dict(three(bench.upstream)))  # where its place is looked up
    file = bench.workspace.series_path("v1") / "series"
    file.write_text(series)
    bench.run("drop", name, "--tag", "v1", "--reason", "built elsewhere")
    assert file.read_text() == left
    bench.run("revive", f"{name}.patch", "v1")
    assert sorted(file.read_text().split("\n")) == sorted(series.split("\n"))
    assert [line for line in file.read_text().split("\n") if line] == [
        line for line in series.split("\n") if line
    ]


OWN = "one.patch\ntwo.patch -p1 #-slim #+x # why two\nthree.patch # mine\n"


def test_the_comment_on_a_patchs_own_line_comes_back_with_it(bench: Bench) -> None:
    file = bench.workspace.series_path("v1") / "series"
    file.write_text(OWN)
    for name in ("two", "three"):
        bench.run("drop", name, "--reason", "built elsewhere")
        assert f"{name}.patch" not in file.read_text()
        bench.run("revive", name)
    assert file.read_text() == OWN.replace(" -p1", "")
    given = bench.workspace.root / "three.patch"
    given.write_bytes((file.parent / "three.patch").read_bytes())
    bench.run("drop", "three", "--reason", "built elsewhere")
    bench.run("import", str(given), "--tag", "v1")
    assert file.read_text() == OWN.replace(" -p1", "")


def test_comments_go_with_a_patch_to_other_tags(bench: Bench) -> None:
    add_series(bench.workspace, "v2", {"one.patch": dict(three(bench.upstream))["one.patch"]})
    file = bench.workspace.series_path("v1") / "series"
    file.write_text(ALONE.replace("three.patch", "three.patch # mine"))
    bench.run("port", "three", "--to", "v2", "--from", "v1")
    ported = bench.workspace.series_path("v2") / "series"
    assert ported.read_text() == "one.patch\n# for 3\nthree.patch # mine\n"


def test_a_comment_on_the_line_of_a_folded_patch_is_told(bench: Bench) -> None:
    file = bench.workspace.series_path("v1") / "series"
    file.write_text("one.patch\ntwo.patch # why two\nthree.patch\n")
    said = bench.run("fold", "one", "two")
    assert "left out of two.patch: # why two" in said
    assert re.search(r"left out of two.patch: its message \(\S.*\)", said)
    bench.run("undo")
    bench.run("edit")
    bench.rebase("todo[1] = todo[1].replace('pick', 'fixup', 1)")
    assert "left out of two.patch: # why two" in bench.run("refresh")


def test_a_comment_outlives_a_patch_that_is_forgotten_or_comes_back_otherwise(
    bench: Bench,
) -> None:
    file = bench.workspace.series_path("v1") / "series"
    patch = file.parent / "two.patch"
    raw = patch.read_bytes()
    for how in (["--forget"], ["--reason", "built elsewhere"]):
        file.write_text(ALONE)
        patch.write_bytes(raw)
        bench.run("drop", "two", *how)
        assert ("# for 2" in file.read_text()) is (how == ["--forget"])
    given = bench.workspace.root / "two.patch"
    given.write_bytes(raw)
    bench.run("import", str(given), "--tag", "v1")
    assert file.read_text().endswith("three.patch\n# for 2\ntwo.patch\n")


def test_a_patch_that_others_stand_on_is_not_dropped(stack: Bench) -> None:
    before = stack.files()
    said = stack.run("drop", "first.patch", "--forget", code=1)
    assert "second.patch does not merge" in said
    said = stack.run("drop", "second.patch", "--forget", code=1)
    assert "third.patch requires second.patch, which leaves the series" in said
    assert stack.files() == before
    stack.run("drop", "third.patch", "second.patch", "--forget")


def test_a_guard_or_a_field_that_breaks_a_requirement_is_refused(bench: Bench) -> None:
    bench.run("header", "three", "--set", "X-Requires: one.patch")
    before = bench.files()
    for words, why in (
        (("guard", "one", "--when", "fast"), "one.patch, which would be off where three.patch is"),
        (("header", "one", "--set", "X-Requires: three.patch"), "which would come after it"),
        (("header", "two", "--add", "X-Requires: gone.patch"), "which is not in the series"),
        (("header", "two", "--add", "X-Requires: two.patch"), "two.patch, which is itself"),
    ):
        assert why in bench.run(*words, code=1)
        assert bench.files() == before
    bench.run("guard", "three", "--when", "fast")
    bench.run("guard", "one", "--when", "fast")
    assert "three.patch requires one.patch" in bench.run("guard", "three", "--none", code=1)


@pytest.fixture
def waiting(bench: Bench, upstream: Miniature) -> Bench:
    """A series whose last patch is off and requires one that is not there; its bytes stay."""
    absent = upstream.detached("v1", "Absent", {"later.txt": "later\n"})
    (bench.workspace.root / "absent.patch").write_bytes(upstream.format(absent))
    trailers = {"X-Requires": "absent.patch"}
    raw = upstream.patch(absent, {"later.txt": "gated\n"}, "Gate", trailers=trailers)
    directory = bench.workspace.series_path("v1")
    (directory / "gate.patch").write_bytes(raw)
    with (directory / "series").open("a") as file:
        file.write("gate.patch #+later\n")
    return bench


@pytest.mark.parametrize(
    "command",
    [
        ("drop", "two.patch", "--forget"),
        ("move", "three.patch", "--first"),
        ("fold", "one.patch", "two.patch"),
        ("guard", "one.patch", "--when", "other"),
        ("rename", "one.patch", "uno"),
        ("move", "gate.patch", "--first"),
    ],
    ids=" ".join,
)
def test_a_patch_that_waits_for_another_blocks_no_edit(
    waiting: Bench, command: tuple[str, ...]
) -> None:
    gate = waiting.files()["gate.patch"]
    said = waiting.run(*command)
    if command[0] != "rename":
        assert said.count("gate.patch is left as it is: it requires absent.patch, which") == 1
        assert "left as it is" not in waiting.run("move", "three.patch", "--last")
    assert waiting.files()["gate.patch"] == gate


def test_a_patch_that_waits_can_itself_be_dropped(waiting: Bench) -> None:
    assert "left as it is" not in waiting.run("drop", "gate.patch", "--forget")
    assert waiting.series() == ["one.patch", "two.patch", "three.patch"]


def test_a_patch_that_waits_is_asked_for_where_the_command_is_about_it(waiting: Bench) -> None:
    before = waiting.files()
    said = waiting.run("fold", "gate.patch", "one.patch", code=2)
    assert "absent.patch" in said or "different guards" in said
    said = waiting.run("guard", "gate.patch", "--none")
    assert "absent.patch, which is not in the series" in said
    waiting.run("undo")
    assert waiting.files() == before


def test_what_a_patch_waits_for_comes_in_and_takes_its_place(waiting: Bench) -> None:
    waiting.run("import", "absent.patch", "--tag", "v1", "--guard", "later")
    assert "comes after it" in waiting.run("move", "absent.patch", "--before", "gate.patch")
    gate = waiting.files()["gate.patch"]
    assert "left as it is" not in waiting.run("move", "three.patch", "--first")
    assert waiting.files()["gate.patch"] == gate


def test_a_held_patch_can_be_let_go(bench: Bench) -> None:
    held = Retired(
        "held.patch", Verdict.CONFLICT, "collides", (), b"x\n", RecordState.HELD, "v1", "v1"
    )
    (bench.workspace.series_path("v1") / "retired.yaml").write_bytes(render_retired([held]))
    bench.run("drop", "held.patch", "--reason", "not worth it")
    (record,) = bench.workspace.load("v1").retired
    assert (record.standing, record.reason) == (RecordState.DROPPED, "not worth it")
    assert bench.series() == ["one.patch", "two.patch", "three.patch"]


def test_a_patch_that_comes_in_settles_its_record(bench: Bench) -> None:
    record = Retired(
        "other.patch", Verdict.CONFLICT, "collides", (), b"x\n", RecordState.HELD, "v1", "v1"
    )
    dropped = replace(record, name="gone.patch", standing=RecordState.DROPPED)
    path = bench.workspace.series_path("v1") / "retired.yaml"
    path.write_bytes(render_retired([record, dropped]))
    before = bench.files()
    said = bench.run("rename", "one.patch", "other")
    assert "other.patch settles the held patch of that name in retired.yaml" in said
    assert bench.workspace.load("v1").retired == (dropped,)
    bench.run("undo")
    assert bench.files() == before


def test_of_a_live_patch_and_a_record_the_live_one_is_dropped(bench: Bench) -> None:
    record = Retired(
        "three.patch", Verdict.CONFLICT, "collides", (), b"x\n", RecordState.HELD, "v1", "v1"
    )
    path = bench.workspace.series_path("v1") / "retired.yaml"
    path.write_bytes(render_retired([record]))
    live = bench.files()["three.patch"]
    bench.run("drop", "three.patch", "--reason", "not worth it")
    assert bench.series() == ["one.patch", "two.patch"]
    (left,) = bench.workspace.load("v1").retired
    assert (left.standing, left.content) == (RecordState.DROPPED, live)


# -- rename ----------------------------------------------------------------------------------------


def test_a_renamed_patch_keeps_its_bytes_and_is_followed(stack: Bench) -> None:
    before = stack.files()
    done = stack.json("rename", "second.patch", "better-name")
    assert done["removed"] == ["second.patch"]
    after = stack.files()
    assert after["better-name.patch"] == before["second.patch"]
    wanted = before["third.patch"].replace(b"t.patch, second.patch", b"t.patch, better-name.patch")
    assert after["third.patch"] == wanted
    assert after["first.patch"] == before["first.patch"]
    assert "already" in stack.run("rename", "first.patch", "third", code=2)
    said = stack.run("rename", "frist.patch", "x", code=2)
    assert "Did you mean first.patch" in said
    stack.run("rename", "third.patch", "0001-sub.diff")
    assert "0001-sub.patch" in stack.files()


def test_what_can_be_no_name_is_refused_with_the_reason(stack: Bench) -> None:
    """By every command that takes a new name."""
    before = stack.files()
    file = str(stack.workspace.series_path("v1") / "first.patch")
    for wanted, why, example in (
        ("a b/c", "it holds a space", "a-b-c.patch"),
        ("better name", "it holds a space", "better-name.patch"),
        ("-x", "it begins with '-'", "x.patch"),
        ("../x", "it is not a path below the directory of the series", "x.patch"),
        ("x#+y", "it holds a '#'", "x-+y.patch"),
        ("x\ty", "it holds a control character", "x-y.patch"),
        ("", "it is empty", "fix.patch"),
        ("sub/", "it is empty", "sub.patch"),
        ("x" * 300, "it has more than 255 bytes", f"{'x' * 100}.patch"),
    ):
        for words in (
            ("rename", "second.patch", "--", wanted),
            ("new", "-m", "Do it", "--", wanted),
            ("split", "third.patch", "--take", "a.txt", f"--into={wanted}"),
            ("import", file, f"--name={wanted}", "--tag", "v1"),
        ):
            said = stack.run(*words, code=2)
            assert f"error: {wanted!r} cannot be a patch's name: {why}" in said, words
            assert f"hint: For example: {example}\n" in said
    assert stack.files() == before


# -- move ------------------------------------------------------------------------------------------


def test_moving_keeps_the_tree_and_every_patch_that_still_applies(bench: Bench) -> None:
    path = bench.workspace.series_path("v1") / "series"
    path.write_text("# head\none.patch # first\n# part\ntwo.patch\nthree.patch\n")
    before = bench.files()
    bench.run("move", "one.patch", "--last")
    after = bench.files()
    assert after["series"] == b"# head\n# part\ntwo.patch\nthree.patch\none.patch # first\n"
    assert differing(before, after) == {"series"}
    bench.run("move", "three.patch", "one.patch", "--before", "two.patch")
    assert bench.series() == ["three.patch", "one.patch", "two.patch"]
    bench.run("move", "two.patch", "--after", "three.patch")
    assert bench.series() == ["three.patch", "two.patch", "one.patch"]
    assert "give one of" in bench.run("move", "two.patch", "--first", "--last", code=2)


def test_a_patch_is_not_moved_below_what_it_needs(stack: Bench) -> None:
    before = stack.files()
    assert "second.patch does not merge" in stack.run("move", "second.patch", "--first", code=1)
    said = stack.run("move", "third.patch", "--first", code=1)
    assert "third.patch requires first.patch, which would come after it" in said
    assert stack.files() == before


def test_a_dry_run_of_a_move_writes_nothing(bench: Bench) -> None:
    before = bench.files()
    assert "would write series" in bench.run("move", "one.patch", "--last", "--dry-run")
    assert bench.files() == before


# -- fold ------------------------------------------------------------------------------------------


def test_folding_keeps_the_tree_and_the_fields(upstream: Miniature, patchq: CommandLine) -> None:
    first = upstream.detached(
        "v1",
        "First\n\nX-Kind: fix\nX-Retire-When: always",
        {"a.txt": changed(A, 5)},
    )
    second = upstream.detached(
        first,
        "Second\n\nX-Kind: strip\nX-Watch: GB10\nX-Upstream-PR: 12\nX-Requires: between.patch",
        {"a.txt": changed(A, 5, to="again")},
    )
    patches = {
        "between.patch": upstream.patch("v1", {"b.txt": changed(B, 5)}, "Between"),
        "first.patch": upstream.format(first),
        "other.patch": upstream.patch("v1", {"b.txt": changed(B, 20)}, "Other"),
        "second.patch": upstream.format(second),
        "last.patch": upstream.patch("v1", {"n": "n\n"}, trailers={"X-Requires": "second.patch"}),
    }
    bench = Bench(upstream, make_workspace(upstream, patches), patchq)
    before, tree = bench.files(), bench.tree()
    said = bench.run("fold", "first.patch", "second.patch")
    assert "left out of second.patch: X-Upstream-PR: 12" in said
    assert "left out of second.patch: X-Kind: strip" in said
    assert "now ends the life of all of first.patch: X-Retire-When: always" in said
    after = bench.files()
    assert bench.series() == ["between.patch", "first.patch", "other.patch", "last.patch"]
    assert differing(before, after) == {"first.patch", "second.patch", "last.patch", "series"}
    header = bench.workspace.load("v1").patches["first.patch"].header
    assert (header.subject, header.kind) == ("First", "fix")
    assert (header.watch, header.requires) == (("GB10",), ("between.patch",))
    assert bench.workspace.load("v1").patches["last.patch"].header.requires == ("first.patch",)
    assert bench.tree() == tree


def test_only_patches_of_the_same_guards_are_folded(bench: Bench) -> None:
    bench.run("guard", "three.patch", "--when", "late")
    assert "different guards" in bench.run("fold", "two.patch", "three.patch", code=2)


# -- split -----------------------------------------------------------------------------------------


@pytest.fixture
def big(upstream: Miniature, patchq: CommandLine) -> Bench:
    edits = {"a.txt": changed(A, 3, 12, 25), "b.txt": changed(B, 5), "dir/new.txt": "new\n"}
    patch = upstream.patch("v1", edits, "Do it all", "At length.", {"X-Kind": "fix"})
    return Bench(upstream, make_workspace(upstream, {"big.patch": patch}), patchq)


def test_files_are_split_off_byte_for_byte(big: Bench) -> None:
    before, tree = big.files(), big.tree()
    big.run("split", "big.patch", "--take", "dir", "--take", "b.*", "--into", "rest")
    after = big.files()
    sections = before["big.patch"].split(b"diff --git ")
    assert after["big.patch"] == b"diff --git ".join(sections[:2])
    assert after["rest.patch"] == b"diff --git ".join([sections[0], *sections[2:]])
    assert big.series() == ["big.patch", "rest.patch"]
    assert big.tree() == tree


def test_hunks_are_split_off(big: Bench) -> None:
    tree = big.tree()
    big.run("split", "big.patch", "--take", "a.txt:2-3", "--into", "hunks", "-m", "Two [a] hunks")
    directory = big.workspace.load("v1")
    kept, taken = directory.patches["big.patch"], directory.patches["hunks.patch"]
    assert [len(change.hunks) for change in kept.files] == [1, 1, 1]
    (only,) = taken.files
    assert [hunk.added for hunk in only.hunks] == [(b"a changed 12\n",), (b"a changed 25\n",)]
    assert (taken.header.subject, taken.header.kind) == ("Two [a] hunks", "fix")
    assert taken.header.body == "At length."
    assert big.tree() == tree


def test_what_cannot_be_split_is_refused(big: Bench) -> None:
    before = big.files()
    for take, words in (
        (["c.txt"], "it touches no file or directory c.txt"),
        (["a.txt:7"], "there is no hunk 7 of a.txt"),
        (["*"], "--take names all of big.patch"),
        (["a.txt:x,1"], "it touches no file or directory a.txt:x,1"),
    ):
        options = [word for part in take for word in ("--take", part)]
        assert words in big.run("split", "big.patch", *options, "--into", "x", code=2)
    assert big.files() == before


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ("drop", "two", "--reason", "why"),
        ("move", "three", "--before", "one"),
        ("fold", "two", "three"),
        ("rename", "two", "other"),
        ("guard", "two"),
        ("guard", "two", "--when", "x"),
        ("header", "two"),
        ("header", "two", "--set", "X-Kind: fix"),
        ("files", "two"),
        ("show", "two"),
        ("why", "two"),
        ("port", "two", "--to", "v2", "--dry-run"),
    ],
)
def test_a_patch_is_named_without_its_ending_as_with_it(
    bench: Bench, command: tuple[str, ...]
) -> None:
    wrong = ("towo" if word == "two" else "treee" if word == "three" else word for word in command)
    assert "Did you mean" in bench.run(*wrong, code=2)
    full = tuple(f"{word}.patch" if word in ("one", "two", "three") else word for word in command)
    with_it = bench.patchq(*full, cwd=bench.workspace.root, env=USER)
    after = bench.files()
    if with_it.stdout.startswith("v1: wrote"):
        bench.run("undo")
    without = bench.patchq(*command, cwd=bench.workspace.root, env=USER)
    assert (with_it.returncode, without.returncode) == (0, 0), without.stderr
    assert (without.stdout, bench.files()) == (with_it.stdout, after)


# -- guard -----------------------------------------------------------------------------------------


def test_guards_are_shown_and_set_on_the_patchs_own_line(bench: Bench) -> None:
    path = bench.workspace.series_path("v1") / "series"
    path.write_text("one.patch\ntwo.patch #+old # keep me\nthree.patch")
    before = bench.files()
    assert bench.run("guard", "two.patch").strip() == "two.patch: +old"
    bench.run("guard", "two.patch", "--when", "fast", "--unless", "slim")
    bench.run("guard", "three.patch", "--unless", "slim")
    after = bench.files()
    assert after["series"] == (
        b"one.patch\ntwo.patch #+fast #-slim # keep me\nthree.patch #-slim\n"
    )
    assert differing(before, after) == {"series"}
    bench.run("guard", "two.patch", "--none")
    assert bench.files()["series"].splitlines()[1] == b"two.patch # keep me"


def test_guards_that_no_selection_has_are_refused(bench: Bench) -> None:
    before = bench.files()
    said = bench.run("guard", "two.patch", "--when", "x", "--unless", "x", code=2)
    assert "never be applied" in said
    assert bench.files() == before


def test_a_guard_that_takes_a_patch_from_under_others_is_refused(stack: Bench) -> None:
    before = stack.files()
    assert "second.patch does not merge" in stack.run("guard", "first.patch", "--when", "x", code=1)
    assert stack.files() == before


# -- header ----------------------------------------------------------------------------------------


def test_a_field_is_changed_on_its_own_line(bench: Bench) -> None:
    before = bench.files()
    bench.run(
        *("header", "one.patch", "--set", "X-Kind: strip", "--add", "X-Watch: sm_121"),
        *("--set", "Last-Update=2026-11-29"),
    )
    after = bench.files()
    assert after["one.patch"] == before["one.patch"].replace(
        b"X-Kind: fix\nX-Watch: GB10\n",
        b"X-Kind: strip\nX-Watch: GB10\nLast-Update: 2026-11-29\nX-Watch: sm_121\n",
    )
    bench.run("header", "one.patch", "--remove", "X-Watch: GB10", "--remove", "last-update")
    assert b"X-Kind: strip\nX-Watch: sm_121\n" in bench.files()["one.patch"]
    assert "there is no Bug" in bench.run("header", "one.patch", "--remove", "Bug", code=2)


def test_a_field_is_added_to_a_message_that_has_none(bench: Bench) -> None:
    bench.run("header", "two.patch", "--set", "X-Upstream-PR: 12 | 34")
    header = bench.workspace.load("v1").patches["two.patch"].header
    assert (header.subject, header.upstream_prs) == ("Change b early", (12, 34))
    assert b"\n\nX-Upstream-PR: 12 | 34\n\n\ndiff --git" in bench.files()["two.patch"]
    bench.tree()


def test_quilt_and_bare_headers_keep_their_form(upstream: Miniature, patchq: CommandLine) -> None:
    diff = upstream.bare_diff("v1", {"a.txt": changed(A, 5)})
    other = upstream.bare_diff("v1", {"b.txt": changed(B, 5)})
    dep3 = b"Description: short\n long\n .\n more\nForwarded: no\nBug: https://x.example/1\n\n"
    patches = {"dep3.patch": dep3 + diff, "bare.patch": other}
    bench = Bench(upstream, make_workspace(upstream, patches), patchq)
    bench.run("header", "dep3.patch", "--set", "forwarded: not-needed", "--add", "X-Kind: fix")
    wanted = dep3.replace(b"Forwarded: no\n", b"Forwarded: not-needed\n")
    wanted = wanted.replace(b"/1\n", b"/1\nX-Kind: fix\n")
    assert bench.files()["dep3.patch"] == wanted + diff
    bench.run("header", "bare.patch", "--set", "Forwarded: no")
    assert bench.files()["bare.patch"] == b"Forwarded: no\n\n" + other


def test_values_that_break_a_rule_are_refused(bench: Bench) -> None:
    before = bench.files()
    for value in ("X-Retire-When: sometimes", "X-Upstream-PR: soon", "no field", "X-Expect: lacks"):
        bench.run("header", "one.patch", "--set", value, code=2)
    assert bench.files() == before


def test_the_message_is_edited_in_the_users_editor(bench: Bench) -> None:
    before = bench.files()
    bench.run("header", "one.patch", "--edit", env={"EDITOR": "true"})
    assert bench.files() == before
    bench.run("header", "one.patch", "-e", env={"GIT_EDITOR": "sed -i s/wrong/right/"})
    assert bench.files()["one.patch"] == before["one.patch"].replace(b"wrong", b"right")
    bench.run("header", "one.patch", "--subject", "Grüße [a]")
    patch = bench.workspace.load("v1").patches["one.patch"]
    assert (patch.header.subject, patch.header.kind) == ("Grüße [a]", "fix")
    assert patch.header.date == Patch("", before["one.patch"]).header.date
    spoilt = {"EDITOR": "sed -i 's/^X-Kind:.*/X-Upstream-PR: soon/'"}
    assert "not a PR number" in bench.run("header", "one.patch", "-e", env=spoilt, code=2)
    failing = {"EDITOR": "false"}
    assert "editor ended" in bench.run("header", "one.patch", "-e", env=failing, code=2)


def test_a_header_is_shown(bench: Bench) -> None:
    assert "Subject: [PATCH] Change [a] line" in bench.run("header", "one.patch")
    fields = bench.json("header", "one.patch")["fields"]
    assert fields == [{"key": "X-Kind", "value": "fix"}, {"key": "X-Watch", "value": "GB10"}]


def test_hints_name_the_series_that_the_user_named(bench: Bench) -> None:
    """Commands in hints are about the series that was asked for, not about the newest one."""
    add_series(bench.workspace, "v2", dict(three(bench.upstream)))
    for words, hint in (
        (["drop", "nothing", "--tag", "v1", "--forget"], "`patchq list v1` shows them"),
        (["show", "nothing", "v1"], "`patchq list v1` shows them"),
        (["split", "one", "--take", "no", "--into", "n", "--tag", "v1"], "show one.patch v1`"),
        (["revive", "nothing", "v1"], "`patchq report v1` shows what is remembered"),
        (["why", "nothing"], "`patchq list TAG` shows those of a series"),
    ):
        assert hint in bench.run(*words, code=2)


def test_a_port_says_which_patches_are_off_by_their_guards(bench: Bench) -> None:
    add_series(bench.workspace, "v2", {"one.patch": dict(three(bench.upstream))["one.patch"]})
    bench.run("guard", "two", "--when", "lab", "--tag", "v1")
    said = bench.run("port", "two", "three", "--from", "v1", "--to", "v2", "--dry-run")
    assert said.count("off by its guards (+lab)") == 1


def test_an_edit_names_the_patches_that_it_does_not_open(bench: Bench) -> None:
    bench.run("guard", "two", "--when", "lab")
    assert "not opened, off by their guards (--with GUARD): two.patch (+lab)" in bench.run("edit")
    bench.run("edit", "--abort")
    found = bench.json("edit")
    assert found["not_opened"] == {"guards": ["two.patch"], "not_covered": []}
    bench.run("edit", "--abort")
    assert "not opened" not in bench.run("edit", "--with", "lab")


def test_a_message_that_loses_fields_in_an_edit_is_told(bench: Bench) -> None:
    bench.run("header", "three", "--set", "X-Kind: fix", "--set", "X-Retire-When: always")
    bench.run("edit")
    bench.git("commit", "-q", "--amend", "-m", "Said anew\n\nX-Kind: gate")
    assert "three.patch: its new message leaves out X-Retire-When\n" in bench.run("refresh")
