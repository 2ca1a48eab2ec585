"""Release archives as upstream bases: an archive becomes one deterministic commit in our store.

An archive comes from the network, so nothing in it is trusted: names are checked as git checks
them (git-fsck(1): ``..``, ``.git`` and what NTFS and HFS+ take for it), the size is bounded, and
nothing is unpacked into a directory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from packaging.metadata import parse_email

from patchq.archives.entries import (
    DIRECTORY,
    SYMLINK,
    ArchiveEntry,
    check_size,
    encode,
    open_entries,
    readable,
    unreadable,
)
from patchq.errors import InputError, Where
from patchq.git.fast_import import commit_files, is_ref
from patchq.git.process import Git
from patchq.model.coverage import Coverage
from patchq.model.ids import CommitId, TreeId
from patchq.model.names import DEEPEST, MOST_BYTES, fits, is_dot_git, is_dot_gitmodules, is_target

ARCHIVE_REFS = "refs/patchq/archives/"

_MOST_METADATA = 16 << 20
"""Metadata of more bytes than this is none."""

_METADATA = re.compile(r"[^/]+\.dist-info/METADATA|[^/]+/PKG-INFO")


@dataclass(frozen=True)
class ArchiveFile:
    """A file to be: its path in the tree, git's mode for it, and its bytes."""

    path: str
    mode: str
    content: bytes


@dataclass(frozen=True)
class ImportedArchive:
    """What an import left in the store; ``date`` is ISO 8601 in UTC."""

    commit: CommitId
    tree: TreeId
    date: str
    sha256: str


def sha256_of(file: Path) -> str:
    """The sha256 of a file's bytes, in hex; raises InputError if it cannot be read."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(file, error) from error


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
    with readable(file), open_entries(file) as entries:
        found = next((entry for entry in entries if _METADATA.fullmatch(entry.name)), None)
        if found is None:
            return None
        if found.size > _MOST_METADATA:
            raise InputError(
                f"{found.name!r} is longer than {_MOST_METADATA >> 20} MiB", where=Where(str(file))
            )
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
    with readable(file), open_entries(file) as entries:
        return _tree(file, entries, prefix, coverage), _newest(entries)


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
    file: Path, entries: Sequence[ArchiveEntry], prefix: str, coverage: Coverage
) -> tuple[ArchiveFile, ...]:
    """The entries as files of a tree, once all of them are known to be safe."""
    root = _components(prefix.rstrip("/"), Where("--prefix"))
    named = [(_components(entry.name, Where(str(file))), entry) for entry in entries]
    _refuse_clashes(file, named)
    skip = 0 if file.suffix == ".whl" else _top_directories(named)
    files: list[ArchiveFile] = []
    total = 0
    for components, entry in named:
        if entry.mode == SYMLINK and is_dot_gitmodules(components[-1]):
            raise InputError(f"{entry.name!r} is a symbolic link", where=Where(str(file)))
        path = "/".join((*root, *components[skip:]))
        if entry.mode == DIRECTORY or not coverage.covers_path(path):
            continue
        total += entry.size
        check_size(file, total)
        content = entry.read()
        if entry.mode == SYMLINK and not is_target(content):
            raise InputError(
                f"{entry.name!r} is a symbolic link to nowhere", where=Where(str(file))
            )
        files.append(ArchiveFile(path, entry.mode, content))
    return tuple(sorted(files, key=lambda each: encode(each.path)))


def _newest(entries: Sequence[ArchiveEntry]) -> str:
    newest = max((entry.time for entry in entries), default=0)
    return datetime.fromtimestamp(newest, UTC).isoformat()


def _components(name: str, where: Where) -> tuple[str, ...]:
    """The parts of a name; raises InputError if git would not check out such a path."""
    if not fits(name):
        raise InputError(
            f"a path in it is longer or deeper than patchq takes: {name[:40]!r}…",
            where=where,
            hint=f"At most {MOST_BYTES} bytes and {DEEPEST} directories are handled.",
        )
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    unsafe = name.startswith("/") or "\0" in name or ".." in parts
    if unsafe or any(map(is_dot_git, parts)):
        raise InputError(f"unsafe path {name!r}", where=where)
    return parts


def _refuse_clashes(file: Path, named: Sequence[tuple[tuple[str, ...], ArchiveEntry]]) -> None:
    """Raise InputError where a path is there twice, or stands below one that is no directory."""
    leaves: dict[tuple[str, ...], ArchiveEntry] = {}
    for components, entry in named:
        if entry.mode == DIRECTORY:
            continue
        if not components or components in leaves:
            raise InputError(f"{entry.name!r} is there twice", where=Where(str(file)))
        leaves[components] = entry
    for components, entry in named:
        end = len(components) + (entry.mode == DIRECTORY)
        for length in range(1, end):
            above = leaves.get(components[:length])
            if above is not None:
                kind = "symbolic link" if above.mode == SYMLINK else "file"
                raise InputError(
                    f"{entry.name!r} stands below the {kind} {above.name!r}",
                    where=Where(str(file)),
                )


def _top_directories(named: Sequence[tuple[tuple[str, ...], ArchiveEntry]]) -> int:
    """1 where one directory holds everything, as in a source archive, else 0."""
    tops = {components[0] for components, _ in named if components}
    loose = any(len(components) == 1 and entry.mode != DIRECTORY for components, entry in named)
    return int(len(tops) == 1 and not loose)
