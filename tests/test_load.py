"""Many processes in one workspace: readers never fail, and no update is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import SOURCES
from miniature import Miniature
from workspaces import make_workspace

TEXT = "".join(f"line {number}\n" for number in range(400))
READERS = (("list",), ("lint",), ("report", "v1", "--onto", "v2"), ("status",), ("files", "p0"))


@pytest.mark.parametrize(
    ("writers", "readers"),
    [(3, 3), pytest.param(10, 10, marks=pytest.mark.release)],
    ids=["short", "long"],
)
def test_many_at_once(tmp_path: Path, writers: int, readers: int) -> None:
    upstream = Miniature(tmp_path / "upstream")
    upstream.commit("Start", {"f": TEXT})
    upstream.tag("v1")
    upstream.commit("Other (#1)", {"g": "g\n"})
    upstream.tag("v2")
    names = [f"p{number}" for number in range(writers + 1)]
    patches = {
        f"{name}.patch": upstream.patch(
            "v1", {"f": TEXT.replace(f"line {10 * number}\n", f"{name}\n")}, subject=name
        )
        for number, name in enumerate(names)
    }
    workspace = make_workspace(upstream, {"p0.patch": patches["p0.patch"]})
    for name in names[1:]:
        (workspace.root / f"{name}.patch").write_bytes(patches[f"{name}.patch"])

    def start(*args: str) -> subprocess.Popen[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": SOURCES}
        return subprocess.Popen(
            [sys.executable, "-m", "patchq", *args],
            cwd=workspace.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    writing = {name: start("import", f"{name}.patch", "--tag", "v1") for name in names[1:]}
    reading = [start(*READERS[number % len(READERS)]) for number in range(readers)]
    for name, process in writing.items():
        said, _ = process.communicate()
        while process.returncode == 2 and "another patchq is at work" in said:
            process = start("import", f"{name}.patch", "--tag", "v1")  # it says so: tried again
            said, _ = process.communicate()
        assert process.returncode == 0, said
    for process in reading:
        said, _ = process.communicate()
        assert process.returncode in (0, 1), said
        assert "Traceback" not in said
    assert set(workspace.series("v1").names) == set(patches)
    assert set(workspace.load("v1").patches) == set(patches)
