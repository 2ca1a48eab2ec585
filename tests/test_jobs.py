"""One process or many, caches cold, kept or damaged: the report is the same."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from commandline import CommandLine

from patchq.engine.rebase.matrix.helpers import Helpers
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream import open_own
from patchq.model.workspace import Workspace


@pytest.fixture
def workspace(patchq: CommandLine, tmp_path: Path) -> Workspace:
    done = patchq("demo", tmp_path / "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    root = tmp_path / "demo/workspace"
    assert patchq("rebase", "--abort", cwd=root).returncode == 0
    return Workspace(root)


def verdicts(workspace: Workspace) -> list[Path]:
    return sorted((workspace.cache_dir / "verdicts").rglob("*.json"))


def test_jobs_and_caches_change_no_report(patchq: CommandLine, workspace: Workspace) -> None:
    def report(*args: str) -> tuple[int, str]:
        done = patchq("report", "--all", "--format", "json", *args, cwd=workspace.root)
        return done.returncode, done.stdout

    shutil.rmtree(workspace.cache_dir)
    alone = report("--jobs", "1")
    assert '"verdict"' in alone[1]
    kept = {file: file.read_bytes() for file in verdicts(workspace)}
    assert kept
    assert report("--jobs", "1") == alone
    shutil.rmtree(workspace.cache_dir)
    assert report("--jobs", "3") == alone
    assert {file: file.read_bytes() for file in verdicts(workspace)} == kept
    for number, file in enumerate(kept):
        raw = bytearray(file.read_bytes())
        raw[len(raw) * (number % 7 + 1) // 9] ^= 1
        file.write_bytes(raw)
    assert report("--jobs", "3") == alone
    assert {file: file.read_bytes() for file in verdicts(workspace)} == kept


def test_a_helper_fills_the_kept_verdicts(workspace: Workspace) -> None:
    shutil.rmtree(workspace.cache_dir)
    store = open_own(workspace)
    project = Project(workspace, workspace.lock(), workspace.settings(), store)
    work = [("v1.0", "v1.1"), ("v1.1", "v1.2")]
    with Helpers(project, work, jobs=2, at_once=True) as helpers:
        helpers.take(work[0])
        helpers.take(work[1])  # which a helper began, and has done
    assert verdicts(workspace)


def test_no_helper_outlives_the_report(workspace: Workspace) -> None:
    project = Project(workspace, workspace.lock(), workspace.settings(), open_own(workspace))
    with Helpers(project, [("v1.0", "v1.1")], jobs=2, at_once=True) as helpers:
        helpers.start()
        (process,) = helpers._running.values()
    assert process.poll() is not None
    began = time.monotonic()
    with Helpers(project, [("v1.0", "v1.1")], jobs=2) as helpers:
        helpers.start()
    assert not helpers._running or time.monotonic() - began > 1
