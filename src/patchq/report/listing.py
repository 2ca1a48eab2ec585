"""The patches of a series in order: as a table that fits the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from patchq.engine.series.selection import Selection
from patchq.errors import InputError
from patchq.model.patch import Patch
from patchq.model.series import SeriesEntry
from patchq.report.document import render_document
from patchq.report.terminal import INDENT, Writer

SCHEMA = "patchq.list/1"

_WIDEST = 400
_SUBJECT = 20
"""The least room for subjects in columns."""


@dataclass(frozen=True)
class ListedPatch:
    """One entry; ``patch`` is None if its file is missing or cannot be read."""

    entry: SeriesEntry
    active: bool
    age: int
    patch: Patch | None

    @property
    def guards(self) -> list[str]:
        """Its guards; see :attr:`SeriesEntry.guard_words`."""
        return self.entry.guard_words


@dataclass(frozen=True)
class Listing:
    """The entries of a selection, and what is wrong with those that cannot be read."""

    selection: Selection
    rows: tuple[ListedPatch, ...]
    problems: tuple[InputError, ...]


def read_rows(
    selection: Selection, ages: Mapping[str, int]
) -> tuple[list[ListedPatch], list[InputError]]:
    """The entries, and what is wrong with those that cannot be read."""
    rows, problems = [], []
    for entry in selection.directory.series.entries:
        patch = selection.directory.patches.get(entry.name)
        try:
            if patch is not None:
                patch.header, patch.files  # noqa: B018 - read now, so that it can be said
        except InputError as error:
            problems.append(error)
            patch = None
        rows.append(ListedPatch(entry, entry.active(selection.guards), ages[entry.name], patch))
    return rows, problems


def render_json(selection: Selection, rows: Sequence[ListedPatch]) -> str:
    """The list as JSON."""
    return render_document(
        {
            "schema": SCHEMA,
            "series": selection.directory.tag,
            "guards": sorted(selection.guards),
            "patches": [
                {
                    "name": row.entry.name,
                    "active": row.active,
                    "guards": row.guards,
                    "strip": row.entry.strip,
                    "age": row.age,
                    **(_content(row.patch) if row.patch else {}),
                }
                for row in rows
            ],
        }
    )


def _content(patch: Patch) -> dict[str, object]:
    return {
        "kind": patch.header.kind,
        "subject": patch.header.subject,
        "files": list(patch.paths),
        "sha256": patch.sha256,
    }


def render_table(selection: Selection, rows: Sequence[ListedPatch], console: Console) -> None:
    """Print the list in columns, or a patch a block if the columns do not fit."""
    writer = Writer(console)
    grid = _grid(rows, writer)
    wide = console.options.update(width=_WIDEST)
    if console.measure(grid, options=wide).minimum <= console.width:
        console.print(grid)
    else:
        for number, row in enumerate(rows, 1):
            _block(number, row, writer)
    active = sum(row.active for row in rows)
    guards = f" with {', '.join(sorted(selection.guards))}" if selection.guards else ""
    writer.words(f"{selection.directory.tag}: {active} of {len(rows)} active{guards}")


def _cells(number: int, row: ListedPatch) -> tuple[str, str, str, str, str, str]:
    shown = str(number) if row.active else "-"
    patch = row.patch
    if patch is None:
        return shown, row.entry.name, "", "cannot be read", "?", str(row.age)
    header = patch.header
    files = str(len(patch.files))
    return shown, row.entry.name, header.kind or "", header.subject, files, str(row.age)


def _grid(rows: Sequence[ListedPatch], writer: Writer) -> Table:
    guarded = max((len(" ".join(row.guards)) for row in rows), default=0)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("PATCH", no_wrap=True)
    if guarded:
        table.add_column("GUARDS", no_wrap=True, min_width=guarded)
    table.add_column("KIND", no_wrap=True)
    table.add_column("SUBJECT", min_width=_SUBJECT)
    table.add_column("FILES", justify="right", no_wrap=True)
    table.add_column("AGE", justify="right", no_wrap=True)
    for number, row in enumerate(rows, 1):
        shown, name, *rest = _cells(number, row)
        cells = (shown, name, *([" ".join(row.guards)] if guarded else []), *rest)
        table.add_row(
            *(Text(writer.say(cell)) for cell in cells), style="" if row.active else "dim"
        )
    return table


def _block(number: int, row: ListedPatch, writer: Writer) -> None:
    """For a terminal that the columns do not fit: nothing is cut off."""
    style = "" if row.active else "dim"
    shown, name, kind, subject, files, age = _cells(number, row)
    writer.words(f"{shown} {name}", style=style or "bold")
    facts = [kind, " ".join(row.guards), f"files {files}", f"age {age}"]
    for words in (subject, ", ".join(filter(None, facts))):
        writer.line(Text(writer.say(words), style=style), INDENT)
