"""``patchq rebase`` on the real command line: what it writes, what it refuses, how it ends."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import add_series, make_workspace, pinned, placed

from patchq.errors import Where
from patchq.model.ids import commit_id, tree_id
from patchq.model.lock import Base, Lock, render_lock
from patchq.model.retired import RecordState, Retired, read_retired
from patchq.model.series import Guard
from patchq.model.verdict import Verdict
from patchq.model.workspace import Workspace

SCHEMA = Path(__file__).parents[1] / "docs/report.schema.json"
FATES = ("keep", "shift", "landed", "gone", "fight")
SERIES = """\
# What we carry.
keep.patch
shift.patch #+extra

landed.patch #-slim why not
gone.patch
# The end.
"""


def text(name: str) -> str:
    """A file whose lines stand nowhere else."""
    return "".join(f"{name}_{number} = setting('{name}', {number})\n" for number in range(12))


def changed(content: str, number: int, name: str, new: str = "None") -> str:
    """The file with one of its lines changed."""
    old = f"{name}_{number} = setting('{name}', {number})\n"
    assert old in content
    return content.replace(old, f"{name}_{number} = {new}\n")


def mended(name: str) -> dict[str, bytes | str | None]:
    """What the patch ``name`` makes of its file."""
    return {f"{name}.py": changed(text(name), 6, name)}


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """v1; v2, where every patch's fate is its file's name; v3, where ``fight`` collides."""
    made = miniature()
    made.commit("Start (#1)", {f"{name}.py": text(name) for name in FATES})
    made.tag("v1")
    made.commit("Land it (#2)", mended("landed"))
    made.commit("Shift (#3)", {"shift.py": changed(text("shift"), 4, "shift")})
    made.commit("Drop it (#4)", {"gone.py": None})
    made.tag("v2")
    made.commit("Fight (#5)", {"fight.py": changed(text("fight"), 6, "fight", "1")})
    made.tag("v3")
    return made


def patch_of(upstream: Miniature, name: str, at: str = "v1") -> bytes:
    return upstream.patch(at, mended(name), subject=f"Mend {name}")


@pytest.fixture
def patches(upstream: Miniature) -> dict[str, bytes]:
    """The patches of :data:`SERIES`."""
    names = ("keep", "shift", "landed", "gone")
    return {f"{name}.patch": patch_of(upstream, name) for name in names}


@pytest.fixture
def workspace(upstream: Miniature, patches: Mapping[str, bytes]) -> Workspace:
    """A series on v1 that goes to v2 and v3 without a person."""
    return make_workspace(upstream, patches, bases=("v1", "v2", "v3"), series=SERIES)


@pytest.fixture
def fighting(upstream: Miniature) -> Workspace:
    """A series on v1 of which one patch of three collides on v3."""
    names = ("keep", "fight", "landed")
    return make_workspace(
        upstream,
        {f"{name}.patch": patch_of(upstream, name) for name in names},
        bases=("v1", "v2", "v3"),
        series="# Three.\nkeep.patch\nfight.patch #-slim\nlanded.patch\n",
    )


def snapshot(directory: Path) -> dict[str, bytes]:
    """Every file below a directory, but for what git is told to ignore."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and ".patchq" not in path.parts
    }


