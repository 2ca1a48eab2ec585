from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from patchq.model.ids import commit_id
from patchq.model.verdict import (
    Action,
    Evidence,
    EvidenceKind,
    HunkOutcome,
    HunkState,
    Memory,
    PatchReport,
    PathChange,
    Remembered,
    Report,
    Verdict,
)
from patchq.report.jsonreport import SCHEMA, render_json
from patchq.report.summary import summary
from patchq.report.table import render_table
from patchq.report.text import printable, readable

SCHEMA_FILE = Path(__file__).parents[1] / "docs" / "report.schema.json"
MOVE = commit_id("c32c4ef79" + "0" * 31)
CHANGE = commit_id("81c7a54ec" + "0" * 31)
OLD, NEW = "kernel/CMakeLists.txt", "python/package/kernels/aot/CMakeLists.txt"


def make_report(*patches: PatchReport, guards: tuple[str, ...] = ()) -> Report:
    return Report("v1", "v2", commit_id("a" * 40), commit_id("b" * 40), guards, patches)


def carried(name: str = "a.patch", *offsets: int, verdict: Verdict = Verdict.CLEAN) -> PatchReport:
    hunks = tuple(
        HunkOutcome(OLD, index, HunkState.CARRIED, offset)
        for index, offset in enumerate(offsets or (0,), 1)
    )
    return PatchReport(name, verdict, (PathChange(OLD, OLD),), hunks)


def moved(name: str, *files: str) -> PatchReport:
    changes = tuple(PathChange(f"kernel/{file}", f"python/kernels/{file}") for file in files)
    evidence = Evidence(
        EvidenceKind.PATH_MOVED,
        ", ".join(f"{change.old} → {change.new}" for change in changes),
        MOVE,
        32648,
        "Move the kernel tree (#32648)",
        "2026-07-29T17:25:00+08:00",
        "v2",
        tuple(change.new or "" for change in changes),
    )
    hunks = tuple(HunkOutcome(change.old, 1, HunkState.CARRIED, 0) for change in changes)
    return PatchReport(name, Verdict.MOVED, changes, hunks, (evidence,))


def in_conflict(name: str = "bad.patch", subject: str = "Build for more (#33433)") -> PatchReport:
    evidence = Evidence(
        EvidenceKind.CONFLICTING_CHANGE,
        f"changed the lines of {OLD} hunks 2, 3",
        CHANGE,
        33433,
        subject,
        "2026-08-05T01:36:46-07:00",
        "v2",
        (OLD,),
    )
    hunks = (
        HunkOutcome(OLD, 1, HunkState.CARRIED),
        HunkOutcome(OLD, 2, HunkState.CONFLICTING, commit=CHANGE),
        HunkOutcome(OLD, 3, HunkState.CONFLICTING, commit=CHANGE),
    )
    return PatchReport(name, Verdict.CONFLICT, (PathChange(OLD, OLD),), hunks, (evidence,))


def table(
    report: Report, width: int = 80, encoding: str = "utf-8", *, terminal: bool = False
) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    console = Console(
        file=stream, width=width, force_terminal=terminal, color_system="256" if terminal else None
    )
    render_table(report, console)
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return found


def objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (part for part in (schema, *schema["$defs"].values()) if "properties" in part)


# -- JSON --------------------------------------------------------------------------------------


def test_the_schema_says_what_the_code_says(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    definitions = schema["$defs"]
    assert schema["properties"]["schema"]["const"] == SCHEMA
    assert definitions["verdict"]["enum"] == [verdict.value for verdict in Verdict]
    assert definitions["action"]["enum"] == [action.value for action in Action]
    assert definitions["memory"]["enum"] == [memory.value for memory in Memory]
    assert definitions["outcome"]["enum"] == [state.value for state in HunkState]
    kinds = definitions["evidence"]["properties"]["kind"]["enum"]
    assert kinds == [kind.value for kind in EvidenceKind]
    counts = ["total", *(state.value for state in HunkState)]
    assert list(definitions["counts"]["properties"]) == counts
    for part in objects(schema):
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])


