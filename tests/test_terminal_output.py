"""On a real terminal, nothing that patches, paths, tags or commits bring along is obeyed."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import threading
from itertools import chain
from pathlib import Path

import pytest
from commandline import SOURCES
from miniature import Miniature
from workspaces import make_workspace

from patchq.cli.commands import GROUPS
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


ODD = "d\x1b[2Jir/f\x07\u202e\n.py"
TEXT = "".join(f"line {number}\n" for number in range(60))
EVERY = f"""\
status
list
list --json
show adds
show adds --raw
show stops --json
header adds
files
report v1 --onto v2
report v1 --onto v2 --format markdown
report v1 --onto v2 --format json
report --all
why stops --onto v2
why lands --onto v2
gates
lint
diff v1 v2
outdated
ci
verify v1
next v2
rebase --onto v2
status
rebase --skip --reason {EVIL.replace(" ", "")}
rebase --abort
rebase --onto v2 --keep-going
list v2
diff v1 v2
why stops
resolve stops
status
resolve --abort
notes v2
revive lands v2
guard adds --when {EVIL}
rename adds {EVIL}
move adds --first --tag v2
fold adds moves --tag v2
split moves --take {EVIL} --into x --tag v2
drop adds --reason {EVIL} --tag v2
undo
header adds --set X-Kind:{EVIL} --tag v2
new {EVIL} -m {EVIL} --tag v2
refresh
edit --abort
edit v1
edit --abort
port adds --to v2
import {{root}}/series/v1/adds.patch --tag v1
import-upstream {EVIL}.tar --tag x
backport 3 --onto v1
export v1 -o {{root}}/out{EVIL}.tar
fetch
lock x={EVIL}
init {{root}}/new{EVIL} --upstream {EVIL}
demo {{root}}
help {EVIL}
{EVIL}
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    upstream = Miniature(tmp_path_factory.mktemp("evil") / "upstream")
    files = {"a": TEXT, "b": TEXT, ODD: TEXT}
    upstream.commit(f"Start {EVIL}", files)
    upstream.tag("v1")
    patches = {"p.patch": PATCH}

    def add(name: str, trailers: dict[str, str], changes: dict[str, str | None]) -> None:
        subject, body = f"{name} {EVIL}", f"Body {EVIL}"
        patches[f"{name}.patch"] = upstream.patch("v1", changes, subject, body, trailers)

    kind = {"X-Kind": f"k{EVIL}", "X-Upstream-PR": "3"}
    landed = TEXT.replace("line 10\n", f"ten {EVIL}\n")
    add("stops", kind, {"a": TEXT.replace("line 10\n", "mine\n")})
    add("lands", kind, {"b": landed})
    add("moves", kind, {ODD: TEXT.replace("line 30\n", f"mine {EVIL}\n")})
    add("adds", {**kind, "X-Requires": "p.patch"}, {f"new {EVIL}": "new\n"})
    upstream.commit(f"Evil {EVIL} (#3)", {"a": landed, "b": landed})
    upstream.move(ODD, f"moved {EVIL}", f"Move {EVIL} (#4)")
    upstream.tag("v2")
    return make_workspace(upstream, patches)


_SEVERAL = """
import json, os, sys
from importlib import import_module
from pkgutil import walk_packages
import patchq
from patchq.__main__ import main
for module in walk_packages(patchq.__path__, "patchq."):
    import_module(module.name)
for words in json.loads(sys.argv[1]):
    if not (child := os.fork()):
        sys.argv = ["patchq", *words]
        main()
    os.waitpid(child, 0)
    os.write(1, b"-- next --")
"""


def on_a_terminal(workspace: Workspace, *commands: list[str]) -> list[bytes]:
    """What each of the commands writes to a terminal, on either stream."""
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
        [sys.executable, "-c", _SEVERAL, json.dumps(commands)],
        cwd=workspace.root,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "PYTHONPATH": SOURCES, "LC_ALL": "C.UTF-8", "EDITOR": "true"},
        check=False,
    )
    os.close(theirs)
    reader.join()
    os.close(ours)
    return b"".join(written).split(b"-- next --")[:-1]


@pytest.mark.parametrize(
    "lines",
    [EVERY.splitlines()[:12], pytest.param(EVERY.splitlines(), marks=pytest.mark.slow)],
    ids=["some", "all"],
)
def test_no_command_passes_an_escape_on(workspace: Workspace, lines: list[str]) -> None:
    commands = [line.replace("{root}", str(workspace.root)).split(" ") for line in lines]
    shown = on_a_terminal(workspace, *commands)
    assert len(shown) == len(commands)
    for command, output in zip(commands, shown, strict=True):
        assert output or command[0] in ("ci", "outdated"), command
        assert b"fault of patchq" not in output, (command, output)
        assert not [found for found in FROM_CONTENT if found in output], (command, output)
        assert not re.search(rb"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f]", OURS.sub(b"", output)), command


def test_each_command_is_tried() -> None:
    assert {line.split(" ")[0] for line in EVERY.splitlines()} >= {*chain(*GROUPS.values())}


def test_a_pipe_gets_the_bytes_as_they_are(workspace: Workspace) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "patchq", "-C", str(workspace.root), "show", "--raw", "p"],
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(workspace.root), "PYTHONPATH": SOURCES},
        check=True,
    )
    assert done.stdout == PATCH


def test_colours_are_ours_to_use(workspace: Workspace) -> None:
    (shown,) = on_a_terminal(workspace, ["report", "v1", "--onto", "v2"])
    assert OURS.search(shown)


def test_how_far_work_is_stands_on_one_line_that_is_drawn_anew(workspace: Workspace) -> None:
    (shown,) = on_a_terminal(workspace, ["report", "v1", "--onto", "v2"])
    assert b"judging the series" in shown
    assert b"\x1b[2K" in shown
    assert rb"\x1b[2K" not in shown, "it is drawn, and not spelled out"


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
