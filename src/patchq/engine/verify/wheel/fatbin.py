"""Which GPU code a built library holds, read without any tool of CUDA.

nvcc puts the code of each translation unit into one container of the ELF section ``.nv_fatbin``
(``__nv_relfatbin`` for relocatable device code): a header, then entries, each with a header that
names the kind, the architecture and the size of what follows. Only headers are read, so it does
not matter how the code is compressed. NVIDIA does not document the format; the layout here agrees
with what cuobjdump says of release libraries.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from patchq.errors import InputError, Where
from patchq.model.wheel import Library

_BROKEN = (
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    ValueError,
    RuntimeError,  # an encrypted entry, or a compression that is not known
)
_SECTIONS = (b".nv_fatbin", b"__nv_relfatbin")
_ELF64_LITTLE = b"\x7fELF\x02\x01"
_NO_BITS = 8

_MAGIC = struct.pack("<I", 0xBA55ED50)
_CONTAINER = struct.Struct("<4sHHQ")  # magic, version, size of this header, size of the entries
_ENTRY = struct.Struct("<HHIQ12xI8xQ")  # kind, version, header's size, size; architecture; flags
_ALIGNMENT = 8
_PTX, _CUBIN = 1, 2
_SUFFIXES = {0x100000: "a", 0x200000: "f"}


def read_wheel(file: Path) -> tuple[Library, ...]:
    """The libraries of a wheel that hold GPU code, by path.

    Raises :class:`InputError` if ``file`` is no wheel, or a library is cut off.
    """
    try:
        with zipfile.ZipFile(file) as wheel:
            names = sorted(name for name in wheel.namelist() if _is_library(name))
            read = [read_library(name, wheel.read(name)) for name in names]
    except _BROKEN as error:
        raise InputError(f"not a readable wheel: {error}", where=Where(str(file))) from error
    return tuple(library for library in read if library.cubins or library.ptx)


def read_library(path: str, content: bytes) -> Library:
    """What the shared library ``content`` holds; raises :class:`InputError` if it is cut off."""
    cubins, ptx = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    counted = {_CUBIN: cubins, _PTX: ptx}
    try:
        for section in _sections(content):
            for kind, arch in _entries(section):
                if kind in counted:
                    counted[kind][arch] += 1
    except (struct.error, ValueError, IndexError) as error:
        raise InputError(f"not a whole ELF library: {error}", where=Where(path)) from error
    return Library(path, _named(cubins, "sm_"), _named(ptx, "compute_"))


def _is_library(name: str) -> bool:
    base = name.rpartition("/")[2]
    return base.endswith(".so") or ".so." in base


def _named(counts: Counter[tuple[int, str]], prefix: str) -> dict[str, int]:
    return {
        f"{prefix}{number}{suffix}": counts[number, suffix] for number, suffix in sorted(counts)
    }


def _sections(content: bytes) -> Iterator[memoryview]:
    """The sections of an ELF file that hold GPU code (System V ABI, "Sections")."""
    if not content.startswith(_ELF64_LITTLE):
        raise ValueError("neither 64-bit nor little-endian ELF")
    (table,) = struct.unpack_from("<Q", content, 0x28)
    size, count, names = struct.unpack_from("<HHH", content, 0x3A)
    rows = [struct.unpack_from("<II16xQQ", content, table + n * size) for n in range(count)]
    strings = rows[names][2] if rows else 0
    for name, kind, offset, length in rows:
        start = strings + name
        if content[start : content.index(b"\0", start)] in _SECTIONS and kind != _NO_BITS:
            if offset + length > len(content):
                raise ValueError("a section goes beyond the end of the file")
            yield memoryview(content)[offset : offset + length]


def _entries(section: memoryview) -> Iterator[tuple[int, tuple[int, str]]]:
    """Kind and architecture of each entry of each container."""
    position = 0
    while position + _CONTAINER.size <= len(section):
        magic, _, header, size = _CONTAINER.unpack_from(section, position)
        if magic != _MAGIC:
            position += _ALIGNMENT  # the linker pads between containers
            continue
        end = position + header + size
        if end > len(section):
            raise ValueError("a container goes beyond the end of its section")
        position += header
        while position < end:
            kind, _, length, payload, number, flags = _ENTRY.unpack_from(section, position)
            suffix = "".join(letter for flag, letter in _SUFFIXES.items() if flags & flag)
            yield kind, (number, suffix)
            if not length:
                raise ValueError("an entry without a header")
            position += length + payload
        position = end + -end % _ALIGNMENT
