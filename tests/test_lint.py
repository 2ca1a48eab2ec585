"""Lint: each finding on a series that has it, and a sound series without any."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature
from workspaces import make_workspace

from patchq.engine.series.lint.lint import fix, lint, lint_workspace
from patchq.engine.workspace.transaction import Transaction
from patchq.errors import InputError
from patchq.model.ids import commit_id, tree_id
from patchq.model.lint import Code, Finding, Severity
from patchq.model.lock import Base, Lock, render_lock
from patchq.model.workspace import Workspace

DIFF = b"""\
diff --git a/x.py b/x.py
--- a/x.py
+++ b/x.py
@@ -1,3 +1,3 @@
 one
-two
+2

"""
HEAD = b"""\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: Ada Varga <ada@upstream.example>
Date: Mon, 3 Aug 2026 10:00:00 +0200
Subject: [PATCH] Say two as a number

It is shorter.

"""
END = b"X-Upstream-PR: 7\n"
SOUND = HEAD + END + b"---\n" + DIFF


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "workspace")
    workspace.root.mkdir()
    base = Base("v1", commit_id("1" * 40), tree_id("2" * 40), "2026-10-01T12:00:00+00:00")
    workspace.lock_path.write_bytes(render_lock(Lock("https://example.org/x.git", (base,))))
    return workspace


def put(workspace: Workspace, series: str = "a.patch\n", **patches: bytes) -> None:
    """A series on v1; ``a=…`` is the content of ``a.patch``."""
    directory = workspace.series_path("v1")
    directory.mkdir(parents=True)
    (directory / "series").write_text(series)
    for name, raw in patches.items():
        (directory / f"{name}.patch").write_bytes(raw)


def only(workspace: Workspace, code: Code) -> Finding:
    """The one finding there is."""
    [finding] = lint(workspace, "v1")
    assert finding.code is code, finding
    return finding


def place(finding: Finding) -> str:
    return str(finding.where).removeprefix("series/v1/")


def test_a_sound_series_has_no_findings(workspace: Workspace) -> None:
    put(workspace, a=SOUND)
    assert lint(workspace, "v1") == ()


def test_a_hunk_that_lacks_its_last_blank_line_is_an_error_that_fix_repairs(
    workspace: Workspace,
) -> None:
    put(workspace, a=SOUND.removesuffix(b"\n"))
    finding = only(workspace, Code.MALFORMED_DIFF)
    assert (finding.severity, finding.fixable) == (Severity.ERROR, True)
    assert place(finding) == "a.patch:13"
    assert "@@ says 3 old and 3 new lines, found 2 and 2" in finding.text
    transaction = Transaction(workspace, "lint --fix")
    assert fix(workspace, "v1", transaction) == ("a.patch",)
    transaction.commit()
    assert lint(workspace, "v1") == ()
    assert (workspace.series_path("v1") / "a.patch").read_bytes().endswith(b"+2\n \n")


def test_a_hunk_that_lacks_more_is_left_to_a_person(workspace: Workspace) -> None:
    put(workspace, a=SOUND.replace(b"-two\n", b""))
    finding = only(workspace, Code.MALFORMED_DIFF)
    assert (finding.severity, finding.fixable) == (Severity.ERROR, False)
    assert fix(workspace, "v1", Transaction(workspace, "lint --fix")) == ()


def test_crlf_everywhere_is_a_warning(workspace: Workspace) -> None:
    put(workspace, a=SOUND.replace(b"\n", b"\r\n"))
    finding = only(workspace, Code.DAMAGED)
    assert (finding.severity, finding.fixable) == (Severity.WARNING, True)


@pytest.mark.parametrize(
    ("field", "line", "text"),
    [
        (b"X-Retire-When: lacks x.py 'two", 9, "unbalanced quotes"),
        (b"X-Verify: contians x.py two", 9, "Did you mean contains?"),
        (b"X-Upstream-PR: soon", 9, "'soon' in X-Upstream-PR is not a PR number"),
        (b"Last-Update: 2026-02-30", 9, "'2026-02-30' is not a date"),
        (b"Last-Update: yesterday", 9, "YYYY-MM-DD"),
    ],
)
def test_malformed_fields(workspace: Workspace, field: bytes, line: int, text: str) -> None:
    put(workspace, a=HEAD + END + field + b"\n---\n" + DIFF)
    finding = only(workspace, Code.MALFORMED_FIELD)
    assert finding.severity is Severity.ERROR
    assert place(finding) == f"a.patch:{line}"
    assert text in finding.text


def test_a_bare_diff_lacks_all_that_dep3_asks_for(workspace: Workspace) -> None:
    put(workspace, a=DIFF)
    findings = lint(workspace, "v1")
    assert [finding.code for finding in findings] == [
        Code.NO_SUBJECT,
        Code.NO_AUTHOR,
        Code.NO_ORIGIN,
        Code.NO_END,
    ]
    assert {finding.severity for finding in findings} == {Severity.WARNING}


def test_text_that_git_am_drops(workspace: Workspace) -> None:
    stat = b" x.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n"
    put(
        workspace,
        "a.patch\nb.patch\n",
        a=SOUND,
        b=HEAD + END + b"---\nv2: said again\n" + stat + DIFF,
    )
    finding = only(workspace, Code.DROPPED_TEXT)
    assert place(finding) == "b.patch:9"


def test_a_diffstat_is_no_text(workspace: Workspace) -> None:
    stat = b" x.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n"
    put(workspace, a=HEAD + END + b"---\n" + stat + DIFF)
    assert lint(workspace, "v1") == ()


def test_series_and_directory_must_agree(workspace: Workspace) -> None:
    put(workspace, "a.patch\nfix-me.patch\n", a=SOUND, fix_me=SOUND)
    missing, stray = lint(workspace, "v1")
    assert (missing.code, missing.severity) == (Code.MISSING_FILE, Severity.ERROR)
    assert place(missing) == "series:2"
    assert "is it fix_me.patch?" in missing.text
    assert (stray.code, place(stray)) == (Code.STRAY_FILE, "fix_me.patch")


def test_guards_that_nothing_describes(workspace: Workspace) -> None:
    put(workspace, "a.patch #+nemotron\nb.patch #-slmi\n", a=SOUND, b=SOUND)
    workspace.settings_path.write_text("guards: {slim: small, nemotron: big}\n")
    finding = only(workspace, Code.UNKNOWN_GUARD)
    assert place(finding) == "series:2"
    assert "is slim meant?" in finding.text


@pytest.mark.parametrize(
    ("series", "severity", "text"),
    [
        ("a.patch\n", Severity.ERROR, "b.patch is not in the series"),
        ("a.patch #+slim\n", Severity.NOTICE, "b.patch is not in the series"),
        ("a.patch\nb.patch\n", Severity.ERROR, "b.patch must come before"),
    ],
)
def test_requirements(workspace: Workspace, series: str, severity: Severity, text: str) -> None:
    put(workspace, series, a=HEAD + END + b"X-Requires: b.patch\n---\n" + DIFF)
    if "b.patch" in series:
        (workspace.series_path("v1") / "b.patch").write_bytes(SOUND)
    workspace.settings_path.write_text("guards: {slim: small}\n")
    finding = only(workspace, Code.MISSING_REQUIREMENT)
    assert (finding.severity, place(finding)) == (severity, "a.patch:9")
    assert text in finding.text


def test_blanks_at_the_end_of_added_lines(workspace: Workspace) -> None:
    put(workspace, a=SOUND.replace(b"+2\n", b"+2 \t\n"))
    finding = only(workspace, Code.TRAILING_BLANKS)
    assert (finding.severity, place(finding)) == (Severity.NOTICE, "a.patch:16")


@pytest.mark.parametrize(
    ("section", "text"),
    [
        (b"old mode 100644\nnew mode 100755\n", "changes its mode"),
        (b"similarity index 100%\nrename from x.py\nrename to y.py\n", "y.py is a rename"),
        (b"index 1111111..2222222 100644\nBinary files a/x.py and b/x.py differ\n", "is binary"),
    ],
)
def test_what_quilt_cannot_apply(workspace: Workspace, section: bytes, text: str) -> None:
    name = b"y.py" if b"rename" in section else b"x.py"
    put(workspace, a=HEAD + END + b"---\ndiff --git a/x.py b/" + name + b"\n" + section)
    finding = only(workspace, Code.NOT_FOR_QUILT)
    assert (finding.severity, place(finding)) == (Severity.NOTICE, "a.patch:10")
    assert text in finding.text


def test_a_malformed_series_is_a_finding(workspace: Workspace) -> None:
    put(workspace, "a.patch\na.patch\n", a=SOUND)
    finding = only(workspace, Code.BAD_SERIES)
    assert (finding.severity, place(finding)) == (Severity.ERROR, "series:2")


@pytest.mark.parametrize(
    "file",
    ["upstream.lock", "series/patchq.yaml", "series/v1/recipe.yaml", "series/v1/retired.yaml"],
)
def test_every_yaml_file_is_read(workspace: Workspace, patchq: CommandLine, file: str) -> None:
    put(workspace, a=SOUND)
    (workspace.root / file).write_text("version: 1\npins: [\n")
    done = patchq("lint", cwd=workspace.root)
    assert done.returncode == 1
    assert any(
        line.startswith(f"{file}:") and line.endswith("[bad-yaml]")
        for line in done.stdout.splitlines()
    )


def test_a_series_on_a_base_that_is_not_locked(workspace: Workspace) -> None:
    put(workspace, a=SOUND)
    workspace.series_path("v1").rename(workspace.series_path("v9"))
    (finding,) = lint_workspace(workspace)
    assert (finding.code, finding.where.file) == (Code.UNLOCKED_SERIES, "series/v9/series")


def test_a_patch_that_no_guards_turn_on(workspace: Workspace) -> None:
    put(workspace, "a.patch #+x #-x\n", a=SOUND)
    workspace.settings_path.write_text("guards: {x: never}\n")
    finding = only(workspace, Code.NEVER_APPLIED)
    assert place(finding) == "series:1"


def test_a_patch_that_requires_itself(workspace: Workspace) -> None:
    put(workspace, a=HEAD + END + b"X-Requires: a.patch\n---\n" + DIFF)
    finding = only(workspace, Code.MISSING_REQUIREMENT)
    assert finding.severity is Severity.ERROR
    assert "requires itself" in finding.text


def test_a_series_that_is_not_there_is_an_error(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="there is no series on v1"):
        lint(workspace, "v1")


def test_the_command_fails_on_errors_only_and_needs_no_upstream(
    workspace: Workspace, patchq: CommandLine
) -> None:
    put(workspace, a=DIFF)
    warned = patchq("lint", cwd=workspace.root)
    assert warned.returncode == 0
    assert warned.stdout.splitlines()[-1] == "4 warnings in 1 series"
    (workspace.series_path("v1") / "a.patch").write_bytes(SOUND.removesuffix(b"\n"))
    failed = patchq("lint", "v1", "--json", cwd=workspace.root)
    assert failed.returncode == 1
    [finding] = json.loads(failed.stdout)["findings"]
    assert (finding["code"], finding["line"], finding["fixable"]) == ("malformed-diff", 13, True)
    fixed = patchq("lint", "--fix", cwd=workspace.root)
    assert (fixed.returncode, fixed.stdout) == (0, "nothing found in 1 series\n")
    assert fixed.stderr == "patchq: repaired v1/a.patch\n"
    assert patchq("lint", "v9", cwd=workspace.root).returncode == 2
    assert not (workspace.store_path).exists()


def test_a_nul_byte_in_a_hunk(patchq: CommandLine, miniature: MakeMiniature) -> None:
    """It stays, and import and lint say so: an editor shows nothing of it."""
    upstream = miniature()
    upstream.commit("Start", {"a.py": "a = 1\nb = 2\n"})
    upstream.tag("v1")
    raw = upstream.patch("v1", {"a.py": "a = 1\nb = 'NUL'\n"}).replace(b"NUL", b"x\0y")
    root = make_workspace(upstream, {}, bases=("v1",)).root
    (root / "nul.patch").write_bytes(raw)
    words = "a.py: 1 line of its hunks with a NUL byte: kept as it is, but git takes"
    done = patchq("import", "nul.patch", "--tag", "v1", cwd=root)
    assert done.returncode == 0
    assert words in done.stderr
    assert (root / "series" / "v1" / "nul.patch").read_bytes() == raw
    done = patchq("lint", cwd=root)
    line = raw.split(b"\n").index(b"+b = 'x\0y'") + 1
    assert f"series/v1/nul.patch:{line}: warning: {words}" in done.stdout
    assert "[nul-byte]" in done.stdout
