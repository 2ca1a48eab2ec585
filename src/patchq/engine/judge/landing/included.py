"""Does a file that a landed one takes in give what its lines say another meaning?

A header may make a macro of what a line uses; a script that is read further down may set the
variable that a line sets; a module of Python may have the name, if a star takes all of its names.
Asked of files that upstream changed since, or takes in newly. A macro of a name that nothing said
before the patch came late, and changes nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from patchq.engine.judge.landing.file_lines import file_lines
from patchq.engine.judge.landing.hunk_history import HunkHistory
from patchq.engine.judge.landing.unused import UnusedName, as_landed, lines_added
from patchq.engine.languages.tokens import Family, family
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.objects import Entry
from patchq.git.search import count_part, files_with_words
from patchq.model.ids import TreeId

_KNOWN_END = re.compile(r"[^\s\"'`$(){}]*$")
"""What is known of a path behind the last variable in it."""
_STAR = re.compile(rb"\bimport[ \t]*\*")
_OF_OTHERS = re.compile(r"bin/activate$|\.cargo/env$")
"""Scripts that are in no tree, and set variables of their own."""


@dataclass(frozen=True)
class _File:
    """A file that another one takes in: its path, or what it is called there if it has none."""

    path: str
    entry: Entry | None


class Included:
    """Looks for them on one span."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects

    def find(
        self, trails: Sequence[HunkHistory], places: Mapping[str, str | None]
    ) -> Iterator[UnusedName]:
        """What the landed ones of ``trails`` use or set, and such a file gives another meaning.

        ``places`` are the paths on the new base, by the patch's own.
        """
        own = {each for pair in places.items() for each in pair if each}
        for trail in trails:
            if trail.has_landed and len(trail.unit.paths) == 1:
                (path,) = trail.unit.paths
                for found in self._remade(trail, path, places.get(path) or path):
                    if family(path) is not Family.C or self._was_said(found, path, own):
                        yield found

    def _remade(self, trail: HunkHistory, path: str, place: str) -> Iterator[UnusedName]:
        new, paths = self._span.new.tree, (place, path)
        now = self._objects.content(new, place) or b""
        if family(path) is Family.PYTHON and not _STAR.search(now):
            return
        lines, added = lines_added(trail, path, self._objects)
        names = set[str]().union(*(lines.names.lent(number) for number in added))
        if not names:
            return
        then, text = as_landed(trail, path, self._span)
        for name in sorted(names):
            before, after = (
                Counter(self._taken_in(tree, said, paths, name))
                for tree, said in ((then, text), (new, now))
            )
            had, has = (
                [file for file in files.elements() if self._remakes(file, name)]
                for files in (before - after, after - before)
            )
            if len(has) > len(had):
                commit = self._since(has[-1], paths, name)
                yield UnusedName(trail, name, commit=commit, maker=has[-1].path)

    def _was_said(self, found: UnusedName, path: str, own: set[str]) -> bool:
        """Whether anything but the patch says a name, on the tree that this landed in."""
        if count_part(found.name.encode(), self._objects.blob(found.trail.unit.before[path])):
            return True
        then, _ = as_landed(found.trail, path, self._span)
        files = files_with_words(self._span.store.git, then, {found.name})
        return not files.get(found.name, frozenset()) <= own

    def _taken_in(
        self, tree: TreeId, text: bytes, paths: tuple[str, str], name: str
    ) -> Iterator[_File]:
        """The files that a text at one of ``paths`` takes in, and that may remake ``name``."""
        names = file_lines(paths[0], text).names
        for said in names.taken_in(name):
            file = self._file(tree, said, paths)
            if file.entry or names.is_script:
                yield file

    def _file(self, tree: TreeId, said: str, paths: tuple[str, str]) -> _File:
        """The file that ``said`` names: beside the one that says it, or the only one so called."""
        end = match[0].lstrip("./") if (match := _KNOWN_END.search(said)) else ""
        beside = [posixpath.normpath(posixpath.join(posixpath.dirname(p), said)) for p in paths]
        called = self._by_name.get(posixpath.basename(end), ()) if end else ()
        only = [path for path in called if f"/{path}".endswith(f"/{end}")]
        if said.endswith(".py"):
            beside += [f"{path.removesuffix('.py')}/__init__.py" for path in beside]
        for path in (*beside, *(only if len(only) == 1 else ())):
            if (entry := self._objects.file(tree, path)) is not None:
                return _File(path, entry)
        return _File(said, None)

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[str]]:
        """The files of the new base by the last part of their path."""
        found: dict[str, list[str]] = {}
        for path, _ in self._objects.walk(self._span.new.tree):
            found.setdefault(posixpath.basename(path), []).append(path)
        return found

    def _remakes(self, file: _File, name: str) -> bool:
        """Whether a file gives ``name`` another meaning, on no condition; of a script that is not
        in the tree nobody knows."""
        if file.entry is None:
            return not _OF_OTHERS.search(file.path)
        text = self._objects.blob(file.entry)
        if name.encode() not in text:
            return False
        names = file_lines(file.path, text).names
        if not names.are_known:
            names = file_lines(f"{file.path}.sh", text).names
        return any(not each.block for each in names.taking(name))

    def _since(self, file: _File, paths: tuple[str, str], name: str) -> CommitInfo | None:
        """The commit since which a file is taken in, and remakes ``name``."""

        def holds(commit: CommitInfo) -> bool:
            texts = (self._objects.content(commit.tree, path) for path in paths)
            text = next((each for each in texts if each is not None), b"")
            return any(
                each.path == file.path and self._remakes(each, name)
                for each in self._taken_in(commit.tree, text, paths, name)
            )

        return self._span.since((*paths, *([file.path] if file.entry else ())), holds)
