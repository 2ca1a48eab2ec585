"""A patched source tree as a tarball or a directory: the same bytes from the same inputs.

The tree holds a manifest of its inputs and nothing else of ours; what differs between two runs
(tool, time) goes to a file beside it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from patchq import __version__
from patchq.engine.project import Project
from patchq.engine.selection import Selection, require_order
from patchq.engine.stack import Stack
from patchq.errors import FindingsError, InputError, Where
from patchq.git.tarball import Snapshot, unpack_tar, write_tar
from patchq.model.coverage import Coverage
from patchq.model.lock import Base, Lock
from patchq.model.retired import Standing

MANIFEST = "patchq-manifest.json"
MANIFEST_SCHEMA = "patchq.manifest/1"
RECORD_SCHEMA = "patchq.export/1"

_COMPRESSION = 6


class Form(Enum):
    """What an export is written as."""

    DIRECTORY = "dir"
    TAR_GZ = "tar.gz"

    @classmethod
    def of(cls, target: Path | None) -> Form:
        """What the name of ``target`` asks for: a tarball by its ending, else a directory."""
        packed = target is not None and target.name.endswith((".tar.gz", ".tgz"))
        return cls.TAR_GZ if packed else cls.DIRECTORY

    @property
    def ending(self) -> str:
        """What a name of this form ends in."""
        return ".tar.gz" if self is Form.TAR_GZ else ""


@dataclass(frozen=True)
class Exported:
    """What was written: ``tree`` is the patched tree without the manifest.

    ``tar_sha256`` is that of the uncompressed tar (also of a directory's, were it packed),
    ``file_sha256`` that of the file at ``target``.
    """

    series: str
    form: Form
    target: Path
    guards: tuple[str, ...]
    patches: tuple[str, ...]
    tree: str
    tar_sha256: str
    file_sha256: str | None


def default_name(lock: Lock, tag: str) -> str:
    """The name of the export of ``tag``, and of the directory inside it: project, tag, patched."""
    parts = [part.removesuffix(".git") for part in re.split(r"[/:\\]", lock.upstream)]
    project = next((part for part in reversed(parts) if part), "")
    return f"{re.sub(r'[^A-Za-z0-9._+-]', '-', project).lstrip('-.') or 'upstream'}-{tag}-patched"


def export_series(project: Project, selection: Selection, form: Form, target: Path) -> Exported:
    """Apply the selection strictly to its base and write the tree to ``target``.

    All of it is there afterwards or nothing. Raises :class:`FindingsError` where a patch is held
    or not covered by its base; :class:`InputError` where a patch does not apply, lacks what it
    requires, or ``target`` is taken or cannot be written.
    """
    target = target.resolve()
    store, lock = project.store, project.lock
    base = lock.base(selection.directory.tag)
    _refuse_taken(target, form)
    _refuse_held(selection)
    _refuse_uncovered(selection, base)
    require_order(selection)
    store.require((base,))
    tree = Stack(store).apply_all(base.tree, selection.patches, onto=base.name)
    if store.objects.entry(tree, MANIFEST) is not None:
        raise InputError(
            f"the tree has a file {MANIFEST}, which is the name of the export's manifest",
            hint="Add a patch that renames it.",
        )
    snapshot = Snapshot(tree, base.name, base.date, default_name(lock, base.name))
    with _staging(target) as aside:
        tar = aside / "tar"
        manifest = _manifest(lock, base, selection, tree)
        write_tar(store, snapshot, tar, added={MANIFEST: manifest})
        packed = _packed(tar, form, aside / "packed", snapshot)
        exported = Exported(
            series=selection.directory.tag,
            form=form,
            target=target,
            guards=tuple(sorted(selection.guards)),
            patches=tuple(patch.name for patch in selection.patches),
            tree=tree,
            tar_sha256=_sha256(tar),
            file_sha256=_sha256(packed) if form is Form.TAR_GZ else None,
        )
        _publish(_with_companions(exported, aside), packed, target)
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
        "tree": exported.tree,
        "tar_sha256": exported.tar_sha256,
        "file_sha256": exported.file_sha256,
        "patchq": __version__,
        "python": platform.python_version(),
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return _json(record)


def _manifest(lock: Lock, base: Base, selection: Selection, tree: str) -> bytes:
    pins: dict[str, Any] = {"name": base.name, "commit": base.commit, "tree": base.tree}
    if base.archive is not None:
        pins["archive"] = {"file": base.archive.file, "sha256": base.archive.sha256}
    manifest = {
        "schema": MANIFEST_SCHEMA,
        "upstream": lock.upstream,
        "base": pins,
        "guards": sorted(selection.guards),
        "patches": [
            {"name": patch.name, "sha256": patch.sha256, "subject": patch.header.subject}
            for patch in selection.patches
        ],
        "tree": tree,
    }
    return _json(manifest)


def _json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2) + "\n").encode("ascii")


def _refuse_held(selection: Selection) -> None:
    held = [
        record.name for record in selection.directory.retired if record.standing is Standing.HELD
    ]
    if held:
        raise FindingsError(
            f"series {selection.directory.tag} is not whole: {', '.join(held)} "
            f"{'is' if len(held) == 1 else 'are'} held for a person",
            hint="Bring each one over by hand and import it, or drop it.",
        )


def _refuse_uncovered(selection: Selection, base: Base) -> None:
    if base.archive is None:
        return
    coverage = Coverage(base.archive.covers, base.archive.excludes)
    for patch in selection.patches:
        outside = [path for path in patch.paths if not coverage.covers_path(path)]
        if outside:
            raise FindingsError(
                f"{', '.join(outside)} is not covered by {base.archive.file}, which {base.name} "
                "was imported from",
                where=patch.where or Where(patch.name),
                hint="Put the patch behind a guard, or take a base that has the path.",
            )


def _companions(target: Path, form: Form) -> dict[str, Path]:
    endings = ("sha256", "export.json") if form is Form.TAR_GZ else ("export.json",)
    return {ending: target.with_name(f"{target.name}.{ending}") for ending in endings}


def _refuse_taken(target: Path, form: Form) -> None:
    if form is Form.DIRECTORY and target.is_dir():
        taken = [target] if any(target.iterdir()) else []
    else:
        taken = [target] if target.exists() else []
    taken += [path for path in _companions(target, form).values() if path.exists()]
    if taken:
        raise InputError(
            f"{taken[0]} is there already; nothing was exported",
            hint="Remove it, or name another place with -o.",
        )


@contextmanager
def _staging(target: Path) -> Iterator[Path]:
    """A directory on the target's own file system, gone when done."""
    try:
        holder = tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(
            f"cannot write to {target.parent}: {error.strerror}",
            hint="Name another place with -o.",
        ) from error
    with holder as directory:
        yield Path(directory)


def _packed(tar: Path, form: Form, to: Path, snapshot: Snapshot) -> Path:
    """The tar in the form asked for, at or below ``to``."""
    if form is Form.TAR_GZ:
        _compress(tar, to)
        return to
    to.mkdir()
    unpack_tar(tar, to)
    return to / snapshot.prefix


def _compress(tar: Path, to: Path) -> None:
    with (
        tar.open("rb") as source,
        to.open("xb") as stream,
        gzip.GzipFile(
            filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=stream, mtime=0
        ) as packer,
    ):
        shutil.copyfileobj(source, packer, 1 << 20)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _with_companions(exported: Exported, aside: Path) -> dict[Path, Path]:
    """Write the files that go beside the target; where each is now, and where it belongs."""
    contents = {"sha256": _checksums(exported), "export.json": render_record(exported)}
    moves = {}
    for ending, place in _companions(exported.target, exported.form).items():
        staged = aside / ending
        staged.write_bytes(contents[ending])
        moves[staged] = place
    return moves


def _checksums(exported: Exported) -> bytes:
    """The tar and the compressed file, as ``sha256sum`` writes them."""
    name = exported.target.name
    stem = re.sub(r"\.(tar\.gz|tgz|gz)$", "", name)
    lines = f"{exported.file_sha256}  {name}\n{exported.tar_sha256}  {stem}.tar\n"
    return lines.encode("utf-8", "surrogateescape")


def _publish(companions: Mapping[Path, Path], packed: Path, target: Path) -> None:
    """Put everything in its place, the export itself last."""
    placed: list[Path] = []
    try:
        for staged, place in companions.items():
            staged.rename(place)
            placed.append(place)
        packed.rename(target)
    except BaseException:
        for place in placed:
            place.unlink()
        raise
