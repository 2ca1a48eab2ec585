"""``patchq import --recipe``: a shell recipe as the recipe of a base."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from patchq.model.workspace import RECIPE

if TYPE_CHECKING:
    from patchq.cli.session import Session


def import_recipe(here: Session, file: Path, tag: str, *, dry_run: bool) -> int:
    """Write the recipe of the series on ``tag`` from ``file``; list what has no place there."""
    recipe, rendered = here.api.import_recipe(file, tag, dry_run=dry_run)
    typer.echo(rendered.decode(), nl=False)
    here.notice(f"{tag}: {'would write' if dry_run else 'wrote'} {RECIPE}")
    for one in recipe.unmapped:
        here.notice(f"{file}:{one.line}: {one.text}: {one.why}")
    return 0
