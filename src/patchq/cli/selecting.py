"""``--with`` and ``--variant``: the selection of a series that a command is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from patchq.cli.session import Session

Guards = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="GUARD", help="Turn a guard on; may be repeated."),
]
Variants = Annotated[
    list[str] | None,
    typer.Option("--variant", metavar="NAME", help="A variant of the recipe; may be repeated."),
]


def selected_guards(
    run: Session, tag: str, guards: Iterable[str] | None, variants: Iterable[str] | None
) -> tuple[str, ...]:
    """The guards given, and those of the variants of the series on ``tag``."""
    from patchq.engine.series.variants import guards_of

    return (*(guards or ()), *guards_of(run.workspace, tag, variants or ()))
