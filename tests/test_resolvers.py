"""A real resolver on what an export writes of SGLang's requirements and our pins."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

from patchq.archives.reader import requirements_in

ROOT = Path(__file__).parents[1]
PLATFORM = "aarch64-manylinux_2_39"

pytestmark = [pytest.mark.registry, pytest.mark.release]


def pyproject(tag: str, scratch: Path) -> str:
    """What the release requires, by the metadata of its wheel."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(scratch)]
    command += ["--only-binary=:all:", "--python-version", "3.11"]
    for platform in ("any", "manylinux_2_34_x86_64", "manylinux_2_28_x86_64"):
        command += ["--platform", platform]
    subprocess.run([*command, f"sglang=={tag.removeprefix('v')}"], check=True)
    requirements = requirements_in(next(scratch.glob("sglang-*.whl"))) or ()
    plain = [line for line in requirements if "extra ==" not in line]
    return f'[project]\nname = "sglang"\nversion = "1"\ndependencies = {json.dumps(plain)}\n'


def exported(tag: str, upstream: Miniature, patchq: CommandLine, to: Path) -> Path:
    """An export of that tag's requirements with the recipe of this repository."""
    recipe = (ROOT / "series" / tag / "recipe.yaml").read_text()
    project = recipe.partition("project: ")[2].split()[0]
    upstream.commit(
        "Begin",
        {
            "python/pyproject.toml": pyproject(tag, to.parent),
            f"{project}/pyproject.toml": '[project]\nname = "k"\nversion = "1"\n',
        },
    )
    upstream.tag(tag)
    workspace = make_workspace(upstream, {}, bases=(tag,), on=tag)
    shutil.copy(ROOT / "series/patchq.yaml", workspace.settings_path)
    (workspace.series_path(tag) / "recipe.yaml").write_text(recipe)
    done = patchq("export", tag, "--no-verify", "-o", to, cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    return to


@pytest.mark.parametrize("tag", ["v0.5.16", "v0.5.17", "v0.5.18"])
def test_uv_resolves_an_export(
    tag: str, uv: Path, miniature: MakeMiniature, patchq: CommandLine, tmp_path: Path
) -> None:
    tree = exported(tag, miniature(), patchq, tmp_path / "out")
    names = {"constraints.txt": "-c", "overrides.txt": "--override"}
    options = [
        w for name, option in names.items() if (tree / name).exists() for w in (option, name)
    ]
    command = [str(uv), "pip", "compile", "python/pyproject.toml", *options]
    command += ["--python-version", "3.12", "--python-platform", PLATFORM, "--no-header"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    resolved = done.stdout.splitlines()
    for name in names:
        file = tree / name
        for line in file.read_text().splitlines() if file.exists() else ():
            wanted, _, version = line.partition("==")
            if version and not line.startswith(("#", "-")):
                pin = f"{wanted.partition('[')[0]}=={version.split()[0]}"
                assert pin in resolved
    if tag != "v0.5.18":  # an extra that the override kept
        assert any(line.startswith("nvidia-cutlass-dsl-libs-cu13==") for line in resolved)
    # without the overrides there is no solution
    if (tree / "overrides.txt").exists():
        pins = [line for line in (tree / "overrides.txt").read_text().splitlines() if "==" in line]
        (tree / "all.txt").write_text(
            "".join(f"{line.partition('[')[0]}=={line.partition('==')[2]}\n" for line in pins)
        )
        command = [str(uv), "pip", "compile", "python/pyproject.toml", "-c", "all.txt"]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        assert done.returncode != 0
