"""No import that worked before a series may fail after it, and none that a patch adds.

Everything is told from the text of both trees. If the patched tree lacks something that the
unpatched one lacks as well, the fault is upstream's (or the build makes the module), and only said.
A module is known by its place: its path without ``.py``, a package's without ``/__init__.py``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from posixpath import basename, dirname

from patchq.engine.languages.python_facts import STAR, Facts, FactsCache, Import, Use, When
from patchq.engine.languages.python_modules import read_facts
from patchq.engine.verify.subject import Subject
from patchq.errors import Where
from patchq.git.objects import SYMLINK_MODE, MissingObjectError
from patchq.git.search import differing_files, lines_with_words, list_files
from patchq.git.store import Store
from patchq.model.coverage import Coverage
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

    ``name`` is None if the module itself is missing; ``asked`` is then what is taken from it.
    """

    file: str
    line: int
    module: str
    places: tuple[str, ...]
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
    def where(self) -> Where:
        """Where it is asked for."""
        return Where(self.file, self.line)

    @property
    def files(self) -> tuple[str, ...]:
        """Where it would stand."""
        return tuple(
            file for place in self.places for file in (f"{place}.py", f"{place}/__init__.py")
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The names that are asked for."""
        return (self.name,) if self.name else self.asked

    @property
    def last_word(self) -> str:
        """What whoever asks for it has to spell out."""
        return self.name or self.module.rpartition(".")[2]


class _Packages:
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
        tops = [(root, _below(root, name)) for name, roots in self.roots.items() for root in roots]
        around = [root for root, top in tops if f"{place}/".startswith(f"{top}/")]
        if not around:
            return place
        return place.removeprefix(f"{max(around, key=len)}/").replace("/", ".")


class _Tree:
    """The modules of one tree."""

    def __init__(self, store: Store, tree: str, packages: _Packages, cache: FactsCache):
        self._objects = store.objects
        self._cache = cache
        self._modules: dict[str, _Module | None] = {}
        self.oid = tree
        self.packages = packages

    def facts(self, path: str) -> Facts | None:
        """The facts of the file at ``path``, None if there is none."""
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
        stem = f"{basename(place)}."
        if any(name.startswith(stem) and name.endswith(_COMPILED) for name in self._beside(place)):
            return _Module(place, Facts(open=True))
        entry = self._objects.entry(self.oid, place) if place else None
        return _Module(place, None) if entry is not None and entry.is_tree else None

    def _beside(self, place: str) -> Iterable[str]:
        """The names in the directory that ``place`` lies in."""
        parent = dirname(place)
        if not parent:
            return self._objects.tree(self.oid)
        holder = self._objects.entry(self.oid, parent)
        return self._objects.tree(holder.oid) if holder and holder.is_tree else ()

    def places(self, importer: str, module: str, level: int) -> tuple[str, ...] | None:
        """Where ``module`` may be, asked for by the file ``importer``.

        None if it belongs to no package of the tree, and so is nothing to look for.
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
        """The modules that an import may mean; None if it is not of this tree."""
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

    def had(self, missing: _Missing) -> bool:
        """Whether this tree, that of another base, has what is missing; False: or cannot tell."""
        try:
            modules = [module for place in missing.places if (module := self.module(place))]
            return any(missing.name is None or self.has(m, missing.name) for m in modules)
        except MissingObjectError:
            return False  # a partial clone may hold only the trees of that base

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
        if self._works(path, item):
            return
        found, name = self.resolve(path, item), item.name
        places = tuple(module.place for module in found or ())
        places = places or self.places(path, item.module, item.level) or (item.module,)
        attempt = item.attempt
        missing = _Missing(
            path,
            item.line,
            self.packages.dotted(places[0]),
            places,
            name if found else None,
            item.when,
            asked=() if found or name is None or name == STAR else (name,),
            swallowed=attempt.line if attempt and not attempt.fallback else None,
        )
        yield replace(missing, replaced=self._is_replaced(path, facts, item))

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
                yield _Missing(path, use.line, dotted, (module.place,), attribute, use.when)
                return
            if attribute in module.facts.names or module.facts.open or module.facts.stars:
                return
            module = self.module(_below(module.place, attribute))


def check(subject: Subject) -> Section:
    """Nothing that could be imported is broken, and all that a patch imports is there.

    What is looked at: the Python files that the series changes, and the files that may ask for
    something which the base had and the patched tree has not.
    """
    project = subject.project
    store, before, after = project.store, subject.base.tree, subject.tree
    changed = _changed(store, before, after)
    if not changed:
        return Section(NAME, "no Python file is touched", skipped=True)
    packages = _Packages({*list_files(store.git, before), *changed})
    known = FactsCache(project.cache / NAME)
    return _Check(
        store,
        _Tree(store, before, packages, known),
        _Tree(store, after, packages, known),
        changed,
        subject.selection.patches,
        subject.coverage,
        tuple(
            _Tree(store, base.tree, packages, known)
            for base in project.lock.bases
            if base.tree != before and store.objects.has(base.tree)
        ),
    ).section()


@dataclass(frozen=True)
class _Check:
    """Two trees, the Python files that differ, and the patches that made the difference."""

    store: Store
    before: _Tree
    after: _Tree
    changed: tuple[str, ...]
    patches: Sequence[Patch]
    coverage: Coverage
    others: tuple[_Tree, ...]
    built: dict[tuple[str, str | None], bool] = field(default_factory=dict)
    homes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def section(self) -> Section:
        """What was found."""
        touched = [path for path in self.changed if self.after.facts(path) is not None]
        askers = sorted(self._askers().difference(touched))
        failures: list[Failure] = []
        notes: list[Remark] = []
        for path in (*touched, *askers):
            for missing in self._new(path):
                excuse = self._excuse(missing)
                if excuse is None:
                    failures.append(self._failure(missing))
                else:
                    notes.append(Remark(f"{_text(missing)} ({excuse})", missing.where))
        for path in touched:
            notes += self._unchecked(path)
        summary = _count(len(touched), "Python file") + " touched"
        if askers:
            summary += f", {_count(len(askers), 'more')} may ask for what is gone"
        return Section(NAME, summary, tuple(failures), tuple(dict.fromkeys(notes)))

    # -- what the series took away

    def _askers(self) -> set[str]:
        """The files of the patched tree that may ask for what it has no longer."""
        found: set[str] = set()
        names: set[str] = set()
        lost = waiting = {_place(path) for path in self.changed if self._is_lost(_place(path))}
        while waiting:
            names |= {name for place in waiting for name in self._lost_names(place)}
            whole = {place for place in waiting if self._is_lost_whole(place)}
            found |= {path for path, _ in self._lines(basename(place) for place in whole)}
            passing = {
                path
                for path, line in self._lines(basename(place) for place in waiting)
                if b"*" in line and self._passes_on(path, waiting)
            }
            waiting = {_place(path) for path in passing} - lost
            lost = lost | waiting
        return found | {path for path, _ in self._lines(names)}

    def _lines(self, words: Iterable[str]) -> tuple[tuple[str, bytes], ...]:
        return lines_with_words(self.store.git, self.after.oid, set(words), _PYTHON)

    def _is_lost(self, place: str) -> bool:
        """Whether something that could be imported from ``place`` no longer can be."""
        old, new = self.before.module(place), self.after.module(place)
        if old is None or old.facts is None:
            return False
        return new is None or new.facts is None or not _covers(new.facts, old.facts)

    def _is_lost_whole(self, place: str) -> bool:
        """Whether all that it had may be lost: whoever asks for the module is to be looked at."""
        old, new = self.before.module(place), self.after.module(place)
        if new is None or new.facts is None or old is None or old.facts is None:
            return True
        stars = {(star.module, star.level) for star in new.facts.stars}
        return old.facts.open or any((s.module, s.level) not in stars for s in old.facts.stars)

    def _lost_names(self, place: str) -> frozenset[str]:
        """The names of its own that it had; where it is still there, those that it lacks now."""
        old, new = self.before.module(place), self.after.module(place)
        had = old.facts.names | old.facts.typing_names if old and old.facts else frozenset[str]()
        return had - new.facts.names if new and new.facts else frozenset()

    def _passes_on(self, path: str, places: Collection[str]) -> bool:
        """Whether ``path`` takes all that one of ``places`` has, and so loses it too."""
        facts = self.before.facts(path)
        return facts is not None and any(
            module.place in places
            for star in facts.stars
            for module in self.before.resolve(path, star) or ()
        )

    # -- what is missing

    def _new(self, path: str) -> Iterator[_Missing]:
        """What ``path`` misses in the patched tree and did not miss before."""
        missing = self.after.missing(path)
        if missing:
            known = {item.key for item in self.before.missing(path)}
            yield from (item for item in missing if item.key not in known)

    def _excuse(self, missing: _Missing) -> str | None:
        """Why it is no failure."""
        if missing.when is When.NEVER:
            return "for type checkers only: never run"
        if missing.replaced:
            return "the other side of the try has it"
        if not any(map(self.coverage.covers_path, missing.files)):
            return "the base does not cover it"
        if missing.key not in self.built:
            made = self._upstream_misses(missing) and not self._was_moved(missing)
            self.built[missing.key] = made
        if self.built[missing.key]:
            return "so do files of the unpatched tree, and no base has it: a build makes it"
        return None

    def _upstream_misses(self, missing: _Missing) -> bool:
        rows = lines_with_words(self.store.git, self.before.oid, [missing.last_word], _PYTHON)
        return any(
            missing.key == other.key
            for path in dict.fromkeys(path for path, _ in rows)
            for other in self.before.missing(path)
        )

    def _was_moved(self, missing: _Missing) -> bool:
        """Whether it is somewhere else now, or another base has it: upstream left askers behind."""
        if any(tree.had(missing) for tree in self.others):
            return True
        asker = _place(missing.file)
        homes = [
            place for word in missing.words for place in self._definitions(word) if place != asker
        ]
        if missing.name is None:
            homes = [place for place in homes if basename(place) == missing.last_word]
        return bool(homes)

    def _unchecked(self, path: str) -> Iterator[Remark]:
        """What ``path`` takes from modules that make names as they run."""
        facts = self.after.facts(path) or Facts()
        for item in facts.imports:
            for module in self.after.resolve(path, item) or ():
                if item.name and module.facts and module.facts.open:
                    if item.name in module.facts.names:
                        continue
                    name = self.after.packages.dotted(module.place)
                    text = f"{item.name}: {name} makes names as it runs, so this is not checked"
                    yield Remark(text, Where(path, item.line))

    def _failure(self, missing: _Missing) -> Failure:
        return Failure(
            f"{_text(missing)}; {self._homes(missing)}", missing.where, self._guilty(missing)
        )

    def _guilty(self, missing: _Missing) -> str | None:
        """The last patch that asks for it, or, where none does, that took it away."""
        word = re.escape(missing.last_word.encode())
        asks = re.compile(rb"^\+.*\b%b\b" % word, re.MULTILINE)
        takes = re.compile(rb"^-.*\b%b\b|^(?:rename|deleted) " % word, re.MULTILINE)
        asking = [p for p in self.patches if missing.file in p.paths and asks.search(p.diff)]
        taking = [p for p in self.patches if takes.search(p.diff)]
        guilty = asking or taking
        return guilty[-1].name if guilty else None

    def _homes(self, missing: _Missing) -> str:
        """Where what is missing lives now, in words."""
        words = missing.words
        last = missing.module.rpartition(".")[2]
        homes: dict[str, set[str]] = {}
        for word in words:
            for place in self._definitions(word):
                if place != _place(missing.file):
                    homes.setdefault(place, set()).add(word)
        if not homes and missing.name is None:
            paths = (
                path for path in list_files(self.store.git, self.after.oid) if path.endswith(".py")
            )
            homes = {place: set() for place in map(_place, paths) if basename(place) == last}
            words = (last,)
        if not homes:
            return "nothing of that name is in the tree"
        top = missing.module.partition(".")[0]

        def rank(place: str) -> tuple[bool, bool, int, str]:
            """In the same package first, then of the same name, then with most of the names."""
            package = self.after.packages.dotted(place).partition(".")[0]
            return package != top, basename(place) != last, -len(homes[place]), place

        ranked = sorted(homes, key=rank)
        if basename(ranked[0]) == last and homes[ranked[0]].issuperset(missing.words):
            ranked = ranked[:1]
        shown = [self.after.packages.dotted(place) for place in ranked[:_MOST_HOMES]]
        more = f" and {len(ranked) - _MOST_HOMES} more" if len(ranked) > _MOST_HOMES else ""
        verb = "lives" if len(words) == 1 else "live"
        return f"{', '.join(words)} {verb} in {', '.join(shown)}{more} now"

    def _definitions(self, word: str) -> tuple[str, ...]:
        """The places that define ``word`` at their top level, imports aside."""
        if word not in self.homes:
            name = re.escape(word.encode())
            line = re.compile(
                rb"\s*(?:(?:async +)?def|class) +%b\b|\s*%b *(?::[^=]*)?=(?!=)" % (name, name)
            )
            paths = dict.fromkeys(path for path, text in self._lines([word]) if line.match(text))
            self.homes[word] = tuple(
                _place(path)
                for path in paths
                if (facts := self.after.facts(path)) is not None and word in facts.names
            )
        return self.homes[word]


def _changed(store: Store, before: str, after: str) -> tuple[str, ...]:
    """The Python files that differ between two trees."""
    paths = differing_files(store.git, before, after)
    return tuple(path for path in paths if path.endswith(".py"))


def _place(path: str) -> str:
    """The place of the module that a file is."""
    place = path.rpartition(".")[0]
    return dirname(place) if basename(place) == "__init__" else place


def _below(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _covers(new: Facts, old: Facts) -> bool:
    """Whether ``new`` has every name that could be taken from ``old``."""
    if new.open:
        return True
    return (
        not old.open
        and old.names <= new.names
        and old.typing_names <= new.names | new.typing_names
        and {(star.module, star.level) for star in old.stars}
        <= {(star.module, star.level) for star in new.stars}
    )


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _joined(found: Iterable[_Missing]) -> tuple[_Missing, ...]:
    """Each missing thing once a line; what is taken from one missing module put together."""
    joined: dict[tuple[object, ...], _Missing] = {}
    for item in found:
        place = (item.line if item.name else None, item.when, item.replaced, item.key)
        known = joined.get(place)
        if known is None:
            joined[place] = item
        elif item.asked:
            joined[place] = replace(known, asked=tuple(dict.fromkeys(known.asked + item.asked)))
    return tuple(joined.values())


def _text(missing: _Missing) -> str:
    if missing.name is None:
        names = f" ({', '.join(missing.asked)})" if missing.asked else ""
        text = f"module {missing.module}{names} is not in the tree"
    else:
        text = f"{missing.module} has no {missing.name}"
    if missing.swallowed is not None:
        text += f", which the try on line {missing.swallowed} swallows"
    return text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 and noun != 'more' else ''}"
