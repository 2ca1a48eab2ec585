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
) -> int:
    """Bring a retired or held patch back into its series.

    It is judged again. If it does not merge, its conflict is laid out in .patchq/worktree:
    `patchq resolve --continue` takes what was solved there.

    \b
    Examples:
      patchq revive draft-clamp.patch
      patchq revive draft-clamp.patch v0.5.18
    """
    from patchq.cli.resolve import say_opened
    from patchq.engine.rebase.solving.resolve import OpenedConflict

    run = session(context)
    opened = run.api.revive(name, tag, dry_run=dry_run)
    if isinstance(opened, OpenedConflict):
        return say_opened(run, opened, tag or run.newest_series, as_json=json)
    say_edited(context, opened, dry_run=dry_run, as_json=json)
    return 0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("revive")(revive)
