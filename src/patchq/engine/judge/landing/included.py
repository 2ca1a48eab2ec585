"""Whether an included file redefines a name that landed lines use or set.

A header may define a macro of a name that a line uses; a script sourced further down may set the
variable again; a star import may rebind the name. Only files that upstream changed or included
since the landing count. If only the patch uses a name, a macro of it was just added later.
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
"""The part of a path after the last variable in it."""
_STAR = re.compile(rb"\bimport[ \t]*\*")
_OF_OTHERS = re.compile(r"bin/activate$|\.cargo/env$")
"""Scripts of other tools, which are in no tree and set variables of their own only."""


@dataclass(frozen=True)
class _File:
    """An included file: its path, or the name that it is included by if it is not in the tree."""

    path: str
    entry: Entry | None


class Included:
    """Finds names that included files redefine between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects

    def find(
        self, trails: Sequence[HunkHistory], places: Mapping[str, str | None]
    ) -> Iterator[UnusedName]:
        """The names that landed units among ``trails`` use or set and an included file redefines.

        ``places`` maps the patch's paths to those on the new base.
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
        """Whether more than the patch, with its paths ``own``, uses a name where it landed."""
        if count_part(found.name.encode(), self._objects.blob(found.trail.unit.before[path])):
            return True
        then, _ = as_landed(found.trail, path, self._span)
        files = files_with_words(self._span.store.git, then, {found.name})
        return not files.get(found.name, frozenset()) <= own

    def _taken_in(
        self, tree: TreeId, text: bytes, paths: tuple[str, str], name: str
    ) -> Iterator[_File]:
        """The files that a text at one of ``paths`` includes and that may redefine ``name``."""
        names = file_lines(paths[0], text).names
        for said in names.taken_in(name):
            file = self._file(tree, said, paths)
            if file.entry or names.is_script:
                yield file

    def _file(self, tree: TreeId, said: str, paths: tuple[str, str]) -> _File:
        """The file included as ``said``: relative to one of ``paths``, or the only one so named."""
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
        """The paths of the new base by file name."""
        found: dict[str, list[str]] = {}
        for path, _ in self._objects.walk(self._span.new.tree):
            found.setdefault(posixpath.basename(path), []).append(path)
        return found

    def _remakes(self, file: _File, name: str) -> bool:
        """Whether a file redefines ``name`` unconditionally; a script that is not in the tree is
        taken to do so."""
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
        """The commit since which a file is included and redefines ``name``."""

        def holds(commit: CommitInfo) -> bool:
            texts = (self._objects.content(commit.tree, path) for path in paths)
            text = next((each for each in texts if each is not None), b"")
            return any(
                each.path == file.path and self._remakes(each, name)
                for each in self._taken_in(commit.tree, text, paths, name)
            )

        return self._span.since((*paths, *([file.path] if file.entry else ())), holds)
