"""What landed, as a whole or in part, and what only looks like it; nothing ends a report."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent

import pytest
from judging import (
    CONTEXT,
    NEIGHBOUR,
    OTHER_FUNCTION,
    POOL,
    POOL_PATH,
    QUEUE,
    QUEUE_PATH,
    before,
    edited,
    fix,
    judged,
    pool,
    rebased,
    reports,
    shown,
    start,
    states,
    take,
    verdicts,
)
from miniature import Edits, MakeMiniature, Miniature, submodule
from workspaces import make_workspace, open_project

from patchq.engine.judge.judge import Judge
from patchq.engine.rebase.rebase import judge_series
from patchq.errors import InputError, UnavailableError
from patchq.model.verdict import Action, EvidenceKind, HunkState, Verdict


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """Upstream at v1."""
    return start(miniature())


# Nothing ends a report

SUBMODULE = "third_party/lib"


@pytest.mark.parametrize(
    ("upstreams", "expected"),
    [
        (2, {Verdict.UPSTREAMED}),
        (3, {Verdict.CONFLICT}),
        (1, {Verdict.CLEAN}),
        (None, {Verdict.UNREACHABLE, Verdict.CONFLICT}),
    ],
    ids=["the same", "another", "untouched", "gone"],
)
def test_a_submodule_on_both_sides(
    upstream: Miniature, upstreams: int | None, expected: set[Verdict]
) -> None:
    upstream.commit("Add it", {SUBMODULE: submodule("1" * 40)})
    upstream.tag("v1s")
    patches = {
        "bump.patch": upstream.patch("v1s", {SUBMODULE: submodule("2" * 40)}),
        "other.patch": upstream.patch("v1s", pool(fix("evict"))),
    }
    theirs = submodule(str(upstreams) * 40) if upstreams else None
    upstream.commit("Bump it (#5)", {SUBMODULE: theirs, "README": "More.\n"})
    upstream.tag("v2")
    found = verdicts(rebased(upstream, patches, bases=("v1s", "v2")))
    assert found["bump.patch"] in expected
    assert found["other.patch"] is Verdict.CLEAN


LOGO = b"\x89PNG\r\n\x1a\nhello world text here\x00\x00\nanother line of words\x00more\n" * 3


@pytest.mark.parametrize("replaced", [None, LOGO + b"more words of another logo\x00\n"])
def test_a_binary_landed(upstream: Miniature, replaced: bytes | None) -> None:
    upstream.commit("Add a logo", {"logo.png": LOGO})
    upstream.tag("v1b")
    edits = {"logo.png": replaced, "logo.svg": "<svg/>\n"}
    patch = upstream.patch("v1b", edits)
    landed = upstream.commit("New logo (#4)", edits)
    upstream.commit("Noise (#5)", {"README": "Noise.\n"})
    upstream.tag("v2")
    report = judged(upstream, patch, bases=("v1b", "v2")).report
    assert report.verdict is Verdict.UPSTREAMED
    assert [item.commit for item in shown(report, EvidenceKind.MERGED)] == [landed]


@pytest.mark.parametrize("error", [InputError("this cannot be read"), KeyError("a mistake")])
def test_a_fault_is_the_conflict_of_one_patch(
    upstream: Miniature, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    patches = {
        "bad.patch": upstream.patch("v1", pool(fix("evict"))),
        "good.patch": upstream.patch("v1", {QUEUE_PATH: edited(QUEUE, fix("pull"))}),
    }
    upstream.commit("Go on (#2)", {"README": "More.\n"})
    upstream.tag("v2")
    judge = Judge.judge

    def failing(self: Judge, case: object) -> object:
        if case.patch.name == "bad.patch":  # type: ignore[attr-defined]
            raise error
        return judge(self, case)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Judge, "judge", failing)
        result = rebased(upstream, patches)
    assert verdicts(result) == {"bad.patch": Verdict.CONFLICT, "good.patch": Verdict.CLEAN}
    bad = reports(result)["bad.patch"]
    (fault,) = shown(bad, EvidenceKind.FAULT)
    assert str(error) in fault.text
    assert states(bad) == [HunkState.CONFLICTING]


def test_what_would_fail_for_every_patch_ends_the_report(
    upstream: Miniature, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.tag("v2")

    def failing(_self: Judge, _case: object) -> object:
        raise UnavailableError("the network is down")

    monkeypatch.setattr(Judge, "judge", failing)
    with pytest.raises(UnavailableError):
        judged(upstream, patch)


# Names


@pytest.mark.parametrize("edit", [False, True], ids=["as it was", "and edited"])
def test_renamed_by_both_to_other_names(upstream: Miniature, edit: bool) -> None:
    content = edited(POOL, fix("evict")) if edit else POOL
    patch = upstream.patch("v1", {POOL_PATH: None, "app/ours.py": content})
    renamed = upstream.move(POOL_PATH, "app/theirs.py", "Rename it (#9)")
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CONFLICT
    assert judgement.patch is None
    (evidence,) = shown(judgement.report, EvidenceKind.CONFLICTING_CHANGE)
    assert evidence.commit == renamed
    assert "app/ours.py" in evidence.text
    assert "app/theirs.py" in evidence.text


def test_only_the_renamed_file_conflicts(upstream: Miniature) -> None:
    edits = {POOL_PATH: None, "app/ours.py": POOL, QUEUE_PATH: edited(QUEUE, fix("pull"))}
    patch = upstream.patch("v1", edits)
    upstream.move(POOL_PATH, "app/theirs.py", "Rename it (#9)")
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    found = {hunk.file: hunk.state for hunk in report.hunks}
    assert found == {POOL_PATH: HunkState.CONFLICTING, QUEUE_PATH: HunkState.CARRIED}


@pytest.mark.parametrize("name", ["lib/pool.py", "lib/store.py", "app/deep/pool.py"])
def test_moved_by_upstream_and_renamed_by_the_patch(upstream: Miniature, name: str) -> None:
    """One file that upstream took out of its directory is not the directory's move."""
    patch = upstream.patch("v1", {POOL_PATH: None, name: POOL})
    upstream.move(POOL_PATH, "core/pool.py", "Move it (#9)")
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.CONFLICT


