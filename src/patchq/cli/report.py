"""``patchq report``: what becomes of each patch of a series on another base."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli.options import Jobs
from patchq.cli.output import Format
from patchq.cli.session import Session, session
from patchq.errors import InputError
from patchq.model.verdict import (
    Action,
    Column,
    Matrix,
    Memory,
    Report,
    Verdict,
)

if TYPE_CHECKING:
    from patchq.engine.rebase.rebase import Rebased
    from patchq.model.patch import Patch


def report(
    context: typer.Context,
    tag: Annotated[
        str | None,
        typer.Argument(metavar="[TAG]", help="The series; default: the newest (before --onto)."),
    ] = None,
    onto: Annotated[
        str | None,
        typer.Option("--onto", metavar="TAG", help="Judge on this base; default: the next one."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="REF", help="Forecast: judge on an upstream commit or branch."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every patch against every locked base.")
    ] = False,
    unfold: Annotated[
        bool, typer.Option("--unfold", help="With --all: the bases that are not live too.")
    ] = False,
    form: Annotated[Format, typer.Option("--format", help="How to write it.")] = Format.TABLE,
    to: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="Write to FILE instead of stdout.")
    ] = None,
    effects: Annotated[
        bool,
        typer.Option(
            "--effects", help="Evaluate the build too: what each carried patch changes in it."
        ),
    ] = False,
    jobs: Jobs = None,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="VERDICTS",
            help="Exit 1 if a patch has one of these, comma separated: verdicts, held, resurfaced.",
        ),
    ] = "",
) -> int:
    """Report what becomes of each patch on another base.

    Each verdict has its evidence. No series is written.

    Exits 1 if a retired patch is needed again, a patch vanished between two series without a
    record, or --fail-on says so.

    \b
    Examples:
      patchq report v0.5.16 --onto v0.5.17
      patchq report --against main --fail-on conflict,drifted
      patchq report --format markdown -o comment.md
      patchq report --all --format html -o lifecycle.html
    """
    from patchq.cli import output

    run = session(context)
    if to is not None:
        output.check_place(to)
    failing = _outcomes(fail_on)
    links = run.api.links
    if sum(bool(choice) for choice in (onto, against, every)) > 1:
        raise InputError("--onto, --against and --all are three different questions; ask one")
    if every:
        if tag is not None:
            raise InputError("--all reports on every series; leave out the tag")
        matrix = _lifecycle(run, jobs)
        if effects:
            matrix = Matrix(tuple(_with_effects_on(run, column) for column in matrix.columns))
        made = output.made_by(run) if form is Format.HTML else None
        output.write_matrix(
            matrix,
            form,
            title=output.title_of(run),
            to=to,
            links=links,
            unfolded=unfold,
            made=made,
        )
        reports = [column.report for column in matrix.columns if column.report]
    else:
        with run.progress("judging the series") as progress:
            told = run.api.judge(tag, onto=onto, against=against, progress=progress, jobs=jobs)
        reports = [_with_effects(run, told) if effects else told.report]
        page = form is Format.HTML
        made = output.made_by(run) if page else None
        versions = (told.source.contents, told.contents) if page else None
        output.write_report(reports[0], form, to=to, links=links, made=made, versions=versions)
    found = any(_has(report, failing) or report.resurfaced or report.lost for report in reports)
    return 1 if found else 0


def _has(report: Report, outcomes: Collection[Verdict | Memory]) -> bool:
    verdicts = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
    return bool(report.with_verdict(*verdicts)) or any(
        item.memory in outcomes for item in report.remembered
    )


def _lifecycle(run: Session, jobs: int | None) -> Matrix:
    """The matrix; bases that are not fetched are left unjudged, and told."""
    with run.progress("judging every series") as progress:
        matrix = run.api.matrix(progress, jobs=jobs)
    run.tell_unfetched(matrix.columns)
    return matrix


def _with_effects(run: Session, judged: Rebased) -> Report:
    patches = [carried.patch for carried in judged.judgements.values() if carried.stands]
    return _evaluated(run, judged.report, [patch for patch in patches if patch])


def _with_effects_on(run: Session, column: Column) -> Column:
    if column.report is None:
        return column
    carried = [
        column.contents[patch.name]
        for patch in column.report.patches
        if patch.action in (Action.CARRY, Action.ADAPT) and patch.name in column.contents
    ]
    return replace(column, report=_evaluated(run, column.report, carried))


def _evaluated(run: Session, report: Report, patches: Sequence[Patch]) -> Report:
    """``report`` with what each of ``patches`` does to the build."""
    with run.progress("evaluating the build"):
        return run.api.with_effects(report, patches)


def _outcomes(text: str) -> tuple[Verdict | Memory, ...]:
    """What --fail-on names: verdicts, and what becomes of patches out of the series."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    outcomes: tuple[Verdict | Memory, ...] = (*Verdict, Memory.HELD, Memory.RESURFACED)
    known = {outcome.value: outcome for outcome in outcomes}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(
            f"--fail-on: there is no verdict {unknown[0]!r}",
            hint=f"The verdicts are {', '.join(known)}.",
        )
    return tuple(known[name] for name in names)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)
