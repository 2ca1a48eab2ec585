"""What a patch was cut from, told by the blobs it names, else by the lines it stands on."""

from __future__ import annotations

import re

import pytest
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace, open_project

from patchq.engine.backport.missing_names import Names
from patchq.engine.backport.prerequisites import Found, PrerequisiteSearch, SearchOutcome
from patchq.engine.backport.upstream_change import ChangeReader
from patchq.engine.importing.cut_from import Foreign, OriginFinder, Proof
from patchq.errors import InputError

LINES = "".join(f"line {number}\n" for number in range(1, 41))
ONE = LINES.replace("line 10\n", "tenth\n")
TWO = ONE.replace("line 30\n", "thirtieth\n")


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """v1 leaves main at the first commit; main then edits the file twice."""
    made = miniature()
    made.commit("Begin", {"notes.txt": LINES, "other.txt": LINES})
    made.branch("release")
    made.commit("Version", {"VERSION": "1\n"}, branch="release")
    made.tag("v1", at="release")
    made.commit("Unrelated", {"third.txt": "x\n"})
    made.commit("Tenth", {"notes.txt": ONE})
    made.commit("Thirtieth", {"notes.txt": TWO})
    made.commit("Later", {"third.txt": "y\n"})
    return made


def read(upstream: Miniature, raw: bytes) -> Foreign:
    project = open_project(make_workspace(upstream, {}, bases=("v1",)), upstream)
    origins = OriginFinder(project, upstream.commit_id("main"))
    (foreign,) = origins.read("x.diff", raw, "v1", ChangeReader(project.store, project.settings))
    return foreign


def without_index(raw: bytes) -> bytes:
    return re.sub(rb"^index .*\n", b"", raw, flags=re.M)


def test_full_blob_ids_tell_the_commit_that_made_the_file(upstream: Miniature) -> None:
    raw = upstream.patch("main~2", {"notes.txt": ONE.replace("tenth", "10th")})
    cut_from = read(upstream, raw).cut_from
    assert cut_from.commit == upstream.id("main~2")
    assert (cut_from.proof, cut_from.matched, cut_from.total) == (Proof.BLOBS, 1, 1)
    assert str(cut_from) == (
        f"cut from main at {upstream.id('main~2')[:12]}, 2 commits past v1's branch point"
    )


def test_abbreviated_blob_ids_do_as_well(upstream: Miniature) -> None:
    raw = upstream.bare_diff("main", {"notes.txt": TWO.replace("tenth", "10th")})
    assert re.search(rb"^index [0-9a-f]{7}\.\.", raw, re.M)
    assert read(upstream, raw).cut_from.commit == upstream.id("main~1")


def test_a_patch_of_the_tag_is_of_the_tag(upstream: Miniature) -> None:
    raw = upstream.patch("v1", {"notes.txt": LINES.replace("line 20", "20")})
    cut_from = read(upstream, raw).cut_from
    assert (cut_from.name, cut_from.past) == ("v1", 0)
    assert str(cut_from) == "cut from v1"


def test_without_blob_ids_the_lines_tell(upstream: Miniature) -> None:
    raw = without_index(upstream.patch("main", {"notes.txt": TWO.replace("thirtieth", "30th")}))
    cut_from = read(upstream, raw).cut_from
    assert (cut_from.commit, cut_from.proof) == (upstream.id("main~1"), Proof.LINES)


def test_lines_that_also_stand_in_the_tag_tell_the_tag(upstream: Miniature) -> None:
    raw = without_index(upstream.patch("main", {"notes.txt": TWO.replace("line 20", "20")}))
    assert read(upstream, raw).cut_from.name == "v1"


def test_some_blobs_that_nobody_knows_are_said(upstream: Miniature) -> None:
    stacked = upstream.detached("main", "own", {"other.txt": "own\n" + LINES})
    raw = upstream.patch(
        stacked,
        {"notes.txt": TWO.replace("tenth", "10th"), "other.txt": "own\n" + LINES + "end\n"},
    )
    cut_from = read(upstream, raw).cut_from
    assert cut_from.commit == upstream.id("main~1")
    assert str(cut_from).endswith("(1 of 2 blobs)")


def test_what_applies_nowhere_is_refused(upstream: Miniature) -> None:
    raw = b"--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n-nowhere\n+here\n and no\n"
    with pytest.raises(InputError) as caught:
        read(upstream, raw)
    assert str(caught.value).startswith("x.diff")


def test_a_foreign_patch_names_the_commit_that_its_hunk_leans_on(upstream: Miniature) -> None:
    raw = upstream.patch("main", {"notes.txt": TWO.replace("thirtieth", "30th")})
    project = open_project(make_workspace(upstream, {}, bases=("v1",)), upstream)
    changes = ChangeReader(project.store, project.settings)
    (foreign,) = OriginFinder(project, upstream.commit_id("main")).read(
        "x.patch", raw, "v1", changes
    )
    base = project.lock.base("v1")
    search = PrerequisiteSearch(project, base, changes, Names(project))
    found: Found = search.find(foreign.change, base.tree)
    assert found.outcome is SearchOutcome.FOUND
    assert [one.change.commit for one in found.prerequisites] == [upstream.id("main~1")]


def test_numbers_come_from_the_subject_or_the_files_name(upstream: Miniature) -> None:
    edits = {"notes.txt": LINES.replace("line 20", "20")}
    project = open_project(make_workspace(upstream, {}, bases=("v1",)), upstream)
    origins, changes = OriginFinder(project, None), ChangeReader(project.store, project.settings)

    def numbers(file: str, subject: str) -> tuple[int, ...]:
        raw = upstream.patch("v1", edits, subject)
        return origins.read(file, raw, "v1", changes)[0].change.pull_requests

    assert numbers("x.patch", "Change it (#123)") == (123,)
    assert numbers("36186.diff", "Change it") == (36186,)
    assert numbers("gemma-pr22928.patch", "Change it") == (22928,)
    assert numbers("v2.patch", "Change it") == ()
