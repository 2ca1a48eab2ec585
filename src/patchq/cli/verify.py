"""``patchq verify``: prove what can be proved of a series without its hardware."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from patchq.cli.session import session


def verify(
    context: typer.Context,
    tag: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The series; default: the newest.")
    ] = None,
    guards: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="GUARD", help="Select this guard too; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Verify a series: it applies, its checks hold, it builds what each target asks for.

    The kernel's CMake project is evaluated with a real CMake for each target of
    series/patchq.yaml, before and after the series and patch by patch. No compiler, no CUDA and
    none of the tree's code is run. Exits 1 where something failed.

    \b
    Examples:
      patchq verify
      patchq verify v0.5.17 --with nemotron
      patchq verify v0.5.17 --json
    """
    from patchq.engine.selection import select
    from patchq.engine.verify.verify import verify_series

    run = session(context)
    selection = select(run.workspace.load(tag or run.newest_series), run.settings, guards or ())
    with run.progress(f"verifying {selection.directory.tag}") as progress:
        verification = verify_series(run.project, selection, progress)
    if as_json:
        from patchq.report.jsonverification import render_json

        typer.echo(render_json(verification), nl=False)
    else:
        from rich.console import Console

        from patchq.report.verification import render_verification

        render_verification(verification, Console(file=sys.stdout, highlight=False))
    return 0 if verification.passed else 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)