def test_every_verdict_state_and_kind_is_valid(schema: dict[str, Any]) -> None:
    patches = [
        PatchReport(
            f"{verdict.value}.patch",
            verdict,
            (PathChange(OLD, None), PathChange(OLD, NEW)),
            tuple(HunkOutcome(OLD, index, state) for index, state in enumerate(HunkState)),
            tuple(Evidence(kind, "words") for kind in EvidenceKind),
            kind="strip",
        )
        for verdict in Verdict
    ]
    report = make_report(*patches, moved("m.patch", "a.c"), in_conflict(), guards=("slim",))
    document = json.loads(render_json(report))
    Draft202012Validator(schema).validate(document)
    assert [patch["verdict"] for patch in document["patches"]][:-2] == [v.value for v in Verdict]


@pytest.mark.parametrize("path", [(), ("patches", 0), ("patches", 0, "counts")])
def test_the_schema_refuses_what_it_does_not_know(
    schema: dict[str, Any], path: tuple[str | int, ...]
) -> None:
    document = json.loads(render_json(make_report(in_conflict())))
    part = document
    for step in path:
        part = part[step]
    part["surprise"] = 1
    assert not Draft202012Validator(schema).is_valid(document)


def test_the_shape_of_a_patch() -> None:
    (patch,) = json.loads(render_json(make_report(in_conflict())))["patches"]
    assert patch == {
        "name": "bad.patch",
        "kind": None,
        "verdict": "conflict",
        "action": "review",
        "age": 1,
        "blocked_by": [],
        "notes": [],
        "paths": [{"old": OLD, "new": OLD}],
        "hunks": [
            {"file": OLD, "index": 1, "outcome": "carried", "offset": None, "commit": None},
            {"file": OLD, "index": 2, "outcome": "conflicting", "offset": None, "commit": CHANGE},
            {"file": OLD, "index": 3, "outcome": "conflicting", "offset": None, "commit": CHANGE},
        ],
        "counts": {
            "total": 3,
            "carried": 1,
            "upstream": 0,
            "conflicting": 2,
            "gone": 0,
            "uncovered": 0,
        },
        "effects": [],
        "evidence": [
            {
                "kind": "conflicting-change",
                "commit": CHANGE,
                "pr": 33433,
                "subject": "Build for more (#33433)",
                "date": "2026-08-05T01:36:46-07:00",
                "first_tag": "v2",
                "paths": [OLD],
                "text": f"changed the lines of {OLD} hunks 2, 3",
            }
        ],
    }


def remembered(name: str, memory: Memory, now: PatchReport | None = None) -> Remembered:
    return Remembered(name, Verdict.UPSTREAMED, "v0", memory, now)


def test_the_shape_of_a_remembered_patch(schema: dict[str, Any]) -> None:
    back = remembered("back.patch", Memory.RESURFACED, in_conflict("back.patch"))
    lost = remembered("lost.patch", Memory.UNKNOWN)
    document = json.loads(render_json(replace(make_report(), remembered=(back, lost))))
    Draft202012Validator(schema).validate(document)
    first, second = document["remembered"]
    (evidence,) = first.pop("evidence")
    assert first == {
        "name": "back.patch",
        "retired_as": "upstreamed",
        "since": "v0",
        "needed_by": [],
        "memory": "resurfaced",
        "now": "conflict",
    }
    assert evidence["commit"] == CHANGE
    assert (second["now"], second["evidence"]) == (None, [])


def test_json_is_ascii_whatever_a_path_holds() -> None:
    name = b"caf\xe9 \xe2\x86\x92.c".decode("utf-8", "surrogateescape")
    text = render_json(make_report(replace(carried(), paths=(PathChange(name, None),))))
    assert text.isascii()
    assert text.endswith("}\n")
    assert json.loads(text)["patches"][0]["paths"][0]["old"] == "caf\\xe9 →.c"


# -- one line ----------------------------------------------------------------------------------


def test_the_summary_counts_the_most_frequent_first() -> None:
    patches = (in_conflict(), moved("b.patch", "a.c"), moved("c.patch", "a.c"), carried())
    assert summary(make_report(*patches)) == "v1 → v2 · 4 patches: 2 moved, 1 conflict, 1 clean"


def test_the_summary_of_one_patch_and_of_none() -> None:
    assert summary(make_report(carried())) == "v1 → v2 · 1 patch: 1 clean"
    assert summary(make_report(guards=("slim", "x"))) == "v1 → v2 (with slim, x) · 0 patches"


# -- the table ---------------------------------------------------------------------------------


