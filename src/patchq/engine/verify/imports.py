"""No import that worked before a series may fail after it, and none that a patch adds.

Everything is told from the text of both trees. If the patched tree lacks something that the
unpatched one lacks as well, the fault is upstream's (or the build makes the module), and only said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from posixpath import basename, dirname

from patchq.engine.languages.python_facts import FactsCache, ModuleFacts, When
from patchq.engine.verify.missing import Missing, had, missing_in, words_of
from patchq.engine.verify.modules import Packages, Tree
from patchq.engine.verify.subject import Subject
from patchq.errors import Where
from patchq.git.search import lines_with_words, list_paths
from patchq.git.store import Store
from patchq.model.coverage import Coverage
from patchq.model.ids import TreeId
from patchq.model.patch import Patch
from patchq.model.verification import Failure, Remark, Section
from patchq.model.words import counted, some

NAME = "imports"

_PYTHON = (".py", ".pyi")
_MOST_HOMES = 3


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
    packages = Packages({*list_paths(store.git, before), *changed})
    known = FactsCache(project.cache / NAME)
    return _Check(
        store,
        Tree(store, before, packages, known),
        Tree(store, after, packages, known),
        changed,
        subject.selection.patches,
        subject.coverage,
        tuple(
            Tree(store, base.tree, packages, known)
            for base in project.lock.bases
            if base.tree != before and store.objects.has(base.tree)
        ),
    ).section()


@dataclass(frozen=True)
class _Check:
    """Two trees, the Python files that differ, and the patches that made the difference."""

    store: Store
    before: Tree
    after: Tree
    changed: tuple[str, ...]
    patches: Sequence[Patch]
    coverage: Coverage
    others: tuple[Tree, ...]
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
                    notes.append(Remark(f"{words_of(missing)} ({excuse})", missing.where))
        for path in touched:
            notes += self._unchecked(path)
        summary = counted(len(touched), "Python file") + " touched"
        if askers:
            summary += f", {len(askers)} more may ask for what is gone"
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

    def _new(self, path: str) -> Iterator[Missing]:
        """What ``path`` misses in the patched tree and did not miss before."""
        missing = missing_in(self.after, path)
        if missing:
            known = {item.key for item in missing_in(self.before, path)}
            yield from (item for item in missing if item.key not in known)

    def _excuse(self, missing: Missing) -> str | None:
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

    def _upstream_misses(self, missing: Missing) -> bool:
        rows = lines_with_words(self.store.git, self.before.oid, [missing.last_word], _PYTHON)
        return any(
            missing.key == other.key
            for path in dict.fromkeys(path for path, _ in rows)
            for other in missing_in(self.before, path)
        )

    def _was_moved(self, missing: Missing) -> bool:
        """Whether it is somewhere else now, or another base has it: upstream left askers behind."""
        if any(had(tree, missing) for tree in self.others):
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
        facts = self.after.facts(path) or ModuleFacts()
        for item in facts.imports:
            for module in self.after.resolve(path, item) or ():
                if item.name and module.facts and module.facts.open:
                    if item.name in module.facts.names:
                        continue
                    name = self.after.packages.dotted(module.place)
                    text = f"{item.name}: {name} makes names as it runs, so this is not checked"
                    yield Remark(text, Where(path, item.line))

    def _failure(self, missing: Missing) -> Failure:
        return Failure(
            f"{words_of(missing)}; {self._homes(missing)}", missing.where, self._guilty(missing)
        )

    def _guilty(self, missing: Missing) -> str | None:
        """The last patch that asks for it, or, where none does, that took it away."""
        word = re.escape(missing.last_word.encode())
        asks = re.compile(rb"^\+.*\b%b\b" % word, re.MULTILINE)
        takes = re.compile(rb"^-.*\b%b\b|^(?:rename|deleted) " % word, re.MULTILINE)
        asking = [p for p in self.patches if missing.file in p.paths and asks.search(p.diff)]
        taking = [p for p in self.patches if takes.search(p.diff)]
        guilty = asking or taking
        return guilty[-1].name if guilty else None

    def _homes(self, missing: Missing) -> str:
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
                path for path in list_paths(self.store.git, self.after.oid) if path.endswith(".py")
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
        shown = [self.after.packages.dotted(place) for place in ranked]
        verb = "lives" if len(words) == 1 else "live"
        return f"{', '.join(words)} {verb} in {some(shown, _MOST_HOMES)} now"

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


def _changed(store: Store, before: TreeId, after: TreeId) -> tuple[str, ...]:
    """The Python files that differ between two trees."""
    paths = store.objects.changed(before, after)
    return tuple(path for path in paths if path.endswith(".py"))


def _place(path: str) -> str:
    """The place of the module that a file is."""
    place = path.rpartition(".")[0]
    return dirname(place) if basename(place) == "__init__" else place


def _covers(new: ModuleFacts, old: ModuleFacts) -> bool:
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
