"""The files that lattice, a fictional inference server with a CUDA kernel package, starts with."""

from __future__ import annotations

SERVER = {
    "README.md": """\
# lattice

A small inference server: one scheduler, one paged cache, a handful of CUDA kernels.

* `python/lattice` is the server.
* `lattice-kernel` is the kernel package; see its own README for how to build it.
""",
    "python/pyproject.toml": """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "lattice"
dynamic = ["version"]
requires-python = ">=3.10"
dependencies = [
  "lattice-kernel==0.3.0",
  "numpy>=1.26",
  "torch==2.8.0",
  "transformers==4.55.0",
]

[tool.setuptools.dynamic]
version = { attr = "lattice.version.__version__" }
""",
    "python/lattice/__init__.py": """\
from lattice.server import Server
from lattice.version import __version__

__all__ = ["Server", "__version__"]
""",
    "python/lattice/version.py": """\
__version__ = "0.0.0.dev0"
""",
    "python/lattice/config.py": """\
from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    model: str
    max_batch: int = 64
    page_size: int = 16
    pages: int = 4096
    draft_tokens: int = 4
    dtype: str = "bfloat16"
""",
    "python/lattice/platforms.py": """\
\"\"\"What the device under us can do.\"\"\"

from functools import lru_cache

import torch

FP4_CAPABILITIES = frozenset({(10, 0), (10, 3)})


@lru_cache(maxsize=1)
def capability() -> tuple[int, int]:
    if not torch.cuda.is_available():
        return (0, 0)
    return torch.cuda.get_device_capability()


def is_sm100() -> bool:
    return capability() == (10, 0)


def is_sm121() -> bool:
    return capability() == (12, 1)


def supports_fp4() -> bool:
    return capability() in FP4_CAPABILITIES


def shared_memory_limit() -> int:
    if not torch.cuda.is_available():
        return 0
    return torch.cuda.get_device_properties(0).shared_memory_per_block_optin
""",
    "python/lattice/server.py": """\
from lattice.attention.sparse import resolve_decode
from lattice.cache.paged import PagedCache
from lattice.config import Config
from lattice.model_loader import load
from lattice.sampling import sample
from lattice.scheduler import Scheduler
from lattice.speculative.draft import Drafter


class Server:
    def __init__(self, config: Config):
        self.config = config
        self.cache = PagedCache(config.pages, config.page_size)
        self.scheduler = Scheduler(self.cache, config.max_batch)
        self.decode = resolve_decode()
        self.weights = load(config.model, config.dtype)
        self.drafter = Drafter(self.weights, self.cache, config.draft_tokens)
        self.sample = sample

    def warm_up(self) -> None:
        for size in (1, 8, 64, 128):
            self.scheduler.dry_run(size)

    def serve(self, requests):
        for request in requests:
            self.scheduler.submit(request)
        while self.scheduler.busy():
            yield from self.scheduler.step()
""",
    "python/lattice/scheduler.py": """\
\"\"\"Which requests run in the next step.\"\"\"

from collections import deque


class Scheduler:
    def __init__(self, cache, max_batch):
        self.cache = cache
        self.max_batch = max_batch
        self.waiting = deque()
        self.running = []

    def submit(self, request):
        self.waiting.append(request)

    def busy(self):
        return bool(self.waiting or self.running)

    def dry_run(self, size):
        assert size <= self.max_batch, "warm-up must fit the batch"

    def admit(self):
        while self.waiting and len(self.running) < self.max_batch:
            if not self.cache.can_hold(self.waiting[0].length):
                break
            request = self.waiting.popleft()
            request.pages = self.cache.allocate(request.length)
            self.running.append(request)

    def step(self):
        self.admit()
        done = [request for request in self.running if request.advance()]
        for request in done:
            self.running.remove(request)
            self.cache.release(request.pages)
        return done

    def drain(self):
        results = []
        while self.busy():
            results.extend(self.step())
        return results
""",
    "python/lattice/model_loader.py": """\
\"\"\"From a checkpoint on disk to tensors on the device.\"\"\"

from pathlib import Path

import torch

DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
}


def resolve_dtype(name):
    return DTYPES.get(name, torch.float16)


def shards(model):
    found = sorted(Path(model).glob("*.pt"))
    if not found:
        raise FileNotFoundError(f"no shards in {model}")
    return found


def load(model, dtype):
    wanted = resolve_dtype(dtype)
    weights = {}
    for shard in shards(model):
        state = torch.load(shard, weights_only=True)
        for name, tensor in state.items():
            weights[name] = tensor.to(wanted)
        del state
    return weights
""",
    "python/lattice/sampling.py": """\
import torch


def top_k(logits, k):
    values, _ = torch.topk(logits, k + 1)
    floor = values[..., -1, None]
    return logits.masked_fill(logits < floor, float("-inf"))


def temperature(logits, value):
    if value == 0:
        return logits
    return logits / value


def sample(logits, k, value):
    logits = temperature(logits, value)
    logits = top_k(logits, k)
    return torch.multinomial(logits.softmax(-1), 1)
""",
    "python/lattice/cache/__init__.py": "",
    "python/lattice/cache/paged.py": """\
\"\"\"A cache of fixed pages; a sequence owns a list of them.\"\"\"

import torch


class PagedCache:
    def __init__(self, pages, page_size):
        self.page_size = page_size
        self.free = list(range(pages))
        self.table = torch.empty(pages, dtype=torch.int32)

    def pages_for(self, length):
        return -(-length // self.page_size)

    def can_hold(self, length):
        return self.pages_for(length) <= len(self.free)

    def allocate(self, length):
        count = self.pages_for(length)
        taken, self.free = self.free[:count], self.free[count:]
        return taken

    def release(self, pages):
        self.free.extend(pages)

    def slots(self, pages, length):
        first = torch.tensor(pages, dtype=torch.int32) * self.page_size
        inside = torch.arange(self.page_size)
        return (first[:, None] + inside).flatten()[:length]
""",
    "python/lattice/attention/__init__.py": "",
    "python/lattice/attention/sparse.py": """\
\"\"\"Which kernel decodes sparse attention here.\"\"\"

from lattice import platforms
from lattice.kernels import ops


def fallback_decode(query, cache, pages):
    keys, values = cache.gather(pages)
    return (query @ keys.mT).softmax(-1) @ values


def resolve_decode():
    decode = fallback_decode

    # The paged kernel needs tensor memory; everything else gathers.
    if platforms.is_sm100():
        decode = ops().paged_sparse_decode
    return decode
""",
    "python/lattice/speculative/__init__.py": "",
    "python/lattice/speculative/draft.py": """\
\"\"\"Propose tokens with a small model, keep those the large one agrees with.\"\"\"


class Drafter:
    def __init__(self, model, cache, tokens):
        self.model = model
        self.cache = cache
        self.tokens = tokens

    def propose(self, request):
        count = self.tokens
        proposal = []
        for _ in range(count):
            proposal.append(self.model.next(request, proposal))
        return proposal

    def accept(self, request, proposal, logits):
        accepted = []
        for token, row in zip(proposal, logits):
            if int(row.argmax()) != token:
                break
            accepted.append(token)
        request.tokens.extend(accepted)
        return accepted

    def rollback(self, request, proposal, accepted):
        rejected = len(proposal) - len(accepted)
        request.length -= rejected
        return rejected
""",
    "python/lattice/kernels/__init__.py": """\
\"\"\"The compiled kernels, loaded when first asked for.\"\"\"

from functools import lru_cache

import torch


@lru_cache(maxsize=1)
def ops():
    torch.ops.load_library("lattice_kernel.so")
    return torch.ops.lattice
""",
    "tests/test_scheduler.py": """\
from lattice.cache.paged import PagedCache
from lattice.scheduler import Scheduler


def test_an_idle_scheduler_is_not_busy():
    assert not Scheduler(PagedCache(4, 16), 8).busy()
""",
}

