"""Change a series in itself: leave patches out, rename, move, fold, split and guard them.

Every change is worked out in memory as a whole new series directory, each patch merged onto what
is below it then; :meth:`Edited.write` writes the files that differ, in one transaction.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from pathlib import Path

from patchq.engine.series.directory_changes import DirectoryChanges, changes, settles
from patchq.engine.series.header_edit import folded_header, rename_required, with_subject
from patchq.engine.series.hunks import Unit, split_units
from patchq.engine.series.message import head_of, wording
from patchq.engine.series.naming import asked_name
from patchq.engine.series.records import lost_remarks, record_of, vanished, with_lineage
from patchq.engine.series.restack import Restacker, Work
from patchq.engine.series.stack import PatchRefusedError
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.transaction import Transaction
from patchq.errors import FindingsError, InputError, Where
from patchq.git.apply import Applied
from patchq.git.identity import user_identity
from patchq.git.objects import Entries
from patchq.model.patch import Patch
from patchq.model.retired import RecordState
from patchq.model.series import Guard, SeriesEntry
from patchq.model.workspace import SeriesDirectory


@dataclass(frozen=True)
class Edited:
    """A series directory before and after an edit, and what is to be said of it."""

    old: SeriesDirectory
    new: SeriesDirectory
    remarks: tuple[str, ...] = ()
    kept: Mapping[Path, bytes] = field(default_factory=dict)
    """Files of the workspace to be written with it, which outlive an undo."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of it, the records that it settles included."""
        names = self.new.series.names
        settled = (f"{name} {words}" for name in names for words in settles(self.new, name))
        return (*self.remarks, *settled)

    @cached_property
    def changes(self) -> DirectoryChanges:
        """The files that differ, as it was found before anything was written."""
        return changes(self.old, self.new)

    def write(self, project: Project, label: str) -> None:
        """Write what differs, all of it or nothing."""
        transaction = Transaction(project.workspace, label)
        self.changes.stage(transaction, self.old)
        for file, raw in self.kept.items():
            transaction.keep_file(file, raw)
        transaction.commit()


