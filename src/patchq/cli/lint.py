"""``patchq lint``: what is wrong or unfinished in the series."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.session import session
from patchq.model.workspace import LOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchq.model.lint import Finding, Severity
    from patchq.model.workspace import Workspace


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

    Exits with 1 where there are errors; warnings and notices alone do not fail.

    \b
    Examples:
      patchq lint
      patchq lint v0.5.17 --fix
    """
    from patchq.engine.series.lint import lint, lint_workspace
    from patchq.model.lint import Severity

    here = session(context)
    findings = list(lint_workspace(here.workspace))
    if any(finding.where.file == LOCK for finding in findings):
        names: tuple[str, ...] = ()  # what the series stand on cannot be told
    else:
        names = tuple(tags or here.workspace.series_names())
    if repair:
        with here.writing() as workspace:
            for name in _fix(workspace, names):
                here.notice(f"repaired {name}")
    findings += [finding for tag in names for finding in lint(here.workspace, tag)]
    counts = Counter(finding.severity for finding in findings)
    if as_json:
        _print_json(findings)
    else:
        typer.echo(_text(findings, counts, len(names)))
    if counts[Severity.ERROR]:
        raise typer.Exit(1)


def _fix(workspace: Workspace, tags: Sequence[str]) -> list[str]:
    from patchq.engine.series.lint import fix
    from patchq.engine.workspace.transaction import Transaction

    transaction = Transaction(workspace, f"lint --fix {' '.join(tags)}")
    repaired = [f"{tag}/{name}" for tag in tags for name in fix(workspace, tag, transaction)]
    transaction.commit()
    return repaired


def _text(findings: Sequence[Finding], counts: Counter[Severity], series: int) -> str:
    totals = ", ".join(
        f"{count} {severity.value}{'' if count == 1 else 's'}"
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
            "text": finding.text,
            "fixable": finding.fixable,
        }
        for finding in findings
    ]
    output.document("lint", {"findings": rows})
