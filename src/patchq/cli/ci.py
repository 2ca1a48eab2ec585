"""``patchq ci``: what a CI engine spreads over machines."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.session import session


class CiOutput(Enum):
    """What to print for the engine."""

    MATRIX = "matrix"


def ci(
    context: typer.Context,
    what: Annotated[CiOutput, typer.Argument(metavar="matrix", help="matrix: the builds.")],
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="Only this series; may be repeated."),
    ] = None,
) -> None:
    """Print the builds of the workspace as a job matrix.

    Every series with every variant of its recipe and every target, as GitHub Actions and others
    take it. Building many of them is the CI engine's work.

    \b
    Examples:
      patchq ci matrix
      patchq ci matrix --tag v0.5.18
    """
    assert what is CiOutput.MATRIX
    run = session(context)
    jobs = []
    for tag in tags or run.workspace.series_names():
        run.workspace.series(tag)
        variants = ("", *run.workspace.recipe(tag).variants)
        targets = tuple(target.name for target in run.settings.targets) or ("",)
        jobs += [
            {"series": tag, "variant": variant, "target": target}
            for variant in variants
            for target in targets
        ]
    output.compact({"include": jobs})


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ci")(ci)
