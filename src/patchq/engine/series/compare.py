"""Compare two series patch by patch, and one patch of both as ``git range-diff`` shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchq.engine.series.message import wording
from patchq.engine.series.restack import Restacker
from patchq.engine.series.selection import select
from patchq.engine.workspace.project import Project
from patchq.errors import InputError
from patchq.git.apply import Applied
from patchq.git.compare import Version, range_diff
from patchq.git.identity import UNKNOWN_AUTHOR
from patchq.model.patch import Patch
from patchq.model.series_diff import (
    METADATA,
    Aspect,
    GuardDiff,
    PatchDiff,
    PatchDifference,
    SeriesDiff,
)
from patchq.model.settings import Settings
from patchq.model.workspace import SeriesDirectory


def compare_series(old: SeriesDirectory, new: SeriesDirectory) -> SeriesDiff:
    """Every patch of both series: paired by name, else by what it adds and removes."""
    pairs = {name: name for name in new.series.names if name in old.series.names}
    gone = [name for name in old.series.names if name not in pairs]
    for name in new.series.names:
        if name not in pairs:
            twin = next(
                (o for o in gone if _change(old.patches[o]) == _change(new.patches[name])), None
            )
            if twin is not None:
                pairs[name] = twin
                gone.remove(twin)
    rows = [_row(old, new, name, pairs.get(name)) for name in new.series.names]
    reasons = {record.name: record.reason for record in new.retired}
    for name in gone:
        place = old.series.names.index(name)
        row = PatchDiff(name, PatchDifference.GONE, old_place=place + 1, reason=reasons.get(name))
        above = [
            at for at, other in enumerate(rows) if other.old_place and other.old_place <= place
        ]
        rows.insert(max(above, default=-1) + 1, row)
    return SeriesDiff(old.tag, new.tag, tuple(rows))


def compare_selections(
    directory: SeriesDirectory, settings: Settings, guards: Sequence[str]
) -> GuardDiff:
    """The default selection against the one with ``guards``; raises :class:`InputError`."""
    plain = select(directory, settings, ())
    chosen = select(directory, settings, guards)
    before, after = ({entry.name for entry in each.entries} for each in (plain, chosen))
    return GuardDiff(
        directory.tag,
        tuple(sorted(guards)),
        tuple(name for name in directory.series.names if name in after - before),
        tuple(name for name in directory.series.names if name in before - after),
    )


def compare_patch(project: Project, old: SeriesDirectory, new: SeriesDirectory, name: str) -> bytes:
    """One patch, message and diff, old against new; empty if both are the same.

    Raises :class:`InputError` if it is not in both.
    """
    row = next((row for row in compare_series(old, new).patches if row.name == name), None)
    if row is None or row.fate in (PatchDifference.GONE, PatchDifference.NEW):
        new.series.entry(name)
        raise InputError(
            f"{name} is in the series on {new.tag} only",
            hint=f"`patchq show {name} {new.tag}` shows it.",
        )
    if row.fate is PatchDifference.UNCHANGED:
        return b""
    versions = (
        _version(project, directory, patch)
        for directory, patch in ((old, row.old_name or name), (new, name))
    )
    store = project.store
    return range_diff(store.git, store.objects, *versions)


def _row(old: SeriesDirectory, new: SeriesDirectory, name: str, old_name: str | None) -> PatchDiff:
    place = new.series.names.index(name) + 1
    if old_name is None:
        return PatchDiff(name, PatchDifference.NEW, new_place=place)
    aspects = tuple(_aspects(old.patches[old_name], new.patches[name]))
    if not aspects:
        fate = PatchDifference.UNCHANGED
    else:
        fate = PatchDifference.METADATA if METADATA.issuperset(aspects) else PatchDifference.CHANGED
    return PatchDiff(
        name,
        fate,
        aspects,
        old.series.names.index(old_name) + 1,
        place,
        old_name if old_name != name else None,
    )


def _aspects(old: Patch, new: Patch) -> Iterator[Aspect]:
    if old.head != new.head:
        yield Aspect.HEADER
    if old.diff == new.diff:
        return
    if sorted(old.paths) != sorted(new.paths):
        yield Aspect.PATHS
    if _change(old) != _change(new):
        yield Aspect.CHANGE
    elif _context(old) != _context(new):
        yield Aspect.CONTEXT
    elif sorted(old.paths) == sorted(new.paths):
        yield Aspect.POSITION


def _change(patch: Patch) -> list[tuple[str, str, list[bytes]]]:
    """What a patch does to each file, wherever file and lines are."""
    return sorted(
        (
            change.kind.value,
            f"{change.new_mode} {change.new_blob if change.binary else ''}",
            [line for hunk in change.hunks for line in hunk.lines if line[:1] != b" "],
        )
        for change in patch.files
    )


def _context(patch: Patch) -> list[list[bytes]]:
    return sorted([line for hunk in change.hunks for line in hunk.lines] for change in patch.files)


def _version(project: Project, directory: SeriesDirectory, name: str) -> Version:
    """What the patch says and does."""
    objects = project.store.objects
    patch = directory.patches[name]
    applied = _applied(project, directory, name)
    words = wording(patch, author=UNKNOWN_AUTHOR, date="0 +0000")
    before, after = objects.tree_of(applied.before), objects.tree_of(applied.after)
    return Version(before, after, words.message, f"{words.author} {words.date}")


def _applied(project: Project, directory: SeriesDirectory, name: str) -> Applied:
    base, series = project.lock.base(directory.tag), directory.series
    restacker = Restacker(project.store, base, project.settings.default_guards)
    tree = restacker.tree_below(series, series.entry(name), directory.patches)
    return restacker.stack.apply(tree, directory.patches[name], onto=base.name)
