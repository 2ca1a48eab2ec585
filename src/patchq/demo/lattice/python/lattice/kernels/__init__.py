"""The compiled kernels, loaded when first asked for."""

from functools import lru_cache

import torch


@lru_cache(maxsize=1)
def ops():
    torch.ops.load_library("lattice_kernel.so")
    return torch.ops.lattice
