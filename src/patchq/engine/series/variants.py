"""The recipe of a series: its variants turned on in a selection, and itself on another base."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from patchq.engine.languages.cmake_text import LISTS
from patchq.engine.series.selection import Selection, select
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import InputError, Where
from patchq.model.recipe import Chosen, Recipe, Variant, read_recipe
from patchq.model.retired import provided_by_upstream
from patchq.model.settings import Settings
from patchq.model.workspace import RECIPE, SeriesDirectory, Workspace


def recipe_of(directory: SeriesDirectory) -> Recipe:
    """The recipe of a series; raises :class:`~patchq.errors.InputError` if it is malformed."""
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

    Raises :class:`~patchq.errors.InputError` if a variant or a guard is not known, two variants
    exclude each other, or one requires a patch that is not in.
    """
    recipe = recipe_of(selection.directory)
    choice = recipe.choose(names)
    chosen = select(selection.directory, settings, choice.guards)
    selection = replace(selection, guards=selection.guards | chosen.guards)
    for name in choice.variants:
        _require_all(selection, recipe.variants[name])
    return selection, choice


def _require_all(selection: Selection, variant: Variant) -> None:
    directory = selection.directory
    landed = provided_by_upstream(directory.retired)
    lacking = [
        name
        for name in variant.requires
        if name not in directory.series.names and name not in landed
    ]
    if lacking:
        verb = "is" if len(lacking) == 1 else "are"
        raise InputError(
            f"variant {variant.name} requires {', '.join(lacking)}, which {verb} not in series/"
            f"{directory.tag}",
            where=variant.where,
            hint="`patchq backport` and `patchq import` bring a patch into a series.",
        )
    active = {entry.name for entry in selection.entries}
    for name in variant.requires:
        if name in directory.series.names and name not in active:
            guards = " ".join(map(str, directory.series.entry(name).guards))
            raise InputError(
                f"variant {variant.name} requires {name}, which is off with it ({guards})",
                where=variant.where,
                hint=f"Give the variant the guards that turn {name} on.",
            )


def moved_recipe(span: UpstreamRange, recipe: bytes | None) -> bytes | None:
    """The recipe with its project directory where it is on the new base, all else byte for byte."""
    found = re.search(rb"^project: *(\S+) *$", recipe or b"", re.MULTILINE)
    if recipe is None or found is None:
        return recipe
    marker = f"{found[1].decode()}/{LISTS}"
    new = span.place(marker).new if span.covers(marker) else None
    if new is None:
        return recipe
    directory = new.removesuffix(f"/{LISTS}").encode()
    return recipe[: found.start(1)] + directory + recipe[found.end(1) :]