KERNEL = {
    "lattice-kernel/README.md": """\
# lattice-kernel

    cmake -S . -B build && cmake --build build

Needs CUDA 12.8 or newer and a CUDA build of PyTorch.
""",
    "lattice-kernel/pyproject.toml": """\
[build-system]
requires = ["scikit-build-core>=0.10", "torch==2.8.0"]
build-backend = "scikit_build_core.build"

[project]
name = "lattice-kernel"
version = "0.3.0"
requires-python = ">=3.10"
""",
    "lattice-kernel/CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.24)
project(lattice_kernel LANGUAGES CXX CUDA)

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CUDA_STANDARD 17)

find_package(Torch REQUIRED)

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

set(LATTICE_CUDA_FLAGS -O3 --expt-relaxed-constexpr)
foreach(arch IN LISTS LATTICE_ARCHES)
  list(APPEND LATTICE_CUDA_FLAGS "-gencode=arch=compute_${arch},code=sm_${arch}")
endforeach()

set(LATTICE_SOURCES
  csrc/register.cc
  csrc/attention/decode.cu
  csrc/gemm/fp8_gemm.cu
  csrc/moe/fused_moe.cu
)

add_library(lattice_ops SHARED ${LATTICE_SOURCES})
target_include_directories(lattice_ops PRIVATE include csrc)
target_compile_options(lattice_ops PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${LATTICE_CUDA_FLAGS}>)
target_link_libraries(lattice_ops PRIVATE ${TORCH_LIBRARIES})
install(TARGETS lattice_ops LIBRARY DESTINATION lattice_kernel)

