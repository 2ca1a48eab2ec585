"""``arch TARGET LIBRARY has|only ARCH``: a patch that expects, or ends by, what upstream builds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

from patchq.errors import InputError
from patchq.model.header import replace_path
from patchq.model.predicate import PredicateKind, parse_predicate
from patchq.model.workspace import Workspace

SETTINGS = """\
version: 1
targets:
  box: {processor: aarch64, cuda: "13.0"}
checks:
  build:
    packages:
      Torch: {CUDA_VERSION: "${CMAKE_CUDA_COMPILER_VERSION}"}
"""
RECIPE = "version: 1\nproject: kernel\n"


def _lists(*archs: str, filler: str = "") -> str:
    flags = " ".join(f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in archs)
    return (
        "cmake_minimum_required(VERSION 3.26)\nproject(kernel LANGUAGES CXX CUDA)\n"
        f"set(CMAKE_CUDA_ARCHITECTURES OFF)\n{filler}"
        "add_library(ops MODULE a.cu)\nadd_library(more MODULE a.cu)\n"
        f"set(FLAGS {flags})\n"
        "target_compile_options(ops PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${FLAGS}>)\n"
        "target_compile_options(more PRIVATE -gencode=arch=compute_80,code=sm_80)\n"
    )


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """v1 builds ops for two architectures, v2 (moved) for one of them."""
    made = miniature()
    lines = "".join(f"line {number}\n" for number in range(20))
    files = {"kernel/a.cu": "__global__ void a() {}\n", "a.txt": lines}
    made.commit("Begin", {**files, "kernel/CMakeLists.txt": _lists("90", "121a")})
    made.tag("v1")
    made.commit("Say more (#4)", {"kernel/CMakeLists.txt": _lists("90", "121a", filler="# x\n")})
    made.commit(
        "Move the kernel (#5)",
        {
            "kernel/CMakeLists.txt": None,
            "kernel/a.cu": None,
            "src/aot/a.cu": files["kernel/a.cu"],
            "src/aot/CMakeLists.txt": _lists("90", "121a", filler="# x\n"),
        },
    )
    made.commit("Build for one (#6)", {"src/aot/CMakeLists.txt": _lists("121a", filler="# x\n")})
    made.tag("v2")
    return made


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    made = make_workspace(upstream, {}, settings=SETTINGS)
    (made.series_path("v1") / "recipe.yaml").write_text(RECIPE)
    return made


def _write(upstream: Miniature, workspace: Workspace, field: str, predicate: str) -> None:
    lines = upstream.read("v1", "a.txt").decode().replace("line 9", "LINE 9")
    raw = upstream.patch("v1", {"a.txt": lines}, "Prune", trailers={field: predicate})
    (workspace.series_path("v1") / "a.patch").write_bytes(raw)
    (workspace.series_path("v1") / "series").write_text("a.patch\n")


def _report(patchq: CommandLine, workspace: Workspace) -> dict[str, Any]:
    done = patchq("report", "v1", "--format", "json", cwd=workspace.root)
    (patch,) = json.loads(done.stdout)["patches"]
    assert isinstance(patch, dict)
    return patch


@pytest.mark.parametrize(
    ("field", "predicate", "verdict"),
    [
        ("X-Retire-When", "arch box ops only sm_121a", "expired"),
        ("X-Retire-When", "arch box * only sm_121a", "clean"),
        ("X-Retire-When", "arch box 'ops, more' has sm_121a", "clean"),
        ("X-Expect", "arch box o* has sm_121a", "clean"),
        ("X-Expect", "arch box ops has sm_90", "drifted"),
    ],
)
def test_a_verdict_by_what_upstream_builds(
    patchq: CommandLine,
    upstream: Miniature,
    workspace: Workspace,
    field: str,
    predicate: str,
    verdict: str,
) -> None:
    _write(upstream, workspace, field, predicate)
    patch = _report(patchq, workspace)
    assert patch["verdict"] == verdict
    assert patch["notes"] == []
    if verdict in ("expired", "drifted"):
        (found,) = [item for item in patch["evidence"] if item["kind"] == "predicate"]
        assert "ops: sm_121a" in found["text"]
        assert found["pr"] == 6


def test_what_is_not_known_never_fires_and_is_said(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    _write(upstream, workspace, "X-Retire-When", "arch box flash only sm_121a")
    patch = _report(patchq, workspace)
    assert patch["verdict"] == "clean"
    (note,) = patch["notes"]
    assert note.startswith("X-Retire-When is not known: arch box flash only sm_121a")
    assert "no CUDA target flash is built for box" in note


def test_an_answer_is_not_kept_for_other_settings(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    _write(upstream, workspace, "X-Retire-When", "arch other ops only sm_121a")
    assert "patchq.yaml has no target other" in _report(patchq, workspace)["notes"][0]
    lint = patchq("lint", "v1", cwd=workspace.root)
    assert "[unknown-target]" in lint.stdout + lint.stderr
    workspace.settings_path.write_text(SETTINGS.replace("  box:", "  other:"))
    assert _report(patchq, workspace)["verdict"] == "expired"


def test_verify_asks_both_trees(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    narrow = {"kernel/CMakeLists.txt": _lists("121a")}
    for predicate, code in (("ops only sm_121a", 0), ("more only sm_121a", 1)):
        fields = {"X-Expect": "arch box ops has sm_90", "X-Verify": f"arch box {predicate}"}
        raw = upstream.patch("v1", narrow, "Prune", trailers=fields)
        (workspace.series_path("v1") / "a.patch").write_bytes(raw)
        (workspace.series_path("v1") / "series").write_text("a.patch\n")
        done = patchq("verify", "v1", cwd=workspace.root)
        assert done.returncode == code, done.stdout
    assert "(more: sm_80)" in " ".join(done.stdout.split())


def test_an_end_that_has_come_already(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    _write(upstream, workspace, "X-Retire-When", "arch box ops has sm_121a")
    done = patchq("verify", "v1", cwd=workspace.root)
    assert done.returncode == 1
    assert "X-Retire-When holds on v1 itself" in done.stdout


def test_its_form() -> None:
    predicate = parse_predicate("arch gb10 'common_ops_*' only sm_121a")
    assert predicate.kind is PredicateKind.ARCH
    assert predicate.path is None
    assert predicate.operands == ("gb10", "common_ops_*", "only", "sm_121a")
    for text, words in (
        ("arch gb10 ops is sm_90", "or only that one"),
        ("arch gb10 ops has 90", "not an architecture"),
        ("arch gb10 ops has", "lacks its ARCH"),
    ):
        with pytest.raises(InputError, match=words):
            parse_predicate(text)


def test_a_path_that_moves_is_no_target() -> None:
    header = b"X-Expect: arch box ops has sm_90\nX-Verify: path-exists box\n"
    moved = replace_path(b"Subject: x\n\n" + header, "box", "crate")
    assert b"arch box ops" in moved
    assert b"path-exists crate" in moved
