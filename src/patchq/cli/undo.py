"""``patchq undo``: take back the last change of the series or the lock."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.session import session


def undo(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say only what would be taken back.")
    ] = False,
) -> None:
    """Take back the last command that changed series/ or upstream.lock, one step a call.

    What it wrote must be as it left it. Older states are git's to restore.

    \b
    Examples:
      patchq undo --dry-run
      patchq undo
    """
    from patchq.engine import transaction
    from patchq.errors import InputError

    run = session(context)
    if dry_run:
        journal = transaction.newest(run.workspace)
        if journal is None:
            raise InputError("there is nothing to undo", hint="`git log` knows the rest.")
        typer.echo(f"would take back `{journal.label}` ({journal.time}):")
        for change in journal.changes:
            typer.echo(f"  {change.path}: {'restored' if change.existed else 'removed'}")
        return
    with run.writing() as workspace:
        label = transaction.undo(workspace)
    typer.echo(f"took back `{label}`")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("undo")(undo)
