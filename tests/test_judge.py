"""Verdicts, each on an upstream made for it: what becomes of a patch, and what proves it."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping

import pytest
from judging import (
    CONTEXT,
    NEIGHBOUR,
    OTHER_FUNCTION,
    POOL,
    POOL_PATH,
    QUEUE,
    QUEUE_PATH,
    Change,
    before,
    carried,
    edited,
    fix,
    function,
    judged,
    module,
    pool,
    rebased,
    reports,
    shown,
    stack,
    start,
    states,
    take,
    verdicts,
)
from miniature import Edits, MakeMiniature, Miniature, executable, submodule, symlink
from workspaces import make_workspace, open_project, placed

from patchq.archives.reader import import_archive
from patchq.engine.rebase.rebase import judge_series
from patchq.git.process import Git
from patchq.git.store import open_store
from patchq.model.coverage import Coverage
from patchq.model.lock import Archive, Base
from patchq.model.verdict import Action, EvidenceKind, HunkState, Verdict


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """Upstream at v1."""
    return start(miniature())


# Upstream has it


def test_context_changed_before_the_merge(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Settle now (#2)", pool(CONTEXT))
    landed = upstream.commit("Take one less (#3)", pool(CONTEXT, fix("evict")))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    assert states(report) == [HunkState.UPSTREAM]
    (merged,) = shown(report, EvidenceKind.MERGED)
    assert (merged.commit, merged.pr, merged.first_tag) == (landed, 3, "v2")
    assert merged.subject == "Take one less (#3)"
    assert merged.paths == (POOL_PATH,)


def test_context_changed_after_the_merge(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    landed = upstream.commit("Take one less (#2)", pool(fix("evict")))
    upstream.commit("Settle now (#3)", pool(CONTEXT, fix("evict")))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    assert [merged.commit for merged in shown(report, EvidenceKind.MERGED)] == [landed]


def test_squashed_with_other_changes(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    squashed = {**pool(CONTEXT, fix("evict"), fix("drain")), QUEUE_PATH: QUEUE + "# more\n"}
    landed = upstream.commit("Rework pages (#2)", squashed)
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    assert [merged.commit for merged in shown(report, EvidenceKind.MERGED)] == [landed]


def test_merged_then_reverted(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")), trailers={"X-Upstream-PR": "2"})
    upstream.commit("Take one less (#2)", pool(fix("evict")))
    upstream.commit('Revert "Take one less (#2)" (#3)', {POOL_PATH: POOL})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert carried(judgement) == patch


def test_merged_then_edited_again(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    landed = upstream.commit("Take one less (#2)", pool(fix("evict")))
    upstream.commit("Force it (#3)", pool((take("evict"), take("evict", " - 1, force=True"))))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    (merged,) = shown(report, EvidenceKind.MERGED)
    assert (merged.commit, merged.pr) == (landed, 2)
    assert "since" in merged.text


@pytest.mark.parametrize(
    ("change", "undone"),
    [
        (fix("evict"), (take("evict"), "pool.take_evict(page, limit)\n        pool.log(page)\n")),
        (before("evict", "pool.check(page)"), ('batch.pages_of("evict")', "batch.all()")),
        ((NEIGHBOUR[0], ""), NEIGHBOUR),
    ],
    ids=["old line back", "new line out", "new shape of the old line"],
)
def test_merged_then_reverted_along_with_a_neighbour(
    upstream: Miniature, change: Change, undone: Change
) -> None:
    """What upstream no longer has is not retired, though nothing reverts it cleanly."""
    patch = upstream.patch("v1", pool(change))
    upstream.commit("Mend it (#2)", pool(change))
    upstream.commit("Go back, and more (#3)", pool(undone))
    upstream.tag("v2")
    assert judged(upstream, patch).report.action is not Action.DROP


def test_merged_then_moved_away_without_it(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Take one less (#2)", pool(fix("evict")))
    home = "".join(module(f"other{number}") for number in range(20))
    upstream.commit(
        "Rewrite from an older state (#3)",
        {POOL_PATH: None, "core/all.py": home + function("evict")},
    )
    upstream.tag("v2")
    assert judged(upstream, patch).report.action is not Action.DROP


def test_a_branch_from_before_the_merge_does_not_hide_it(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.branch("topic")
    landed = upstream.commit("Take one less (#2)", pool(fix("evict")))
    upstream.commit("Drain now", pool(OTHER_FUNCTION), branch="topic")
    both = pool(fix("evict"), OTHER_FUNCTION)
    upstream.commit("Merge pull request #3", both, merges=["topic"])
    upstream.commit("Admit less (#4)", pool(fix("evict"), OTHER_FUNCTION, fix("admit")))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    assert [merged.commit for merged in shown(report, EvidenceKind.MERGED)] == [landed]


def test_merged_reverted_and_merged_again(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Take one less (#2)", pool(fix("evict")))
    upstream.commit('Revert "Take one less (#2)" (#3)', {POOL_PATH: POOL})
    again = upstream.commit("Reland: take one less (#4)", pool(fix("evict")))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    (merged,) = shown(report, EvidenceKind.MERGED)
    assert (merged.commit, merged.pr) == (again, 4)


def test_landed_in_pieces(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("admit"), fix("evict"), fix("drain")))
    first = upstream.commit("Admit less (#2)", pool(fix("admit")))
    second = upstream.commit("The rest (#3)", pool(fix("admit"), fix("evict"), fix("drain")))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    assert [merged.commit for merged in shown(report, EvidenceKind.MERGED)] == [second, first]
    assert [hunk.commit for hunk in report.hunks] == [first, second, second]


def test_the_first_tag_is_the_first_in_the_lock_that_has_it(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Take one less (#2)", pool(fix("evict")))
    upstream.tag("v2")
    upstream.commit("Settle now (#3)", pool(CONTEXT, fix("evict")))
    upstream.tag("v3")
    report = judged(upstream, patch, bases=("v1", "v2", "v3")).report
    (merged,) = shown(report, EvidenceKind.MERGED)
    assert merged.first_tag == "v2"


def test_a_cherry_pick_on_the_release_branch(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.branch("release/v2")
    upstream.commit("Take one less (#7)", pool(fix("evict")))
    picked = upstream.commit("Take one less (#7) (#9)", pool(fix("evict")), branch="release/v2")
    upstream.tag("v2", at="release/v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    (merged,) = shown(report, EvidenceKind.MERGED)
    assert (merged.commit, merged.pr, merged.first_tag) == (picked, 7, "v2")


def test_a_merge_that_the_release_branch_lacks(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")), trailers={"X-Upstream-PR": "7"})
    upstream.branch("release/v2")
    upstream.commit("Take one less (#7)", pool(fix("evict")))
    upstream.tag("v2", at="release/v2")
    assert judged(upstream, patch).report.verdict is Verdict.CLEAN


def test_a_number_in_a_subject_is_no_proof(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")), trailers={"X-Upstream-PR": "7"})
    upstream.commit("Take one less (#7)", pool(OTHER_FUNCTION))
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert carried(judgement) == patch


@pytest.mark.parametrize(
    ("edits", "landing"),
    [
        ({"app/new.py": "new\n"}, {"app/new.py": "new\n"}),
        ({QUEUE_PATH: None}, {QUEUE_PATH: None}),
        ({"README": executable("An upstream.\n")}, {"README": executable("An upstream.\n")}),
        ({"app/link": symlink("pool.py")}, {"app/link": symlink("pool.py")}),
        ({"logo": b"\0\1\2"}, {"logo": b"\0\1\2"}),
        ({QUEUE_PATH: None, "app/line.py": QUEUE}, {QUEUE_PATH: None, "app/line.py": QUEUE}),
    ],
    ids=["added", "deleted", "mode", "symlink", "binary", "renamed"],
)
def test_a_change_without_hunks_landed(upstream: Miniature, edits: Edits, landing: Edits) -> None:
    patch = upstream.patch("v1", edits)
    landed = upstream.commit("Take it (#2)", {**landing, POOL_PATH: POOL + "# more\n"})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    assert [merged.commit for merged in shown(report, EvidenceKind.MERGED)] == [landed]


def test_a_file_added_by_both_with_other_content(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {"app/new.py": "ours\n"})
    upstream.commit("Add it otherwise (#2)", {"app/new.py": "theirs\n"})
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.CONFLICT


def test_a_file_deleted_by_the_patch_and_edited_upstream(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {QUEUE_PATH: None})
    upstream.commit("Pull less (#2)", {QUEUE_PATH: edited(QUEUE, fix("pull"))})
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.CONFLICT


# Runs of patches


def test_a_file_added_by_one_patch_and_edited_by_the_next(upstream: Miniature) -> None:
    added = module("steal", "lend", "audit")
    whole = {"app/loan.py": edited(added, fix("lend"))}
    patches = stack(upstream, {"app/loan.py": added}, whole)
    landed = upstream.commit("Lend pages (#2)", whole)
    upstream.tag("v2")
    result = rebased(upstream, patches)
    assert verdicts(result) == {"p1.patch": Verdict.UPSTREAMED, "p2.patch": Verdict.UPSTREAMED}
    for report in result.report.patches:
        assert landed in [merged.commit for merged in shown(report, EvidenceKind.MERGED)]


@pytest.mark.parametrize("more", [{}, pool(fix("drain"))])
def test_a_file_deleted_by_one_patch_and_added_anew_by_the_next(
    upstream: Miniature, more: Edits
) -> None:
    """Upstream deletes its own: there is a place for ours."""
    patches = stack(upstream, {QUEUE_PATH: None}, {QUEUE_PATH: "LIMIT = 4\n", **more})
    upstream.commit("Queue no more (#2)", {QUEUE_PATH: None})
    upstream.tag("v2")
    result = rebased(upstream, patches)
    assert verdicts(result) == {"p1.patch": Verdict.UPSTREAMED, "p2.patch": Verdict.CLEAN}
    assert carried(result.judgements["p2.patch"]) == patches["p2.patch"]
    assert all(path.old == path.new for path in reports(result)["p2.patch"].paths)


def test_a_line_changed_by_one_patch_and_again_by_the_next(upstream: Miniature) -> None:
    twice = pool((take("evict"), take("evict", " - 1, force=True")))
    patches = stack(upstream, pool(fix("evict")), twice)
    upstream.commit("Force it (#2)", twice)
    upstream.tag("v2")
    assert verdicts(rebased(upstream, patches)) == {
        "p1.patch": Verdict.UPSTREAMED,
        "p2.patch": Verdict.UPSTREAMED,
    }


def test_a_run_of_which_upstream_has_another_shape(upstream: Miniature) -> None:
    added = module("steal", "lend", "audit")
    patches = stack(upstream, {"app/loan.py": added}, {"app/loan.py": edited(added, fix("lend"))})
    upstream.commit("Lend (#2)", {"app/loan.py": edited(added, (take("lend"), take("lend", "+2")))})
    upstream.tag("v2")
    result = rebased(upstream, patches)
    assert Action.DROP not in [report.action for report in result.report.patches]


# Almost, but not


TWIN = (
    "    # how much is in use\n"
    "    total = 0\n"
    "    for page in pages:\n"
    "        total += 1\n"
    "    # what is lent counts\n"
    "    # and what is not\n"
    "    return total\n"
    "\n"
    "\n"
)
MENDED_TWIN = TWIN.replace("total += 1\n", "total += page.size_in_use()\n")


def twins(first: str, second: str, lead: int = 60) -> str:
    """Two functions of one body, far apart, below ``lead`` lines."""
    filler = "".join(f"FILL_{number} = {number}\n" for number in range(20))
    head = "".join(f"LEAD_{number} = {number}\n" for number in range(lead))
    return f"{head}def first(pages):\n{first}{filler}def second(pages):\n{second}END = 1\n"


def test_the_same_edit_in_another_function(miniature: MakeMiniature) -> None:
    upstream = miniature()
    upstream.commit("Start", {"twins.py": twins(TWIN, TWIN)})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"twins.py": twins(MENDED_TWIN, TWIN)})
    upstream.commit("Count what is in use (#2)", {"twins.py": twins(TWIN, MENDED_TWIN)})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert carried(judgement) == patch


def test_a_twin_stands_where_the_line_numbers_point(miniature: MakeMiniature) -> None:
    """Strict apply alone would edit the wrong function, and say nothing."""
    upstream = miniature()
    upstream.commit("Start", {"twins.py": twins(TWIN, TWIN)})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"twins.py": twins(MENDED_TWIN, TWIN)})
    upstream.commit("Shorten (#2)", {"twins.py": twins(TWIN, TWIN, lead=30)})
    upstream.tag("v2")
    wrong = placed(upstream, "v2", patch)["twins.py"].decode()
    assert wrong == twins(TWIN, MENDED_TWIN, lead=30)
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.ADAPTED
    right = placed(upstream, "v2", carried(judgement))["twins.py"].decode()
    assert right == twins(MENDED_TWIN, TWIN, lead=30)


def test_only_the_indentation_differs(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(before("evict", "pool.check(page)")))
    upstream.commit("Check (#2)", pool(before("evict", "pool.check(page)", indent=4)))
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.CONFLICT


def test_upstream_has_it_in_a_block_of_other_indentation(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    indented = "".join(
        f"    {line}" for line in edited(function("evict"), fix("evict")).splitlines(keepends=True)
    )
    upstream.commit("Guard it (#2)", pool((function("evict"), f"if True:\n{indented}")))
    upstream.tag("v2")
    assert judged(upstream, patch).report.action is Action.REVIEW


def test_one_of_two_hunks_taken(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("admit"), fix("drain")))
    landed = upstream.commit("Admit less (#2)", pool(fix("admit")))
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    report = judgement.report
    assert report.verdict is Verdict.PARTIAL
    assert states(report) == [HunkState.UPSTREAM, HunkState.CARRIED]
    assert [merged.commit for merged in shown(report, EvidenceKind.MERGED)] == [landed]
    raw = carried(judgement)
    assert b"take_admit" not in raw
    after = placed(upstream, "v2", raw)[POOL_PATH].decode()
    assert after == edited(POOL, fix("admit"), fix("drain"))


def test_one_of_two_files_taken(upstream: Miniature) -> None:
    queue = {QUEUE_PATH: edited(QUEUE, fix("pull"))}
    patch = upstream.patch("v1", {**pool(fix("evict")), **queue})
    upstream.commit("Pull less (#2)", queue)
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.PARTIAL
    assert carried(judgement) == patch[: patch.index(b"diff --git a/app/queue.py")]


def test_one_hunk_reverted(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("admit"), fix("drain")))
    upstream.commit("Take less (#2)", pool(fix("admit"), fix("drain")))
    upstream.commit("Drain as before (#3)", pool(fix("admit")))
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.PARTIAL
    assert states(judgement.report) == [HunkState.UPSTREAM, HunkState.CARRIED]
    assert b"take_drain" in carried(judgement)


def test_our_line_and_a_neighbour(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(before("evict", "pool.check(page)")))
    both = before("evict", "pool.check(page)\n        pool.count(page)")
    upstream.commit("Check and count (#2)", pool(both))
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.UPSTREAMED


def test_our_line_elsewhere_in_the_file(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(before("evict", "pool.check_evictable(page)")))
    total = "    return pool.evict_total\n"
    moved = (total, f"    pool.check_evictable(page)\n{total}")
    upstream.commit("Check at the end (#2)", pool(moved))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    (evidence,) = shown(report, EvidenceKind.DUPLICATE)
    assert evidence.paths == (POOL_PATH,)


def test_our_line_elsewhere_beside_what_landed(upstream: Miniature) -> None:
    """The other hunk is told of, out of all that the patch has."""
    check = "pool.check_evictable(page)"
    patch = upstream.patch("v1", pool(before("evict", check), fix("drain")))
    total = "    return pool.evict_total\n"
    upstream.commit("Check at the end (#2)", pool((total, f"    {check}\n{total}"), fix("drain")))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.SUPERSEDED
    assert len(shown(report, EvidenceKind.DUPLICATE)) == 1
    assert [item.text for item in shown(report, EvidenceKind.MERGED)] == ["1 of 2 hunks are in v2"]
    assert states(report) == [HunkState.CONFLICTING, HunkState.UPSTREAM]


def test_a_line_that_was_there_twice_before_is_no_duplicate(upstream: Miniature) -> None:
    """What the old base had already says nothing about what upstream did."""
    patch = upstream.patch("v1", pool(before("evict", 'limit = pool.limit_of("admit")')))
    upstream.commit("Drain now (#2)", pool(OTHER_FUNCTION))
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.CLEAN


def test_landed_in_another_shape(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("admit"), fix("drain")), trailers={"X-Upstream-PR": "2"})
    landed = upstream.commit(
        "Take less (#2)", pool(fix("admit"), (take("drain"), take("drain", " // 2")))
    )
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    report = judgement.report
    assert report.verdict is Verdict.SUPERSEDED
    assert report.action is Action.REVIEW
    assert states(report) == [HunkState.UPSTREAM, HunkState.CONFLICTING]
    (merged,) = shown(report, EvidenceKind.MERGED)
    assert (merged.commit, merged.pr) == (landed, 2)
    assert "1 of 2 hunks" in merged.text
    assert judgement.patch is None


def test_a_conflict_names_the_commit(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Settle drains (#2)", pool(OTHER_FUNCTION))
    guilty = upstream.commit(
        "Halve it (#3)", pool(OTHER_FUNCTION, (take("evict"), take("evict", " // 2")))
    )
    upstream.commit("More (#4)", pool(fix("admit"), (take("evict"), take("evict", " // 2"))))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    assert states(report) == [HunkState.CONFLICTING]
    (evidence,) = shown(report, EvidenceKind.CONFLICTING_CHANGE)
    assert (evidence.commit, evidence.pr) == (guilty, 3)


# Gone


def test_a_deleted_file(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Settle now (#2)", pool(CONTEXT))
    deleted = upstream.commit("Drop the pool (#3)", {POOL_PATH: None})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UNREACHABLE
    assert states(report) == [HunkState.GONE]
    (gone,) = shown(report, EvidenceKind.PATH_GONE)
    assert (gone.commit, gone.pr, gone.first_tag) == (deleted, 3, "v2")
    assert gone.paths == (POOL_PATH,)


def test_a_deleted_file_whose_code_lives_on_elsewhere(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    home = "".join(module(f"other{number}") for number in range(20))
    upstream.commit(
        "Move eviction (#2)", {POOL_PATH: None, "core/all.py": home + function("evict")}
    )
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.MOVED
    (moved,) = shown(report, EvidenceKind.CODE_MOVED)
    assert moved.paths == ("core/all.py",)
    assert "core/all.py" in moved.text


def test_a_deleted_file_whose_code_has_a_copy_from_before(upstream: Miniature) -> None:
    """The copy may need the fix: a reviewer is shown where it is."""
    upstream.commit("Copy (#2)", {"old/copy.py": "# a copy\n" + POOL})
    upstream.tag("v1")
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Drop the pool (#3)", {POOL_PATH: None})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    assert shown(report, EvidenceKind.CODE_MOVED)[0].paths == ("old/copy.py",)


def test_a_deleted_file_that_says_too_little(upstream: Miniature) -> None:
    upstream.commit("Add numbers", {"numbers": "1\n2\n3\n4\n5\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"numbers": "1\n2\n33\n4\n5\n"})
    upstream.commit("Drop numbers (#2)", {"numbers": None})
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.CONFLICT


def test_a_deleted_function(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    deleted = upstream.commit("Evict no more (#2)", pool((function("evict"), "")))
    upstream.commit("Drain now (#3)", pool((function("evict"), ""), OTHER_FUNCTION))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UNREACHABLE
    assert deleted in [evidence.commit for evidence in report.evidence]


def test_a_function_that_went_to_another_file(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit(
        "Evict in the queue (#2)",
        {**pool((function("evict"), "")), QUEUE_PATH: QUEUE + function("evict")},
    )
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.MOVED
    assert QUEUE_PATH in shown(report, EvidenceKind.CODE_MOVED)[0].paths


def test_a_function_under_a_new_name(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    renamed = ("def evict(pool, batch):\n", "def evict_some(pool, batch, at_most):\n")
    halved = (take("evict"), take("evict", " // 2"))
    upstream.commit("Evict some (#2)", pool(renamed, halved))
    upstream.tag("v2")
    assert judged(upstream, patch).report.action is Action.REVIEW


def test_a_gone_hunk_beside_a_living_one(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {**pool(fix("evict")), QUEUE_PATH: edited(QUEUE, fix("pull"))})
    deleted = upstream.commit("Drop the queue (#2)", {QUEUE_PATH: None})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CONFLICT
    assert states(judgement.report) == [HunkState.CARRIED, HunkState.GONE]
    assert [gone.commit for gone in shown(judgement.report, EvidenceKind.PATH_GONE)] == [deleted]
    assert judgement.patch is None


def test_a_gone_hunk_beside_one_that_landed(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {**pool(fix("evict")), QUEUE_PATH: edited(QUEUE, fix("pull"))})
    upstream.commit("Drop the queue, take less (#2)", {**pool(fix("evict")), QUEUE_PATH: None})
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.CONFLICT


def test_backwards_to_before_the_file(upstream: Miniature) -> None:
    """No commit on the way back deleted it, so nothing proves that the patch is not needed."""
    upstream.commit("Add loans (#2)", {"app/loan.py": module("lend")})
    upstream.tag("v2")
    patch = upstream.patch("v2", {"app/loan.py": edited(module("lend"), fix("lend"))})
    report = judged(upstream, patch, bases=("v2", "v1")).report
    assert report.verdict is Verdict.CONFLICT


def test_backwards_over_a_change_of_context(upstream: Miniature) -> None:
    upstream.commit("Settle now (#2)", pool(CONTEXT))
    upstream.tag("v2")
    patch = upstream.patch("v2", pool(CONTEXT, fix("evict")))
    judgement = judged(upstream, patch, bases=("v2", "v1"))
    assert judgement.report.verdict is Verdict.ADAPTED
    after = placed(upstream, "v1", carried(judgement))[POOL_PATH].decode()
    assert after == edited(POOL, fix("evict"))


def test_deleted_then_added_again(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Drop the pool (#2)", {POOL_PATH: None})
    upstream.commit('Revert "Drop the pool" (#3)', {POOL_PATH: edited(POOL, OTHER_FUNCTION)})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert carried(judgement) == patch


# Moved


def test_a_renamed_file(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    moved = upstream.move(POOL_PATH, "core/pages.py", "Rename the pool (#2)")
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    report = judgement.report
    assert report.verdict is Verdict.MOVED
    assert [(path.old, path.new) for path in report.paths] == [(POOL_PATH, "core/pages.py")]
    (evidence,) = shown(report, EvidenceKind.PATH_MOVED)
    assert (evidence.commit, evidence.pr) == (moved, 2)
    raw = carried(judgement)
    assert raw[raw.index(b"@@ ") :] == patch[patch.index(b"@@ ") :]
    assert raw[: raw.index(b"diff --git")] == patch[: patch.index(b"diff --git")]
    assert placed(upstream, "v2", raw) == {"core/pages.py": edited(POOL, fix("evict")).encode()}


def test_a_moved_directory_with_a_file_that_the_patch_adds(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {**pool(fix("evict")), "app/new/tiny.py": "tiny\n"})
    moved = upstream.move("app", "lib/core", "Move everything (#2)")
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    # upstream moved what it had: nothing is told of a move of the new file
    found = [(e.commit, e.paths) for e in shown(judgement.report, EvidenceKind.PATH_MOVED)]
    assert found == [(moved, ("lib/core/pool.py",))]
    assert placed(upstream, "v2", carried(judgement)) == {
        "lib/core/new/tiny.py": b"tiny\n",
        "lib/core/pool.py": edited(POOL, fix("evict")).encode(),
    }


def test_a_split_directory_file_by_file(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {**pool(fix("evict")), QUEUE_PATH: edited(QUEUE, fix("pull"))})
    upstream.move(POOL_PATH, "memory/pool.py", "Split, 1 (#2)")
    upstream.move(QUEUE_PATH, "sched/queue.py", "Split, 2 (#3)")
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    assert len(shown(judgement.report, EvidenceKind.PATH_MOVED)) == 2
    assert set(placed(upstream, "v2", carried(judgement))) == {"memory/pool.py", "sched/queue.py"}


def test_an_added_file_in_a_split_directory(upstream: Miniature) -> None:
    """It is placed, and the report names where else it may belong."""
    patch = upstream.patch("v1", {"app/tiny.py": "tiny\n"})
    upstream.move(POOL_PATH, "memory/pool.py", "Split, 1 (#2)")
    upstream.move(QUEUE_PATH, "sched/queue.py", "Split, 2 (#3)")
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    assert set(placed(upstream, "v2", carried(judgement))) == {"memory/tiny.py"}
    (split,) = shown(judgement.report, EvidenceKind.DIRECTORY_SPLIT)
    assert split.paths == ("sched",)
    (note,) = judgement.report.notes
    assert note.startswith("directory-split: ")
    assert "sched" in note


def test_renamed_and_edited_at_once(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    changed = edited(POOL, CONTEXT)
    upstream.commit("Rename and settle (#2)", {POOL_PATH: None, "core/pages.py": changed})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.ADAPTED
    assert [path.new for path in judgement.report.paths] == ["core/pages.py"]
    assert placed(upstream, "v2", carried(judgement)) == {
        "core/pages.py": edited(changed, fix("evict")).encode()
    }


def test_renamed_twice(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.move(POOL_PATH, "app/b.py", "Rename (#2)")
    upstream.move("app/b.py", "app/c.py", "Rename again (#3)")
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.MOVED
    assert [path.new for path in report.paths] == ["app/c.py"]


def test_landed_between_two_renames(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.move(POOL_PATH, "app/b.py", "Rename (#2)")
    landed = upstream.commit("Take less (#3)", {"app/b.py": edited(POOL, fix("evict"))})
    upstream.move("app/b.py", "app/c.py", "Rename again (#4)")
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    assert [merged.commit for merged in shown(report, EvidenceKind.MERGED)] == [landed]


def test_a_patch_that_renames(upstream: Miniature) -> None:
    changed = edited(POOL, fix("evict"))
    patch = upstream.patch("v1", {POOL_PATH: None, "app/pages.py": changed})
    assert b"rename from app/pool.py" in patch
    upstream.commit("Drain now (#2)", pool(OTHER_FUNCTION))
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert carried(judgement) == patch


def test_a_patch_that_renames_in_a_moved_directory(upstream: Miniature) -> None:
    changed = edited(POOL, fix("evict"))
    patch = upstream.patch("v1", {POOL_PATH: None, "app/pages.py": changed})
    upstream.move("app", "core", "Move everything (#2)")
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    assert b"rename from core/pool.py\nrename to core/pages.py\n" in carried(judgement)
    assert placed(upstream, "v2", carried(judgement)) == {"core/pages.py": changed.encode()}


@pytest.mark.parametrize("change", [None, OTHER_FUNCTION], ids=["as it is", "and edited"])
def test_upstream_renamed_as_the_patch_does(upstream: Miniature, change: Change | None) -> None:
    """Left of the patch is its edit: that, or a person; the file that both want stays."""
    patch = upstream.patch("v1", {POOL_PATH: None, "app/pages.py": edited(POOL, fix("evict"))})
    assert b"rename to app/pages.py" in patch
    theirs = edited(POOL, change) if change else POOL
    upstream.commit("Rename the pool (#2)", {POOL_PATH: None, "app/pages.py": theirs})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    wanted = {"app/pages.py": edited(theirs, fix("evict")).encode()}
    review = judgement.report.action is Action.REVIEW
    assert review or placed(upstream, "v2", carried(judgement)) == wanted


def test_predicates_follow_a_move(upstream: Miniature) -> None:
    trailers = {
        "X-Retire-When": ["path-missing app/pool.py", "contains 'app/pool.py' never"],
        "X-Verify": "contains README upstream",
        "Last-Update": "2025-01-01",
    }
    patch = upstream.patch("v1", pool(fix("evict")), trailers=trailers)
    upstream.move(POOL_PATH, "core/the pages.py", "Rename the pool (#2)")
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    head = carried(judgement).split(b"diff --git")[0]
    expected = patch.split(b"diff --git")[0]
    for old in (b"missing app/pool.py", b"contains 'app/pool.py'"):
        expected = expected.replace(old, old.split(b" ")[0] + b" 'core/the pages.py'")
    assert head == expected


# Byte for byte


@pytest.mark.parametrize(
    ("content", "edits"),
    [
        (POOL, {"it": edited(POOL, fix("evict"))}),
        (POOL.replace("\n", "\r\n"), {"it": edited(POOL, fix("evict")).replace("\n", "\r\n")}),
        (
            POOL.encode() + b"# \xe9\xff\n",
            {"it": edited(POOL, fix("drain")).encode() + b"# \xe9\n"},
        ),
        (POOL, {"it": executable(POOL)}),
        (POOL, {"it": executable(edited(POOL, fix("evict")))}),
        (POOL, {"it": edited(POOL, fix("drain")).rstrip("\n")}),
        (POOL.rstrip("\n"), {"it": edited(POOL, fix("drain")).rstrip("\n")}),
        (POOL, {"logo": bytes(range(256))}),
        (POOL, {"link": symlink("it")}),
        (POOL, {"it": None}),
        (POOL, {"dir with space/ü": "x\n"}),
    ],
    ids=[
        "text",
        "crlf",
        "not utf-8",
        "mode",
        "mode and text",
        "newline lost",
        "no newline",
        "binary",
        "symlink",
        "deleted",
        "odd name",
    ],
)
def test_clean_is_byte_for_byte(
    miniature: MakeMiniature, content: bytes | str, edits: Edits
) -> None:
    upstream = miniature()
    upstream.commit("Start", {"it": content})
    upstream.tag("v1")
    patch = upstream.patch("v1", edits, body="Pröse.", trailers={"Last-Update": "2025-01-01"})
    upstream.commit("Other work (#2)", {"other": "work\n"})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert carried(judgement) == patch


def test_stale_line_numbers_and_ids_stay(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Say what it is (#2)", {POOL_PATH: "# The pool.\n" * 7 + POOL})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert [hunk.offset for hunk in judgement.report.hunks] == [7]
    assert carried(judgement) == patch


def test_a_bare_diff_stays_bare(upstream: Miniature) -> None:
    prose = b"Take one less,\nfor the page that is lent.\n\n"
    patch = prose + upstream.bare_diff("v1", pool(fix("evict")))
    upstream.commit("Other work (#2)", pool(OTHER_FUNCTION))
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert carried(judgement) == patch


def test_adapted_rewrites_one_section_only(upstream: Miniature) -> None:
    patch = upstream.patch(
        "v1",
        {**pool(fix("evict")), QUEUE_PATH: edited(QUEUE, fix("pull"))},
        trailers={"Last-Update": "2025-01-01"},
    )
    upstream.commit(
        "Settle now (#2)", {**pool(CONTEXT), QUEUE_PATH: "# Lines that shift it.\n" + QUEUE}
    )
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.ADAPTED
    raw = carried(judgement)
    queue = b"diff --git a/app/queue.py"
    assert raw[raw.index(queue) :] == patch[patch.index(queue) :]
    assert raw[: raw.index(b"diff --git")] == patch[: patch.index(b"diff --git")]
    assert raw != patch
    assert placed(upstream, "v2", raw)[POOL_PATH].decode() == edited(POOL, CONTEXT, fix("evict"))


def test_an_adapted_patch_is_clean_the_next_time(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Settle now (#2)", pool(CONTEXT))
    upstream.tag("v2")
    adapted = carried(judged(upstream, patch))
    upstream.commit("Drain now (#3)", pool(CONTEXT, OTHER_FUNCTION))
    upstream.tag("v3")
    workspace = make_workspace(
        upstream,
        {"it.patch": adapted},
        bases=("v2", "v3"),
        on="v2",
        root=upstream.path.parent / "next",
    )
    result = judge_series(open_project(workspace, upstream), "v2", "v3")
    assert verdicts(result) == {"it.patch": Verdict.CLEAN}
    assert carried(result.judgements["it.patch"]) == adapted


# Tags on release branches


def test_only_the_paths_of_the_patch_change(upstream: Miniature) -> None:
    """The natural merge base of two tags would bring release-only commits along, or collide."""
    upstream.branch("release/v1")
    upstream.commit("v1 it is", {"VERSION": "1\n", "notes": "one\n"}, branch="release/v1")
    upstream.tag("v1", at="release/v1")
    upstream.commit("Drain now (#2)", pool(OTHER_FUNCTION))
    upstream.branch("release/v2")
    upstream.commit("v2 it is", {"VERSION": "2\n"}, branch="release/v2")
    upstream.tag("v2", at="release/v2")
    patch = upstream.patch("v1", pool(fix("evict")))
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert placed(upstream, "v2", carried(judgement)) == {
        POOL_PATH: edited(POOL, OTHER_FUNCTION, fix("evict")).encode()
    }


def test_a_fix_on_the_old_release_branch_alone(upstream: Miniature) -> None:
    """A hotfix of v1 that v2 never got is not the patch's to bring along."""
    upstream.branch("release/v1")
    upstream.commit("Hotfix (#2)", pool(OTHER_FUNCTION), branch="release/v1")
    upstream.tag("v1", at="release/v1")
    upstream.commit("Admit less (#3)", pool(fix("admit")))
    upstream.tag("v2")
    patch = upstream.patch("v1", pool(OTHER_FUNCTION, fix("evict")))
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    after = placed(upstream, "v2", carried(judgement))[POOL_PATH].decode()
    assert after == edited(POOL, fix("admit"), fix("evict"))


