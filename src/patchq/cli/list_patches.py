"""``patchq list``: the patches of a series, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from patchq.cli.session import session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchq.engine.selection import Selection
    from patchq.model.series import SeriesEntry

SCHEMA = "patchq.list/1"

_PIPE_WIDTH = 400
"""Wide enough that nothing is cut where no terminal sets a width."""


def list_patches(
    context: typer.Context,
    tag: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The series; default: the newest.")
    ] = None,
    guards: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="GUARD", help="Turn a guard on; may be repeated."),
    ] = None,
    paths: Annotated[
        bool,
        typer.Option("--paths", help="Print the absolute paths of the active patches, in order."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the patches of a series in order, and which of them are active.

    A patch is active under the workspace's default guards and those given by --with; `-` marks
    one that is not. AGE is on how many bases in a row the patch has stood.

    \b
    Examples:
      patchq list
      patchq list v0.5.17 --with nemotron
      git am --keep-cr $(patchq list v0.5.17 --paths)
    """
    import os

    from patchq.engine.selection import require_order, select

    run = session(context)
    tag = tag or run.newest_series
    selection = select(run.workspace.load(tag), run.settings, guards or ())
    if paths:
        require_order(selection)
        for entry in selection.entries:
            typer.echo(os.fsencode(selection.directory.path / entry.name))
        return
    from patchq.engine.rebase import ages

    show = _print_json if json else _print_table
    show(selection, ages(run.workspace, tag))


def _print_json(selection: Selection, ages: Mapping[str, int]) -> None:
    from json import dumps

    document = {
        "schema": SCHEMA,
        "series": selection.directory.tag,
        "guards": sorted(selection.guards),
        "patches": [
            _facts(selection, entry, ages[entry.name])
            for entry in selection.directory.series.entries
        ],
    }
    typer.echo(dumps(document, indent=2))


def _facts(selection: Selection, entry: SeriesEntry, age: int) -> dict[str, Any]:
    patch = selection.directory.patches[entry.name]
    return {
        "name": entry.name,
        "active": entry.active(selection.guards),
        "guards": [str(guard).removeprefix("#") for guard in entry.guards],
        "strip": entry.strip,
        "kind": patch.header.kind,
        "subject": patch.header.subject,
        "files": list(patch.paths),
        "age": age,
        "sha256": patch.sha256,
    }


def _print_table(selection: Selection, ages: Mapping[str, int]) -> None:
    import os
    import sys

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    entries = selection.directory.series.entries
    guarded = any(entry.guards for entry in entries)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("PATCH", no_wrap=True)
    if guarded:
        table.add_column("GUARDS", no_wrap=True)
    table.add_column("KIND", no_wrap=True)
    table.add_column("SUBJECT")
    table.add_column("FILES", justify="right", no_wrap=True)
    table.add_column("AGE", justify="right", no_wrap=True)
    for number, entry in enumerate(entries, 1):
        patch = selection.directory.patches[entry.name]
        active = entry.active(selection.guards)
        row = (
            str(number) if active else "-",
            entry.name,
            *([_guards(entry)] if guarded else []),
            patch.header.kind or "",
            patch.header.subject,
            str(len(patch.files)),
            str(ages[entry.name]),
        )
        table.add_row(*map(Text, row), style="" if active else "dim")
    sized = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(highlight=False, width=None if sized else _PIPE_WIDTH)
    console.print(table)
    console.print(
        f"{selection.directory.tag}: {len(selection.entries)} of {len(entries)} active"
        + (f" with {', '.join(sorted(selection.guards))}" if selection.guards else ""),
        markup=False,
    )


def _guards(entry: SeriesEntry) -> str:
    return " ".join(str(guard).removeprefix("#") for guard in entry.guards)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_patches)
