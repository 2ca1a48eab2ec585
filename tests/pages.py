"""A reader of the docs: types what a page shows, block by block, and compares what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from commandline import SOURCES
from markdown_it import MarkdownIt
from miniature import Miniature

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PATCHQ = f'#!/bin/sh\nexec "{sys.executable}" -m patchq "$@"\n'
LIMITS = "".join(f"int limit_{number} = {number};\n" for number in range(20))
LOG = "".join(f"log({number});\n" for number in range(20))
DEP3 = "Description: {}\nAuthor: Ada Example <ada@example.org>\n\n"


class Reader:
    """A shell with an upstream, a pile of patches for it, and nothing else."""

    def __init__(self, home: Path, upstream: Miniature, patchq: Path | None = None):
        self.home, self.upstream = home, upstream
        programs = patchq.parent if patchq else home / "bin"
        if patchq is None:
            programs.mkdir()
            (programs / "patchq").write_text(PATCHQ)
            (programs / "patchq").chmod(0o755)
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(home),
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "80",
            "UPSTREAM": str(upstream.path),
            "PATCHES": str(home / "pile"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "Ada Example"),
            **({} if patchq else {"PYTHONPATH": SOURCES}),
            **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "ada@example.org"),
        }

    def run(self, script: str, cwd: Path, *, codes: Sequence[int] = (0,)) -> str:
        """Stdout and stderr of a block; its last command's directory is kept in ``self.cwd``."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{script}\npwd >{self.home}/cwd"],
            cwd=cwd,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in codes, f"{script}\n{done.stdout}{done.stderr}"
        if not done.returncode:
            self.cwd = Path((self.home / "cwd").read_text().strip())
        return done.stdout + done.stderr

    def read(
        self,
        page: str,
        cwd: Path,
        *,
        leave_out: str = r"\Z.",
        follow: Callable[[str, str], None] = lambda _language, _text: None,
    ) -> None:
        """Run every block of commands of a page, but those that match ``leave_out``.

        ``follow`` gets every block in a language, to do what the page says about it.
        """
        self.cwd = cwd
        printed: str | None = None
        for token in MarkdownIt().parse((DOCS / page).read_text(encoding="utf-8")):
            if token.type != "fence":
                continue
            if not token.info and token.content.startswith("$ "):
                self.read_session(token.content)
                printed = None
            elif token.info == "sh":
                left_out = re.search(leave_out, token.content)
                printed = None if left_out else self.run(token.content, self.cwd)
            elif token.info:
                follow(token.info, token.content)
            elif printed is not None:
                assert_shown(token.content, printed)
                printed = None

    def read_sessions(self, page: str, cwd: Path) -> None:
        """Run only the blocks of a page that show commands with a prompt."""
        self.cwd = cwd
        for token in MarkdownIt().parse((DOCS / page).read_text(encoding="utf-8")):
            if token.type == "fence" and token.content.startswith("$ "):
                self.read_session(token.content)

    def read_session(self, session: str) -> None:
        """Type the lines with a prompt, and compare what follows each with what it prints."""
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, re.M):
            printed = self.run(command, self.cwd, codes=(0, 1))
            if shown:
                assert_shown(shown, printed)


def assert_shown(shown: str, printed: str) -> None:
    """``…`` stands for any text of a line, a line of it for any lines; blanks at ends do not
    count.
    """
    pattern = ""
    for line in map(str.rstrip, shown.splitlines()):
        if line == "…":
            pattern += r"(?:.*\n)*?"
            continue
        pattern += ".*".join(map(re.escape, line.split("…"))) + r"[ \t]*\n"
    assert re.search(pattern, printed), f"{shown}\n--- printed:\n{printed}"


def read_readme(home: Path, patchq: Path | None = None) -> Reader:
    """Type every command of the README but installing and downloading, on small upstreams."""
    cmake = "set(ARCHES 80 90 121a)\n" + "".join(f"set(OPTION_{n} {n})\n" for n in range(20))
    for name, tags in (("sglang", ("v0.5.18", "v0.5.19")), ("project", ("v1.0", "v1.1"))):
        upstream = Miniature(home / "src" / name)
        for tag in tags:
            upstream.commit(f"Release {tag}", {"CMakeLists.txt": cmake, "VERSION": f"{tag}\n"})
            upstream.tag(tag)
        upstream.commit("Main goes on", {"VERSION": "next\n"})
    reader = Reader(home, upstream, patchq)
    (home / "old-pile").mkdir()
    raw = upstream.bare_diff("v1.0", {"CMakeLists.txt": cmake.replace("80 90 121a", "121a")})
    text = DEP3.format("Build for one machine").encode() + raw
    (home / "old-pile/arch-prune.patch").write_bytes(text)
    reader.run("patchq init spark --upstream src/sglang --from old-pile --tag v0.5.18", reader.home)
    reader.cwd = home / "spark"
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    typed = 0
    for token in MarkdownIt().parse(page):
        if token.type != "fence" or token.info != "sh" or ".venv" in token.content:
            continue
        for line in token.content.splitlines():
            if line.startswith("patchq init"):
                reader.cwd = home
            reader.run(line, reader.cwd, codes=(0, 1))
            typed += 1
    assert typed >= 10
    return reader
