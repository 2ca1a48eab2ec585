"""Content of upstream that cannot be searched, and whether gone code may be in it.

Submodules, archives, Git LFS objects and sources that a build fetches are files that the tree does
not have. Only those that were added between the bases can have code that was removed between them;
an older one counts if the commit that removed the code changed it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath

from patchq.engine.judge.gone.removal import Removal
from patchq.engine.languages.cmake_text import is_cmake
from patchq.engine.languages.search.fresh_code import fresh_code
from patchq.engine.languages.search.tree_index import TreeIndex
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.blobs import TreeFile, list_files
from patchq.git.history import CommitInfo
from patchq.git.objects import GITLINK_MODE, SYMLINK_MODE
from patchq.model.ids import BlobId, ObjectId

_NO_SOURCE = re.compile(
    r"\.(?:png|jpe?g|gif|bmp|ico|icns|webp|avif|tiff?|psd|xcf|svgz|woff2?|ttf|otf|eot|mp[34]|m4a|wav"
    r"|og[gav]|flac|webm|mov|avi|mkv|pdf|ps|docx|xlsx|pptx|od[tsp]|epub|a|so(?:\.\d+)*|o|obj|lib|dll"
    r"|dylib|exe|py[cd]|class|wasm|cubin|np[yz]|pth?|ckpt|safetensors|onnx|gguf|h5|hdf5|parquet|arrow"
    r"|feather|pkl|mo)$",
    re.IGNORECASE,
)
"""Endings of files that contain no source code."""

_DECLARED = re.compile(
    rb"\b(?:FetchContent_Declare|ExternalProject_Add|CPM(?:Add|Find)Package)\s*\(\s*(?:NAME\s+)?"
    rb"[\"']?([\w.+-]+)"
    rb"|\b(?:http_archive|git_repository)\s*\([^)]*?\bname\s*=\s*[\"']([\w.+-]+)",
)
_PINNED = re.compile(
    rb"\b(?:GIT_TAG|GIT_REPOSITORY|URL_HASH|FetchContent_Declare|ExternalProject_Add"
    rb"|CPM(?:Add|Find)Package|http_archive|git_repository)\b"
)
_WRAP = re.compile(rb"^\[wrap-\w+\]", re.MULTILINE)


@dataclass(frozen=True)
class Unseen:
    """Why not all of the new base was searched, and the paths that code may be in, if known."""

    text: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class UnsearchedPlace:
    """A path of the new base that could not be searched: what it is, and since when."""

    path: str
    words: str


class Unsearched:
    """The content that cannot be searched on the new base, and that the old one lacks."""

    def __init__(self, span: UpstreamRange, index: TreeIndex):
        self._span = span
        self._index = index
        self._objects = span.store.objects

    def find(self, what: str, removal: Removal) -> Unseen | None:
        """Where the code ``what`` that ``removal`` removed may be, None if all was searched."""
        new = self._span.new
        if new.archive is not None:
            part = f"not found in the part of upstream that {new.name} covers"
            return Unseen(f"{part}; the rest was not searched", ())
        skipped = self._index.skipped
        if skipped:
            number = len(skipped)
            text = f"{number} files of {new.name} could not be searched: {skipped[0]}"
            return Unseen(text, skipped)
        place = self.came or self._changed_at_once(removal)
        if place is None:
            return None
        text = f"{what} may be in {place.words}: what is in it could not be searched"
        return Unseen(text, (place.path,))

    @cached_property
    def came(self) -> UnsearchedPlace | None:
        """The first such place that was added between the bases, None if there is none."""
        return next(self._came(), None)

    def _came(self) -> Iterator[UnsearchedPlace]:
        links = {file.path for file in self._index.listed if file.mode == GITLINK_MODE}
        for file in self._index.listed:
            if file.mode == GITLINK_MODE:
                if file.path not in self._old_links:
                    yield self._since(file, "is a submodule")
            elif file.oid in self.old_blobs:
                continue
            elif file.mode == SYMLINK_MODE:
                target = self._objects.read(BlobId(file.oid)).decode("utf-8", "surrogateescape")
                if _leads_out(file.path, target, links):
                    yield self._since(file, f"links to {target}, outside of this tree")
            elif self._index.is_binary(BlobId(file.oid)) and not _NO_SOURCE.search(file.path):
                yield self._since(file, "is an archive, a Git LFS pointer or another binary")
        yield from self._fetched()

    def _changed_at_once(self, removal: Removal) -> UnsearchedPlace | None:
        """An older place that the commit which removed the code changed too."""
        commit = removal.commit
        if commit is None or not commit.parents:
            return None
        before = self._objects.commit_tree(commit.parents[0])
        name = commit.oid[:9]
        for path in self._objects.differing(before, commit.tree):
            entry = self._objects.file(commit.tree, path)
            if entry is not None and (entry.mode == GITLINK_MODE or path == ".gitmodules"):
                kind = "the submodule " if entry.mode == GITLINK_MODE else ""
                return UnsearchedPlace(path, f"{kind}{path}, which {name} changed too")
        for path, added in fresh_code(self._span.store, before, commit.tree).items():
            if _may_fetch(path) and (_PINNED.search(added) or _WRAP.search(added)):
                return UnsearchedPlace(
                    path, f"what the build fetches: {name} changed that in {path} too"
                )
        return None

    def _fetched(self) -> Iterator[UnsearchedPlace]:
        """Sources that the build fetches now under a name that it did not on the old base."""
        span = self._span
        fresh = fresh_code(span.store, span.old.tree, span.new.tree)
        found = [
            (path, name)
            for path, added in fresh.items()
            if _may_fetch(path)
            for name in _names(path, added)
        ]
        if not found:
            return
        known = {
            name
            for path, entry in self._objects.walk(span.old.tree)
            if _may_fetch(path) and entry.mode not in (GITLINK_MODE, SYMLINK_MODE)
            for name in _names(path, self._objects.read(entry.oid))
        }
        for path, name in found:
            if name not in known:
                yield UnsearchedPlace(path, f"{name}, which the build fetches now ({path})")

    def _since(self, file: TreeFile, words: str) -> UnsearchedPlace:
        def holds(commit: CommitInfo) -> bool:
            entry = self._objects.file(commit.tree, file.path)
            if entry is None or entry.mode != file.mode:
                return False
            return file.mode == GITLINK_MODE or entry.oid == file.oid

        commit = self._span.since((file.path,), holds)
        since = commit.oid[:9] if commit else self._span.new.name
        return UnsearchedPlace(file.path, f"{file.path}, which {words} since {since}")

    @cached_property
    def _old(self) -> tuple[TreeFile, ...]:
        return list_files(self._span.store.git, self._span.old.tree)

    @cached_property
    def _old_links(self) -> frozenset[str]:
        return frozenset(file.path for file in self._old if file.mode == GITLINK_MODE)

    @cached_property
    def old_blobs(self) -> frozenset[ObjectId]:
        """The blobs and submodule commits of the old base."""
        return frozenset(file.oid for file in self._old)


def _leads_out(path: str, target: str, links: set[str]) -> bool:
    """Whether a symlink leads out of the tree, or into a submodule."""
    end = normpath(join(dirname(path), target))
    above = (str(each) for each in (PurePosixPath(end), *PurePosixPath(end).parents))
    return end.startswith(("/", "../")) or end == ".." or not links.isdisjoint(above)


def _may_fetch(path: str) -> bool:
    """Whether CMake, Bazel or Meson may fetch sources that a file of that name declares."""
    file = PurePosixPath(path)
    return (
        is_cmake(path)
        or file.suffix in (".bzl", ".bazel", ".wrap")
        or file.name in ("WORKSPACE", "BUILD")
    )


def _names(path: str, text: bytes) -> Iterator[str]:
    """The names of the sources that a build file fetches; of Meson, the name of the wrap file."""
    if path.endswith(".wrap"):
        yield PurePosixPath(path).stem
        return
    for match in _DECLARED.finditer(text):
        yield (match[1] or match[2]).decode()
