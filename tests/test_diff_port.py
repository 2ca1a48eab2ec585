"""``patchq diff`` between two series or selections, and ``patchq port`` to other tags."""

from __future__ import annotations

import json

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from seriesbench import A, B, Bench, changed, lines
from workspaces import add_series, make_workspace

from patchq.model.retired import RecordState, Retired, render_retired
from patchq.model.verdict import Verdict

X = lines("x")


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    repository = miniature()
    repository.commit("Begin", {"a.txt": A, "b.txt": B, "old/x.txt": X})
    repository.tag("v1")
    repository.move("old/x.txt", "new/x.txt", "Move x")
    repository.commit("Grow a", {"a.txt": "on top\n" + A})
    repository.tag("v2")
    repository.commit("Take it", {"b.txt": changed(B, 5)})
    repository.tag("v3")
    repository.commit("Fight", {"b.txt": changed(B, 5, to="fought over")})
    repository.tag("v4")
    return repository


@pytest.fixture
def patches(upstream: Miniature) -> dict[str, bytes]:
    return {
        "same.patch": upstream.patch("v1", {"a.txt": changed(A, 20)}, "Same"),
        "moved.patch": upstream.patch("v1", {"old/x.txt": changed(X, 5)}, "Moved"),
        "fix.patch": upstream.patch("v1", {"b.txt": changed(B, 5)}, "Fix"),
    }


@pytest.fixture
def bench(upstream: Miniature, patches: dict[str, bytes], patchq: CommandLine) -> Bench:
    bases = ("v1", "v2", "v3", "v4")
    return Bench(upstream, make_workspace(upstream, patches, bases=bases), patchq)


# -- diff ------------------------------------------------------------------------------------------


def test_each_patch_is_compared(
    bench: Bench, upstream: Miniature, patches: dict[str, bytes]
) -> None:
    numbers = patches["same.patch"].replace(b"@@ -17,7 +17,7 @@", b"@@ -18,7 +18,7 @@")
    assert numbers != patches["same.patch"]
    there = {
        "other.patch": upstream.patch("v2", {"n.txt": "n\n"}, "Other"),
        "same.patch": numbers,
        "was-moved.patch": upstream.patch("v2", {"new/x.txt": changed(X, 5)}, "Moved"),
        "context.patch": patches["same.patch"],
    }
    directory = add_series(bench.workspace, "v2", there)
    gone = Retired("fix.patch", Verdict.UPSTREAMED, "taken by #7. More.", (), b"x\n",
                   RecordState.RETIRED, "v2", "v1")  # fmt: skip
    (directory / "retired.yaml").write_bytes(render_retired([gone]))
    found = bench.json("diff", "v1", "v2")
    rows = {row["name"]: row for row in found["patches"]}  # type: ignore[attr-defined]
    assert {name: row["fate"] for name, row in rows.items()} == {
        "other.patch": "new",
        "same.patch": "metadata",
        "was-moved.patch": "changed",
        "context.patch": "new",
        "fix.patch": "gone",
    }
    assert rows["same.patch"]["aspects"] == ["position"]
    assert rows["was-moved.patch"]["aspects"] == ["header", "paths"]
    assert rows["was-moved.patch"]["old_name"] == "moved.patch"
    assert (rows["same.patch"]["old_place"], rows["same.patch"]["new_place"]) == (1, 2)
    text = bench.run("diff", "v1", "v2")
    assert "  3 <   -  gone      fix.patch  taken by #7." in text
    assert "More" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_series_equals_itself_byte_for_byte(bench: Bench) -> None:
    bench.run("rebase", "--onto", "v2")
    found = bench.json("diff", "v1", "v2")
    fates = {row["name"]: row["fate"] for row in found["patches"]}  # type: ignore[attr-defined]
    assert fates == {"same.patch": "unchanged", "moved.patch": "changed", "fix.patch": "unchanged"}
    text = bench.run("diff", "v1", "v2", "moved.patch")
    assert "- ## old/x.txt ##" in text
    assert "+ ## new/x.txt ##" in text
    assert "the same in both" in bench.run("diff", "v1", "v2", "same.patch")
    assert "no patch" in bench.run("diff", "v1", "v2", "x.patch", code=2)


def test_selections_are_compared(bench: Bench) -> None:
    bench.run("guard", "fix.patch", "--when", "late")
    bench.run("guard", "same.patch", "--unless", "late")
    assert bench.run("diff", "v1", "--with", "late").splitlines() == [
        "v1 with late: 1 more, 1 less",
        "+ fix.patch",
        "- same.patch",
    ]
    found = bench.json("diff", "v1", "--with", "late")
    assert (found["added"], found["removed"]) == (["fix.patch"], ["same.patch"])
    assert "no guard" in bench.run("diff", "v1", "--with", "early", code=2)
    recipe = bench.workspace.series_path("v1") / "recipe.yaml"
    recipe.write_text("version: 1\nvariants:\n  lab: {guards: [late]}\n")
    assert bench.json("diff", "v1", "--variant", "lab") == found
    assert "two tags" in bench.run("diff", "v1", code=2)


