"""``patchq why``: one patch's story in full."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.options import Json, patch_and_tag
from patchq.cli.session import session


def why(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="The patch's file name.")],
    tag: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The same as --onto TAG.")
    ] = None,
    onto: Annotated[
        str | None,
        typer.Option("--onto", metavar="TAG", help="Only what happens on this base."),
    ] = None,
    json: Json = False,
) -> int:
    """Tell one patch's story, base by base.

    What became of it on each base, and by which upstream commit. Bases that are not fetched are
    named and left out, except with --onto.

    \b
    Examples:
      patchq why arch-prune.patch
      patchq why arch-prune v0.5.18
    """
    from patchq.cli import output
    from patchq.report.cells import cell
    from patchq.report.story import render_story, render_story_json

    run = session(context)
    name, tag = patch_and_tag(run, name, tag)
    if tag and onto not in (None, tag):
        raise typer.BadParameter(f"two tags are named, {tag} and {onto}; take one")
    onto = onto or tag
    with run.progress(f"following {name}") as progress:
        told = run.api.story(name, onto, progress)
    run.tell_unfetched(column for column in told.columns if cell(column, told.name))
    if json:
        output.text(render_story_json(told))
    else:
        render_story(told, output.terminal())
    return 0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("why")(why)
