"""Signals and readers that leave: clear words, one exit code, nothing half-written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import SOURCES, CommandLine
from forkserver import Harm, steps
from miniature import MakeMiniature
from workspaces import add_series, make_workspace

from patchq.cli.streams import tolerant
from patchq.model.workspace import Workspace

SIGNALS = ("INT", "TERM", "HUP")
_NUMBERS = [getattr(signal, f"SIG{name}") for name in SIGNALS]

_GIT = """#!/bin/sh
[ "$1" = version ] && exec echo git version 2.39.5
kill -{} $PPID
exec sleep 3
"""
"""A git that is asked its version when modules are loaded, and interrupts what it is asked for."""

_STOPPING = "import os, signal, time\nos.kill(os.getpid(), signal.SIG{})\ntime.sleep(30)\n"


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Signals are not ignored, as they are in what runs behind nohup or a shell's ``&``."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in _NUMBERS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def workspace(miniature: MakeMiniature) -> Workspace:
    upstream = miniature()
    upstream.commit("start", {"a.txt": "one\n"})
    upstream.tag("v1")
    upstream.commit("next", {"b.txt": "b\n"})
    upstream.tag("v2")
    patches = {f"p{n}.patch": upstream.patch("v1", {f"{n}.txt": "x\n"}) for n in range(3)}
    return make_workspace(upstream, patches)


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_while_modules_are_loaded(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path, name: str
) -> None:
    """The first heavy import stops at a module that sends the signal."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "typer.py").write_text(_STOPPING.format(name))
    path = f"{SOURCES}{os.pathsep}{modules}"
    done = patchq("list", cwd=workspace.root, env={"PYTHONPATH": path})
    assert done.returncode == 128 + getattr(signal, f"SIG{name}")
    assert (done.stdout, done.stderr) == ("", "patchq: interrupted; nothing was written\n")


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_at_work(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path, name: str
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    git = programs / "git"
    git.write_text(_GIT.format(name))
    git.chmod(0o755)
    before = sorted(workspace.series_dir.rglob("*"))
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root, env={"PATH": path})
    assert done.returncode == 128 + getattr(signal, f"SIG{name}")
    assert done.stderr.splitlines() == ["patchq: interrupted; nothing was written"]
    assert sorted(workspace.series_dir.rglob("*")) == before