class Side(Enum):
    """Which side of a patch."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True)
class Place:
    """A place in a series: beside a patch, or (without one) its very beginning or end."""

    side: Side
    anchor: str | None = None


@dataclass(frozen=True)
class PatchPart:
    """A part of a patch: files that match ``pattern``, of one of them perhaps some ``hunks``."""

    pattern: str
    hunks: frozenset[int] = frozenset()


def drop(project: Project, tag: str, names: Sequence[str], reason: str | None) -> Edited:
    """The series without the patches ``names``, or with held ones dropped.

    They are recorded in ``retired.yaml`` with ``reason``; without one they are forgotten. With a
    reason, a patch that is retired or vanished since the series before can be named as well: it
    is no longer asked about.
    """
    old = project.workspace.load(tag)
    settled = {RecordState.DROPPED} if reason else {RecordState.DROPPED, RecordState.RETIRED}
    held = {
        record.name: record
        for record in old.retired
        if record.standing not in settled and record.name not in old.series.names
    }
    missing = vanished(project.workspace, old, names) if reason is not None else {}
    leaving = [name for name in names if name not in held and name not in missing]
    restacker = _restacker(project, tag)
    works = restacker.works(old, lenient=True)
    new = restacker.restack(old, old.series.without(leaving, comments=reason is not None), works)
    gone = (
        *(held[name] for name in names if name in held),
        *missing.values(),
        *(record_of(old, name) for name in leaving),
    )
    kept = tuple(record for record in old.retired if record.name not in names)
    if reason is not None:
        records = (
            replace(record, standing=RecordState.DROPPED, reason=reason, evidence=())
            for record in gone
        )
        kept = (*kept, *records)
    remarks = tuple(notice for notice in restacker.notices if notice.split()[0] not in leaving)
    return Edited(old, replace(new, retired=kept), remarks)


def rename(project: Project, tag: str, name: str, wanted: str) -> Edited:
    """The series with patch ``name`` called ``wanted``, where others require it too."""
    old = project.workspace.load(tag)
    target = asked_name(wanted)
    entry = old.series.entry(name)
    if target in old.series.names:
        raise InputError(
            f"{target} is in the series already",
            where=old.series.where,
            hint="Choose another name.",
        )
    patches = {
        target if other == name else other: rename_required(
            replace(patch, name=target) if other == name else patch, name, target
        )
        for other, patch in old.patches.items()
    }
    new = replace(old, series=old.series.rename(entry.name, target), patches=patches)
    return Edited(old, with_lineage(project.workspace, new, {name: (target,)}))


def move(project: Project, tag: str, names: Sequence[str], place: Place) -> Edited:
    """The series with the patches ``names``, in this order, at ``place``; the tree is the same."""
    old = project.workspace.load(tag)
    moving = [old.series.entry(name) for name in names]
    rest = [entry for entry in old.series.entries if entry not in moving]
    at = _position([entry.name for entry in rest], place, old)
    order = [*rest[:at], *moving, *rest[at:]]
    return _same_tree(project, old, order, _restacker(project, tag, moving))


def fold(project: Project, tag: str, into: str, names: Sequence[str]) -> Edited:
    """The series with the patches ``names`` folded into ``into``, at its place.

    The header of ``into`` is kept, and gets those fields of the others that can hold for all.
    """
    old = project.workspace.load(tag)
    series, target = old.series, old.series.entry(into)
    folded = [series.entry(name) for name in names]
    for entry in folded:
        if entry == target:
            raise InputError(f"{into} cannot be folded into itself")
        if set(entry.guards) != set(target.guards):
            raise InputError(
                f"{entry.name} and {into} have different guards",
                where=Where(series.where.file, entry.line),
                hint="Give both the same with `patchq guard`, then fold.",
            )
    restacker = _restacker(project, tag, [target])
    rest = [entry for entry in series.entries if entry not in folded]
    at = rest.index(target) + 1
    together = series.arrange([*rest[:at], *folded, *rest[at:]])
    works = restacker.works(old)
    _require_works(restacker, works, (into, *names), tag)
    adjacent = restacker.restack(replace(old, series=together), together, works)
    before = restacker.tree_below(together, together.entry(into), adjacent.patches)
    after = restacker.stack.apply_all(
        before, [adjacent.patches[name] for name in (into, *names)], onto=tag
    )
    paths = sorted({path for name in (into, *names) for path in works[name].before})
    objects = project.store.objects
    patch, notes = folded_header(old.patches[into], [old.patches[name] for name in names])
    work = Work(patch, objects.files(before, paths), objects.files(after, paths))
    left = {name: other for name, other in works.items() if name not in names}
    renamed = _requiring(left, names, into)
    kept = [entry for entry in together.entries if entry.name not in names]
    notes = (*notes, *lost_remarks(series, names))
    edited = _same_tree(project, old, kept, restacker, {**renamed, into: work}, notes)
    lineage = dict.fromkeys(names, (into,))
    return replace(edited, new=with_lineage(project.workspace, edited.new, lineage))


def split(
    project: Project,
    tag: str,
    name: str,
    parts: Sequence[PatchPart],
    wanted: str,
    subject: str | None,
) -> Edited:
    """The series with ``parts`` of patch ``name`` as a patch of their own behind it.

    Both keep all header fields. Raises :class:`InputError` if a part is not in the patch, or
    all of it is.
    """
    old = project.workspace.load(tag)
    target = asked_name(wanted)
    if target in old.series.names:
        raise InputError(
            f"{target} is in the series already",
            where=old.series.where,
            hint="Choose another name.",
        )
    patch, entry = old.patches[old.series.entry(name).name], old.series.entry(name)
    restacker = _restacker(project, tag, [entry])
    works = restacker.works(old)
    _require_works(restacker, works, (name,), tag)
    work = works[name]
    tree = restacker.tree_below(old.series, entry, old.patches)
    applied = restacker.stack.apply(tree, patch, onto=tag)
    taken, rest = _divide(patch, split_units(patch, applied, project.store.objects), parts, tag)
    middle = _after(project, applied, rest, tag)
    author, date = user_identity(project.workspace.root), "0 +0000"
    words = wording(patch, author=author, date=date)
    head = patch.head
    if subject is not None:
        head = head_of(project.store, with_subject(words, subject))
    cut = replace(patch, name=target, raw=head + patch.diff)
    first = {path: middle[path] for path in _paths(rest) if path in middle}
    second = {path: work.after[path] for path in _paths(taken) if path in middle}
    order = list(old.series.entries)
    behind = SeriesEntry(target, strip=entry.strip, guards=entry.guards)
    order.insert(order.index(entry) + 1, behind)
    changed = {
        **works,
        name: Work(patch, {path: work.before[path] for path in first}, first),
        target: Work(cut, {path: middle[path] for path in second}, second),
    }
    edited = _same_tree(project, old, order, restacker, changed)
    new = with_lineage(project.workspace, edited.new, {name: (name, target)})
    return replace(edited, new=new)


def guard(project: Project, tag: str, name: str, guards: Iterable[Guard]) -> Edited:
    """The series with exactly these guards on patch ``name``."""
    old = project.workspace.load(tag)
    restacker = _restacker(project, tag)
    new = restacker.restack(old, old.series.guard(name, guards), restacker.works(old))
    return Edited(old, new, restacker.notices)


def _restacker(project: Project, tag: str, concerned: Iterable[SeriesEntry] = ()) -> Restacker:
    """What puts the series together again, for a command that is about the patches ``concerned``.

    Their own guards count as turned on.
    """
    guards = frozenset(
        guard.name for entry in concerned for guard in entry.guards if guard.positive
    )
    base = project.lock.base(tag)
    return Restacker(project.store, base, project.settings.default_guards, guards)


def _require_works(
    restacker: Restacker, works: Mapping[str, Work], names: Iterable[str], tag: str
) -> None:
    """Raise if nobody can tell what one of the patches ``names`` does to the base."""
    for name in names:
        if name not in works:
            waits = next((n for n in restacker.notices if n.split()[0] == name), None)
            raise InputError(
                waits or f"{name} changes files that the archive of {tag} does not hold",
                hint="Import what it waits for first, or `patchq drop` it."
                if waits
                else "Edit it on a base that has all of upstream, and port it.",
            )


def _position(names: Sequence[str], place: Place, directory: SeriesDirectory) -> int:
    if place.anchor is None:
        return 0 if place.side is Side.BEFORE else len(names)
    directory.series.entry(place.anchor)
    if place.anchor not in names:
        raise InputError(f"{place.anchor} cannot be moved beside itself")
    return names.index(place.anchor) + (place.side is Side.AFTER)


def _same_tree(
    project: Project,
    old: SeriesDirectory,
    order: Sequence[SeriesEntry],
    restacker: Restacker,
    works: Mapping[str, Work] | None = None,
    notes: tuple[str, ...] = (),
) -> Edited:
    """The series in another order, or cut otherwise, which gives the same trees as before."""
    new = restacker.restack(old, old.series.arrange(order), works or restacker.works(old))
    defaults = project.settings.default_guards
    own = (
        frozenset(guard.name for guard in entry.guards if guard.positive)
        for entry in new.series.entries
    )
    for selected in dict.fromkeys([defaults, *(defaults | guards for guards in own)]):
        active = old.series.active(selected)
        if selected != defaults and any(entry.name in restacker.left_alone for entry in active):
            continue  # said in a notice
        try:
            before = restacker.tree(active, old.patches)
        except PatchRefusedError:  # nor did it before: guards that do not go together
            continue
        if restacker.tree(new.series.active(selected), new.patches) != before:
            guards = ", ".join(sorted(selected)) or "no guards"
            raise FindingsError(
                f"the patches would give another tree than now (with {guards})",
                hint="They depend on their order. Nothing was written; "
                f"`patchq edit {old.tag}` can do it.",
            )
    return Edited(old, new, (*notes, *restacker.notices))


def _requiring(works: Mapping[str, Work], names: Sequence[str], into: str) -> dict[str, Work]:
    """``works``, those that require one of ``names`` now requiring ``into``."""
    changed = dict(works)
    for name in names:
        for key, work in changed.items():
            changed[key] = replace(work, patch=rename_required(work.patch, name, into))
    return changed


def _divide(
    patch: Patch, units: Sequence[Unit], parts: Sequence[PatchPart], tag: str
) -> tuple[list[Unit], list[Unit]]:
    """The units that are in ``parts``, and the others."""
    taken: list[Unit] = []
    for part in parts:
        found = [unit for unit in units if _matches(unit, part)]
        missing = part.hunks - {index for unit in found for index in unit.hunks}
        if not found or missing:
            hunk = f"there is no hunk {min(missing, default=0)} of {part.pattern} to be taken alone"
            raise InputError(
                hunk if missing else f"it touches no file or directory {part.pattern}",
                where=patch.where or Where(patch.name),
                hint=f"`patchq show {patch.name} {tag}` lists what --take may "
                "name: PATH or PATH:1,3-4.",
            )
        taken += [unit for unit in found if unit not in taken]
    rest = [unit for unit in units if unit not in taken]
    if not rest:
        raise InputError(
            f"--take names all of {patch.name}",
            hint="Name only a part of it; `patchq rename` gives all of it another name.",
        )
    return taken, rest


def _matches(unit: Unit, part: PatchPart) -> bool:
    named = any(
        path == part.pattern
        or path.startswith(f"{part.pattern.rstrip('/')}/")
        or fnmatch.fnmatchcase(path, part.pattern)
        for path in unit.paths
    )
    return named and (not part.hunks or bool(part.hunks & set(unit.hunks)))


def _paths(units: Iterable[Unit]) -> list[str]:
    return list(dict.fromkeys(path for unit in units for path in unit.paths))


def _after(project: Project, applied: Applied, units: Sequence[Unit], tag: str) -> Entries:
    """The entries of all changed paths with only ``units`` of the change in."""
    objects, merger = project.store.objects, project.store.merger
    before = tree = objects.tree_of(applied.before)
    for unit in units:
        merged = merger.merge(before, tree, objects.overlay(before, unit.after))
        if not merged.clean:
            raise InputError(
                f"hunks of {unit.file} touch each other: git cannot tell them apart",
                hint=f"Split by whole files, or with `patchq edit {tag}` and `git add -p`.",
            )
        tree = merged.tree
    return objects.files(tree, applied.before)
