"""``patchq fold``: make one patch of several."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.options import DryRun, Json, TagOption
from patchq.cli.series_edits import say_edited
from patchq.cli.session import session


def fold(
    context: typer.Context,
    into: Annotated[str, typer.Argument(metavar="PATCH", help="The patch to fold into.")],
    names: Annotated[list[str], typer.Argument(metavar="PATCH", help="The patches to fold.")],
    tag: TagOption = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Fold patches into another one.

    The first patch keeps its name, place and message.

    Fields of the others that can hold for the whole are taken over. Their messages are not, nor
    the fields that end a patch's life: what is left out is named. The patched tree stays
    the same, else nothing is written.

    \b
    Examples:
      patchq fold kernel-gate.patch kernel-gate-fix.patch
    """
    edited = session(context).api.fold(into, names, tag, dry_run=dry_run)
    say_edited(context, edited, dry_run=dry_run, as_json=json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fold")(fold)
