"""Variants of a recipe turned on in a selection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from patchq.engine.project import Project
from patchq.engine.selection import Selection, select
from patchq.engine.verify.subject import recipe_of
from patchq.model.recipe import Choice


def turn_on(
    project: Project, selection: Selection, names: Iterable[str]
) -> tuple[Selection, Choice]:
    """The selection with the guards of the variants ``names``, and the pins that then hold.

    Raises :class:`~patchq.errors.InputError` where a variant or a guard is not known, or two
    variants exclude each other.
    """
    choice = recipe_of(project, selection).choose(names)
    chosen = select(selection.directory, project.settings, choice.guards)
    return replace(selection, guards=selection.guards | chosen.guards), choice