# Stacks


def test_patches_on_neighbouring_lines(upstream: Miniature) -> None:
    patches = stack(upstream, pool(fix("evict")), pool(fix("evict"), NEIGHBOUR))
    upstream.commit("Drain now (#2)", pool(OTHER_FUNCTION))
    upstream.tag("v2")
    result = rebased(upstream, patches)
    assert set(verdicts(result).values()) == {Verdict.CLEAN}
    assert {name: carried(each) for name, each in result.judgements.items()} == patches


def test_a_patch_on_one_that_landed(upstream: Miniature) -> None:
    patches = stack(upstream, pool(fix("evict")), pool(fix("evict"), NEIGHBOUR))
    upstream.commit("Take one less (#2)", pool(fix("evict")))
    upstream.tag("v2")
    result = rebased(upstream, patches)
    assert verdicts(result) == {"p1.patch": Verdict.UPSTREAMED, "p2.patch": Verdict.CLEAN}


def test_a_conflict_blocks_what_stands_on_it(upstream: Miniature) -> None:
    queue = {QUEUE_PATH: edited(QUEUE, fix("pull"))}
    patches = stack(upstream, pool(fix("evict")), pool(fix("evict"), NEIGHBOUR), queue)
    upstream.commit("Halve it (#2)", pool((take("evict"), take("evict", " // 2"))))
    upstream.tag("v2")
    found = reports(rebased(upstream, patches))
    assert found["p1.patch"].verdict is Verdict.CONFLICT
    assert found["p1.patch"].blocked_by == ()
    assert found["p2.patch"].verdict is Verdict.CONFLICT
    assert found["p2.patch"].blocked_by == ("p1.patch",)
    assert found["p3.patch"].verdict is Verdict.CLEAN
    assert found["p3.patch"].blocked_by == ()


