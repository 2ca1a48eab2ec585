"""``patchq fetch``: bring what the lock names."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Json
from patchq.cli.session import session


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fetch")(fetch)


def fetch(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[BASE]…", help="Which bases; default: all.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="All files of history too; nothing is fetched later.")
    ] = False,
    json: Json = False,
) -> None:
    """Bring the locked bases into the store, and check them.

    \b
    Examples:
      patchq fetch
      patchq fetch v0.5.17
      patchq --upstream ~/src/sglang fetch
      patchq fetch --whole
    """
    run = session(context)
    rows = []
    for base, outcome in run.api.fetch(*(names or ()), whole=whole):
        rows.append({"name": base.name, "commit": base.commit, "outcome": outcome.value})
        if not json:
            typer.echo(f"{base.name} {base.commit[:12]} {outcome.value}")
    if json:
        output.document("fetch", {"bases": rows})
