"""Archives as bases: find the file, import it, and bring it again when the lock names it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from patchq.archives.pypi import Requirement, download, parse_requirement
from patchq.archives.reader import (
    default_excludes,
    import_archive,
    read_archive,
    requirements_in,
    sha256_of,
)
from patchq.errors import InputError, UpstreamError, Where
from patchq.git.store import Store
from patchq.model.coverage import Coverage
from patchq.model.lock import Archive, Base, BuiltWheel, Lock, check_base_name
from patchq.model.workspace import Workspace


@dataclass(frozen=True)
class ArchiveImport:
    """An archive to become the base ``name``; ``source`` is what the lock says of its origin.

    ``built`` are wheels that upstream made of the same base.
    """

    name: str
    source: str
    file: Path
    prefix: str = ""
    covers: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    built: tuple[BuiltWheel, ...] = ()


def find_archive(
    workspace: Workspace, start: Path, source: str, python: str | None, platform: str | None
) -> tuple[Path, str]:
    """The file that ``source`` means, and how the lock is to name its source.

    ``pypi:NAME==VERSION`` is downloaded, the wheel chosen by ``python`` and ``platform``; a path
    is relative to ``start``, and to the workspace in the lock. Raises :class:`InputError` or
    :class:`UpstreamError` if there is none.
    """
    requirement: Requirement | None = parse_requirement(source)
    if requirement is not None:
        downloads = _downloads(workspace)
        return download(requirement, downloads, python=python, platform=platform), source
    if python or platform:
        raise InputError("--python and --platform choose among the wheels of pypi:NAME==VERSION")
    file = start / source
    if not file.is_file():
        raise InputError("there is no such file", where=Where(source))
    absolute = Path(source).is_absolute()
    return file, source if absolute else os.path.relpath(file, workspace.root)


def import_base(lock: Lock, store: Store, wanted: ArchiveImport) -> Base:
    """Bring an archive into the store as a base.

    Without ``covers``, a wheel covers its packages and modules, any other archive everything; what
    a wheel holds beside upstream's files is excluded. Raises :class:`UpstreamError` if the lock
    has the name with another archive or other globs; nothing is imported then.
    """
    check_base_name(wanted.name)
    prefix = wanted.prefix.rstrip("/")
    excludes = tuple(dict.fromkeys((*default_excludes(wanted.file), *wanted.excludes)))
    archive = Archive(
        source=wanted.source,
        file=wanted.file.name,
        sha256=sha256_of(wanted.file),
        prefix=prefix,
        covers=wanted.covers or _packages(wanted.file, prefix, excludes),
        excludes=excludes,
        requires=requirements_in(wanted.file),
        built=wanted.built,
    )
    if wanted.name in lock.names:
        lock.with_base(replace(lock.base(wanted.name), archive=archive))
    made = import_archive(
        store.persistent,
        wanted.file,
        prefix=prefix,
        coverage=Coverage(archive.covers, excludes),
        name=wanted.name,
    )
    return Base(wanted.name, made.commit, made.tree, made.date, archive)


def _packages(file: Path, prefix: str, excludes: tuple[str, ...]) -> tuple[str, ...]:
    """Globs for the top-level packages and modules of a wheel, from the root of the tree."""
    if file.suffix != ".whl":
        return ()
    files, _ = read_archive(file, prefix=prefix, coverage=Coverage(excludes=excludes))
    inside = f"{prefix}/" if prefix else ""
    tops = dict.fromkeys(each.path.removeprefix(inside).partition("/")[:2] for each in files)
    return tuple(
        "/" + re.sub(r"[][\\*?]", r"\\\g<0>", inside + name) + ("/**" if slash else "")
        for name, slash in tops
    )


def bring_archive(
    workspace: Workspace, store: Store, lock: Lock, base: Base, archive: Archive
) -> None:
    """Import the archive that the lock names for ``base``.

    Raises :class:`UpstreamError` if its file is not available, or is not what the lock says.
    """
    made = import_archive(
        store.persistent,
        _archive_file(workspace, base.name, archive),
        prefix=archive.prefix,
        coverage=base.coverage,
        name=base.name,
    )
    lock.with_base(replace(base, commit=made.commit, tree=made.tree))


def _archive_file(workspace: Workspace, name: str, archive: Archive) -> Path:
    """The file of the archive, its sha256 checked."""
    downloads = _downloads(workspace)
    requirement = parse_requirement(archive.source)
    if requirement is not None:
        return download(requirement, downloads, file=archive.file, sha256=archive.sha256)
    places = (workspace.root / archive.source, downloads / archive.file)
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise UpstreamError(
            f"{name}: {archive.source} is not there",
            hint=f"Put {archive.file} there, or into .patchq/downloads.",
        )
    found = sha256_of(file)
    if found != archive.sha256:
        raise UpstreamError(
            f"{name}: sha256 of {file} is {found}, upstream.lock has {archive.sha256}",
            hint="Nothing was imported. Get the file that was locked.",
        )
    return file


def _downloads(workspace: Workspace) -> Path:
    return workspace.state_dir / "downloads"
