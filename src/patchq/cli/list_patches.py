"""``patchq list``: the patches of a series, in order."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Guards, TagArgument, Variants
from patchq.cli.session import session

PIPE_WIDTH = 400
"""Wide enough that nothing is cut if no terminal sets a width."""


def list_patches(
    context: typer.Context,
    tag: TagArgument = None,
    guards: Guards = None,
    variants: Variants = None,
    paths: Annotated[
        bool,
        typer.Option("--paths", help="Print the absolute paths of the active patches, in order."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the patches of a series in order.

    A patch is active under the workspace's default guards, those given by --with, and those of
    the variants; `-` marks one that is not. AGE is how many bases in a row have had the patch.

    \b
    Examples:
      patchq list
      patchq list v0.5.17 --with nemotron
      patchq list v0.5.17 --variant nemotron --paths
      git am --keep-cr $(patchq list v0.5.17 --paths)
    """
    import os

    from patchq.engine.series.selection import require_order
    from patchq.report.listing import render_json, render_table

    run = session(context)
    wanted = (tag or run.newest_series, guards or (), variants or ())
    if paths:
        selection = run.api.select(*wanted)
        require_order(selection)
        for entry in selection.entries:
            typer.echo(os.fsencode(selection.directory.path / entry.name))
        return
    listing = run.api.listing(*wanted)
    if json:
        output.text(render_json(listing.selection, listing.rows))
    else:
        console = output.terminal(pipe_width=PIPE_WIDTH)
        render_table(listing.selection, listing.rows, console)
    for problem in listing.problems[:-1]:
        run.notice(str(problem))
    for problem in listing.problems[-1:]:
        raise problem


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_patches)
