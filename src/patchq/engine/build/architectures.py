"""Which GPU architectures nvcc is told to compile for (nvcc's manual, "GPU Code Generation")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_GENCODE = re.compile(r"--?(?:gencode|generate-code)(?:[= ]|$)")
_ARCH = re.compile(r"--?(?:arch|gpu-architecture)(?:[= ]|$)")
_OFF = ("", "OFF", "FALSE", "NO", "0")


def architectures(flags: Iterable[str]) -> tuple[str, ...]:
    """The architectures in ``flags``, each once: ``sm_…`` machine code, ``compute_…`` PTX.

    >>> architectures(["-O3", "-gencode=arch=compute_90a,code=sm_90a", "-arch", "sm_80"])
    ('sm_90a', 'sm_80', 'compute_80')
    """
    words = [word for flag in flags for word in flag.split()]
    return tuple(dict.fromkeys(_found(words)))


def in_order(archs: Iterable[str]) -> list[str]:
    """``archs`` as one reads them.

    >>> in_order(["sm_100a", "sm_90", "sm_90a"])
    ['sm_90', 'sm_90a', 'sm_100a']
    """
    return sorted(archs, key=lambda arch: (len(arch.rstrip("af")), arch))


def property_flags(value: str) -> tuple[str, ...]:
    """The flags that a target's ``CUDA_ARCHITECTURES`` gives (cmake-properties(7)).

    >>> property_flags("90a-real;80")
    ('-gencode=arch=compute_90a,code=sm_90a', '-gencode=arch=compute_80,code=[compute_80,sm_80]')
    """
    if value.upper() in _OFF:
        return ()
    return tuple(_flag(item) for item in value.split(";") if item)


def _flag(item: str) -> str:
    number, _, kind = item.partition("-")
    if not number[:1].isdigit():
        return f"-arch={item}"  # all, all-major, native
    codes = {"real": f"sm_{number}", "virtual": f"compute_{number}"}
    code = codes.get(kind, f"[compute_{number},sm_{number}]")
    return f"-gencode=arch=compute_{number},code={code}"


def _found(words: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        if match := _GENCODE.match(word):
            yield from _codes(word[match.end() :] or following)
        elif match := _ARCH.match(word):
            yield from _of_arch(word[match.end() :] or following)


def _codes(value: str) -> Iterator[str]:
    code = value.replace('"', "").partition("code=")[2]
    yield from (item for item in code.strip("[]").split(",") if item)


def _of_arch(value: str) -> Iterator[str]:
    yield value
    if value.startswith("sm_"):
        yield value.replace("sm_", "compute_")
