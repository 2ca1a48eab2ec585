"""Putting an export in its place: all of it is there afterwards, or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from patchq.engine.export.manifest import MANIFEST
from patchq.errors import InputError
from patchq.files import scratch_beside
from patchq.model.export_format import ExportFormat
from patchq.model.workspace import LOCK
from patchq.written import note


def companions(target: Path, endings: Iterable[str]) -> dict[str, Path]:
    """The files that go beside ``target``, by ending."""
    return {ending: target.with_name(f"{target.name}.{ending}") for ending in endings}


def endings(form: ExportFormat, beside: Iterable[str]) -> tuple[str, ...]:
    """The endings of what goes beside an export, ``beside`` among them."""
    return (*(("sha256",) if form.is_packed else ()), "export.json", *beside)


def refuse_taken(target: Path, form: ExportFormat, beside: Iterable[str]) -> None:
    """Raise :class:`InputError` if something is at or beside ``target``, or an export around it.

    What an export that is gone has left there is not in the way.
    """
    for parent in target.parents:
        if (parent / LOCK).is_file():
            break
        if (parent / MANIFEST).is_file():
            raise InputError(
                f"{target} is inside an earlier export, {parent}; nothing was exported",
                hint="Name another place with -o.",
            )
    if not form.is_packed and target.is_dir():
        taken = [target] if any(target.iterdir()) else []
    else:
        taken = [target] if target.exists() else []
    others = companions(target, endings(form, beside)).values()
    taken += [path for path in others if path.exists() and not _left_over(path, target)]
    if taken:
        raise InputError(
            f"{taken[0]} is there already{_what(taken[0])}; nothing was exported",
            hint="Remove it, or name another place with -o.",
        )


def check_place(target: Path, form: ExportFormat) -> None:
    """Raise :class:`InputError` at once if nothing can be written to ``target``."""
    parent = target.resolve().parent
    if not parent.is_dir():
        why = "Not a directory" if parent.exists() else "No such file or directory"
        raise InputError(f"cannot write to {parent}: {why}", hint="Name another place with -o.")
    refuse_taken(target.resolve(), form, ())


def _what(taken: Path) -> str:
    if not taken.is_dir():
        return ""
    return ", an earlier export" if (taken / MANIFEST).is_file() else ", and not empty"


def _left_over(companion: Path, target: Path) -> bool:
    """Whether a file beside ``target`` is what an export wrote there: a record, or checksums."""
    if not companion.is_file():
        return False
    content = companion.read_bytes()
    return b'"schema": "patchq.' in content or os.fsencode(f"  {target.name}\n") in content


@contextmanager
def staging(target: Path) -> Iterator[Path]:
    """A directory on the target's own file system, gone when done."""
    with ExitStack() as stack:
        try:
            directory = stack.enter_context(scratch_beside(target.parent, f".{target.name}."))
        except OSError as error:
            raise InputError(
                f"cannot write to {target.parent}: {error.strerror}",
                hint="Name another place with -o.",
            ) from error
        yield directory


def publish(beside: Mapping[Path, Path], packed: Path, target: Path) -> None:
    """Put everything in its place, the export itself last."""
    try:
        for staged, place in beside.items():
            staged.rename(place)
        packed.rename(target)
    finally:
        if packed.exists():
            for staged, place in beside.items():
                if not staged.exists():
                    place.unlink()
        else:
            note(f"{target}, with all that belongs beside it")
