"""A patched source tree as a tarball or a directory: the same bytes from the same inputs.

The tree holds a manifest of its inputs and nothing else of ours; what differs between two runs
(tool, time) goes to a file beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from patchq import __version__
from patchq.engine.export.contents import leads_outside, set_hashes, survey
from patchq.engine.export.formats import PACKED_ENDINGS, ExportFormat, Placed, make
from patchq.engine.series.selection import Selection, require_order
from patchq.engine.series.variants import turn_on
from patchq.engine.verify import pins
from patchq.engine.verify.build.prediction import predicted_builds
from patchq.engine.verify.subject import Subject, put_in_place, uncovered, uncovered_words
from patchq.engine.verify.wheel.check import MANIFEST_SCHEMA
from patchq.engine.workspace.project import Project
from patchq.errors import FindingsError, InputError, Where
from patchq.git.search import lines_with_words
from patchq.git.tarball import Differing, Snapshot, add_to_tar, differing, write_tar
from patchq.model.building import fill
from patchq.model.lock import Base, Lock
from patchq.model.prediction import predict, prediction_facts
from patchq.model.recipe import Chosen
from patchq.model.retired import RecordState
from patchq.model.verification import Remark

MANIFEST = "patchq-manifest.json"
CONSTRAINTS = "constraints.txt"
ARCHIVAL = ".git_archival.txt"
RECORD_SCHEMA = "patchq.export/1"


@dataclass(frozen=True)
class Exported:
    """What was written: ``tree`` is the patched tree without the manifest.

    ``tar_sha256`` is that of the uncompressed tar (also of a directory's, were it packed),
    ``file_sha256`` that of the file at ``target``.
    """

    series: str
    form: ExportFormat
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


@dataclass(frozen=True)
class Prepared:
    """A selection in place on its base, found fit for an export.

    ``subdir`` is the part of the tree that is exported, None for all of it.
    """

    project: Project
    subject: Subject
    choice: Chosen
    subdir: str | None = None

    @property
    def base(self) -> Base:
        """What it stands on."""
        return self.subject.base

    @property
    def exported(self) -> str:
        """The tree that is written."""
        if self.subdir is None:
            return self.subject.tree
        entry = self.project.store.objects.entry(self.subject.tree, self.subdir)
        if entry is None or not entry.is_tree:
            raise InputError(
                f"the patched tree has no directory {self.subdir}",
                hint="Give it from the root of the tree, without a leading slash.",
            )
        return entry.oid

    @cached_property
    def outside(self) -> tuple[Remark, ...]:
        """What the exported part needs that is not in it: it cannot be built alone."""
        if self.subdir is None:
            return ()
        return leads_outside(self.project.store, self.subject.tree, self.subdir)

    @property
    def version(self) -> str | None:
        """The version of the recipe's project, with what the downstream puts behind it."""
        own, local = pins.own_version(self.subject.recipe, self.subject.after), self._local
        return f"{own}{local}" if own else None

    @property
    def _local(self) -> str:
        local = self.subject.recipe.local_version
        return f"+{local}" if local else ""

    @property
    def prefix(self) -> str:
        """The name of the directory that all of it lies in."""
        return default_name(self.project.lock, self.base.name)


def prepare_export(
    project: Project,
    selection: Selection,
    variants: Iterable[str] = (),
    subdir: str | None = None,
) -> Prepared:
    """Apply the selection, with what ``variants`` turn on, strictly to its base.

    Raises :class:`FindingsError` where a patch is held or not covered by its base;
    :class:`InputError` where a patch does not apply or lacks what it requires, and where a variant
    or the subdirectory is not there.
    """
    selection, choice = turn_on(project.settings, selection, variants)
    _refuse_held(selection)
    _refuse_uncovered(selection, project.lock.base(selection.directory.tag))
    require_order(selection)
    subject = put_in_place(project, selection)
    subdir = None if subdir is None else subdir.strip("/")
    prepared = Prepared(project, subject, choice, subdir or None)
    _refuse_taken_names(prepared)
    return prepared


def export_series(
    prepared: Prepared, form: ExportFormat, target: Path, beside: Mapping[str, bytes] | None = None
) -> Exported:
    """Write the tree to ``target``, and the files ``beside`` (by ending) next to it.

    All of it is there afterwards or nothing. Raises :class:`InputError` where ``target`` is taken
    or cannot be written, or the series cannot be had in that form.
    """
    target = target.resolve()
    project, base, subject = prepared.project, prepared.base, prepared.subject
    beside = beside or {}
    if prepared.subdir is not None and form in (ExportFormat.QUILT, ExportFormat.GIT):
        raise InputError(f"--format {form.value} is of a whole tree", hint="Leave --subdir out.")
    _refuse_taken(target, form, beside)
    store = project.store
    snapshot = Snapshot(prepared.exported, base.name, base.date, prepared.prefix)
    with _staging(target) as aside:
        tar = aside / "tar"
        write_tar(store, snapshot, tar)
        manifest = render_manifest(prepared, differing(store, tar, snapshot))
        add_to_tar(tar, snapshot, {**_additions(prepared), MANIFEST: manifest})
        made = make(form, Placed(store, base, subject.steps), snapshot, tar, aside)
        if form in (ExportFormat.QUILT, ExportFormat.GIT):
            (made / MANIFEST).write_bytes(manifest)
        exported = Exported(
            series=base.name,
            form=form,
            target=target,
            guards=tuple(sorted(subject.selection.guards)),
            patches=tuple(step.patch.name for step in subject.steps),
            tree=subject.tree,
            tar_sha256=_sha256(tar),
            file_sha256=_sha256(made) if form.is_packed else None,
        )
        _publish(_with_companions(exported, beside, aside), made, target)
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


def render_manifest(prepared: Prepared, packing: Differing) -> bytes:
    """What goes into an export, as JSON; ``packing`` is what attributes made of its files.

    What the build is predicted to hold stands in it, so that a wheel can be verified with it
    alone. Raises :class:`~patchq.errors.PatchqError` where there is no CMake to predict with.
    """
    project, subject, base = prepared.project, prepared.subject, prepared.base
    store, lock, recipe = project.store, project.lock, subject.recipe
    origin: dict[str, Any] = {"name": base.name, "commit": base.commit, "tree": base.tree}
    if base.archive is not None:
        origin["archive"] = {"file": base.archive.file, "sha256": base.archive.sha256}
    contents = survey(store, prepared.exported)
    manifest: dict[str, Any] = {
        "schema": MANIFEST_SCHEMA,
        "upstream": lock.upstream,
        "base": origin,
        "guards": sorted(subject.selection.guards),
        "patches": [
            {"name": patch.name, "sha256": patch.sha256, "subject": patch.header.subject}
            for patch in subject.selection.patches
        ],
        "tree": subject.tree,
        "contents": {
            "modes": contents.modes,
            "symlinks": contents.symlinks,
            "submodules": contents.submodules,
            "lfs_pointers": list(contents.lfs_pointers),
            "export_ignored": list(packing.left_out),
            "export_changed": list(packing.changed),
        },
    }
    compared = pins.compare_pins(
        recipe, prepared.choice.pins, subject.before, project.settings.targets
    )
    optional = {
        "variants": list(prepared.choice.variants),
        "subdir": prepared.subdir,
        "outside": list(map(str, prepared.outside)),
        "version": prepared.version,
        "pins": [_pin_facts(row) for row in compared],
        "sets": set_hashes(store, subject.tree, _sets(prepared)),
        "builds": prediction_facts(predict(predicted_builds(subject))),
    }
    return _json({**manifest, **{name: value for name, value in optional.items() if value}})


def _pin_facts(row: pins.Compared) -> dict[str, str | None]:
    return {
        "name": row.pin.name,
        "pin": row.pin.specifier,
        "upstream": row.asked.specifier if row.asked else None,
        "standing": row.standing.value,
    }


def _sets(prepared: Prepared) -> dict[str, list[str]]:
    values = placeholders(prepared)
    return {
        name: [fill(pattern, values) for pattern in patterns]
        for name, patterns in prepared.project.settings.export.sets.items()
    }


def placeholders(prepared: Prepared) -> dict[str, str]:
    """What ``{…}`` stands for in the settings of an export."""
    values = {
        "tag": prepared.base.name,
        "version": prepared.base.name.removeprefix("v"),
        "project": prepared.subject.recipe.project,
        "project_version": prepared.version,
    }
    return {name: value for name, value in values.items() if value is not None}


def render_build(prepared: Prepared) -> str:
    """The environment and commands of the settings for this export, as a shell script.

    Raises :class:`InputError` where they ask for what the recipe does not say.
    """
    settings, values = prepared.project.settings.export, placeholders(prepared)
    lines = [f"cd {shlex.quote(prepared.prefix)}"]
    lines += [
        f"export {name}={shlex.quote(_filled(text, values))}"
        for name, text in settings.environment.items()
    ]
    lines += [_filled(command, values) for command in settings.commands]
    warnings = [f"# {remark}" for remark in prepared.outside]
    return "".join(f"{line}\n" for line in [*warnings, *lines])


def _filled(text: str, values: Mapping[str, str]) -> str:
    filled = fill(text, values)
    for name in ("project", "project_version"):
        if f"{{{name}}}" in filled:
            raise InputError(
                f"export in patchq.yaml uses {{{name}}}, which this tag does not have",
                hint="Name the project in the series' recipe.yaml; its version is that of its "
                "pyproject.toml.",
            )
    return filled


def _additions(prepared: Prepared) -> dict[str, bytes]:
    """The files that an export has and the tree has not, its manifest aside."""
    added = {}
    if prepared.choice.pins:
        added[CONSTRAINTS] = "".join(f"{pin.line}\n" for pin in prepared.choice.pins).encode()
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
        [pins.PYPROJECT],
    )
    return bool(rows) and any(map(str.isdigit, prepared.base.name))


