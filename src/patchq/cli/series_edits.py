"""What the commands that change one series have in common: write it, and say what was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import typer

from patchq.cli import output
from patchq.cli.session import session

if TYPE_CHECKING:
    from patchq.engine.series.edits import Edited
    from patchq.engine.series.restack import DirectoryChanges
    from patchq.engine.workspace.project import Project


def change(
    context: typer.Context,
    tag: str | None,
    make: Callable[[Project, str], Edited],
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make a change of a series, write it unless ``dry_run``, and say what was written."""
    run = session(context)
    series = tag or run.newest_series
    if dry_run:
        edited = make(run.project, series)
    else:
        with run.writing():
            edited = make(run.project, series)
            edited.write(run.project, run.typed(series))
    for note in edited.notes:
        run.notice(note)
    if as_json:
        _print_json(series, edited, dry_run)
    else:
        typer.echo(f"{series}: {written_words(edited.changes, dry_run=dry_run)}")


def patch_names(
    context: typer.Context, tag: str | None, names: Sequence[str], *, retired: bool = False
) -> list[str]:
    """The patches of a series that ``names`` mean, also without their ending.

    With ``retired`` also those that have left it. A name that is none of them stays, for the
    engine to refuse.
    """
    from patchq.model.series import meant_name

    run = session(context)
    series = tag or run.newest_series
    known = run.workspace.series(series).names
    meant = [meant_name(name, known) for name in names]
    if not retired:
        return meant
    left = {record.name for record in run.workspace.retired(series)}
    return [name if name in known else meant_name(name, left) for name in meant]


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
    """The reason given, or on a terminal asked for; raises where there is none."""
    import sys

    if reason is None and sys.stdin.isatty():
        reason = str(typer.prompt(question, err=True))
    if not (reason or "").strip():
        raise typer.BadParameter("give a reason: --reason WHY (or --forget keeps no record)")
    assert reason is not None
    return reason.strip()


def _print_json(series: str, edited: Edited, dry_run: bool) -> None:
    changes = edited.changes
    document = {
        "series": series,
        "dry_run": dry_run,
        "written": sorted(changes.written),
        "removed": sorted(changes.removed),
        "order": list(edited.new.series.names),
        "notes": list(edited.notes),
    }
    output.document("edited", document)
