"""A miniature upstream: a fast project in two dozen commits.

Its tags sit on release branches, each with commits of its own, so that the merge base of two
tags lies behind both, as with real projects. What happens to the code between the tags is what
makes a downstream's day: see the comments in :func:`history`.
"""

from __future__ import annotations

from pathlib import Path

from patchq.demo.recorder import Person, Recorder, Remove, Replace, TreeMove, Write
from patchq.demo.sources import kernel_sources, server_sources

TAGS = ("v1.0", "v1.1", "v1.2")

ADA = Person("Ada Varga", "ada@lattice.example")
MEI = Person("Mei Okafor", "mei@lattice.example")
NOOR = Person("Noor Haddad", "noor@lattice.example")
TOMASZ = Person("Tomasz Lind", "tomasz@lattice.example")

KERNEL_BEFORE = "lattice-kernel"
KERNEL_AFTER = "python/lattice/kernels/aot"

CLAMP_PROPOSAL = Replace(
    "python/lattice/speculative/draft.py",
    "        count = self.tokens\n",
    "        count = min(self.tokens, self.cache.page_size * len(self.cache.free))\n",
)
CLAMP_ROLLBACK = Replace(
    "python/lattice/speculative/draft.py",
    "        request.length -= rejected\n",
    "        request.length = max(request.length - rejected, 0)\n",
)
WIDE_TABLE = Replace(
    "python/lattice/cache/paged.py",
    "self.table = torch.empty(pages, dtype=torch.int32)\n",
    "self.table = torch.empty(pages, dtype=torch.int64)\n",
)
WIDE_SLOTS = Replace(
    "python/lattice/cache/paged.py",
    "first = torch.tensor(pages, dtype=torch.int32) * self.page_size\n",
    "first = torch.tensor(pages, dtype=torch.int64) * self.page_size\n",
)
KNOWN_DTYPES_ONLY = Replace(
    "python/lattice/model_loader.py",
    "    return DTYPES.get(name, torch.float16)\n",
    '    if name not in DTYPES:\n        raise ValueError(f"unknown dtype {name}")\n'
    "    return DTYPES[name]\n",
)
"""Edits that the downstream has too, word for word."""


def build(directory: Path) -> None:
    """Write the upstream as a bare repository into ``directory``, which is new or empty.

    Commit and tag ids are the same on every machine.
    """
    history().write(directory)


def history() -> Recorder:
    """The upstream's history, not yet written anywhere."""
    upstream = Recorder()
    _up_to_v1_0(upstream)
    _up_to_v1_1(upstream)
    _up_to_v1_2(upstream)
    return upstream


def _up_to_v1_0(upstream: Recorder) -> None:
    warm_up = Replace(
        "python/lattice/server.py",
        "        for size in (1, 8, 64, 128):\n            self.scheduler.dry_run(size)\n",
        "        for size in (1, 8, 64, 128):\n"
        "            self.scheduler.dry_run(min(size, self.config.max_batch))\n",
    )
    upstream.commit(
        "main",
        "2025-01-06",
        ADA,
        "Serve requests from a paged cache (#101)",
        *(Write(path, text) for path, text in server_sources().items()),
    )
    upstream.commit(
        "main",
        "2025-01-14",
        MEI,
        "Add the kernel package (#102)",
        *(Write(path, text) for path, text in kernel_sources().items()),
    )
    upstream.branch("release/v1.0", "main")
    upstream.commit(
        "main", "2025-01-20", NOOR, "Keep warm-up inside the largest batch (#104)", warm_up
    )
    upstream.commit(
        "release/v1.0",
        "2025-01-21",
        NOOR,
        "Keep warm-up inside the largest batch (#104) (#105)",
        warm_up,
    )
    _release(upstream, "v1.0", "2025-01-22", 106)