def _refuse_taken_names(prepared: Prepared) -> None:
    names = {MANIFEST: "export's manifest"}
    if prepared.choice.pins:
        names[CONSTRAINTS] = "file of the recipe's pins"
    for name, what in names.items():
        if prepared.project.store.objects.entry(prepared.exported, name) is not None:
            raise InputError(
                f"the tree has a file {name}, which is the name of the {what}",
                hint="Add a patch that renames it.",
            )


def _json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2) + "\n").encode("ascii")


def _refuse_held(selection: Selection) -> None:
    held = [
        record.name for record in selection.directory.retired if record.standing is RecordState.HELD
    ]
    if held:
        raise FindingsError(
            f"series {selection.directory.tag} is not whole: {', '.join(held)} "
            f"{'is' if len(held) == 1 else 'are'} held for a person",
            hint="Bring each one over by hand and import it, or drop it.",
        )


def _refuse_uncovered(selection: Selection, base: Base) -> None:
    for patch, paths in uncovered(selection, base):
        raise FindingsError(
            uncovered_words(base, paths),
            where=patch.where or Where(patch.name),
            hint="Put the patch behind a guard, or take a base that has the path.",
        )


def _companions(target: Path, endings: Iterable[str]) -> dict[str, Path]:
    return {ending: target.with_name(f"{target.name}.{ending}") for ending in endings}