# Hidden by edits beside it

CHECK = before("evict", "pool.check_evict(page, limit)")
NOW = (take("evict"), take("evict", ", now=True"))
FARTHER = (
    "    pool.settle_evict(batch)\n",
    "    pool.settle()\n        pool.check_evict(page, limit)\n",
)
BESIDE = (
    '    for page in batch.pages_of("evict"):\n',
    '    for page in batch.pages_of("evict", sorted=True):\n',
)


@pytest.mark.parametrize(
    ("theirs", "later", "verdict"),
    [
        ((CHECK, BESIDE), (), Verdict.UPSTREAMED),
        ((CHECK, BESIDE), ((take("evict"), take("evict", ", now=True")),), Verdict.UPSTREAMED),
        ((CHECK, BESIDE), (("pool.check_evict(page, limit)\n        ", ""),), Verdict.SUPERSEDED),
        (
            (CHECK, BESIDE),
            (("pool.check_evict(page, limit)", "# pool.check_evict(page, limit)"),),
            Verdict.SUPERSEDED,
        ),
        ((before("evict", "pool.check_evict(page)"), BESIDE), (), Verdict.CONFLICT),
        ((FARTHER, NOW, BESIDE), (), Verdict.CONFLICT),
        ((before("grow", CHECK[1].strip().split("\n")[0]), BESIDE), (), Verdict.CONFLICT),
    ],
    ids=[
        "there",
        "edited since",
        "taken out",
        "switched off",
        "another line",
        "farther down",
        "elsewhere",
    ],
)
def test_the_same_edit_beside_another(
    upstream: Miniature,
    theirs: tuple[tuple[str, str], ...],
    later: tuple[tuple[str, str], ...],
    verdict: Verdict,
) -> None:
    patch = upstream.patch("v1", pool(CHECK))
    text = edited(POOL, *theirs)
    landed = upstream.commit("Check and sort (#2)", {POOL_PATH: text})
    if later:
        upstream.commit("Go on (#3)", {POOL_PATH: edited(text, *later)})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is verdict
    named = [item.commit for item in shown(report, EvidenceKind.MERGED)]
    assert named == ([] if verdict is Verdict.CONFLICT else [landed])


TESTS_HEAD = "# indices\nindices(1)\n[1]\n[0]\n\nisempty(empty)\nnull\ntrue\n\n"
RUN = "# too deep a path\nsetpath([range(10000)]; 0)\nnull\n[0]\n"
ELSE = "limit(3; range(9))\nnull\n[0]\n\n"


@pytest.mark.parametrize(
    ("path", "run", "landed", "verdict"),
    [
        ("t/all.test", RUN, f"{TESTS_HEAD}{ELSE}{RUN}", Verdict.UPSTREAMED),
        ("t/all.test", RUN, f"{ELSE}{RUN}\n{TESTS_HEAD}{ELSE}", Verdict.UPSTREAMED),
        ("t/all.test", RUN, f"{TESTS_HEAD}{ELSE}more\n{RUN}", Verdict.CONFLICT),
        ("t/all.test", RUN, f"{TESTS_HEAD}{ELSE}{RUN.replace('0)', '1)')}", Verdict.CONFLICT),
        ("t/all.test", "null\n[0]\n", f"{TESTS_HEAD}{ELSE}null\n[0]\n", Verdict.CONFLICT),
        ("t/all.test", indent(RUN, " "), f"{TESTS_HEAD}{ELSE}{indent(RUN, ' ')}", Verdict.CONFLICT),
        ("t/all.toml", RUN, f"{TESTS_HEAD}{ELSE}{RUN}", Verdict.CONFLICT),
    ],
    ids=["end", "head", "not apart", "changed", "says nothing", "indented", "in a section"],
)
def test_a_paragraph_at_the_end(
    upstream: Miniature, path: str, run: str, landed: str, verdict: Verdict
) -> None:
    """What stands by itself is known by itself: no line beside it tells."""
    upstream.commit("Test paths (#4)", {path: TESTS_HEAD})
    upstream.tag("v1t")
    patch = upstream.patch("v1t", {path: TESTS_HEAD + run})
    upstream.commit("Limit the depth (#5)", {path: landed})
    upstream.commit("Go on (#6)", {path: landed + "\nlast\nnull\n"})
    upstream.tag("v2")
    assert judged(upstream, patch, bases=("v1t", "v2")).report.verdict is verdict