def _up_to_v1_1(upstream: Recorder) -> None:
    # A kernel goes for good: no rename, and none of its lines anywhere else.
    upstream.commit(
        "main",
        "2025-02-03",
        MEI,
        "Drop the blockwise FP4 MoE path (#107)\n\nThe grouped GEMM is faster at every size.",
        Remove("lattice-kernel/csrc/moe/blockwise_fp4.cuh"),
        Write(
            "lattice-kernel/csrc/moe/fused_moe.cu",
            """\
#include "lattice/ops.h"

at::Tensor lattice::fused_moe(const at::Tensor& tokens, const at::Tensor& experts) {
  return at::bmm(tokens.unsqueeze(0).expand({experts.size(0), -1, -1}), experts).sum(0);
}
""",
        ),
    )
    # The downstream carries this one as a backport; here it lands squashed with more.
    upstream.commit(
        "main",
        "2025-02-10",
        TOMASZ,
        "Widen slot ids to 64 bits, count evictions (#108)",
        WIDE_TABLE,
        WIDE_SLOTS,
        Replace(
            "python/lattice/cache/paged.py",
            "    def release(self, pages):\n        self.free.extend(pages)\n",
            "    def release(self, pages):\n        self.evictions += len(pages)\n"
            "        self.free.extend(pages)\n",
        ),
        Replace(
            "python/lattice/cache/paged.py",
            "class PagedCache:\n",
            "class PagedCache:\n    evictions = 0\n\n",
        ),
        Write(
            "tests/test_paged_cache.py",
            """\
from lattice.cache.paged import PagedCache


def test_released_pages_count_as_evicted():
    cache = PagedCache(4, 16)
    cache.release(cache.allocate(32))
    assert cache.evictions == 2
""",
        ),
    )
    # Another backport of the downstream lands, and is reverted before the tag.
    upstream.commit(
        "main",
        "2025-02-12",
        ADA,
        "Clamp draft tokens to free slots (#109)",
        CLAMP_PROPOSAL,
        CLAMP_ROLLBACK,
    )
    upstream.commit(
        "main",
        "2025-02-17",
        MEI,
        "Move lattice-kernel below the server (#110)",
        TreeMove(KERNEL_BEFORE, KERNEL_AFTER),
    )
    upstream.commit(
        "main",
        "2025-02-19",
        TOMASZ,
        'Revert "Clamp draft tokens to free slots (#109)" (#111)',
        _reverse(CLAMP_PROPOSAL),
        _reverse(CLAMP_ROLLBACK),
    )
    # A line near one that the downstream edits: strict apply fails there, a merge does not.
    upstream.commit(
        "main",
        "2025-02-24",
        NOOR,
        "Map checkpoint shards instead of reading them (#112)",
        Replace(
            "python/lattice/model_loader.py",
            "state = torch.load(shard, weights_only=True)\n",
            "state = torch.load(shard, weights_only=True, mmap=True)\n",
        ),
    )
    # More lines above what the downstream edits: only the offset changes.
    upstream.commit(
        "main",
        "2025-03-03",
        ADA,
        "Log slow scheduler steps (#113)",
        Replace(
            "python/lattice/scheduler.py",
            "from collections import deque\n",
            "import logging\nimport time\nfrom collections import deque\n\n"
            "SLOW_STEP = 0.5\n\nlogger = logging.getLogger(__name__)\n",
        ),
        Replace(
            "python/lattice/scheduler.py",
            "    def step(self):\n        self.admit()\n",
            "    def step(self):\n        began = time.monotonic()\n        self.admit()\n",
        ),
        Replace(
            "python/lattice/scheduler.py",
            "            self.cache.release(request.pages)\n",
            "            self.cache.release(request.pages)\n"
            "        if time.monotonic() - began > SLOW_STEP:\n"
            '            logger.warning("slow step, %d running", len(self.running))\n',
        ),
    )
    upstream.commit(
        "main",
        "2025-03-05",
        TOMASZ,
        "Update the transformers pin, tell where the kernels went (#114)",
        Replace("python/pyproject.toml", "transformers==4.55.0", "transformers==4.56.1"),
        Replace("README.md", "* `lattice-kernel` is", f"* `{KERNEL_AFTER}` is"),
    )
    upstream.branch("release/v1.1", "main")
    top_k = Replace("python/lattice/sampling.py", "torch.topk(logits, k + 1)", "logits.topk(k)")
    upstream.commit("main", "2025-03-10", NOOR, "Fix an off-by-one in top-k (#115)", top_k)
    upstream.commit(
        "release/v1.1", "2025-03-11", NOOR, "Fix an off-by-one in top-k (#115) (#116)", top_k
    )
    _release(upstream, "v1.1", "2025-03-12", 117)


