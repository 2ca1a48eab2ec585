"""``patchq import --recipe``: a shell recipe as the recipe of a base."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from patchq.errors import InputError, Where

if TYPE_CHECKING:
    from patchq.cli.session import Session


def import_recipe(here: Session, file: Path, tag: str, *, dry_run: bool) -> int:
    """Write the recipe of the series on ``tag`` from ``file``; list what has no place there."""
    from patchq.engine.importing.recipe import read_shell_recipe, render_recipe
    from patchq.engine.workspace.transaction import Transaction
    from patchq.model.recipe import read_recipe
    from patchq.model.workspace import RECIPE, SERIES

    base = here.lock.base(tag)
    with here.writing() as workspace:
        directory = workspace.load_or_empty(tag)
        target = directory.path / RECIPE
        if target.exists():
            raise InputError(
                f"{tag} has a recipe already",
                where=Where(str(target.relative_to(workspace.root))),
                hint="Remove it, or write what is new into it by hand.",
            )
        here.store.check((base,))
        recipe = read_shell_recipe(
            here.project, base, directory.series, str(file), file.read_bytes()
        )
        rendered = render_recipe(recipe, str(file))
        read_recipe(rendered, Where(RECIPE))
        if not dry_run:
            transaction = Transaction(workspace, here.typed(tag))
            if not (directory.path / SERIES).exists():
                transaction.write_file(directory.path / SERIES, directory.series.raw)
            transaction.write_file(target, rendered)
            transaction.commit()
    typer.echo(rendered.decode(), nl=False)
    for one in recipe.unmapped:
        here.notice(f"{file}:{one.line}: {one.text}: {one.why}")
    return 0