def test_a_conflict_elsewhere_in_the_file_stops_nothing(upstream: Miniature) -> None:
    patches = stack(upstream, pool(fix("admit")), pool(fix("admit"), fix("drain")))
    upstream.commit("Halve it (#2)", pool((take("admit"), take("admit", " // 2"))))
    upstream.tag("v2")
    assert verdicts(rebased(upstream, patches)) == {
        "p1.patch": Verdict.CONFLICT,
        "p2.patch": Verdict.CLEAN,
    }


def test_a_patch_stands_on_those_of_its_own_guards(upstream: Miniature) -> None:
    patches = {
        **stack(upstream, pool(fix("evict")), pool(fix("evict"), NEIGHBOUR)),
        "plain.patch": upstream.patch("v1", pool((take("evict"), take("evict", " + 9")))),
    }
    series = "p1.patch #+slim\np2.patch #+slim\nplain.patch\n"
    upstream.commit("Drain now (#2)", pool(OTHER_FUNCTION))
    upstream.tag("v2")
    result = rebased(upstream, patches, series=series)
    assert set(verdicts(result).values()) == {Verdict.CLEAN}


def test_a_patch_stands_on_those_of_the_default_guards(upstream: Miniature) -> None:
    patches = stack(upstream, pool(fix("evict")), pool(fix("evict"), NEIGHBOUR))
    series = "p1.patch #+slim\np2.patch\n"
    upstream.commit("Drain now (#2)", pool(OTHER_FUNCTION))
    upstream.tag("v2")
    result = rebased(upstream, patches, series=series, settings="default_guards: [slim]\n")
    assert set(verdicts(result).values()) == {Verdict.CLEAN}
    assert result.report.guards == ("slim",)


