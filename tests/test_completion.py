"""Completion of tags, patches and guards, asked for as the shells' own scripts ask."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import SOURCES, CommandLine
from miniature import MakeMiniature, Miniature
from seriesbench import begin, three
from workspaces import add_series, make_workspace

from patchq.model.retired import RecordState, Retired, render_retired
from patchq.model.verdict import Verdict
from patchq.model.workspace import Workspace


@pytest.fixture
def workspace(miniature: MakeMiniature) -> Workspace:
    upstream: Miniature = begin(miniature())
    patches = three(upstream)
    made = make_workspace(upstream, {"old.patch": patches["one.patch"]}, settings=SETTINGS)
    series = "one.patch #+fast\ntwo.patch #-slim\nthree.patch\n"
    directory = add_series(made, "v2", patches, series=series)
    gone = Retired("gone.patch", Verdict.CLEAN, "no", (), b"x\n", RecordState.DROPPED, "v2", "v1")
    (directory / "retired.yaml").write_bytes(render_retired([gone]))
    return made


SETTINGS = "version: 1\nguards:\n  known: what it is for\n"


def offered(patchq: CommandLine, cwd: Path, line: str) -> list[str]:
    words = line.split(" ")
    asked = {
        "_PATCHQ_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = patchq(cwd=cwd, env=asked)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("patchq list ", ["v1", "v2"]),
        ("patchq export v", ["v1", "v2"]),
        ("patchq drop t", ["two.patch", "three.patch"]),
        ("patchq drop --tag v1 ", ["old.patch"]),
        ("patchq edit v1 ", ["old.patch"]),
        ("patchq show o", ["one.patch", "old.patch"]),
        ("patchq port old.patch --to v1,v", ["v1,v1", "v1,v2"]),
        ("patchq move one.patch --after th", ["three.patch"]),
        ("patchq list --with ", ["fast", "known", "slim"]),
        ("patchq revive ", ["gone.patch"]),
        ("patchq drop x", []),
    ],
)
def test_names_are_offered(
    patchq: CommandLine, workspace: Workspace, line: str, names: list[str]
) -> None:
    assert offered(patchq, workspace.root, line) == names


def test_another_directory_and_none(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    assert offered(patchq, tmp_path, f"patchq -C {workspace.root} list ") == ["v1", "v2"]
    assert offered(patchq, tmp_path, "patchq list ") == []
    workspace.lock_path.write_text("broken: [")
    assert offered(patchq, workspace.root, "patchq list ") == []


def test_nothing_heavy_is_imported_and_nothing_written(workspace: Workspace) -> None:
    script = (
        "import os, sys; os.environ.update(_PATCHQ_COMPLETE='complete_bash',"
        " COMP_WORDS='patchq show o', COMP_CWORD='2')\n"
        "from patchq.cli.main import run\n"
        "try: run([])\n"
        "except SystemExit: pass\n"
        "heavy = ('git', 'gitdb', 'rich.console', 'unidiff', 'tree_sitter', 'jinja2',"
        " 'patchq.git.store')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    before = sorted(workspace.root.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=workspace.root,
        env={"PYTHONPATH": SOURCES, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert sorted(workspace.root.rglob("*")) == before


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_one_that_it_takes(
    patchq: CommandLine, workspace: Workspace, shell: str
) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = patchq(cwd=workspace.root, env={"_PATCHQ_COMPLETE": f"source_{shell}"}).stdout
    assert "patchq" in script
    done = subprocess.run(
        [program, "-n"], input=script, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
