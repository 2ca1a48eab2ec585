"""The series of this repository where upstream's own tree is not needed to try it."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

from patchq.model.workspace import Workspace

SERIES = Path(__file__).parents[1] / "series"
FILE = "python/sglang/srt/layers/attention/qwen_sparse_attn_backend.py"
GATED = "_resolve_trtllm_sparse_decode"
VETO, WIDENING, BACKPORT = "qsa-veto-sm121.patch", "qsa-gate-sm121.patch", "qwen4exp-backport.patch"
UTILS = "python/sglang/srt/utils/common.py"
# the shape that the patches stand on, the rest made up
STAND_IN = '''\
from functools import lru_cache

_TRTLLM_SPARSE_PAGE_SIZE = 64


@lru_cache(maxsize=1)
def _resolve_trtllm_sparse_decode():
    """FlashInfer paged decode for the post-gather sparse attention;
    the FA4 varlen fallback runs a prefill-shaped kernel at decode row counts."""
    from sglang.srt.utils import is_sm100_supported

    if not is_sm100_supported():
        return None
    try:
        from flashinfer.decode import trtllm_batch_decode_with_kv_cache
    except ImportError:
        return None
    return trtllm_batch_decode_with_kv_cache
'''
RELEASED = STAND_IN.replace(
    "import is_sm100_supported", "import is_sm100_supported, is_sm120"
).replace("not is_sm100_supported()", "not (is_sm100_supported() or is_sm120())")
ORDER = f"{VETO} #+qwen4exp\n{WIDENING} #+qsa-widening\n"
RECIPE = f"""\
variants:
  qwen4exp: {{guards: [qwen4exp], requires: [{BACKPORT}, {VETO}]}}
"""


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    repository = miniature()
    helpers = "".join(
        f"def {name}():\n    return False\n\n\n"
        for name in ("is_sm100_supported", "is_sm120", "is_sm121")
    )
    repository.commit("Begin", {UTILS: helpers, "python/sglang/srt/utils/__init__.py": ""})
    repository.tag("v1")
    repository.commit("Release it", {FILE: RELEASED})
    repository.tag("v2")
    return repository


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    text = (SERIES / "patchq.yaml").read_text()
    gates = text[text.index("\ngates:\n") : text.index("\nclaims:\n")]
    settings = f"guards: {{qwen4exp: a, qsa-widening: corrupts on GB10}}\n{gates}"
    patches = {name: (SERIES / "v0.5.18" / name).read_bytes() for name in (VETO, WIDENING)}
    made = make_workspace(upstream, patches, series=ORDER, settings=settings)
    (made.series_path("v1") / "recipe.yaml").write_text(RECIPE)
    return made


@pytest.fixture
def with_backport(workspace: Workspace, upstream: Miniature, patchq: CommandLine) -> Workspace:
    brought = workspace.root / BACKPORT
    brought.write_bytes(upstream.patch("v1", {FILE: STAND_IN}, "Bring Qwen4Exp"))
    run(patchq, workspace, "import", BACKPORT, "--guard", "qwen4exp", "--tag", "v1")
    run(patchq, workspace, "move", BACKPORT, "--first", "--tag", "v1")
    return workspace


def run(patchq: CommandLine, workspace: Workspace, *args: str, code: int = 0) -> str:
    done = patchq(*args, cwd=workspace.root)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def exported(patchq: CommandLine, workspace: Workspace, *options: str) -> str:
    said = run(patchq, workspace, "export", "v1", "--format", "dir", "-o", "out", *options)
    assert "with" in said
    return (workspace.root / "out" / FILE).read_text()


def test_a_variant_without_its_backport_is_refused(
    workspace: Workspace, patchq: CommandLine
) -> None:
    run(patchq, workspace, "verify", "v1")  # what waits is off
    said = run(patchq, workspace, "export", "v1", "--variant", "qwen4exp", "-o", "out", code=2)
    assert f"variant qwen4exp requires {BACKPORT}, which is not in series/v1" in said
    assert f"variant qwen4exp requires {BACKPORT}, which" in run(patchq, workspace, "lint")


def test_the_veto_keeps_gb10_out_whatever_the_gate_says(
    with_backport: Workspace, patchq: CommandLine
) -> None:
    workspace = with_backport
    alone = exported(patchq, workspace, "--variant", "qwen4exp")
    assert alone.index("if is_sm121():") < alone.index("if not is_sm100_supported():")
    run(patchq, workspace, "verify", "v1", "--with", "qwen4exp")  # the gate excludes GB10
    both = ("--with", "qwen4exp", "--with", "qsa-widening")
    run(patchq, workspace, "verify", "v1", *both)
    said = run(patchq, workspace, "export", "v1", "-o", "wide", "--format", "dir", *both)
    assert "qsa-widening: corrupts on GB10" in said
    wide = (workspace.root / "wide" / FILE).read_text()
    assert wide.index("if is_sm121():") < wide.index("is_sm100_supported() or is_sm121()")


def test_the_widening_does_not_come_alone(with_backport: Workspace, patchq: CommandLine) -> None:
    workspace = with_backport
    alone = ("export", "v1", "--with", "qsa-widening", "-o", "out")
    assert f"{WIDENING} requires {BACKPORT}" in run(patchq, workspace, *alone, code=2)
    run(patchq, workspace, "drop", VETO, "--tag", "v1", "--reason", "try")
    said = run(patchq, workspace, "export", "v1", "--variant", "qwen4exp", "-o", "out", code=2)
    assert f"variant qwen4exp requires {VETO}, which is not in series/v1" in said
    said = run(patchq, workspace, *alone, "--with", "qwen4exp", code=2)
    assert f"{WIDENING} requires {VETO}" in said


def test_both_end_where_upstream_keeps_gb10_out(workspace: Workspace, patchq: CommandLine) -> None:
    said = run(patchq, workspace, "rebase", "--onto", "v2")
    for name in (VETO, WIDENING):
        assert f"expired  {name}" in said
    assert f"{GATED}" in said
    told = run(patchq, workspace, "why", WIDENING)
    assert "guard: +qsa-widening: corrupts on GB10" in told
    assert "expired  v1 → v2" in told
    assert (workspace.series_path("v2") / "series").read_text() == ""


def test_a_variant_whose_patch_is_off_is_refused(
    with_backport: Workspace, patchq: CommandLine
) -> None:
    workspace = with_backport
    (workspace.series_path("v1") / "recipe.yaml").write_text(RECIPE.replace("[qwen4exp]", "[]"))
    said = run(patchq, workspace, "export", "v1", "--variant", "qwen4exp", "-o", "out", code=2)
    assert f"requires {BACKPORT}, which is off with it (#+qwen4exp)" in said
