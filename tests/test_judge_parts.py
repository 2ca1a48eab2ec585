"""The judge's small questions, one by one, at the edges that a verdict hangs on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from patchq.engine.judge.case import LostPatch, PatchedBase, PlacedPatch, distinct
from patchq.engine.judge.case import _moved_along as moved_along
from patchq.engine.judge.evidence import EvidenceMaker, by_commit, unit_words
from patchq.engine.judge.gone import removal
from patchq.engine.judge.gone.absence import Prover, Wanted
from patchq.engine.judge.gone.bindings import SourceText, first_unbound
from patchq.engine.judge.gone.removal import LostCode, Removal
from patchq.engine.judge.gone.unsearched import Unsearched
from patchq.engine.judge.landing import hidden, history_walk
from patchq.engine.judge.landing.conditions.nesting import nesting
from patchq.engine.judge.landing.fates import Fates, _Change, names_below
from patchq.engine.judge.landing.hunk_history import CommitState, HunkHistory, LandedState
from patchq.engine.judge.landing.moved_removals import StillThere
from patchq.engine.judge.landing.surviving_lines import Survival
from patchq.engine.judge.line_search import core, is_telling
from patchq.engine.judge.outcomes import decided_by, outcomes, unsettled
from patchq.engine.judge.watch import mentioned
from patchq.engine.languages.flow import NEVER, conditions
from patchq.engine.languages.live import live_lines
from patchq.engine.languages.named import binding, definitions
from patchq.engine.languages.tokens import Family, tokenize
from patchq.engine.series.hunks import Unit, occurrences
from patchq.engine.series.stack import Absent, Stack
from patchq.engine.workspace.upstream_range import Placement, Whereabouts
from patchq.git.history import CommitInfo, Touch
from patchq.git.merge import MergeState
from patchq.git.objects import Entry
from patchq.model.ids import ObjectId, commit_id, commit_ids, tree_id
from patchq.model.patch import Patch
from patchq.model.verdict import HunkState, Verdict
from patchq.model.words import some

FILE = Entry("100644", ObjectId("1" * 40))
OTHER = Entry("100644", ObjectId("2" * 40))
UNIT = Unit("f", (1,), {"f": FILE}, {"f": OTHER})


def commit(name: str, *touches: Touch, parents: int = 1, subject: str = "") -> CommitInfo:
    return CommitInfo(
        commit_id(name), commit_ids("p" * parents), tree_id(name), "2026", subject or name, touches
    )


# Taken out, with nothing in its place


def lost(text: str, name: str | None, first: int = 0, end: int = 0) -> LostCode:
    lines = tuple(line.encode() for line in text.splitlines(keepends=True))
    return LostCode(UNIT, "f.py", "f.py", lines, name, first, end, (first, end))


ABOVE = "import os\n\n\ndef above(x):\n    return os.path.join(x)\n\n\n"
CODE = "def code(x):\n    limit = x.limit()\n    return x.take(limit)\n\n\n"
BELOW = "def below(x):\n    return x.below()\n"
IN_CLASS = (
    "class Pool:\n    size = 3\n\n    def above(self):\n        return self.size\n\n"
    "    def code(self):\n        return self.size + 1\n\n    def below(self):\n        return 0\n"
)


@pytest.mark.parametrize(
    ("name", "old", "new", "pure"),
    [
        ("code", ABOVE + CODE + BELOW, ABOVE + BELOW, True),
        ("code", ABOVE + CODE, ABOVE, True),
        ("code", CODE + BELOW, BELOW, True),
        ("code", CODE, "", True),
        ("code", ABOVE + CODE + BELOW, ABOVE + "def other(x):\n    return 1\n\n\n" + BELOW, False),
        ("code", ABOVE + CODE + BELOW, ABOVE + "code = other\n\n\n" + BELOW, False),
        ("code", ABOVE + CODE + BELOW, ABOVE + "# gone\n\n\n" + BELOW, False),
        ("code", ABOVE + CODE, ABOVE + "run(limit)\n", False),
        ("code", CODE + BELOW, "run(limit)\n" + BELOW, False),
        # new imports are no code in its place
        ("code", CODE + BELOW, "import sys\n\n\n" + BELOW, True),
        # what stands between the neighbours now stood in the file before
        (
            "code",
            ABOVE + CODE + BELOW + CODE.replace("code", "last"),
            ABOVE + CODE.replace("code", "last") + BELOW,
            True,
        ),
        # neighbours that changed places
        ("code", ABOVE + CODE + BELOW, BELOW + "\n\n" + ABOVE, False),
        # a neighbour that went too
        ("code", ABOVE + CODE + BELOW, ABOVE, True),
        ("code", ABOVE + CODE + BELOW, ABOVE + "def new():\n    return 2\n", False),
        (
            "Pool.code",
            IN_CLASS,
            IN_CLASS.replace("    def code(self):\n        return self.size + 1\n\n", ""),
            True,
        ),
        (
            "Pool.code",
            IN_CLASS,
            IN_CLASS.replace("return self.size + 1\n\n", "return 7\n\n").replace(
                "def code", "def other"
            ),
            False,
        ),
        (
            "Pool.below",
            IN_CLASS,
            IN_CLASS.replace("    def below(self):\n        return 0\n", ""),
            True,
        ),
        (
            "Pool.below",
            IN_CLASS,
            IN_CLASS.replace("    def below(self):\n        return 0\n", "    run(limit)\n"),
            False,
        ),
        ("Pool.code", ABOVE + IN_CLASS, ABOVE, True),
        ("Pool.code", ABOVE + IN_CLASS, ABOVE + "class Queue:\n    size = 4\n", False),
        ("code", ABOVE + CODE, "def above(:\n", False),
        ("missing", ABOVE + CODE, ABOVE, False),
    ],
)
def test_a_definition_is_deleted_and_nothing_put_in_its_place(
    name: str, old: str, new: str, pure: bool
) -> None:
    assert removal._is_deletion(lost(old, name), old.encode(), new.encode()) is pure


WINDOW = "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\n"


@pytest.mark.parametrize(
    ("new", "pure"),
    [
        ("a: 1\nb: 2\ne: 5\n", True),
        ("a: 1\ne: 5\n", True),
        ("a: 1\nb: 2\nx: 9\ne: 5\n", False),
        ("a: 1\nb: 2\ne: 5\nx: 9\n", True),
        ("x: 9\na: 1\nb: 2\ne: 5\n", True),
        ("a: 1\nx: 9\nb: 2\ne: 5\n", True),
        (WINDOW, True),
    ],
)
def test_a_window_is_deleted_and_nothing_put_in_its_place(new: str, pure: bool) -> None:
    own = lost(WINDOW, None, 2, 4)
    if new == WINDOW:  # the window is not in the text that it should have been taken out of
        assert not removal._is_deletion(own, b"other\n", new.encode())
    else:
        assert removal._is_deletion(own, WINDOW.encode(), new.encode()) is pure


@pytest.mark.parametrize(
    ("lines", "block", "near", "at"),
    [
        ("abcab", "ab", 0, 0),
        ("abcab", "ab", 3, 3),
        ("abcab", "ab", 2, 3),
        ("abcab", "ac", 0, None),
        ("abcab", "", 0, None),
        ("aab", "ab", 0, 1),
    ],
)
def test_where_a_block_stands(lines: str, block: str, near: int, at: int | None) -> None:
    split = [[char.encode() for char in text] for text in (lines, block)]
    assert removal._find(split[0], split[1], near) == at


def span(**paths: object) -> Any:
    """A span whose new base has these paths."""
    objects = SimpleNamespace(file=lambda _tree, path: paths.get(path))
    store = SimpleNamespace(objects=objects)
    return SimpleNamespace(store=store, new=SimpleNamespace(tree="new"))


@pytest.mark.parametrize(
    ("commits", "there", "found"),
    [
        ([commit("1", Touch("M", "f", "f")), commit("2", Touch("D", "f", "f"))], (), "2"),
        ([commit("1", Touch("R", "f", "g")), commit("2", Touch("D", "g", "g"))], (), "2"),
        ([commit("1", Touch("R", "f", "g"))], (), None),
        ([commit("1", Touch("D", "f", "f")), commit("2", Touch("A", "f", "f"))], (), None),
        ([commit("1", Touch("D", "x", "x"))], (), None),
        ([commit("1", Touch("D", "f", "f"))], ("f",), None),
        ([commit("1", Touch("R", "f", "g")), commit("2", Touch("D", "g", "g"))], ("f",), "2"),
    ],
)
def test_the_commit_that_deleted_a_file(
    commits: list[CommitInfo], there: tuple[str, ...], found: str | None
) -> None:
    got = removal._file_removal(span(**dict.fromkeys(there, FILE)), "f", commits)
    assert (got and got.oid) == found


def test_every_name_that_a_file_had() -> None:
    commits = [
        commit("1", Touch("R", "f", "g"), Touch("R", "x", "y")),
        commit("2", Touch("R", "g", "h"), Touch("M", "h", "i")),
    ]
    assert set(removal._names("f", "h", commits)) == {"f", "g", "h"}
    there = SimpleNamespace(place=lambda path: Placement(path, None, Whereabouts.GONE))
    names = history_walk._names(["f", "x"], there, commits)  # type: ignore[arg-type]
    assert names == {"f": {"f", "g", "h"}, "x": {"x", "y"}}
    # never a name of another file of the patch
    names = history_walk._names(["f", "g"], there, commits)  # type: ignore[arg-type]
    assert names["f"] == {"f", "h"}


# What a name means


def unbound(
    old: str, new: str, added: str, *, body: str = "def code(x):\n", naming: str = ""
) -> str | None:
    """The first name in ``added``, which ends the function, that may mean another thing."""
    text = f"{old}{body}{added}"
    first = old.count("\n") + body.count("\n")
    return first_unbound(
        SourceText("app/old.py", text.encode()),
        SourceText("app/deep/new.py", new.encode()),
        body.encode(),
        range(first, first + added.count("\n")),
        range(first - body.count("\n"), first + added.count("\n")),
        lambda _name: [naming],
    )


@pytest.mark.parametrize(
    ("old", "new", "added", "name"),
    [
        ("", "", "    return x\n", None),
        ("", "", "    y = 1\n    return y\n", None),
        ("", "", "    return len(x)\n", None),
        ("", "def len(x):\n    return 0\n", "    return len(x)\n", "len"),
        ("", "from a import *\n", "    return len(x)\n", "len"),
        ("from a import *\n", "", "    return len(x)\n", "len"),
        ("", "", "    return unknown(x)\n", "unknown"),
        ("import a.b as n\n", "import a.b as n\n", "    return n(x)\n", None),
        ("import a.b as n\n", "import a.c as n\n", "    return n(x)\n", "n"),
        ("import a.b as n\n", "", "    return n(x)\n", "n"),
        ("from a import n\n", "from a import n\n", "    return n(x)\n", None),
        ("from a import n\n", "from a import m as n\n", "    return n(x)\n", "n"),
        ("from .a import n\n", "from ..a import n\n", "    return n(x)\n", None),
        ("from .a import n\n", "from .a import n\n", "    return n(x)\n", "n"),
        ("from . import n\n", "from .. import n\n", "    return n(x)\n", None),
        ("from . import n\n", "from . import n\n", "    return n(x)\n", "n"),
        ("from .a import n\n", "from lib.app.a import n\n", "    return n(x)\n", None),
        ("from lib.app.a import n\n", "from ..a import n\n", "    return n(x)\n", None),
        ("def n(x):\n    return 1\n", "from app.old import n\n", "    return n(x)\n", None),
        ("def n(x):\n    return 1\n", "from app.older import n\n", "    return n(x)\n", "n"),
        ("def n(x):\n    return 1\n", "def n(x):\n    return 1\n", "    return n(x)\n", None),
        ("def n(x):\n    return 1\n", "def n(x):\n    return 2\n", "    return n(x)\n", "n"),
        ("n = 1\n", "n = 1\n", "    return n\n", "n"),
        ("", "", "    import z.y\n    return z\n", None),
        ("", "", "    import z as w\n    return w\n", None),
        ("", "", "    try:\n        x()\n    except E as e:\n        raise e\n", "E"),
        ("", "", "    def inner():\n        return inner\n", None),
        ("", "", "    return self.some\n", "self.some"),
        ("", "some = 1\n", "    return self.some\n", "self"),
        ("", "", "    return (lambda z: z)(x)\n", None),
    ],
)
def test_a_name_means_the_same(old: str, new: str, added: str, name: str | None) -> None:
    assert unbound(old, new, added) == name


def test_a_name_of_the_class() -> None:
    body = "def code(self):\n    self.some = 1\n"
    assert unbound("", "", "    return self.some\n", body=body) is None
    assert unbound("", "", "    return self.other\n", body=body) == "self.other"
    assert unbound("", "", "    return (\n", body=body)


# What landed


def history(
    *states: MergeState, end: MergeState, fate: LandedState = LandedState.NEVER
) -> HunkHistory:
    steps = tuple(CommitState(commit(str(n)), state, {}) for n, state in enumerate(states))
    return HunkHistory(UNIT, steps, end, None, fate)


@pytest.mark.parametrize("end", list(MergeState))
@pytest.mark.parametrize("fate", list(LandedState))
def test_what_counts_as_landed(end: MergeState, fate: LandedState) -> None:
    trail = history(end=end, fate=fate)
    without_effect = (LandedState.OVERRULED, LandedState.OTHER_MODE)
    whole = {
        MergeState.EMPTY: fate not in (LandedState.ELSEWHERE, *without_effect),
        MergeState.COLLIDES: fate is LandedState.THERE,
    }
    assert trail.has_landed is whole.get(end, False)
    since = {
        LandedState.REWRITTEN,
        LandedState.UNTRACED,
        LandedState.HALF,
        LandedState.GONE,
        LandedState.ELSEWHERE,
        LandedState.OTHER_MODE,
    }
    part = fate in without_effect if end is MergeState.EMPTY else fate in since
    assert trail.once_landed is part
    known = trail.has_landed or part
    assert unsettled([trail, history(end=MergeState.APPLIES)]) is (
        Verdict.SUPERSEDED if known else Verdict.CONFLICT
    )


A, C, E = MergeState.APPLIES, MergeState.COLLIDES, MergeState.EMPTY


@pytest.mark.parametrize(
    ("states", "end", "by"),
    [
        ((A, C, C), C, "1"),
        ((C, A, C), C, "2"),
        ((A, A), C, None),
        ((), C, None),
        ((C,), C, "0"),
        ((E, E), E, "0"),
    ],
)
def test_the_commit_that_ended_it(
    states: tuple[MergeState, ...], end: MergeState, by: str | None
) -> None:
    trail = history(*states, end=end)
    assert (trail.ended_by and trail.ended_by.oid) == by
    assert decided_by(trail) == (trail.ended_by if end is C else None)


def test_what_was_taken_out_is_told_of_the_commit_that_did_it() -> None:
    """Of each hunk by itself: one commit may bring a hunk and take another out."""
    early, both = commit("early"), commit("both")
    half, undone = LandedState.HALF, LandedState.UNDONE
    trails = [
        HunkHistory(Unit("f", (number,), {}, {}), (), C, landed, fate, by)
        for number, landed, fate, by in (
            (1, early, undone, both),
            (2, both, undone, None),
            (3, early, half, both),
            (4, early, half, early),
            (5, early, LandedState.THERE, both),
        )
    ]
    span = SimpleNamespace(
        store=SimpleNamespace(objects=None),
        evidence=lambda _kind, text, by, paths: (by.oid, text, paths),
    )
    evidence: Any = EvidenceMaker(span).undone(trails)  # type: ignore[arg-type]
    assert evidence == (
        ("both", "took f hunk 1, f hunk 3 out again, which early had brought", ("f",)),
        ("early", "took part of f hunk 4 out again, which early had brought", ("f",)),
        ("both", "brought f hunk 2, which was removed again later", ("f",)),
    )


@pytest.mark.parametrize(
    ("fates", "said"),
    [
        ((LandedState.THERE,), "are in v2"),
        ((LandedState.THERE, LandedState.HALF), "landed here; part was removed again"),
        ((LandedState.THERE, LandedState.GONE), "landed here; part was removed again"),
        ((LandedState.GONE, LandedState.GONE), "landed here; they were removed again"),
        ((LandedState.THERE, LandedState.ELSEWHERE), "landed here; what they "),
        ((LandedState.HALF, LandedState.ELSEWHERE), "landed here; part was removed again"),
        ((LandedState.THERE, LandedState.REWRITTEN), "landed here; their lines were rewritten"),
        ((LandedState.THERE, LandedState.THERE), "landed here, beside other edits"),
    ],
)
def test_what_is_said_of_hunks_that_landed(fates: tuple[LandedState, ...], said: str) -> None:
    """All that one commit brought is told of together, the worst of it."""
    ends = [E, C] if len(fates) == 2 and fates[0] is LandedState.THERE else [C] * len(fates)
    ends = [E] if len(fates) == 1 else ends
    by = commit("landed")
    trails = [
        HunkHistory(Unit("f", (number,), {"f": None}, {"f": None}), (), end, by, fate)
        for number, (end, fate) in enumerate(zip(ends, fates, strict=True), 1)
    ]
    span = SimpleNamespace(
        store=SimpleNamespace(objects=SimpleNamespace(blob=lambda _entry: b"")),
        new=SimpleNamespace(name="v2"),
        evidence=lambda _kind, text, _by, **_paths: text,
    )
    (text,) = EvidenceMaker(span).merged(trails)  # type: ignore[arg-type]
    assert said in str(text)


@pytest.mark.parametrize(("lines", "more"), [(1, ""), (2, " and 1 more"), (3, " and 2 more")])
def test_what_is_said_of_lines_that_stand_elsewhere(lines: int, more: str) -> None:
    span = SimpleNamespace(
        store=SimpleNamespace(objects=None),
        evidence=lambda _kind, text, _by, **_paths: text,
    )
    standing = StillThere(
        history(end=C), tuple(b"line %d" % n for n in range(lines)), ("lib/a.py",)
    )
    (text,) = map(str, EvidenceMaker(span).still_there([standing]))  # type: ignore[arg-type]
    assert text.endswith(f"lib/a.py: 'line 0'{more}")


@pytest.mark.parametrize(
    ("archive", "skipped", "said"),
    [
        (None, (), None),
        (None, ("a.cu",), "1 files of v2 could not be searched: a.cu"),
        ("a wheel", (), "not found in the part of upstream that v2 covers"),
    ],
)
def test_what_was_not_searched(
    archive: str | None, skipped: tuple[str, ...], said: str | None
) -> None:
    """There is no proof of absence then."""
    span = SimpleNamespace(
        new=SimpleNamespace(name="v2", archive=archive), store=SimpleNamespace(objects=None)
    )
    index = SimpleNamespace(skipped=skipped)
    unsearched = Unsearched(span, index)  # type: ignore[arg-type]
    vars(unsearched).update(came=None)
    unseen = unsearched.find("route", Removal(None, pure=True))
    assert (unseen is None) is (said is None)
    if unseen and said:
        assert unseen.text.startswith(said)
        assert unseen.paths == skipped


@pytest.mark.parametrize(
    ("content", "places"),
    [
        ("ab\nxab\nab\n", [0, 2]),
        ("xab\n", []),
        ("", []),
        ("x\nab\n", [1]),
    ],
)
def test_where_whole_lines_stand(content: str, places: list[int]) -> None:
    assert occurrences(content.encode(), b"ab\n") == places


def test_the_lines_beside_some() -> None:
    """Those that say something, at the ends of the file too."""
    lines = [b"a", b"x", b"y", b"\t}", b"b"]
    assert hidden._beside(lines, 1, 2) == {(-1, b"a")}
    assert hidden._beside(lines, 3, 1) == {(-1, b"y"), (1, b"b")}
    assert hidden._beside(lines, 0, 5) == frozenset()


@pytest.mark.parametrize(
    ("lines", "first", "size", "apart"),
    [
        (["a", "x", "", "b"], 1, 1, False),
        (["a", "", "x", "b"], 2, 1, False),
        (["a", "", "x", "", "b"], 2, 1, True),
        (["x", "", "b"], 0, 1, True),
        (["a", "", "x"], 2, 1, True),
        (["a", "", " x", "", "b"], 2, 1, False),
        (["a", "", "", "b"], 1, 2, False),
    ],
)
def test_lines_that_stand_by_themselves(
    lines: list[str], first: int, size: int, apart: bool
) -> None:
    assert hidden._is_apart([line.encode() for line in lines], first, size) is apart


def test_of_a_merge_it_is_the_commit_that_was_merged() -> None:
    steps = (
        CommitState(commit("side"), C, {}),
        CommitState(commit("main"), A, {}),
        CommitState(commit("merge", parents=2), C, {}),
    )
    ended = HunkHistory(UNIT, steps, C).ended_by
    assert ended
    assert ended.oid == "side"
    alone = HunkHistory(UNIT, steps[1:], C).ended_by
    assert alone
    assert alone.oid == "merge"


@pytest.mark.parametrize(
    ("before", "ours", "merged", "state"),
    [
        ({"f": FILE}, {"f": FILE}, "ours", MergeState.EMPTY),
        ({"f": FILE}, {"f": FILE}, "other", MergeState.APPLIES),
        ({"f": FILE}, {"f": FILE}, None, MergeState.COLLIDES),
        ({"f": FILE}, {"f": None}, None, MergeState.ABSENT),
        ({"f": FILE}, {"f": None}, "other", MergeState.ABSENT),
        ({"f": FILE}, {"f": None}, "ours", MergeState.EMPTY),
        ({"f": FILE, "g": FILE}, {"f": None, "g": FILE}, None, MergeState.COLLIDES),
        ({"f": FILE, "g": None}, {"f": None, "g": FILE}, None, MergeState.ABSENT),
        ({"f": None}, {"f": None}, "other", MergeState.APPLIES),
        ({"f": None}, {"f": FILE}, None, MergeState.COLLIDES),
    ],
)
def test_the_state_of_a_unit(
    before: Mapping[str, Entry | None],
    ours: Mapping[str, Entry | None],
    merged: str | None,
    state: MergeState,
) -> None:
    unit = Unit("f", (1,), before, before)
    assert history_walk._state(unit, ours, tree_id("ours"), merged) is state


def test_a_revert_that_quotes_the_title() -> None:
    assert history_walk._reverts('Revert "Take less (#2)" (#3)', "Take less")
    assert history_walk._reverts('This reverts "Take less"', "Take less")
    assert not history_walk._reverts("Take less again", "Take less")
    assert not history_walk._reverts('Revert "Take more"', "Take less")


def test_paths_below_what_they_have_in_common() -> None:
    assert names_below(["a/b/c", "a/b/d/e"]) == [("a/b/c", "c"), ("a/b/d/e", "d/e")]
    assert names_below(["a/b", "c"]) == [("a/b", "a/b"), ("c", "c")]


# Which lines do something


@pytest.mark.parametrize(
    ("text", "above"),
    [
        ("a:\n\n  b:\n    c\n  d\ne", (-1, -1, 0, 2, 0, -1)),
        ("a(\n  # b\n    c\n)\n  d", (-1, 0, 0, -1, 0)),
    ],
)
def test_below_which_line_each_stands(text: str, above: tuple[int, ...]) -> None:
    assert nesting([line.encode() for line in text.split("\n")]) == above


@pytest.mark.parametrize(
    ("path", "text", "live"),
    [
        ("a.py", "x\n# y\nz\n", {0, 2}),
        ("a.py", 'x\ns = """\ny\n"""\nz\n', {0, 1, 4}),
        ("a.py", "if False:\n    y\n\n    w\nz\n", {0, 4}),
        ("a.py", "if 0:\n    y\nelse:\n    z\n", {0, 2, 3}),
        ("a.py", "    if False :\n    y\n", {0, 1}),
        ("a.py", "if False or x:\n    y\n", {0, 1}),
        ("a.py", "if x:\n    y\n", {0, 1}),
        ("a.c", "x;\n/* y;\nz; */ w;\n// v;\n", {0, 2}),
        ("a.c", 's = "//\\\nx /* \\\n";\ny;\n', {0, 1, 2, 3}),
        ("a.c", "#if 0\nx;\n#endif\ny;\n", {0, 2, 3}),
        ("a.c", "#if 0 /* not now */\nx;\n#endif\ny;\n", {0, 2, 3}),
        ("a.c", "#if 0\nx;\n#else\ny;\n#endif\n", {0, 2, 3, 4}),
        ("a.c", "#if 1\nx;\n#else\ny;\n#endif\nz;\n", {0, 1, 2, 4, 5}),
        ("a.c", "#if 0\n#if 1\nx;\n#endif\ny;\n#endif\nz;\n", {0, 1, 3, 5, 6}),
        ("a.c", "#ifdef X\nx;\n#else\ny;\n#endif\n", {0, 1, 2, 3, 4}),
        ("a.c", "#if X\nx;\n#elif Y\ny;\n#endif\n", {0, 1, 2, 3, 4}),
        ("a.c", "#if 0\nx;\n#elifdef Y\ny;\n#endif\n", {0, 2, 3, 4}),
        ("a.c", "#ifndef 0\nx;\n#endif\n#endif\ny;\n", {0, 1, 2, 3, 4}),
        ("a.c", "if (0)\n\tx;\ny;\n", {0, 2}),
        ("a.c", "if (false) {\n\tx;\n}\ny;\n", {0, 2, 3}),
        ("a.yaml", "x: 1\n# y\n", {0}),
        ("a.yaml", "#if 0\nx: 1\n#endif\n", {1}),
    ],
)
def test_the_lines_that_do_something(path: str, text: str, live: set[int]) -> None:
    assert live_lines(path, text.encode()) == live


@pytest.mark.parametrize(
    ("path", "text", "counts"),
    [
        ("a.py", "a\nif x:\n    b\n\n    c\nd\n", [0, 1, 1, 1, 1, 0]),
        ("a.py", "if x:\n    a\nelif y and z:\n    b\nelse:\n    c\n", [1, 1, 1, 1, 0, 1]),
        ("a.py", "for x in y:\n    a\n    if z:\n        b\n    # c\n", [0, 1, 2, 2, 2]),
        ("a.py", "try:\n    a\nexcept E:\n    b\nwith x:\n    c\n", [0, 1, 0, 1, 0, 1]),
        ("a.py", "a(\n    b,\n        c,\n)\nd\n", [0, 0, 0, 0, 0]),
        ("a.py", "def f():\n    return g(\n        1\n    )\n    a\nb\n", [0, 0, 0, 0, NEVER, 0]),
        ("a.c", "if (a &&\n    b) {\n    c;\n}\nd;\n", [2, 2, 1, 1, 0]),
        ("a.c", "a(b,\n  c);\nwhile (x)\nd;\ne;\n", [0, 0, 0, 2, 0]),
        (
            "a.c",
            "switch (x) {\ncase 1:\na;\nbreak;\ncase 2:\nb;\n}\n",
            [0, 1, 1, 1, NEVER + 1, 1, 1],
        ),
        (
            "a.c",
            "{\nif (x)\n\treturn;\na;\ngoto out;\nb;\nout:\nc;\n}\n",
            [0, 1, 2, 0, 0, NEVER, NEVER, 0, 0],
        ),
        ("a.c", "FOREACH(a, b)\n\tc;\nd;\n", [0, 1, 0]),
        ("a.c", "#if A\n#if B\na;\n#endif\nb;\n#endif\nc;\n", [2, 3, 2, 1, 1, 0, 0]),
        ("a.h", "#ifndef A_H\n#define A_H\na;\n#if B\nc;\n#endif\n#endif\n", [0, 0, 0, 2, 1, 0, 0]),
        (
            "a.c",
            "f()\n{\n#ifdef X\n\ta;\n#else\n\tb;\n#endif\n\tc;\n}\n",
            [0, 1, 1, 1, 1, 1, 0, 0, 0],
        ),
        ("a.py", "# a\n\nif x:\n  b\n", [0, 0, 1, 1]),
        ("a.sh", "if x; then\n  a\nfi\nb\n", [1, 2, 0, 0]),
        ("a.sh", "if x; then\na\nfi\nfor b in c; do d; done\ne\n", [1, 1, 0, 0, 0]),
        ("a.sh", "while x; do\na\nfi\nb\n", [0, 0, 0, 0]),
        ("a.sh", "x=(\n  a\n)\nb=$(\n  c\n)\n(\n  d\n)\n", [0, 0, 0, 0, 0, 0, 0, 1, 0]),
        ("a.lua", "if x then\nreturn\nend\na\n", [1, 0, 0, 0]),
        ("a.cmake", "IF(X)\na()\nENDIF()\nb()\n", [0, 1, 0, 0]),
    ],
)
def test_the_conditions_that_a_line_depends_on(path: str, text: str, counts: list[int]) -> None:
    found = conditions(path, text.encode())
    assert list(found[:-1]) == counts


def test_what_a_likeness_is_measured_by() -> None:
    """By shapes if there are enough of them, by names if not."""
    prover = Prover.__new__(Prover)
    unit = "\n".join(f"first_{n} = load(second_{n})" for n in range(9)).encode()
    shape, names = unit.replace(b"_", b"x"), b" ".join(reversed(unit.replace(b"=", b"").split()))
    found = {"shape": shape, "names": names}
    index = SimpleNamespace(
        weight=lambda _name: 1.0,
        candidates=lambda _piece, _text: list(found),
        tokens=lambda oid, kind: tokenize(kind, found[oid]),
        paths=lambda oid: [f"{oid}.py"],
    )
    fresh_code = SimpleNamespace(like=lambda _kind, _text: ())
    unsearched = SimpleNamespace(old_blobs=frozenset(found))
    vars(prover).update(index=index, unsearched=unsearched, _fresh_code=fresh_code)

    def best(text: bytes) -> str:
        compared = prover._compare("f.py", text, [Wanted(text)])
        return max(compared, key=lambda each: each[1])[2].path

    assert best(unit) == "shape.py"
    assert best(unit.split(b"\n")[0] + b"\n" + unit.split(b"\n")[1]) == "names.py"


@pytest.mark.parametrize(("last", "copied"), [("a9 = f(b9)", True), ("a9 = b9 + c", False)])
def test_a_short_copy_under_other_names_is_none(last: str, copied: bool) -> None:
    """Of sixty tokens it is one, though it was there all along; fewer look alike by chance."""
    prover = Prover.__new__(Prover)
    unit = "\n".join([*(f"a{n} = f(b{n})" for n in range(9)), last]).encode()
    twin = tokenize(Family.PYTHON, re.sub(rb"[a-f]\d?", rb"_\g<0>", unit))
    index = SimpleNamespace(
        weight=lambda _name: 1.0,
        candidates=lambda _piece, _text: ["twin"],
        tokens=lambda _oid, _kind: twin,
        paths=lambda oid: [f"{oid}.py"],
    )
    fresh_code = SimpleNamespace(like=lambda _kind, _text: ())
    unsearched = SimpleNamespace(old_blobs=frozenset(["twin"]))
    vars(prover).update(index=index, unsearched=unsearched, _fresh_code=fresh_code)
    ((like, _, _),) = prover._compare("f.py", unit, [Wanted(unit)])
    assert like is copied


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"a": Survival.REWRITTEN}, Survival.REWRITTEN),
        ({"a": Survival.WHOLE, "b": Survival.WHOLE}, Survival.WHOLE),
        ({"a": Survival.WHOLE, "b": Survival.REWRITTEN}, Survival.REWRITTEN),
        ({"a": Survival.WHOLE, "b": Survival.PART}, Survival.PART),
        ({"a": Survival.NONE, "b": Survival.WHOLE}, Survival.PART),
    ],
)
def test_what_is_left_of_a_change_to_several_files(
    files: dict[str, Survival], left: Survival
) -> None:
    fates = Fates.__new__(Fates)
    vars(fates).update(_file_survival=lambda path, *_sides: files[path])
    change = _Change(UNIT, dict.fromkeys(files), dict.fromkeys(files, FILE))
    assert fates._survival(change, {}) is left


def test_a_change_without_hunks_counts_as_hunk_0() -> None:
    mode = b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    (found,) = outcomes(Patch("a.patch", mode), HunkState.GONE)
    assert (found.file, found.index, found.state) == ("f", 0, HunkState.GONE)


BASE = PatchedBase("v1", tree_id("1" * 40))


def test_a_patch_counts_as_active_and_not_accepted_unless_it_is_said() -> None:
    placed = PlacedPatch(cast(Stack, None), Patch("a.patch", b""), BASE, BASE)
    assert not placed.inactive
    assert not placed.accepted


@pytest.mark.parametrize(
    ("missing", "lost", "can_be"),
    [
        ((), (), True),
        ((), ("other.patch",), True),
        ((), ("needed.patch",), False),
        (("needed.patch",), (), False),
    ],
)
def test_what_can_be_merged(missing: tuple[str, ...], lost: tuple[str, ...], can_be: bool) -> None:
    """It needs what it requires, not all that is lost below it."""
    patch = Patch("a.patch", b"X-Requires: needed.patch\n---\n")
    gone = tuple(LostPatch(Patch(name, b""), "dropped") for name in lost)
    away = tuple(Absent(name, "not in the series") for name in missing)
    placed = PlacedPatch(cast(Stack, None), patch, BASE, BASE, missing=away, lost=gone)
    assert placed.can_be_merged is can_be


# Names in other guises


@pytest.mark.parametrize(
    ("path", "text", "kind", "found"),
    [
        ("a.py", "def take(x): ...\n", Family.PYTHON, ("take",)),
        ("a.py", "class A:\n    def take(x): ...\n", Family.PYTHON, ("A.take",)),
        ("a.py", "take = 1\n", Family.PYTHON, ("take",)),
        ("a.py", "take(1)\n", Family.PYTHON, ()),
        ("a.py", "take == 1\n", Family.PYTHON, ()),
        ("a.cu", "void take(int x) { go(x); }\n", Family.PYTHON, ("take",)),
        ("a.cu", "void other() { take(1); }\n", Family.PYTHON, ()),
        ("a.c", "#define take(x) other(x)\n", Family.C, ("take",)),
        ("a.c", "int (*take)(int) = other;\n", Family.C, ("take",)),
        ("a.rst", "def take(x):\n", Family.PYTHON, ("take",)),
        ("a.rst", "Use take(x) for it.\n", Family.C, ()),
        ("a.x", "int\ntake(int x)\n{\n", Family.C, ("take",)),
        ("a.x", "function(take)\n", Family.OTHER, ("take",)),
        ("a.py", "void take(int x) {}\n", Family.C, ("take",)),
        ("a.py", "mistake = 1\n", Family.C, ()),
    ],
)
def test_where_a_name_is_defined(
    path: str, text: str, kind: Family, found: tuple[str, ...]
) -> None:
    assert definitions(path, text.encode(), "take", kind) == found


@pytest.mark.parametrize(
    ("line", "binds"),
    [
        ("take = fast", True),
        ("    take = fast", True),
        ("    take: Any = fast", True),
        ("Pool.take = fast", True),
        ('setattr(pool, "take", fast)', True),
        ("getattr(pool, 'take')", True),
        ("pool.take(x, now=1)", False),
        ("run(take=fast)", False),
        ("if take == fast:", False),
        ("mistake = fast", False),
        ("take(x)", False),
    ],
)
def test_what_binds_a_name(line: str, binds: bool) -> None:
    assert bool(binding("take").search(line.encode())) is binds


# Words


def test_some_of_many_names() -> None:
    assert some(["a", "b", "c"]) == "a, b, c"
    assert some(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert some(["a", "b"], most=1) == "a and 1 more"


def test_the_words_for_a_unit() -> None:
    assert unit_words(Unit("f", (0,), {}, {})) == "f"
    assert unit_words(Unit("f", (2,), {}, {})) == "f hunk 2"
    assert unit_words(Unit("f", (2, 3), {}, {})) == "f hunks 2, 3"


def test_grouped_by_commit() -> None:
    one, two = commit("1"), commit("2")
    groups = by_commit([(one, "a"), (None, "b"), (two, "c"), (two, "d")])
    assert groups == [(two, ["c", "d"]), (one, ["a"]), (None, ["b"])]


def test_the_core_of_a_line() -> None:
    assert core(b'"a b",') == b"a b"
    assert core(b"(a b) \\") == b"a b"
    assert core(b"});") == b"});"


def test_a_line_that_tells_something() -> None:
    assert is_telling(b"take page")
    assert not is_telling(b"take take")
    assert not is_telling(b"take of 12")


def test_words_in_a_message() -> None:
    assert mentioned(("GB10", "sm_12"), "for gb10, not sm_121") == ["GB10"]
    assert mentioned(("SM121",), "sm_121, sm-121 or SM 121") == ["SM121"]
    assert mentioned(("a+b", "c++"), "a +b and c_++") == []


# Where a path is


def test_no_two_paths_in_one_place() -> None:
    there = Placement("b", "b", Whereabouts.SAME)
    places = {"a": Placement("a", "b", Whereabouts.MOVED), "b": there}
    assert distinct(places) == {"a": Placement("a", None, Whereabouts.GONE), "b": there}
    apart = {"a": Placement("a", "c", Whereabouts.MOVED), "b": there}
    assert distinct(apart) == apart


@pytest.mark.parametrize(
    ("one", "other", "along"),
    [
        (("app/a.py", "lib/a.py"), ("app/b.py", "lib/b.py"), True),
        (("app/a.py", "lib/a.py"), ("app/b.py", "src/b.py"), False),
        (("app/a.py", "lib/c.py"), ("app/b.py", "lib/b.py"), False),
        (("app/a.py", "lib/c.py"), ("app/b.py", "lib/d.py"), False),
        (("app/deep/a.py", "lib/deep/a.py"), ("app/b.py", "lib/b.py"), True),
    ],
)
def test_files_of_one_directory_that_moved(
    one: tuple[str, str], other: tuple[str, str], along: bool
) -> None:
    places = [Placement(old, new, Whereabouts.MOVED) for old, new in (one, other)]
    assert moved_along(*places) is along
