"""Where a tree has the CMake project that is evaluated."""

from __future__ import annotations

from patchq.engine.languages.cmake_text import LISTS
from patchq.engine.workspace.project import Project
from patchq.errors import Where
from patchq.git.objects import Objects
from patchq.model.ids import TreeId
from patchq.model.recipe import read_recipe
from patchq.model.workspace import RECIPE

ROOT = "."


def project_at(objects: Objects, tree: TreeId, directory: str) -> TreeId | None:
    """The tree of the project that lies in ``directory``, None if there is none."""
    if directory != ROOT:
        entry = objects.entry(tree, directory)
        if entry is None or not entry.is_tree:
            return None
        tree = entry.tree_id
    return None if objects.file(tree, LISTS) is None else tree


def known_directories(project: Project) -> tuple[str, ...]:
    """Where the recipes of the workspace say that the project lies, newer bases first.

    Raises :class:`~patchq.errors.InputError` if a recipe is malformed.
    """
    workspace, found = project.workspace, dict[str, None]()
    for name in reversed(workspace.series_names()):
        path = workspace.series_path(name) / RECIPE
        if path.is_file():
            where = Where(str(path.relative_to(workspace.root)))
            recipe = read_recipe(path.read_bytes(), where)
            if recipe.project is not None:
                found[recipe.project] = None
    return tuple(found)


def directory_in(project: Project, tree: TreeId) -> str | None:
    """The first known directory that has a project in ``tree``."""
    objects = project.store.objects
    known = known_directories(project)
    return next((name for name in known if project_at(objects, tree, name)), None)