# Warp-specialised attention for Hopper only.
add_library(hopper_ops SHARED csrc/attention/hopper_decode.cu)
target_include_directories(hopper_ops PRIVATE include csrc)
target_compile_options(hopper_ops PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:-O3 -gencode=arch=compute_90a,code=sm_90a>)
target_link_libraries(hopper_ops PRIVATE ${TORCH_LIBRARIES})
install(TARGETS hopper_ops LIBRARY DESTINATION lattice_kernel)
""",
    "lattice-kernel/include/lattice/ops.h": """\
#pragma once

#include <torch/all.h>

namespace lattice {

at::Tensor paged_sparse_decode(const at::Tensor& query, const at::Tensor& pages);
at::Tensor fp8_gemm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& scale);
at::Tensor fused_moe(const at::Tensor& tokens, const at::Tensor& experts);

}  // namespace lattice
""",
    "lattice-kernel/csrc/register.cc": """\
#include <torch/library.h>

#include "lattice/ops.h"

TORCH_LIBRARY(lattice, m) {
  m.def("paged_sparse_decode", &lattice::paged_sparse_decode);
  m.def("fp8_gemm", &lattice::fp8_gemm);
  m.def("fused_moe", &lattice::fused_moe);
}
""",
    "lattice-kernel/csrc/common.cuh": """\
#pragma once

#include <cuda_runtime.h>

constexpr int kWarp = 32;

__device__ __forceinline__ float warp_sum(float value) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, lane);
  }
  return value;
}
""",
    "lattice-kernel/csrc/attention/decode.cu": """\
#include "common.cuh"
#include "lattice/ops.h"

__global__ void decode_kernel(const float* query, const float* keys, float* out, int width) {
  float partial = 0.f;
  for (int i = threadIdx.x; i < width; i += kWarp) {
    partial += query[i] * keys[blockIdx.x * width + i];
  }
  float score = warp_sum(partial);
  if (threadIdx.x == 0) out[blockIdx.x] = score;
}

at::Tensor lattice::paged_sparse_decode(const at::Tensor& query, const at::Tensor& pages) {
  auto out = at::empty({pages.size(0)}, query.options());
  decode_kernel<<<pages.size(0), kWarp>>>(
      query.data_ptr<float>(), pages.data_ptr<float>(), out.data_ptr<float>(), query.size(0));
  return out;
}
""",
    "lattice-kernel/csrc/attention/hopper_decode.cu": """\
#include "common.cuh"

__global__ void __cluster_dims__(2, 1, 1) hopper_decode_kernel(const float* keys, float* out) {
  out[blockIdx.x] = warp_sum(keys[blockIdx.x * kWarp + threadIdx.x]);
}
""",
    "lattice-kernel/csrc/gemm/fp8_gemm.cu": """\
#include <cuda_fp8.h>

#include "lattice/ops.h"

at::Tensor lattice::fp8_gemm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& scale) {
  TORCH_CHECK(a.size(1) == b.size(0), "inner sizes differ");
  return at::matmul(a.to(at::kHalf), b.to(at::kHalf)) * scale;
}
""",
    "lattice-kernel/csrc/moe/blockwise_fp4.cuh": """\
#pragma once

#include <cuda_fp4.h>

namespace lattice::moe {

// One block per expert tile; scales ride along in shared memory.
struct BlockwiseTile {
  static constexpr int kRows = 128;
  static constexpr int kColumns = 256;
  static constexpr int kStages = 4;
  static constexpr int kScaleBytes = kRows * kColumns / 16;
  static constexpr int kStageBytes = kRows * kColumns / 2 + kScaleBytes;
  static constexpr int kSharedBytes = kStages * kStageBytes;
};

template <typename Tile>
__global__ void blockwise_fp4_kernel(const unsigned char* packed, float* accumulated) {
  extern __shared__ unsigned char staging[];
  for (int stage = 0; stage < Tile::kStages; ++stage) {
    staging[threadIdx.x] = packed[stage * Tile::kStageBytes + threadIdx.x];
  }
  accumulated[blockIdx.x] = staging[threadIdx.x];
}

}  // namespace lattice::moe
""",
    "lattice-kernel/csrc/moe/fused_moe.cu": """\
#include "lattice/ops.h"
#include "moe/blockwise_fp4.cuh"

at::Tensor lattice::fused_moe(const at::Tensor& tokens, const at::Tensor& experts) {
  auto out = at::zeros({tokens.size(0), experts.size(2)}, tokens.options());
  using Tile = lattice::moe::BlockwiseTile;
  lattice::moe::blockwise_fp4_kernel<Tile><<<experts.size(0), 128, Tile::kSharedBytes>>>(
      experts.data_ptr<unsigned char>(), out.data_ptr<float>());
  return out;
}
""",
}