def _up_to_v1_2(upstream: Recorder) -> None:
    # The block that the downstream prunes gets another shape.
    upstream.commit(
        "main",
        "2025-03-24",
        MEI,
        "Let one option choose the architectures (#118)",
        Replace(
            f"{KERNEL_AFTER}/CMakeLists.txt",
            """\
# Device code is built for every part that this toolkit knows.
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
            """\
# Family targets where the toolkit has them; LATTICE_ARCHES overrides the choice.
if(NOT LATTICE_ARCHES)
  set(LATTICE_ARCHES 90)
  if(CUDA_VERSION VERSION_GREATER_EQUAL 12.9)
    list(APPEND LATTICE_ARCHES 100f 120f)
  elseif(CUDA_VERSION VERSION_GREATER_EQUAL 12.8)
    list(APPEND LATTICE_ARCHES 100a 120a)
  endif()
endif()
""",
        ),
    )
    # Two gates grow past the downstream's own.
    upstream.commit(
        "main",
        "2025-04-02",
        ADA,
        "Serve FP4 on every Blackwell part (#119)",
        Replace(
            "python/lattice/platforms.py",
            "FP4_CAPABILITIES = frozenset({(10, 0), (10, 3)})\n",
            "FP4_CAPABILITIES = frozenset({(10, 0), (10, 3), (12, 0), (12, 1)})\n",
        ),
    )
    upstream.commit(
        "main",
        "2025-04-07",
        NOOR,
        "Give GB10 a sparse decode of its own (#120)\n\n"
        "The paged kernel reads past the last page on sm_121.",
        Replace(
            "python/lattice/attention/sparse.py",
            "    decode = fallback_decode\n",
            "    decode = fallback_decode\n"
            "    if platforms.is_sm121():\n        return varlen_decode\n",
        ),
        Replace(
            "python/lattice/attention/sparse.py",
            "def resolve_decode():\n",
            """\
def varlen_decode(query, cache, pages):
    return fallback_decode(query, cache, pages[: cache.pages_for(query.shape[0])])


def resolve_decode():
""",
        ),
    )
    # What was reverted comes back, half of it in another spelling.
    upstream.commit(
        "main",
        "2025-04-09",
        ADA,
        "Clamp draft tokens to free slots, second try (#109) (#121)",
        CLAMP_PROPOSAL,
        Replace(
            "python/lattice/speculative/draft.py",
            "        request.length -= rejected\n",
            "        request.truncate(rejected)\n",
        ),
    )
    upstream.commit(
        "main",
        "2025-04-14",
        TOMASZ,
        "Refuse dtypes that the loader does not know (#122)",
        KNOWN_DTYPES_ONLY,
    )
    upstream.branch("release/v1.2", "main")
    upstream.commit(
        "main",
        "2025-04-16",
        MEI,
        "Let decode run on CUDA graphs (#123)",
        Replace(
            f"{KERNEL_AFTER}/csrc/attention/decode.cu",
            "at::empty({pages.size(0)}, query.options())",
            "at::zeros({pages.size(0)}, query.options())",
        ),
    )
    _release(upstream, "v1.2", "2025-04-17", 124)


def _release(upstream: Recorder, tag: str, date: str, number: int) -> None:
    version = f"{tag.removeprefix('v')}.0"
    branch = f"release/{tag}"
    upstream.commit(
        branch,
        date,
        TOMASZ,
        f"Set the version to {version} (#{number})",
        Write("python/lattice/version.py", f'__version__ = "{version}"\n'),
    )
    upstream.tag(tag, branch, date, TOMASZ)


def _reverse(edit: Replace) -> Replace:
    return Replace(edit.path, edit.new, edit.old)
