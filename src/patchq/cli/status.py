"""``patchq status``: where the workspace stands."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.session import session


def status(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
) -> None:
    """Show where the workspace stands.

    Upstream, bases and series, a rebase or an edit under way, and what undo takes back.

    \b
    Examples:
      patchq status
      patchq status --json
    """
    from patchq.cli import output
    from patchq.report.statusview import render_status, render_status_json

    run = session(context)
    found = run.api.status()
    if json:
        output.text(render_status_json(found))
    else:
        render_status(found, output.terminal())


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)
