"""``patchq undo``: take back the last change of the series or the lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Json
from patchq.cli.session import session

if TYPE_CHECKING:
    from patchq.engine.workspace.journal import Journal, StagedPath


def undo(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say only what would be taken back.")
    ] = False,
    json: Json = False,
) -> None:
    """Take back the last command that changed the workspace.

    That is series/ or upstream.lock, one step a call.

    What it wrote must be as it left it. Conflicts that were solved on the way stay remembered, in
    .patchq. Older states are git's to restore.

    \b
    Examples:
      patchq undo --dry-run
      patchq undo
    """
    from patchq.engine.workspace.journal import Kind
    from patchq.engine.workspace.kept_aside import aside
    from patchq.errors import InputError

    run = session(context)
    if dry_run:
        journal = run.api.last_change
        if journal is None:
            raise InputError("there is nothing to undo", hint="`git log` has the rest.")
        if json:
            _print_json(journal, dry_run=True)
            return
        typer.echo(f"would take back `{journal.label}` ({journal.time}):")
        for change in journal.changes[:_MOST]:
            typer.echo(f"  {change.path}: {_outcome(change)}")
        if (more := len(journal.changes) - _MOST) > 0:
            typer.echo(f"  and {more} more (--json lists them)")
        return
    journal = run.api.undo()
    if json:
        _print_json(journal, dry_run=False)
    else:
        typer.echo(f"took back `{journal.label}`")
    root = run.workspace.root
    for change in journal.changes:
        if change.kind is Kind.KEPT:
            kept = aside(root, root / change.path)
            place = kept.relative_to(root)
            run.notice(f"{change.path} is kept in {place}; delete it to solve that conflict again")


_MOST = 10


def _print_json(journal: Journal, *, dry_run: bool) -> None:
    rows = [{"path": change.path, "outcome": _outcome(change)} for change in journal.changes]
    facts = {"command": journal.label, "time": journal.time, "dry_run": dry_run}
    output.document("undo", {**facts, "paths": rows})


def _outcome(change: StagedPath) -> str:
    from patchq.engine.workspace.journal import Kind

    if change.kind is Kind.KEPT:
        return "kept aside"
    return "restored" if change.existed else "removed"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("undo")(undo)
