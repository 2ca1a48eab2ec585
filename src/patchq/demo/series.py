"""The downstream's series on lattice v1.0, and what becomes of it on the later tags."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from patchq.demo.recorder import Person, Replace, TreeEdit, Write
from patchq.demo.upstream import (
    CLAMP_PROPOSAL,
    CLAMP_ROLLBACK,
    KERNEL_BEFORE,
    KNOWN_DTYPES_ONLY,
    WIDE_SLOTS,
    WIDE_TABLE,
    history,
)
from patchq.model.verdict import Verdict

BASE = "v1.0"
GUARD = "experimental"

FORMAT_PATCH = (
    "format-patch",
    "--zero-commit",
    "--full-index",
    "--no-signature",
    "--no-stat",
    "-N",
    "--binary",
    "-M",
)

EXPECTED: dict[tuple[str, str], dict[str, Verdict]] = {
    ("v1.0", "v1.1"): {
        "arch-prune.patch": Verdict.MOVED,  # the kernel tree moved, #110
        "blockwise-smem.patch": Verdict.UNREACHABLE,  # the kernel was deleted, #107
        "tiny-kernel.patch": Verdict.MOVED,  # a file added in the moved tree, #110
        "wide-slots.patch": Verdict.UPSTREAMED,  # squashed with other changes, #108
        "draft-clamp.patch": Verdict.CLEAN,  # merged by #109, reverted by #111
        "loader-dtype.patch": Verdict.ADAPTED,  # context of hunk 2 changed, #112
        "scheduler-drain.patch": Verdict.CLEAN,  # at other line numbers, #113
        "fp4-gate.patch": Verdict.CLEAN,  # its file is untouched
        "sparse-gate.patch": Verdict.CLEAN,  # its file is untouched
        "sampling-min-p.patch": Verdict.CLEAN,  # a line far from its own changed, #116
    },
    ("v1.1", "v1.2"): {
        "arch-prune.patch": Verdict.CONFLICT,  # hunk 1 of 2: the list was rewritten, #118
        "tiny-kernel.patch": Verdict.CLEAN,
        "draft-clamp.patch": Verdict.SUPERSEDED,  # 1 of 2 hunks landed as it is, #121
        "loader-dtype.patch": Verdict.PARTIAL,  # hunk 1 of 2 is upstream, #122
        "scheduler-drain.patch": Verdict.CLEAN,
        "fp4-gate.patch": Verdict.EXPIRED,  # X-Retire-When fired, #119
        "sparse-gate.patch": Verdict.DRIFTED,  # X-Expect failed though it would merge, #120
        "sampling-min-p.patch": Verdict.CLEAN,
    },
}
"""The verdicts that hold, in series order; retired patches are not in the next row."""


@dataclass(frozen=True)
class DemoPatch:
    """One patch of the downstream; ``trailers`` may repeat a field."""

    name: str
    date: str
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]
    edits: tuple[TreeEdit, ...]
    guard: str | None = None

    @property
    def message(self) -> str:
        """The commit message that carries the header fields as trailers."""
        fields = (*self.trailers, ("Last-Update", self.date))
        return "\n\n".join(
            (self.subject, self.body, "\n".join(f"{name}: {value}" for name, value in fields))
        )

    @property
    def entry(self) -> str:
        """The line of the ``series`` file."""
        return self.name if self.guard is None else f"{self.name} #+{self.guard}"


MAINTAINER = Person("Iris Downstream", "iris@downstream.example")

CMAKE = f"{KERNEL_BEFORE}/CMakeLists.txt"

PATCHES = (
    DemoPatch(
        "arch-prune.patch",
        "2025-01-23",
        "Build the kernels for sm_121 only",
        "GB10 loads no other code, and six binaries a unit take six times as long.\n"
        "The Hopper library cannot run there at all.",
        (
            ("Origin", "vendor"),
            ("Forwarded", "not-needed"),
            ("X-Kind", "arch-prune"),
            ("X-Retire-When", f"path-missing {CMAKE}"),
            ("X-Verify", f"contains {CMAKE} set[(]LATTICE_ARCHES.121a[)]"),
            ("X-Verify", f"lacks {CMAKE} hopper_ops"),
        ),
        (
            Replace(
                CMAKE,
                """\
set(LATTICE_ARCHES 90)
if(CUDA_VERSION VERSION_GREATER_EQUAL 12.8)
  list(APPEND LATTICE_ARCHES 100a 120a)
