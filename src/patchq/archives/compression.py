"""Compress a file so that the same version of a compressor gives the same bytes everywhere."""

from __future__ import annotations

import gzip
import importlib
import lzma
import shutil
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event

from patchq.errors import InputError, PatchqError

_CHUNK = 1 << 20
_GZIP_LEVEL = 6
_XZ_PRESET = 6
_ZSTD_LEVEL = 10


class Compression:
    """A file compressed in a thread while its end is still written; a context manager.

    ``to`` is the new file, ``kind`` gz, xz or zst.
    """

    def __init__(self, source: Path, to: Path, kind: str):
        self._path = source
        self._to = to
        self._kind = kind
        self._thread = ThreadPoolExecutor(1)
        self._begun: tuple[GrowingFile, Future[None]] | None = None

    def __enter__(self) -> Compression:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._begun:
            self._begun[0].stop()
        self._thread.shutdown()

    def begin(self, open_end: int) -> None:
        """Compress all but the last ``open_end`` bytes that are there, and wait for the rest."""
        source = GrowingFile(self._path, open_end)
        self._begun = source, self._thread.submit(compress, source, self._to, self._kind)

    def finish(self) -> Path:
        """What :func:`compress` wrote, now that the file is whole; raises as it does."""
        assert self._begun
        source, done = self._begun
        source.complete()
        done.result()
        return self._to


class GrowingFile:
    """A file whose end is still written while it is read."""

    def __init__(self, path: Path, open_end: int):
        self.path = path
        self._stream = path.open("rb", buffering=0)
        self._safe = path.stat().st_size - open_end
        self._whole = Event()
        self._stopped = False

    def complete(self) -> None:
        """Nothing more is written."""
        self._whole.set()

    def stop(self) -> None:
        """Have nobody read on."""
        self._stopped = True
        self._whole.set()

    def wait(self) -> None:
        """Return when it is whole; raises :class:`PatchqError` if it never will be."""
        self._whole.wait()
        if self._stopped:
            raise PatchqError(f"{self.path.name} was not written to its end")

    def read(self, size: int = _CHUNK, /) -> bytes:
        """The next bytes, when they are there for good; fewer at the end."""
        if self._stopped or self._stream.tell() + size > self._safe:
            self.wait()
        return self._stream.read(size)


def compress(source: GrowingFile, to: Path, compression: str) -> None:
    """Write ``source`` compressed as ``gz``, ``xz`` or ``zst`` to the new file ``to``.

    No name, time or number of threads gets into it. Raises :class:`InputError` if Zstandard is
    asked for and there is nothing that writes it.
    """
    _COMPRESSORS[compression](source, to)


def _gzip(source: GrowingFile, to: Path) -> None:
    with (
        to.open("xb") as stream,
        gzip.GzipFile("", "wb", _GZIP_LEVEL, stream, mtime=0) as packer,
    ):
        shutil.copyfileobj(source, packer, _CHUNK)


def _xz(source: GrowingFile, to: Path) -> None:
    with lzma.open(to, "xb", preset=_XZ_PRESET) as packer:
        shutil.copyfileobj(source, packer, _CHUNK)


def _zstd(source: GrowingFile, to: Path) -> None:
    """The ``zstd`` program does it; Python writes Zstandard from 3.14 on only."""
    program = shutil.which("zstd")
    if program is None:
        _zstd_by_python(source, to)
        return
    source.wait()
    command = [program, f"-{_ZSTD_LEVEL}", "-T1", "--quiet", "--no-progress"]
    done = subprocess.run(
        [*command, "-o", str(to), "--", str(source.path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise PatchqError(f"zstd: {done.stderr.decode(errors='replace').strip()}")


def _zstd_by_python(source: GrowingFile, to: Path) -> None:
    try:
        zstd = importlib.import_module("compression.zstd")
    except ImportError:
        raise InputError(
            "writing .tar.zst needs the zstd program, which is not on the PATH",
            hint="Install zstd, or take --format tar.xz.",
        ) from None
    with zstd.open(to, "xb", level=_ZSTD_LEVEL) as packer:
        shutil.copyfileobj(source, packer, _CHUNK)


_COMPRESSORS: Mapping[str, Callable[[GrowingFile, Path], None]] = {
    "gz": _gzip,
    "xz": _xz,
    "zst": _zstd,
}
