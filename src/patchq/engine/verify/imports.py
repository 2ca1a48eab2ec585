"""No import that worked before a series may fail after it, and none that a patch adds.

Everything is told from the text of both trees. Where the patched tree lacks something that the
unpatched one lacks as well, the fault is upstream's (or the build makes the module), and only said.
A module is known by its place: its path without ``.py``, a package's without ``/__init__.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import dirname

from patchq.engine.verify.modules import (
    STAR,
    Facts,
    FactsCache,
    Import,
    Use,
    When,
    read_facts,
)
from patchq.errors import Where
from patchq.git.objects import SYMLINK_MODE, decode_path
from patchq.git.search import lines_with_words
from patchq.git.store import Store
from patchq.model.patch import Patch
from patchq.model.verification import Failure, Remark, Section

NAME = "imports"

_PYTHON = (".py", ".pyi")
_COMPILED = (".pyi", ".so", ".pyd")
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
_SOURCE_DIRECTORIES = ("src", "python", "lib")
_MOST_HOMES = 3


@dataclass(frozen=True)
class _Module:
    """What stands at a place; ``facts`` are None for a directory without ``__init__.py``."""

    place: str
    facts: Facts | None


@dataclass(frozen=True)
class _Missing:
    """Something that ``file`` asks for on ``line`` and the tree does not have.

    ``name`` is None where the module itself is missing; ``asked`` is then what is taken from it.
    """

    file: str
    line: int
    module: str
    name: str | None
    when: When
    asked: tuple[str, ...] = ()
    swallowed: int | None = None
    replaced: bool = False

    @property
    def key(self) -> tuple[str, str | None]:
        """What is missing, whoever asks for it."""
        return self.module, self.name

    @property
    def words(self) -> tuple[str, ...]:
        """What to look for elsewhere in the tree."""
        return (self.name,) if self.name else self.asked


class _Packages:
    """The packages of a tree that an absolute import can begin with."""

    def __init__(self, paths: Iterable[str]):
        paths = frozenset(paths)
        self._initial = {dirname(path) for path in paths if path.endswith("/__init__.py")}
        files = {path.rpartition("/")[2] for path in paths}
        self._projects = {
            dirname(path)
            for path in paths
            if files and path.rpartition("/")[2] in _PROJECT_FILES
        }
        self.roots: dict[str, list[str]] = {}
        for directory in sorted(self._initial):
            parent = dirname(directory)
            if parent not in self._initial and self._is_root(parent):
                self.roots.setdefault(directory.rpartition("/")[2], []).append(parent)

    def _is_root(self, directory: str) -> bool:
        """Whether what lies in ``directory`` is imported by its own name."""
        above, _, name = directory.rpartition("/")
        if directory in self._projects or (name in _SOURCE_DIRECTORIES and above in self._projects):
            return True
        return self._initial.isdisjoint(map(str, PurePosixPath(directory).parents))

    def dotted(self, place: str) -> str:
        """The name that a place is imported by; its path where it has none."""
        best = ""
        for name, roots in self.roots.items():
            for root in roots:
                top = _below(root, name)
                if (place == top or place.startswith(f"{top}/")) and len(root) >= len(best):
                    best = f"{root}/" if root else ""
                    return place[len(best) :].replace("/", ".")
        return place


class _Tree:
    """The modules of one tree."""

    def __init__(self, store: Store, tree: str, packages: _Packages, cache: FactsCache):
        self._objects = store.objects
        self._cache = cache
        self._modules: dict[str, _Module | None] = {}
        self.oid = tree
        self.packages = packages

    def facts(self, path: str) -> Facts | None:
        """The facts of the file at ``path``, None where there is none."""
        entry = self._objects.file(self.oid, path)
        if entry is None:
            return None
        if entry.mode == SYMLINK_MODE:
            return Facts(open=True)
        kept = self._cache.get(entry.oid)
        if kept is None:
            kept = read_facts(self._objects.read(entry.oid))
            self._cache.put(entry.oid, kept)
        return kept

    def module(self, place: str) -> _Module | None:
        """What an import of ``place`` finds, in the order of Python's own path finder."""
        if place not in self._modules:
            self._modules[place] = self._find(place)
        return self._modules[place]

    def _find(self, place: str) -> _Module | None:
        for path in (f"{place}/__init__.py", f"{place}.py"):
            facts = self.facts(path)
            if facts is not None:
                return _Module(place, facts)
        parent, name = dirname(place), place.rpartition("/")[2]
        holder = self._objects.entry(self.oid, parent) if parent else None
        names = self._objects.tree(holder.oid if holder and holder.is_tree else self.oid)
        if (not parent or (holder and holder.is_tree)) and any(
            other.startswith(f"{name}.") and other.endswith(_COMPILED) for other in names
        ):
            return _Module(place, Facts(open=True))
        entry = self._objects.entry(self.oid, place) if place else None
        return _Module(place, None) if entry is not None and entry.is_tree else None

    def places(self, importer: str, module: str, level: int) -> tuple[str, ...] | None:
        """Where ``module`` may be, asked for by the file ``importer``.

        None where it belongs to no package of the tree, and so is nothing to look for.
        """
        rest = module.replace(".", "/")
        if level:
            base = dirname(importer)
            for _ in range(level - 1):
                base = dirname(base)
            return (_below(base, rest) if rest else base,)
        roots = self.packages.roots.get(module.partition(".")[0])
        return None if roots is None else tuple(_below(root, rest) for root in roots)

    def resolve(self, importer: str, item: Import) -> tuple[_Module, ...] | None:
        """The modules that an import may mean; None where it is not of this tree."""
        places = self.places(importer, item.module, item.level)
        if places is None:
            return None
        found = (self.module(place) for place in places)
        return tuple(module for module in found if module is not None)

    def has(self, module: _Module, name: str, when: When = When.LOADING) -> bool:
        """Whether ``from module import name`` finds something."""
        return self._has(module, name, when, set())

    def _has(self, module: _Module, name: str, when: When, seen: set[str]) -> bool:
        facts = module.facts
        if self.module(_below(module.place, name)) is not None:
            return True
        if facts is None or module.place in seen:
            return False
        if facts.open or facts.error or name in facts.names or _is_dunder(name):
            return True
        if when is When.NEVER and name in facts.typing_names:
            return True
        seen.add(module.place)
        return any(self._brings(module.place, star, name, when, seen) for star in facts.stars)

    def _brings(
        self, place: str, star: Import, name: str, when: When, seen: set[str]
    ) -> bool:
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

    # -- what a file misses

    def missing(self, path: str) -> tuple[_Missing, ...]:
        """All that the file at ``path`` asks for and this tree does not have."""
        facts = self.facts(path)
        if facts is None:
            return ()
        found = [missing for item in facts.imports for missing in self._import(path, facts, item)]
        bound = self._bound(path, facts)
        found += [missing for use in facts.uses for missing in self._use(path, bound, use)]
        return _joined(found)

    def _import(self, path: str, facts: Facts, item: Import) -> Iterator[_Missing]:
        modules = self.resolve(path, item)
        if modules is None:
            return
        name = None if item.name == STAR else item.name
        if modules and (name is None or any(self.has(m, name, item.when) for m in modules)):
            return
        if modules:
            module, missing, asked = self.packages.dotted(modules[0].place), name, ()
        else:
            places = self.places(path, item.module, item.level) or ("",)
            module, missing = self.packages.dotted(places[0]), None
            asked = (name,) if name else ()
        yield _Missing(
            path,
            item.line,
            module,
            missing,
            item.when,
            asked,
            item.attempt.line if item.attempt and not item.attempt.fallback else None,
            self._is_replaced(path, facts, item),
        )

    def _is_replaced(self, path: str, facts: Facts, item: Import) -> bool:
        """Whether the other side of the ``try`` that ``item`` stands in brings what it does not."""
        attempt = item.attempt
        if attempt is None:
            return False
        return any(
            other.attempt is not None
            and other.attempt.line == attempt.line
            and other.attempt.fallback is not attempt.fallback
            and other.bound == item.bound
            and self._works(path, other)
            for other in facts.imports
        )

    def _works(self, path: str, item: Import) -> bool:
        modules = self.resolve(path, item)
        if modules is None:
            return True
        name = item.name
        if name is None or name == STAR:
            return bool(modules)
        return any(self.has(module, name, item.when) for module in modules)

    def _bound(self, path: str, facts: Facts) -> Mapping[str, _Module]:
        """The modules of this tree that names of the file stand for, where that is certain."""
        found: dict[str, set[str | None]] = {}
        for item in facts.imports:
            if item.name != STAR and item.bound:
                found.setdefault(item.bound, set()).add(self._stands_for(path, item))
        bound = {}
        for name, places in found.items():
            place = next(iter(places))
            module = self.module(place) if place is not None and len(places) == 1 else None
            if module is not None:
                bound[name] = module
        return bound

    def _stands_for(self, path: str, item: Import) -> str | None:
        dotted = item.module
        if item.name is None and item.bound == dotted.partition(".")[0]:
            dotted = item.bound
        places = self.places(path, dotted, item.level)
        if places is None or len(places) != 1:
            return None
        if item.name is None:
            return places[0]
        holder = self.module(places[0])
        if holder is None or holder.facts is None:
            return None if holder is None else _below(places[0], item.name)
        own = holder.facts
        if own.open or own.stars or own.error or item.name in own.names | own.typing_names:
            return None
        return _below(places[0], item.name)

    def _use(self, path: str, bound: Mapping[str, _Module], use: Use) -> Iterator[_Missing]:
        name, *attributes = use.path
        module = bound.get(name)
        for attribute in attributes:
            if module is None or module.facts is None:
                return
            if not self.has(module, attribute, use.when):
                dotted = self.packages.dotted(module.place)
                yield _Missing(path, use.line, dotted, attribute, use.when)
                return
            if attribute in module.facts.names or module.facts.open or module.facts.stars:
                return
            module = self.module(_below(module.place, attribute))


