"""``patchq revive``: bring a retired or held patch back into its series."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.options import DryRun, Json, TagArgument
from patchq.cli.series_edits import say_edited
from patchq.cli.session import session


def revive(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="A patch of retired.yaml.")],
    tag: TagArgument = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Bring a retired or held patch back into its series.

    It is judged again; one that does not merge is refused with the reason.

    \b
    Examples:
      patchq revive draft-clamp.patch
      patchq revive draft-clamp.patch v0.5.18
    """
    edited = session(context).api.revive(name, tag, dry_run=dry_run)
    say_edited(context, edited, dry_run=dry_run, as_json=json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("revive")(revive)
