"""``patchq list``: the patches of a series, in order."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Guards, Variants, selected_guards
from patchq.cli.session import session

PIPE_WIDTH = 400
"""Wide enough that nothing is cut if no terminal sets a width."""


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
    """List the patches of a series in order.

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
    from patchq.report.listing import read_rows, render_json, render_table

    rows, unread = read_rows(selection, ages(run.workspace, tag))
    problems += unread
    if json:
        output.text(render_json(selection, rows))
    else:
        render_table(selection, rows, output.terminal(pipe_width=PIPE_WIDTH))
    for problem in problems[:-1]:
        run.notice(str(problem))
    for problem in problems[-1:]:
        raise problem


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_patches)