def records(workspace: Workspace, tag: str) -> dict[str, Retired]:
    raw = (workspace.series_path(tag) / "retired.yaml").read_bytes()
    return {record.name: record for record in read_retired(raw, Where("retired.yaml"))}


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON that a command printed, checked against the schema that the docs promise."""
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert isinstance(document, dict)
    return document


def told(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    return {patch["name"]: patch["verdict"] for patch in report(done)["patches"]}


# What is written


def test_the_new_series(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, patches: Mapping[str, bytes]
) -> None:
    old = snapshot(workspace.series_path("v1"))
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    new = snapshot(workspace.series_path("v2"))
    assert set(new) == {"series", "keep.patch", "shift.patch", "retired.yaml"}
    assert new["keep.patch"] == patches["keep.patch"]
    assert new["shift.patch"] != patches["shift.patch"]
    assert placed(upstream, "v2", new["shift.patch"]) == {
        "shift.py": changed(changed(text("shift"), 4, "shift"), 6, "shift").encode()
    }
    assert snapshot(workspace.series_path("v1")) == old


def test_comments_and_guards_of_the_series_stay(patchq: CommandLine, workspace: Workspace) -> None:
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    written = (workspace.series_path("v2") / "series").read_text()
    assert written == "# What we carry.\nkeep.patch\nshift.patch #+extra\n\n# The end.\n"


def test_retired_patches_are_kept_whole(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, patches: Mapping[str, bytes]
) -> None:
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    kept = records(workspace, "v2")
    assert list(kept) == ["landed.patch", "gone.patch"]
    landed, gone = kept.values()
    assert landed.content == patches["landed.patch"]
    assert landed.verdict is Verdict.UPSTREAMED
    assert (landed.since, landed.base) == ("v2", "v1")
    assert landed.standing is RecordState.RETIRED
    assert landed.guards == (Guard("slim", False),)
    assert [(each.pr, each.commit) for each in landed.evidence[:1]] == [(2, upstream.id("v2~2"))]
    assert gone.content == patches["gone.patch"]
    assert gone.verdict is Verdict.UNREACHABLE
    assert gone.evidence[0].commit == upstream.id("v2")


def test_bytes_that_are_no_text_come_back_from_retirement(
    patchq: CommandLine, miniature: MakeMiniature
) -> None:
    upstream = miniature()
    upstream.commit("Start", {"it": b"one \xe9\r\ntwo\r\n"})
    upstream.tag("v1")
    mended = {"it": b"one \xff\r\ntwo\r\n\tthree"}
    patch = upstream.patch("v1", mended, body="Trailing blank: \n\u2028\x0c")
    upstream.commit("Take it (#2)", mended)
    upstream.tag("v2")
    workspace = make_workspace(upstream, {"it.patch": patch})
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert records(workspace, "v2")["it.patch"].content == patch


def test_the_memory_goes_on(patchq: CommandLine, workspace: Workspace) -> None:
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    first = records(workspace, "v2")
    done = patchq("rebase", "--onto", "v3", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert records(workspace, "v3") == first


def test_the_recipe_goes_along(patchq: CommandLine, workspace: Workspace) -> None:
    recipe = b"# Pins.\npins: {torch: '2.9'}\n"
    (workspace.series_path("v1") / "recipe.yaml").write_bytes(recipe)
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert (workspace.series_path("v2") / "recipe.yaml").read_bytes() == recipe


def test_patches_with_their_prefix_kept(patchq: CommandLine, upstream: Miniature) -> None:
    diff = patch_of(upstream, "keep").replace(b" a/keep.py", b" keep.py")
    diff = diff.replace(b" b/keep.py", b" keep.py")
    workspace = make_workspace(upstream, {"keep.patch": diff}, series="keep.patch -p0\n")
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    new = snapshot(workspace.series_path("v2"))
    assert new == {"series": b"keep.patch -p0\n", "keep.patch": diff}


# Which series


def test_from_an_older_base_to_a_newer_by_default(
    patchq: CommandLine, workspace: Workspace
) -> None:
    add_series(workspace, "v2", {})
    done = patchq("rebase", "--onto", "v3", "--json", "--dry-run", cwd=workspace.root)
    assert report(done)["series"] == "v2"
    named = patchq(
        "rebase", "--from", "v1", "--onto", "v3", "--json", "--dry-run", cwd=workspace.root
    )
    assert report(named)["series"] == "v1"


def test_the_order_is_the_locks(patchq: CommandLine, upstream: Miniature) -> None:
    keep = {"keep.patch": patch_of(upstream, "keep")}
    workspace = make_workspace(upstream, keep, bases=("v1", "v3", "v2"))
    add_series(workspace, "v3", keep)
    done = patchq("rebase", "--onto", "v2", "--json", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert report(done)["series"] == "v3"


def test_backwards(patchq: CommandLine, upstream: Miniature) -> None:
    keep = upstream.patch("v3", mended("keep"))
    workspace = make_workspace(upstream, {"keep.patch": keep}, bases=("v1", "v2", "v3"), on="v3")
    done = patchq("rebase", "--from", "v3", "--onto", "v1", "--json", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert told(done) == {"keep.patch": "clean"}
    assert snapshot(workspace.series_path("v1"))["keep.patch"] == keep


def test_a_patch_ages(patchq: CommandLine, workspace: Workspace) -> None:
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    done = patchq("rebase", "--onto", "v3", "--json", cwd=workspace.root)
    assert {patch["name"]: patch["age"] for patch in report(done)["patches"]} == {
        "keep.patch": 2,
        "shift.patch": 2,
    }


# What is not written


def test_a_conflict_writes_nothing(patchq: CommandLine, fighting: Workspace) -> None:
    before = snapshot(fighting.root)
    done = patchq("rebase", "--onto", "v3", cwd=fighting.root)
    assert done.returncode == 1
    assert snapshot(fighting.root) == before
    assert not fighting.series_path("v3").exists()
    assert "fight.patch" in done.stdout
    assert "nothing was written" in done.stderr


def test_keep_going_holds_what_needs_a_person(patchq: CommandLine, fighting: Workspace) -> None:
    done = patchq("rebase", "--onto", "v3", "--keep-going", cwd=fighting.root)
    assert done.returncode == 1, done.stderr
    new = snapshot(fighting.series_path("v3"))
    assert set(new) == {"series", "keep.patch", "retired.yaml"}
    assert new["series"] == b"# Three.\nkeep.patch\n"
    held = records(fighting, "v3")["fight.patch"]
    assert held.standing is RecordState.HELD
    assert held.verdict is Verdict.CONFLICT
    assert held.content == (fighting.series_path("v1") / "fight.patch").read_bytes()
    assert held.guards == (Guard("slim", False),)
    assert records(fighting, "v3")["landed.patch"].standing is RecordState.RETIRED


def test_keep_going_without_a_conflict_is_fine(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("rebase", "--onto", "v2", "--keep-going", cwd=workspace.root)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("tag", "code"), [("v2", 0), ("v3", 1)])
def test_a_dry_run_writes_nothing(
    patchq: CommandLine, fighting: Workspace, tag: str, code: int
) -> None:
    before = snapshot(fighting.root)
    done = patchq("rebase", "--onto", tag, "--dry-run", cwd=fighting.root)
    assert done.returncode == code, done.stderr
    assert snapshot(fighting.root) == before


def test_a_series_that_is_there_is_refused(patchq: CommandLine, workspace: Workspace) -> None:
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    (workspace.series_path("v2") / "mine.txt").write_text("mine\n")
    before = snapshot(workspace.root)
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 2
    assert "series/v2" in done.stderr
    assert "--replace" in done.stderr
    assert snapshot(workspace.root) == before
    judged = patchq("rebase", "--onto", "v2", "--dry-run", cwd=workspace.root)
    assert judged.returncode == 0, judged.stderr


def test_replace_gives_the_same_bytes_again(patchq: CommandLine, workspace: Workspace) -> None:
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    first = snapshot(workspace.series_path("v2"))
    (workspace.series_path("v2") / "keep.patch").write_text("spoilt\n")
    (workspace.series_path("v2") / "stray.patch").write_text("stray\n")
    done = patchq("rebase", "--onto", "v2", "--replace", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert snapshot(workspace.series_path("v2")) == first


def test_replace_with_a_conflict_leaves_the_old_one(
    patchq: CommandLine, fighting: Workspace
) -> None:
    add_series(fighting, "v3", {}, series="# Old.\n")
    before = snapshot(fighting.root)
    done = patchq("rebase", "--onto", "v3", "--from", "v1", "--replace", cwd=fighting.root)
    assert done.returncode == 1
    assert snapshot(fighting.root) == before


def test_the_lender_is_never_written_to(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    before = snapshot(upstream.path)
    patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert snapshot(upstream.path) == before


# The report


def test_the_json_of_a_report(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    done = patchq("rebase", "--onto", "v2", "--json", cwd=workspace.root)
    document = report(done)
    assert document["schema"] == "patchq.report/1"
    assert (document["series"], document["onto"]) == ("v1", "v2")
    assert document["base_commit"] == upstream.id("v1")
    assert document["onto_commit"] == upstream.id("v2")
    assert [(each["name"], each["verdict"], each["action"]) for each in document["patches"]] == [
        ("keep.patch", "clean", "carry"),
        ("shift.patch", "adapted", "adapt"),
        ("landed.patch", "upstreamed", "drop"),
        ("gone.patch", "unreachable", "drop"),
    ]


@pytest.mark.parametrize("tag", ["v2", "v3"])
def test_counts_sum_up(patchq: CommandLine, fighting: Workspace, tag: str) -> None:
    done = patchq("rebase", "--onto", tag, "--dry-run", "--json", cwd=fighting.root)
    for patch in report(done)["patches"]:
        counts = patch["counts"]
        total = counts.pop("total")
        assert total == len(patch["hunks"]) == sum(counts.values())


def test_json_goes_to_stdout_alone(patchq: CommandLine, fighting: Workspace) -> None:
    done = patchq("rebase", "--onto", "v3", "--json", cwd=fighting.root)
    assert done.returncode == 1
    assert told(done)["fight.patch"] == "conflict"
    assert "nothing was written" in done.stderr


# Whatever the user's git is like


HOSTILE_CONFIG = """\
[core]
    autocrlf = true
    eol = crlf
    quotePath = false
    hooksPath = /nonexistent
    attributesFile = {home}/attributes
