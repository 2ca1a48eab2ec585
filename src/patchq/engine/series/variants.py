"""Variants of a recipe turned on in a selection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from patchq.engine.series.selection import Selection, select
from patchq.errors import Where
from patchq.model.recipe import Chosen, Recipe, read_recipe
from patchq.model.settings import Settings
from patchq.model.workspace import RECIPE, SeriesDirectory, Workspace


def recipe_of(directory: SeriesDirectory) -> Recipe:
    """The recipe of a series; raises :class:`~patchq.errors.InputError` where it is malformed."""
    path = PurePath(directory.series.where.file).with_name(RECIPE)
    return read_recipe(directory.recipe, Where(str(path)))


def guards_of(workspace: Workspace, tag: str, variants: Iterable[str]) -> tuple[str, ...]:
    """The guards that ``variants`` of the series on ``tag`` turn on; raises as :func:`turn_on`."""
    names = tuple(variants)
    return recipe_of(workspace.load(tag)).choose(names).guards if names else ()


def turn_on(
    settings: Settings, selection: Selection, names: Iterable[str]
) -> tuple[Selection, Chosen]:
    """The selection with the guards of the variants ``names``, and the pins that then hold.

    Raises :class:`~patchq.errors.InputError` where a variant or a guard is not known, or two
    variants exclude each other.
    """
    choice = recipe_of(selection.directory).choose(names)
    chosen = select(selection.directory, settings, choice.guards)
    return replace(selection, guards=selection.guards | chosen.guards), choice
