"""The entries of an archive: zip and tar, in any compression, within limits.

An archive comes from the network: whatever it holds, reading it ends, takes no more memory than it
may, and fails as :class:`~patchq.errors.InputError` does. Nothing is unpacked into a directory.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import stat
import struct
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Protocol

from patchq.errors import InputError, UpstreamError, Where

SIZE_LIMIT = 2 * 1024**3
"""An archive that unpacks to more bytes than this is refused."""

REGULAR, EXECUTABLE, SYMLINK, DIRECTORY = "100644", "100755", "120000", "040000"

# What the readers raise on a broken file; tarfile lets many of them through on odd headers.
_BROKEN_ERRORS = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    struct.error,
    ValueError,
    NotImplementedError,
    RecursionError,
)

_COPY_SIZE = 1 << 20


@dataclass(frozen=True)
class ArchiveEntry:
    """An entry as its archive has it; ``time`` is in seconds since 1970."""

    name: str
    mode: str
    size: int
    time: int
    read: Callable[[], bytes]


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@contextmanager
def _zstd(file: Path) -> Iterator[_Readable]:
    """Python reads Zstandard from 3.14 on only, so the ``zstd`` program does it."""
    if shutil.which("zstd") is None:
        raise UpstreamError(
            "reading it needs the zstd program, which is not on the PATH",
            where=Where(str(file)),
            hint="Install zstd, or give the archive in another compression.",
        )
    command = ["zstd", "-dcq"]
    with (
        tempfile.TemporaryFile() as errors,
        file.open("rb") as packed,
        subprocess.Popen(command, stdin=packed, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        assert process.stdout is not None
        yield process.stdout
        if process.wait():
            errors.seek(0)
            raise tarfile.ReadError(errors.read().decode(errors="replace").strip())


_ZIP_SUFFIXES = (".whl", ".zip")
_TAR_SUFFIXES: dict[str, Callable[[Path], AbstractContextManager[_Readable]]] = {
    ".tar": lambda file: file.open("rb"),
    ".tar.gz": gzip.GzipFile,
    ".tgz": gzip.GzipFile,
    ".tar.bz2": bz2.BZ2File,
    ".tbz2": bz2.BZ2File,
    ".tar.xz": lzma.LZMAFile,
    ".txz": lzma.LZMAFile,
    ".tar.zst": _zstd,
    ".tzst": _zstd,
}
SUPPORTED_SUFFIXES = (*_ZIP_SUFFIXES, *_TAR_SUFFIXES)


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Turns what reading a broken file raises into InputError."""
    try:
        yield
    except OSError as error:
        # gzip and bz2 say "broken" by an OSError that has no errno.
        broken = error.errno is None
        raise (_broken if broken else unreadable)(file, error) from error
    except _BROKEN_ERRORS as error:
        raise _broken(file, error) from error


@contextmanager
def open_entries(file: Path) -> Iterator[Sequence[ArchiveEntry]]:
    """The entries of an archive, readable until the end of the block."""
    if file.name.endswith(_ZIP_SUFFIXES):
        with zipfile.ZipFile(file) as archive:
            yield [_zip_entry(file, archive, info) for info in archive.infolist()]
    elif file.name.endswith(tuple(_TAR_SUFFIXES)):
        with (
            _unpacked(file) as stream,
            tarfile.open(
                fileobj=stream, mode="r:", encoding="utf-8", errors="surrogateescape"
            ) as archive,
        ):
            yield _tar_entries(file, archive, stream)
    else:
        raise InputError(
            "not an archive that can be imported",
            where=Where(str(file)),
            hint=f"Supported are {', '.join(SUPPORTED_SUFFIXES)}.",
        )


