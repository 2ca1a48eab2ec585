"""Compress a file so that the same version of a compressor gives the same bytes everywhere."""

from __future__ import annotations

import gzip
import importlib
import lzma
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from patchq.errors import InputError, PatchqError

_CHUNK = 1 << 20
_GZIP_LEVEL = 6
_XZ_PRESET = 6
_ZSTD_LEVEL = 10


def compress(source: Path, to: Path, compression: str) -> None:
    """Write ``source`` compressed as ``gz``, ``xz`` or ``zst`` to the new file ``to``.

    No name, time or number of threads gets into it. Raises :class:`InputError` if Zstandard is
    asked for and there is nothing that writes it.
    """
    _COMPRESSORS[compression](source, to)


def _gzip(source: Path, to: Path) -> None:
    with (
        source.open("rb") as content,
        to.open("xb") as stream,
        gzip.GzipFile("", "wb", _GZIP_LEVEL, stream, mtime=0) as packer,
    ):
        shutil.copyfileobj(content, packer, _CHUNK)


def _xz(source: Path, to: Path) -> None:
    with source.open("rb") as content, lzma.open(to, "xb", preset=_XZ_PRESET) as packer:
        shutil.copyfileobj(content, packer, _CHUNK)


def _zstd(source: Path, to: Path) -> None:
    """The ``zstd`` program does it; Python writes Zstandard from 3.14 on only."""
    program = shutil.which("zstd")
    if program is None:
        _zstd_by_python(source, to)
        return
    command = [program, f"-{_ZSTD_LEVEL}", "-T1", "--quiet", "--no-progress"]
    done = subprocess.run(
        [*command, "-o", str(to), "--", str(source)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise PatchqError(f"zstd: {done.stderr.decode(errors='replace').strip()}")


def _zstd_by_python(source: Path, to: Path) -> None:
    try:
        zstd = importlib.import_module("compression.zstd")
    except ImportError:
        raise InputError(
            "writing .tar.zst needs the zstd program, which is not on the PATH",
            hint="Install zstd, or take --format tar.xz.",
        ) from None
    with source.open("rb") as content, zstd.open(to, "xb", level=_ZSTD_LEVEL) as packer:
        shutil.copyfileobj(content, packer, _CHUNK)


_COMPRESSORS: Mapping[str, Callable[[Path, Path], None]] = {
    "gz": _gzip,
    "xz": _xz,
    "zst": _zstd,
}
