"""``patchq drop``: take patches out of a series."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.options import DryRun, Json, TagOption
from patchq.cli.series_edits import asked_reason, change, patch_names


def drop(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="PATCH", help="The patches to drop.")],
    tag: TagOption = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="WHY", help="Why; kept in retired.yaml.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Keep no record of them.")] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Take patches out of a series, with a reason.

    They are kept in retired.yaml with the reason, so that `patchq revive` brings them back. The
    patches above are merged onto what is left; where one does not merge, nothing is written.

    \b
    Examples:
      patchq drop fa3-off.patch --reason "built on aarch64 only"
      patchq drop a.patch b.patch --tag v0.5.18 --forget
    """
    from patchq.engine.series import edits

    if forget and reason is not None:
        raise typer.BadParameter("--reason and --forget exclude each other")
    names = patch_names(context, tag, names, retired=True)
    why = None if forget else asked_reason(reason, f"Why is {', '.join(names)} dropped")
    change(
        context,
        f"drop {' '.join(names)}",
        tag,
        lambda project, series: edits.drop(project, series, names, why),
        dry_run=dry_run,
        as_json=json,
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("drop")(drop)
