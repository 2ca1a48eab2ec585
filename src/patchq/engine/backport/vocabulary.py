"""The words of a whole tree, read once, and of other trees what they have beyond it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from patchq.git.blobs import list_files
from patchq.git.search import changed_entries, known_words, lines_with_words, words_of_blobs
from patchq.git.store import Store
from patchq.kept_answers import KeptAnswers, key_of
from patchq.model.ids import BlobId, TreeId

_REGULAR = ("100644", "100755")


class Vocabulary:
    """The words in the text files of the tree ``home`` with one of ``suffixes``.

    A word has no letter, digit or underscore beside it. They are kept below ``cache``.
    """

    def __init__(self, store: Store, cache: Path, home: TreeId, suffixes: tuple[str, ...]):
        self._git = store.git
        self._objects = store.objects
        self._kept = KeptAnswers(cache / "words", "patchq.words/1", _read, _written)
        self._home = home
        self._suffixes = suffixes
        self._fresh: dict[BlobId, frozenset[bytes]] = {}

    @cached_property
    def _words(self) -> frozenset[bytes]:
        key = key_of([self._home, self._suffixes])
        kept = self._kept.get(key)
        if kept is None:
            files = list_files(self._git, self._home)
            blobs = {BlobId(f.oid) for f in files if self._counts(f.path, f.mode)}
            found = words_of_blobs(self._git, self._objects, sorted(blobs))
            kept = frozenset[bytes]().union(*(words for _, words in found))
            self._kept.put(key, kept)
        return kept

    def unknown(self, words: Collection[str], tree: TreeId) -> set[str]:
        """Those of ``words`` that stand neither in ``home`` nor in ``tree``, which is much alike.

        Raises :class:`MissingObjectError` and :class:`DamagedObjectError`.
        """
        if not all(map(str.isascii, words)):
            both = (
                known_words(self._git, one, words, self._suffixes) for one in (self._home, tree)
            )
            return set(words).difference(*both)
        left = {word.encode() for word in words} - self._words
        changed = self._objects.differing(self._home, tree) if left else ()
        files = ((path, self._objects.file(tree, path)) for path in changed)
        blobs = [e.blob_id for path, e in files if e and self._counts(path, e.mode)]
        for _, there in words_of_blobs(self._git, self._objects, blobs):
            left -= there
        return {word.decode() for word in left}

    def lines(self, tree: TreeId, words: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Each line of ``tree`` that holds one of ``words``, which ``home`` has not; with its path.

        Raises :class:`MissingObjectError` and :class:`DamagedObjectError`.
        """
        if not all(map(str.isascii, words)):
            yield from lines_with_words(self._git, tree, words, self._suffixes)
            return
        wanted = frozenset(word.encode() for word in words)
        for path, blob in self._new_files(tree):
            if there := self._fresh[blob] & wanted:
                for line in self._objects.read(blob).split(b"\n"):
                    if any(word in line for word in there):
                        yield path, line

    def _new_files(self, tree: TreeId) -> list[tuple[str, BlobId]]:
        """The files of ``tree`` whose content ``home`` has not at the same place."""
        changed = list(changed_entries(self._git, self._home, tree))
        moved = {before.oid for _, before, _ in changed if before}
        files = [
            (path, entry.blob_id)
            for path, _, entry in changed
            if entry and entry.oid not in moved and self._counts(path, entry.mode)
        ]
        unread = sorted({blob for _, blob in files} - self._fresh.keys())
        for blob, words in words_of_blobs(self._git, self._objects, unread):
            self._fresh[blob] = words - self._words
        return files

    def _counts(self, path: str, mode: str) -> bool:
        return mode in _REGULAR and path.endswith(self._suffixes)


def _read(kept: Any) -> frozenset[bytes]:
    return frozenset(str(kept).encode().split())


def _written(words: frozenset[bytes]) -> object:
    return b" ".join(sorted(words)).decode()
