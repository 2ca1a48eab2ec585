"""On a real terminal, nothing that patches, paths, tags or commits bring along is obeyed."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from commandline import SOURCES
from miniature import Miniature
from workspaces import make_workspace

from patchq.model.workspace import Workspace
from patchq.report.text import displayable

EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[31mRED\u202e"
PATCH = f"""\
From: X {EVIL} <x@y.z>
Subject: fix {EVIL}
Date: Mon, 3 Aug 2026 10:00:00 +0200

Body {EVIL}

X-Kind: k\x1b[5m
X-Watch: evil
---
diff --git "a/e\\033[31mvil" "b/e\\033[31mvil"
new file mode 100644
--- /dev/null
+++ "b/e\\033[31mvil"
@@ -0,0 +1 @@
+x {EVIL}
""".encode()
# what rich itself writes: colours, and the ways to draw a line anew
OURS = re.compile(rb"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[12]K|\x1b\[1A")
FROM_CONTENT = (b"\x1b[5m", b"\x1b[31mRED", b"\x1b[31mvil", b"\x1b[2J", b"\x07", b"\xe2\x80\xae")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    upstream = Miniature(tmp_path_factory.mktemp("evil") / "upstream")
    upstream.commit("Start", {"a": "a\n"})
    upstream.tag("v1")
    upstream.commit(f"Evil {EVIL} (#3)", {"a": "b\n"})
    upstream.tag("v2")
    return make_workspace(upstream, {"p.patch": PATCH})


def on_a_terminal(workspace: Workspace, *args: str) -> bytes:
    """What ``patchq args`` writes to a terminal, on either stream."""
    ours, theirs = pty.openpty()
    written: list[bytes] = []

    def read() -> None:
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                return
            if not part:
                return
            written.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    environment = {"PATH": os.environ["PATH"], "HOME": str(workspace.root), "TERM": "xterm"}
    subprocess.run(
        [sys.executable, "-m", "patchq", "-C", str(workspace.root), *args],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "PYTHONPATH": SOURCES, "LC_ALL": "C.UTF-8"},
        check=False,
    )
    os.close(theirs)
    reader.join()
    os.close(ours)
    return b"".join(written)


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("show", "p"),
        ("header", "p"),
        ("files", "p"),
        ("report", "v1", "--onto", "v2"),
        ("diff", "v1", "v2"),
        ("lock", f"x={EVIL}"),
        ("list", EVIL),
    ],
    ids=lambda command: str(command[0]),
)
def test_no_command_passes_an_escape_on(workspace: Workspace, command: tuple[str, ...]) -> None:
    shown = on_a_terminal(workspace, *command)
    assert shown
    assert not [found for found in FROM_CONTENT if found in shown]
    assert b"\x1b" not in OURS.sub(b"", shown)


def test_a_pipe_gets_the_bytes_as_they_are(workspace: Workspace) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "patchq", "-C", str(workspace.root), "show", "--raw", "p"],
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(workspace.root), "PYTHONPATH": SOURCES},
        check=True,
    )
    assert done.stdout == PATCH


def test_colours_are_ours_to_use(workspace: Workspace) -> None:
    assert OURS.search(on_a_terminal(workspace, "report", "v1", "--onto", "v2"))


def test_only_ends_and_tabs_of_lines_are_kept() -> None:
    assert displayable("a\tb\n") == "a\tb\n"
    assert displayable("a\r\n\x1b\x85\u2028\u200b") == "a\\r\n\\x1b\\x85\\u2028\\u200b"


def test_there_is_one_console() -> None:
    sources = Path(SOURCES, "patchq")
    made = re.compile(r"(?<!class )\bConsole\(|secho\(|typer\.style\(")
    found = [
        str(file.relative_to(sources))
        for file in sources.rglob("*.py")
        if made.search(file.read_text().replace("class Terminal(Console)", ""))
    ]
    assert not found
