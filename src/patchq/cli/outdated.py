"""``patchq outdated``: tags that upstream has and the lock has not."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Json
from patchq.cli.session import session


def outdated(
    context: typer.Context,
    pre: Annotated[bool, typer.Option("--pre", help="Count pre-releases too.")] = False,
    json: Json = False,
) -> int:
    """List the tags that upstream has after those of the lock.

    Exits 1 if there are any.

    \b
    Examples:
      patchq outdated
      patchq outdated --json
    """
    run = session(context)
    newer = run.api.newer_tags(pre=pre)
    if json:
        output.document("outdated", {"newest": run.lock.bases[-1].name, "tags": list(newer)})
        return int(bool(newer))
    for tag in newer:
        typer.echo(tag)
    if not newer:
        run.notice(f"upstream has no tag after those of the lock, the last {run.lock.names[-1]}")
    else:
        run.notice(f"`patchq lock {newer[-1]}` pins the newest, `patchq next` looks at it")
    return int(bool(newer))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("outdated")(outdated)
