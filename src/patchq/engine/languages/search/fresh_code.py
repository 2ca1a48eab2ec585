"""What upstream added between two trees: little enough to search for code under other names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property, lru_cache

from patchq.engine.languages.search.containment import SHAPE
from patchq.engine.languages.tokens import Family, family, is_prose, shapes_in, words
from patchq.git.store import Store
from patchq.model.ids import TreeId

TELLING = 28
"""The least tokens of code that can be recognised under other names."""
FOUND_RENAMED = 0.60
"""The least share of such code, consistently renamed, that counts as the same code.

No function that was really removed from two releases of SGLang reaches it.
"""
_SHARED, _SAMPLE = 0.4, 32
"""The least share of the runs of tokens that a file must have, and how many runs are tried."""


class FreshCode:
    """The code that ``new`` has in addition to ``old``. Nothing is read before the first query."""

    def __init__(self, store: Store, old: TreeId, new: TreeId):
        self._store = store
        self._trees = old, new
        self._shapes: dict[str, str] = {}

    def like(self, kind: Family, text: bytes) -> Iterator[tuple[str, bytes]]:
        """The files with new code like ``text``, names ignored, each with all of its new code."""
        row = shapes_in(kind, text)
        runs = list(dict.fromkeys(row[at : at + SHAPE] for at in range(len(row) - SHAPE + 1)))
        asked = runs[:: max(1, len(runs) // _SAMPLE)]
        for path, fresh in self._fresh.items():
            if family(path) is kind:
                shapes = self._shapes_of(kind, path)
                if asked and sum(run in shapes for run in asked) >= _SHARED * len(asked):
                    yield path, fresh

    def items(self) -> Iterable[tuple[str, bytes]]:
        """Each file that has new code, with that code."""
        return self._fresh.items()

    def with_words(self, kind: Family, words: Collection[bytes]) -> Iterator[tuple[str, bytes]]:
        """The files that have all of ``words`` in their new code, with that code."""
        for path, fresh in self._fresh.items():
            if family(path) is kind and all(word in fresh for word in words):
                yield path, fresh

    def saying(self, wanted: Collection[bytes], least: float) -> Iterator[tuple[str, list[bytes]]]:
        """The files, without documentation, whose new code has at least that share of the
        ``wanted`` words, with all words of that code."""
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
    """The :class:`FreshCode` of two trees; the last ones are kept."""
    return FreshCode(store, old, new)
