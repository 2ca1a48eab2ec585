"""``patchq demo``, and the commands that the README tells people to paste."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from commandline import CommandLine
from pages import read_readme

ROOT = Path(__file__).parents[1]


def pasted() -> list[str]:
    """The shell lines of the README's section on the two commands."""
    section = (ROOT / "README.md").read_text().split("## Two commands")[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.+)\n```", section)


def test_the_demo_takes_a_series_through_two_releases(patchq: CommandLine, tmp_path: Path) -> None:
    done = patchq("demo", tmp_path / "lattice", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "v1.0 → v1.1 · 10 patches" in done.stdout
    assert "v1.1 → v1.2 stopped at patch 1 of 8" in done.stdout
    assert (tmp_path / "lattice/lattice-v1.1.tar.gz").is_file()
    assert "arch-prune.patch" in (tmp_path / "lattice/lifecycle.html").read_text()
    workspace = tmp_path / "lattice/workspace"
    assert not (workspace / "series/v1.2").exists()
    assert patchq("rebase", "--abort", cwd=workspace).returncode == 0
    again = patchq("demo", tmp_path / "lattice", cwd=tmp_path)
    assert again.returncode == 2
    assert "is not empty" in again.stderr


@pytest.mark.registry
def test_what_the_readme_says_to_paste_works(tmp_path: Path) -> None:
    """In a fresh clone and a fresh environment; the tests are collected, not run once more."""
    clone = tmp_path / "clone"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "benchmarks")
    shutil.copytree(ROOT, clone, ignore=ignored)
    first, second, *_ = pasted()
    for line in (first, second.replace("pytest -n auto", "pytest --collect-only -q")):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=clone,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "tests/test_demo.py" in done.stdout


@pytest.mark.registry
def test_what_uv_installs_runs_the_readme_commands(uv: Path, tmp_path: Path) -> None:
    """The wheel alone, in an environment that has neither pip nor CMake of its own."""
    environment = tmp_path / "environment"
    patchq = environment / "bin" / "patchq"
    for command in (
        [str(uv), "build", "-q", "--wheel", "--out-dir", str(tmp_path), str(ROOT)],
        [str(uv), "venv", "-q", str(environment)],
        [str(uv), "pip", "install", "-q", "--python", str(environment / "bin" / "python")],
        [str(patchq), "demo", str(tmp_path / "lattice")],
        [str(patchq), "-C", str(tmp_path / "lattice/workspace"), "help", "verdicts"],
    ):
        if command[-2:-1] == ["--python"]:
            command.append(str(next(tmp_path.glob("*.whl"))))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "upstreamed" in done.stdout
    home = tmp_path / "home"
    home.mkdir()
    read_readme(home, patchq)
