"""What one tree has beyond another, and which files of that may hold old code under other names.

Of code whose names were all changed, an index of names finds nothing, and short code has too little
punctuation to be found by. What upstream added between two trees is little enough to look for its
tokens in, names aside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property, lru_cache

from patchq.engine.languages.containment import SHAPE
from patchq.engine.languages.tokens import Family, ShapeRows, family
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
        self._rows = ShapeRows()
        self._shapes: dict[str, str] = {}

    def like(self, kind: Family, text: bytes) -> Iterator[tuple[str, bytes]]:
        """The files that have new code much like ``text``, names aside, with all their new code."""
        row = self._rows.of(kind, text)
        runs = list(dict.fromkeys(row[at : at + SHAPE] for at in range(len(row) - SHAPE + 1)))
        asked = runs[:: max(1, len(runs) // _SAMPLE)]
        for path, fresh in self._fresh.items():
            if family(path) is kind:
                shapes = self._shapes_of(kind, path)
                if asked and sum(run in shapes for run in asked) >= _SHARED * len(asked):
                    yield path, fresh

    def with_words(self, kind: Family, words: Collection[bytes]) -> Iterator[tuple[str, bytes]]:
        """The files that have all of ``words`` in their new code, with all of that."""
        for path, fresh in self._fresh.items():
            if family(path) is kind and all(word in fresh for word in words):
                yield path, fresh

    def _shapes_of(self, kind: Family, path: str) -> str:
        if path not in self._shapes:
            self._shapes[path] = self._rows.of(kind, self._fresh[path])
        return self._shapes[path]

    @cached_property
    def _fresh(self) -> dict[str, bytes]:
        return self._store.history.added_text(*self._trees)


@lru_cache(maxsize=8)
def fresh_code(store: Store, old: TreeId, new: TreeId) -> FreshCode:
    """What ``new`` has beyond ``old``, read once for all who ask."""
    return FreshCode(store, old, new)
