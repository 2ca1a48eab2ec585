"""Which patches of a series are in: those active under the chosen guards."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from patchq.errors import InputError, Where
from patchq.model.patch import Patch
from patchq.model.retired import provided_by_upstream
from patchq.model.series import SeriesEntry
from patchq.model.settings import Settings
from patchq.model.workspace import SeriesDirectory


@dataclass(frozen=True)
class Selection:
    """A series under a set of guards."""

    directory: SeriesDirectory
    guards: frozenset[str]

    @property
    def entries(self) -> tuple[SeriesEntry, ...]:
        """The active entries, in order."""
        return self.directory.series.active(self.guards)

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The active patches, in order."""
        return tuple(self.directory.patches[entry.name] for entry in self.entries)


def select(directory: SeriesDirectory, settings: Settings, extra: Iterable[str]) -> Selection:
    """The series under the workspace's default guards and ``extra``.

    Raises :class:`InputError` for a guard that neither the series nor the settings know.
    """
    extra = tuple(extra)
    known = {*directory.series.guards, *settings.guards, *settings.default_guards}
    for guard in extra:
        if guard not in known:
            raise InputError(
                f"no guard {guard!r} in series {directory.tag}",
                hint=f"Guards are: {', '.join(sorted(known))}."
                if known
                else "The series has no guards; leave --with out.",
            )
    return Selection(directory, settings.default_guards | frozenset(extra))


def touched(selection: Selection, names: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Each path that patches touch, with their names in order, sorted by path.

    Those of ``names``, active or not; without names, all that are active.
    """
    entries = selection.directory.series.entries if names else selection.entries
    found: dict[str, list[str]] = {}
    for entry in entries:
        if not names or entry.name in names:
            for path in selection.directory.patches[entry.name].paths:
                found.setdefault(path, []).append(entry.name)
    return {path: tuple(found[path]) for path in sorted(found)}


def require_order(selection: Selection) -> None:
    """Check that each selected patch stands behind the patches its ``X-Requires`` names.

    A required patch that upstream has taken is there with the base. Raises :class:`InputError`
    that names the patch, what it requires, and where that is instead.
    """
    there = set(provided_by_upstream(selection.directory.retired))
    for entry in selection.entries:
        for required in selection.directory.patches[entry.name].header.requires:
            if required not in there:
                raise _not_before(selection, entry, required)
        there.add(entry.name)


def _not_before(selection: Selection, entry: SeriesEntry, required: str) -> InputError:
    series = selection.directory.series
    if required not in series.names:
        problem = "which is missing from the series"
        hint = f"Import {required}, or take it out of the X-Requires of {entry.name}."
    elif series.entry(required) in selection.entries:
        problem = "which comes after it"
        hint = f"Move the line of {required} before that of {entry.name}."
    else:
        guards = " ".join(map(str, series.entry(required).guards))
        problem = f"which is off under this selection ({guards})"
        hint = f"Select both or neither: their guards in {series.where} must agree with --with."
    return InputError(
        f"{entry.name} requires {required}, {problem}",
        where=Where(series.where.file, entry.line),
        hint=hint,
    )
