"""``patchq show``: one patch of a series, decoded."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.options import TagArgument, patch_and_tag
from patchq.cli.session import session


def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="The patch, by its file name.")],
    tag: TagArgument = None,
    raw: Annotated[bool, typer.Option("--raw", help="Print the file's bytes, no more.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what it says as JSON.")] = False,
) -> None:
    """Show one patch: header, files, hunks and diff.

    \b
    Examples:
      patchq show arch-prune.patch
      patchq show arch-prune v0.5.16
      patchq show arch-prune.patch --raw | git apply --check
    """
    run = session(context)
    name, tag = patch_and_tag(run, name, tag)
    directory = run.workspace.load(tag or run.newest_series)
    entry = directory.series.entry(name)
    patch = directory.patches[entry.name]
    if raw:
        typer.echo(patch.raw, nl=False)
        return
    from patchq.report.patch import render_diff, render_json, render_patch

    if json:
        output.text(render_json(directory.tag, entry, patch))
        return
    with output.paged() as console:
        render_patch(directory.tag, entry, patch, console)
        if console.is_terminal:
            render_diff(patch.diff, console)
    if not console.is_terminal:
        typer.echo(patch.diff, nl=False)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show")(show)
