"""``patchq backport``: upstream changes onto a tag, what the patch says, and what is refused."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace, open_project, placed

from patchq.engine.backport.requests import Sources
from patchq.engine.backport.shipped_in import End, ends_of
from patchq.engine.backport.upstream_change import ChangeReader
from patchq.errors import UpstreamError, Where
from patchq.model.patch import Patch, read_patch
from patchq.model.retired import RecordState, Retired, read_retired, render_retired
from patchq.model.verdict import Verdict
from patchq.model.workspace import Workspace

LINES = "".join(f"line {number}\n" for number in range(1, 41))
FIX = LINES.replace("line 10\n", "tenth\n")
NEXT = FIX.replace("tenth\n", "10th\n")
SETTINGS = "version: 1\nbackport:\n  exclude: [/tests/]\n"
NOW = {"SOURCE_DATE_EPOCH": "1760000000"}  # 2025-10-09


@dataclass(frozen=True)
class Bench:
    """A workspace with an empty series on v1, and the command line in it."""

    upstream: Miniature
    workspace: Workspace
    patchq: CommandLine

    def run(self, *args: str | Path, onto: str = "v1") -> subprocess.CompletedProcess[str]:
        return self.patchq("backport", *args, "--onto", onto, cwd=self.workspace.root, env=NOW)

    def bring(self, *args: str | Path, onto: str = "v1") -> str:
        done = self.run(*args, onto=onto)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def refuse(self, *args: str | Path, code: int = 2) -> str:
        before = self.series()
        done = self.run(*args)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert self.series() == before
        return done.stdout + done.stderr

    def series(self, tag: str = "v1") -> list[str]:
        file = self.workspace.series_path(tag) / "series"
        return file.read_text().splitlines() if file.exists() else []

    def patch(self, name: str, tag: str = "v1") -> Patch:
        return read_patch(name, (self.workspace.series_path(tag) / name).read_bytes())

    def patches(self, tag: str = "v1") -> list[Patch]:
        return [self.patch(line.split()[0], tag) for line in self.series(tag)]


@pytest.fixture
def bench(miniature: MakeMiniature, patchq: CommandLine) -> Bench:
    """Main: #7 fixes a line (with a test), #8 edits it again; v1 left main before both."""
    upstream = miniature()
    upstream.commit("Begin (#1)", {"src/a.txt": LINES, "src/b.txt": LINES, "tests/t.txt": "t\n"})
    upstream.branch("release")
    upstream.commit("Version 1", {"VERSION": "1\n"}, branch="release")
    upstream.tag("v1", at="release")
    upstream.commit(
        "[Core] Fix the tenth line (#7)\n\nIt was wrong.\n\nCo-authored-by: Bo <bo@example.org>",
        {"src/a.txt": FIX, "tests/t.txt": "t\nmore\n"},
        author="Cai <cai@example.org>",
    )
    upstream.commit("Write it as a number (#8)", {"src/a.txt": NEXT})
    upstream.tag("v2")
    upstream.commit("Past v2 (#9)", {"src/b.txt": LINES.replace("line 5\n", "fifth\n")})
    workspace = make_workspace(upstream, {}, settings=SETTINGS)
    return Bench(upstream, workspace, patchq)


def test_a_pull_request_becomes_a_patch_that_says_all_of_it(bench: Bench) -> None:
    out = bench.bring("7")
    assert out.strip() == "brought fix-the-tenth-line-pr7.patch onto v1"
    (patch,) = bench.patches()
    header = patch.header
    assert header.subject == "[Core] Fix the tenth line (#7)"
    assert header.author == "Cai <cai@example.org>"
    assert header.date == bench.upstream.git("log", "-1", "--format=%aD", "main~2").decode().strip()
    assert "It was wrong." in header.body
    assert "Left out of this backport: tests/t.txt." in header.body
    assert header.field("Co-authored-by") == "Bo <bo@example.org>"
    assert header.field("Origin") == f"backport, commit:{bench.upstream.id('main~2')}"
    assert header.upstream_prs == (7,)
    assert header.kind == "backport"
    assert header.field("Last-Update") == "2025-10-09"
    assert placed(bench.upstream, "v1", patch.raw) == {"src/a.txt": FIX.encode()}


