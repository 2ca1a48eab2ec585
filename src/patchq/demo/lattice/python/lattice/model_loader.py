"""From a checkpoint on disk to tensors on the device."""

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