[diff]
    noprefix = true
    context = 0
    renames = copies
    external = false
    algorithm = patience
    mnemonicPrefix = true
[apply]
    whitespace = fix
    ignoreWhitespace = change
[merge]
    directoryRenames = true
    conflictStyle = diff3
    renames = false
[format]
    attach = true
    signOff = true
[commit]
    gpgSign = true
[log]
    showSignature = true
[color]
    ui = always
"""
HOSTILE_ENVIRONMENT = {
    "GIT_DIR": "/nonexistent",
    "GIT_WORK_TREE": "/nonexistent",
    "GIT_INDEX_FILE": "/nonexistent/index",
    "GIT_OBJECT_DIRECTORY": "/nonexistent/objects",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nonexistent/objects",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "diff.noprefix",
    "GIT_CONFIG_VALUE_0": "true",
    "GIT_CONFIG_PARAMETERS": "'diff.context=0'",
    "GIT_DIFF_OPTS": "--unified=0",
    "GIT_EXTERNAL_DIFF": "false",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "false",
    "GIT_TRACE": "1",
    "GIT_AUTHOR_DATE": "1 +0000",
    "LC_ALL": "tr_TR.UTF-8",
    "LANGUAGE": "de",
    "TZ": "Asia/Kathmandu",
    "COLUMNS": "20",
}


def test_config_and_environment_change_no_byte(patchq: CommandLine, workspace: Workspace) -> None:
    plain = patchq("rebase", "--onto", "v2", "--json", cwd=workspace.root)
    assert plain.returncode == 0, plain.stderr
    wanted = snapshot(workspace.series_path("v2"))
    home = patchq.home
    (home / ".gitconfig").write_text(HOSTILE_CONFIG.format(home=home))
    (home / "attributes").write_text("* text eol=crlf diff=odd merge=union -diff\n")
    done = patchq(
        "rebase",
        "--onto",
        "v2",
        "--replace",
        "--json",
        cwd=workspace.root,
        env=HOSTILE_ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    assert snapshot(workspace.series_path("v2")) == wanted
    assert done.stdout == plain.stdout


def test_the_store_is_hermetic_from_its_first_moment(
    patchq: CommandLine, workspace: Workspace
) -> None:
    (patchq.home / ".gitconfig").write_text(HOSTILE_CONFIG.format(home=patchq.home))
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root, env=HOSTILE_ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert (workspace.series_path("v2") / "series").is_file()


# How it ends


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--onto", "v9"), "v9 is not a base"),
        (("--onto", "v1", "--dry-run"), "no series before v1"),
        (("--onto", "v1", "--from", "v1", "--dry-run"), "v1 already"),
        (("--onto", "v2", "--from", "v3"), "no series on v3"),
        ((), "--onto"),
    ],
    ids=["unknown base", "nothing before", "same base", "no such series", "no target"],
)
def test_bad_usage(
    patchq: CommandLine, workspace: Workspace, arguments: tuple[str, ...], words: str
) -> None:
    before = snapshot(workspace.root)
    done = patchq("rebase", *arguments, cwd=workspace.root)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert snapshot(workspace.root) == before


def test_outside_a_workspace(patchq: CommandLine, tmp_path: Path) -> None:
    done = patchq("rebase", "--onto", "v2", cwd=tmp_path)
    assert done.returncode == 2
    assert "not in a patchq workspace" in done.stderr


def test_from_a_directory_below_or_by_c(patchq: CommandLine, workspace: Workspace) -> None:
    below = workspace.series_path("v1")
    done = patchq("rebase", "--onto", "v2", "--dry-run", cwd=below)
    assert done.returncode == 0, done.stderr
    away = patchq("-C", workspace.root, "rebase", "--onto", "v2", "--dry-run", cwd=patchq.home)
    assert away.returncode == 0, away.stderr


def test_a_series_that_does_not_apply_to_its_own_tag(
    patchq: CommandLine, workspace: Workspace
) -> None:
    file = workspace.series_path("v1") / "keep.patch"
    file.write_bytes(file.read_bytes().replace(b" keep_4", b" keep_44"))
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 2
    assert "keep.patch" in done.stderr
    assert "v1" in done.stderr
    assert not workspace.series_path("v2").exists()


def test_a_patch_whose_guard_is_off_stops_nothing_though_it_does_not_apply(
    patchq: CommandLine, workspace: Workspace
) -> None:
    file = workspace.series_path("v1") / "shift.patch"
    broken = file.read_bytes().replace(b"'shift', 6", b"'shift', 66")
    file.write_bytes(broken)
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "its guards are off, and it does not apply to v1" in done.stdout
    new = workspace.load("v2")
    assert new.patches["shift.patch"].raw == broken
    assert [str(guard) for guard in new.series.entry("shift.patch").guards] == ["#+extra"]


def test_a_corrupt_patch_is_named_with_its_line(patchq: CommandLine, workspace: Workspace) -> None:
    file = workspace.series_path("v1") / "shift.patch"
    raw = file.read_bytes()
    file.write_bytes(raw.replace(b" shift_7", b"shift_7"))
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    line = raw[: raw.index(b"@@ ")].count(b"\n") + 1
    assert done.returncode == 2
    assert f"series/v1/shift.patch:{line}" in done.stderr


@pytest.mark.parametrize(
    ("base", "words"),
    [
        (
            Base("v2", commit_id("1" * 40), tree_id("2" * 40), "2025-01-01T00:00:00+00:00"),
            ("v2", "1" * 12),
        ),
        (None, ("v2", "2" * 40)),
    ],
    ids=["a commit that is nowhere", "another tree"],
)
def test_an_upstream_that_is_not_the_locks(
    patchq: CommandLine,
    workspace: Workspace,
    upstream: Miniature,
    base: Base | None,
    words: tuple[str, ...],
) -> None:
    true = pinned(upstream, "v2")
    wrong = base or Base("v2", true.commit, tree_id("2" * 40), true.date)
    lock = Lock(str(upstream.path), (pinned(upstream, "v1"), wrong))
    workspace.lock_path.write_bytes(render_lock(lock))
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 3
    for word in words:
        assert word in done.stderr
    assert not workspace.series_path("v2").exists()


def test_an_upstream_that_is_away(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    upstream.path.rename(upstream.path.with_name("elsewhere"))
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 3
    assert str(upstream.path) in done.stderr
    lent = patchq(
        "--upstream",
        upstream.path.with_name("elsewhere"),
        "rebase",
        "--onto",
        "v2",
        cwd=workspace.root,
    )
    assert lent.returncode == 0, lent.stderr
