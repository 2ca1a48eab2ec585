"""The lifecycle matrix and one patch's story: in the terminal and as JSON."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from rich.cells import cell_len
from rich.console import Console

from patchq.model.ids import commit_id
from patchq.model.verdict import (
    Column,
    Evidence,
    EvidenceKind,
    HunkOutcome,
    HunkState,
    Matrix,
    Memory,
    PatchReport,
    PathChange,
    Remembered,
    Report,
    Story,
    Verdict,
)
from patchq.report.cells import MARKS, cell, marks, short_bases
from patchq.report.jsonreport import MATRIX_SCHEMA, render_matrix_json
from patchq.report.matrixtable import render_matrix
from patchq.report.story import render_story

DOCS = Path(__file__).parents[1] / "docs"
COMMIT = commit_id("81c7a54ec" + "0" * 31)


def judged(name: str, verdict: Verdict = Verdict.CLEAN, *evidence: Evidence) -> PatchReport:
    hunks = (HunkOutcome("a.c", 1, HunkState.CARRIED, 3),)
    return PatchReport(name, verdict, (PathChange("a.c", "a.c"),), hunks, evidence, kind="fix")


def column(
    base: str,
    *patches: PatchReport,
    new: tuple[str, ...] = (),
    remembered: tuple[Remembered, ...] = (),
    has_series: bool = True,
) -> Column:
    report = None
    if patches or remembered:
        report = Report(
            "before", base, commit_id("a" * 40), commit_id("b" * 40), (), patches, remembered
        )
    return Column(base, commit_id("b" * 40), "2026-08-05T00:00:00Z", has_series, report, new)


def life() -> Matrix:
    settled = Remembered("gone.patch", Verdict.UPSTREAMED, "v1.1", Memory.SETTLED)
    back = replace(settled, memory=Memory.RESURFACED, now=judged("gone.patch"))
    return Matrix(
        (
            column("v1.0", new=("gone.patch", "stays.patch")),
            column("v1.1", judged("gone.patch", Verdict.UPSTREAMED), judged("stays.patch")),
            column("v1.1.post1", judged("stays.patch", Verdict.MOVED), remembered=(settled,)),
            column(
                "v1.2",
                judged("stays.patch", Verdict.CONFLICT),
                remembered=(back,),
                has_series=False,
            ),
        )
    )


def printed(matrix: Matrix, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    render_matrix(matrix, Console(file=stream, width=width))
    stream.flush()
    return raw.getvalue().decode(encoding)


# -- cells -------------------------------------------------------------------------------------


def test_a_cell_is_judged_or_remembered_or_new() -> None:
    matrix = life()
    words = [
        [found.mark.word if (found := cell(base, name)) else None for base in matrix.columns]
        for name in matrix.names
    ]
    assert matrix.names == ("gone.patch", "stays.patch")
    assert words == [
        ["new", "upstreamed", "settled", "resurfaced"],
        ["new", "clean", "moved", "conflict"],
    ]


def test_every_verdict_and_memory_has_its_own_mark() -> None:
    assert list(MARKS) == [
        *(v.value for v in Verdict),
        *(m.value for m in Memory),
        "still-needed",
        "dropped",
        "new",
        "not-fetched",
    ]
    for signs in (
        [mark.look.sign for mark in MARKS.values()],
        [mark.look.plain for mark in MARKS.values()],
    ):
        assert len(set(signs)) == len(MARKS)


def test_the_legend_counts() -> None:
    counted = {mark.word: count for mark, count in marks(life())}
    assert counted["new"] == 2
    assert counted["conflict"] == 1
    assert "adapted" not in counted


def test_only_bases_past_the_newest_series_are_open() -> None:
    assert [base.base for base in life().open] == ["v1.2"]
    closed = tuple(replace(base, has_series=True) for base in life().columns)
    assert Matrix(closed).open == ()


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (("v0.5.9", "v0.5.10", "v0.5.10.post1"), ("9", "10", "10p1")),
        (("v1", "v2"), ("v1", "v2")),
        (("main-a", "main-b"), ("a", "b")),
        (("only",), ("only",)),
        (("v1", "v1p1", "v1.post1"), ("v1", "v1p1", "v1.post1")),
        ((), ()),
    ],
)
def test_heads_of_columns(names: tuple[str, ...], short: tuple[str, ...]) -> None:
    assert short_bases(names) == short


# -- the grid ----------------------------------------------------------------------------------


def test_the_grid() -> None:
    assert printed(life()).splitlines() == [
        "Needs a decision on v1.2",
        "    resurfaced gone.patch: retired as upstreamed on v1.1, now clean",
        "    conflict stays.patch: 1/1 hunks, offset +3",
        "",
        "       v1.0  v1.1  v1.1.post1  v1.2",
        "gone      ○     ↑           ·     ↺",
        "stays     ○     ✔           →     ✖",
        "",
        "↑ upstreamed 1  ✖ conflict 1  → moved 1  ✔ clean 1  · settled 1  ↺ resurfaced 1",
        "○ new 2",
    ]


def test_the_newest_base_is_told_in_full_and_older_ones_in_a_line() -> None:
    held = Remembered("h.patch", Verdict.CONFLICT, "v1", Memory.HELD)
    top = judged("top.patch", Verdict.CONFLICT)
    after = replace(judged("after.patch", Verdict.CONFLICT), blocked_by=("top.patch",))
    text = printed(
        Matrix(
            (
                column("v2", judged("top.patch"), remembered=(held,)),
                column("v3", top, after, remembered=(held,), has_series=False),
            )
        )
    )
    assert text.splitlines()[:6] == [
        "Needs a decision on v3",
        "    held h.patch: held as conflict on v1",
        "    conflict top.patch: 1/1 hunks, offset +3; 1 stands on it: after",
        "",
        "Needs a decision on v2: 1 held",
        "",
    ]


def test_bases_are_shortened_only_where_their_names_do_not_fit() -> None:
    assert "       v1.0  v1.1  v1.1.post1  v1.2" in printed(life(), 35).splitlines()
    assert "       0  1  1p1  2" in printed(life(), 34).splitlines()


@pytest.mark.parametrize("width", [30, 40, 80])
def test_columns_wrap_into_blocks_and_none_is_lost(width: int) -> None:
    bases = tuple(
        column(f"v0.5.{number}", *(judged(f"patch-{p}.patch") for p in range(3)))
        for number in range(17)
    )
    lines = printed(Matrix(bases), width).splitlines()
    assert all(cell_len(line) <= width for line in lines)
    heads = [word for line in lines if line.startswith("    ") for word in line.split()]
    assert sorted(map(int, filter(str.isdigit, heads))) == list(range(17))
    assert sum(line.count("✔") for line in lines if line.startswith("patch-")) == 3 * 17


def test_a_block_leaves_out_what_stays_retired() -> None:
    settled = Remembered("gone.patch", Verdict.UPSTREAMED, "v1", Memory.SETTLED)
    text = printed(Matrix((column("v2", judged("a.patch"), remembered=(settled,)),)))
    assert "gone" not in text
    assert "settled 1" in text


def test_a_matrix_of_nothing() -> None:
    assert printed(Matrix(())) == "The lock has no bases yet.\n"


def test_ascii_streams_and_hostile_names() -> None:
    name = "e\x1b[2Jvil\u202e.patch"
    text = printed(Matrix((column("v1", judged(name, Verdict.CONFLICT)),)), encoding="ascii")
    assert "\x1b" not in text
    assert r"e\x1b[2Jvil" in text
    assert any(line.rstrip().endswith("x") for line in text.splitlines())


# -- JSON --------------------------------------------------------------------------------------


def validator() -> Draft202012Validator:
    schemas: list[dict[str, Any]] = [
        json.loads((DOCS / name).read_text(encoding="utf-8"))
        for name in ("matrix.schema.json", "report.schema.json")
    ]
    for schema in schemas:
        Draft202012Validator.check_schema(schema)
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas
    )
    assert schemas[0]["properties"]["schema"]["const"] == MATRIX_SCHEMA
    return Draft202012Validator(schemas[0], registry=registry)


def test_the_matrix_as_json_is_what_the_schema_says() -> None:
    document = json.loads(render_matrix_json(life()))
    validator().validate(document)
    assert document["patches"] == ["gone.patch", "stays.patch"]
    assert [base["name"] for base in document["bases"]] == ["v1.0", "v1.1", "v1.1.post1", "v1.2"]
    assert document["bases"][0]["introduced"] == ["gone.patch", "stays.patch"]
    assert document["bases"][0]["report"] is None
    assert document["bases"][-1]["report"]["remembered"][0]["memory"] == "resurfaced"


@pytest.mark.parametrize("place", ["base", "report"])
def test_the_schema_refuses_surprises(place: str) -> None:
    document = json.loads(render_matrix_json(life()))
    base = document["bases"][-1]
    (base if place == "base" else base["report"])["surprise"] = 1
    assert not validator().is_valid(document)


# -- one patch's story -------------------------------------------------------------------------


def told(story: Story, width: int = 80) -> str:
    stream = io.StringIO()
    render_story(story, Console(file=stream, width=width))
    return stream.getvalue()


def test_a_story_tells_every_base() -> None:
    change = Evidence(
        EvidenceKind.CONFLICTING_CHANGE,
        "changed the lines of a.c hunk 2",
        COMMIT,
        7,
        "Build for more (#7)",
        "2026-08-01T00:00:00Z",
        "v2",
    )
    hunks = (
        HunkOutcome("a.c", 1, HunkState.CARRIED, -2),
        HunkOutcome("a.c", 2, HunkState.CONFLICTING, commit=COMMIT),
        HunkOutcome("b.bin", 0, HunkState.GONE),
    )
    patch = PatchReport(
        "p.patch",
        Verdict.CONFLICT,
        (PathChange("a.c", "d/a.c"), PathChange("b.bin", None)),
        hunks,
        (change,),
        blocked_by=("low.patch",),
    )
    story = Story(
        "p.patch",
        "Do it well",
        "fix",
        ("X-Upstream-PR: 7",),
        (column("v1", new=("p.patch",)), column("v2", patch), column("v3")),
    )
    assert told(story).splitlines() == [
        "p.patch",
        "Do it well",
        "kind: fix",
        "ends: X-Upstream-PR: 7",
        "",
        "○ new  v1  2026-08-05",
        "",
        "✖ conflict  before → v2  2026-08-05",
        "    needs review · hunks: 1 carried, 1 conflicting, 1 gone, offset -2",
        "    after low.patch",
        "    conflicting-change: changed the lines of a.c hunk 2",
        "      81c7a54ec (#7) 2026-08-01 v2  Build for more",
        "    a.c → d/a.c",
        "      hunk 1: carried, offset -2",
        "      hunk 2: conflicting by 81c7a54ec",
        "    b.bin → nowhere",
        "      whole file: gone",
    ]


def test_a_story_goes_on_after_retirement() -> None:
    text = told(Story("gone.patch", "", None, (), life().columns))
    assert "ends: no rule; it is carried until upstream has it" in text
    assert "· settled  before → v1.1.post1" in text
    assert "↺ resurfaced  before → v1.2" in text
    assert "retired as upstreamed on v1.1, now clean" in text


def test_a_story_without_chapters_says_so() -> None:
    assert "in no series" in told(Story("x.patch", "", None, (), life().columns))
