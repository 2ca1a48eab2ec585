"""The workspace of this repository on real SGLang releases, taken from their wheels."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commandline import CommandLine

from patchq.errors import Where
from patchq.model.retired import read_retired
from patchq.model.verdict import Verdict

ROOT = Path(__file__).parents[1]
KERNEL = "flashmla-off.patch"

pytestmark = pytest.mark.registry


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A copy of the workspace, as far as v0.5.20."""
    shutil.copy(ROOT / "upstream.lock", tmp_path)
    shutil.copytree(ROOT / "series", tmp_path / "series")
    for later in ("v0.5.21", "v0.5.22", "v0.5.23"):
        shutil.rmtree(tmp_path / "series" / later, ignore_errors=True)
    return tmp_path


def test_the_main_job_on_two_wheels(workspace: Path, patchq: CommandLine) -> None:
    def run(*args: str, code: int = 0) -> str:
        done = patchq(*args, cwd=workspace)
        assert done.returncode == code, done.stderr
        return done.stdout

    assert "v0.5.20 51e09b2f01e5" in run("fetch", "v0.5.20", "v0.5.21")
    report = json.loads(run("report", "v0.5.20", "--onto", "v0.5.21", "--format", "json"))
    found: dict[str, dict[str, Any]] = {patch["name"]: patch for patch in report["patches"]}
    assert found["tilelang-uint8-view.patch"]["verdict"] == "clean"
    assert found[KERNEL]["verdict"] == "not-covered"
    assert found[KERNEL]["counts"]["uncovered"] == found[KERNEL]["counts"]["total"]

    run("rebase", "--onto", "v0.5.21")
    carried = workspace / "series/v0.5.21"
    for name in found:
        assert (carried / name).read_bytes() == (workspace / "series/v0.5.20" / name).read_bytes()
    records = read_retired((carried / "retired.yaml").read_bytes(), Where("retired.yaml"))
    for name in ("qsa-veto-sm121.patch", "qsa-gate-sm121.patch"):
        assert (name, Verdict.EXPIRED) in [(r.name, r.verdict) for r in records]
    assert "passed, 5 not covered by the base" in run("verify", "v0.5.21")
    run("export", "v0.5.21", "-o", "out", code=1)  # the kernel tree is not in the wheel


def test_fetching_again_brings_nothing(workspace: Path, patchq: CommandLine) -> None:
    first = patchq("fetch", "v0.5.21", cwd=workspace)
    assert first.returncode == 0, first.stderr
    again = patchq("fetch", "v0.5.21", cwd=workspace)
    assert again.stdout == "v0.5.21 f2fb52f7d7e4 is there\n"
