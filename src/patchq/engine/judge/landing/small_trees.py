"""Trees of just a few paths, for merges."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from patchq.git.objects import Entries, Objects
from patchq.model.ids import TreeId


def small_tree(objects: Objects, entries: Entries) -> TreeId:
    """A tree of just these paths, below the directory that they have in common.

    A merge goes by how paths stand to each other: the directories above would only cost
    objects.
    """
    return objects.tree_of({name: entries[path] for path, name in names_below(entries)})


def names_below(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Each path with its name below the directory that all have in common."""
    paths = list(paths)
    common = posixpath.commonpath([posixpath.dirname(path) for path in paths])
    above = len(f"{common}/") if common else 0
    return [(path, path[above:]) for path in paths]