def test_a_record_of_the_name_is_settled(bench: Bench) -> None:
    name = "fix-the-tenth-line-pr7.patch"
    raw = bench.upstream.format("main~2")
    record = Retired(
        name, Verdict.CONFLICT, "why", (), raw, RecordState.HELD, since="v1", base="v1"
    )
    file = bench.workspace.series_path("v1") / "retired.yaml"
    file.write_bytes(render_retired([record, replace(record, name="other.patch")]))
    done = bench.run("7")
    assert done.returncode == 0, done.stderr
    assert f"{name} settles the held patch of that name in retired.yaml" in done.stderr
    left = read_retired(file.read_bytes(), Where("retired.yaml"))
    assert [one.name for one in left] == ["other.patch"]


def test_a_commit_and_a_range_are_found_as_well(bench: Bench) -> None:
    first, second = bench.upstream.id("main~2"), bench.upstream.id("main~1")
    bench.bring(first[:10])
    assert bench.series() == ["fix-the-tenth-line-pr7.patch"]
    bench.patchq("undo", cwd=bench.workspace.root)
    bench.bring(f"{bench.upstream.id('main~3')}..{second}")
    assert bench.series() == ["fix-the-tenth-line-pr7.patch", "write-it-as-a-number-pr8.patch"]
    assert bench.patches()[1].header.requires == ("fix-the-tenth-line-pr7.patch",)
    bench.patchq("undo", cwd=bench.workspace.root)
    bench.bring(f"{first}^..{second}")
    assert bench.series() == ["fix-the-tenth-line-pr7.patch", "write-it-as-a-number-pr8.patch"]
    bench.patchq("undo", cwd=bench.workspace.root)
    bench.bring(f"{second}~1")
    assert bench.series() == ["fix-the-tenth-line-pr7.patch"]
    assert "goes past the first commit" in bench.refuse(f"{second}~99")
    assert "the wrong way round" in bench.refuse(f"{second}..{first}")


def test_an_archive_that_is_newer_may_have_it_in_another_form(bench: Bench, tmp_path: Path) -> None:
    later = {"src/a.txt": FIX.replace("tenth", "the tenth"), "new.txt": "new\n"}
    bench.upstream.commit("More (#10)", {"new.txt": "new\n", "src/a.txt": FIX + "end\n"})
    bench.upstream.commit("Later", later)
    file = tmp_path / "demo-3.tar"
    file.write_bytes(bench.upstream.git("archive", "--prefix=demo-3/", "main"))
    words = ("import-upstream", file, "--tag", "v3")
    done = bench.patchq(*words, cwd=bench.workspace.root, env=NOW)
    assert done.returncode == 0, done.stderr
    said = bench.run("10", onto="v3").stderr
    assert "#10 may be in v3 already, changed since: the commit is older (2025-01-" in said
    assert "1 of its 3 changes are there as they were" in said


def test_patches_of_a_variant_that_do_not_go_together_are_no_concern(bench: Bench) -> None:
    """The same change under a guard and without: no patch on top is to blame for that."""
    bench.bring("7", "--guard", "lab")
    bench.bring("7")
    assert "x9" in bench.bring("9", "--name", "x9")


def test_a_pair_stands_one_on_the_other(bench: Bench) -> None:
    bench.bring("7", "8")
    raw = [patch.raw for patch in bench.patches()]
    assert placed(bench.upstream, "v1", *raw)["src/a.txt"] == NEXT.encode()


def test_what_needs_an_earlier_commit_says_so_and_writes_nothing(bench: Bench) -> None:
    said = bench.refuse("8", code=1)
    assert "It comes with 1 earlier commit of upstream:" in said
    assert "#7" in said
    assert "--with-prerequisites" in said
    assert "src/a.txt:10" in said
    assert "Nothing was written." in said


def test_prerequisites_come_as_patches_of_their_own(bench: Bench) -> None:
    bench.bring("8", "--with-prerequisites")
    first, second = bench.patches()
    assert (first.name, second.name) == (
        "fix-the-tenth-line-pr7.patch",
        "write-it-as-a-number-pr8.patch",
    )
    assert second.header.requires == (first.name,)
    assert placed(bench.upstream, "v1", first.raw, second.raw)["src/a.txt"] == NEXT.encode()


