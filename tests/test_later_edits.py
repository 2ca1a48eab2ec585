"""What a retirement tells of upstream's edits since the lines landed."""

from __future__ import annotations

import json
import re

import pytest
from commandline import CommandLine
from judging import (
    CONTEXT,
    OTHER_FUNCTION,
    POOL,
    POOL_PATH,
    edited,
    fix,
    function,
    judged,
    landed,
    module,
    shown,
)
from miniature import Edits, MakeMiniature
from workspaces import make_workspace

from patchq.model.verdict import EvidenceKind, Verdict

KEPT = "def keep(pool):\n    pool.keep()\n    return pool\n\n\n"
CLASS = "class Pool:\n" + "".join(
    f"    {line}".rstrip() + "\n" for line in (POOL.replace("\n\n\n", "\n\n").splitlines())
)
C = "int\nf(int a)\n{\n\tfirst(a);\n\tsecond(a);\n\treturn 0;\n}\n\nint b;\n"
YAML = "".join(f"key_{number}: {number}\n" for number in range(9))
NESTED = (
    "def f(a):\n    first(a)\n    second(a)\n    third(a)\n"
    "    def g():\n        return a\n    return g\n"
)
COUNT = "LIMIT = 4\nMORE = 5\n\n\n"


def _told(
    miniature: MakeMiniature, path: str, before: str, fixed: str, later: list[Edits]
) -> list[str]:
    """What is told of commits that came after the fix; ``C2`` is the id of the second one."""
    upstream = miniature()
    patch = landed(upstream, {path: before, "README": "Text.\n"}, {path: fixed})
    ids = [upstream.commit(f"Edit {n} (#{n + 2})", edits) for n, edits in enumerate(later, start=1)]
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    found = shown(report, EvidenceKind.EDITED_SINCE)
    assert all(item.commit == upstream.id(f"v2~{len(later)}") for item in found)
    texts = [item.text for item in found]
    for number, oid in enumerate(ids, start=1):
        texts = [text.replace(oid[:9], f"C{number}") for text in texts]
    return texts


FIXED = edited(POOL, fix("evict"))
IN_CLASS = CLASS.replace("take_evict(page, limit)", "take_evict(page, limit - 1)")


@pytest.mark.parametrize(
    ("path", "before", "fixed", "later", "expected"),
    [
        (POOL_PATH, POOL, FIXED, [], f"no commit edited {POOL_PATH}"),
        (POOL_PATH, POOL, FIXED, [{"README": "More.\n"}], f"no commit edited {POOL_PATH}"),
        (
            POOL_PATH,
            POOL,
            FIXED,
            [{POOL_PATH: edited(FIXED, OTHER_FUNCTION)}],
            f"1 commit edited {POOL_PATH} outside of `evict`: C1 Edit 1 (#3)",
        ),
        (
            POOL_PATH,
            POOL,
            FIXED,
            [
                {POOL_PATH: edited(FIXED, CONTEXT)},
                {POOL_PATH: edited(FIXED, CONTEXT, OTHER_FUNCTION)},
            ],
            f"2 commits edited {POOL_PATH}, 1 of them `evict`: C1 Edit 1 (#3); "
            "the rest of it: C2 Edit 2 (#4)",
        ),
        # what is added behind the last line of a function is in it, what comes before it may be
        (
            POOL_PATH,
            KEPT,
            KEPT.replace("keep()", "keep(1)"),
            [{POOL_PATH: KEPT.replace("keep()\n    return pool\n", "keep(1)\n\n    return 0\n")}],
            f"1 commit edited `keep` in {POOL_PATH}: C1 Edit 1 (#3)",
        ),
        (
            POOL_PATH,
            KEPT + POOL,
            KEPT + FIXED,
            [{POOL_PATH: KEPT + FIXED.replace("def evict", "@cached\ndef evict")}],
            f"1 commit edited `evict` in {POOL_PATH}: C1 Edit 1 (#3)",
        ),
        # taken back is two edits; the newest three are named, newest first
        (
            POOL_PATH,
            CLASS,
            IN_CLASS,
            [
                {POOL_PATH: IN_CLASS.replace("return pool.evict_total", back)}
                for back in ("return 1", "return pool.evict_total", "return 2", "return 3")
            ],
            f"4 commits edited `Pool.evict` in {POOL_PATH}: C4 Edit 4 (#6), C3 Edit 3 (#5), "
            "C2 Edit 2 (#4), also C1",
        ),
        (
            "f.c",
            C,
            C.replace("second(a)", "second(a, 1)"),
            [{"f.c": C.replace("second(a)", "second(a, 1)").replace("first(a)", "prepare(&a)")}],
            "1 commit edited `f` in f.c: C1 Edit 1 (#3)",
        ),
        # of removed lines, the definition around them: not one that begins below
        (
            "f.py",
            NESTED,
            NESTED.replace("    second(a)\n", ""),
            [{"f.py": NESTED.replace("    second(a)\n", "").replace("return g", "return g or a")}],
            "1 commit edited `f` in f.py: C1 Edit 1 (#3)",
        ),
        # outside of all definitions
        (
            POOL_PATH,
            COUNT + POOL,
            COUNT.replace("4", "8") + POOL,
            [
                {POOL_PATH: COUNT.replace("4", "8").replace("5", "6") + POOL},
                {POOL_PATH: COUNT.replace("4", "8").replace("5", "6") + POOL + function("last")},
            ],
            f"2 commits edited {POOL_PATH}, 1 of them the lines close by: C1 Edit 1 (#3); "
            "the rest of it: C2 Edit 2 (#4)",
        ),
        (
            POOL_PATH,
            COUNT + POOL,
            COUNT.replace("4", "8") + POOL,
            [{POOL_PATH: COUNT.replace("4", "8") + POOL + function("last")}],
            f"1 commit edited {POOL_PATH} outside of the lines close by: C1 Edit 1 (#3)",
        ),
        # a file without definitions
        (
            "ci.yml",
            YAML,
            YAML.replace("8: 8", "8: 9"),
            [{"ci.yml": YAML.replace("8: 8", "8: 9").replace("0: 0", "0: 1")}],
            "1 commit edited ci.yml: C1 Edit 1 (#3)",
        ),
    ],
)
def test_what_came_after(
    miniature: MakeMiniature,
    path: str,
    before: str,
    fixed: str,
    later: list[Edits],
    expected: str,
) -> None:
    assert _told(miniature, path, before, fixed, later) == [f"since then {expected}"]