def test_what_is_under_way_is_said(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    assert patchq("edit", cwd=workspace.root).returncode == 0
    git = tmp_path / "git"
    git.write_text(_GIT.format("INT"))
    git.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = patchq("report", "v1", cwd=workspace.root, env={"PATH": path})
    assert done.returncode == 130
    first, second = done.stderr.splitlines()
    assert first == "patchq: interrupted; nothing was written"
    assert "an edit of v1 is open" in second
    assert "--abort" in second


_WRITES = {
    "drop p1 --reason x": "",
    "guard p1 --when big": "",
    "import new.diff": "",
    "rebase --onto v2 --replace": "",
    "rename p1 q1": "",
    "header p1 --set X-Kind=fix": "",
    "lock v3": "",
    "undo": "drop p2 --reason x",
    "edit --abort": "edit",
    "revive p2": "drop p2 --reason x",
    "export v1 -o out.tar.gz": "",
    "export v1 -o out": "",
    "report v1 -o out.md --format markdown": "",
}
"""Commands that write, each with one that goes before it."""


@pytest.fixture
def third_tag(miniature: MakeMiniature) -> Workspace:
    """A workspace with series on v1 and v2, whose upstream has a v3."""
    upstream = miniature()
    for number in (1, 2, 3):
        upstream.commit(f"commit {number}", {f"{number}.txt": "one\n"})
        upstream.tag(f"v{number}")
    patches = {f"p{n}.patch": upstream.patch("v1", {f"p{n}.txt": "x\n"}) for n in range(3)}
    made = make_workspace(upstream, patches)
    add_series(made, "v2", patches)
    diff = upstream.bare_diff("v2", {"new.txt": "x\n"})
    (made.root / "new.diff").write_bytes(diff)
    return made


def _written(root: Path) -> dict[str, bytes]:
    """What a user sees of a workspace."""
    files = (file for file in root.rglob("*") if file.is_file())
    seen = {str(file.relative_to(root)): file.read_bytes() for file in files}
    return {name: raw for name, raw in seen.items() if not name.startswith(".patchq")}


@pytest.mark.parametrize("words", _WRITES)
def test_what_was_written_is_said(
    patchq: CommandLine, third_tag: Workspace, tmp_path: Path, words: str
) -> None:
    """Wherever the signal comes: it says that nothing was written, or what was."""
    if _WRITES[words]:
        assert patchq(*_WRITES[words].split(), cwd=third_tag.root).returncode == 0
    command = [word.replace("=", ": ") for word in words.split()]
    before, whole = _written(third_tag.root), tmp_path / "whole"
    shutil.copytree(third_tag.root, whole, symlinks=True)
    done = patchq(*command, cwd=whole, harm=Harm("INT", -1))
    assert done.returncode == 0, done.stderr
    last = steps(done)
    points = sorted({*range(1, last, 1 + last // 4), *range(last - 4, last + 1)} - {0, -1, -2})
    said = set()
    for point in points:
        root = tmp_path / f"{point}"
        shutil.copytree(third_tag.root, root, symlinks=True)
        done = patchq(*command, cwd=root, harm=Harm("INT", point))
        assert done.returncode == 130, (point, done.stderr)
        changed = _written(root) != before
        is_open = (root / ".patchq" / "edit.json").exists()
        stays = changed or (words == "edit --abort" and not is_open)
        assert ("stays: " in done.stderr) is stays, (point, done.stderr)
        assert ("; nothing was written\n" in done.stderr) is not stays, (point, done.stderr)
        said.add(stays)
    assert False in said


_DONE = """
import atexit, os, signal, sys

import patchq.cli.main

class Last:
    def __del__(self, kill=os.kill, own=os.getpid(), number=signal.SIG{0}):
        kill(own, number)

sys.last = Last()  # goes when modules are cleared away, and no handler is called any more
atexit.register(os.kill, os.getpid(), signal.SIG{0})
patchq.cli.main.main = lambda: print("done", flush=True)
from patchq.__main__ import main
main()
"""


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_after_the_work_is_done(name: str) -> None:
    """While Python clears away, it would end the process by its default action."""
    command = [sys.executable, "-c", _DONE.format(name)]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": SOURCES}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


_BUSY = """
import signal, sys, time
from pathlib import Path

import patchq.cli.main
from patchq.scratch import scratch_root

def work():
    for number in range(5000):
        (scratch_root() / str(number)).write_bytes(b"")
    print(scratch_root(), flush=True)
    try:
        time.sleep(60)
    except SystemExit as ended:
        return ended.exit_code

patchq.cli.main.main = work
from patchq.__main__ import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_temporary_files_hold_up_no_end(tmp_path: Path, number: signal.Signals) -> None:
    """They are removed by a process of their own, under another name at once."""
    with subprocess.Popen(
        [sys.executable, "-c", _BUSY],
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": SOURCES, "TMPDIR": str(tmp_path)},
    ) as busy:
        assert busy.stdout
        scratch = Path(busy.stdout.readline().strip())
        assert (scratch / "4999").exists()
        busy.send_signal(number)
        assert busy.wait() == 128 + number
    assert not scratch.exists()
    for _ in range(300):
        if not any(scratch.parent.iterdir()):
            break
        time.sleep(0.1)
    assert not any(scratch.parent.iterdir())


_IN_FINALIZER = """
import os, signal, threading, time
from patchq.cli import main
from patchq.errors import UpstreamError
from patchq.signals import raise_on_signals

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIG{0})
        list(range(1000))

def work(*_):
    Finalized()
    time.sleep({1})
    raise UpstreamError("git was ended too")

start = threading.Thread.start

def slowly(thread):
    start(thread)
    time.sleep({2})  # meanwhile the other thread has its turn, as on a busy machine

threading.Thread.start = slowly
raise_on_signals()
main._call = work
raise SystemExit(main.run([]))
"""


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize(("seconds", "start"), [(0, 0), (30, 0), (30, 0.1)])
def test_a_signal_that_python_passes_over(name: str, seconds: int, start: float) -> None:
    """What is raised in a finalizer is raised again behind it; what fails meanwhile is no error."""
    ended = subprocess.run(
        [sys.executable, "-c", _IN_FINALIZER.format(name, seconds, start)],
        capture_output=True,
        text=True,
        timeout=25,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        check=False,
    )
    assert ended.returncode == 128 + getattr(signal, f"SIG{name}")
    assert ended.stderr == "patchq: interrupted; nothing was written\n"


def _left_early(workspace: Workspace, *args: str) -> tuple[int, str]:
    """Exit code and errors of a command whose reader has left before it writes."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "patchq", *args],
        cwd=workspace.root,
        stdout=write,
        stderr=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": SOURCES, "HOME": str(workspace.root)},
        text=True,
        check=False,
    )
    os.close(write)
    return done.returncode, done.stderr


@pytest.mark.parametrize("args", [("list",), ("list", "--json"), ("report", "v1"), ("why", "p0")])
def test_a_reader_who_leaves_is_no_finding(workspace: Workspace, args: tuple[str, ...]) -> None:
    assert _left_early(workspace, *args) == (0, "")


def test_a_reader_who_leaves_hides_no_finding(workspace: Workspace) -> None:
    (workspace.series_path("v1") / "p1.patch").unlink()
    code, _ = _left_early(workspace, "lint")
    assert code == 1


@pytest.mark.parametrize("words", ["list", "list --json", "show p0 --raw", "drop p0 --reason x"])
def test_a_full_output_is_said(workspace: Workspace, tmp_path: Path, words: str) -> None:
    root = tmp_path / "copy"
    shutil.copytree(workspace.root, root)
    done = _in_shell(root, f"{words} >/dev/full")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: the output could not be written to its end: No space left on device",
        "hint: What else the command did is done.",
    ]
    assert _in_shell(root, f"{words} >/dev/full 2>/dev/full").returncode == 2


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams(workspace: Workspace, closed: str) -> None:
    done = _in_shell(workspace.root, f"list {closed}")
    assert (done.returncode, done.stderr) == (0, "")
    done = _in_shell(workspace.root, f"import - --tag v1 {closed} </dev/null")
    assert done.returncode == 2
    assert "fault of patchq" not in done.stderr


def _in_shell(root: Path, words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'"$0" -m patchq {words}', sys.executable],
        cwd=root,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": SOURCES, "HOME": str(root)},
        text=True,
        check=False,
    )


def test_what_was_written_before_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "out"
    with file.open("w", encoding="ascii") as plain:
        stream = tolerant(plain)
        stream.write("a\udce9ü\n")
        stream.flush()
    assert file.read_bytes() == b"a\\xe9\\xfc\n"
