"""Where in a tree the paths of a patch are: as they stand in it, or below another directory.

Patches are made inside a part of the tree, on an installed package, or two directories further up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from patchq.errors import InputError, Where
from patchq.git.search import list_paths
from patchq.git.store import Store
from patchq.model.ids import TreeId
from patchq.model.patch import Patch, read_patch

_DEEPEST = 16
"""How many leading directories of a patch's paths may be others than the tree's."""


class Places:
    """Looks patches' paths up in trees of one store."""

    def __init__(self, store: Store):
        self._objects = store.objects
        self._git = store.git
        self._listed: dict[str, Mapping[str, frozenset[str]]] = {}

    def knows(self, tree: TreeId, patch: Patch) -> bool:
        """Whether all files that the patch changes are in the tree, and it changes any."""
        old = _changed(patch)
        return bool(old) and all(self._objects.file(tree, path) for path in old)

    def known(self, tree: TreeId, patch: Patch) -> int:
        """How many paths of the patch are in the tree, or in a directory that is."""
        return sum(
            any(self._objects.entry(tree, name) for name in (path, path.rpartition("/")[0]) if name)
            for path in patch.paths
        )

    def find(self, tree: TreeId, name: str, raw: bytes, where: Where) -> tuple[Patch, ...]:
        """The patch in ``raw`` in every place where all files that it changes exist.

        As few of its leading directories as possible are taken off. Nothing is found for a patch
        that only adds files.
        """
        for strip in range(_DEEPEST):
            try:
                patch = read_patch(name, raw, strip=strip, where=where)
            except InputError:
                if strip > 1:
                    break
                continue
            directories = self._directories(tree, _changed(patch))
            if directories:
                return tuple(
                    read_patch(name, raw, strip=strip, where=where, directory=directory)
                    for directory in directories
                )
        return ()

    def _directories(self, tree: TreeId, paths: Iterable[str]) -> list[str]:
        """The directories below which the tree has all of ``paths``; the root is ``""``."""
        first, *others = [*paths] or [""]
        if not first:
            return []
        listed = self._names(tree)
        above = listed.get(first.rpartition("/")[2], frozenset())
        tails = {f"{path}"[: -len(first)].rstrip("/") for path in above if _ends(path, first)}
        return sorted(
            directory
            for directory in tails
            if all(self._objects.file(tree, _below(directory, path)) for path in others)
        )

    def _names(self, tree: TreeId) -> Mapping[str, frozenset[str]]:
        """Every path of the tree, by the name of its file."""
        if tree not in self._listed:
            found: dict[str, set[str]] = {}
            for path in list_paths(self._git, tree):
                found.setdefault(path.rpartition("/")[2], set()).add(path)
            self._listed[tree] = {name: frozenset(paths) for name, paths in found.items()}
        return self._listed[tree]


def _changed(patch: Patch) -> list[str]:
    """The files that must be there before, those aside that the patch itself adds."""
    added = {change.new for change in patch.files if change.old is None}
    old = (change.old for change in patch.files if change.old and change.old not in added)
    return list(dict.fromkeys(old))


def _ends(path: str, end: str) -> bool:
    return path == end or path.endswith(f"/{end}")


def _below(directory: str, path: str) -> str:
    return f"{directory}/{path}" if directory else path