def test_lines_that_were_removed_from_a_shorter_file(miniature: MakeMiniature) -> None:
    """The place of the removed lines is that in the file as it landed."""
    upstream = miniature()
    fix = ("    pool.settle_evict(batch)\n", "")
    later = ('limit_of("evict")', 'limit_of("evict", 1)')
    short = module("evict", "grow")
    upstream.commit("Start (#1)", {POOL_PATH: POOL})
    upstream.tag("v1")
    patch = upstream.patch("v1", {POOL_PATH: edited(POOL, fix)})
    upstream.commit("Drop most (#2)", {POOL_PATH: short})
    upstream.commit("Fix it (#3)", {POOL_PATH: edited(short, fix)})
    upstream.commit("Edit (#4)", {POOL_PATH: edited(short, fix, later)})
    upstream.tag("v2")
    (found,) = shown(judged(upstream, patch).report, EvidenceKind.EDITED_SINCE)
    assert f"edited `evict` in {POOL_PATH}" in found.text


def test_a_side_branch_that_was_merged_later(miniature: MakeMiniature) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {POOL_PATH: POOL})
    upstream.tag("v1")
    patch = upstream.patch("v1", {POOL_PATH: FIXED})
    upstream.branch("side", at="v1")
    beside = edited(POOL, ("    pool.settle_drain(batch)\n", "    pool.settle_drain(0)\n"))
    side = upstream.commit("Beside it (#3)", {POOL_PATH: beside}, branch="side")
    upstream.commit("Fix it (#2)", {POOL_PATH: FIXED})
    both = FIXED.replace("    pool.settle_drain(batch)\n", "    pool.settle_drain(0)\n")
    merge = upstream.commit("Merge it (#4)", {POOL_PATH: both}, merges=("side",))
    upstream.tag("v2")
    (found,) = shown(judged(upstream, patch).report, EvidenceKind.EDITED_SINCE)
    assert found.text == (
        f"since then 2 commits edited {POOL_PATH} outside of `evict`: "
        f"{merge[:9]} Merge it (#4), {side[:9]} Beside it (#3)"
    )


def test_it_is_in_every_report_and_kept(patchq: CommandLine, miniature: MakeMiniature) -> None:
    upstream = miniature()
    patch = landed(upstream, {POOL_PATH: POOL}, {POOL_PATH: FIXED})
    oid = upstream.commit("Change `it` for @all", {POOL_PATH: edited(FIXED, CONTEXT)})
    upstream.tag("v2")
    workspace = make_workspace(upstream, {"it.patch": patch})
    text = f"since then 1 commit edited `evict` in {POOL_PATH}: {oid[:9]} Change `it` for @all"

    def printed(*words: str) -> str:
        return re.sub(r"\s+", " ", patchq(*words, cwd=workspace.root).stdout)

    assert text in printed("report", "v1", "--onto", "v2")
    assert f"edited-since: {text}" in printed("why", "it.patch")
    shown_patch = json.loads(printed("report", "v1", "--onto", "v2", "--format", "json"))
    assert text in [item["text"] for item in shown_patch["patches"][0]["evidence"]]
    for form in ("markdown", "html"):
        assert oid[:9] in printed("report", "v1", "--onto", "v2", "--format", form)
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    kept = (workspace.series_path("v2") / "retired.yaml").read_text()
    assert text in re.sub(r"\s+", " ", kept)


@pytest.mark.parametrize("is_edited_after", [False, True])
def test_what_came_before_the_landing(miniature: MakeMiniature, is_edited_after: bool) -> None:
    """The fix was made for the old base, and may have landed in what upstream had given up."""
    upstream = miniature()
    upstream.commit("Start (#1)", {POOL_PATH: POOL})
    upstream.tag("v1")
    patch = upstream.patch("v1", {POOL_PATH: FIXED})
    given_up = edited(POOL, OTHER_FUNCTION)
    before = upstream.commit("Give up (#2)", {POOL_PATH: given_up})
    fixed = edited(given_up, fix("evict"))
    upstream.commit("Fix it (#3)", {POOL_PATH: fixed})
    if is_edited_after:
        upstream.commit("Go on (#4)", {POOL_PATH: fixed + function("last")})
    upstream.tag("v2")
    (found,) = shown(judged(upstream, patch).report, EvidenceKind.EDITED_SINCE)
    assert found.text.endswith(f"; before the landing 1 commit did since v1: {before[:9]}")
