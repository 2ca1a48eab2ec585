"""A wheel that upstream built of a base, read once and kept in the lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from patchq.archives.bases import find_archive
from patchq.archives.pypi import parse_requirement
from patchq.archives.reader import sha256_of
from patchq.engine.verify.wheel.fatbin import read_wheel
from patchq.errors import InputError, Where
from patchq.model.lock import Base, BuiltWheel, Lock
from patchq.model.wheel import library_line
from patchq.model.workspace import Workspace


def read_built(workspace: Workspace, start: Path, text: str, platform: str | None) -> BuiltWheel:
    """The wheel that ``DIR=SOURCE`` names: where in upstream's tree it was built, and its file.

    ``platform`` chooses among those of the package index. Raises :class:`InputError` for anything
    else and for a wheel without GPU code, :class:`~patchq.errors.UpstreamError` if there is none.
    """
    directory, _, source = text.partition("=")
    directory = directory.rstrip("/")
    if not directory or not source or directory.startswith("/") or ".." in directory.split("/"):
        raise InputError(
            f"--built {text!r} does not say where in upstream's tree the wheel is built",
            hint="Write DIR=FILE or DIR=pypi:NAME==VERSION.",
        )
    chosen = platform if parse_requirement(source) else None
    file, origin = find_archive(workspace, start, source, None, chosen)
    libraries = read_wheel(file)
    if not libraries:
        raise InputError(
            "none of its libraries holds GPU code",
            where=Where(str(file)),
            hint="Is it the right wheel?",
        )
    lines = tuple(map(library_line, libraries))
    return BuiltWheel(directory, origin, file.name, sha256_of(file), lines)


def with_built(lock: Lock, name: str, wheels: Sequence[BuiltWheel]) -> Base:
    """The base ``name`` of the lock with ``wheels`` beside its archive.

    Raises :class:`InputError` if there are none, or if the base is no archive: then it covers what
    they were built from.
    """
    if not wheels:
        raise InputError(
            "nothing to import", hint="Give an archive, or --built for a base that has one."
        )
    base = lock.base(name)
    if base.archive is None:
        raise InputError(f"{name} is from git and covers everything: a wheel tells nothing more")
    return replace(base, archive=replace(base.archive, built=tuple(wheels)))
