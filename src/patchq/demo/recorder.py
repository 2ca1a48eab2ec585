"""A history written down in code, then made by one ``git fast-import``.

Each edit changes a tree in memory and says the same in fast-import's language, so that later
commits can be written as replacements in what stands there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from patchq.git.process import Git

Tree = dict[str, bytes]


class TreeEdit(Protocol):
    """A change of a tree."""

    def play(self, tree: Tree) -> Iterator[bytes]:
        """Change ``tree``, and yield the fast-import commands that do the same."""


@dataclass(frozen=True)
class Write:
    """Write a whole file."""

    path: str
    text: str

    def play(self, tree: Tree) -> Iterator[bytes]:
        tree[self.path] = self.text.encode()
        yield _modify(self.path, tree[self.path])


@dataclass(frozen=True)
class Replace:
    """Replace a passage that stands exactly once in a file."""

    path: str
    old: str
    new: str

    def play(self, tree: Tree) -> Iterator[bytes]:
        before, old = tree[self.path], self.old.encode()
        if before.count(old) != 1:
            raise ValueError(f"{self.path} holds this {before.count(old)} times: {self.old!r}")
        tree[self.path] = before.replace(old, self.new.encode())
        yield _modify(self.path, tree[self.path])


@dataclass(frozen=True)
class Remove:
    """Delete a file."""

    path: str

    def play(self, tree: Tree) -> Iterator[bytes]:
        del tree[self.path]
        yield f"D {self.path}\n".encode()


@dataclass(frozen=True)
class TreeMove:
    """Move a directory, contents untouched."""

    old: str
    new: str

    def play(self, tree: Tree) -> Iterator[bytes]:
        for path in [path for path in tree if path.startswith(f"{self.old}/")]:
            tree[self.new + path.removeprefix(self.old)] = tree.pop(path)
        yield f"R {self.old} {self.new}\n".encode()


@dataclass(frozen=True)
class Person:
    """Who commits."""

    name: str
    email: str

    def on(self, date: str) -> bytes:
        """The identity line of a commit made at nine o'clock UTC on ``date`` (ISO)."""
        moment = datetime.fromisoformat(date).replace(hour=9, tzinfo=UTC)
        return f"{self.name} <{self.email}> {int(moment.timestamp())} +0000\n".encode()


class Recorder:
    """Branches and tags as trees in memory, and the stream that makes the same in git."""

    def __init__(self) -> None:
        self.trees: dict[str, Tree] = {}
        self._stream: list[bytes] = []

    def branch(self, name: str, start: str) -> None:
        """Start a branch where the branch ``start`` now stands."""
        self.trees[name] = dict(self.trees[start])
        self._stream.append(f"reset refs/heads/{name}\nfrom refs/heads/{start}\n\n".encode())

    def commit(
        self, branch: str, date: str, author: Person, message: str, *edits: TreeEdit
    ) -> None:
        """Put a commit on ``branch``; the first one on a new name is a root."""
        tree = self.trees.setdefault(branch, {})
        identity = author.on(date)
        self._stream += [
            f"commit refs/heads/{branch}\n".encode(),
            b"author " + identity,
            b"committer " + identity,
            _data(message.encode() + b"\n"),
        ]
        for edit in edits:
            self._stream += edit.play(tree)
        self._stream.append(b"\n")

    def tag(self, name: str, branch: str, date: str, tagger: Person) -> None:
        """Put an annotated tag on the tip of ``branch``."""
        self.trees[name] = dict(self.trees[branch])
        self._stream += [
            f"tag {name}\nfrom refs/heads/{branch}\n".encode(),
            b"tagger " + tagger.on(date),
            _data(f"Release {name}\n".encode()),
        ]

    def write(self, directory: Path) -> Git:
        """Make the history in a new bare repository at ``directory``."""
        directory.mkdir(parents=True, exist_ok=True)
        git = Git(directory.absolute())
        git.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1", "-b", "main")
        git.run("fast-import", "--quiet", "--done", stdin=b"".join([*self._stream, b"done\n"]))
        return git


def _modify(path: str, content: bytes) -> bytes:
    return f"M 100644 inline {path}\n".encode() + _data(content)


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)
