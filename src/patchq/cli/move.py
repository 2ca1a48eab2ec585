"""``patchq move``: change the order of a series."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.options import DryRun, Json, TagOption
from patchq.cli.series_edits import say_edited
from patchq.cli.session import session


def move(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="PATCH", help="The patches, in order.")],
    before: Annotated[
        str | None, typer.Option("--before", metavar="PATCH", help="Put them before this one.")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="PATCH", help="Put them after this one.")
    ] = None,
    first: Annotated[bool, typer.Option("--first", help="Put them first.")] = False,
    last: Annotated[bool, typer.Option("--last", help="Put them last.")] = False,
    tag: TagOption = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Move patches to another place in a series.

    The patched tree stays the same, else nothing is written. Only patches whose bytes do not
    apply at their new place are rewritten.

    \b
    Examples:
      patchq move fa3-off.patch --first
      patchq move b.patch a.patch --after base.patch
    """
    from patchq.engine.series.edits import Place, Side

    given = {
        Place(Side.BEFORE, before): before is not None,
        Place(Side.AFTER, after): after is not None,
        Place(Side.BEFORE): first,
        Place(Side.AFTER): last,
    }
    places = [place for place, wanted in given.items() if wanted]
    if len(places) != 1:
        raise typer.BadParameter("give one of --before, --after, --first and --last")
    edited = session(context).api.move(names, places[0], tag, dry_run=dry_run)
    say_edited(context, edited, dry_run=dry_run, as_json=json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("move")(move)