def test_the_name_given_is_for_what_was_asked_for(bench: Bench) -> None:
    bench.bring("8", "--with-prerequisites", "--name", "number")
    assert bench.series() == ["fix-the-tenth-line-pr7.patch", "number.patch"]
    stray = bench.workspace.series_path("v1") / "mine.patch"
    stray.write_text("notes\n")
    said = bench.refuse("9", "--name", "mine")
    assert "series/v1/mine.patch: the file is there already" in said
    assert stray.read_text() == "notes\n"


def test_squashed_they_come_as_one_patch_that_names_them(bench: Bench) -> None:
    bench.bring("8", "--squash")
    (patch,) = bench.patches()
    assert patch.header.subject == "Write it as a number (#8)"
    assert bench.upstream.id("main~2") in patch.header.body
    assert placed(bench.upstream, "v1", patch.raw)["src/a.txt"] == NEXT.encode()


def test_past_the_limit_nothing_is_brought(bench: Bench) -> None:
    said = bench.refuse("8", "--with-prerequisites", "--limit", "0", code=1)
    assert "past the limit" in said


def test_all_come_in_or_none(bench: Bench) -> None:
    bench.refuse("9", "8", code=1)
    assert bench.series() == []


def test_what_the_tag_has_is_refused_with_the_place(bench: Bench) -> None:
    said = bench.refuse("1")
    assert "#1 is in v1 already" in said
    done = bench.run("7", onto="v2")
    assert done.returncode == 2
    assert "is in v2 already" in done.stderr


def test_what_the_tag_picked_is_refused_by_content(bench: Bench) -> None:
    pick = bench.upstream.commit(
        "[Pick] Fix the tenth line (#7) (#70)", {"src/a.txt": FIX}, branch="release"
    )
    bench.upstream.tag("v1", at="release")
    workspace = make_workspace(
        bench.upstream, {}, settings=SETTINGS, root=bench.workspace.root.parent / "other"
    )
    done = bench.patchq("backport", "7", "--onto", "v1", cwd=workspace.root, env=NOW)
    assert done.returncode == 2
    assert f"v1 has all of #7 already: {pick[:12]}" in done.stderr


def test_what_the_series_has_is_refused_with_the_line(bench: Bench) -> None:
    bench.bring("7")
    assert "series/v1/series:1: #7 is in the series on v1 already" in bench.refuse("7")
    own = bench.upstream.patch("v1", {"src/b.txt": LINES.replace("line 5\n", "fifth\n")})
    (bench.workspace.root / "own.patch").write_bytes(own)
    done = bench.patchq("import", "own.patch", "--tag", "v1", cwd=bench.workspace.root)
    assert done.returncode == 0, done.stderr
    said = bench.refuse("9")
    assert "series/v1/series:2: #9 is in the series on v1 already, as own.patch" in said


def test_nothing_left_is_refused(bench: Bench) -> None:
    assert "nothing is left of #9: src/b.txt" in bench.refuse("9", "--exclude", "/src/")


def test_under_a_guard_it_is_a_variant_that_differs_by_it_alone(bench: Bench) -> None:
    bench.bring("9")
    bench.bring("7", "--guard", "trial", "--name", "tenth")
    assert bench.series() == ["past-v2-pr9.patch", "tenth.patch #+trial"]
    listed = [
        bench.patchq("list", "v1", "--paths", *with_it, cwd=bench.workspace.root).stdout.split()
        for with_it in ((), ("--with", "trial"))
    ]
    assert [len(paths) for paths in listed] == [1, 2]
    assert listed[1][:1] == listed[0]


def test_a_dry_run_writes_nothing_and_says_the_same(bench: Bench) -> None:
    out = bench.bring("7", "--dry-run")
    assert out.strip() == "would bring fix-the-tenth-line-pr7.patch onto v1"
    assert bench.series() == []


def test_json_tells_what_is_needed(bench: Bench) -> None:
    done = bench.run("8", "--json")
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert (result["schema"], result["written"]) == ("patchq.backport/1", False)
    (change,) = result["changes"]
    assert change["outcome"] == "found"
    (needed,) = change["prerequisites"]
    assert needed["commit"] == bench.upstream.id("main~2")
    assert (needed["files"], needed["added"], needed["removed"]) == (1, 1, 1)


