"""``patchq rename``: give a patch another name."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.options import DryRun, Json, TagOption
from patchq.cli.series_edits import say_edited
from patchq.cli.session import session


def rename(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="The patch.")],
    wanted: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    tag: TagOption = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Rename a patch.

    Its bytes stay, and patches that require it follow.

    \b
    Examples:
      patchq rename fix.patch qsa-gate-sm121.patch
    """
    edited = session(context).api.rename(name, wanted, tag, dry_run=dry_run)
    say_edited(context, edited, dry_run=dry_run, as_json=json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rename")(rename)