def _zip_entry(file: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> ArchiveEntry:
    name = info.orig_filename
    if not info.flag_bits & 0x800:  # not marked as UTF-8, so zipfile took it for cp437
        name = name.encode("cp437").decode("utf-8", "surrogateescape")
    if info.flag_bits & 0x1:
        raise InputError(f"{name!r} is encrypted", where=Where(str(file)))
    unix = info.external_attr >> 16
    kind = stat.S_IFMT(unix)
    if name.endswith("/") or kind == stat.S_IFDIR:
        mode = DIRECTORY
    elif kind == stat.S_IFLNK:
        mode = SYMLINK
    elif kind in (0, stat.S_IFREG):
        mode = EXECUTABLE if unix & stat.S_IXUSR else REGULAR
    else:
        raise _special(file, name)
    if mode == DIRECTORY and info.file_size:
        raise InputError(f"{name!r} is a directory with content", where=Where(str(file)))
    return ArchiveEntry(
        name, mode, info.file_size, _zip_time(info), lambda: _read_zip(archive, info)
    )


def _zip_time(info: zipfile.ZipInfo) -> int:
    """A zip has local time of an unknown zone, here taken as UTC; a date of zeros is no date."""
    try:
        return max(0, int(datetime(*info.date_time, tzinfo=UTC).timestamp()))
    except ValueError:
        return 0


def _read_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as stream:
        # Bounded, so that a deflate stream longer than its declared size ends as a bad CRC.
        return stream.read(info.file_size + 1)


def _tar_entries(file: Path, archive: tarfile.TarFile, stream: IO[bytes]) -> list[ArchiveEntry]:
    entries: dict[str, ArchiveEntry] = {}
    found: list[ArchiveEntry] = []
    for member in archive.getmembers():
        entry = _tar_entry(file, archive, member, entries)
        entries[member.name] = entry
        found.append(entry)
    # tarfile takes a broken header after the first for the end; a true end is a block of zeros.
    stream.seek(archive.offset)
    block = stream.read(tarfile.BLOCKSIZE)
    if len(block) < tarfile.BLOCKSIZE or any(block):
        raise tarfile.ReadError("a header in it is damaged, or its end is missing")
    return found


def _tar_entry(
    file: Path, archive: tarfile.TarFile, member: tarfile.TarInfo, earlier: dict[str, ArchiveEntry]
) -> ArchiveEntry:
    if member.islnk():
        target = earlier.get(member.linkname)
        if target is None or target.mode == DIRECTORY:
            raise InputError(
                f"{member.name!r} is a hard link to {member.linkname!r}, "
                "which is no earlier file of the archive",
                where=Where(str(file)),
            )
        return replace(target, name=member.name)
    if member.size < 0:
        raise tarfile.ReadError(f"{member.name!r} has a negative size")
    if member.isdir():
        mode, size = DIRECTORY, 0
    elif member.issym():
        mode, size = SYMLINK, len(member.linkname)
    elif member.isreg():
        mode, size = (EXECUTABLE if member.mode & stat.S_IXUSR else REGULAR), member.size
    else:
        raise _special(file, member.name)
    return ArchiveEntry(
        member.name, mode, size, _tar_time(member), lambda: _read_tar(archive, member)
    )


def _tar_time(member: tarfile.TarInfo) -> int:
    """A pax header can hold any number; one outside the years 1970 to 9999 is no date."""
    return int(member.mtime) if 0 <= member.mtime < 253402300800 else 0


def _read_tar(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    if member.issym():
        return encode(member.linkname)
    stream = archive.extractfile(member)
    assert stream is not None
    with stream:
        return stream.read()


@contextmanager
def _unpacked(file: Path) -> Iterator[IO[bytes]]:
    """The tar inside ``file``, decompressed to its end (so that its checksum is checked)."""
    with tempfile.TemporaryFile() as unpacked:
        with _decompressor(file) as packed:
            while block := packed.read(_COPY_SIZE):
                check_size(file, unpacked.tell() + len(block))
                unpacked.write(block)
        unpacked.seek(0)
        yield unpacked


def _decompressor(file: Path) -> AbstractContextManager[_Readable]:
    suffix = next(suffix for suffix in _TAR_SUFFIXES if file.name.endswith(suffix))
    return _TAR_SUFFIXES[suffix](file)


def encode(text: str) -> bytes:
    """A name as the archive's own bytes."""
    return text.encode("utf-8", "surrogateescape")


def check_size(file: Path, size: int) -> None:
    """Raise InputError if an archive unpacks to more than :data:`SIZE_LIMIT`."""
    if size > SIZE_LIMIT:
        raise InputError(
            f"it unpacks to more than {SIZE_LIMIT // 1024**2} MiB, the most that is imported",
            where=Where(str(file)),
            hint="For a wheel or zip, narrower --covers globs leave the large files out.",
        )


def _special(file: Path, name: str) -> InputError:
    return InputError(
        f"{name!r} is neither file, directory nor symbolic link", where=Where(str(file))
    )


def unreadable(file: Path, error: OSError) -> InputError:
    """What to say of a file that the system does not give."""
    return InputError(f"cannot be read: {error.strerror or error}", where=Where(str(file)))


def _broken(file: Path, error: Exception) -> InputError:
    return InputError(
        f"the archive is broken: {error or type(error).__name__}",
        where=Where(str(file)),
        hint="Download it again and compare its sha256 with the one upstream gives.",
    )