def test_a_required_patch_that_is_missing(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")), trailers={"X-Requires": "lower.patch"})
    upstream.commit("Other work (#2)", pool(OTHER_FUNCTION))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    assert report.blocked_by == ("lower.patch",)
    assert "lower.patch" in shown(report, EvidenceKind.REQUIRES)[0].text


def test_a_required_patch_is_missing_but_its_end_has_come(upstream: Miniature) -> None:
    trailers = {"X-Requires": "lower.patch", "X-Retire-When": "path-exists app/new.py"}
    patch = upstream.patch("v1", pool(fix("evict")), trailers=trailers)
    upstream.commit("Other work (#2)", {"app/new.py": "new\n"})
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.EXPIRED


def test_a_required_patch_that_is_there(upstream: Miniature) -> None:
    lower = upstream.patch("v1", pool(fix("admit")))
    upper = upstream.patch("v1", pool(fix("drain")), trailers={"X-Requires": "lower.patch"})
    upstream.commit("Other work (#2)", {"README": "More.\n"})
    upstream.tag("v2")
    result = rebased(upstream, {"lower.patch": lower, "upper.patch": upper})
    assert set(verdicts(result).values()) == {Verdict.CLEAN}


# Predicates


def test_a_predicate_ends_a_patch(upstream: Miniature) -> None:
    patch = upstream.patch(
        "v1", pool(fix("evict")), trailers={"X-Retire-When": r"contains app/queue.py \bpage_hint\b"}
    )
    upstream.commit("Say more (#2)", {QUEUE_PATH: QUEUE + "# pages\n"})
    hinted = upstream.commit("Hint (#3)", {QUEUE_PATH: QUEUE + "page_hint = 1\n"})
    upstream.commit("Hint more (#4)", {QUEUE_PATH: QUEUE + "page_hint = 2\n"})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.EXPIRED
    (evidence,) = shown(report, EvidenceKind.PREDICATE)
    assert (evidence.commit, evidence.pr) == (hinted, 3)
    assert r"contains app/queue.py \bpage_hint\b" in evidence.text


def test_a_moved_file_is_not_a_missing_one(upstream: Miniature) -> None:
    patch = upstream.patch(
        "v1", pool(fix("evict")), trailers={"X-Retire-When": "path-missing app/queue.py"}
    )
    upstream.move(QUEUE_PATH, "app/line.py", "Rename the queue (#2)")
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert b"path-missing app/line.py" in carried(judgement)


def test_what_upstream_has_does_not_expire(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")), trailers={"X-Retire-When": "always"})
    upstream.commit("Take one less (#2)", pool(fix("evict")))
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.UPSTREAMED


@pytest.mark.parametrize("collides", [False, True])
def test_an_expectation_that_fails(upstream: Miniature, collides: bool) -> None:
    patch = upstream.patch(
        "v1", pool(fix("evict")), trailers={"X-Expect": "contains app/queue.py pages_of"}
    )
    respelled = {QUEUE_PATH: QUEUE.replace("pages_of", "all_pages")}
    other = pool((take("evict"), take("evict", " // 2"))) if collides else {}
    upstream.commit("Respell (#2)", {**respelled, **other})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.DRIFTED
    assert judgement.patch is None
    expected = HunkState.CONFLICTING if collides else HunkState.CARRIED
    assert states(judgement.report) == [expected]
    assert [each.pr for each in shown(judgement.report, EvidenceKind.PREDICATE)] == [2]


def test_no_commit_is_blamed_for_an_expectation_that_failed_before(upstream: Miniature) -> None:
    patch = upstream.patch(
        "v1", pool(fix("evict")), trailers={"X-Expect": "contains app/queue.py never_there"}
    )
    upstream.commit("Edit the queue (#2)", {QUEUE_PATH: QUEUE + "# more\n"})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.DRIFTED
    assert [item.commit for item in shown(report, EvidenceKind.PREDICATE)] == [None]


# What is no file


def test_a_file_in_the_place_of_a_directory_is_a_conflict(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {"tools/run.sh": "run\n"})
    blocker = upstream.commit("Make it a file (#2)", {"tools": "not a directory\n"})
    upstream.tag("v2")
    result = rebased(upstream, {"it.patch": patch})
    (report,) = result.report.patches
    assert report.verdict is Verdict.CONFLICT
    (evidence,) = shown(report, EvidenceKind.CONFLICTING_CHANGE)
    assert (evidence.commit, evidence.paths) == (blocker, ("tools",))
    assert result.stop is not None
    assert result.stop.collision is None


def test_a_directory_in_the_place_of_a_file_is_a_conflict(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {"notes": "to self\n"})
    made = upstream.commit("Make notes (#2)", {"notes/a": "one\n", "notes/deep/b": "two\n"})
    upstream.tag("v2")
    (report,) = rebased(upstream, {"it.patch": patch}).report.patches
    assert report.verdict is Verdict.CONFLICT
    (evidence,) = shown(report, EvidenceKind.CONFLICTING_CHANGE)
    assert (evidence.commit, evidence.paths) == (made, ("notes/a",))


def test_a_submodule_has_no_lines(upstream: Miniature) -> None:
    old, new = "1" * 40, "2" * 40
    upstream.commit("Add a submodule", {"lib": submodule(old)})
    upstream.tag("v1s")
    patch = upstream.patch("v1s", {"lib": submodule(new)})
    upstream.commit("Edit another file", {"README": "Read it.\n"})
    upstream.tag("v2")
    assert judged(upstream, patch, bases=("v1s", "v2")).report.verdict is Verdict.CLEAN


# What is taken out


TAKEN = f"        {take('evict')}"
SETTLED = "    pool.settle_drain(batch)\n"


def moved_down() -> Edits:
    return pool((TAKEN, ""), (SETTLED, TAKEN + SETTLED))


def moved_to_another_file() -> Edits:
    return {**pool((TAKEN, "")), QUEUE_PATH: QUEUE + f"\n{take('evict')}"}


def added_again_later() -> Edits:
    return pool((TAKEN, ""), ("    return pool.drain_total\n", TAKEN))


@pytest.mark.parametrize("edits", [moved_down(), moved_to_another_file(), added_again_later()])
@pytest.mark.parametrize("more", [(), (before("grow", "pool.look(page)"),)])
def test_a_line_that_upstream_moved_is_not_taken_out(
    upstream: Miniature, edits: Edits, more: tuple[Change, ...]
) -> None:
    patch = upstream.patch("v1", pool((TAKEN, ""), *more))
    moved = upstream.commit("Take it elsewhere (#2)", edits)
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CONFLICT
    assert judgement.patch is None
    (evidence,) = shown(judgement.report, EvidenceKind.CODE_MOVED)
    assert evidence.commit == moved
    assert "pool.take_evict(page, limit)" in evidence.text
    assert states(judgement.report)[0] is HunkState.CONFLICTING


def test_a_file_whose_code_was_spread_is_not_deleted(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {QUEUE_PATH: None})
    spread = {f"app/{name}.py": function(name) for name in ("push", "pull", "peek")}
    upstream.commit("Spread the queue (#2)", {QUEUE_PATH: None, **spread})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    (evidence,) = shown(report, EvidenceKind.CODE_MOVED)
    assert set(evidence.paths) == set(spread)


def test_a_replaced_line_that_stands_elsewhere_now_is_not_replaced(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Take one less, and once more (#2)", pool(fix("evict"), (SETTLED, TAKEN)))
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.CONFLICT


@pytest.mark.parametrize("line", [TAKEN, "    return pool.evict_total\n"])
def test_what_upstream_took_out_as_well_is_upstreamed(upstream: Miniature, line: str) -> None:
    patch = upstream.patch("v1", pool((line, "")))
    out = upstream.commit("Take it out (#2)", pool((line, "")))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    assert [item.commit for item in shown(report, EvidenceKind.MERGED)] == [out]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_line_of_one_word_is_looked_for_in_the_commit_that_took_it(
    upstream: Miniature, elsewhere: bool
) -> None:
    upstream.commit("Flush it", pool(("    pool.settle_evict(batch)\n", "    flush()\n")))
    upstream.tag("v1b")
    without = {POOL_PATH: edited(POOL, ("    pool.settle_evict(batch)\n", ""))}
    patch = upstream.patch("v1b", without)
    moved = {QUEUE_PATH: QUEUE + "flush()\n"} if elsewhere else {}
    upstream.commit("Flush no more there (#2)", {**without, **moved})
    upstream.tag("v2")
    verdict = judged(upstream, patch, bases=("v1b", "v2")).report.verdict
    assert verdict is (Verdict.CONFLICT if elsewhere else Verdict.UPSTREAMED)


def test_a_patch_that_moves_a_line_itself_is_upstreamed_where_upstream_does(
    upstream: Miniature,
) -> None:
    patch = upstream.patch("v1", moved_down())
    upstream.commit("Take it later (#2)", moved_down())
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.UPSTREAMED


# Archives


WHEEL = "app-2-py3-none-any.whl"


def archived(upstream: Miniature, files: Mapping[str, str], *, suffix: str = ".whl") -> Base:
    """``v2`` as a release archive of ``app/`` only, in the workspace's store."""
    root = upstream.path.parent
    file = root / (WHEEL if suffix == ".whl" else f"app-2{suffix}")
    if suffix == ".whl":
        with zipfile.ZipFile(file, "w") as wheel:
            for name, content in files.items():
                wheel.writestr(zipfile.ZipInfo(name), content)
    else:
        with gzip.open(file, "wb") as stream, tarfile.open(fileobj=stream, mode="w|") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(f"app-2/{name}")
                info.size = len(content.encode())
                tar.addfile(info, io.BytesIO(content.encode()))
    covers = ("/app/**",)
    store = root / "workspace/.patchq/store.git"
    open_store(store)
    made = import_archive(Git(store), file, prefix="", coverage=Coverage(covers), name="v2")
    archive = Archive(str(file), file.name, made.sha256, covers=covers)
    return Base("v2", made.commit, made.tree, made.date, archive)


@pytest.fixture
def kernels(upstream: Miniature) -> Miniature:
    """Upstream with a file that no wheel has."""
    upstream.commit("Add a kernel", {"kernel/copy.cu": module("load", "store")})
    upstream.tag("v1")
    return upstream


@pytest.mark.parametrize("suffix", [".whl", ".tar.gz"])
def test_an_archive_speaks_for_what_it_covers(kernels: Miniature, suffix: str) -> None:
    kernel = kernels.patch(
        "v1",
        {"kernel/copy.cu": edited(module("load", "store"), fix("load"))},
        trailers={"X-Retire-When": "path-missing kernel/copy.cu"},
    )
    python = kernels.patch(
        "v1",
        pool(fix("evict")),
        trailers={"X-Retire-When": "path-missing kernel/copy.cu"},
    )
    both = kernels.patch(
        "v1",
        {
            QUEUE_PATH: edited(QUEUE, fix("pull")),
            "kernel/copy.cu": edited(module("load", "store"), fix("load")),
        },
    )
    landed = kernels.patch("v1", {QUEUE_PATH: edited(QUEUE, fix("peek"))})
    v2 = archived(
        kernels,
        {POOL_PATH: edited(POOL, CONTEXT), QUEUE_PATH: edited(QUEUE, fix("peek"))},
        suffix=suffix,
    )
    patches = {"kernel": kernel, "python": python, "both": both, "landed": landed}
    series = "kernel\npython\nlanded\nboth #+extra\n"
    found = reports(rebased(kernels, patches, bases=("v1", v2), series=series))
    assert found["kernel"].verdict is Verdict.NOT_COVERED
    assert found["kernel"].action is Action.CARRY
    assert states(found["kernel"]) == [HunkState.UNCOVERED]
    (blind,) = shown(found["kernel"], EvidenceKind.NOT_COVERED)
    assert blind.paths == ("kernel/copy.cu",)
    assert blind.text == "v2 is an archive that does not hold kernel/copy.cu"
    assert found["python"].verdict is Verdict.ADAPTED
    assert found["both"].verdict is Verdict.NOT_COVERED
    places = {path.old: path.new for path in found["both"].paths}
    assert places == {QUEUE_PATH: QUEUE_PATH, "kernel/copy.cu": None}
    assert found["landed"].verdict is Verdict.UPSTREAMED


def test_an_uncovered_patch_is_carried_unchanged(kernels: Miniature) -> None:
    kernel = kernels.patch("v1", {"kernel/copy.cu": None})
    v2 = archived(kernels, {POOL_PATH: POOL, QUEUE_PATH: QUEUE})
    judgement = judged(kernels, kernel, bases=("v1", v2))
    assert judgement.report.verdict is Verdict.NOT_COVERED
    assert carried(judgement) == kernel


def test_a_file_gone_from_an_archive_is_for_review(kernels: Miniature) -> None:
    """Without history there is no commit that deleted it, so nothing is retired."""
    patch = kernels.patch("v1", pool(fix("evict")))
    v2 = archived(kernels, {QUEUE_PATH: QUEUE})
    report = judged(kernels, patch, bases=("v1", v2)).report
    assert report.verdict is Verdict.CONFLICT
    assert [gone.commit for gone in shown(report, EvidenceKind.PATH_GONE)] == [None]


def test_files_that_an_archive_leaves_out_are_not_where_code_moved_from(
    kernels: Miniature,
) -> None:
    """A kernel out of sight must not look like one that was renamed into the covered part."""
    patch = kernels.patch("v1", {"kernel/copy.cu": edited(module("load", "store"), fix("load"))})
    v2 = archived(
        kernels, {POOL_PATH: POOL, QUEUE_PATH: QUEUE, "app/copy.py": module("load", "store")}
    )
    assert judged(kernels, patch, bases=("v1", v2)).report.verdict is Verdict.NOT_COVERED


# The report


def test_counts_sum_up_whatever_the_verdict(upstream: Miniature) -> None:
    patches = {
        "clean": upstream.patch("v1", {"README": "An upstream.\nMore.\n"}),
        "partial": upstream.patch("v1", pool(fix("admit"), fix("drain"))),
        "gone": upstream.patch("v1", {QUEUE_PATH: edited(QUEUE, fix("pull"), fix("peek"))}),
    }
    edits = {**pool(fix("admit")), QUEUE_PATH: None, "main.py": "import pool\n"}
    upstream.commit("Admit less (#2)", edits)
    upstream.tag("v2")
    found = reports(rebased(upstream, patches))
    assert [(name, dict(report.count())) for name, report in found.items()] == [
        ("clean", {HunkState.CARRIED: 1}),
        ("partial", {HunkState.UPSTREAM: 1, HunkState.CARRIED: 1}),
        ("gone", {HunkState.GONE: 2}),
    ]


# A file that nothing refers to


HEADER = "inline int tile_bytes(int rows) {\n    return rows * 128;\n}\n"


def kernel(*includes: str) -> str:
    lines = [f'#include "{name}"\n' for name in includes]
    return "".join([*lines, "int main_kernel() { return 0; }\n"])


def tile_patch(upstream: Miniature, trailers: Mapping[str, str] | None = None) -> bytes:
    upstream.commit("A kernel", {"csrc/tile.cuh": HEADER, "csrc/main.cu": kernel("tile.cuh")})
    upstream.tag("v1")
    edit = {"csrc/tile.cuh": HEADER.replace("128", "101")}
    return upstream.patch("v1", edit, trailers=trailers or {})


def test_a_header_that_nothing_names_any_more_is_carried_with_a_note(
    miniature: MakeMiniature,
) -> None:
    """It may be found by a pattern, a template or a macro: a lost name retires nothing."""
    upstream = miniature()
    patch = tile_patch(upstream)
    cut = upstream.commit("Do without tiles (#5)", {"csrc/main.cu": kernel()})
    upstream.commit("Speak of it (#6)", {"csrc/main.cu": kernel() + "// done\n"})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert carried(judgement) == patch
    assert judgement.report.notes == (f"nothing names csrc/tile.cuh since {cut[:9]}",)
    (lost,) = shown(judgement.report, EvidenceKind.UNREFERENCED)
    assert (lost.commit, lost.pr) == (cut, 5)
    assert lost.paths == ("csrc/tile.cuh", "csrc/main.cu")


@pytest.mark.parametrize("name", ["tile+", "+tile"])
def test_a_header_whose_name_is_no_word(miniature: MakeMiniature, name: str) -> None:
    upstream = miniature()
    path = f"csrc/{name}.cuh"
    upstream.commit("A kernel", {path: HEADER, "csrc/main.cu": kernel(f"{name}.cuh")})
    upstream.tag("v1")
    patch = upstream.patch("v1", {path: HEADER.replace("128", "101")})
    cut = upstream.commit("Do without tiles (#5)", {"csrc/main.cu": kernel()})
    upstream.tag("v2")
    assert judged(upstream, patch).report.notes == (f"nothing names {path} since {cut[:9]}",)


def test_a_header_of_the_patch_that_upstream_names_no_more(miniature: MakeMiniature) -> None:
    upstream = miniature()
    upstream.commit("A kernel", {"csrc/main.cu": kernel("tile.cuh")})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"csrc/tile.cuh": HEADER})
    cut = upstream.commit("Do without tiles (#5)", {"csrc/main.cu": kernel()})
    upstream.tag("v2")
    assert judged(upstream, patch).report.notes == (f"nothing names csrc/tile.cuh since {cut[:9]}",)


def test_a_renamed_header_is_asked_for_by_its_new_name(miniature: MakeMiniature) -> None:
    upstream = miniature()
    patch = tile_patch(upstream)
    upstream.move("csrc/tile.cuh", "csrc/block.cuh", "Call it a block (#5)")
    upstream.commit("Include the block (#6)", {"csrc/main.cu": kernel("block.cuh")})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert (report.verdict, report.notes) == (Verdict.MOVED, ())


def test_a_renamed_header_that_nothing_names_by_either_name(miniature: MakeMiniature) -> None:
    upstream = miniature()
    patch = tile_patch(upstream)
    upstream.move("csrc/tile.cuh", "csrc/block.cuh", "Call it a block (#5)")
    upstream.commit("Include the block (#6)", {"csrc/main.cu": kernel("block.cuh")})
    cut = upstream.commit("Do without blocks (#7)", {"csrc/main.cu": kernel()})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.MOVED
    assert report.notes == (f"nothing names csrc/block.cuh since {cut[:9]}",)


def test_a_header_that_a_string_still_names(miniature: MakeMiniature) -> None:
    upstream = miniature()
    patch = tile_patch(upstream)
    upstream.commit(
        "Build it when needed (#5)",
        {"csrc/main.cu": kernel(), "jit.py": 'SOURCES = ["csrc/tile.cuh"]\n'},
    )
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.CLEAN


def test_a_module_that_nothing_names_any_more_is_carried_with_a_note(
    miniature: MakeMiniature,
) -> None:
    upstream = miniature()
    upstream.commit("A", {"app/legacy.py": "LIMIT = 1\n", "app/main.py": "import legacy\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"app/legacy.py": "LIMIT = 2\n"})
    upstream.commit("Scan the directory (#5)", {"app/main.py": "scan('app')\n"})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CLEAN
    assert report.notes


def test_an_adapted_patch_names_the_commit_that_changed_its_context(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Elsewhere (#2)", pool(OTHER_FUNCTION))
    near = upstream.commit("Settle now (#3)", pool(OTHER_FUNCTION, CONTEXT))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.ADAPTED
    assert [item.commit for item in shown(report, EvidenceKind.CONTEXT_CHANGED)] == [near]
