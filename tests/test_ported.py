"""A kernel that the commit which removed it wrote in another language."""

from __future__ import annotations

import pytest
from judging import edited, judged
from miniature import MakeMiniature

from patchq.engine.languages.tokens import words
from patchq.model.verdict import EvidenceKind, Verdict

HEAD = '#include "c.h"\n__device__ float scale_of(float a) { return a * 2.f; }\n\n'
KERNEL = (
    "__global__ void quant_rows(const float* x, int8_t* q, float* s, int n) {\n"
    "  int row = blockIdx.x;\n  float m = 0.f;\n"
    "  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, fabsf(x[row * n + i]));\n"
    "  m = blockReduceMax(m);\n  if (threadIdx.x == 0) s[row] = m / 127.f;\n"
    "  for (int i = threadIdx.x; i < n; i += blockDim.x) q[row * n + i] = rint(x[row * n + i] * 127.f / m);\n"  # noqa: E501
    "}\n\n"
)
TAIL = "void end() {}\n"
TRITON = (
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    "def _q(X, Q, S, N, B: tl.constexpr):\n    pid = tl.program_id(0)\n"
    "    off = tl.arange(0, B)\n    v = tl.load(X + pid * N + off, mask=off < N)\n"
    "    amax = tl.max(tl.abs(v), 0)\n    tl.store(S + pid, amax / 127)\n"
    "    tl.store(Q + pid * N + off, tl.extra.cuda.libdevice.rint(v * 127 / amax))\n"
)
OTHER = (
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    "def _copy(X, Y, N, B: tl.constexpr):\n    pid = tl.program_id(0)\n"
    "    off = pid * B + tl.arange(0, B)\n    v = tl.load(X + off, mask=off < N)\n"
    "    tl.store(Y + off, v, mask=off < N)\n"
)


@pytest.mark.parametrize(
    ("new", "verdict"), [(TRITON, Verdict.CONFLICT), (OTHER, Verdict.UNREACHABLE)]
)
def test_a_kernel_in_another_language(miniature: MakeMiniature, new: str, verdict: Verdict) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {"q.cu": HEAD + KERNEL + TAIL})
    upstream.tag("v1")
    fixed = edited(HEAD + KERNEL + TAIL, ("m / 127.f;", "fmaxf(m, 1e-6f) / 127.f;"))
    patch = upstream.patch("v1", {"q.cu": fixed})
    upstream.commit("Write it in Triton (#2)", {"q.cu": HEAD + TAIL, "k/q.py": new})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is verdict
    if verdict is Verdict.CONFLICT:
        (found,) = (i for i in report.evidence if i.kind is EvidenceKind.CODE_MOVED)
        assert "k/q.py" in found.text


def test_words_that_any_kernel_has() -> None:
    kernel = (
        b"int row = blockIdx.x * blockDim.x + threadIdx.x; x = fmaxf(a, fabs(rowMax)); floor(b);"
    )
    assert words(kernel) == [b"row", b"max", b"abs", b"row", b"max", b"floor"]
    assert words(b"fmax rsqrtf expf fexample") == [b"max", b"rsqrt", b"exp", b"fexample"]