endif()
if(CUDA_VERSION VERSION_GREATER_EQUAL 13.0)
  list(APPEND LATTICE_ARCHES 103a 110a)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    list(APPEND LATTICE_ARCHES 121a)
  endif()
endif()
""",
                "set(LATTICE_ARCHES 121a)\n",
            ),
            Replace(
                CMAKE,
                """\

# Warp-specialised attention for Hopper only.
add_library(hopper_ops SHARED csrc/attention/hopper_decode.cu)
target_include_directories(hopper_ops PRIVATE include csrc)
target_compile_options(hopper_ops PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:-O3 -gencode=arch=compute_90a,code=sm_90a>)
target_link_libraries(hopper_ops PRIVATE ${TORCH_LIBRARIES})
install(TARGETS hopper_ops LIBRARY DESTINATION lattice_kernel)
""",
                "",
            ),
        ),
    ),
    DemoPatch(
        "blockwise-smem.patch",
        "2025-01-23",
        "Fit the blockwise FP4 tile into 101 KB of shared memory",
        "GB10 has 101 KB a block where B200 has 228 KB; four stages do not launch.",
        (
            ("Origin", "vendor"),
            ("Forwarded", "no"),
            ("X-Kind", "fix"),
            ("X-Retire-When", f"path-missing {KERNEL_BEFORE}/csrc/moe/blockwise_fp4.cuh"),
        ),
        (
            Replace(
                f"{KERNEL_BEFORE}/csrc/moe/blockwise_fp4.cuh",
                "  static constexpr int kStages = 4;\n",
                "  static constexpr int kStages = 2;\n",
            ),
        ),
    ),
    DemoPatch(
        "tiny-kernel.patch",
        "2025-01-24",
        "Add a copy kernel for pages that fit one warp",
        "The library call costs more than the copy on a unified memory part.",
        (
            ("Origin", "vendor"),
            ("Forwarded", "no"),
            ("X-Kind", "fix"),
            ("X-Retire-When", f"contains {KERNEL_BEFORE}/include/lattice/ops.h copy_page"),
            ("X-Verify", f"path-exists {KERNEL_BEFORE}/csrc/tiny.cu"),
        ),
        (
            Write(
                f"{KERNEL_BEFORE}/csrc/tiny.cu",
                """\
#include <torch/library.h>

#include "common.cuh"

__global__ void copy_page_kernel(const float* from, float* to, int width) {
  for (int i = threadIdx.x; i < width; i += kWarp) to[i] = from[i];
}

void copy_page(const at::Tensor& from, at::Tensor to) {
  copy_page_kernel<<<1, kWarp>>>(
      from.data_ptr<float>(), to.data_ptr<float>(), static_cast<int>(from.numel()));
}

