"""Release archives as upstream bases: an archive becomes one deterministic commit in our store.

An archive comes from the network, so nothing in it is trusted: names are checked as git checks
them (git-fsck(1): ``..``, ``.git`` and what NTFS and HFS+ take for it), the size is bounded, and
nothing is unpacked into a directory.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import re
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

from packaging.metadata import parse_email

from patchq.errors import InputError, UpstreamError, Where
from patchq.git.fast_import import commit_files, is_ref
from patchq.git.process import Git
from patchq.model.coverage import Coverage
from patchq.model.names import is_dot_git, is_dot_gitmodules

SIZE_LIMIT = 2 * 1024**3
"""An archive that unpacks to more bytes than this is refused."""

ARCHIVE_REFS = "refs/patchq/archives/"

_REGULAR, _EXECUTABLE, _SYMLINK, _DIRECTORY = "100644", "100755", "120000", "040000"

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

_METADATA = re.compile(r"[^/]+\.dist-info/METADATA|[^/]+/PKG-INFO")

_COPY_SIZE = 1 << 20


@dataclass(frozen=True)
class ArchiveFile:
    """A file to be: its path in the tree, git's mode for it, and its bytes."""

    path: str
    mode: str
    content: bytes


@dataclass(frozen=True)
class ImportedArchive:
    """What an import left in the store; ``date`` is ISO 8601 in UTC."""

    commit: str
    tree: str
    date: str
    sha256: str


@dataclass(frozen=True)
class _Entry:
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


def sha256_of(file: Path) -> str:
    """The sha256 of a file's bytes, in hex; raises InputError if it cannot be read."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from error


def default_excludes(file: Path) -> tuple[str, ...]:
    """Globs for what a wheel holds beside upstream's own files; none for other archives.

    Compiled libraries, the wheel's metadata and data directories (the binary distribution format
    of packaging.python.org), and version files that setuptools-scm writes.
    """
    if file.suffix != ".whl":
        return ()
    libraries = ("*.so", "*.so.*", "*.pyd", "*.dylib")
    return (*libraries, "**/*.dist-info/**", "**/*.data/**", "_version.py")


def requirements_in(file: Path) -> tuple[str, ...] | None:
    """The lines of ``Requires-Dist`` in the metadata of a wheel or source distribution.

    None for an archive without metadata (Core metadata specifications of packaging.python.org), or
    if it says that they are not final. Raises InputError as :func:`read_archive` does.
    """
    with _readable(file), _entries(file) as entries:
        found = next((entry for entry in entries if _METADATA.fullmatch(entry.name)), None)
        if found is None:
            return None
        raw, _ = parse_email(found.read())
    if "requires-dist" in map(str.lower, raw.get("dynamic", [])):
        return None
    return tuple(" ".join(line.split()) for line in raw.get("requires_dist", []))


def read_archive(
    file: Path, *, prefix: str, coverage: Coverage
) -> tuple[tuple[ArchiveFile, ...], str]:
    """The covered files of an archive, by path, and the newest timestamp in it (ISO 8601, UTC).

    Paths are ``prefix`` and the name in the archive, without the single directory that holds
    everything in a source archive. Raises InputError if the format is not supported, the file
    is broken, or an entry cannot be part of a safe tree.
    """
    with _readable(file), _entries(file) as entries:
        return _tree(file, entries, prefix, coverage), _newest(entries)


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Turns what the readers raise on a broken file into InputError."""
    try:
        yield
    except OSError as error:
        # gzip and bz2 say "broken" by an OSError that has no errno.
        broken = error.errno is None
        raise (_broken if broken else _unreadable)(file, error) from error
    except _BROKEN_ERRORS as error:
        raise _broken(file, error) from error


def import_archive(
    git: Git, file: Path, *, prefix: str, coverage: Coverage, name: str
) -> ImportedArchive:
    """Bring an archive into the store as a commit without parents, at ``refs/patchq/archives/``.

    The same archive with the same prefix and globs gives the same commit on every machine.
    Raises InputError as :func:`read_archive` does, or where no file is covered.
    """
    ref = ARCHIVE_REFS + name
    if not is_ref(git, ref):
        raise InputError(f"{name!r} cannot be the name of a base", hint="git-check-ref-format(1)")
    sha256 = sha256_of(file)
    files, date = read_archive(file, prefix=prefix, coverage=coverage)
    if not files:
        raise InputError(
            "none of its files is covered",
            where=Where(str(file)),
            hint="Covered and excluded globs are matched against paths that begin with the prefix.",
        )
    message = f"Import {file.name}\n\nsha256: {sha256}\n"
    rows = ((file.path, file.mode, file.content) for file in files)
    commit, tree = commit_files(git, ref, message, datetime.fromisoformat(date), rows)
    return ImportedArchive(commit, tree, date, sha256)


def _tree(
    file: Path, entries: Sequence[_Entry], prefix: str, coverage: Coverage
) -> tuple[ArchiveFile, ...]:
    """The entries as files of a tree, once all of them are known to be safe."""
    root = _components(prefix.rstrip("/"), Where("--prefix"))
    named = [(_components(entry.name, Where(str(file))), entry) for entry in entries]
    _refuse_clashes(file, named)
    skip = 0 if file.suffix == ".whl" else _top_directories(named)
    files: list[ArchiveFile] = []
    total = 0
    for components, entry in named:
        if entry.mode == _SYMLINK and is_dot_gitmodules(components[-1]):
            raise InputError(f"{entry.name!r} is a symbolic link", where=Where(str(file)))
        path = "/".join((*root, *components[skip:]))
        if entry.mode == _DIRECTORY or not coverage.covers_path(path):
            continue
        total += entry.size
        if total > SIZE_LIMIT:
            raise _too_large(file)
        files.append(ArchiveFile(path, entry.mode, entry.read()))
    return tuple(sorted(files, key=lambda each: _encode(each.path)))


