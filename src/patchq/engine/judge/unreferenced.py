"""Does anything still name a file? If not, that is worth a note on the patch, and no more.

A file is named by an ``#include``, an import, a list of sources, a string that a just-in-time
build reads. But names are also made by templates, patterns and macros, so that a file may be used
although nothing spells it out: a lost name never retires a patch and never stops a rebase.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.search import files_with_words

_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl"})
_SOURCES = frozenset({".py", ".pyx", ".c", ".cc", ".cpp", ".cxx", ".cu"})


@dataclass(frozen=True)
class LostReference:
    """A file that nothing names any more: which file did last, and the commit that ended it.

    ``path`` is where the file is on the new base.
    """

    path: str
    referrer: str
    commit: CommitInfo | None

    @property
    def note(self) -> str:
        """What the report says beside the patch."""
        since = f"since {self.commit.oid[:9]}" if self.commit else "any more"
        return f"nothing names {self.path} {since}"


class References:
    """Who mentions the files of a series; one search of a tree answers for all of them."""

    def __init__(self, span: UpstreamRange, paths: Iterable[str]):
        self._span = span
        self._words = {path: word for path in paths if (word := _word(path)) is not None}

    def lost(self, path: str) -> LostReference | None:
        """What is known if ``path`` (of the old base) lost its last reference."""
        new = self._unmentioned.get(path)
        word = self._words[path] if new else None
        if new is None or word is None:
            return None
        before = sorted(_mentions(self._before, word, path))
        if not before:
            return None
        words = {word, _word(new) or word}
        return max(
            (LostReference(new, file, self._end(file, words)) for file in before),
            key=lambda lost: lost.commit.date if lost.commit else "",
        )

    @cached_property
    def _unmentioned(self) -> Mapping[str, str]:
        """The files that no other file of the new base names by what they are called there.

        By old path, with the new one. Most are named by a file beside them, so that is where to
        look first.
        """
        git, tree = self._span.store.git, self._span.new.tree
        places = {path: new for path in self._words if (new := self._span.place(path).new)}
        words = {path: word for path, new in places.items() if (word := _word(new))}
        beside = {parent for path in words if (parent := posixpath.dirname(places[path]))}
        left = _unseen(words, places, files_with_words(git, tree, set(words.values()), beside))
        left = _unseen(left, places, files_with_words(git, tree, set(left.values())))
        return {path: places[path] for path in left}

    @cached_property
    def _before(self) -> Mapping[str, frozenset[str]]:
        words = {self._words[path] for path in self._unmentioned}
        return files_with_words(self._span.store.git, self._span.old.tree, words)

    def _end(self, file: str, words: Iterable[str]) -> CommitInfo | None:
        """The last commit that took the last of ``words`` out of ``file``."""
        objects = self._span.store.objects
        names = (file, self._span.place(file).new or file)
        sought = [word.encode() for word in words]
        found = None
        had = True
        for commit in self._span.commits((file,)):
            texts = [objects.content(commit.tree, name) or b"" for name in names]
            has = any(word in text for text in texts for word in sought)
            if had and not has:
                found = commit
            had = has
        return found


def _unseen(
    words: Mapping[str, str], places: Mapping[str, str], found: Mapping[str, frozenset[str]]
) -> dict[str, str]:
    """Those of ``words`` (by path) that only the file itself, at its place, was found to hold."""
    return {path: word for path, word in words.items() if not _mentions(found, word, places[path])}


def _mentions(found: Mapping[str, frozenset[str]], word: str, itself: str) -> frozenset[str]:
    return found.get(word, frozenset()) - {itself}


def _word(path: str) -> str | None:
    """The name by which others refer to a file, None if they do not."""
    file = PurePosixPath(path)
    if file.suffix not in _HEADERS | _SOURCES:
        return None
    word = file.parent.name if file.stem == "__init__" else file.stem
    return word if word not in ("", "__main__") else None
