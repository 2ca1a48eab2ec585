"""What is new on the new base, and which files of that may hold old code under other names.

Of code whose names were all changed, an index of names finds nothing, and short code has too little
punctuation to be found by. What upstream added between two trees is little enough to look for its
tokens in, names aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from patchq.engine.languages.containment import SHAPE
from patchq.engine.languages.tokens import Family, ShapeRows, family
from patchq.git.store import Store
from patchq.model.ids import TreeId

_SHARED = 0.5
"""A file with less of the runs of tokens cannot be like the code."""


class FreshCode:
    """What one tree has beyond another. Nothing is read before the first question."""

    def __init__(self, store: Store, old: TreeId, new: TreeId):
        self._store = store
        self._trees = old, new
        self._rows = ShapeRows()

    def like(self, kind: Family, text: bytes) -> Iterator[tuple[str, bytes]]:
        """The files that have new code much like ``text``, names aside, with all their new code."""
        row = self._rows.of(kind, text)
        runs = {row[at : at + SHAPE] for at in range(len(row) - SHAPE + 1)}
        for path, (fresh, shapes) in self._fresh.items():
            if family(path) is kind and sum(run in shapes for run in runs) >= _SHARED * len(runs):
                yield path, fresh

    @cached_property
    def _fresh(self) -> dict[str, tuple[bytes, str]]:
        """The new code and its shapes, by file."""
        return {
            path: (text, self._rows.of(family(path), text))
            for path, text in self._store.history.added_text(*self._trees).items()
            if family(path) is not Family.OTHER
        }
