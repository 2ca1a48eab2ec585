"""What the device under us can do."""

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
