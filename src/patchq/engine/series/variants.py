"""The recipe of a series: its variants turned on in a selection, and itself on another base."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from patchq.engine.series.selection import Selection, select
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import Where
from patchq.model.recipe import Chosen, Recipe, read_recipe
from patchq.model.settings import Settings
from patchq.model.workspace import RECIPE, SeriesDirectory, Workspace

_PROJECT_FILE = "CMakeLists.txt"


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


def moved_recipe(span: UpstreamRange, recipe: bytes | None) -> bytes | None:
    """The recipe with its project directory where it is on the new base, all else byte for byte."""
    found = re.search(rb"^project: *(\S+) *$", recipe or b"", re.MULTILINE)
    if recipe is None or found is None:
        return recipe
    marker = f"{found[1].decode()}/{_PROJECT_FILE}"
    new = span.place(marker).new if span.covers(marker) else None
    if new is None:
        return recipe
    directory = new.removesuffix(f"/{_PROJECT_FILE}").encode()
    return recipe[: found.start(1)] + directory + recipe[found.end(1) :]
