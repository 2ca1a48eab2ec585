"""A wheel that upstream built, kept beside an archive base: what it tells of uncovered patches."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from test_fatbin import CUBIN, PTX, A, Code, elf, library, make_wheel
from workspaces import add_series, make_workspace

from patchq.model.wheel import Library, library_line, read_library_line
from patchq.model.workspace import Workspace

LISTS = """\
cmake_minimum_required(VERSION 3.20)
project(kernel LANGUAGES CXX CUDA)
set(FLAGS -gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_121a,code=sm_121a)
#
add_library(ops MODULE a.cu b.cu)
target_compile_options(ops PRIVATE ${FLAGS})
#
add_library(sparse MODULE a.cu)
target_compile_options(sparse PRIVATE -gencode=arch=compute_90a,code=sm_90a)
#
option(FLASH "x" OFF)
#
"""
SOURCES = {"kernel/a.cu": "a\n", "kernel/b.cu": "b\n", "kernel/c.cc": "c\n"}
SETTINGS = """
targets:
  board: {processor: aarch64, cuda: "13.0", archs: [sm_121a]}
"""
PRUNED = LISTS.replace("-gencode=arch=compute_90,code=sm_90 ", "")
NO_SPARSE = (
    PRUNED[: PRUNED.index("add_library(sparse")] + "#\n" + PRUNED[PRUNED.index("option(FLASH") :]
)
NO_FLASH = NO_SPARSE.replace('option(FLASH "x" OFF)', 'option(FLASH "y" OFF)')
PATCHES = {"prune.patch": PRUNED, "sparse-off.patch": NO_SPARSE, "flash-off.patch": NO_FLASH}

H90, H90A, H121A = (CUBIN, 90, 0), (CUBIN, 90, A), (CUBIN, 121, A)


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    repository = miniature()
    repository.commit("Begin", {"kernel/CMakeLists.txt": LISTS, **SOURCES, "python/d.py": "1\n"})
    repository.tag("v1")
    return repository


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    """A series on v1, and v2, which is an archive without the kernel."""
    patches = dict[str, bytes]()
    below = LISTS
    for name, text in PATCHES.items():
        on = upstream.commit("below", {"kernel/CMakeLists.txt": below})
        patches[name] = upstream.patch(on, {"kernel/CMakeLists.txt": text})
        below = text
    made = make_workspace(upstream, patches, bases=("v1",), settings=SETTINGS)
    (made.series_path("v1") / "recipe.yaml").write_text("version: 1\nproject: kernel\n")
    with zipfile.ZipFile(made.root / "demo-2-py3-none-any.whl", "w") as packed:
        packed.writestr("d.py", "2\n")
    return made


def built(directory: Path, **libraries: list[Code]) -> str:
    """A wheel with these libraries, two of their units each; its file name."""
    files = {f"k/{name}.abi3.so": library(codes, codes) for name, codes in libraries.items()}
    return make_wheel(directory, files).name


def run(patchq: CommandLine, workspace: Workspace, *args: str, code: int = 0) -> str:
    done = patchq(*args, cwd=workspace.root)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def imported(patchq: CommandLine, workspace: Workspace, wheel: str, code: int = 0) -> str:
    archive = ("demo-2-py3-none-any.whl", "--prefix", "python")
    words = ("import-upstream", *archive, "--tag", "v2", "--built", f"kernel={wheel}")
    return run(patchq, workspace, *words, code=code)


def evidence(patchq: CommandLine, workspace: Workspace) -> dict[str, list[tuple[str, str]]]:
    report = json.loads(
        run(patchq, workspace, "-q", "report", "v1", "--onto", "v2", "--format", "json")
    )
    patches: list[dict[str, Any]] = report["patches"]
    assert {patch["verdict"] for patch in patches} == {"not-covered"}
    told = run(patchq, workspace, "-q", "why", patches[0]["name"], "--onto", "v2")
    assert " → not covered\n" in told  # it may be there
    assert "nowhere" not in told
    return {
        patch["name"]: [(e["kind"], e["text"]) for e in patch["evidence"][1:]] for patch in patches
    }


def test_what_a_patch_takes_out_and_the_wheel_still_has_shows_that_it_is_needed(
    patchq: CommandLine, workspace: Workspace
) -> None:
    said = imported(
        patchq,
        workspace,
        built(workspace.root, ops=[H90, H121A, (PTX, 90, 0)], sparse=[H90A]),
    )
    assert "built from kernel: demo_kernel-1.0-cp310-abi3-manylinux2014_aarch64.whl" in said
    assert "  k/ops.abi3.so: 2 sm_90, 2 sm_121a, 2 compute_90\n" in said
    wheel = "demo_kernel-1.0 for aarch64"
    assert evidence(patchq, workspace) == {
        "prune.patch": [
            ("still-needed", f"{wheel} still has ops for 90 compute_90, which it takes out")
        ],
        "sparse-off.patch": [
            ("still-needed", f"{wheel} still has sparse (90a), which it takes out")
        ],
        "flash-off.patch": [
            ("built-wheel", f"{wheel} tells nothing: the patch changes nothing in the build on v1")
        ],
    }
    table = run(patchq, workspace, "report", "v1", "--onto", "v2")
    assert table.count("· still needed") == 2
    story = run(patchq, workspace, "why", "prune.patch", "--onto", "v2")
    assert "still-needed: demo_kernel-1.0 for aarch64 still has ops for 90" in story
    matrix = run(patchq, workspace, "report", "--all")
    assert "still-needed 2" in matrix
    page = run(patchq, workspace, "report", "--all", "--format", "html")
    assert 'class="sign still-needed"' in page
    assert "demo_kernel-1.0 for aarch64 still has sparse (90a), which it takes out" in page
    add_series(workspace, "v2", {})
    for file in workspace.series_path("v1").iterdir():
        (workspace.series_path("v2") / file.name).write_bytes(file.read_bytes())
    notes = " ".join(run(patchq, workspace, "verify", "v2").split())
    assert "sparse-off.patch: demo_kernel-1.0 for aarch64 still has sparse (90a)" in notes


def test_a_wheel_without_it_is_said_and_decides_nothing(
    patchq: CommandLine, workspace: Workspace
) -> None:
    imported(patchq, workspace, built(workspace.root, ops=[H121A]))
    found = evidence(patchq, workspace)
    nothing = "demo_kernel-1.0 for aarch64 has nothing of what it takes out: "
    assert found["prune.patch"] == [("built-wheel", f"{nothing}ops for 121a alone")]
    assert found["sparse-off.patch"] == [("built-wheel", f"{nothing}no sparse")]
    assert "still needed" not in run(patchq, workspace, "report", "v1", "--onto", "v2")


def test_the_wheel_of_another_processor_tells_nothing(
    patchq: CommandLine, workspace: Workspace
) -> None:
    wheel = make_wheel(workspace.root, {"k/ops.so": library([H90])}, platform="x86_64").name
    imported(patchq, workspace, wheel)
    for told in evidence(patchq, workspace).values():
        words = "demo_kernel-1.0 for x86_64 tells nothing: no target is for its platform"
        assert told == [("built-wheel", words)]


def test_a_wheel_is_added_to_a_base_and_then_pinned(
    patchq: CommandLine, workspace: Workspace
) -> None:
    archive = ("import-upstream", "demo-2-py3-none-any.whl", "--prefix", "python", "--tag", "v2")
    run(patchq, workspace, *archive)
    before = workspace.lock().base("v2")
    assert before.archive is not None
    assert before.archive.built == ()
    wheel = built(workspace.root, ops=[H90])
    add = ("import-upstream", "--tag", "v2", "--built", f"kernel={wheel}")
    run(patchq, workspace, *add)
    locked = workspace.lock_path.read_bytes()
    base = workspace.lock().base("v2")
    assert base.archive is not None
    assert base.archive.built[0].libraries == ("k/ops.abi3.so: 2 sm_90",)
    assert (base.commit, base.archive.sha256) == (before.commit, before.archive.sha256)
    assert "unchanged" in run(patchq, workspace, *add)
    run(patchq, workspace, *archive)
    assert workspace.lock_path.read_bytes() == locked
    built(workspace.root, ops=[H121A])
    assert "sha256 of the wheel built from kernel is" in run(patchq, workspace, *add, code=3)
    assert workspace.lock_path.read_bytes() == locked


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--tag", "v2"), "nothing to import"),
        (("--tag", "v1", "--built", "kernel=k.whl"), "v1 is from git and covers everything"),
        (("--tag", "v2", "--built", "k.whl"), "does not say where in upstream's tree"),
        (("--tag", "v2", "--built", "../k=k.whl"), "does not say where in upstream's tree"),
        (("--tag", "v2", "--built", "kernel=none.whl"), "there is no such file"),
        (("--tag", "v2", "--built", "kernel=host.whl"), "none of its libraries holds GPU code"),
    ],
)
def test_what_is_no_built_wheel_is_refused(
    patchq: CommandLine, workspace: Workspace, words: tuple[str, ...], complaint: str
) -> None:
    for name, content in (("k.whl", library([H90])), ("host.whl", elf({".text": b""}))):
        make_wheel(workspace.root, {"k.so": content}).rename(workspace.root / name)
    assert complaint in run(patchq, workspace, "import-upstream", *words, code=2)


def test_what_two_releases_are_built_for_is_compared(
    patchq: CommandLine, workspace: Workspace
) -> None:
    imported(patchq, workspace, built(workspace.root, ops=[H90]))
    with zipfile.ZipFile(workspace.root / "demo-3-py3-none-any.whl", "w") as packed:
        packed.writestr("d.py", "3\n")
    wheel = built(workspace.root, ops=[H90, H121A])
    archive = ("import-upstream", "demo-3-py3-none-any.whl", "--prefix", "python", "--tag", "v3")
    run(patchq, workspace, *archive, "--built", f"kernel={wheel}")
    add_series(workspace, "v2", {})
    for file in workspace.series_path("v1").iterdir():
        (workspace.series_path("v2") / file.name).write_bytes(file.read_bytes())
    said = run(patchq, workspace, "report", "v2", "--onto", "v3")
    assert "architectures: k/ops.abi3.so 90 → 90 121a (aarch64)" in said


def test_a_line_of_the_lock_reads_back() -> None:
    for found in (
        Library("k/a: b.so", {"sm_90": 4, "sm_121a": 1}, {"compute_90": 2}),
        Library("k.so", {}, {"compute_80": 1}),
    ):
        assert read_library_line(library_line(found)) == found


@pytest.mark.registry
def test_the_kernel_wheel_of_a_release(patchq: CommandLine, tmp_path: Path) -> None:
    """What upstream.lock of this repository says of a real wheel is what is in it."""
    root = Path(__file__).parents[1]
    (tmp_path / "series").mkdir()
    (tmp_path / "upstream.lock").write_bytes((root / "upstream.lock").read_bytes())
    kernel = "python/sglang/kernels/aot=pypi:sglang-kernel==0.4.7"
    done = patchq(
        *("import-upstream", "--tag", "v0.5.20", "--built", kernel),
        *("--built-platform", "manylinux2014_aarch64"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (
        "sgl_kernel/infllm_ops.cpython-310-aarch64-linux-gnu.so: 4 sm_90, 4 sm_120a" in done.stdout
    )
    assert (tmp_path / "upstream.lock").read_bytes() == (root / "upstream.lock").read_bytes()