# What is said of it


def test_what_landed_in_parts_of_different_fates(upstream: Miniature) -> None:
    """One commit brings two hunks: one is edited since, the other half taken out."""
    log = before("grow", "pool.log_growth(page)")
    patch = upstream.patch("v1", pool(fix("evict"), log, fix("grow")))
    landed = upstream.commit("Take less (#2)", pool(fix("evict"), log, fix("grow")))
    later = [
        (take("evict"), take("evict", " - 1, force=True")),
        (take("grow"), take("grow", " - 1, 2")),
    ]
    out = upstream.commit("Log less (#3)", pool(*later))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.SUPERSEDED
    (merged,) = shown(report, EvidenceKind.MERGED)
    assert (merged.commit, merged.text) == (
        landed,
        "2 of 2 hunks landed here; part was removed again",
    )
    (undone,) = shown(report, EvidenceKind.UNDONE)
    assert undone.commit == out
    assert undone.text.startswith(f"took part of {POOL_PATH} hunk 2 out again, which {landed[:9]}")


def test_what_landed_and_was_edited_in_one_of_its_hunks(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict"), fix("drain")))
    landed = upstream.commit("Take less (#2)", pool(fix("evict"), fix("drain")))
    upstream.commit(
        "Force (#3)", pool((take("evict"), take("evict", " - 1, force=True")), fix("drain"))
    )
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    (merged,) = shown(report, EvidenceKind.MERGED)
    assert (merged.commit, merged.text) == (
        landed,
        "2 of 2 hunks landed here; upstream edited the lines since",
    )


def test_what_was_rewritten_in_one_of_its_hunks(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict"), fix("drain")))
    upstream.commit("Take less (#2)", pool(fix("evict"), fix("drain")))
    upstream.commit("Rewrite (#3)", pool((take("evict"), "raise SystemExit(page)\n"), fix("drain")))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.SUPERSEDED
    (merged,) = shown(report, EvidenceKind.MERGED)
    assert merged.text == "2 of 2 hunks landed here; their lines were rewritten since"


def test_the_commit_that_moved_a_file(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    moved = upstream.move(POOL_PATH, "app/lake.py", "Move it (#4)")
    upstream.commit("Go on (#5)", {"app/lake.py": edited(POOL, OTHER_FUNCTION)})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.MOVED
    (evidence,) = shown(report, EvidenceKind.PATH_MOVED)
    assert evidence.commit == moved


# Merges


def side_branch(upstream: Miniature, name: str, *messages: str) -> list[str]:
    """A branch from v1 with a commit each message, that fixes another function each."""
    upstream.branch(name, at="v1")
    changes = [fix(function) for function in ("evict", "grow", "drain")][: len(messages)]
    return [
        upstream.commit(message, pool(*changes[: number + 1]), branch=name)
        for number, message in enumerate(messages)
    ]


@pytest.mark.parametrize(
    ("message", "settings", "number"),
    [
        ("Merge pull request #12 from someone/topic", None, 12),
        ("Merge branch 'topic'\n\nSee merge request one/two!34", None, 34),
        ("Merge branch 'topic'", None, None),
        ("Merged PR 56: topic", "merge_pattern: '^Merged PR (\\d+)'\n", 56),
    ],
)
def test_the_pull_request_of_a_merge(
    upstream: Miniature, message: str, settings: str | None, number: int | None
) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    landed, _ = side_branch(upstream, "topic", "Take one less", "Grow less")
    upstream.commit("Go on", {"README": "More.\n"})
    upstream.commit(message, pool(fix("evict"), fix("grow")), merges=["topic"])
    upstream.tag("v2")
    result = rebased(upstream, {"it.patch": patch}, settings=settings)
    (merged,) = shown(reports(result)["it.patch"], EvidenceKind.MERGED)
    assert (merged.commit, merged.pr) == (landed, number)


def test_a_branch_merged_into_a_branch(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    landed, _ = side_branch(upstream, "inner", "Take one less", "Grow less")
    upstream.branch("outer", at="v1")
    upstream.commit("Outer", {QUEUE_PATH: edited(QUEUE, fix("pull"))}, branch="outer")
    both = pool(fix("evict"), fix("grow"))
    upstream.commit("Merge pull request #5 from inner", both, branch="outer", merges=["inner"])
    upstream.commit("Go on", {"README": "More.\n"})
    everything = {**both, QUEUE_PATH: edited(QUEUE, fix("pull"))}
    upstream.commit("Merge pull request #6 from outer", everything, merges=["outer"])
    upstream.tag("v2")
    (merged,) = shown(judged(upstream, patch).report, EvidenceKind.MERGED)
    assert (merged.commit, merged.pr) == (landed, 5)


def test_made_in_the_merge_itself(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("admit")))
    side_branch(upstream, "topic", "Take one less")
    upstream.commit("Go on", {"README": "More.\n"})
    both = pool(fix("evict"), fix("admit"))
    merge = upstream.commit("Merge pull request #7 from topic", both, merges=["topic"])
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    (merged,) = shown(report, EvidenceKind.MERGED)
    assert (merged.commit, merged.pr) == (merge, 7)


def test_a_conflict_names_the_commit_and_not_its_merge(upstream: Miniature) -> None:
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.branch("topic", at="v1")
    other = pool((take("evict"), take("evict", " * 2")))
    changed = upstream.commit("Take twice (#3)", other, branch="topic")
    upstream.commit("Drain less (#4)", pool(fix("drain")))
    both = pool((take("evict"), take("evict", " * 2")), fix("drain"))
    upstream.commit("Merge pull request #5 from topic", both, merges=["topic"])
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    (evidence,) = shown(report, EvidenceKind.CONFLICTING_CHANGE)
    assert evidence.commit == changed


# Lines that would stand twice


def cases_of(*names: str) -> str:
    cases = (
        f"    def test_{name}(self):\n"
        '        args = ServerArgs(model_path="dummy")\n'
        f"        self.assertEqual(args.{name}, {len(name)})\n\n"
        for name in names
    )
    return "class Tests:\n" + "".join(cases)


def pools(**methods: str) -> str:
    return "".join(
        f"class {name}:\n    def clear(self):\n        self.slots_{name} = []\n"
        f"{methods.get(name, '')}\n"
        f"    def size(self):\n        return len(self.slots_{name})\n\n\n"
        for name in "ABC"
    )


DESTROY = "\n    def destroy(self) -> None:\n        return None\n"
FREE = (
    "\n    def destroy(self) -> None:\n        for slot in self.slots_C:\n            slot.free()\n"
)
MODELS = [f'    "model_{letter}": Model_{letter},\n' for letter in "abcdefghijkl"]
INKLING = '    "inkling": ModelInkling,\n'


def registry(*at: int, line: str = INKLING) -> str:
    lines = list(MODELS)
    for place in sorted(at, reverse=True):
        lines.insert(place, line)
    return "MODELS = {\n" + "".join(lines) + "}\n"


def flags(*at: int, name: str = "FLAGS") -> str:
    lines = [f'  "-gencode=arch=compute_{arch}"\n' for arch in (70, 75, 80, 86, 87, 89, 90, 100)]
    for place in sorted(at, reverse=True):
        lines.insert(place, '  "sm_121a"\n')
    return f"set({name}\n" + "".join(lines) + ")\n"


def both(name: str, first: str, second: str) -> str:
    """Two blocks with lines between them."""
    between = "".join(f"# {name} {number}\n" for number in range(8))
    return f"{first}{between}{second}"


@pytest.mark.parametrize(
    ("path", "old", "ours", "theirs"),
    [
        (
            "t.py",
            cases_of("one", "two", "last"),
            cases_of("one", "mine", "two", "last"),
            cases_of("one", "two", "last", "theirs"),
        ),
        ("pool.py", pools(), pools(A=DESTROY), pools(C=FREE)),
        ("pool.py", pools(), pools(A=DESTROY), pools(C=DESTROY)),
        (
            "CMakeLists.txt",
            both("x", flags(), flags(name="OTHER")),
            both("x", flags(3), flags(name="OTHER")),
            both("x", flags(), flags(3, name="OTHER")),
        ),
        ("reg.py", registry(), registry(11, line="    # more\n"), registry(1, line="    # less\n")),
    ],
    ids=["one line of boilerplate", "another method", "another class", "another list", "others"],
)
def test_what_files_repeat_anyhow_is_no_duplicate(
    upstream: Miniature, path: str, old: str, ours: str, theirs: str
) -> None:
    upstream.commit("Add it", {path: old})
    upstream.tag("v1d")
    patch = upstream.patch("v1d", {path: ours})
    upstream.commit("Theirs (#4)", {path: theirs})
    upstream.tag("v2")
    assert judged(upstream, patch, bases=("v1d", "v2")).report.verdict is Verdict.CLEAN


@pytest.mark.parametrize(
    ("path", "old", "ours", "theirs"),
    [
        ("reg.py", registry(), registry(11), registry(1)),
        ("CMakeLists.txt", flags(), flags(7), flags(1)),
        ("words.txt", "a\nb\nc\nd\ne\n", "a\nb\nc\nd\nx\ne\n", "a\nx\nb\nc\nd\ne\n"),
        (
            "t.py",
            "import a\n" * 9,
            "import a\n" * 8 + "import x\nimport a\n",
            "import x\n" + "import a\n" * 9,
        ),
        (
            "t.py",
            cases_of("one", "two", "last"),
            cases_of("one", "mine", "two", "last"),
            cases_of("one", "two", "last", "mine"),
        ),
        (
            "pool.py",
            pools(),
            pools(A=DESTROY),
            pools().replace("class A:\n", f"class A:{DESTROY}\n"),
        ),
    ],
    ids=["entry", "flag", "text", "import", "a whole test", "a whole method"],
)
def test_a_run_of_lines_that_upstream_put_elsewhere(
    upstream: Miniature, path: str, old: str, ours: str, theirs: str
) -> None:
    upstream.commit("Add it", {path: old})
    upstream.tag("v1d")
    patch = upstream.patch("v1d", {path: ours})
    landed = upstream.commit("Theirs (#4)", {path: theirs})
    upstream.commit("And more (#5)", {"README": "More.\n"})
    upstream.tag("v2")
    report = judged(upstream, patch, bases=("v1d", "v2")).report
    assert report.verdict is Verdict.CONFLICT
    (evidence,) = shown(report, EvidenceKind.DUPLICATE)
    assert (evidence.commit, evidence.paths) == (landed, (path,))
    lines = len(ours.splitlines()) - len(old.splitlines())
    more = {3: " and 1 more", 4: " and 2 more"}.get(lines, "")  # besides blank and known ones
    assert f"'{more} elsewhere" in evidence.text


def test_lines_that_two_commits_added_are_no_run(upstream: Miniature) -> None:
    first, second = "    pool.look(batch)\n", "    pool.count_all_of(batch)\n"
    at, end = "    pool.settle_grow(batch)\n", "    return pool.grow_total\n"
    old = edited(POOL, (end, "    pool.wait()\n" * 8 + end))
    upstream.commit("Wait", {POOL_PATH: old})
    upstream.tag("v1d")
    patch = upstream.patch("v1d", {POOL_PATH: edited(old, (end, first + second + end))})
    upstream.commit("Look (#2)", {POOL_PATH: edited(old, (at, first + at))})
    upstream.commit("Count (#3)", {POOL_PATH: edited(old, (at, first + second + at))})
    upstream.tag("v2")
    assert judged(upstream, patch, bases=("v1d", "v2")).report.verdict is Verdict.CLEAN


# Landed, and then


CLAMP = (
    "    pool.settle_evict(batch)\n",
    "    # large values overflow the accumulator\n"
    "    batch = clamp_value(batch, upper_bound)\n"
    "    pool.settle_evict(batch)\n",
)
BOUNDS = (
    "    pool.settle_evict(batch)\n",
    "    if batch < lower_bound:\n        raise ValueError(lower_bound)\n"
    "    if batch > upper_bound:\n        raise ValueError(upper_bound)\n"
    "    pool.settle_evict(batch)\n",
)
AUDIT = (
    "def audit_trail(record, sink):\n"
    "    entry = serialize_record(record)\n"
    "    checked = validate_entry(entry, sink)\n"
    "    sink.append_entry(checked)\n"
    "    return entry\n"
)
FLUSH = ("append_entry(checked)", "append_entry(checked, flush=True)")


def without_lines(text: str, word: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if word not in line)


@pytest.mark.parametrize(
    ("landed", "left"),
    [
        (edited(POOL, CLAMP), without_lines(edited(POOL, CLAMP), "clamp_value")),
        (edited(POOL, BOUNDS), without_lines(edited(POOL, BOUNDS), "upper_bound")),
        (edited(POOL, BOUNDS), edited(POOL, BOUNDS, ("raise ValueError(upper_bound)", "pass"))),
    ],
    ids=["the code of a comment", "one of two checks", "a line replaced by another"],
)
def test_landed_and_half_undone(upstream: Miniature, landed: str, left: str) -> None:
    patch = upstream.patch("v1", {POOL_PATH: landed})
    brought = upstream.commit("Mind the bounds (#4)", {POOL_PATH: landed})
    upstream.commit("Go on (#5)", {"README": "More.\n"})
    undone = upstream.commit("It is too slow (#6)", {POOL_PATH: left})
    upstream.commit("Drain now (#7)", {POOL_PATH: edited(left, fix("drain"))})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.SUPERSEDED
    assert [item.commit for item in shown(report, EvidenceKind.MERGED)] == [brought]
    (evidence,) = shown(report, EvidenceKind.UNDONE)
    assert (evidence.commit, evidence.pr) == (undone, 6)
    assert brought[:9] in evidence.text


def test_half_of_an_added_file_is_gone(upstream: Miniature) -> None:
    cases = cases_of("one", "two")
    patch = upstream.patch("v1", {"t.py": cases})
    brought = upstream.commit("Test it (#4)", {"t.py": cases})
    undone = upstream.commit("Drop a test (#5)", {"t.py": cases_of("one")})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.SUPERSEDED
    assert [item.commit for item in report.evidence] == [brought, undone]


def test_landed_and_taken_out_without_a_word(upstream: Miniature) -> None:
    helper = {"helper.py": "def helper_of_core(value):\n    return value\n"}
    patches = {
        "added.patch": upstream.patch("v1", helper),
        "edited.patch": upstream.patch("v1", pool(fix("evict"))),
    }
    brought = upstream.commit("Help (#4)", {**helper, **pool(fix("evict"))})
    undone = upstream.commit("Clean up (#5)", {"helper.py": None, POOL_PATH: POOL})
    upstream.commit("Drain now (#6)", pool(fix("drain")))
    upstream.tag("v2")
    result = rebased(upstream, patches)
    assert set(verdicts(result).values()) == {Verdict.CLEAN}
    for report in reports(result).values():
        (evidence,) = report.evidence
        assert (evidence.kind, evidence.commit, evidence.pr) == (EvidenceKind.UNDONE, undone, 5)
        assert brought[:9] in evidence.text


@pytest.mark.parametrize(
    "place",
    [
        lambda text: text + AUDIT,
        lambda text: f"{AUDIT}\n\n{text}",
        lambda text: text.replace("def grow", f"{AUDIT}\n\ndef grow"),
    ],
    ids=["at the end", "at the head", "in the middle"],
)
def test_an_added_function_that_was_edited_since(
    upstream: Miniature, place: Callable[[str], str]
) -> None:
    patch = upstream.patch("v1", {POOL_PATH: place(POOL)})
    brought = upstream.commit("Audit (#4)", {POOL_PATH: place(POOL)})
    upstream.commit("Flush (#5)", {POOL_PATH: edited(place(POOL), FLUSH)})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    assert [item.commit for item in shown(report, EvidenceKind.MERGED)] == [brought]


GUIDE_PATH, RENAMED = "docs/guide.md", "docs/manual.md"
GUIDE = "".join(f"Step {number}: say what chapter {number} is about.\n" for number in range(30))
LATER = ("Step 7: say", "Step 7: tell")


@pytest.mark.parametrize(
    ("ours", "final", "verdict"),
    [
        (GUIDE, GUIDE, Verdict.UPSTREAMED),
        (GUIDE, edited(GUIDE, LATER), Verdict.UPSTREAMED),  # words for people
        (GUIDE, edited(GUIDE, ("Step 7: say what chapter 7 is about.\n", "")), Verdict.SUPERSEDED),
        ("Another guide.\n", GUIDE, Verdict.CONFLICT),
    ],
    ids=["as it was", "edited since", "a line taken out", "another file"],
)
@pytest.mark.parametrize("at_once", [False, True], ids=["and then edited", "edited as renamed"])
def test_an_added_file_that_upstream_added_too_and_renamed(
    upstream: Miniature, ours: str, final: str, verdict: Verdict, at_once: bool
) -> None:
    patch = upstream.patch("v1", {GUIDE_PATH: ours})
    brought = upstream.commit("A guide (#4)", {GUIDE_PATH: GUIDE})
    if at_once:
        renamed = upstream.commit("Call it (#5)", {GUIDE_PATH: None, RENAMED: final})
    else:
        renamed = upstream.move(GUIDE_PATH, RENAMED, "Call it (#5)")
        upstream.commit("Mind it (#6)", {RENAMED: final, "README": "More.\n"})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is verdict
    assert [(change.old, change.new) for change in report.paths] == [(GUIDE_PATH, RENAMED)]
    if verdict is Verdict.CONFLICT:
        (moved,) = shown(report, EvidenceKind.PATH_MOVED)
        assert (moved.commit, moved.paths) == (renamed, (RENAMED,))
    else:
        assert [item.commit for item in shown(report, EvidenceKind.MERGED)] == [brought]


@pytest.mark.parametrize(
    "steps",
    [
        [{GUIDE_PATH: None}, {RENAMED: GUIDE}],
        [{GUIDE_PATH: None, RENAMED: GUIDE}, {RENAMED: None}],
    ],
    ids=["made anew later", "renamed and removed"],
)
def test_an_added_file_that_upstream_took_out_again(
    upstream: Miniature, steps: list[Edits]
) -> None:
    patch = upstream.patch("v1", {GUIDE_PATH: GUIDE})
    for edits in ({GUIDE_PATH: GUIDE}, *steps):
        upstream.commit("Go on", edits)
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.CLEAN
    assert [(c.old, c.new) for c in judgement.report.paths] == [(GUIDE_PATH, GUIDE_PATH)]
    assert shown(judgement.report, EvidenceKind.UNDONE)


@pytest.mark.parametrize(
    ("again", "verdict"),
    [
        ("    pool.settle_drain(batch)\n", Verdict.UPSTREAMED),
        ("    return pool.evict_total\n", Verdict.CONFLICT),
    ],
    ids=["in new code", "in its own function"],
)
def test_a_replaced_line_that_stands_once_more(
    upstream: Miniature, again: str, verdict: Verdict
) -> None:
    change, old = fix("evict"), f"    {take('evict')}"
    patch = upstream.patch("v1", pool(change))
    upstream.commit("Take one less (#4)", pool(change))
    upstream.commit("A new path (#5)", pool(change, (again, old + again)))
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is verdict


@pytest.mark.parametrize(
    ("landed", "final"),
    [
        (edited(POOL, CLAMP), edited(POOL, CLAMP)),
        (
            edited(POOL, BOUNDS),
            edited(POOL, BOUNDS, ("ValueError(lower", "ValueError(pool, lower")),
        ),
        (edited(POOL, fix("evict")), edited(POOL, fix("evict"), CONTEXT, NEIGHBOUR)),
        (POOL + AUDIT, edited(POOL + AUDIT, FLUSH)),
        (f"{AUDIT}\n\n{POOL}", edited(f"{AUDIT}\n\n{POOL}", FLUSH)),
        (
            edited(POOL, fix("admit"), BOUNDS, fix("drain")),
            edited(POOL, fix("admit"), BOUNDS, (take("drain"), take("drain", " - 1, now=True"))),
        ),
    ],
    ids=["as it landed", "edited", "beside edits", "at the end", "at the head", "three hunks"],
)
def test_no_line_of_what_landed_may_be_taken_out(
    upstream: Miniature, landed: str, final: str
) -> None:
    """Each line that a patch adds is needed for it to be retired."""
    patch = upstream.patch("v1", {POOL_PATH: landed})
    upstream.commit("Land it (#4)", {POOL_PATH: landed})
    upstream.commit("Go on (#5)", {POOL_PATH: final, "README": "More.\n"})
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.UPSTREAMED
    lines = final.splitlines(keepends=True)
    others = {*POOL.splitlines(keepends=True), CONTEXT[1], NEIGHBOUR[1]}
    added = [number for number, line in enumerate(lines) if line.strip() and line not in others]
    names = ["v1"]
    for number in added:
        upstream.commit(
            "Take a line out", {POOL_PATH: "".join(lines[:number] + lines[number + 1 :])}
        )
        names.append(f"w{number}")
        upstream.tag(names[-1])
        upstream.commit("Put it back", {POOL_PATH: final})
    workspace = make_workspace(
        upstream, {"it.patch": patch}, bases=names, root=upstream.path.parent / "w"
    )
    project = open_project(workspace, upstream)
    found = {name: judge_series(project, "v1", name).report.patches[0] for name in names[1:]}
    assert found
    assert [n for n, report in found.items() if report.action is Action.DROP] == []


TEMPLATE = ".github/ISSUE_TEMPLATE.md"
FORM = ".github/ISSUE_TEMPLATE/form.md"


@pytest.mark.parametrize("at_once", [False, True])
def test_a_file_that_was_deleted_after_one_like_it_came(upstream: Miniature, at_once: bool) -> None:
    """What the patch takes out stands in the other file: a reviewer decides about that one."""
    text = "".join(f"Tell number {number} of what you saw.\n" for number in range(20))
    upstream.commit("Ask (#2)", {TEMPLATE: text})
    upstream.tag("v1t")
    patch = upstream.patch("v1t", {TEMPLATE: None})
    form = {FORM: f"---\nname: form\n---\n{text}"}
    if at_once:
        last = upstream.commit("Ask in a form (#3)", {**form, TEMPLATE: None})
    else:
        upstream.commit("Ask in a form (#3)", form)
        last = upstream.commit("Remove the old template (#4)", {TEMPLATE: None})
    upstream.tag("v2")
    (report,) = rebased(upstream, {"a.patch": patch}, bases=("v1t", "v2")).report.patches
    assert report.verdict is (Verdict.CONFLICT if at_once else Verdict.SUPERSEDED)
    first = report.evidence[0]
    assert first.commit == last
    assert first.kind is (EvidenceKind.CONFLICTING_CHANGE if at_once else EvidenceKind.MERGED)
    assert any(FORM in item.paths for item in report.evidence)


def test_landed_and_put_under_a_condition(upstream: Miniature) -> None:
    """It may not run any more where it is needed: for a reviewer to tell."""
    landed = pool(before("evict", "pool.check_limit(page, limit)"))
    patch = upstream.patch("v1", landed)
    brought = upstream.commit("Check the limit (#2)", landed)
    under = before("evict", "if pool.is_fast():\n            pool.check_limit(page, limit)")
    whole = before("evict", "pool.check_limit(page, limit)")
    upstream.commit("Take one less (#3)", pool(whole, fix("evict")))
    narrowed = upstream.commit("Only if it is fast (#4)", pool(under, fix("evict")))
    upstream.commit("Return no None (#5)", pool(under, fix("evict"), CONTEXT))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.SUPERSEDED
    told = {item.kind: item.commit for item in report.evidence}
    assert told[EvidenceKind.MERGED] == brought
    assert told[EvidenceKind.CONFLICTING_CHANGE] == narrowed


def test_code_that_landed_without_a_condition_around_it(upstream: Miniature) -> None:
    """What the patch takes out it puts there again, indented otherwise."""
    body = "".join(f"pool.step_{n}(batch, {n})\nbatch = pool.after_{n}(batch)\n" for n in range(5))
    guarded = f"def refill(pool, batch):\n    if pool.is_new:\n{indent(body, ' ' * 8)}"
    plain = f"def refill(pool, batch):\n{indent(body, ' ' * 4)}"
    upstream.commit("Refill (#2)", {POOL_PATH: POOL + guarded})
    upstream.tag("v1b")
    patch = upstream.patch("v1b", {POOL_PATH: POOL + plain})
    upstream.commit("Refill always (#3)", {POOL_PATH: POOL + plain})
    upstream.tag("v2")
    assert judged(upstream, patch, bases=("v1b", "v2")).report.verdict is Verdict.UPSTREAMED


AGAIN = f"def evict_again(pool, batch):\n    for page in batch:\n        {take('evict')}\n\n"


@pytest.mark.parametrize("moved", [False, True])
def test_the_line_taken_out_stood_elsewhere_before_it_landed(
    upstream: Miniature, moved: bool
) -> None:
    """The commit took it out of the file; or it put it there itself."""
    patch = upstream.patch("v1", pool(fix("evict")))
    if not moved:
        upstream.commit("Evict again (#2)", {POOL_PATH: POOL + AGAIN})
    landed = {POOL_PATH: edited(POOL, fix("evict")) + AGAIN}
    upstream.commit("Evict one less (#3)", landed)
    upstream.tag("v2")
    expected = Verdict.CONFLICT if moved else Verdict.UPSTREAMED
    assert judged(upstream, patch).report.verdict is expected


def test_it_is_there_on_the_way_back_though_no_commit_brought_it(upstream: Miniature) -> None:
    """What it takes out stands nowhere on the older tag."""
    upstream.commit("Evict one less (#2)", pool(fix("evict"), OTHER_FUNCTION))
    upstream.tag("v2")
    patch = upstream.patch("v2", pool(OTHER_FUNCTION))
    report = judged(upstream, patch, bases=("v2", "v1")).report
    assert report.verdict is Verdict.UPSTREAMED
    (evidence,) = report.evidence
    assert evidence.commit is None
    assert "no commit between the bases" in evidence.text


def test_reverted_and_then_changed_otherwise(upstream: Miniature) -> None:
    """What stands there now did not grow from it."""
    patch = upstream.patch("v1", pool(fix("evict")))
    upstream.commit("Evict one less (#2)", pool(fix("evict")))
    back = upstream.commit('Revert "Evict one less (#2)" (#3)', pool())
    upstream.commit("Evict by the page (#4)", pool((take("evict"), take("evict", " - page.size"))))
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    assert [item.commit for item in shown(report, EvidenceKind.UNDONE)] == [back]


@pytest.mark.parametrize(("change", "offset"), [(fix("evict"), 2), (before("evict", "pass"), 2)])
def test_how_far_down_a_hunk_went(
    upstream: Miniature, change: tuple[str, str], offset: int
) -> None:
    patch = upstream.patch("v1", pool(change))
    upstream.commit("Import (#2)", {POOL_PATH: f"import os\nimport sys\n{POOL}"})
    upstream.tag("v2")
    (hunk,) = judged(upstream, patch).report.hunks
    assert (hunk.state, hunk.offset) == (HunkState.CARRIED, offset)


def test_who_named_a_file_last_under_another_name(miniature: MakeMiniature) -> None:
    made = miniature()
    user = '#include "pool.h"\n' + "".join(
        f"int user_{n}(void) {{ return {n}; }}\n" for n in range(9)
    )
    header = "#define POOL 4\n#define PAGES 8\n"
    made.commit("Start (#1)", {"src/pool.h": header, "src/user.c": user})
    made.tag("v1")
    patch = made.patch("v1", {"src/pool.h": header.replace("4", "5")})
    made.commit("Rename (#2)", {"src/user.c": None, "src/client.c": user})
    ended = made.commit("Include nothing (#3)", {"src/client.c": user.split("\n", 1)[1]})
    made.commit("More (#4)", {"src/client.c": user.split("\n", 1)[1] + "int more;\n"})
    made.tag("v2")
    report = judged(made, patch).report
    assert report.verdict is Verdict.CLEAN
    assert [item.commit for item in shown(report, EvidenceKind.UNREFERENCED)] == [ended]


# Conditions, as the lines landed

GATED = (
    "def f(p):\n    if p.on:\n        a(p)\n        b(p)\n        c(p)\n        d(p)\n"
    "        e(p)\n        g(p)\n        line(p, 0)\n        h(p)\n        i(p)\n    return p\n"
)
LINE = ("line(p, 0)", "line(p, 1)")
NARROW = ("if p.on:", "if p.on and p.fast:")
AROUND = ("        g(p)\n", "        g(p, 2)\n"), ("        h(p)\n", "        h(p, 2)\n")


@pytest.mark.parametrize(
    ("commits", "verdict", "by"),
    [
        # anew before the lines landed: they do what they did
        ([[NARROW], [NARROW, LINE]], Verdict.UPSTREAMED, None),
        ([[NARROW], [NARROW, LINE], [NARROW, LINE, *AROUND]], Verdict.UPSTREAMED, None),
        # by the landing itself, or later, with another edit on top or not
        ([[NARROW, LINE]], Verdict.SUPERSEDED, 0),
        ([[LINE], [NARROW, LINE]], Verdict.SUPERSEDED, 1),
        ([[LINE], [NARROW, LINE], [NARROW, LINE, *AROUND]], Verdict.SUPERSEDED, 1),
        ([[LINE], [LINE, *AROUND], [NARROW, LINE, *AROUND]], Verdict.SUPERSEDED, 2),
        ([[LINE], [LINE, *AROUND]], Verdict.UPSTREAMED, None),
    ],
)
def test_conditions_are_those_that_the_lines_landed_under(
    miniature: MakeMiniature, commits: list[list[tuple[str, str]]], verdict: Verdict, by: int | None
) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {"f.py": GATED})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"f.py": edited(GATED, LINE)})
    ids = [upstream.commit("Go on", {"f.py": edited(GATED, *edits)}) for edits in commits]
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is verdict, report.evidence
    if by is not None:
        kinds = EvidenceKind.UNDONE, EvidenceKind.CONFLICTING_CHANGE
        assert [item.commit for item in report.evidence if item.kind in kinds] == [ids[by]]
