"""``patchq list``: the patches of a series, in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from patchq.cli.selecting import Guards, Variants, selected_guards
from patchq.cli.session import session
from patchq.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

    from patchq.engine.series.selection import Selection
    from patchq.model.series import SeriesEntry

SCHEMA = "patchq.list/1"

_PIPE_WIDTH = 400
"""Wide enough that nothing is cut where no terminal sets a width."""

_SUBJECT = 20
"""The least room for subjects in columns."""


@dataclass(frozen=True)
class _Row:
    """One patch, as the table shows it."""

    number: str
    active: bool
    name: str
    guards: str
    age: str
    kind: str = ""
    subject: str = "cannot be read"
    files: str = "?"


def list_patches(
    context: typer.Context,
    tag: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The series; default: the newest.")
    ] = None,
    guards: Guards = None,
    variants: Variants = None,
    paths: Annotated[
        bool,
        typer.Option("--paths", help="Print the absolute paths of the active patches, in order."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the patches of a series in order, and which of them are active.

    A patch is active under the workspace's default guards, those given by --with, and those of
    the variants; `-` marks one that is not. AGE is on how many bases in a row the patch has stood.

    \b
    Examples:
      patchq list
      patchq list v0.5.17 --with nemotron
      patchq list v0.5.17 --variant nemotron --paths
      git am --keep-cr $(patchq list v0.5.17 --paths)
    """
    import os

    from patchq.engine.series.selection import require_order, select

    run = session(context)
    tag = tag or run.newest_series
    chosen = selected_guards(run, tag, guards, variants)
    directory, found = run.workspace.survey(tag)
    problems = list(found)
    selection = select(directory, run.settings, chosen)
    if paths:
        for problem in problems:
            raise problem
        require_order(selection)
        for entry in selection.entries:
            typer.echo(os.fsencode(selection.directory.path / entry.name))
        return
    from patchq.engine.rebase.rebase import ages

    show = _print_json if json else _print_table
    problems += show(selection, ages(run.workspace, tag))
    for problem in problems[:-1]:
        run.notice(str(problem))
    for problem in problems[-1:]:
        raise problem


def _print_json(selection: Selection, ages: Mapping[str, int]) -> list[InputError]:
    """Returns what is wrong with the patches that cannot be read."""
    from json import dumps

    patches, problems = [], []
    for entry in selection.directory.series.entries:
        facts: dict[str, Any] = {
            "name": entry.name,
            "active": entry.active(selection.guards),
            "guards": [str(guard).removeprefix("#") for guard in entry.guards],
            "strip": entry.strip,
            "age": ages[entry.name],
        }
        try:
            facts.update(_content(selection, entry))
        except InputError as error:
            problems.append(error)
        patches.append(facts)
    document = {
        "schema": SCHEMA,
        "series": selection.directory.tag,
        "guards": sorted(selection.guards),
        "patches": patches,
    }
    typer.echo(dumps(document, indent=2))
    return problems


def _content(selection: Selection, entry: SeriesEntry) -> dict[str, Any]:
    """What the file of a patch says; nothing where there is none."""
    patch = selection.directory.patches.get(entry.name)
    if patch is None:
        return {}
    return {
        "kind": patch.header.kind,
        "subject": patch.header.subject,
        "files": list(patch.paths),
        "sha256": patch.sha256,
    }


def _print_table(selection: Selection, ages: Mapping[str, int]) -> list[InputError]:
    """Returns what is wrong with the patches that cannot be read."""
    import os
    import sys

    from rich.console import Console

    rows, problems = [], []
    entries = selection.directory.series.entries
    for number, entry in enumerate(entries, 1):
        active = entry.active(selection.guards)
        shown = str(number) if active else "-"
        row = _Row(shown, active, entry.name, _guards(entry), str(ages[entry.name]))
        try:
            content = _content(selection, entry)
        except InputError as error:
            content = {}
            problems.append(error)
        if content:
            row = replace(
                row,
                kind=content["kind"] or "",
                subject=content["subject"],
                files=str(len(selection.directory.patches[entry.name].files)),
            )
        rows.append(row)
    sized = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(highlight=False, width=None if sized else _PIPE_WIDTH)
    grid = _grid(rows)
    wide = console.options.update(width=_PIPE_WIDTH)
    if console.measure(grid, options=wide).minimum <= console.width:
        console.print(grid)
    else:
        _print_blocks(rows, console)
    console.print(
        f"{selection.directory.tag}: {len(selection.entries)} of {len(entries)} active"
        + (f" with {', '.join(sorted(selection.guards))}" if selection.guards else ""),
        markup=False,
    )
    return problems


def _grid(listing: Sequence[_Row]) -> Table:
    from rich.table import Table
    from rich.text import Text

    guarded = max(len(row.guards) for row in listing) if listing else 0
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("PATCH", no_wrap=True)
    if guarded:
        table.add_column("GUARDS", no_wrap=True, min_width=guarded)
    table.add_column("KIND", no_wrap=True)
    table.add_column("SUBJECT", min_width=_SUBJECT)
    table.add_column("FILES", justify="right", no_wrap=True)
    table.add_column("AGE", justify="right", no_wrap=True)
    for row in listing:
        guards = [row.guards] if guarded else []
        cells = (row.number, row.name, *guards, row.kind, row.subject, row.files, row.age)
        table.add_row(*map(Text, cells), style="" if row.active else "dim")
    return table


def _print_blocks(listing: Sequence[_Row], console: Console) -> None:
    """For a terminal that the columns do not fit: a patch a block, with nothing cut off."""
    from rich.text import Text

    from patchq.report.terminal import INDENT, Writer

    writer = Writer(console)
    for row in listing:
        style = "" if row.active else "dim"
        writer.words(f"{row.number} {row.name}", style=style or "bold")
        facts = [row.kind, row.guards, f"files {row.files}", f"age {row.age}"]
        for words in (row.subject, ", ".join(filter(None, facts))):
            writer.line(Text(writer.say(words), style=style), INDENT)


def _guards(entry: SeriesEntry) -> str:
    return " ".join(str(guard).removeprefix("#") for guard in entry.guards)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_patches)
