"""The modules of a tree, as an import finds them.

Everything is told from the text of the tree. A module is known by its place: its path without
``.py``, a package's without ``/__init__.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import basename, dirname

from patchq.engine.languages.python_facts import FactsCache, Import, ModuleFacts, When
from patchq.engine.languages.python_modules import read_facts
from patchq.git.objects import SYMLINK_MODE
from patchq.git.store import Store
from patchq.model.ids import TreeId

_COMPILED = (".pyi", ".so", ".pyd")
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
_SOURCE_DIRECTORIES = ("src", "python", "lib")


@dataclass(frozen=True)
class FoundModule:
    """What stands at a place; ``facts`` are None for a directory without ``__init__.py``."""

    place: str
    facts: ModuleFacts | None


class Packages:
    """The packages of a tree that an absolute import can begin with."""

    def __init__(self, paths: Iterable[str]):
        paths = frozenset(paths)
        self._initial = {dirname(path) for path in paths if path.endswith("/__init__.py")}
        self._projects = {dirname(path) for path in paths if basename(path) in _PROJECT_FILES}
        self.roots: dict[str, list[str]] = {}
        for directory in sorted(self._initial):
            parent = dirname(directory)
            if parent not in self._initial and self._is_root(parent):
                self.roots.setdefault(basename(directory), []).append(parent)

    def _is_root(self, directory: str) -> bool:
        """Whether what lies in ``directory`` is imported by its own name."""
        above, _, name = directory.rpartition("/")
        if directory in self._projects or (name in _SOURCE_DIRECTORIES and above in self._projects):
            return True
        return self._initial.isdisjoint(map(str, PurePosixPath(directory).parents))

    def dotted(self, place: str) -> str:
        """The name that a place is imported by; its path where it has none."""
        tops = [(root, below(root, name)) for name, roots in self.roots.items() for root in roots]
        around = [root for root, top in tops if f"{place}/".startswith(f"{top}/")]
        if not around:
            return place
        return place.removeprefix(f"{max(around, key=len)}/").replace("/", ".")


class Tree:
    """The modules of one tree."""

    def __init__(self, store: Store, tree: TreeId, packages: Packages, cache: FactsCache):
        self._objects = store.objects
        self._cache = cache
        self._modules: dict[str, FoundModule | None] = {}
        self.oid = tree
        self.packages = packages

    def facts(self, path: str) -> ModuleFacts | None:
        """The facts of the file at ``path``, None if there is none."""
        entry = self._objects.file(self.oid, path)
        if entry is None:
            return None
        if entry.mode == SYMLINK_MODE:
            return ModuleFacts(open=True)
        kept = self._cache.get(entry.oid)
        if kept is None:
            kept = read_facts(self._objects.read(entry.oid))
            self._cache.put(entry.oid, kept)
        return kept

    def module(self, place: str) -> FoundModule | None:
        """What an import of ``place`` finds, in the order of Python's own path finder."""
        if place not in self._modules:
            self._modules[place] = self._find(place)
        return self._modules[place]

    def _find(self, place: str) -> FoundModule | None:
        for path in (f"{place}/__init__.py", f"{place}.py"):
            facts = self.facts(path)
            if facts is not None:
                return FoundModule(place, facts)
        stem = f"{basename(place)}."
        if any(name.startswith(stem) and name.endswith(_COMPILED) for name in self._beside(place)):
            return FoundModule(place, ModuleFacts(open=True))
        entry = self._objects.entry(self.oid, place) if place else None
        return FoundModule(place, None) if entry is not None and entry.is_tree else None

    def _beside(self, place: str) -> Iterable[str]:
        """The names in the directory that ``place`` lies in."""
        parent = dirname(place)
        if not parent:
            return self._objects.tree(self.oid)
        holder = self._objects.entry(self.oid, parent)
        return self._objects.tree(holder.tree_id) if holder and holder.is_tree else ()

    def places(self, importer: str, module: str, level: int) -> tuple[str, ...] | None:
        """Where ``module`` may be, asked for by the file ``importer``.

        None if it belongs to no package of the tree, and so is nothing to look for.
        """
        rest = module.replace(".", "/")
        if level:
            base = dirname(importer)
            for _ in range(level - 1):
                base = dirname(base)
            return (below(base, rest) if rest else base,)
        roots = self.packages.roots.get(module.partition(".")[0])
        return None if roots is None else tuple(below(root, rest) for root in roots)

    def resolve(self, importer: str, item: Import) -> tuple[FoundModule, ...] | None:
        """The modules that an import may mean; None if it is not of this tree."""
        places = self.places(importer, item.module, item.level)
        if places is None:
            return None
        found = (self.module(place) for place in places)
        return tuple(module for module in found if module is not None)

    def has(self, module: FoundModule, name: str, when: When = When.LOADING) -> bool:
        """Whether ``from module import name`` finds something."""
        return self._has(module, name, when, set())

    def _has(self, module: FoundModule, name: str, when: When, seen: set[str]) -> bool:
        facts = module.facts
        if self.module(below(module.place, name)) is not None:
            return True
        if facts is None or module.place in seen:
            return False
        if facts.open or facts.error or name in facts.names or _is_dunder(name):
            return True
        if when is When.NEVER and name in facts.typing_names:
            return True
        seen.add(module.place)
        return any(self._brings(module.place, star, name, when, seen) for star in facts.stars)

    def _brings(self, place: str, star: Import, name: str, when: When, seen: set[str]) -> bool:
        """Whether ``from … import *`` in the module at ``place`` binds ``name`` there."""
        sources = self.resolve(self.file(place), star)
        if sources is None:
            return True  # of no package here: anything may come
        for source in sources:
            exported = source.facts.exported if source.facts else None
            public = name in exported if exported is not None else not name.startswith("_")
            if public and self._has(source, name, when, seen):
                return True
        return False

    def file(self, place: str) -> str:
        """The file of the module at ``place``."""
        package = f"{place}/__init__.py"
        return package if self._objects.file(self.oid, package) is not None else f"{place}.py"


def below(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
