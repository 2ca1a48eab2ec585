"""How the command line behaves everywhere: help, names, notices, JSON, colour."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import SOURCES, CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import add_series, make_workspace

from patchq.cli.commands import ELSEWHERE, GROUPS
from patchq.model.verdict import Verdict
from patchq.model.workspace import Workspace

ROOT = Path(__file__).parents[1]
NAMES = [name for names in GROUPS.values() for name in names]


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    for number in (1, 2, 3):
        made.commit(f"Release {number}", {"a.txt": "a\n", "b.txt": f"{number}\n"})
        made.tag(f"v{number}")
    return made


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    patch = upstream.patch("v1", {"a.txt": "A\n"}, "Raise a")
    made = make_workspace(upstream, {"old.patch": patch})
    add_series(made, "v2", {"new.patch": patch})
    return made


@pytest.mark.parametrize("form", ["table", "json", "markdown", "html"])
def test_a_report_says_of_each_patch_whether_its_guards_turn_it_off(
    patchq: CommandLine, upstream: Miniature, form: str
) -> None:
    patches = {
        name: upstream.patch("v1", {file: "A\n"}, "Raise it")
        for name, file in (("on.patch", "a.txt"), ("off.patch", "new.txt"))
    }
    workspace = make_workspace(upstream, patches, series="on.patch\noff.patch #+later #+other\n")
    done = patchq("report", "v1", "--onto", "v2", "--format", form, cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    plain = re.sub(r"\\|<[^>]*>", "", done.stdout)
    assert "off by its guards (+later +other)" in plain
    if form == "json":
        on, off = json.loads(done.stdout)["patches"]
        assert (on["notes"], off["notes"]) == ([], ["off by its guards (+later +other)"])


def test_help_shows_each_command_in_a_group_with_its_whole_summary(
    patchq: CommandLine, tmp_path: Path
) -> None:
    done = patchq("--help", cwd=tmp_path, env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert not any(line.endswith("...") for line in done.stdout.splitlines()[1:])
    for group, names in GROUPS.items():
        assert f"\n{group}:\n" in done.stdout
        assert all(f"\n  {name} " in done.stdout for name in names)
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_examples(
    patchq: CommandLine, tmp_path: Path, name: str
) -> None:
    done = patchq("help", name, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == patchq(name, "--help", cwd=tmp_path).stdout
    assert f"patchq {name}" in done.stdout.split("Example", 1)[1]


def test_topics(patchq: CommandLine, tmp_path: Path) -> None:
    shown = patchq("help", "verdicts", cwd=tmp_path).stdout
    rows = [line.split()[0] for line in shown.splitlines() if line and line[0] not in "#I"]
    assert rows[1:] == [verdict.value for verdict in Verdict]
    listed = patchq("help", "--help", cwd=tmp_path).stdout.split("Topics: ")[1].split(".")[0]
    for topic in re.sub(r"\s+", " ", re.sub(r"-\n\s+", "-", listed)).split(", "):
        assert patchq("help", topic, cwd=tmp_path).stdout.startswith("# ")
    unknown = patchq("help", "weather", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "glossary" in unknown.stderr


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_a_command_of_another_tool_is_answered(
    patchq: CommandLine, tmp_path: Path, name: str
) -> None:
    done = patchq(name, cwd=tmp_path)
    assert done.returncode == 2
    assert f"error: patchq has no command {name!r}\nhint: {ELSEWHERE[name]}\n" == done.stderr


def test_patchq_alone_is_the_status_or_the_help(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    inside = patchq(cwd=workspace.root)
    assert (inside.returncode, inside.stdout) == (0, patchq("status", cwd=workspace.root).stdout)
    outside = patchq(cwd=tmp_path)
    assert outside.returncode == 2
    assert "Usage: patchq" in outside.stdout


def test_a_patch_of_another_series_is_named(patchq: CommandLine, workspace: Workspace) -> None:
    for command in (("show", "old"), ("drop", "old", "--forget"), ("header", "old.patch")):
        done = patchq(*command, cwd=workspace.root)
        assert done.returncode == 2
        assert "hint: It is in the series on v1." in done.stderr


def test_quiet_leaves_out_notices(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature
) -> None:
    (upstream.path / "shallow").write_bytes(upstream.git("rev-parse", "v1"))
    loud = patchq("report", "v1", cwd=workspace.root)
    assert "shallow" in loud.stderr
    again = patchq("report", "v1", cwd=workspace.root)
    assert (again.stdout, again.stderr) == (loud.stdout, "")  # said once a workspace
    (workspace.cache_dir / "notices").write_bytes(b"\xff\n")
    assert (
        "shallow" in patchq("report", "v1", cwd=workspace.root).stderr
    )  # what is damaged is no answer
    (workspace.cache_dir / "notices").unlink()
    assert patchq("-q", "report", "v1", cwd=workspace.root).stderr == ""


def test_verbose_shows_git(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("-v", "report", "v1", cwd=workspace.root)
    assert "git init" in done.stderr
    assert all(line.endswith(" s)") for line in done.stderr.splitlines())


def test_colour(patchq: CommandLine, workspace: Workspace) -> None:
    assert "\x1b[" not in patchq("status", cwd=workspace.root).stdout
    assert "\x1b[" in patchq("--color", "always", "status", cwd=workspace.root).stdout
    done = patchq("--color", "never", "status", cwd=workspace.root, env={"FORCE_COLOR": "1"})
    assert "\x1b[" not in done.stdout


def test_json_of_commands_that_change_the_lock(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    def call(*args: str) -> dict[str, object]:
        done = patchq(*args, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert isinstance(document, dict)
        return document

    made = call("init", "--upstream", str(upstream.path))
    assert made == {
        "schema": "patchq.init/1",
        "workspace": str(tmp_path),
        "upstream": str(upstream.path),
    }
    locked = call("lock", "v1", "v2")
    assert [row["name"] for row in locked["bases"]] == ["v1", "v2"]  # type: ignore[attr-defined]
    assert call("lock", "--check")["moved"] == []
    fetched = call("fetch", "v1")
    assert [row["name"] for row in fetched["bases"]] == ["v1"]  # type: ignore[attr-defined]
    assert call("undo", "--dry-run")["command"] == "lock v1 v2"
    assert call("undo")["paths"] == [{"path": "upstream.lock", "outcome": "restored"}]


def test_the_story_of_a_patch_as_json(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("why", "old.patch", "--json", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    story = json.loads(done.stdout)
    assert (story["schema"], story["name"]) == ("patchq.story/1", "old.patch")
    assert story["bases"]


def test_a_command_fetches_the_bases_that_it_needs(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    root = tmp_path / "fresh"
    made = make_workspace(upstream, {}, bases=("v1", "v2"), root=root)
    lock = made.lock_path.read_text().replace(str(upstream.path), upstream.path.as_uri())
    made.lock_path.write_text(lock)
    (made.series_path("v1") / "old.patch").write_bytes(
        upstream.patch("v1", {"a.txt": "A\n"}, "Raise a")
    )
    (made.series_path("v1") / "series").write_text("old.patch\n")
    done = patchq("report", "v1", cwd=root)
    assert done.returncode == 0, done.stderr
    assert "1 clean" in done.stdout
    assert "patchq: fetching v1" in done.stderr
    assert "fetching" not in patchq("report", "v1", cwd=root).stderr


def test_what_looks_at_every_base_names_those_that_are_not_fetched(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    """A quick question does not wait for downloads; one about a single base brings that one."""
    root = tmp_path / "fresh"
    patch = {"old.patch": upstream.patch("v1", {"a.txt": "A\n"}, "Raise a")}
    made = make_workspace(upstream, patch, bases=("v1", "v2"), root=root)
    lock = made.lock_path.read_text().replace(str(upstream.path), upstream.path.as_uri())
    made.lock_path.write_text(lock)
    for command in (("why", "old.patch"), ("report", "--all")):
        done = patchq(*command, cwd=root)
        assert done.returncode == 0, done.stderr
        assert "not fetched, so not judged: v1 v2: run `patchq fetch v1 v2`" in done.stderr
        assert "not-fetched" in done.stdout
    done = patchq("why", "old.patch", "--onto", "v2", cwd=root)
    assert "patchq: fetching v1, v2" in done.stderr
    assert "clean" in done.stdout
    assert "not-fetched" not in patchq("report", "--all", cwd=root).stdout


def test_a_base_is_not_judged_without_the_one_before_it(
    patchq: CommandLine, miniature: MakeMiniature
) -> None:
    upstream = miniature()
    upstream.commit("Start", {"a.txt": "a\n"})
    upstream.branch("old")
    upstream.commit("Old", {"b.txt": "b\n"}, branch="old")
    upstream.tag("v1", at="old")
    upstream.commit("New", {"c.txt": "c\n"})
    upstream.tag("v2")
    made = make_workspace(upstream, {"p.patch": upstream.patch("v1", {"a.txt": "A\n"})})
    lock = made.lock_path.read_text().replace(str(upstream.path), upstream.path.as_uri())
    made.lock_path.write_text(lock)
    assert patchq("fetch", "v2", cwd=made.root).returncode == 0
    told = patchq("why", "p", cwd=made.root).stdout
    assert re.search(r"not-fetched  v2  \S+\n    not judged without v1\n", told)


def test_what_was_said_is_not_said_again_after_fetching(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    made = make_workspace(upstream, {}, bases=("v1", "v2", "v3"), root=tmp_path / "fresh")
    lock = made.lock_path.read_text().replace(str(upstream.path), upstream.path.as_uri())
    made.lock_path.write_text(lock)
    done = patchq("next", cwd=made.root)
    assert "patchq: fetching v" in done.stderr
    assert done.stderr.count("upstream has no tag after those of the lock") == 1


def test_a_base_that_cannot_be_fetched_is_named(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    made = make_workspace(upstream, {}, bases=("v1", "v2"), root=tmp_path / "fresh")
    made.lock_path.write_text(made.lock_path.read_text().replace(str(upstream.path), "file:///no"))
    done = patchq("report", "v1", cwd=made.root)
    assert done.returncode == 3
    assert "fetching v1" in done.stderr
    assert "error: file:///no" in done.stderr
    assert "Check the URL and the network" in done.stderr


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("statsu", "no such command statsu", "Did you mean status?"),
        ("frobnicate", "no such command frobnicate", "lists the commands"),
        ("rebase --onot v2", "patchq rebase has no option --onot", "Did you mean --onto?"),
        ("list --xyzzy", "patchq list has no option --xyzzy", "lists its options"),
        ("report --format x", "--format: 'x' is not one of", "explains it"),
        ("why", "missing argument PATCH", "`patchq why --help`"),
        ("list v1 v2 v3", "arguments too many: v2 v3", "explains it"),
        ("rebase", "give one of --onto,", "explains it"),
        ("why ol", "no series has a patch ol", "Did you mean old.patch?"),
        ("port nwe --to v1", "no series has nwe", "Did you mean new.patch?"),
        ("show ew", "no patch 'ew' in the series", "Did you mean new.patch?"),
        ("list 2", "2 is not a base", "Did you mean v2?"),
        ("list v4", "v4 is not a base", "Locked are v1, v2. `patchq lock v4` adds a base."),
        ("verify new.patch", "new.patch is not a base", "It is a patch of v2: name a tag here."),
        ("list old", "old is not a base", "It is a patch of v1: name a tag here."),
        ("list no.patch", "no.patch is not a base", "It names a patch. Locked are v1, v2."),
        ("verify series/v1/", "series/v1/ is not a base", "Did you mean v1?"),
        ("rebase v2", "one argument too many: v2", "--onto TAG (the base to rebase onto), --from"),
        ("rebase v2 --onto", "'--onto' requires an argument", "--from TAG (the series to take)."),
        ("export v1 out", "one argument too many: out", "--output PATH (where to)"),
        ("import v1 x.patch", "v1 is a tag", "The series to import into goes with --tag v1;"),
        ("port old v2", "give the tags to port to", "`patchq port old --to v2`"),
        ("help rebas", "no command or topic 'rebas'", "Did you mean rebase?"),
    ],
)
def test_errors_have_one_style_and_say_what_was_meant(
    patchq: CommandLine, workspace: Workspace, words: str, message: str, hint: str
) -> None:
    done = patchq(*words.split(), cwd=workspace.root)
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert second.startswith("hint: ")
    assert hint in second


def test_patch_and_tag_in_either_order_and_by_name(
    patchq: CommandLine, workspace: Workspace
) -> None:
    shown = patchq("show", "old", "v1", cwd=workspace.root)
    assert shown.returncode == 0
    for words in (("v1", "old"), ("old", "--tag", "v1"), ("--tag=v1", "old")):
        assert patchq("show", *words, cwd=workspace.root).stdout == shown.stdout
    listed = patchq("list", "v1", cwd=workspace.root).stdout
    assert patchq("list", "--tag", "v1", cwd=workspace.root).stdout == listed
    for words in (("v1", "old.patch"), ("old.patch", "v1")):
        opened = patchq("edit", *words, "--json", cwd=workspace.root)
        assert json.loads(opened.stdout)["opened"] == ["old.patch"]
        patchq("edit", "--abort", cwd=workspace.root)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("show --tag v1", "missing argument PATCH", "`patchq show --help` explains it."),
        ("show v1", "no patch 'v1' in the series", "v1 is a tag: name a patch of it"),
        ("why v1", "no series has a patch v1", "v1 is a tag: name a patch of it"),
        ("port v1 --to v2", "no series has v1", "v1 is a tag: name a patch of it"),
        ("revive v1", "there is no retired patch v1", "v1 is a tag: name a patch of it"),
        ("--tag v2 list", "patchq has no option --tag", "behind the command: `patchq list --tag"),
        ("status --tag v2", "patchq status has no option --tag", "This command takes no TAG."),
        ("port old --tag v2", "has no option --tag", "Here a TAG goes with --to or --from."),
        ("show old v1 --tag v2", "one argument too many: v1", "`patchq show --help` explains it"),
        ("why old v1 --onto v2", "two tags are named, v1 and v2; take one", "patchq why --help"),
        ("redo", "patchq has no command 'redo'", "cannot be taken back"),
    ],
)
def test_a_tag_is_not_taken_for_a_patch(
    patchq: CommandLine, workspace: Workspace, words: str, message: str, hint: str
) -> None:
    done = patchq(*words.split(), cwd=workspace.root)
    assert done.returncode == 2
    assert message in done.stderr
    assert hint in done.stderr


def test_a_story_on_one_tag(patchq: CommandLine, workspace: Workspace) -> None:
    told = patchq("why", "old", "--onto", "v1", cwd=workspace.root)
    assert told.returncode == 0
    for words in (("v1", "old"), ("old", "v1"), ("old", "--tag", "v1")):
        assert patchq("why", *words, cwd=workspace.root).stdout == told.stdout


def test_global_options_may_stand_after_the_command(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, tmp_path: Path
) -> None:
    root = str(workspace.root)
    listed = patchq("list", "v1", cwd=workspace.root).stdout
    assert patchq("list", "-C", root, "v1", cwd=tmp_path).stdout == listed
    coloured = patchq("--color", "always", "report", "v1", cwd=workspace.root).stdout
    assert patchq("report", "v1", "-q", "--color=always", cwd=workspace.root).stdout == coloured
    assert "git " in patchq("report", "v1", "-v", cwd=workspace.root).stderr
    kept = ("drop", "old", "--tag", "v1", "--reason", "-q", "--dry-run")
    assert "would remove old.patch" in patchq(*kept, cwd=workspace.root).stdout
    made = patchq("init", "--upstream", str(upstream.path), str(tmp_path / "new"), cwd=tmp_path)
    assert made.returncode == 0, made.stderr  # an option of its own stays where it is


def test_an_older_tag_stands_where_its_version_belongs(
    patchq: CommandLine, upstream: Miniature
) -> None:
    workspace = make_workspace(upstream, {}, bases=("v2",), on="v2", root=upstream.path / "../ws")
    done = patchq("lock", "v3", "v1", cwd=workspace.root)
    assert workspace.lock().names == ("v1", "v2", "v3")
    assert done.stderr == (
        "patchq: v1 stands before v2, by its version; `lock --after BASE` chooses another place\n"
    )
    commit = upstream.git("rev-parse", "v1^{commit}").decode().strip()
    done = patchq("lock", f"old={commit}", cwd=workspace.root)
    assert workspace.lock().names[-1] == "old"
    assert "is older than v3" in done.stderr
    asked = patchq("lock", f"kept={commit}", "--after", "v2", cwd=workspace.root)
    assert (workspace.lock().names[2], asked.stderr) == ("kept", "")


def test_a_file_in_a_directory_that_is_not_there(patchq: CommandLine, workspace: Workspace) -> None:
    for command in (("report", "v1"), ("notes", "v2")):
        done = patchq(*command, "-o", "no/such/file", cwd=workspace.root)
        assert done.returncode == 2
        assert done.stderr.startswith("error: there is no directory no/such, so nothing was")
        assert "hint: `mkdir -p no/such`" in done.stderr


def test_a_retired_patch_is_found_by_its_record(patchq: CommandLine, workspace: Workspace) -> None:
    patchq("drop", "new.patch", "--reason", "not ours", cwd=workspace.root)
    done = patchq("show", "new", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert "new.patch is dropped and not in the series on v2: not ours" in done.stderr
    assert done.stdout.startswith("Patch: v2/new.patch\n")
    done = patchq("rename", "new", "other", cwd=workspace.root)
    assert done.returncode == 2
    assert "hint: `patchq why new` says why it is not in v2." in done.stderr


def test_the_topics_have_every_field_variable_and_file(patchq: CommandLine, tmp_path: Path) -> None:
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "src/patchq").rglob("*.py")]
    fields = patchq("help", "fields", cwd=tmp_path).stdout
    page = (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")
    for field in set(re.findall(r"\| `(X-[A-Za-z-]+)` \|", page)):
        assert f"\n{field} " in fields
    shown = patchq("help", "environment", cwd=tmp_path).stdout
    used = {"PATCHQ_UPSTREAM"}
    for text in sources:
        used |= set(re.findall(r'environ(?:\.get)?[\[(]"([A-Z_]+)"', text))
        used |= set(re.findall(r'"(PATCHQ_(?:SANDBOX|FETCH_TIMEOUT))"', text))
    assert len(used) > 3
    for name in used - {"TERM", "PWD", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"}:
        assert name in shown


def test_the_oldest_base_has_no_series_before_it(patchq: CommandLine, workspace: Workspace) -> None:
    rebase = ("rebase", "--onto", "v1", "--dry-run")
    for command in (("report", "--onto", "v1"), ("next", "v1"), rebase):
        done = patchq(*command, cwd=workspace.root)
        assert done.returncode == 2
        assert "there is no series before v1 in the order of upstream.lock" in done.stderr
        assert "hint: Name the one to take: there is one on v2." in done.stderr


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"tw\xff.patch", r"there is no file tw\xff.patch"),
        (b"new.patch -R\xff", r"bad option '-R\xff' after the patch's name"),
        (b"-\xff.patch", r"'-\xff.patch' cannot be a patch's name"),
    ],
)
def test_bytes_that_are_not_utf8_are_shown_in_one_way(
    patchq: CommandLine, workspace: Workspace, line: bytes, shown: str
) -> None:
    (workspace.series_path("v2") / "series").write_bytes(line + b"\n")
    for command in (("list",), ("verify",), ("lint",), ("lint", "--json"), ("status",)):
        done = patchq(*command, cwd=workspace.root, fresh=command == ("list",))
        said = " ".join((done.stdout + done.stderr).replace("\\\\", "\\").split())
        assert "udcff" not in said
    assert shown in patchq("lint", cwd=workspace.root).stdout


def test_a_guard_is_one_word(patchq: CommandLine, workspace: Workspace) -> None:
    before = (workspace.series_path("v2") / "series").read_bytes()
    for word in ("a b", "", "#x", "+x", "x#y", "x\ty"):
        done = patchq("guard", "new", f"--when={word}", cwd=workspace.root)
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: {word!r} cannot be a guard\n")
    assert (workspace.series_path("v2") / "series").read_bytes() == before


def test_what_was_left_out_is_asked_for(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("guard", "new", "--when", cwd=workspace.root)
    assert "hint: `patchq guard --help` explains it." in done.stderr
    done = patchq("new", "other", "-m", " ", cwd=workspace.root)
    assert done.returncode == 2
    assert "error: a new patch needs a subject\n" in done.stderr
    assert "hint: Say what it does, in one line: -m TEXT." in done.stderr


def test_what_would_be_silent_is_said(patchq: CommandLine, workspace: Workspace) -> None:
    for given, said in (("", "the patch is empty"), ("words\n", "no diff in it")):
        done = patchq("import", "-", "--tag", "v2", cwd=workspace.root, stdin=given)
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: standard input: {said}\n")
    (workspace.root / "empty.patch").write_text("")
    listed = patchq("import", "empty.patch", cwd=workspace.root).stdout
    assert listed.count("empty.patch") == 1
    assert patchq("guard", "new", "--when", "later", cwd=workspace.root).returncode == 0
    done = patchq("header", "new", "--set", "X-Requires: nope.patch", cwd=workspace.root)
    assert done.returncode == 0
    said = "patchq: X-Requires: nope.patch is not in the series; new.patch is off by its guards\n"
    assert said in done.stderr


def test_a_git_that_is_killed_at_the_first_use_is_told(tmp_path: Path) -> None:
    """GitPython runs ``git version`` when it is imported."""
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\nkill -9 $$\n")
    git.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", "from patchq.git.process import load_gitpython as f; f()"],
        env={"PATH": str(tmp_path), "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "PatchqError: `git version` failed, so git cannot be used" in done.stderr
