"""``patchq init``: make a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Json
from patchq.cli.session import session


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(
    context: typer.Context,
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where; made if it is missing.")
    ] = Path(),
    upstream: Annotated[
        str | None,
        typer.Option(metavar="URL|PATH", help="The upstream repository.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Make a directory a workspace for a patch series.

    \b
    Examples:
      patchq init --upstream https://github.com/sgl-project/sglang
      patchq init downstream --upstream ~/src/sglang
    """
    from patchq.engine.workspace.init import make_workspace
    from patchq.errors import InputError

    run = session(context)
    location = upstream or run.upstream
    if location is None:
        raise InputError(
            "which upstream? --upstream is missing",
            hint="patchq init --upstream URL, or the path of a clone.",
        )
    workspace = make_workspace(run.start / directory, location)
    if json:
        document = {"workspace": str(workspace.root), "upstream": workspace.lock().upstream}
        output.document("init", document)
        return
    typer.echo(f"{workspace.root} is a workspace for {workspace.lock().upstream}")
    typer.echo("Next: `patchq lock TAG` there pins a base, `patchq import FILE…` takes patches.")
