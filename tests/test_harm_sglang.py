"""SGLang's own series: killed at any moment of a real rebase, and flipped bits in all it keeps.

Needs a clone of SGLang with the tags, by ``PATCHQ_TEST_SGLANG=PATH``.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import SOURCES

UPSTREAM = os.environ.get("PATCHQ_TEST_SGLANG")
ROOT = Path(__file__).parents[1]
OLD, NEW = "v0.5.17", "v0.5.18"
REBASE = ("rebase", "--from", OLD, "--onto", NEW)
KILLS = int(os.environ.get("PATCHQ_TEST_KILLS", "60"))

pytestmark = [
    pytest.mark.release,
    pytest.mark.skipif(UPSTREAM is None, reason="PATCHQ_TEST_SGLANG names no clone"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace of our series up to v0.5.17."""
    root = tmp_path / "workspace"
    root.mkdir()
    shutil.copy(ROOT / "upstream.lock", root)
    shutil.copytree(ROOT / "series", root / "series")
    for series in (root / "series").glob("v*"):
        if series.name > OLD:
            shutil.rmtree(series)
    return root


def start(root: Path, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "patchq", "--upstream", str(UPSTREAM), *args],
        cwd=root,
        env={"PATH": os.environ["PATH"], "HOME": str(root), "PYTHONPATH": SOURCES},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(root: Path, *args: str) -> str:
    process = start(root, *args)
    out, err = process.communicate()
    assert process.returncode in (0, 1), err
    assert "Traceback" not in err
    return out


def series(root: Path, name: str) -> dict[str, bytes]:
    directory = root / "series" / name
    return {file.name: file.read_bytes() for file in sorted(directory.rglob("*"))}


def caches(root: Path) -> Iterator[Path]:
    """Everything that is kept to be used again."""
    for file in sorted((root / ".patchq").rglob("*")):
        if file.is_file() and "store.git" not in file.parts and "transactions" not in file.parts:
            yield file


def test_a_rebase_killed_at_any_moment(root: Path) -> None:
    """patchq and its gits, with everything kept or nothing."""
    begun = time.monotonic()
    run(root, *REBASE)
    cold = time.monotonic() - begun
    shutil.rmtree(root / "series" / NEW)
    begun = time.monotonic()
    run(root, *REBASE)
    warm = time.monotonic() - begun
    old, new = series(root, OLD), series(root, NEW)
    assert new
    chance, done = random.Random(NEW), 0
    for number in range(KILLS):
        shutil.rmtree(root / "series" / NEW)
        if number % 2:
            shutil.rmtree(root / ".patchq" / "cache")
        process = start(root, *REBASE)
        time.sleep(chance.uniform(0, 1.1) * (cold if number % 2 else warm))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        run(root, "status")
        assert series(root, OLD) == old
        if (root / "series" / NEW).exists():
            done += 1
        else:
            run(root, *REBASE)
        assert series(root, NEW) == new, number
    print(f"{KILLS} kills, {done} of them after the end; cold {cold:.1f} s, kept {warm:.1f} s")
    assert done < KILLS


def test_a_flipped_bit_in_each_kept_answer(root: Path) -> None:
    first = run(root, *REBASE)
    written = series(root, NEW)
    report = run(root, "report", OLD, "--onto", NEW, "--format", "json")
    verified = run(root, "verify", NEW, "--json")
    files = list(caches(root))
    assert len(files) > 20
    chance = random.Random(NEW)
    for file in files:
        content = bytearray(file.read_bytes())
        for _ in range(2):
            if content:
                content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
    shutil.rmtree(root / "series" / NEW)
    assert run(root, *REBASE) == first
    assert series(root, NEW) == written
    assert run(root, "report", OLD, "--onto", NEW, "--format", "json") == report
    assert run(root, "verify", NEW, "--json") == verified
    print(f"{len(files)} files")