TORCH_LIBRARY_FRAGMENT(lattice, m) {
  m.def("copy_page", &copy_page);
}
""",
            ),
            Replace(
                CMAKE,
                "  csrc/moe/fused_moe.cu\n",
                "  csrc/moe/fused_moe.cu\n  csrc/tiny.cu\n",
            ),
        ),
    ),
    DemoPatch(
        "wide-slots.patch",
        "2025-01-24",
        "Widen slot ids to 64 bits",
        "128 GB of unified memory hold more slots than 31 bits can number.",
        (
            ("Origin", "backport, https://lattice.example/pull/108"),
            ("Forwarded", "https://lattice.example/pull/108"),
            ("X-Kind", "backport"),
            ("X-Upstream-PR", "108"),
        ),
        (WIDE_TABLE, WIDE_SLOTS),
    ),
    DemoPatch(
        "draft-clamp.patch",
        "2025-01-27",
        "Clamp draft tokens to free slots",
        "A draft longer than the free pages corrupts its neighbour.",
        (
            ("Origin", "backport, https://lattice.example/pull/109"),
            ("Forwarded", "https://lattice.example/pull/109"),
            ("X-Kind", "backport"),
            ("X-Upstream-PR", "109"),
        ),
        (CLAMP_PROPOSAL, CLAMP_ROLLBACK),
    ),
    DemoPatch(
        "loader-dtype.patch",
        "2025-01-27",
        "Refuse unknown dtypes, upload weights as they are read",
        "Falling back to float16 in silence overflows; and a whole checkpoint on the host\n"
        "does not fit beside the model in unified memory.",
        (
            ("Origin", "vendor"),
            ("Forwarded", "no"),
            ("X-Kind", "fix"),
            ("X-Retire-When", "path-missing python/lattice/model_loader.py"),
        ),
        (
            KNOWN_DTYPES_ONLY,
            Replace(
                "python/lattice/model_loader.py",
                "            weights[name] = tensor.to(wanted)\n",
                '            weights[name] = tensor.to("cuda", wanted, non_blocking=True)\n',
            ),
        ),
    ),
    DemoPatch(
        "scheduler-drain.patch",
        "2025-01-28",
        "Stop draining when nothing can be admitted",
        "A request longer than the whole cache kept the loop spinning for ever.",
        (
            ("Origin", "vendor"),
            ("Bug", "https://lattice.example/issues/98"),
            ("Forwarded", "no"),
            ("X-Kind", "fix"),
            ("X-Retire-When", "contains python/lattice/scheduler.py class.Stuck"),
        ),
        (
            Replace(
                "python/lattice/scheduler.py",
                "            results.extend(self.step())\n",
                "            results.extend(self.step())\n"
                "            if self.waiting and not self.running:\n"
                "                break\n",
            ),
        ),
    ),
    DemoPatch(
        "fp4-gate.patch",
        "2025-01-29",
        "Admit GB10 to the FP4 path",
        "The instructions are there; the list of parts is older than the part.",
        (
            ("Origin", "vendor"),
            ("Forwarded", "no"),
            ("X-Kind", "gate"),
            ("X-Retire-When", "contains python/lattice/platforms.py FP4_CAPABILITIES.*12,.1"),
            ("X-Watch", "GB10"),
        ),
        (
            Replace(
                "python/lattice/platforms.py",
                "FP4_CAPABILITIES = frozenset({(10, 0), (10, 3)})\n",
                "FP4_CAPABILITIES = frozenset({(10, 0), (10, 3), (12, 1)})\n",
            ),
        ),
    ),
    DemoPatch(
        "sparse-gate.patch",
        "2025-01-29",
        "Admit GB10 to the paged sparse decode",
        "Gathering halves the decode rate. The gate knows one part only; once upstream\n"
        "treats sm_121 here by itself, this must be looked at again.",
        (
            ("Origin", "vendor"),
            ("Forwarded", "no"),
            ("X-Kind", "gate"),
            ("X-Retire-When", "path-missing python/lattice/attention/sparse.py"),
            ("X-Expect", "lacks python/lattice/attention/sparse.py is_sm121"),
            ("X-Watch", "GB10"),
        ),
        (
            Replace(
                "python/lattice/attention/sparse.py",
                "    if platforms.is_sm100():\n",
                "    if platforms.is_sm100() or platforms.is_sm121():\n",
            ),
        ),
    ),
    DemoPatch(
        "sampling-min-p.patch",
        "2025-01-30",
        "Drop tokens far below the likeliest one",
        "An experiment of ours, off by default.",
        (
            ("Origin", "vendor"),
            ("Forwarded", "not-needed"),
            ("X-Kind", "experiment"),
            ("X-Requires", "scheduler-drain.patch"),
            ("X-Retire-When", "contains python/lattice/sampling.py def.min_p"),
        ),
        (
            Replace(
                "python/lattice/sampling.py",
                "    return torch.multinomial(logits.softmax(-1), 1)\n",
                "    odds = logits.softmax(-1)\n"
                "    odds = odds.masked_fill(odds < 0.05 * odds.amax(-1, keepdim=True), 0)\n"
                "    return torch.multinomial(odds, 1)\n",
            ),
        ),
        guard=GUARD,
    ),
)


def downstream(store_dir: Path) -> dict[str, bytes]:
    """The files of the series directory for :data:`BASE`, by name, the ``series`` file included.

    ``store_dir`` is a new or empty directory for a scratch repository, in which git writes the
    patches; upstream's own repository stays as it is.
    """
    recorder = history()
    recorder.branch("downstream", f"release/{BASE}")
    for patch in PATCHES:
        recorder.commit("downstream", patch.date, MAINTAINER, patch.message, *patch.edits)
    git = recorder.write(store_dir)
    mails = store_dir / "mails"
    git.run(*FORMAT_PATCH, "--quiet", "-o", str(mails.absolute()), f"{BASE}..downstream")
    bodies = (path.read_bytes() for path in sorted(mails.iterdir()))
    files = {patch.name: body for patch, body in zip(PATCHES, bodies, strict=True)}
    return {"series": _series_file(), **files}


def _series_file() -> bytes:
    lines = [f"# The downstream's patches on lattice {BASE}.", *(patch.entry for patch in PATCHES)]
    return "".join(f"{line}\n" for line in lines).encode()
