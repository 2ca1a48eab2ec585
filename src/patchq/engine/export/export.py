"""A patched source tree in any form: the same bytes from the same inputs.

The tree holds a manifest of its inputs and nothing else of ours; what differs between two runs
(tool, time) goes to a file beside it.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from patchq import __version__
from patchq.archives.compression import Compression
from patchq.archives.reader import sha256_of
from patchq.engine.export.constraints import CONSTRAINTS, OVERRIDES, pin_files
from patchq.engine.export.formats import PlacedSeries, make
from patchq.engine.export.manifest import (
    MANIFEST,
    render_manifest,
    render_set_manifest,
    set_manifest,
    to_json,
)
from patchq.engine.export.prepare import Prepared
from patchq.engine.export.publish import companions, endings, publish, refuse_taken, staging
from patchq.engine.export.vendor import VENDOR, Vendored
from patchq.engine.verify.requirements import PYPROJECT
from patchq.errors import InputError
from patchq.git.search import lines_with_words
from patchq.git.tarball import OPEN_END, Differing, Snapshot, add_to_tar, packing
from patchq.model.export_format import ExportFormat
from patchq.model.ids import TreeId
from patchq.model.series import SeriesEntry

ARCHIVAL = ".git_archival.txt"
RECORD_SCHEMA = "patchq.export/1"

Beside = Mapping[str, bytes | Callable[[], bytes]]
"""Files that go beside an export, by ending."""


@dataclass(frozen=True)
class Exported:
    """What was written: ``tree`` is the patched tree without the manifest.

    ``left_out`` are the patches that the base does not cover.
    ``tar_sha256`` is that of the uncompressed tar (also of a directory's, were it packed),
    ``file_sha256`` that of the file at ``target``. ``packing`` is what attributes made of the
    tree's files.
    """

    series: str
    form: ExportFormat
    target: Path
    guards: tuple[str, ...]
    patches: tuple[str, ...]
    tree: TreeId
    tar_sha256: str
    file_sha256: str | None
    packing: Differing
    guarded_off: tuple[SeriesEntry, ...] = ()
    left_out: tuple[str, ...] = ()


def export_series(
    prepared: Prepared,
    form: ExportFormat,
    target: Path,
    beside: Beside | None = None,
    vendored: tuple[Vendored, ...] = (),
) -> Exported:
    """Write the tree to ``target``, and the files ``beside`` (by ending) next to it.

    Those that are functions are made while git packs the tree.

    All of it is there afterwards or nothing. Raises :class:`InputError` if ``target`` is taken
    or cannot be written, or the series cannot be had in that form.
    """
    target = target.resolve()
    project, base, subject = prepared.project, prepared.base, prepared.subject
    beside = beside or {}
    _refuse_taken_names(prepared, vendored)
    in_part = prepared.part.subdir is not None or prepared.part.of is not None
    if form.is_of_whole_tree and (in_part or vendored):
        raise InputError(
            f"--format {form.value} exports the whole tree",
            hint="Leave --subdir, --set and --vendor out.",
        )
    refuse_taken(target, form, beside)
    store, name = project.store, prepared.part.of
    snapshot = Snapshot(prepared.exported, base.name, base.date, prepared.prefix)
    with ExitStack() as stack:
        aside = stack.enter_context(staging(target))
        tar = aside / "tar"
        beside_it = stack.enter_context(ThreadPoolExecutor(1))
        compression = stack.enter_context(Compression(tar, aside / "packed", form.compression))
        then = partial(compression.begin, OPEN_END) if form.is_compressed else int
        with packing(store, snapshot, tar, then) as packed_by_git:
            files = {end: file() if callable(file) else file for end, file in beside.items()}
            packed = packed_by_git()
        altered = packed.differing if form.has_attributes else Differing()
        if name is not None:
            added = {set_manifest(name): render_set_manifest(prepared, name)}
        else:
            manifest = render_manifest(prepared, packed, altered, vendored)
            added = {**_additions(prepared), MANIFEST: manifest}
            added |= {item.name: item.file.read_bytes() for item in vendored}
        add_to_tar(packed, snapshot, added)
        digest = beside_it.submit(sha256_of, tar)
        made = (
            compression.finish()
            if form.is_compressed
            else make(form, PlacedSeries(store, base, subject.steps), snapshot, tar, aside)
        )
        if form.is_of_whole_tree:
            (made / MANIFEST).write_bytes(added[MANIFEST])
        exported = Exported(
            series=base.name,
            form=form,
            target=target,
            guards=tuple(sorted(subject.selection.guards)),
            patches=tuple(step.patch.name for step in subject.steps),
            tree=subject.tree,
            tar_sha256=digest.result(),
            file_sha256=sha256_of(made) if form.is_packed else None,
            packing=altered,
            guarded_off=subject.selection.directory.series.guarded_off(subject.selection.guards),
            left_out=prepared.left_out,
        )
        publish(_with_companions(exported, files, aside), made, target)
    return exported


def render_record(exported: Exported) -> bytes:
    """What was exported, by what and when, as JSON."""
    record = {
        "schema": RECORD_SCHEMA,
        "series": exported.series,
        "format": exported.form.value,
        "name": exported.target.name,
        "guards": list(exported.guards),
        "patches": list(exported.patches),
        "guarded_off": [
            {"name": entry.name, "guards": entry.guard_words} for entry in exported.guarded_off
        ],
        "not_covered": list(exported.left_out),
        "tree": exported.tree,
        "tar_sha256": exported.tar_sha256,
        "file_sha256": exported.file_sha256,
        "patchq": __version__,
        "python": platform.python_version(),
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return to_json(record)


def _additions(prepared: Prepared) -> dict[str, bytes]:
    """The files that an export has and the tree has not, its manifest aside."""
    added = pin_files(prepared)
    objects, base = prepared.project.store.objects, prepared.base
    if _asks_git_for_its_version(prepared) and not objects.entry(prepared.exported, ARCHIVAL):
        added[ARCHIVAL] = (
            f"node: {base.commit}\nnode-date: {base.date}\n"
            f"describe-name: {base.name}\nref-names: tag: {base.name}\n"
        ).encode()
    return added


def _asks_git_for_its_version(prepared: Prepared) -> bool:
    """Whether a project of the tree has setuptools-scm find its version, and the tag says one."""
    rows = lines_with_words(
        prepared.project.store.git,
        prepared.exported,
        ["setuptools_scm", "setuptools-scm"],
        [PYPROJECT],
    )
    return bool(rows) and any(map(str.isdigit, prepared.base.name))


def _refuse_taken_names(prepared: Prepared, vendored: tuple[Vendored, ...]) -> None:
    of = prepared.part.of
    names = {set_manifest(of) if of else MANIFEST: "export's manifest"}
    if prepared.part.of is None:
        pins = pin_files(prepared)
        names |= {
            name: "file of the recipe's pins" for name in (CONSTRAINTS, OVERRIDES) if name in pins
        }
    if vendored:
        names[VENDOR] = "directory of --vendor"
    for name, what in names.items():
        if prepared.project.store.objects.entry(prepared.exported, name) is not None:
            raise InputError(
                f"the tree has a file {name}, which is the name of the {what}",
                hint="Add a patch that renames it.",
            )


def _with_companions(
    exported: Exported, beside: Mapping[str, bytes], aside: Path
) -> dict[Path, Path]:
    """Write the files that go beside the target; where each is now, and where it belongs."""
    contents = {"sha256": _checksum(exported), "export.json": render_record(exported), **beside}
    names = endings(exported.form, beside)
    moves = {}
    for ending, place in companions(exported.target, names).items():
        staged = aside / ending
        staged.write_bytes(contents[ending])
        moves[staged] = place
    return moves


def _checksum(exported: Exported) -> bytes:
    """The file that was written, as ``sha256sum`` says it."""
    line = f"{exported.file_sha256}  {exported.target.name}\n"
    return line.encode("utf-8", "surrogateescape")
