"""What can befall a command that writes: before or after, never between, and no traceback.

SIGKILL, the signals that end a program, the death of a git, errors of the disk, too few open
files; in every writing command. A short form tries a few steps of each, the long one all of them.
The flow of a conflict has a harness of its own (``test_kill.py``).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from zlib import crc32

import pytest
from commandline import SOURCES
from forkserver import Harm
from trials import TRIALS, Ground, make_ground

pytestmark = pytest.mark.slow

_FORMS = pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.release)], ids=["short", "long"]
)
_SIGNALS = ("INT", "TERM", "HUP")
_ERRORS = ("ENOSPC", "EIO", "EROFS", "EMFILE")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_ground(tmp_path_factory.mktemp("harm"))


def places(name: str, kind: str, count: int, samples: int | None = None) -> Iterator[int]:
    """All steps, or ``samples`` of them: others for each command, the same in each run."""
    if samples is None or samples >= count:
        yield from range(1, count + 1)
        return
    for sample in range(samples):
        yield crc32(f"{name} {kind} {sample}".encode()) % count + 1


def check(done: CompletedProcess[str], harm: Harm) -> None:
    """Whatever befell it, it says so in words."""
    assert done.returncode in (0, 1, 2, 3), (harm, done.stderr)
    assert "fault of patchq" not in done.stderr, (harm, done.stderr)
    assert "Traceback" not in done.stderr, (harm, done.stderr)


@_FORMS
@pytest.mark.parametrize("name", TRIALS)
def test_a_killed_command(ground: Ground, name: str, every: bool) -> None:
    scene = ground.scene(name)
    for step in places(name, "KILL", scene.steps("KILL"), None if every else 2):
        done = scene.befall(Harm("KILL", step))
        assert done.returncode == -signal.SIGKILL, (step, done.stderr)
        scene.check(settled=False)
        count("kills")


@_FORMS
@pytest.mark.parametrize("name", TRIALS)
def test_a_killed_git(ground: Ground, name: str, every: bool) -> None:
    scene = ground.scene(name)
    for step in places(name, "git", scene.steps("git"), None if every else 1):
        harm = Harm("git", step)
        done = scene.befall(harm)
        check(done, harm)
        assert not re.search("missing|damaged", done.stderr), (harm, done.stderr)
        scene.check(settled=True)
        count("killed gits")


@_FORMS
@pytest.mark.parametrize("name", TRIALS)
def test_a_signal(ground: Ground, name: str, every: bool) -> None:
    scene = ground.scene(name)
    for step in places(name, "signal", scene.steps("TERM"), None if every else 1):
        kind = _SIGNALS[step % len(_SIGNALS)]
        done = scene.befall(Harm(kind, step))
        expected = (128 + getattr(signal, f"SIG{kind}"), scene.trial.code)
        assert done.returncode in expected, (kind, step, done.stderr)
        scene.check(settled=True)
        count("signals")


def test_an_undo_comes_to_its_end_before_a_signal_does(ground: Ground) -> None:
    scene = ground.scene("undo")
    for step in range(1, scene.steps("TERM") + 1):
        scene.befall(Harm("TERM", step))
        scene.check(settled=True)


@pytest.mark.parametrize("name", TRIALS)
def test_a_reader_who_leaves(ground: Ground, name: str) -> None:
    """As in ``patchq COMMAND | head -1``: what was begun is done, and the exit code is its own."""
    scene = ground.scene(name)
    for descriptor in (1, 2):
        done = scene.befall(Harm("reader", descriptor))
        assert done.returncode == scene.trial.code, (descriptor, done.stderr)
        assert ground.content() == scene.after
        count("readers who left")


@_FORMS
@pytest.mark.parametrize("name", TRIALS)
def test_a_failing_disk(ground: Ground, name: str, every: bool) -> None:
    scene = ground.scene(name)
    for step in places(name, "disk", scene.steps("EIO"), 24 if every else 1):
        harm = Harm(_ERRORS[step % len(_ERRORS)], step)
        done = scene.befall(harm)
        check(done, harm)
        scene.check(settled="could neither be finished nor taken back" not in done.stderr)
        count("errors of the disk")


@_FORMS
@pytest.mark.parametrize("name", TRIALS)
def test_few_open_files(ground: Ground, name: str, every: bool) -> None:
    scene = ground.scene(name)
    for limit in (*range(3, 16), 20, 30) if every else (3 + crc32(name.encode()) % 13,):
        harm = Harm("files", limit)
        check(scene.befall(harm), harm)
        scene.check(settled=True)
        count("limits of open files")


# What is left on the file system, in KiB; on the last one nothing can be written at all.
_ROOM = (0, 4, 8, 12, 20, 32, 48, 64, 96, 128, 192, 256, None)
_ON_A_SMALL_ONE = """
set -e
mount -t tmpfs -o size=64m none "$1"
cp -a "$2/." "$1"
cd "$1"
used=$(df -k --output=used . | tail -1)
if [ "$3" = None ]; then mount -o remount,ro "$1"; else
    mount -o remount,size=$((used + $3))k "$1"; fi
shift 4
code=0
"$@" || code=$?
cd /
cp -a "$ROOT/." "$KEPT"
exit $code
"""


@_FORMS
@pytest.mark.parametrize(
    "name", ["import", "lock", "edit", "rebase", "rebase --continue", "export"]
)
def test_a_full_file_system(
    ground: Ground, name: str, every: bool, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A real one, in a mount namespace; and one that is mounted read-only."""
    allowed = ["unshare", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*allowed, "true"], check=False).returncode:
        pytest.skip("mount namespaces are not allowed here")
    scene = ground.scene(name)
    samples = (crc32(name.encode()) % (len(_ROOM) - 1), len(_ROOM) - 1)
    for room in _ROOM if every else [_ROOM[sample] for sample in samples]:
        scene.ground.restore(name)
        kept = tmp_path_factory.mktemp("kept")
        done = subprocess.run(
            [
                *(*allowed, "sh", "-c", _ON_A_SMALL_ONE, "sh", str(ground.root)),
                *(str(ground.home / "states" / name), str(room), "--"),
                *(sys.executable, "-m", "patchq", *scene.trial.command),
            ],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "PYTHONPATH": SOURCES,
                "ROOT": str(ground.root),
                "KEPT": str(kept),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        check(done, Harm(f"{room} KiB", 0))
        if room is None:
            assert done.returncode, done.stdout
        shutil.rmtree(ground.root)
        shutil.move(kept, ground.root)
        scene.check(settled="could neither be finished nor taken back" not in done.stderr)
        count("full file systems")


def test_the_place_of_a_step_is_within_the_command() -> None:
    found = list(places("x", "KILL", 3))
    assert found == [1, 2, 3]
    assert set(places("x", "KILL", 30, samples=9)) <= set(range(1, 31))


def count(what: str) -> None:
    """Add one to the cases that were run, in the file that $PATCHQ_CASES names."""
    if name := os.environ.get("PATCHQ_CASES"):
        with Path(name).open("a") as file:
            file.write(f"{what}\n")
