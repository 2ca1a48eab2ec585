"""Trees by path, and trees with a few paths replaced; see :mod:`patchq.git.raw_objects`.

Trees are read on the way to a path only, so that the cost follows the paths asked for, never the
size of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from patchq.errors import UpstreamError
from patchq.git.process import FetchMissing, Git
from patchq.git.raw_objects import RawObjects
from patchq.model.ids import BlobId, CommitId, ObjectId, TreeId, tree_id
from patchq.recent import Recent

TREE_MODE = "40000"
SYMLINK_MODE = "120000"
GITLINK_MODE = "160000"
EMPTY_TREE = tree_id("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
_ROW = re.compile(rb"(\d+) ([^\0]+)\0(.{20})", re.DOTALL)


class Entry(NamedTuple):
    """One entry of a tree: its mode as git writes it in trees (``100644``) and its object id."""

    mode: str
    oid: ObjectId

    @property
    def is_tree(self) -> bool:
        """True for a directory."""
        return self.mode == TREE_MODE

    @property
    def tree_id(self) -> TreeId:
        """The id of a directory."""
        assert self.is_tree
        return TreeId(self.oid)

    @property
    def blob_id(self) -> BlobId:
        """The id of a file or symlink."""
        return BlobId(self.oid)


_Tree = tuple[dict[str, Entry], dict[str, bytes]]
"""The entries of a tree object by name, and the bytes that stand for each."""

_ENTRIES = 200_000
"""So many entries of trees are kept, some eighty megabytes: of upstream whole trees and more."""

Entries = Mapping[str, Entry | None]
"""Entries by full path; None stands for "no such path"."""


def decode_path(raw: bytes) -> str:
    """A path as patchq keeps it: UTF-8, other bytes escaped losslessly."""
    return raw.decode("utf-8", "surrogateescape")


def encode_path(path: str) -> bytes:
    """The bytes of a path that :func:`decode_path` gave."""
    return path.encode("utf-8", "surrogateescape")


class Objects(RawObjects):
    """The objects of one store (and of the stores lending to it), files by their paths in trees."""

    def __init__(self, git: Git, scratch: Path, fetch_missing: FetchMissing | None = None):
        super().__init__(git, scratch, fetch_missing)
        self._sound_below: set[TreeId] = set()
        self._trees: Recent[TreeId, _Tree] = Recent(_ENTRIES, lambda tree: len(tree[0]) + 1)

    def verify_files(self, *trees: TreeId) -> None:
        """:meth:`verify` all files below ``trees``."""
        fresh = [tree for tree in trees if tree not in self._sound_below]
        files = (entry for tree in fresh for _, entry in self.walk(tree))
        self.verify(entry.oid for entry in files if entry.mode != GITLINK_MODE)
        self._sound_below.update(fresh)

    def write_differing(self, *pairs: tuple[TreeId, TreeId]) -> None:
        """Have the derived blobs in which two trees differ, for a process of git."""
        if not self._derived:
            return
        for old, new in pairs:
            paths = list(self.differing(old, new))
            entries = (self.file(tree, path) for tree in (old, new) for path in paths)
            self._write_derived(entry.oid for entry in entries if entry)

    def commit_tree(self, commit: CommitId) -> TreeId:
        """The tree of a commit (its first line, gitformat-commit)."""
        return tree_id(self.read(commit)[5:45].decode("ascii"))

    def tree(self, oid: TreeId) -> Mapping[str, Entry]:
        """The entries of one tree object, by name."""
        return self._tree(oid)[0]

    def _tree(self, oid: TreeId) -> _Tree:
        known = self._trees.get(oid)
        if known is None:
            known = _parse_tree(b"" if oid == EMPTY_TREE else self.read(oid))
            self._trees.keep(oid, known)
        return known

    def entry(self, tree: TreeId, path: str) -> Entry | None:
        """What stands at ``path`` in ``tree``, None if nothing does."""
        *parents, name = path.split("/")
        for parent in parents:
            step = self.tree(tree).get(parent)
            if step is None or not step.is_tree:
                return None
            tree = step.tree_id
        return self.tree(tree).get(name)

    def file(self, tree: TreeId, path: str) -> Entry | None:
        """What stands at ``path`` unless it is a directory."""
        entry = self.entry(tree, path)
        return None if entry is None or entry.is_tree else entry

    def files(self, tree: TreeId, paths: Iterable[str]) -> dict[str, Entry | None]:
        """:meth:`file` for each path."""
        return {path: self.file(tree, path) for path in paths}

    def blocker(self, tree: TreeId, path: str, leaving: Collection[str] = ()) -> str | None:
        """The file (or symlink) in ``tree`` because of which there can be none at ``path``.

        It stands in the place of a directory above ``path``, or in a directory at ``path``. Those
        that are ``leaving`` do not count.
        """
        *parents, name = path.split("/")
        for depth, parent in enumerate(parents, start=1):
            step = self.tree(tree).get(parent)
            if step is None:
                return None
            if not step.is_tree:
                ancestor = "/".join(parents[:depth])
                return None if ancestor in leaving else ancestor
            tree = step.tree_id
        found = self.tree(tree).get(name)
        below = self.walk(found.tree_id, f"{path}/") if found and found.is_tree else ()
        return next((file for file, _ in below if file not in leaving), None)

    def content(self, tree: TreeId, path: str) -> bytes | None:
        """The bytes of the file at ``path`` in ``tree``, None if there is none."""
        entry = self.file(tree, path)
        return None if entry is None or entry.mode == GITLINK_MODE else self.read(entry.oid)

    def blob(self, entry: Entry | None) -> bytes:
        """The bytes of a file (a symlink's are its target); none of a submodule, or of nothing."""
        return b"" if entry is None or entry.mode == GITLINK_MODE else self.read(entry.oid)

    def walk(self, tree: TreeId, prefix: str = "") -> Iterator[tuple[str, Entry]]:
        """Every file below ``tree``, depth first, with its full path."""
        for name, entry in self.tree(tree).items():
            path = f"{prefix}{name}"
            if entry.is_tree:
                yield from self.walk(entry.tree_id, f"{path}/")
            else:
                yield path, entry

    def differing(self, old: TreeId, new: TreeId, prefix: str = "") -> Iterator[str]:
        """The paths of the files that differ between two trees; equal directories are not read."""
        if old == new:
            return
        before, after = self.tree(old), self.tree(new)
        for name in before.keys() | after.keys():
            sides = before.get(name), after.get(name)
            if sides[0] == sides[1]:
                continue
            path = f"{prefix}{name}"
            if any(side is not None and not side.is_tree for side in sides):
                yield path
            trees = (side.tree_id if side and side.is_tree else EMPTY_TREE for side in sides)
            yield from self.differing(next(trees), next(trees), f"{path}/")

    def changed(self, old: TreeId, new: TreeId) -> tuple[str, ...]:
        """:meth:`differing` in git's order."""
        return tuple(sorted(self.differing(old, new), key=encode_path))

    def overlay(self, tree: TreeId, changes: Entries) -> TreeId:
        """``tree`` with some paths replaced (or removed, where the entry is None).

        Only the directories on the way are read and written; one left empty disappears, as git
        keeps no empty directories. None at the path of a directory leaves that as it is. Raises
        :class:`UpstreamError` if a path would have to go through a file, or a file would take
        the place of a directory.
        """
        here: dict[str, Entry | None] = {}
        below: dict[str, dict[str, Entry | None]] = {}
        for path, entry in changes.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = entry
            else:
                here[name] = entry
        made = _Directory(*self._tree(tree))
        for name, entry in here.items():
            held = made.entries.get(name)
            if held is not None and held.is_tree:
                if entry is None:
                    continue
                if self.overlay(held.tree_id, below.pop(name, {})) != EMPTY_TREE:
                    raise UpstreamError(f"{name}: a file cannot take the place of a directory")
            made.put(name, entry)
        for name, nested in below.items():
            step = made.entries.get(name)
            if step is not None and not step.is_tree:
                if all(entry is None for entry in nested.values()):
                    continue
                raise UpstreamError(f"{name}: a path cannot go through a file or symlink")
            subtree = self.overlay(step.tree_id if step else EMPTY_TREE, nested)
            made.put(name, Entry(TREE_MODE, subtree) if subtree != EMPTY_TREE else None)
        return self._write_tree(made)

    def tree_of(self, entries: Entries) -> TreeId:
        """A tree of just these paths."""
        return self.overlay(EMPTY_TREE, {path: entry for path, entry in entries.items() if entry})

    def _write_tree(self, made: _Directory) -> TreeId:
        oid = TreeId(self.write("tree", made.raw))
        self._trees.keep(oid, (made.entries, made.rows))
        return oid


class _Directory:
    """A tree object in the making: its entries, and the rows that stand for them, in git's order
    but for what was added last."""

    def __init__(self, entries: Mapping[str, Entry], rows: Mapping[str, bytes]):
        self.entries = dict(entries)
        self.rows = dict(rows)
        self._ordered = True

    def put(self, name: str, entry: Entry | None) -> None:
        """Have ``entry`` at ``name``, or nothing."""
        held = self.entries.get(name)
        if entry is None:
            self.entries.pop(name, None)
            self.rows.pop(name, None)
            return
        self._ordered &= held is not None and held.is_tree is entry.is_tree
        self.entries[name] = entry
        self.rows[name] = b"%s %s\0%s" % (
            entry.mode.encode(),
            encode_path(name),
            bytes.fromhex(entry.oid),
        )

    @property
    def raw(self) -> bytes:
        """The content of the tree object."""
        if not self._ordered:
            # git sorts a directory as if its name ended in a slash
            order = sorted(
                self.entries,
                key=lambda name: encode_path(f"{name}/" if self.entries[name].is_tree else name),
            )
            self.entries = {name: self.entries[name] for name in order}
            self.rows = {name: self.rows[name] for name in order}
            self._ordered = True
        return b"".join(self.rows.values())


def _parse_tree(raw: bytes) -> _Tree:
    """The entries of a tree object, and the bytes that stand for each."""
    entries, rows = dict[str, Entry](), dict[str, bytes]()
    for row in _ROW.finditer(raw):
        mode, path, oid = row.groups()
        name = decode_path(path)
        entries[name] = Entry(mode.decode(), ObjectId(oid.hex()))
        rows[name] = row[0]
    return entries, rows
