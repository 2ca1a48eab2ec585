"""A workspace with one series, the command line in it, and git in the worktree of an edit."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from commandline import CommandLine
from miniature import Miniature

from patchq.model.workspace import Workspace

USER = {
    "GIT_AUTHOR_NAME": "Uma User",
    "GIT_AUTHOR_EMAIL": "uma@user.example",
    "GIT_COMMITTER_NAME": "Uma User",
    "GIT_COMMITTER_EMAIL": "uma@user.example",
}


def lines(name: str, count: int = 30) -> str:
    """A file that says its name and the number on each line."""
    return "".join(f"{name} line {number}\n" for number in range(1, count + 1))


def changed(text: str, *numbers: int, to: str = "changed") -> str:
    """``text`` with these lines changed."""
    rows = text.splitlines(keepends=True)
    for number in numbers:
        rows[number - 1] = rows[number - 1].replace("line", to)
    return "".join(rows)


@dataclass
class Bench:
    """A workspace, the command line in it, and git in the worktree of an edit."""

    upstream: Miniature
    workspace: Workspace
    patchq: CommandLine

    @property
    def worktree(self) -> Path:
        """Where an edit is open."""
        return self.workspace.state_dir / "edit"

    def run(self, *args: str, code: int = 0, env: Mapping[str, str] | None = None) -> str:
        """Both streams of ``patchq args``, which must end with ``code``."""
        done = self.patchq(*args, cwd=self.workspace.root, env={**USER, **(env or {})})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def json(self, *args: str, code: int = 0) -> dict[str, object]:
        """What ``patchq args --json`` prints."""
        done = self.patchq(*args, "--json", cwd=self.workspace.root, env=USER)
        assert done.returncode == code, done.stdout + done.stderr
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    def git(self, *args: str, env: Mapping[str, str] | None = None, code: int = 0) -> str:
        """The user's git in the worktree."""
        plain = {"PATH": os.environ["PATH"], "HOME": str(self.patchq.home), "LC_ALL": "C"}
        done = subprocess.run(
            ["git", "-C", str(self.worktree), *args],
            env={**plain, **USER, "GIT_EDITOR": "true", **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout.strip()

    def rebase(self, script: str, code: int = 0) -> None:
        """``git rebase -i`` over all commits; ``script`` is Python over ``todo``, a list of lines,
        and ``names``, the Patch-Name of each."""
        editor = self.workspace.root.parent / "todo.py"
        editor.write_text(
            "import subprocess, sys\n"
            "file = sys.argv[1]\n"
            "todo = [l for l in open(file).read().splitlines() if l[:1].isalpha()]\n"
            "form = '--format=%(trailers:key=Patch-Name,valueonly)'\n"
            "names = [subprocess.run(['git', 'show', '-s', form, l.split()[1]], text=True,"
            " capture_output=True).stdout.strip() for l in todo]\n"
            f"{script}\n"
            "open(file, 'w').write(''.join(l + chr(10) for l in todo))\n"
        )
        sequence = f"python3 {editor}"
        self.git("rebase", "-i", "worktree/base", env={"GIT_SEQUENCE_EDITOR": sequence}, code=code)

    def write(self, name: str, content: str) -> None:
        """Write a file of the worktree."""
        (self.worktree / name).parent.mkdir(parents=True, exist_ok=True)
        (self.worktree / name).write_text(content)

    def files(self) -> dict[str, bytes]:
        """Every file of the series directory."""
        directory = self.workspace.series_path("v1")
        return {file.name: file.read_bytes() for file in directory.iterdir()}

    def series(self) -> list[str]:
        """The patches in order."""
        return list(self.workspace.series("v1").names)

    def tree(self, *guards: str) -> dict[str, bytes]:
        """What export makes of the series."""
        number = len(list(self.workspace.root.parent.iterdir()))
        target = self.workspace.root.parent / f"export-{number}"
        options = [word for guard in guards for word in ("--with", guard)]
        self.run("export", "v1", "-o", str(target), *options)
        return {
            str(file.relative_to(target)): file.read_bytes()
            for file in target.rglob("*")
            if file.is_file() and file.name != "patchq-manifest.json"
        }


A, B, C = lines("a"), lines("b"), lines("c")


def begin(repository: Miniature) -> Miniature:
    """``repository`` with three files of thirty lines as v1, and another file in v2."""
    repository.commit("Begin", {"a.txt": A, "b.txt": B, "dir/c.txt": C})
    repository.tag("v1")
    repository.commit("Go on", {"other.txt": "other\n"})
    repository.tag("v2")
    return repository


def three(upstream: Miniature) -> dict[str, bytes]:
    """Three patches that stand on each other: the second and third in the same file."""
    return {
        "one.patch": upstream.patch(
            "v1",
            {"a.txt": changed(A, 5)},
            "Change [a] line",
            "Because it was\n\n# not a comment\nwrong.",
            {"X-Kind": "fix", "X-Watch": "GB10"},
        ),
        "two.patch": upstream.patch("v1", {"b.txt": changed(B, 5)}, "Change b early"),
        "three.patch": upstream.patch("v1", {"b.txt": changed(B, 25)}, "Change b late"),
    }
