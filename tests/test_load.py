"""Many processes in one workspace: readers never fail, and no update is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from commandline import SOURCES
from miniature import Miniature
from workspaces import make_workspace

TEXT = "".join(f"line {number}\n" for number in range(400))
READERS = (("list",), ("lint",), ("report", "v1", "--onto", "v2"), ("status",), ("files", "p0"))
BUSY = "another patchq is running"


@pytest.mark.parametrize(
    ("writers", "readers", "seconds"),
    [(3, 3, 0), pytest.param(10, 10, 120, marks=pytest.mark.release)],
    ids=["short", "long"],
)
def test_many_at_once(tmp_path: Path, writers: int, readers: int, seconds: int) -> None:
    """Each writer brings its own patch and drops it in turn, and leaves it there at the end."""
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
    end = time.monotonic() + seconds
    faults: list[str] = []
    runs: list[int] = []

    def run(*args: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "patchq", *args],
            cwd=workspace.root,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": SOURCES},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode == 2 and BUSY in done.stdout:
            run(*args)  # it says so: tried again
            return
        runs.append(done.returncode)
        if "Traceback" in done.stdout or done.returncode not in (0, 1):
            faults.append(f"{args}: {done.returncode}: {done.stdout}")

    def write(name: str) -> None:
        run("import", f"{name}.patch", "--tag", "v1")
        while time.monotonic() < end and not faults:
            run("drop", name, "--tag", "v1", "--reason", "again")
            run("import", f"{name}.patch", "--tag", "v1")

    def read(number: int) -> None:
        run(*READERS[number % len(READERS)])
        while time.monotonic() < end and not faults:
            number += 1
            run(*READERS[number % len(READERS)])

    threads = [
        *(threading.Thread(target=write, args=(name,)) for name in names[1:]),
        *(threading.Thread(target=read, args=(number,)) for number in range(readers)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert set(workspace.series("v1").names) == set(patches)
    assert set(workspace.load("v1").patches) == set(patches)
    print(f"{len(runs)} runs of {writers + readers} processes at a time")