def _newest(entries: Sequence[_Entry]) -> str:
    newest = max((entry.time for entry in entries), default=0)
    return datetime.fromtimestamp(newest, UTC).isoformat()


def _components(name: str, where: Where) -> tuple[str, ...]:
    """The parts of a name; raises InputError if git would not check out such a path."""
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    unsafe = name.startswith("/") or "\0" in name or ".." in parts
    if unsafe or any(map(is_dot_git, parts)):
        raise InputError(f"unsafe path {name!r}", where=where)
    return parts


def _refuse_clashes(file: Path, named: Sequence[tuple[tuple[str, ...], _Entry]]) -> None:
    """Raise InputError where a path is there twice, or stands below one that is no directory."""
    leaves: dict[tuple[str, ...], _Entry] = {}
    for components, entry in named:
        if entry.mode == _DIRECTORY:
            continue
        if not components or components in leaves:
            raise InputError(f"{entry.name!r} is there twice", where=Where(str(file)))
        leaves[components] = entry
    for components, entry in named:
        end = len(components) + (entry.mode == _DIRECTORY)
        for length in range(1, end):
            above = leaves.get(components[:length])
            if above is not None:
                kind = "symbolic link" if above.mode == _SYMLINK else "file"
                raise InputError(
                    f"{entry.name!r} stands below the {kind} {above.name!r}",
                    where=Where(str(file)),
                )


def _top_directories(named: Sequence[tuple[tuple[str, ...], _Entry]]) -> int:
    """1 where one directory holds everything, as in a source archive, else 0."""
    tops = {components[0] for components, _ in named if components}
    loose = any(len(components) == 1 and entry.mode != _DIRECTORY for components, entry in named)
    return int(len(tops) == 1 and not loose)


@contextmanager
def _entries(file: Path) -> Iterator[Sequence[_Entry]]:
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


def _zip_entry(file: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Entry:
    name = info.orig_filename
    if not info.flag_bits & 0x800:  # not marked as UTF-8, so zipfile took it for cp437
        name = name.encode("cp437").decode("utf-8", "surrogateescape")
    if info.flag_bits & 0x1:
        raise InputError(f"{name!r} is encrypted", where=Where(str(file)))
    unix = info.external_attr >> 16
    kind = stat.S_IFMT(unix)
    if name.endswith("/") or kind == stat.S_IFDIR:
        mode = _DIRECTORY
    elif kind == stat.S_IFLNK:
        mode = _SYMLINK
    elif kind in (0, stat.S_IFREG):
        mode = _EXECUTABLE if unix & stat.S_IXUSR else _REGULAR
    else:
        raise _special(file, name)
    return _Entry(name, mode, info.file_size, _zip_time(info), lambda: _read_zip(archive, info))


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


def _tar_entries(file: Path, archive: tarfile.TarFile, stream: IO[bytes]) -> list[_Entry]:
    entries: dict[str, _Entry] = {}
    found: list[_Entry] = []
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
    file: Path, archive: tarfile.TarFile, member: tarfile.TarInfo, earlier: dict[str, _Entry]
) -> _Entry:
    if member.islnk():
        target = earlier.get(member.linkname)
        if target is None or target.mode == _DIRECTORY:
            raise InputError(
                f"{member.name!r} is a hard link to {member.linkname!r}, "
                "which is no earlier file of the archive",
                where=Where(str(file)),
            )
        return replace(target, name=member.name)
    if member.isdir():
        mode, size = _DIRECTORY, 0
    elif member.issym():
        mode, size = _SYMLINK, len(member.linkname)
    elif member.isreg():
        mode, size = (_EXECUTABLE if member.mode & stat.S_IXUSR else _REGULAR), member.size
    else:
        raise _special(file, member.name)
    return _Entry(member.name, mode, size, _tar_time(member), lambda: _read_tar(archive, member))


def _tar_time(member: tarfile.TarInfo) -> int:
    """A pax header can hold any number; one outside the years 1970 to 9999 is no date."""
    return int(member.mtime) if 0 <= member.mtime < 253402300800 else 0


def _read_tar(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    if member.issym():
        return _encode(member.linkname)
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
                if unpacked.tell() + len(block) > SIZE_LIMIT:
                    raise _too_large(file)
                unpacked.write(block)
        unpacked.seek(0)
        yield unpacked


def _decompressor(file: Path) -> AbstractContextManager[_Readable]:
    suffix = next(suffix for suffix in _TAR_SUFFIXES if file.name.endswith(suffix))
    return _TAR_SUFFIXES[suffix](file)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _too_large(file: Path) -> InputError:
    return InputError(
        f"it unpacks to more than {SIZE_LIMIT // 1024**2} MiB, the most that is imported",
        where=Where(str(file)),
        hint="For a wheel or zip, narrower --covers globs leave the large files out.",
    )


def _special(file: Path, name: str) -> InputError:
    return InputError(
        f"{name!r} is neither file, directory nor symbolic link", where=Where(str(file))
    )


def _unreadable(file: Path, error: OSError) -> InputError:
    return InputError(f"cannot be read: {error.strerror or error}", where=Where(str(file)))


def _broken(file: Path, error: Exception) -> InputError:
    return InputError(
        f"the archive is broken: {error or type(error).__name__}",
        where=Where(str(file)),
        hint="Download it again and compare its sha256 with the one upstream gives.",
    )
