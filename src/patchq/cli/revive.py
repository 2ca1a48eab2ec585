"""``patchq revive``: bring a retired or held patch back into its series."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.session import session


def revive(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="A patch of retired.yaml.")],
    tag: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The series; default: the newest.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say only what would be done.")
    ] = False,
) -> int:
    """Bring a retired or held patch back, carried onto the series' own base.

    It is judged again; one that does not merge is refused with the reason.

    \b
    Examples:
      patchq revive draft-clamp.patch
      patchq revive draft-clamp.patch v0.5.18
    """
    from patchq.engine.revive import revived_directory
    from patchq.engine.transaction import Transaction

    run = session(context)
    series = tag or run.newest_series
    files, verdict = revived_directory(run.project, series, name)
    if dry_run:
        typer.echo(f"{name} would come back to {series} ({verdict.value})")
        return 0
    with run.writing() as workspace:
        transaction = Transaction(workspace, f"revive {name} {series}")
        transaction.write_directory(workspace.series_path(series), files)
        transaction.commit()
    typer.echo(f"{name} is back in {series} ({verdict.value})")
    return 0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("revive")(revive)