def test_a_merge_brings_what_it_merged(bench: Bench) -> None:
    upstream = bench.upstream
    upstream.branch("topic", at="main~3")
    upstream.commit("Topic", {"src/b.txt": LINES.replace("line 20\n", "20\n")}, branch="topic")
    merged = upstream.read("main", "src/b.txt").replace(b"line 20\n", b"20\n")
    merge = upstream.commit("Merge topic (#11)", {"src/b.txt": merged}, merges=["topic"])
    bench.bring(merge)
    (patch,) = bench.patches()
    assert placed(upstream, "v1", patch.raw) == {
        "src/b.txt": LINES.replace("line 20\n", "20\n").encode()
    }


def test_a_reverted_landing_does_not_count_and_the_second_does(bench: Bench) -> None:
    upstream = bench.upstream
    wrong = upstream.read("main", "src/b.txt").replace(b"line 30\n", b"wrong\n")
    right = wrong.replace(b"wrong\n", b"thirty\n")
    first = upstream.commit("Thirty (#20)", {"src/b.txt": wrong})
    upstream.commit('Revert "Thirty (#20)" (#21)', {"src/b.txt": upstream.read("v2", "src/b.txt")})
    upstream.commit("Fifth again (#22)", {"src/b.txt": upstream.read("main~2", "src/b.txt")})
    second = upstream.commit("Reland thirty (#20) (#23)", {"src/b.txt": right})
    project = open_project(bench.workspace, upstream)
    sources = Sources(
        project,
        ChangeReader(project.store, project.settings),
        upstream.commit_id("main"),
        terminal=False,
    )
    located = sources.find("20")
    assert [change.commit for change in located.changes] == [second]
    upstream.git("update-ref", "refs/heads/main", f"{first}")
    assert (
        Sources(project, ChangeReader(project.store, project.settings), first, terminal=False)
        .find("20")
        .changes[0]
        .commit
        == first
    )


def test_the_head_of_an_open_pull_request_comes_from_the_upstream_of_the_lock(
    bench: Bench,
) -> None:
    upstream = bench.upstream
    upstream.branch("refs/pull/30/head", at="main~1")
    text = LINES.replace("line 20\n", "20\n")
    upstream.commit("Open work", {"src/b.txt": text}, branch="refs/pull/30/head")
    upstream.commit("More", {"src/b.txt": text + "41\n"}, branch="refs/pull/30/head")
    bench.bring("30")
    (patch,) = bench.patches()
    assert patch.header.subject == "Open work"
    assert patch.header.upstream_prs == (30,)
    assert placed(upstream, "v1", patch.raw) == {"src/b.txt": (text + "41\n").encode()}


def test_a_lenders_pull_requests_are_its_own(bench: Bench, miniature: MakeMiniature) -> None:
    """The number of a fork's pull request means nothing here."""
    upstream = bench.upstream
    fork = miniature("fork")
    fork.git("fetch", "--quiet", str(upstream.path), "refs/*:refs/*")
    fork.branch("refs/pull/30/head", at="main~1")
    fork.commit("The fork's", {"src/b.txt": "fork\n"}, branch="refs/pull/30/head")
    done = bench.patchq(
        "--upstream", fork.path, "backport", "30", "--onto", "v1", cwd=bench.workspace.root
    )
    assert done.returncode == 3
    assert "#30 is not found" in done.stderr
    assert "--file" in done.stderr


def test_a_move_is_followed_backwards(bench: Bench) -> None:
    upstream = bench.upstream
    upstream.move("src", "lib/core", "Move the tree (#40)")
    moved = upstream.read("main", "lib/core/b.txt").replace(b"line 30\n", b"thirty\n")
    upstream.commit("After the move (#41)", {"lib/core/b.txt": moved, "lib/core/new.txt": "n\n"})
    out = bench.bring("41")
    assert "lib/core/b.txt is src/b.txt there" in out
    (patch,) = bench.patches()
    assert placed(upstream, "v1", patch.raw) == {
        "src/b.txt": LINES.replace("line 30\n", "thirty\n").encode(),
        "src/new.txt": b"n\n",
    }


