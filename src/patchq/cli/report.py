"""``patchq report``: what becomes of each patch of a series on another base."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from patchq.cli.session import session
from patchq.errors import InputError
from patchq.model.verdict import Verdict


class Format(Enum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"


def report(
    context: typer.Context,
    tag: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The series; default: the newest.")
    ] = None,
    onto: Annotated[
        str | None,
        typer.Option("--onto", metavar="TAG", help="Judge on this base; default: the next one."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to write it.")] = Format.TABLE,
    to: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="Write to FILE instead of stdout.")
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="VERDICTS", help="Exit 1 where a patch has one of these, comma separated."
        ),
    ] = "",
) -> int:
    """Report what becomes of each patch on another base, with evidence. Writes no series.

    \b
    Examples:
      patchq report v0.5.16 --onto v0.5.17
      patchq report --format json -o report.json
      patchq report v0.5.17 --onto v0.5.18 --fail-on conflict,drifted
    """
    from patchq.cli import output
    from patchq.engine.rebase import judge_series

    run = session(context)
    failing = _verdicts(fail_on)
    series = tag or run.newest_series
    target = onto or run.project.base_after(series)
    with run.progress(f"judging {series} on {target}") as progress:
        judged = judge_series(run.project, series, target, progress)
    output.report(judged.report, as_json=form is Format.JSON, to=to)
    return 1 if judged.report.with_verdict(*failing) else 0


def _verdicts(text: str) -> tuple[Verdict, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = {verdict.value: verdict for verdict in Verdict}
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
