"""``patchq rebase``: take a series onto another base."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.session import session


def rebase(
    context: typer.Context,
    onto: Annotated[str, typer.Option("--onto", metavar="TAG", help="The base to rebase onto.")],
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TAG", help="The series to take; default: the newest before --onto."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge only; write nothing.")] = False,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going",
            help="Write the new series although patches need review; hold those in retired.yaml.",
        ),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the series that is there already.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> int:
    """Rebase a series onto another base, without a checkout.

    Each patch is merged three-way with its old base; the report says what became of it, and why.
    The new series is written as one directory, or not at all.

    \b
    Examples:
      patchq rebase --onto v0.5.17
      patchq rebase --onto v0.5.17 --dry-run --json
      patchq rebase --from v0.5.18 --onto v0.5.16
      patchq rebase --onto v0.5.18 --keep-going
    """
    from patchq.cli import output
    from patchq.engine.rebase import judge_series, new_directory, refuse_existing
    from patchq.engine.transaction import Transaction

    run = session(context)
    if not (dry_run or replace):
        refuse_existing(run.workspace, onto)
    with run.progress(f"rebasing onto {onto}") as progress:
        rebased = judge_series(
            run.project, source or run.project.series_before(onto), onto, progress
        )
    output.report(rebased.report, as_json=json)
    pending = rebased.report.needs_review
    if dry_run:
        return 1 if pending else 0
    if pending and not keep_going:
        run.notice(
            f"nothing was written: {len(pending)} of {len(rebased.report.patches)} patches need "
            "review (--keep-going writes the rest and holds them)"
        )
        return 1
    with run.writing() as workspace:
        transaction = Transaction(workspace, f"rebase --onto {onto}")
        transaction.write_directory(workspace.series_path(onto), new_directory(rebased))
        transaction.commit()
    run.notice(f"wrote series/{onto} ({len(rebased.carried)} patches)")
    return 1 if pending else 0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rebase")(rebase)
