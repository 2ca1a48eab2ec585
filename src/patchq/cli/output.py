"""Hand a result to its renderer, and the text to where it was asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from patchq.model.verdict import Report


def report(report: Report, *, as_json: bool, to: Path | None = None) -> None:
    """Write a report as JSON or as a table, to a file or to stdout."""
    if as_json:
        from patchq.report.jsonreport import render_json

        text(render_json(report), to)
        return
    from rich.console import Console

    from patchq.report.table import render_table

    if to is None:
        render_table(report, Console(file=sys.stdout, highlight=False, soft_wrap=False))
        return
    with to.open("w", encoding="utf-8") as stream:
        render_table(report, Console(file=stream, highlight=False, width=100))


def text(content: str, to: Path | None = None) -> None:
    """Write text to a file or to stdout."""
    if to is None:
        typer.echo(content, nl=False)
    else:
        to.write_text(content, encoding="utf-8")