def test_decisions_come_first_then_what_leaves_then_the_rest() -> None:
    dropped = replace(carried("gone.patch"), verdict=Verdict.EXPIRED)
    lines = table(make_report(carried("fine.patch", -3, 12), dropped, in_conflict())).splitlines()
    assert lines == [
        "v1 → v2 · 3 patches: 1 expired, 1 conflict, 1 clean",
        "",
        "Needs a decision",
        "✖ conflict  bad.patch  hunks: 1 carried, 2 conflicting",
        "    81c7a54ec (#33433) 2026-08-05 v2  Build for more",
        f"      conflicting {OLD} hunks 2,3",
        "",
        "Leaves the series",
        "† expired  gone.patch  1/1 hunks",
        "",
        "Carried",
        "✔ clean  fine.patch  2/2 hunks, offset -3…+12",
    ]


def test_what_resurfaced_comes_before_what_is_held_and_settled_takes_a_line() -> None:
    undone = Evidence(EvidenceKind.UNDONE, "taken out again", CHANGE, 8, "Revert it (#8)")
    now = replace(carried("back.patch"), evidence=(undone,))
    items = (
        remembered("one.patch", Memory.SETTLED),
        remembered("held.patch", Memory.HELD),
        remembered("two.patch", Memory.SETTLED),
        remembered("back.patch", Memory.RESURFACED, now),
        remembered("lost.patch", Memory.UNKNOWN),
    )
    report = replace(make_report(carried("fine.patch")), remembered=items)
    assert table(report).splitlines()[1:] == [
        "",
        "Needs a decision",
        "↺ resurfaced  back.patch",
        "    retired as upstreamed on v0, now clean",
        "    81c7a54ec (#8)  Revert it",
        "      taken out again",
        "‖ held  held.patch",
        "    held as upstreamed on v0",
        "",
        "Carried",
        "✔ clean  fine.patch  1/1 hunks",
        "",
        "2 retired patches settled · 1 retired patch cannot be judged on v2",
    ]


def test_watched_commits_are_to_look_at_and_decide_nothing() -> None:
    watch = Evidence(EvidenceKind.WATCH, "mentions GB10", CHANGE, 8, "Touch it (#8)", None, "v2")
    patches = [replace(carried(name), evidence=(watch,)) for name in ("a.patch", "b.patch")]
    assert table(make_report(*patches)).splitlines()[1:] == [
        "",
        "To look at",
        "81c7a54ec (#8) v2  Touch it",
        "    a.patch: mentions GB10",
        "    b.patch: mentions GB10",
        "",
        "Carried",
        "✔ clean  a.patch  1/1 hunks",
        "✔ clean  b.patch  1/1 hunks",
    ]


def test_a_move_that_explains_many_patches_is_told_once() -> None:
    report = make_report(moved("a.patch", "x.c"), carried("b.patch"), moved("long-c.patch", "x.c"))
    assert table(report).splitlines()[3:] == [
        "2 patches, explained together:",
        "→ moved  a.patch       1/1 hunks",
        "→ moved  long-c.patch  1/1 hunks",
        "    c32c4ef79 (#32648) 2026-07-29 v2  Move the kernel tree",
        "      kernel/x.c → python/kernels/x.c",
        "",
        "✔ clean  b.patch       1/1 hunks",
    ]


def test_several_files_of_one_move_are_told_by_directory() -> None:
    report = make_report(moved("a.patch", "x.c", "d/y.c"), moved("b.patch", "z.c"))
    text = table(report)
    assert text.count(MOVE[:9]) == 1
    assert "kernel/ → python/kernels/ (3 files)" in text


def test_a_move_without_evidence_is_told_too() -> None:
    text = table(make_report(replace(moved("a.patch", "x.c"), evidence=())))
    assert "    kernel/x.c → python/kernels/x.c\n" in text


def test_hunks_in_trouble_that_no_evidence_explains_are_named() -> None:
    text = table(make_report(replace(in_conflict(), evidence=())))
    assert f"    conflicting {OLD} hunks 2,3\n" in text


def test_evidence_for_hunks_of_no_known_commit_speaks_for_itself() -> None:
    patch = in_conflict()
    hunks = tuple(replace(hunk, commit=None) for hunk in patch.hunks)
    text = table(make_report(replace(patch, hunks=hunks)))
    assert f"      changed the lines of {OLD} hunks 2, 3\n" in text
    assert "conflicting kernel" not in text


