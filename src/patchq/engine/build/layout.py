"""The files of a CMake project, laid out for an evaluation."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from patchq.engine.build.cmake.lists import harmless
from patchq.engine.languages.cmake_text import is_cmake
from patchq.git.objects import GITLINK_MODE, SYMLINK_MODE, Entry, Objects
from patchq.model.ids import ObjectId, TreeId


@dataclass(frozen=True)
class ProjectFiles:
    """The regular files of a project's directory, by their path in it."""

    files: Mapping[str, Entry]

    @classmethod
    def of(cls, objects: Objects, tree: TreeId) -> ProjectFiles:
        """The files of ``tree``.

        A link may lead anywhere: what CMake would read through it is missing, and said so.
        """
        files = {
            path: entry
            for path, entry in objects.walk(tree)
            if entry.mode not in (SYMLINK_MODE, GITLINK_MODE)
        }
        return cls(files)

    def oid(self, path: str) -> ObjectId | None:
        """The id of a file's content, None if there is no such file."""
        entry = self.files.get(path)
        return entry.oid if entry else None

    @cached_property
    def lists(self) -> dict[str, str]:
        """The CMake files, with their contents' ids."""
        return {path: entry.oid for path, entry in self.files.items() if is_cmake(path)}

    @cached_property
    def facts(self) -> list[object]:
        """What an evaluation may depend on, other files that it reads aside."""
        return [sorted(self.files), self.lists]


class ProjectLayout:
    """A project's files on disk: those that CMake reads with their content, others as names.

    One directory shows one project after another; what they have in common stays. It is gone with
    this object.
    """

    def __init__(self, objects: Objects):
        self._holder = tempfile.TemporaryDirectory(prefix="patchq-probe-")
        self.scratch = Path(self._holder.name).resolve()
        self.project = self.scratch / "project"
        self.elsewhere = self.scratch / "elsewhere"
        self._objects = objects
        self._shown: dict[str, tuple[ObjectId | None, bool]] = {}
        self._made: set[str] = set()
        self.project.mkdir()

    def show(
        self, project: ProjectFiles, reads: Collection[str], includes: Collection[str]
    ) -> None:
        """Lay out ``project``, with the content of ``reads`` and ``includes`` too.

        The latter are CMake code under another name: nothing in CMake code gets behind the
        stand-ins.
        """
        wanted: dict[str, tuple[ObjectId | None, bool]] = {}
        for path, entry in project.files.items():
            code = is_cmake(path) or path in includes
            wanted[path] = (entry.oid if code or path in reads else None, code)
        for path in self._shown.keys() - wanted.keys():
            self._remove(path)
        for path, content in wanted.items():
            if self._shown.get(path) != content:
                self._write(path, *content)
        self._shown = wanted

    def _write(self, path: str, oid: ObjectId | None, code: bool) -> None:
        directory = path.rpartition("/")[0]
        if directory not in self._made:
            (self.project / directory).mkdir(parents=True, exist_ok=True)
            self._made.add(directory)
        content = b"" if oid is None else self._objects.read(oid)
        (self.project / path).write_bytes(harmless(content) if code else content)

    def _remove(self, path: str) -> None:
        (self.project / path).unlink()
        for parent in PurePosixPath(path).parents[:-1]:
            if any((self.project / parent).iterdir()):
                break
            (self.project / parent).rmdir()
            self._made.discard(str(parent))
