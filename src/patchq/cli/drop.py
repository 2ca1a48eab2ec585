"""``patchq drop``: take patches out of a series."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.options import DryRun, Json, TagOption
from patchq.cli.series_edits import asked_reason, say_edited
from patchq.cli.session import session


def drop(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[PATCH]", help="The patches to drop.")
    ] = None,
    tag: TagOption = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="WHY", help="Why; kept in retired.yaml.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Keep no record of them.")] = False,
    ended: Annotated[
        bool,
        typer.Option("--ended", help="Propose the patches that ended on a later base; drop none."),
    ] = False,
    not_live: Annotated[
        bool,
        typer.Option("--not-live", help="With --ended: only those that no live base needs."),
    ] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Take patches out of a series, with a reason.

    They are kept in retired.yaml with the reason, so that `patchq revive` brings them back. The
    patches above are merged onto what is left; if one does not merge, nothing is written.

    \b
    Examples:
      patchq drop fa3-off.patch --reason "built on aarch64 only"
      patchq drop a.patch b.patch --tag v0.5.18 --forget
      patchq drop --ended --not-live
    """
    if ended or not_live:
        if names or tag or forget or reason is not None or not ended:
            raise typer.BadParameter("--ended [--not-live] stands alone: it only proposes")
        _propose(context, not_live=not_live, as_json=json)
        return
    if not names:
        raise typer.BadParameter("name the patches to drop, or ask with --ended")
    if forget and reason is not None:
        raise typer.BadParameter("--reason and --forget exclude each other")
    api = session(context).api
    names = api.named(names, tag, retired=True)
    why = None if forget else asked_reason(reason, f"Why is {', '.join(names)} dropped")
    edited = api.drop(names, why, tag, dry_run=dry_run)
    say_edited(context, edited, dry_run=dry_run, as_json=json)


def _propose(context: typer.Context, *, not_live: bool, as_json: bool) -> None:
    from patchq.cli import output
    from patchq.engine.workspace.live import require_live
    from patchq.report.ended import render_ended, render_ended_json

    run = session(context)
    if not_live:
        require_live(run.settings)
    live = run.settings.release.live
    found = run.api.ended()
    if as_json:
        output.text(render_ended_json(found, live, not_live=not_live))
    else:
        render_ended(found, live, output.terminal(), not_live=not_live)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("drop")(drop)
