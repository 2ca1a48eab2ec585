"""What is remembered and looked ahead: retired patches, watched words, forecasts, the matrix."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import ENVIRONMENT, MakeMiniature, Miniature
from workspaces import make_workspace, open_project

from patchq.engine.rebase.forecast import forecast
from patchq.engine.rebase.matrix.lifecycle import lifecycle, story
from patchq.engine.rebase.new_series import new_directory
from patchq.engine.rebase.rebase import judge_series
from patchq.engine.rebase.revive import revive
from patchq.errors import FindingsError, InputError
from patchq.model.ids import commit_id
from patchq.model.retired import RecordState, Retired, render_retired
from patchq.model.verdict import EvidenceKind, Memory, Verdict
from patchq.model.workspace import Workspace

LINES = [f"step_{number} = run('{number}')\n" for number in range(20)]
FILE = "app/steps.py"


def steps(**changed: str) -> dict[str, bytes | str | None]:
    """The file with some steps replaced: ``steps(step_3="off")``."""
    return {
        FILE: "".join(
            f"{name} = {changed[name]}\n" if (name := line.split()[0]) in changed else line
            for line in LINES
        )
    }


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """v2 takes the fix, v3 undoes it while it edits near it."""
    made = miniature()
    made.commit("Start (#1)", {**steps(), "app/other.py": "other = 1\n"})
    made.tag("v1")
    made.commit("Switch step 5 off (#2)", steps(step_5="off"))
    made.tag("v2")
    made.commit('Revert "Switch step 5 off (#2)" (#3)', steps())
    made.commit("Mention GB10 near it (#4)", steps(step_12="'wide'"))
    made.tag("v3")
    return made


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    """A series on v1 whose only patch switches step 5 off, and watches for GB10."""
    patch = upstream.patch("v1", steps(step_5="off"), trailers={"X-Watch": "GB10", "X-Kind": "fix"})
    return make_workspace(upstream, {"off.patch": patch}, bases=("v1", "v2", "v3"))


def rebase(workspace: Workspace, upstream: Miniature, source: str, onto: str) -> None:
    """Write the series on ``onto`` as rebase does."""
    rebased = judge_series(open_project(workspace, upstream), source, onto)
    directory = workspace.series_path(onto)
    directory.mkdir()
    for name, content in new_directory(rebased).items():
        (directory / name).write_bytes(content)


def test_a_retired_patch_resurfaces_where_upstream_undid_it(
    workspace: Workspace, upstream: Miniature
) -> None:
    rebase(workspace, upstream, "v1", "v2")
    assert (workspace.series_path("v2") / "series").read_bytes() == b""
    report = judge_series(open_project(workspace, upstream), "v2", "v3").report
    (remembered,) = report.resurfaced
    assert (remembered.name, remembered.retired_as, remembered.since) == (
        "off.patch",
        Verdict.UPSTREAMED,
        "v2",
    )
    assert remembered.now is not None
    assert remembered.now.verdict is Verdict.CLEAN


def test_a_rebase_with_a_resurfaced_patch_is_not_done(
    patchq: CommandLine, workspace: Workspace
) -> None:
    assert patchq("rebase", "--onto", "v2", cwd=workspace.root).returncode == 0
    revive_it = "`patchq revive off.patch v3`"
    for options in (("--dry-run",), ()):
        done = patchq("rebase", "--onto", "v3", *options, cwd=workspace.root)
        assert done.returncode == 1, done.stdout + done.stderr
    assert revive_it in done.stderr
    assert f"resurfaced off.patch on v3: {revive_it}" in patchq("status", cwd=workspace.root).stdout
    done = patchq("verify", "v3", cwd=workspace.root)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "left the series as upstreamed on v2 and is needed again" in done.stdout
    assert "needed again" not in patchq("verify", "v2", cwd=workspace.root).stdout
    dropped = ("drop", "off.patch", "--tag", "v3", "--reason", "off by default now")
    assert patchq(*dropped, cwd=workspace.root).returncode == 0
    assert patchq("verify", "v3", cwd=workspace.root).returncode == 0
    assert "resurfaced" not in patchq("status", cwd=workspace.root).stdout
    assert patchq("undo", cwd=workspace.root).returncode == 0
    assert patchq("revive", "off.patch", cwd=workspace.root).returncode == 0
    assert "resurfaced" not in patchq("status", cwd=workspace.root).stdout
    assert "needed again" not in patchq("verify", "v3", cwd=workspace.root).stdout


def test_verify_tells_status_what_resurfaced(patchq: CommandLine, workspace: Workspace) -> None:
    """As in a fresh clone, where nothing was kept."""
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    patchq("rebase", "--onto", "v3", cwd=workspace.root)
    shutil.rmtree(workspace.state_dir / "cache")
    assert "resurfaced" not in patchq("status", cwd=workspace.root).stdout
    assert "needed again" in patchq("verify", "v3", cwd=workspace.root).stdout
    assert "resurfaced" in patchq("status", cwd=workspace.root).stdout


def test_a_rebase_that_carries_a_held_patch_on_is_not_done(
    patchq: CommandLine, workspace: Workspace
) -> None:
    held = Retired(
        "hard.patch", Verdict.CONFLICT, "collides", (), b"x\n", RecordState.HELD, "v1", "v1"
    )
    (workspace.series_path("v1") / "retired.yaml").write_bytes(render_retired([held]))
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "held as conflict on v1" in done.stdout
    assert held in workspace.load("v2").retired


def test_the_record_of_a_patch_that_is_in_the_series_is_not_carried_on(
    patchq: CommandLine, upstream: Miniature
) -> None:
    patch = upstream.patch("v1", {"app/other.py": "other = 2\n"})
    workspace = make_workspace(upstream, {"other.patch": patch})
    held = Retired(
        "other.patch", Verdict.CONFLICT, "collides", (), b"x\n", RecordState.HELD, "v1", "v1"
    )
    (workspace.series_path("v1") / "retired.yaml").write_bytes(render_retired([held]))
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert workspace.load("v2").retired == ()


def test_a_retired_patch_stays_settled_where_upstream_kept_it(
    upstream: Miniature, workspace: Workspace
) -> None:
    rebase(workspace, upstream, "v1", "v2")
    upstream.commit("Start over from v2 (#9)", steps(step_5="off", step_18="late"))
    upstream.tag("v4")
    project = open_project(
        make_workspace(
            upstream,
            {"off.patch": (workspace.series_path("v1") / "off.patch").read_bytes()},
            bases=("v1", "v2", "v4"),
            root=workspace.root.parent / "again",
        ),
        upstream,
    )
    rebase(project.workspace, upstream, "v1", "v2")
    (remembered,) = judge_series(project, "v2", "v4").report.remembered
    assert remembered.memory is Memory.SETTLED


SERVE = "def serve(pool):\n    pool.open()\n    return pool.take(4)\n"
CHECK = "    limit = pool.limit()\n    check(pool, limit)\n"
CHECKED = SERVE.replace("    return", CHECK + "    return").replace("take(4)", "take(limit)")
SPLIT = CHECKED.replace(
    "    check(pool, limit)\n", "    check(\n        pool,\n        on=limit\n    )\n"
)


@pytest.mark.parametrize(
    ("final", "memory", "kind"),
    [
        (SPLIT, Memory.SETTLED, EvidenceKind.CONFLICTING_CHANGE),
        (CHECKED.replace("    check(pool, limit)\n", ""), Memory.RESURFACED, EvidenceKind.UNDONE),
        (CHECKED.replace("check(pool, limit)", "pass"), Memory.RESURFACED, EvidenceKind.UNDONE),
        (SPLIT.replace("take(limit)", "take(4)"), Memory.RESURFACED, EvidenceKind.UNDONE),
    ],
    ids=["developed further", "a line taken out", "replaced by nothing like it", "half reverted"],
)
def test_only_what_upstream_undid_resurfaces(
    miniature: MakeMiniature, final: str, memory: Memory, kind: EvidenceKind
) -> None:
    made = miniature()
    made.commit("Start (#1)", {FILE: SERVE})
    made.tag("v1")
    patches = {"check.patch": made.patch("v1", {FILE: CHECKED})}
    made.commit("Check it (#2)", {FILE: CHECKED})
    made.tag("v2")
    changed = made.commit("Go on (#3)", {FILE: final})
    made.tag("v3")
    workspace = make_workspace(made, patches, bases=("v1", "v2", "v3"))
    rebase(workspace, made, "v1", "v2")
    (remembered,) = judge_series(open_project(workspace, made), "v2", "v3").report.remembered
    assert remembered.memory is memory
    assert remembered.now is not None
    assert remembered.now.verdict is Verdict.SUPERSEDED
    assert changed in [item.commit for item in remembered.now.evidence if item.kind is kind]


def test_how_a_patch_was_applied_is_remembered(upstream: Miniature) -> None:
    patch = upstream.patch("v1", steps(step_5="off"))
    plain = patch.replace(b" a/app", b" app").replace(b" b/app", b" app")
    workspace = make_workspace(
        upstream, {"off.patch": plain}, bases=("v1", "v2", "v3"), series="off.patch -p0\n"
    )
    rebase(workspace, upstream, "v1", "v2")
    rebase(workspace, upstream, "v2", "v3")
    (record,) = workspace.load("v3").retired
    assert record.strip == 0
    revived = revive(open_project(workspace, upstream), "v3", "off.patch").new
    assert (revived.series.raw, revived.patches["off.patch"].raw) == (b"off.patch -p0\n", plain)


def test_revive_brings_a_resurfaced_patch_back(workspace: Workspace, upstream: Miniature) -> None:
    rebase(workspace, upstream, "v1", "v2")
    rebase(workspace, upstream, "v2", "v3")
    edited = revive(open_project(workspace, upstream), "v3", "off.patch")
    assert edited.notes == ("off.patch comes back as clean, as the last",)
    assert edited.new.series.raw == b"off.patch\n"
    before = (workspace.series_path("v1") / "off.patch").read_bytes()
    assert edited.new.patches["off.patch"].raw == before
    assert edited.new.retired == ()


def test_revive_puts_a_patch_where_it_stood(
    workspace: Workspace, upstream: Miniature, patchq: CommandLine
) -> None:
    directory = workspace.series_path("v1")
    for number in (10, 14):
        raw = upstream.patch("v1", {f"new{number}.txt": "x\n"}, f"Add {number}")
        (directory / f"new{number}.patch").write_bytes(raw)
    (directory / "series").write_text("new10.patch\noff.patch\nnew14.patch\n")
    rebase(workspace, upstream, "v1", "v2")
    rebase(workspace, upstream, "v2", "v3")
    assert workspace.series("v3").names == ("new10.patch", "new14.patch")
    done = patchq("revive", "off", "v3", cwd=workspace.root)
    assert "off.patch comes back as clean, before new14.patch, as it stood" in done.stderr
    assert workspace.series("v3").names == ("new10.patch", "off.patch", "new14.patch")
    story = patchq("why", "off", cwd=workspace.root).stdout
    assert "clean  v2 → v3" in story
    assert "brought back: it had left as upstreamed on v2" in story
    assert "undone" in story
    dropped = patchq("drop", "new10", "--tag", "v3", "--reason", "x", cwd=workspace.root)
    assert dropped.returncode == 0, dropped.stderr
    patchq("revive", "new10", "v3", cwd=workspace.root)
    assert workspace.series("v3").names == ("new10.patch", "off.patch", "new14.patch")


def test_revive_refuses_what_upstream_has(workspace: Workspace, upstream: Miniature) -> None:
    rebase(workspace, upstream, "v1", "v2")
    project = open_project(workspace, upstream)
    with pytest.raises(FindingsError, match="upstreamed on v2"):
        revive(project, "v2", "off.patch")
    with pytest.raises(InputError, match=r"no retired patch of\.patch") as caught:
        revive(project, "v2", "of.patch")
    assert caught.value.hint == "Did you mean off.patch?"


def test_watched_words_are_evidence_and_no_verdict(
    workspace: Workspace, upstream: Miniature
) -> None:
    report = judge_series(open_project(workspace, upstream), "v1", "v3").report
    (patch,) = report.patches
    assert patch.verdict is Verdict.CLEAN
    (seen,) = [item for item in patch.evidence if item.kind is EvidenceKind.WATCH]
    assert seen.pr == 4
    assert seen.paths == (FILE,)


def test_a_forecast_judges_a_commit_no_tag_names(miniature: MakeMiniature) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", steps())
    upstream.tag("v1")
    landed = upstream.commit("Switch step 5 off (#2)", steps(step_5="off"))
    patch = upstream.patch("v1", steps(step_5="off"))
    project = open_project(make_workspace(upstream, {"off.patch": patch}, bases=("v1",)), upstream)
    for name in (landed, landed[:10], "main"):
        report = forecast(project, "v1", name).report
        assert report.onto_commit == landed
        assert [patch.verdict for patch in report.patches] == [Verdict.UPSTREAMED]
    with pytest.raises(InputError, match="is not past v1"):
        forecast(project, "v1", upstream.id("v1^{commit}"))
    with pytest.raises(InputError, match="no upstream commit is known as 'nowhere'"):
        forecast(project, "v1", "nowhere")


def test_a_forecast_is_of_what_is_past_the_last_base(
    workspace: Workspace, upstream: Miniature
) -> None:
    project = open_project(workspace, upstream)
    for revision in ("v1", "v2", "v3"):
        with pytest.raises(InputError, match=r"is not past v3.*contains it"):
            forecast(project, "v1", revision)


def test_the_matrix_judges_each_series_on_the_base_that_follows(
    workspace: Workspace, upstream: Miniature
) -> None:
    rebase(workspace, upstream, "v1", "v2")
    matrix = lifecycle(open_project(workspace, upstream))
    assert [(column.base, column.has_series) for column in matrix.columns] == [
        ("v1", True),
        ("v2", True),
        ("v3", False),
    ]
    first, second, third = matrix.columns
    assert (first.introduced, first.report) == (("off.patch",), None)
    assert second.report is not None
    assert [patch.verdict for patch in second.report.patches] == [Verdict.UPSTREAMED]
    assert third.report is not None
    assert [item.memory for item in third.report.remembered] == [Memory.RESURFACED]


def test_what_is_not_fetched_is_named_at_once(workspace: Workspace, upstream: Miniature) -> None:
    project = open_project(workspace, upstream)
    strange = tuple(
        replace(project.lock.bases[0], name=n, commit=commit_id(n * 40)) for n in ("a", "b")
    )
    lock = replace(project.lock, bases=(*project.lock.bases, *strange))
    columns = lifecycle(replace(project, lock=lock)).columns
    assert [column.unfetched for column in columns] == [(), (), (), ("a",), ("b",)]
    assert columns[-1].report is None
    assert set(columns[-1].contents) == {"off.patch"}


def test_a_story_is_told_of_a_patch_that_left_too(
    workspace: Workspace, upstream: Miniature
) -> None:
    rebase(workspace, upstream, "v1", "v2")
    project = open_project(workspace, upstream)
    told = story(project, "off.patch")
    assert (told.kind, [column.base for column in told.columns]) == ("fix", ["v1", "v2", "v3"])
    with pytest.raises(InputError, match=r"no series has a patch on\.patch"):
        story(project, "on.patch")


def test_kept_verdicts_are_used_and_a_changed_patch_is_judged_anew(
    workspace: Workspace, upstream: Miniature, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = open_project(workspace, upstream)
    before = judge_series(project, "v1", "v2").report
    with monkeypatch.context() as patched:
        patched.setattr("patchq.engine.judge.judge.Judge.judge", None)  # judged once
        assert judge_series(open_project(workspace, upstream), "v1", "v2").report == before
    patch = workspace.series_path("v1") / "off.patch"
    patch.write_bytes(patch.read_bytes().replace(b"+step_5 = off", b"+step_5 = on"))
    changed = judge_series(open_project(workspace, upstream), "v1", "v2").report
    assert [item.verdict for item in changed.patches] == [Verdict.CONFLICT]


def test_a_kept_verdict_that_was_cut_off_is_found_again(
    workspace: Workspace, upstream: Miniature
) -> None:
    before = judge_series(open_project(workspace, upstream), "v1", "v2").report
    kept = list((workspace.state_dir / "cache/verdicts").rglob("*.json"))
    assert kept
    for file in kept:
        file.write_bytes(file.read_bytes()[:40])
    assert judge_series(open_project(workspace, upstream), "v1", "v2").report == before


def test_the_command_line_tells_it(
    workspace: Workspace, upstream: Miniature, patchq: CommandLine
) -> None:
    def run(*args: str) -> tuple[int, str, str]:
        done = patchq(*args, cwd=workspace.root, env={"PATCHQ_UPSTREAM": str(upstream.path)})
        return done.returncode, done.stdout, done.stderr

    rebase(workspace, upstream, "v1", "v2")
    code, out, _ = run("report", "v2", "--onto", "v3")
    assert code == 1  # a retired patch is needed again
    assert "resurfaced  off.patch" in out
    code, out, _ = run("report", "--all", "--format", "html", "-o", "life.html")
    assert (code, out) == (1, "")
    assert "off.patch" in Path(workspace.root, "life.html").read_text()
    lock = Path(workspace.root, "upstream.lock")
    known = lock.read_text()
    lock.write_text(
        known
        + known[known.rindex("  - name:") :]
        .replace("v3", "v4")
        .replace(upstream.id("v3^{commit}"), "4" * 40)
    )
    code, out, err = run("report", "--all", "--format", "json")
    lock.write_text(known)
    assert "not fetched, so not judged: v4: run `patchq fetch v4`" in err
    assert [base["unfetched"] for base in json.loads(out)["bases"]] == [[], [], [], ["v4"]]
    code, out, _ = run("why", "off.patch")
    assert code == 0
    assert "upstreamed" in out
    code, _, err = run("report", "v1", "--onto", "v2", "--against", "main")
    assert code == 2
    assert "ask one" in err


def test_a_page_tells_of_its_making_and_is_the_same_again(
    workspace: Workspace, upstream: Miniature, patchq: CommandLine
) -> None:
    root = workspace.root
    workspace.settings_path.write_text("web: {title: Ours, pull: 'https://e.org/{}'}\n")

    def page(*args: str) -> str:
        patchq(*args, "-o", "p.html", "--format", "html", cwd=root, env=environment)
        return (root / "p.html").read_text()

    environment = {"PATCHQ_UPSTREAM": str(upstream.path), "SOURCE_DATE_EPOCH": "1700000000"}
    assert "Made by patchq 0.1.0, 2023-11-14 22:13 UTC" in page("report", "--all")
    for words in (["init", "-q"], ["add", "series"], ["commit", "-qm", "Begin"]):
        subprocess.run(["git", *words], cwd=root, env=ENVIRONMENT, check=True)
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=root, text=True)
    changed = page("report", "--all")
    assert f"from {head[:9]} and changes that are not committed" in changed  # the lock
    assert "<title>Ours</title>" in changed
    subprocess.run(["git", "add", "upstream.lock"], cwd=root, env=ENVIRONMENT, check=True)
    subprocess.run(["git", "commit", "-qm", "Lock"], cwd=root, env=ENVIRONMENT, check=True)
    for args in (("report", "--all"), ("report", "v1", "--onto", "v2")):
        text = page(*args)
        assert "changes that are not committed" not in text
        assert text == page(*args)


def test_a_reverted_fix_resurfaces_though_it_requires_another_that_upstream_took(
    upstream: Miniature,
) -> None:
    """Upstream takes first, then second, then takes second out again: second is needed."""
    upstream.commit("Switch step 2 off (#5)", steps(step_2="off", step_12="'wide'"))
    upstream.tag("v4")
    both = steps(step_2="off", step_8="off", step_12="'wide'")
    upstream.commit("Switch step 8 off (#6)", both)
    upstream.tag("v5")
    upstream.commit('Revert "Switch step 8 off (#6)" (#7)', steps(step_2="off", step_12="'wide'"))
    upstream.tag("v6")
    first = steps(step_2="off", step_12="'wide'")
    patches = {
        "first.patch": upstream.patch("v3", first),
        "second.patch": upstream.patch("v4", both, trailers={"X-Requires": "first.patch"}),
    }
    workspace = make_workspace(
        upstream, patches, bases=("v3", "v4", "v5", "v6"), on="v3", root=upstream.path / "workspace"
    )
    for source, onto, retired in (("v3", "v4", ["first.patch"]), ("v4", "v5", [*patches])):
        rebase(workspace, upstream, source, onto)
        assert [record.name for record in workspace.load(onto).retired] == retired
    report = judge_series(open_project(workspace, upstream), "v5", "v6").report
    assert {item.name: item.memory for item in report.remembered} == {
        "first.patch": Memory.SETTLED,
        "second.patch": Memory.RESURFACED,
    }
