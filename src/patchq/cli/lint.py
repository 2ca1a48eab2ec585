"""``patchq lint``: what is wrong or unfinished in the series."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.session import session
from patchq.model.words import counted
from patchq.model.workspace import LOCK
from patchq.report.text import spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchq.model.lint import Finding, Severity


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lint")(lint)


def lint(
    context: typer.Context,
    tags: Annotated[
        list[str] | None, typer.Argument(metavar="[TAG]", help="Which series; default: all.")
    ] = None,
    repair: Annotated[
        bool, typer.Option("--fix", help="Repair what has only one repair, then look again.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check the files of the series, without the upstream.

    Exits 1 if there are errors; warnings and notices alone do not fail.

    \b
    Examples:
      patchq lint
      patchq lint v0.5.17 --fix
    """
    from patchq.model.lint import Severity

    here = session(context)
    if repair:
        for name in here.api.fix(*(tags or ())):
            here.notice(f"repaired {name}")
    findings = here.api.lint(*(tags or ()))
    readable = all(finding.where.file != LOCK for finding in findings)
    series = len(tags or here.api.series_names) if readable else 0
    counts = Counter(finding.severity for finding in findings)
    if as_json:
        _print_json(findings)
    else:
        typer.echo(spelled(_text(findings, counts, series)))
    if counts[Severity.ERROR]:
        raise typer.Exit(1)


def _text(findings: Sequence[Finding], counts: Counter[Severity], series: int) -> str:
    totals = ", ".join(
        counted(count, severity.value)
        for severity, count in sorted(counts.items(), key=lambda item: item[0].value)
    )
    return "\n".join([*map(str, findings), f"{totals or 'nothing found'} in {series} series"])


def _print_json(findings: Sequence[Finding]) -> None:
    rows = [
        {
            "severity": finding.severity.value,
            "code": finding.code.value,
            "file": finding.where.file,
            "line": finding.where.line,
            "text": spelled(finding.text),
            "fixable": finding.fixable,
        }
        for finding in findings
    ]
    output.document("lint", {"findings": rows})
