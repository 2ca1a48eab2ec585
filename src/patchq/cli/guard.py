"""``patchq guard``: show or set when a patch is applied."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.options import DryRun, Json, TagOption
from patchq.cli.series_edits import say_edited
from patchq.cli.session import session


def guard(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="The patch.")],
    when: Annotated[
        list[str] | None,
        typer.Option("--when", metavar="GUARD", help="Apply it only with GUARD; may be repeated."),
    ] = None,
    unless: Annotated[
        list[str] | None,
        typer.Option("--unless", metavar="GUARD", help="Never with GUARD; may be repeated."),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Apply it always.")] = False,
    tag: TagOption = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Set the guards of a patch, or show them.

    With --when, any of the guards turns the patch on; a guard of --unless turns it off, and wins.

    \b
    Examples:
      patchq guard nemotron.patch
      patchq guard nemotron.patch --when nemotron-mtp
      patchq guard extra.patch --unless slim
      patchq guard extra.patch --none
    """
    from patchq.model.series import SeriesEntry, asked_guard

    guards = [
        *(asked_guard(word, positive=True) for word in when or ()),
        *(asked_guard(word, positive=False) for word in unless or ()),
    ]
    if none and guards:
        raise typer.BadParameter("--none goes without --when and --unless")
    if not SeriesEntry(name, guards=tuple(guards)).can_be_active():
        raise typer.BadParameter(
            "--when and --unless name the same guards: the patch would never be applied"
        )
    if not (none or guards):
        _show(context, name, tag, as_json=json)
        return
    edited = session(context).api.guard(name, guards, tag, dry_run=dry_run)
    say_edited(context, edited, dry_run=dry_run, as_json=json)


def _show(context: typer.Context, name: str, tag: str | None, *, as_json: bool) -> None:
    from patchq.report.document import render_document

    run = session(context)
    series = tag or run.newest_series
    (name,) = run.api.named([name], series)
    guards = run.workspace.series(series).entry(name).guards
    words = [str(guard).removeprefix("#") for guard in guards]
    if as_json:
        document = {"series": series, "patch": name, "guards": words}
        typer.echo(render_document(document), nl=False)
    else:
        typer.echo(f"{name}: {' '.join(words) or 'no guards'}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("guard")(guard)
