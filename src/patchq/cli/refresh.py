"""``patchq refresh``: bring the commits of an open edit back as patch files."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.options import DryRun
from patchq.cli.series_edits import written_words
from patchq.cli.session import Session, session
from patchq.model.words import counted

if TYPE_CHECKING:
    from patchq.engine.edit.refresh import Refreshed, RefreshedPatch


def refresh(
    context: typer.Context,
    amend: Annotated[
        bool, typer.Option("--amend", help="Put uncommitted changes into the last commit's patch.")
    ] = False,
    dry_run: DryRun = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Write the commits of the open edit back as patches.

    Then the edit in .patchq/edit is closed.

    Only patches that changed are written. Patches above the opened one are put back on top; if
    one of them no longer merges, nothing is written and the edit stays open.

    \b
    Examples:
      patchq refresh --dry-run
      patchq refresh
      patchq refresh --amend --json
    """
    run = session(context)
    refreshed = run.api.refresh(amend=amend, dry_run=dry_run)
    if refreshed is None:
        run.notice("the series had been written already; the edit is closed now")
    elif json:
        _print_json(refreshed, dry_run)
    else:
        _print_text(run, refreshed, dry_run)


def _print_text(run: Session, refreshed: Refreshed, dry_run: bool) -> None:
    from patchq.engine.edit.refresh import RefreshOutcome

    told = [each for each in refreshed.outcomes if each.what != (RefreshOutcome.UNCHANGED,)]
    for each in told:
        typer.echo(f"{', '.join(what.value for what in each.what):<10}  {_names(each)}")
    same = len(refreshed.outcomes) - len(told)
    if same:
        typer.echo(f"unchanged   {counted(same, 'patch')}")
    words = written_words(refreshed.edited.changes, dry_run=dry_run)
    typer.echo(f"{refreshed.edit.tag}: {words}")
    run.say_notes(refreshed.edited.notes)
    for each in told:
        if RefreshOutcome.DROPPED in each.what:
            revive = f"`patchq revive {quote(each.name)} {refreshed.edit.tag}` brings it back"
            run.notice(
                f"{each.name} {'would be' if dry_run else 'is'} kept in retired.yaml: {revive}"
            )


def _names(outcome: RefreshedPatch) -> str:
    from patchq.engine.edit.refresh import RefreshOutcome

    if outcome.old is None:
        return outcome.name
    how = "out of" if RefreshOutcome.NEW in outcome.what else "was"
    return f"{outcome.name} ({how} {outcome.old})"


def _print_json(refreshed: Refreshed, dry_run: bool) -> None:
    changes = refreshed.edited.changes
    document = {
        "series": refreshed.edit.tag,
        "dry_run": dry_run,
        "patches": [
            {"name": each.name, "was": each.old, "what": [what.value for what in each.what]}
            for each in refreshed.outcomes
        ],
        "written": sorted(changes.written),
        "removed": sorted(changes.removed),
        "notes": list(refreshed.edited.notes),
    }
    output.document("refresh", document)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("refresh")(refresh)