def test_a_file_is_carried_from_what_it_was_cut_from(bench: Bench) -> None:
    upstream = bench.upstream
    raw = upstream.patch("main", {"src/a.txt": NEXT.replace("line 30\n", "30th\n")}, "Thirty")
    file = bench.workspace.root / "12-thirty.diff"
    file.write_bytes(raw)
    done = bench.run("--file", file)
    assert done.returncode == 0, done.stderr
    assert "cut from v2, 2 commits past v1's branch point" in done.stderr
    (patch,) = bench.patches()
    assert (patch.header.field("Origin") or "").startswith("other, 12-thirty.diff")
    assert placed(upstream, "v1", patch.raw) == {
        "src/a.txt": LINES.replace("line 30\n", "30th\n").encode()
    }


def test_a_file_that_only_adds_files_fits_where_they_are_not(bench: Bench) -> None:
    file = bench.workspace.root / "13-more.diff"
    file.write_bytes(bench.upstream.patch("v1", {"src/more.txt": "more\n"}, "More"))
    bench.bring("--file", file)
    (patch,) = bench.patches()
    assert placed(bench.upstream, "v1", patch.raw) == {"src/more.txt": b"more\n"}


def test_a_file_that_leans_on_a_later_commit_names_it(bench: Bench) -> None:
    raw = bench.upstream.patch("main", {"src/a.txt": NEXT.replace("10th\n", "ten\n")}, "Ten")
    file = bench.workspace.root / "ten.patch"
    file.write_bytes(raw)
    said = bench.refuse("--file", file, code=1)
    assert "#7" in said
    assert "#8" in said
    bench.bring("--file", file, "--with-prerequisites")
    assert len(bench.series()) == 3


def test_import_names_what_a_foreign_patch_was_cut_from_and_needs(bench: Bench) -> None:
    def bring(name: str, text: str) -> subprocess.CompletedProcess[str]:
        raw = bench.upstream.patch("main~2", {"src/a.txt": text}, "Change")
        (bench.workspace.root / name).write_bytes(raw)
        return bench.patchq("import", name, "--tag", "v1", cwd=bench.workspace.root)

    far = bring("far.patch", FIX.replace("line 12\n", "twelfth\n"))
    assert far.returncode == 0, far.stderr
    cut_from = (
        f"cut from main at {bench.upstream.id('main~2')[:12]}, 1 commit past v1's branch point"
    )
    assert f"applied by three-way merge; {cut_from}" in far.stderr
    near = bring("near.patch", FIX.replace("tenth\n", "10\n"))
    assert near.returncode == 2
    assert "a three-way merge conflicts in src/a.txt (hunk 1)" in near.stderr
    assert (
        f"needs {bench.upstream.id('main~2')[:12]} ([Core] Fix the tenth line (#7))" in near.stderr
    )
    assert "hint: Bring what it needs first: `patchq backport 7 --onto v1`" in near.stderr


@pytest.mark.parametrize(
    "arguments", [("999",), ("deadbeef01",), ("nonsense",), ()], ids=["pr", "id", "word", "none"]
)
def test_what_is_not_there_is_said(bench: Bench, arguments: tuple[str, ...]) -> None:
    code = UpstreamError.exit_code if arguments == ("999",) else 2
    assert "error: " in bench.refuse(*arguments, code=code)


def test_a_backport_knows_when_it_ends(bench: Bench) -> None:
    bench.bring("7", "9")
    project = open_project(bench.workspace, bench.upstream)
    seventh, ninth = bench.patches()
    shipped = ends_of(project, seventh)
    assert shipped is not None
    assert (shipped.end, shipped.base) == (End.SHIPPED, "v2")
    waiting = ends_of(project, ninth)
    assert waiting is not None
    assert waiting.end is End.IN_MAIN
    assert str(waiting).startswith("in main since 2025-01-")
    assert str(waiting).endswith("next tag")
    v1 = {"src/b.txt": LINES + "end\n"}
    still_open = read_patch("x", bench.upstream.patch("v1", v1, trailers={"X-Upstream-PR": "77"}))
    assert str(ends_of(project, still_open)) == "open"
    assert ends_of(project, read_patch("y", bench.upstream.patch("v1", v1))) is None
