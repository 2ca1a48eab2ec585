"""The forms of an export, and how each is made of a series in place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from patchq.engine.series.message import wording
from patchq.engine.series.rewrite import applies_alike, barred
from patchq.engine.verify.subject import PatchStep
from patchq.errors import InputError, Where
from patchq.git.branch import CommitToMake, commit_changes, write_repository
from patchq.git.process import EMAIL, IDENTITY
from patchq.git.store import Store
from patchq.git.tar_entries import unpack
from patchq.git.tarball import Differing, Snapshot, write_tar, write_zip
from patchq.model.export_format import ExportFormat
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.words import some

PATCHES = "patches"


@dataclass(frozen=True)
class PlacedSeries:
    """A series in place on its base, as far as its forms are made of it."""

    store: Store
    base: Base
    steps: tuple[PatchStep, ...]


def make(
    form: ExportFormat, placed: PlacedSeries, snapshot: Snapshot, tar: Path, aside: Path
) -> Path:
    """The export in ``form``, made in the directory ``aside``; ``tar`` is the tar of its tree.

    What is compressed as a whole is not made here.

    Raises :class:`InputError` if the series cannot be had in that form.
    """
    if form is ExportFormat.TAR:
        return tar
    if form is ExportFormat.ZIP:
        to = aside / "packed"
        write_zip(tar, to)
        return to
    if form is ExportFormat.PATCHES:
        return _patches(placed, snapshot, aside / PATCHES)
    if form is ExportFormat.GIT:
        to = aside / "git"
        _repository(placed, to)
        return to
    if form is ExportFormat.QUILT:
        return _quilt(placed, snapshot, aside)
    return _unpacked(tar, snapshot, aside / "tree")


def _unpacked(tar: Path, snapshot: Snapshot, into: Path) -> Path:
    into.mkdir()
    unpack(tar, into)
    return into / snapshot.prefix


def _repository(placed: PlacedSeries, to: Path) -> None:
    store, base = placed.store, placed.base
    fallback = {"author": f"{IDENTITY} <{EMAIL}>", "date": store.raw_date(base.commit)}
    changes = []
    for step in placed.steps:
        words = wording(step.patch, **fallback)
        changes.append(CommitToMake(step.tree, words.message, words.author, words.date))
    tip = commit_changes(store, base.commit, changes)
    to.mkdir()
    write_repository(store, base.commit, tip, f"patchq/{base.name}", base.name, to)


def _quilt(placed: PlacedSeries, snapshot: Snapshot, aside: Path) -> Path:
    """The unpatched tree, and in its ``patches`` what ``quilt push -a`` makes the patched one of.

    quilt(1) reads ``patches/series``. GNU patch cannot move files, so a patch that does is written
    as one that deletes and adds; it knows nothing of binary patches.
    """
    store, base = placed.store, placed.base
    if store.objects.entry(base.tree, PATCHES) is not None:
        raise InputError(
            f"the tree has a {PATCHES} of its own, which is where quilt looks for its series",
            hint="Take --format git, or a tarball.",
        )
    plain = Snapshot(base.tree, snapshot.name, snapshot.date, snapshot.prefix)
    tar = aside / "plain.tar"
    packed = write_tar(store, plain, tar)
    _refuse_altered(placed, packed.differing)
    root = _unpacked(tar, plain, aside / "tree")
    directory = root / PATCHES
    directory.mkdir()
    lines = []
    for step in placed.steps:
        content, strip = for_gnu_patch(store, step)
        file = directory / step.patch.name
        file.parent.mkdir(parents=True, exist_ok=True)
        _write(file, content, snapshot.seconds)
        lines.append(f"{step.patch.name}{'' if strip == 1 else f' -p{strip}'}\n")
    order = "".join(lines).encode("utf-8", "surrogateescape")
    _write(directory / "series", order, snapshot.seconds)
    for made in (directory, *filter(Path.is_dir, directory.rglob("*"))):
        made.chmod(0o755)
        os.utime(made, (snapshot.seconds, snapshot.seconds))
    os.utime(root, (snapshot.seconds, snapshot.seconds))
    return root


def _refuse_altered(placed: PlacedSeries, packing: Differing) -> None:
    altered = {*packing.left_out, *packing.changed}
    for step in placed.steps:
        if found := [path for path in step.patch.paths if path in altered]:
            raise InputError(
                f"it changes {some(found)}, which the tree's .gitattributes leave out of an export "
                "or change there, so that quilt cannot apply it",
                where=step.patch.where or Where(step.patch.name),
                hint="Take --format git, or a tarball.",
            )


def _patches(placed: PlacedSeries, snapshot: Snapshot, to: Path) -> Path:
    """The patches as they are, byte for byte, and their order as a series file."""
    to.mkdir()
    lines = []
    for step in placed.steps:
        patch = step.patch
        file = to / patch.name
        file.parent.mkdir(parents=True, exist_ok=True)
        _write(file, patch.raw, snapshot.seconds)
        lines.append(f"{patch.name}{'' if patch.strip == 1 else f' -p{patch.strip}'}\n")
    order = "".join(lines).encode("utf-8", "surrogateescape")
    _write(to / "series", order, snapshot.seconds)
    return to


def for_gnu_patch(store: Store, step: PatchStep) -> tuple[bytes, int]:
    """The patch as GNU patch can take it, and its ``-p``.

    Raises :class:`InputError` if it cannot.
    """
    patch = step.patch
    for path in (path for change in patch.files for path in change.paths):
        if path.endswith(" "):  # a date may follow a name in a diff
            raise InputError(
                f"GNU patch and so quilt cannot be told the name {path!r}, which ends in a space",
                where=patch.where or Where(patch.name),
                hint="Take --format git, or a tarball.",
            )
    if any(change.binary for change in patch.files):
        raise InputError(
            "it changes a binary file, which GNU patch and so quilt cannot do",
            where=patch.where or Where(patch.name),
            hint="Take --format git, or a tarball.",
        )
    if not _moves_files(patch) and applies_alike(patch, step.applied, store.objects):
        return patch.raw, patch.strip
    diff = store.mailer.unmoved(step.onto, step.tree)
    return barred(patch.head) + diff, 1


def _moves_files(patch: Patch) -> bool:
    return any(len(change.paths) > 1 for change in patch.files)


def _write(file: Path, content: bytes, seconds: int) -> None:
    file.write_bytes(content)
    file.chmod(0o644)
    os.utime(file, (seconds, seconds))