def check_imports(
    store: Store, before: str, after: str, patches: Sequence[Patch], cache: Path
) -> Section:
    """Look for imports that ``after``, the patched tree, breaks or has none of its own for.

    What is looked at: the Python files that differ from ``before``, and the files that ask for
    something which ``before`` had and ``after`` has not. ``patches`` name the guilty; ``cache`` is
    the directory of the workspace's caches.
    """
    return _Check(store, before, after, patches, FactsCache(cache / "imports")).section()


class _Check:
    def __init__(
        self,
        store: Store,
        before: str,
        after: str,
        patches: Sequence[Patch],
        cache: FactsCache,
    ):
        self._git = store.git
        self._patches = patches
        self._changed = _changed(store, before, after)
        if self._changed:
            names = store.git.run("ls-tree", "-r", "-z", "--name-only", before).stdout.split(b"\0")
            paths = {decode_path(name) for name in names if name}
            packages = _Packages(paths.union(self._changed))
        else:
            packages = _Packages(())
        self._before = _Tree(store, before, packages, cache)
        self._after = _Tree(store, after, packages, cache)

    def section(self) -> Section:
        """What was found."""
        if not self._changed:
            return Section(NAME, "no Python file is touched", skipped=True)
        touched = [path for path in self._changed if self._after.facts(path) is not None]
        lost = self._lost()
        askers = sorted(self._askers(lost) - set(touched))
        failures: list[Failure] = []
        notes: list[Remark] = []
        for path in (*touched, *askers):
            error = (self._after.facts(path) or Facts()).error
            if error is not None:
                notes.append(Remark(f"not Python: {error[1]}", Where(path, error[0])))
            for missing in self._new(path):
                self._judge(missing, path in touched, failures, notes)
        for place in sorted(self._open(touched)):
            text = f"{self._after.packages.dotted(place)} makes names as it runs: not checked"
            notes.append(Remark(text, Where(self._after.file(place))))
        summary = f"{_count(len(touched), 'touched file')}"
        if askers:
            summary += f", {_count(len(askers), 'file')} that asked for what is gone"
        return Section(NAME, summary, tuple(failures), tuple(dict.fromkeys(notes)))

    # -- what the series took away

    def _lost(self) -> set[str]:
        """The places at which something that could be imported no longer can be."""
        lost = {place for path in self._changed for place in [_place(path)] if self._is_lost(place)}
        waiting = lost
        while waiting:
            waiting = {
                _place(path)
                for path, facts in self._mentioning(waiting)
                for star in facts.stars
                for module in self._before.resolve(path, star) or ()
                if module.place in waiting
            } - lost
            lost |= waiting
        return lost

    def _is_lost(self, place: str) -> bool:
        old, new = self._before.module(place), self._after.module(place)
        if old is None or old.facts is None:
            return False
        if new is None or new.facts is None:
            return True
        if new.facts.open:
            return False
        kept = new.facts
        fewer = old.facts.names - kept.names or old.facts.typing_names - kept.typing_names
        return bool(fewer or old.facts.open or set(old.facts.stars) - set(kept.stars))

    def _mentioning(self, places: Iterable[str]) -> Iterator[tuple[str, Facts]]:
        """The files of the patched tree that hold the last word of one of ``places``."""
        words = {place.rpartition("/")[2] for place in places}
        rows = lines_with_words(self._git, self._after.oid, words, _PYTHON)
        for path in dict.fromkeys(path for path, _ in rows):
            facts = self._after.facts(path)
            if facts is not None:
                yield path, facts

    def _askers(self, lost: set[str]) -> set[str]:
        relative = {dirname(place) for place in lost}
        found = {path for path, _ in self._mentioning(lost)} if lost else set()
        # `from . import name` in a package says no word of the package's own name
        for directory in relative | lost:
            found |= {path for path in self._inside(directory)}
        return found

    def _inside(self, directory: str) -> Iterator[str]:
        if f"{directory}/__init__.py" not in self._changed:
            return
        for module in self._after.files_in(directory):
            yield module

    # -- what is missing

    def _new(self, path: str) -> Iterator[_Missing]:
        """What ``path`` misses in the patched tree and did not miss before."""
        missing = self._after.missing(path)
        if not missing:
            return
        known = {item.key for item in self._before.missing(path)}
        yield from (item for item in missing if item.key not in known)

    def _judge(
        self, missing: _Missing, touched: bool, failures: list[Failure], notes: list[Remark]
    ) -> None:
        where = Where(missing.file, missing.line)
        text = _text(missing)
        if missing.when is When.NEVER:
            notes.append(Remark(f"{text} (under TYPE_CHECKING: never run)", where))
        elif missing.replaced:
            notes.append(Remark(f"{text} (the other side of the try has it)", where))
        elif self._upstream_misses(missing):
            notes.append(Remark(f"{text} (upstream asks for it too, and has none either)", where))
        else:
            homes = self._homes(missing)
            patch = self._guilty(missing, touched)
            failures.append(Failure(f"{text}{homes}", where, patch))

    def _upstream_misses(self, missing: _Missing) -> bool:
        """Whether a file of the unpatched tree asks in vain for the same: it is made by a build."""
        word = missing.name or missing.module.rpartition(".")[2]
        rows = lines_with_words(self._git, self._before.oid, [word], _PYTHON)
        return any(
            missing.key == other.key
            for path in dict.fromkeys(path for path, _ in rows)
            for other in self._before.missing(path)
        )

    def _guilty(self, missing: _Missing, touched: bool) -> str | None:
        """The patch that asks for it, or that took it away."""
        word = (missing.name or missing.module.rpartition(".")[2]).encode()
        place = missing.module.replace(".", "/").encode()
        for patch in reversed(self._patches):
            sign = b"+" if touched and missing.file in patch.paths else b"-"
            concerned = missing.file in patch.paths if touched else place in patch.diff
            if concerned and re.search(
                rb"^" + re.escape(sign) + rb".*\b" + re.escape(word) + rb"\b", patch.diff, re.M
            ):
                return patch.name
        concerned_patches = [
            patch.name
            for patch in self._patches
            if missing.file in patch.paths or any(place in p.encode() for p in patch.paths)
        ]
        return concerned_patches[-1] if concerned_patches else None

    def _homes(self, missing: _Missing) -> str:
        """Where what is missing lives now, in words."""
        homes: dict[str, list[str]] = {}
        for word in missing.words:
            for place in self._definitions(word):
                homes.setdefault(place, []).append(word)
        last = missing.module.rpartition(".")[2]
        if not missing.words:
            homes = {place: [] for place in self._named(last)}
        ranked = sorted(
            homes, key=lambda place: (-len(homes[place]), place.rpartition("/")[2] != last, place)
        )
        if not ranked:
            return "; nothing of that name is in the tree"
        shown = [self._after.packages.dotted(place) for place in ranked[:_MOST_HOMES]]
        more = f" and {len(ranked) - _MOST_HOMES} more" if len(ranked) > _MOST_HOMES else ""
        subject = ", ".join(missing.words) or last
        return f"; {subject} {'lives' if len(missing.words) < 2 else 'live'} in {', '.join(shown)}{more} now"

    def _definitions(self, word: str) -> list[str]:
        defines = re.compile(
            rb"(?:async\s+def|def|class)\s+%b\b|%b\s*(?::[^=]*)?=(?!=)"
            % (word.encode(), word.encode())
        )
        rows = lines_with_words(self._git, self._after.oid, [word], _PYTHON)
        return list(dict.fromkeys(_place(path) for path, text in rows if defines.match(text)))

    def _named(self, word: str) -> list[str]:
        output = self._git.run("ls-tree", "-r", "-z", "--name-only", self._after.oid).stdout
        paths = (decode_path(name) for name in output.split(b"\0") if name)
        places = (_place(path) for path in paths if path.endswith(_PYTHON))
        return [place for place in places if place.rpartition("/")[2] == word]
