"""``patchq notes``: what a tag changes for the downstream, as a document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.session import session


def notes(
    context: typer.Context,
    tag: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The base; default: the newest series.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="TAG", help="The series before; default: the newest one."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("-o", metavar="FILE", help="Write to FILE, or update it; default: stdout."),
    ] = None,
) -> None:
    """Write the notes on a tag, in Markdown.

    Patches, requirements, gates, names, open risks and the order of a roll-back. Of a FILE that is
    there only the parts that patchq wrote are written again.

    \b
    Examples:
      patchq notes v0.5.18
      patchq notes v0.5.18 -o notes/v0.5.18.md
    """
    if to is not None:
        output.check_place(to)
    run = session(context)
    tag = tag or run.newest_series
    series = source or run.api.project.series_before(tag)
    with run.progress(f"{series} → {tag}") as progress:
        text = run.api.notes(tag, series, earlier=to, progress=progress)
    output.text(text, to)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("notes")(notes)
