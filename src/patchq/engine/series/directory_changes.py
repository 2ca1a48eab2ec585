"""The files of a series directory that a new version of the series has to write or remove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from patchq.engine.workspace.transaction import Transaction
from patchq.errors import InputError, Where
from patchq.model.retired import render_retired
from patchq.model.workspace import RETIRED, SERIES, SeriesDirectory


@dataclass(frozen=True)
class DirectoryChanges:
    """The files of a series directory that differ: written, and removed, by name."""

    written: Mapping[str, bytes]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)

    def stage(self, transaction: Transaction, directory: SeriesDirectory) -> None:
        """Have them made by ``transaction``; all other files stay untouched."""
        for name, raw in self.written.items():
            transaction.write_file(directory.path / name, raw)
        for name in self.removed:
            transaction.remove(directory.path / name)


def settles(directory: SeriesDirectory, name: str) -> Iterator[str]:
    """What is to be said where patch ``name`` is in the series: the records that this settles."""
    for record in directory.retired:
        if record.name == name:
            yield f"settles the {record.standing.value} patch of that name in {RETIRED}"


def changes(old: SeriesDirectory, new: SeriesDirectory) -> DirectoryChanges:
    """What has to be written to make ``old`` into ``new``.

    The records of patches that are in ``new`` go. Raises :class:`InputError` if
    a new patch would overwrite a file that is no patch.
    """
    before = {name: patch.raw for name, patch in old.patches.items()}
    after = {name: patch.raw for name, patch in new.patches.items()}
    for name in after.keys() - before.keys():
        if (old.path / name).exists():
            raise InputError(
                f"a file {name} is in the directory of the series, but not in the series",
                where=Where(f"{old.path.parent.name}/{old.tag}/{name}"),
                hint="Remove it, or choose another name.",
            )
    written = {name: raw for name, raw in after.items() if before.get(name) != raw}
    series = new.series
    for record in new.retired:
        if record.name in series.names:  # settled: its comments outlive the record
            series = series.under(record.name, record.comment)
            series = series.remarked(record.name, record.remark)
    if series.raw != old.series.raw:
        written[SERIES] = series.raw
    retired = tuple(record for record in new.retired if record.name not in new.series.names)
    if (retired, new.lineage) != (old.retired, old.lineage):
        written[RETIRED] = render_retired(retired, new.lineage)
    return DirectoryChanges(written, tuple(name for name in before if name not in after))
