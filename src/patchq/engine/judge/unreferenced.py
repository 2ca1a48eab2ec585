"""Does anything still refer to a file? The third way for code to become unreachable.

A file is referred to by its name: an ``#include``, an import, a list of sources, a string that a
just-in-time build reads. A file whose name nothing mentions any more, and something did mention
before, has lost its last reference. For a header that settles it; other files may be found by a
pattern or at run time, so there a person has to look.
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
    """A file that nothing refers to any more: what did last, and the commit that ended it."""

    path: str
    referrer: str
    commit: CommitInfo | None

    @property
    def is_certain(self) -> bool:
        """Whether the file has no effect any more, by a commit that is known.

        Being mentioned is the only way for a header to have one.
        """
        return PurePosixPath(self.path).suffix in _HEADERS and self.commit is not None


class References:
    """Who mentions the files of a series; one search of a tree answers for all of them."""

    def __init__(self, span: UpstreamRange, paths: Iterable[str]):
        self._span = span
        self._words = {path: word for path in paths if (word := _word(path)) is not None}

    def lost(self, path: str) -> LostReference | None:
        """What is known where ``path`` (of the old base) lost its last reference."""
        word = self._unmentioned.get(path)
        if word is None:
            return None
        before = sorted(_mentions(self._before, word, path))
        if not before:
            return None
        return max(
            (LostReference(path, file, self._end(file, word)) for file in before),
            key=lambda lost: lost.commit.date if lost.commit else "",
        )

    @cached_property
    def _unmentioned(self) -> Mapping[str, str]:
        """The words of the files that no other file of the new base mentions, by path.

        Most are mentioned by a file beside them, so that is where to look first.
        """
        git, tree = self._span.store.git, self._span.new.tree
        places = {path: new for path in self._words if (new := self._span.place(path).new)}
        beside = {parent for new in places.values() if (parent := posixpath.dirname(new))}
        words = {path: self._words[path] for path in places}
        left = _unseen(words, places, files_with_words(git, tree, set(words.values()), beside))
        return _unseen(left, places, files_with_words(git, tree, set(left.values())))

    @cached_property
    def _before(self) -> Mapping[str, frozenset[str]]:
        words = set(self._unmentioned.values())
        return files_with_words(self._span.store.git, self._span.old.tree, words)

    def _end(self, file: str, word: str) -> CommitInfo | None:
        """The last commit that took ``word`` out of ``file``."""
        objects = self._span.store.objects
        names = (file, self._span.place(file).new or file)
        found = None
        had = True
        for commit in self._span.commits((file,)):
            texts = (objects.content(commit.tree, name) for name in names)
            has = any(text is not None and word.encode() in text for text in texts)
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
    """The name by which others refer to a file, None where they do not."""
    file = PurePosixPath(path)
    if file.suffix not in _HEADERS | _SOURCES:
        return None
    word = file.parent.name if file.stem == "__init__" else file.stem
    return word if word not in ("", "__main__") else None
