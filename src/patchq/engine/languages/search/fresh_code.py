"""What upstream added between two trees: little enough to search for code under other names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property, lru_cache

from patchq.engine.languages.search.containment import SHAPE
from patchq.engine.languages.tokens import Family, family, is_prose, shapes_in, words
from patchq.git.store import Store
from patchq.model.ids import TreeId

TELLING = 28
"""Tokens from which on code can be told under other names from what looks like it by chance."""
FOUND_RENAMED = 0.60
"""So much of code of that many tokens, each name changed alike wherever it stands, is that code.

Of functions that were really removed from two releases of SGLang, none reaches it.
"""
_SHARED, _SAMPLE = 0.4, 32
"""A file with less of the runs of tokens (so many of them are asked) cannot be like the code."""


class FreshCode:
    """What ``new`` has beyond ``old``. Nothing is read before the first question."""

    def __init__(self, store: Store, old: TreeId, new: TreeId):
        self._store = store
        self._trees = old, new
        self._shapes: dict[str, str] = {}

    def like(self, kind: Family, text: bytes) -> Iterator[tuple[str, bytes]]:
        """The files that have new code much like ``text``, names aside, with all their new code."""
        row = shapes_in(kind, text)
        runs = list(dict.fromkeys(row[at : at + SHAPE] for at in range(len(row) - SHAPE + 1)))
        asked = runs[:: max(1, len(runs) // _SAMPLE)]
        for path, fresh in self._fresh.items():
            if family(path) is kind:
                shapes = self._shapes_of(kind, path)
                if asked and sum(run in shapes for run in asked) >= _SHARED * len(asked):
                    yield path, fresh

    def items(self) -> Iterable[tuple[str, bytes]]:
        """Each file that has new code, with all of that."""
        return self._fresh.items()

    def with_words(self, kind: Family, words: Collection[bytes]) -> Iterator[tuple[str, bytes]]:
        """The files that have all of ``words`` in their new code, with all of that."""
        for path, fresh in self._fresh.items():
            if family(path) is kind and all(word in fresh for word in words):
                yield path, fresh

    def saying(self, wanted: Collection[bytes], least: float) -> Iterator[tuple[str, list[bytes]]]:
        """The files, but those for people alone, whose new code has that share of the ``wanted``
        words, with all words of it."""
        asked = set(wanted)
        for path, said in self._said.items():
            if len(asked & said) >= least * len(asked):
                yield path, words(self._fresh[path])

    def _shapes_of(self, kind: Family, path: str) -> str:
        if path not in self._shapes:
            self._shapes[path] = shapes_in(kind, self._fresh[path])
        return self._shapes[path]

    @cached_property
    def _said(self) -> dict[str, frozenset[bytes]]:
        known: dict[bytes, bytes] = {}  # each word once, for all files
        return {
            path: frozenset(known.setdefault(word, word) for word in words(fresh))
            for path, fresh in self._fresh.items()
            if not is_prose(path)
        }

    @cached_property
    def _fresh(self) -> dict[str, bytes]:
        return self._store.history.added_text(*self._trees)


@lru_cache(maxsize=2)
def fresh_code(store: Store, old: TreeId, new: TreeId) -> FreshCode:
    """What ``new`` has beyond ``old``, read once for all who ask."""
    return FreshCode(store, old, new)