# -- port ------------------------------------------------------------------------------------------


def test_one_fix_goes_to_all_tags_with_one_report(bench: Bench, patches: dict[str, bytes]) -> None:
    done = bench.patchq(
        *("port", "fix.patch", "--to", "v2,v3,v4", "--json"), cwd=bench.workspace.root
    )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert [report["onto"] for report in found["reports"]] == ["v2", "v3", "v4"]
    verdicts = [report["patches"][0]["verdict"] for report in found["reports"]]
    assert verdicts[:2] == ["clean", "upstreamed"]
    assert found["written"] == {"v2": ["fix.patch"]}
    assert found["nothing_written"] == {
        "v3": "no patch is needed there",
        "v4": "a patch needs review",
    }
    assert bench.workspace.series_names() == ("v1", "v2")
    assert bench.workspace.load("v2").patches["fix.patch"].raw == patches["fix.patch"]
    bench.run("undo")
    assert bench.workspace.series_names() == ("v1",)


def test_moved_paths_are_followed_both_ways(bench: Bench) -> None:
    bench.run("port", "moved.patch", "same.patch", "--to", "v3")
    ported = bench.workspace.load("v3")
    assert ported.series.names == ("moved.patch", "same.patch")
    assert ported.patches["moved.patch"].paths == ("new/x.txt",)
    bench.run("drop", "moved.patch", "same.patch", "--forget", "--tag", "v1")
    bench.run("port", "moved.patch", "--to", "v1")
    assert bench.workspace.load("v1").patches["moved.patch"].paths == ("old/x.txt",)


def test_what_others_wait_for_comes_in_before_them(bench: Bench, upstream: Miniature) -> None:
    brought = upstream.commit("brought", {"w.txt": "one\n"})
    waits = upstream.patch(brought, {"w.txt": "one\nmore\n"}, "Wait\n\nX-Requires: w.patch")
    patches = {"waits.patch": waits, "last.patch": upstream.patch("v2", {"l.txt": "l\n"}, "Last")}
    order = "# all\nwaits.patch #+w\nlast.patch\n"
    add_series(bench.workspace, "v2", patches, series=order)
    (bench.workspace.root / "w.patch").write_bytes(upstream.patch("v1", {"w.txt": "one\n"}, "W"))
    bench.run("import", "w.patch", "--tag", "v1", "--guard", "w")
    bench.run("port", "w.patch", "--to", "v2")
    ported = bench.workspace.load("v2")
    assert ported.series.raw == b"# all\nw.patch #+w\nwaits.patch #+w\nlast.patch\n"
    assert {name: ported.patches[name].raw for name in patches} == patches


def test_a_patch_that_is_there_is_replaced_only_when_asked(
    bench: Bench, upstream: Miniature
) -> None:
    other = upstream.patch("v2", {"n.txt": "n\n"}, "Other")
    worse = upstream.patch("v2", {"new/x.txt": changed(X, 6)}, "Worse")
    add_series(bench.workspace, "v2", {"moved.patch": worse, "other.patch": other})
    said = bench.run("port", "moved.patch", "--from", "v1", "--to", "v2", code=2)
    assert "in the series on v2 already" in said
    bench.run("port", "moved.patch", "--from", "v1", "--to", "v2", "--replace")
    directory = bench.workspace.load("v2")
    assert directory.series.names == ("moved.patch", "other.patch")
    assert directory.patches["moved.patch"].files[0].hunks[0].added == (b"x changed 5\n",)
    assert directory.patches["other.patch"].raw == other


def test_a_replacement_that_changes_nothing_writes_nothing(bench: Bench) -> None:
    bench.run("port", "fix", "--to", "v2")
    again = bench.run("port", "fix", "--from", "v1", "--to", "v2", "--replace")
    assert "v2: nothing written, fix.patch is there already, byte for byte" in again
    assert "wrote" not in again


def test_it_stands_on_top_of_the_series_that_is_there(bench: Bench, upstream: Miniature) -> None:
    there = upstream.patch("v2", {"b.txt": changed(B, 4, 5, to="ours")}, "In the way")
    add_series(bench.workspace, "v2", {"there.patch": there})
    said = bench.run("port", "fix.patch", "--to", "v2", code=1)
    assert "nothing written, a patch needs review" in said
    assert bench.workspace.load("v2").series.names == ("there.patch",)


def test_a_dry_run_and_wrong_names(bench: Bench) -> None:
    assert "would write fix.patch" in bench.run("port", "fix.patch", "--to", "v2", "--dry-run")
    assert bench.workspace.series_names() == ("v1",)
    assert "no series has" in bench.run("port", "nope.patch", "--to", "v2", code=2)
    assert "a target as well" in bench.run("port", "fix.patch", "--to", "v1", code=2)
    bench.run("port", "fix.patch", "--to", "v9", code=2)
