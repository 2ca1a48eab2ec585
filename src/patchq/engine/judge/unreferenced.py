"""Whether anything still names a file. If not, the patch gets a note, and nothing else.

A file is named by an ``#include``, an import, a list of sources, a string that a just-in-time build
reads. Names are also made by templates, patterns and macros, so a file may be used though nothing
spells its name: a lost name never retires a patch and never stops a rebase.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.objects import Entry
from patchq.git.search import (
    blobs_with_words,
    changed_entries,
    files_with_words,
    is_bounded,
)
from patchq.model.ids import BlobId

_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl"})
_FEW = 4
"""How many of the files that named one are read before the whole tree is searched."""
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
        """The note on the patch in the report."""
        since = f"since {self.commit.oid[:9]}" if self.commit else "any more"
        return f"nothing names {self.path} {since}"


class References:
    """The files that name the files of a series; one search of a tree answers for all."""

    def __init__(self, span: UpstreamRange, paths: Iterable[str]):
        self._span = span
        self._words = {path: word for path in paths if (word := _word(path)) is not None}

    def look_up(self) -> None:
        """Search now for all files that :meth:`lost` may be asked about."""
        _ = self._lost

    def lost(self, path: str) -> LostReference | None:
        """The last reference to ``path`` (of the old base), None if there still is one."""
        before = self._lost.get(path)
        if before is None:
            return None
        new, word = self._places[path], self._words[path]
        words = {word, _word(new) or word}
        return max(
            (LostReference(new, file, self._end(file, words)) for file in sorted(before)),
            key=lambda lost: lost.commit.date if lost.commit else "",
        )

    @cached_property
    def _places(self) -> Mapping[str, str]:
        """The path of each file on the new base."""
        return {path: new for path in self._words if (new := self._span.place(path).new)}

    @cached_property
    def _lost(self) -> Mapping[str, frozenset[str]]:
        """The files that others named on the old base and none does on the new one, with these
        others."""
        same, others = dict[str, str](), dict[str, str]()
        for path, new in self._places.items():
            word, now = self._words[path], _word(new)
            if now is not None:
                (same if now == word and is_bounded(word) else others)[path] = now
        named = self._named_by_changed(same)
        same = {path: word for path, word in same.items() if named[path]}
        left = self._unmentioned({**self._unnamed_by_same(same, named), **others})
        before = files_with_words(
            self._span.store.git,
            self._span.old.tree,
            {self._words[path] for path in left if path in others},
        )
        named |= {path: _mentions(before, self._words[path], path) for path in others}
        return {path: named[path] for path in left if named[path]}

    @cached_property
    def _changed(self) -> Mapping[str, tuple[Entry | None, Entry | None]]:
        """The paths at which the bases differ, with the entries on both."""
        old, new = self._span.old.tree, self._span.new.tree
        return {
            path: (before, after)
            for path, before, after in changed_entries(self._span.store.git, old, new)
        }

    def _named_by_changed(self, words: Mapping[str, str]) -> dict[str, frozenset[str]]:
        """The files of the old base that name each path and may not do so any more.

        Files whose content is still on the new base still name what they named.
        """
        targets = set(self._places.values())
        there = {new.oid for path, (_, new) in self._changed.items() if new and path not in targets}
        files = {path: old for path, (old, _) in self._changed.items() if old}
        files = {path: entry for path, entry in files.items() if entry.oid not in there}
        for path in targets - self._changed.keys():
            entry = self._span.store.objects.file(self._span.old.tree, path)
            if entry is not None:
                files[path] = entry
        found = self._holding(files, words.values())
        return {path: _mentions(found, word, path) for path, word in words.items()}

    def _unnamed_by_same(
        self, words: Mapping[str, str], named: Mapping[str, frozenset[str]]
    ) -> dict[str, str]:
        """Those of ``words`` that some of the files which ``named`` each path no longer have."""
        asked = {path for each in words for path in sorted(named[each])[:_FEW]}
        files = {path: new for path in asked if (new := self._changed.get(path, (None, None))[1])}
        return self._unseen(words, self._holding(files, words.values()))

    def _holding(
        self, files: Mapping[str, Entry], words: Iterable[str]
    ) -> dict[str, frozenset[str]]:
        """The ``files`` that have each of ``words``."""
        paths: dict[BlobId, list[str]] = {}
        for path, entry in files.items():
            if entry.mode.startswith("100"):
                paths.setdefault(entry.blob_id, []).append(path)
        store = self._span.store
        found = blobs_with_words(store.git, store.objects, list(paths), set(words))
        return {
            word: frozenset(path for oid in oids for path in paths[oid])
            for word, oids in found.items()
        }

    def _unmentioned(self, words: Mapping[str, str]) -> dict[str, str]:
        """Those of ``words``, by old path, that no other file of the new base has.

        Most are named by a file nearby, so these are searched first.
        """
        git, tree = self._span.store.git, self._span.new.tree
        beside = {parent for path in words if (parent := posixpath.dirname(self._places[path]))}
        left = self._unseen(words, files_with_words(git, tree, set(words.values()), beside))
        return self._unseen(left, files_with_words(git, tree, set(left.values())))

    def _unseen(
        self, words: Mapping[str, str], found: Mapping[str, frozenset[str]]
    ) -> dict[str, str]:
        """Those of ``words`` that were found only in the file itself."""
        return {
            path: word
            for path, word in words.items()
            if not _mentions(found, word, self._places[path])
        }

    def _end(self, file: str, words: Iterable[str]) -> CommitInfo | None:
        """The last commit that removed the last of ``words`` from ``file``."""
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


def _mentions(found: Mapping[str, frozenset[str]], word: str, itself: str) -> frozenset[str]:
    return found.get(word, frozenset()) - {itself}


def _word(path: str) -> str | None:
    """The name by which others refer to a file, None if they do not."""
    file = PurePosixPath(path)
    if file.suffix not in _HEADERS | _SOURCES:
        return None
    word = file.parent.name if file.stem == "__init__" else file.stem
    return word if word not in ("", "__main__") else None
