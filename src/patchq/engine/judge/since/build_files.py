"""Whether a file with landed lines is no longer built.

Another file may be built instead, such as a copy without the fix. A file counts as built if a build
file names it literally, or by a pattern; only files that one named when the lines landed are asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath

from patchq.engine.judge.landing.hunk_history import HunkHistory
from patchq.engine.languages.tokens import Family, family
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.objects import Entry
from patchq.git.search import changed_entries, list_paths
from patchq.model.ids import ObjectId, TreeId

_BUILD_FILE = re.compile(
    r"CMakeLists\.txt|(?:GNU)?[Mm]akefile(?:\.(?:am|in))?|meson\.build|setup\.py|pyproject\.toml"
    r"|BUILD(?:\.bazel)?|.*\.(?:cmake|mk|am|bzl)"
)
_INCLUDED = re.compile(r"\.(?:h\w*|cuh|in[cl])")
_ASIDE = re.compile(
    rb"(?:^|(?<=\s))#.*|^[^\s:=]+\.(?:o|lo|obj)[ \t]*:(?!=)(?:\\\n|.)*"
    rb"|\bset_source_files_properties\s*\([^)]*\)",
    re.MULTILINE | re.IGNORECASE,
)
"""Comments, and commands that only say how a file is built if it is."""
_TOKEN = re.compile(rb"[^\s\"'(),;=:\[\]{}]+")
_BELOW = re.compile(
    rb"\b(?:add_)?subdir(?:ectory)?\s*\(\s*[\"']?([^\s\"')]+)|\s-C\s+(\S+)", re.IGNORECASE
)
_DIRECTORIES = re.compile(rb"^\s*(?:SUBDIRS?|DIRS|obj-\S+)\s*[+:?]?=((?:\\\n|.)*)", re.MULTILINE)
_MADE = re.compile(rb"[})]\.\w|\baddsuffix\b")
"""The end of a file name that is put together from variables."""
_OBJECTS = (".o", ".lo", ".obj")


@dataclass(frozen=True)
class LeftBuild:
    """A file that no build file names any more, or (``name``) a directory above it.

    ``path`` is where the file is, ``build_file`` the last that did, ``commit`` ended it.
    """

    path: str
    name: str
    build_file: str
    commit: CommitInfo | None


@dataclass(frozen=True)
class _Named:
    """What a build file names: files and patterns, as the literal parts of their paths, and
    directories; ``makes`` says whether it also puts names together from variables."""

    folder: str
    files: frozenset[tuple[str, ...]]
    directories: frozenset[str]
    makes: bool

    def names(self, path: str) -> bool:
        """Whether it names the file ``path`` or its object file."""
        file = PurePosixPath(path)
        if self.folder and not path.startswith(f"{self.folder}/"):
            return False
        above = file.parent.parts
        ends = (file.name, *(file.stem + suffix for suffix in _OBJECTS))
        return any(
            (*above[at:], end) in self.files
            for end in (*ends, file.stem)[: None if self.makes else -1]
            for at in range(len(above) + 1)
        ) or any(
            fnmatchcase(path, f"*{'/'.join(it)}")
            for it in self.files
            if "*" in it[-1] and it[-1].endswith(file.suffix)
        )


_NOTHING = _Named("", frozenset(), frozenset(), False)


@dataclass(frozen=True)
class _Lost:
    """A file, by its old path and its new one, or (``folder``) a directory that it is in."""

    old: str
    new: str
    folder: str = ""

    @property
    def name(self) -> str:
        return self.folder or self.new

    def was_there(self, named: _Named) -> bool:
        """Whether a build file names it, by either path."""
        if self.folder:
            return self.folder in named.directories
        return named.names(self.new) or named.names(self.old)

    def is_there(self, named: _Named) -> bool:
        """Whether a build file names it; for a directory, also if one outside of it names the
        file."""
        if self.folder in named.directories:
            return True
        is_inside = self.folder and f"{named.folder}/".startswith(f"{self.folder}/")
        return not is_inside and named.names(self.new)


def _lost(then: _Named, now: _Named, old: str, new: str) -> Iterator[_Lost]:
    """Of a file and its directories, what a build file named ``then`` and does not ``now``."""
    above = {str(each) for each in PurePosixPath(new).parents}
    names = sorted((then.directories - now.directories) & above)
    if not _INCLUDED.fullmatch(PurePosixPath(new).suffix) and not is_build_file(new):
        names.insert(0, "")
    for lost in (_Lost(old, new, folder) for folder in names):
        if lost.was_there(then) and not lost.is_there(now):
            yield lost


class BuildFiles:
    """What the build files name, between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects
        self._read: dict[tuple[str, ObjectId], _Named] = {}
        self._found: dict[tuple[str, str, TreeId], LeftBuild | None] = {}
        self._lost: dict[TreeId, list[tuple[str, _Named, _Named]]] = {}

    def without_unbuilt(
        self, trails: Sequence[HunkHistory], places: Mapping[str, str | None]
    ) -> tuple[list[HunkHistory], tuple[LeftBuild, ...]]:
        """``trails``, marked as without effect if they landed in a file that is no longer built;
        and these files.

        ``places`` maps the patch's paths to those on the new base.
        """
        found = {
            trail.unit: left
            for trail in trails
            if trail.has_landed and (left := self._left(trail, places)) is not None
        }
        marked = [trail.without_effect if trail.unit in found else trail for trail in trails]
        return marked, tuple(found.values())

    def _left(self, trail: HunkHistory, places: Mapping[str, str | None]) -> LeftBuild | None:
        old = trail.unit.paths[-1]
        new = places.get(old)
        if new is None or (family(new) is Family.OTHER and not is_build_file(new)):
            return None
        key = old, new, trail.landed.tree if trail.landed else self._span.old.tree
        if key not in self._found:
            self._found[key] = self._find(*key)
        return self._found[key]

    def _find(self, old: str, new: str, tree: TreeId) -> LeftBuild | None:
        found = (
            (build_file, lost)
            for build_file, then, now in self._losses(tree)
            for lost in _lost(then, now, old, new)
        )
        for build_file, lost in found:
            if not any(map(lost.is_there, self._all)):
                return LeftBuild(new, lost.name, build_file, self._end(build_file, lost))
        return None

    def _losses(self, tree: TreeId) -> list[tuple[str, _Named, _Named]]:
        """The build files that named more in ``tree`` than on the new base: path, then, now."""
        if tree not in self._lost:
            sides = [
                (path, self._names(path, self._objects.file(tree, path)), self._names(path, now))
                for path, now in self._changed.items()
            ]
            self._lost[tree] = [
                (path, then, now)
                for path, then, now in sides
                if then.files - now.files or then.directories - now.directories
            ]
        return self._lost[tree]

    def _end(self, build_file: str, lost: _Lost) -> CommitInfo | None:
        def is_over(commit: CommitInfo) -> bool:
            entry = self._objects.file(commit.tree, build_file)
            return not lost.was_there(self._names(build_file, entry))

        return self._span.since((build_file,), is_over)

    def _names(self, path: str, entry: Entry | None) -> _Named:
        if entry is None:
            return _NOTHING
        key = path, entry.oid
        if key not in self._read:
            self._read[key] = _read(dirname(path), self._objects.blob(entry))
        return self._read[key]

    @cached_property
    def _changed(self) -> Mapping[str, Entry | None]:
        """The build files that differ between the bases, with their entries on the new one."""
        git, old, new = self._span.store.git, self._span.old.tree, self._span.new.tree
        changed = changed_entries(git, old, new)
        return {path: after for path, _, after in changed if is_build_file(path)}

    @cached_property
    def _all(self) -> Sequence[_Named]:
        """What each build file of the new base names."""
        tree = self._span.new.tree
        paths = filter(is_build_file, list_paths(self._span.store.git, tree))
        return [self._names(path, self._objects.file(tree, path)) for path in paths]


def is_build_file(path: str) -> bool:
    """Whether a file of that name says what is built."""
    return _BUILD_FILE.fullmatch(PurePosixPath(path).name) is not None


def _read(folder: str, text: bytes) -> _Named:
    said = _ASIDE.sub(b"", text)
    files = {parts for token in _TOKEN.findall(said) if (parts := tuple(_parts(token)))}
    below = [one or other for one, other in _BELOW.findall(said)]
    for row in _DIRECTORIES.findall(said):
        below += row.replace(b"\\\n", b" ").split()
    directories = (normpath(join(folder, each.decode(errors="replace"))) for each in below)
    made = _MADE.search(said) is not None
    return _Named(folder, frozenset(files), frozenset(directories), made)


def _parts(token: bytes) -> Iterator[str]:
    """The literal parts of a path, without variables, ``.`` and ``..``."""
    for part in token.decode(errors="replace").split("/"):
        if part not in ("", ".", "..") and "$" not in part:
            yield part