def _endings(form: ExportFormat, beside: Iterable[str]) -> tuple[str, ...]:
    return (*(("sha256",) if form.is_packed else ()), "export.json", *beside)


def _refuse_taken(target: Path, form: ExportFormat, beside: Iterable[str]) -> None:
    """What an export that is gone has left beside ``target`` is not in the way."""
    if not form.is_packed and target.is_dir():
        taken = [target] if any(target.iterdir()) else []
    else:
        taken = [target] if target.exists() else []
    companions = _companions(target, _endings(form, beside)).values()
    taken += [path for path in companions if path.exists() and not _left_over(path, target)]
    if taken:
        raise InputError(
            f"{taken[0]} is there already; nothing was exported",
            hint="Remove it, or name another place with -o.",
        )


def _left_over(companion: Path, target: Path) -> bool:
    """Whether a file beside ``target`` is what an export wrote there: a record, or checksums."""
    if not companion.is_file():
        return False
    content = companion.read_bytes()
    return b'"schema": "patchq.' in content or os.fsencode(f"  {target.name}\n") in content


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


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _with_companions(
    exported: Exported, beside: Mapping[str, bytes], aside: Path
) -> dict[Path, Path]:
    """Write the files that go beside the target; where each is now, and where it belongs."""
    contents = {"sha256": _checksums(exported), "export.json": render_record(exported), **beside}
    endings = _endings(exported.form, beside)
    moves = {}
    for ending, place in _companions(exported.target, endings).items():
        staged = aside / ending
        staged.write_bytes(contents[ending])
        moves[staged] = place
    return moves


def _checksums(exported: Exported) -> bytes:
    """The tar and the compressed file, as ``sha256sum`` writes them."""
    name = exported.target.name
    stem = next((name.removesuffix(end) for end in PACKED_ENDINGS if name.endswith(end)), name)
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
