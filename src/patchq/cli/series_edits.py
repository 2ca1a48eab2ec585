"""What the commands that change one series have in common: write it, and say what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from patchq.cli import output
from patchq.cli.session import session

if TYPE_CHECKING:
    from patchq.engine.series.directory_changes import DirectoryChanges
    from patchq.engine.series.edits import Edited


def say_edited(context: typer.Context, edited: Edited, *, dry_run: bool, as_json: bool) -> None:
    """Say what was written of a change of a series."""
    run = session(context)
    run.say_notes(edited.notes)
    if as_json:
        _print_json(edited, dry_run)
    else:
        typer.echo(f"{edited.new.tag}: {written_words(edited.changes, dry_run=dry_run)}")


def written_words(changes: DirectoryChanges, *, dry_run: bool) -> str:
    """Which files were written and removed."""
    if not changes:
        return "nothing to change"
    would = "would " if dry_run else ""
    verbs = ("write", "remove") if dry_run else ("wrote", "removed")
    parts = [
        f"{would}{verb} {', '.join(names)}"
        for verb, names in zip(verbs, (changes.written, changes.removed), strict=True)
        if names
    ]
    return "; ".join(parts)


def asked_reason(reason: str | None, question: str) -> str:
    """The reason given, or on a terminal asked for; raises if there is none."""
    import sys

    if reason is None and sys.stdin.isatty():
        reason = str(typer.prompt(question, err=True))
    if not (reason or "").strip():
        raise typer.BadParameter("give a reason: --reason WHY (or --forget keeps no record)")
    assert reason is not None
    return reason.strip()


def _print_json(edited: Edited, dry_run: bool) -> None:
    changes = edited.changes
    document = {
        "series": edited.new.tag,
        "dry_run": dry_run,
        "written": sorted(changes.written),
        "removed": sorted(changes.removed),
        "order": list(edited.new.series.names),
        "notes": list(edited.notes),
    }
    output.document("edited", document)
