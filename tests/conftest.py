"""Fixtures that every test may ask for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from commandline import CommandLine
from hypothesis import settings
from miniature import MakeMiniature, Miniature

# how long an example takes says more about the machine than about the code
settings.register_profile("patchq", deadline=None)
settings.load_profile("patchq")


@pytest.fixture
def miniature(tmp_path: Path) -> MakeMiniature:
    """Make an empty miniature repository: ``miniature()`` or ``miniature("lender")``."""

    def make(name: str = "upstream") -> Miniature:
        return Miniature(tmp_path / name)

    return make


@pytest.fixture
def patchq(tmp_path: Path) -> CommandLine:
    """Run the real command line: ``patchq("rebase", "--onto", "v1", cwd=workspace)``."""
    home = tmp_path / "home"
    home.mkdir()
    return CommandLine(home)


@pytest.fixture(scope="session")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    environment = tmp_path_factory.mktemp("uv")
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin/python")
    subprocess.run([python, "-m", "pip", "install", "-q", "uv"], check=True)
    return environment / "bin/uv"
