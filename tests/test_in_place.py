"""Patches judged where they stand: on others that are carried, that left, or that are not there."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from miniature import Edits, MakeMiniature, Miniature
from workspaces import make_workspace, open_project

from patchq.engine.judge.case import Case
from patchq.engine.judge.judge import Judge
from patchq.engine.judge.judgement import Judgement
from patchq.engine.rebase.new_series import new_directory
from patchq.engine.rebase.operation import Decision, DecisionKind
from patchq.engine.rebase.rebase import Rebased, judge_series
from patchq.errors import Where
from patchq.model.retired import RecordState, read_retired
from patchq.model.verdict import EvidenceKind, HunkState, Verdict

FILE = "app/core.py"
CORE = "".join(
    f"def f{n}(x):\n    a{n} = x + {n}\n    if x > {n}:\n        return a{n}\n    return {n}\n\n\n"
    for n in range(8)
)
AUDIT = "def audit(record, sink):\n    checked = check(record, sink)\n    sink.append(checked)\n"
STRICT = AUDIT.replace("sink)\n    sink", "sink, strict=True)\n    sink")
STRICTEST = AUDIT.replace("sink)\n    sink", "sink, strict=True, depth=9)\n    sink")


def core(audit: str = "", second: str = "x + 2", fourth: str = "x + 4") -> Edits:
    """The file with ``audit`` at its end, and other values in two functions."""
    text = CORE.replace("a2 = x + 2", f"a2 = {second}").replace("a4 = x + 4", f"a4 = {fourth}")
    return {FILE: text + audit}


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """v2 changes the second function."""
    made = miniature()
    made.commit("Start (#1)", core())
    made.tag("v1")
    made.commit("Subtract y (#4)", core(second="x + 2 - y"))
    made.tag("v2")
    return made


def stacked(upstream: Miniature, *states: Edits, **trailers: Mapping[str, str]) -> dict[str, bytes]:
    """Patches p1, p2, … each from one state of the files to the next; the first stands on v1."""
    at = upstream.id("v1")
    patches = {}
    for number, edits in enumerate(states, 1):
        name = f"p{number}"
        patches[f"{name}.patch"] = upstream.patch(at, edits, trailers=trailers.get(name, {}))
        at = upstream.detached(at, name, edits)
    return patches


def judged(upstream: Miniature, patches: Mapping[str, bytes], series: str | None = None) -> Rebased:
    workspace = make_workspace(upstream, patches, series=series)
    return judge_series(open_project(workspace, upstream), "v1", "v2")


def found(result: Rebased) -> dict[str, tuple[Verdict, tuple[str, ...]]]:
    """Verdict and blockers by the stem of the name."""
    return {
        report.name.removesuffix(".patch"): (report.verdict, report.blocked_by)
        for report in result.report.patches
    }


CONFLICT = (Verdict.CONFLICT, ())
CLEAN = (Verdict.CLEAN, ())


@pytest.mark.parametrize("trailers", [{}, {"X-Requires": "p1.patch"}])
def test_what_stands_on_a_collided_patch_is_held_and_never_retired(
    upstream: Miniature, trailers: dict[str, str]
) -> None:
    """Upstream never had the function that p1 adds: it cannot have taken it out."""
    patches = stacked(upstream, core(AUDIT, "x + 222"), core(STRICT, "x + 222"), p2=trailers)
    result = judged(upstream, patches)
    assert found(result) == {"p1": CONFLICT, "p2": (Verdict.CONFLICT, ("p1.patch",))}
    (evidence,) = result.report.patches[1].evidence
    assert evidence.kind is EvidenceKind.REQUIRES
    assert "p1.patch" in evidence.text
    records = read_retired(new_directory(result)["retired.yaml"], Where("retired.yaml"))
    assert [(record.name, record.standing) for record in records] == [
        ("p1.patch", RecordState.HELD),
        ("p2.patch", RecordState.HELD),
    ]


def test_the_patch_whose_lines_it_edits_is_named_not_the_one_that_added_the_function(
    upstream: Miniature,
) -> None:
    states = core(AUDIT), core(STRICT, "x + 222"), core(STRICTEST, "x + 222")
    assert found(judged(upstream, stacked(upstream, *states))) == {
        "p1": CLEAN,
        "p2": CONFLICT,
        "p3": (Verdict.CONFLICT, ("p2.patch",)),
    }


def test_code_that_is_only_ours_cannot_have_been_removed_by_upstream(upstream: Miniature) -> None:
    """At the first commit upstream lacks the function just as it did at the old tag."""
    upstream.commit("Audit (#5)", core(STRICTEST, "x + 2 - y"))
    upstream.tag("v3")
    patches = stacked(upstream, core(AUDIT, "x + 222"), core("", "x + 222", "x + 444"))
    workspace = make_workspace(upstream, patches, bases=("v1", "v3"))
    result = judge_series(open_project(workspace, upstream), "v1", "v3")
    assert found(result) == {"p1": CONFLICT, "p2": (Verdict.CONFLICT, ("p1.patch",))}
    kinds = {evidence.kind for report in result.report.patches for evidence in report.evidence}
    assert EvidenceKind.MERGED not in kinds


def test_a_patch_that_only_shares_the_file_with_a_collided_one_is_carried(
    upstream: Miniature,
) -> None:
    states = core(AUDIT, "x + 222"), core(AUDIT, "x + 222", "x + 444")
    assert found(judged(upstream, stacked(upstream, *states))) == {"p1": CONFLICT, "p2": CLEAN}


def test_on_an_upstreamed_patch_it_is_judged_normally(upstream: Miniature) -> None:
    upstream.commit("Audit (#5)", core(AUDIT, "x + 2 - y"))
    upstream.tag("v2")
    patches = stacked(upstream, core(AUDIT), core(STRICT), p2={"X-Requires": "p1.patch"})
    assert found(judged(upstream, patches)) == {"p1": (Verdict.UPSTREAMED, ()), "p2": CLEAN}


OTHER = "app/other.py"
GONE_CODE = "".join(
    f"def load_{name}(path, depth):\n    table_{name} = read_{name}(path)\n"
    f"    table_{name}.keep_{name}(depth)\n    return table_{name}.first_{name}()\n\n\n"
    for name in ("pages", "blocks", "roots")
)
GROWN = GONE_CODE.replace("read_pages(path)", "read_pages(path, 8)")
LOWER = (GONE_CODE, GROWN, GROWN.replace("(path, 8)", "(path, 16)"))
"""The code that upstream takes out, with an edit, and with another on that."""


@pytest.fixture
def without_loading(miniature: MakeMiniature) -> Miniature:
    """v2 changes the second function, and takes the loading code out of both files."""
    made = miniature()
    texts = [text for text in core().values() if isinstance(text, str)]
    made.commit("Start (#1)", {FILE: texts[0] + GONE_CODE, OTHER: "start = 1\n\n\n" + CORE})
    made.tag("v1")
    made.commit("Load no more (#4)", core(second="x + 2 - y"))
    made.tag("v2")
    return made


def loading(code: str, second: str = "x + 2", **others: str) -> Edits:
    return {FILE: CORE.replace("a2 = x + 2", f"a2 = {second}") + code, **others}


def test_unreachable_whatever_becomes_of_patches_on_other_files(
    without_loading: Miniature,
) -> None:
    without_loading.commit("Start later (#5)", {OTHER: "start = 2\n\n\n" + CORE})
    without_loading.tag("v2")
    mine = {OTHER: "start = 3\n\n\n" + CORE}
    patches = stacked(without_loading, mine, loading(GROWN, **mine))
    assert found(judged(without_loading, patches)) == {
        "p1": CONFLICT,
        "p2": (Verdict.UNREACHABLE, ()),
    }


LAST = GONE_CODE.replace("first_pages()", "last_pages()")
"""The first of the gone functions with another edit, lines away from that of ``GROWN``."""


@pytest.mark.parametrize(
    ("code", "waits"),
    [
        pytest.param(GONE_CODE, False, id="a function that stays"),
        pytest.param(GONE_CODE.replace("read_roots(path", "read_roots(0"), False, id="another"),
        pytest.param(GONE_CODE + "MARK = 1\n", False, id="outside of all"),
        pytest.param(GONE_CODE.replace("_pages()\n", "_pages()\nMARK = 1\n"), True, id="behind it"),
        pytest.param(GROWN, True, id="the same lines"),
        pytest.param(LAST, True, id="other lines of it"),
        pytest.param(
            LAST.replace("load_blocks(path", "load_blocks(kind, path"), True, id="one hunk over two"
        ),
    ],
)
def test_unreachable_waits_for_a_patch_of_its_code(
    without_loading: Miniature, code: str, waits: bool
) -> None:
    """Not for one that collides in another function of the file."""
    upper = code.replace("def load_pages(path", "def load_pages(first, path")
    states = loading(code, "x + 222"), loading(upper, "x + 222")
    result = judged(without_loading, stacked(without_loading, *states))
    blocked = (Verdict.CONFLICT, ("p1.patch",))
    assert found(result) == {"p1": CONFLICT, "p2": blocked if waits else (Verdict.UNREACHABLE, ())}


def test_unreachable_waits_for_a_patch_of_the_class_around_it(miniature: MakeMiniature) -> None:
    made = miniature()
    body = "    size = 1\n    kind = 'table'\n\n" + "    ".join(GONE_CODE.splitlines(keepends=True))
    tail = f"class Table:\n{body}"
    made.commit("Start (#1)", {FILE: CORE + tail})
    made.tag("v1")
    made.commit("Load no more (#4)", core(second="x + 2 - y"))
    made.tag("v2")
    first = tail.replace("size = 1", "size = 2")
    second = first.replace("read_pages(path", "read_pages(path + 'x'")
    assert found(
        judged(made, stacked(made, loading(first, "x + 222"), loading(second, "x + 222")))
    ) == {"p1": CONFLICT, "p2": (Verdict.CONFLICT, ("p1.patch",))}


def test_unreachable_waits_for_whoever_edits_a_file_without_functions(
    miniature: MakeMiniature,
) -> None:
    """There is no telling what of it belongs together."""
    made = miniature()
    text = "".join(f"entry_{number}: value number {number}\n" for number in range(40))
    made.commit("Start (#1)", {"app/table.yaml": text, "app/other.py": "x = 1\n"})
    made.tag("v1")
    made.commit("Drop it (#2)", {"app/table.yaml": None, "app/other.py": "x = 2\n"})
    made.tag("v2")
    first = text.replace("number 3\n", "number 33\n")
    second = first.replace("number 30\n", "number 303\n")
    mine = {"app/other.py": "x = 3\n"}
    states: list[Edits] = [{"app/table.yaml": each, **mine} for each in (first, second)]
    assert found(judged(made, stacked(made, *states))) == {
        "p1": CONFLICT,
        "p2": (Verdict.CONFLICT, ("p1.patch",)),
    }


def test_unreachable_on_an_unreachable_one(without_loading: Miniature) -> None:
    states = loading(LOWER[1]), loading(LOWER[2])
    result = judged(without_loading, stacked(without_loading, *states))
    assert found(result) == dict.fromkeys(("p1", "p2"), (Verdict.UNREACHABLE, ()))


def test_unreachable_waits_for_each_patch_of_its_code(without_loading: Miniature) -> None:
    """Once it waits for one."""
    second, third = (code.replace("first_pages", "last_pages") for code in LOWER[1:])
    states = loading(LOWER[1]), loading(second, "x + 222"), loading(third, "x + 222")
    assert found(judged(without_loading, stacked(without_loading, *states))) == {
        "p1": (Verdict.UNREACHABLE, ()),
        "p2": CONFLICT,
        "p3": (Verdict.CONFLICT, ("p1.patch", "p2.patch")),
    }


def test_no_hunk_of_a_patch_that_waits_counts_as_gone(without_loading: Miniature) -> None:
    both = LOWER[2].replace("read_roots(path)", "read_roots(path, 8)")
    states = loading(LOWER[1], "x + 222"), loading(both, "x + 222")
    result = judged(without_loading, stacked(without_loading, *states))
    assert found(result) == {"p1": CONFLICT, "p2": (Verdict.CONFLICT, ("p1.patch",))}
    assert [hunk.state for hunk in result.report.patches[1].hunks] == [HunkState.CONFLICTING] * 2


EXPIRED = {"X-Retire-When": f"path-exists {FILE}"}


def test_taking_back_what_an_expired_patch_added_is_no_landing(upstream: Miniature) -> None:
    """Upstream has the file as p2 leaves it, for it never saw p1."""
    patches = stacked(upstream, core(AUDIT), core(), p1=EXPIRED)
    assert found(judged(upstream, patches)) == {
        "p1": (Verdict.EXPIRED, ()),
        "p2": (Verdict.CONFLICT, ("p1.patch",)),
    }


def test_edits_far_apart_in_a_file_that_only_an_expired_patch_adds(upstream: Miniature) -> None:
    new = "app/new.py"
    lines = [f"line {number}\n" for number in range(60)]
    first = [*lines[:3], "LINE 3\n", *lines[4:]]
    second = [*first[:50], "LINE 50\n", *first[51:]]
    states: list[Edits] = [{new: "".join(each)} for each in (lines, first, second)]
    result = judged(upstream, stacked(upstream, *states, p1=EXPIRED))
    assert found(result) == {
        "p1": (Verdict.EXPIRED, ()),
        "p2": (Verdict.CONFLICT, ("p1.patch",)),
        "p3": (Verdict.CONFLICT, ("p1.patch",)),
    }
    hunks = result.report.patches[2].hunks
    assert [hunk.state for hunk in hunks] == [HunkState.CONFLICTING]


def test_a_patch_stands_again_once_the_one_below_it_is_resolved(upstream: Miniature) -> None:
    patches = stacked(upstream, core(AUDIT, "x + 222"), core(STRICT, "x + 222"))
    workspace = make_workspace(upstream, patches)
    at, resolved = upstream.id("v2"), core(AUDIT, "x + 222 - y")
    solved = Decision("p1.patch", DecisionKind.RESOLVED, content=upstream.patch(at, resolved))
    result = judge_series(open_project(workspace, upstream), "v1", "v2", decisions=[solved])
    assert found(result)["p2"] == CLEAN


def test_a_patch_is_a_conflict_where_the_one_below_it_was_skipped(upstream: Miniature) -> None:
    patches = stacked(upstream, core(AUDIT, "x + 222"), core(STRICT, "x + 222"))
    workspace = make_workspace(upstream, patches)
    skipped = Decision("p1.patch", DecisionKind.SKIPPED, reason="not wanted")
    result = judge_series(open_project(workspace, upstream), "v1", "v2", decisions=[skipped])
    assert found(result)["p2"] == (Verdict.CONFLICT, ("p1.patch",))
    assert result.stop is not None
    assert result.stop.collision is not None


def test_a_guarded_patch_that_waits_for_another_is_carried_as_it_is(upstream: Miniature) -> None:
    patches = stacked(upstream, core(AUDIT), core(STRICT), p2={"X-Requires": "absent.patch"})
    waiting = patches["p2.patch"]
    result = judged(upstream, patches, series="p2.patch #+later\np1.patch\n")
    assert found(result) == {"p2": (Verdict.NOT_COVERED, ()), "p1": CLEAN}
    assert not result.report.needs_review
    assert new_directory(result)["p2.patch"] == waiting


def test_a_guarded_patch_that_does_not_apply_is_carried_as_it_is(upstream: Miniature) -> None:
    patches = stacked(upstream, core(AUDIT), core(STRICT))
    waiting = patches["p2.patch"]
    result = judged(upstream, patches, series="p2.patch #+later\n")
    assert found(result) == {"p2": (Verdict.NOT_COVERED, ())}
    assert "its guards are off" in result.report.patches[0].evidence[0].text
    assert new_directory(result)["p2.patch"] == waiting


def test_what_was_judged_is_not_judged_again(
    upstream: Miniature, monkeypatch: pytest.MonkeyPatch
) -> None:
    patches = stacked(upstream, core(AUDIT, "x + 222"), core(STRICT, "x + 222"))
    workspace = make_workspace(upstream, patches)
    first = judge_series(open_project(workspace, upstream), "v1", "v2")

    def judge(_self: Judge, case: Case) -> Judgement:
        raise ValueError(case.patch.name)

    monkeypatch.setattr(Judge, "judge", judge)
    again = judge_series(open_project(workspace, upstream), "v1", "v2")
    assert again.report == first.report


def test_a_fault_in_judging_one_patch_is_its_conflict_and_not_kept(
    upstream: Miniature, monkeypatch: pytest.MonkeyPatch
) -> None:
    patches = stacked(upstream, core(fourth="x + 40"), core(AUDIT, fourth="x + 40"))
    workspace = make_workspace(upstream, patches)
    judge = Judge.judge

    def faulty(self: Judge, case: Case) -> Judgement:
        if case.patch.name == "p1.patch":
            raise ValueError("odd bytes")
        return judge(self, case)

    monkeypatch.setattr(Judge, "judge", faulty)
    result = judge_series(open_project(workspace, upstream), "v1", "v2")
    assert found(result)["p1"] == CONFLICT
    assert found(result)["p2"] == CLEAN
    (evidence,) = result.report.patches[0].evidence
    assert evidence.kind is EvidenceKind.FAULT
    assert "odd bytes" in evidence.text
    monkeypatch.undo()
    again = judge_series(open_project(workspace, upstream), "v1", "v2")
    assert found(again) == {"p1": CLEAN, "p2": CLEAN}