def test_a_predicate_speaks_for_all_hunks() -> None:
    evidence = Evidence(EvidenceKind.PREDICATE, "X-Expect: contains a.py x does not hold on v2")
    patch = replace(in_conflict(), verdict=Verdict.DRIFTED, evidence=(evidence,))
    lines = table(make_report(patch)).splitlines()
    assert lines[3].startswith("≠ drifted")
    assert lines[4:] == ["    X-Expect: contains a.py x does not hold on v2"]


def test_trimmed_hunks_are_named() -> None:
    merged = Evidence(EvidenceKind.MERGED, "1 of 2 hunks are in v2", CHANGE, paths=(OLD,))
    hunks = (
        HunkOutcome(OLD, 1, HunkState.CARRIED, 4),
        HunkOutcome(OLD, 2, HunkState.UPSTREAM, commit=CHANGE),
    )
    patch = PatchReport("p.patch", Verdict.PARTIAL, (), hunks, (merged,))
    assert table(make_report(patch)).splitlines()[3:] == [
        "✂ partial  p.patch  hunks: 1 carried, 1 upstream, offset +4",
        "    81c7a54ec",
        "      1 of 2 hunks are in v2",
        f"      upstream {OLD} hunk 2",
    ]


def test_hints_and_uncovered_patches_need_a_decision() -> None:
    hinted = replace(carried("hint.patch"), evidence=(Evidence(EvidenceKind.HINT, "see this"),))
    blind = (Evidence(EvidenceKind.NOT_COVERED, "v2 has none of it"),)
    uncovered = replace(carried("blind.patch"), verdict=Verdict.NOT_COVERED, evidence=blind)
    text = table(make_report(hinted, uncovered))
    assert "Needs a decision" in text
    assert "Carried" not in text


def test_age_notes_and_blockers_are_shown() -> None:
    fine = replace(carried(), age=3, notes=("predicate paths follow",))
    blocked = replace(in_conflict(), blocked_by=("low.patch",))
    text = table(make_report(fine, blocked))
    assert "1/1 hunks, age 3 · predicate paths follow\n" in text
    assert "    after low.patch\n" in text


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_lines_fit_and_paths_and_ids_stay_whole(width: int) -> None:
    change = PathChange(OLD, NEW)
    evidence = replace(moved("m.patch", "x").evidence[0], paths=(NEW,), subject="word " * 40)
    patch = replace(moved("m.patch"), paths=(change,), evidence=(evidence,))
    conflict = in_conflict("c" * 50, subject="語" * 70)
    text = table(make_report(patch, conflict), width)
    for whole in (OLD, NEW, MOVE[:9], CHANGE[:9], "c" * 50):
        assert whole in text
    for line in text.splitlines():
        assert (
            Console(width=width).measure(line).maximum <= max(width, 30) or len(line.split()) == 1
        )
    assert "…" in text


def test_a_pipe_gets_no_colours_and_a_terminal_does(monkeypatch: pytest.MonkeyPatch) -> None:
    report = make_report(in_conflict(), carried())
    assert "\x1b" not in table(report)
    assert "\x1b[1;31m✖" in table(report, terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;31m" not in table(report, terminal=True)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_stream_without_the_signs_gets_ascii_ones(encoding: str) -> None:
    report = make_report(
        *(replace(carried(f"{v.value}.patch", -1, 2), verdict=v) for v in Verdict),
        in_conflict(subject="naïve → ✔ " * 20),
    )
    text = table(report, encoding=encoding)
    assert text.startswith("v1 -> v2 - 12 patches")
    assert "x conflict" in text
    assert "= clean" in text
    assert "offset -1...+2" in text
    signs = {line[0] for line in text.splitlines()[1:] if ".patch" in line}
    assert len(signs) == len(Verdict)


def test_nothing_from_upstream_steers_the_terminal() -> None:
    text = table(make_report(in_conflict("e\x1b[2Jvil.patch", subject="[red]a\x1b]0;b\x07\u202ec")))
    assert "\x1b" not in text
    assert r"e\x1b[2Jvil.patch" in text
    assert r"[red]a\x1b]0;b\x07\u202ec" in text


def test_spelling() -> None:
    assert readable("caf\udce9\n→") == "caf\\xe9\n→"
    assert printable("caf\udce9\n→") == "caf\\xe9\\n→"
