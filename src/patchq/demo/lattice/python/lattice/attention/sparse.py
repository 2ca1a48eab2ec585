"""Which kernel decodes sparse attention here."""

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
