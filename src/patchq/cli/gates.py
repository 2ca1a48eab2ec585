"""``patchq gates``: upstream's capability gates, and what each gives a target."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Json
from patchq.cli.session import session


def gates(
    context: typer.Context,
    tag: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The base; default: the newest series.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TAG", help="Only what is new or changed since this base."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="NAME", help="For this target; default: the first."),
    ] = None,
    json: Json = False,
) -> None:
    """Show upstream's capability gates for a target.

    The helpers and what they return on the target come from `gates:` in patchq.yaml. A condition
    that depends on anything else is undecided.

    \b
    Examples:
      patchq gates v0.5.18
      patchq gates v0.5.18 --since v0.5.17 --target gb10
    """
    from patchq.report.gates import render_gate_changes, render_gates, render_gates_json

    run = session(context)
    tag = tag or run.newest_series
    with run.progress(f"reading the gates of {tag}"):
        found = run.api.gates(tag, since=since, target=target)
    if json:
        output.text(render_gates_json(tag, found.target, found.gates, found.changes, since or ""))
    elif found.changes is not None:
        render_gate_changes(tag, since or "", found.target, found.changes, output.terminal())
    else:
        render_gates(tag, found.target, found.gates, output.terminal())


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gates")(gates)
