"""Read and write git objects: blobs, trees by path, and trees with a few paths replaced.

Reading goes through one ``git cat-file --batch`` that stays open (GitPython's), writing makes
loose objects without a process (gitdb's). Trees are read on the way to a path only, so that the
cost follows the paths asked for, never the size of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1
from io import BytesIO
from pathlib import Path

from git.cmd import Git as GitCommand
from gitdb import IStream, LooseObjectDB

from patchq.errors import UnavailableError, UpstreamError
from patchq.git.process import EMAIL, IDENTITY, FetchMissing, Git

TREE_MODE = "40000"
SYMLINK_MODE = "120000"
GITLINK_MODE = "160000"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
OURS = f"{IDENTITY} <{EMAIL}> 0 +0000"
"""Who makes the commits that carry trees to git: the same on every machine."""


class MissingObjectError(UpstreamError):
    """An object that history refers to is in no store we may read."""

    def __init__(self, oid: str):
        super().__init__(
            f"object {oid} is missing from the upstream store",
            hint="The clone that lent it may have been repacked, moved or cut: run `patchq fetch`, "
            "or point --upstream at a complete clone.",
        )
        self.oid = oid


@dataclass(frozen=True)
class Entry:
    """One entry of a tree: its mode as git writes it in trees (``100644``) and its object id."""

    mode: str
    oid: str

    @property
    def is_tree(self) -> bool:
        """True for a directory."""
        return self.mode == TREE_MODE


Entries = Mapping[str, Entry | None]
"""Entries by full path; None stands for "no such path"."""


def decode_path(raw: bytes) -> str:
    """A path as patchq keeps it: UTF-8, other bytes escaped losslessly."""
    return raw.decode("utf-8", "surrogateescape")


def encode_path(path: str) -> bytes:
    """The bytes of a path that :func:`decode_path` gave."""
    return path.encode("utf-8", "surrogateescape")


class Objects:
    """The objects of one store (and of the stores lending to it).

    Where one to be read is missing, ``fetch_missing`` is told its id first.
    """

    def __init__(self, git: Git, scratch: Path, fetch_missing: FetchMissing | None = None):
        self._reader = GitCommand()
        self._reader.update_environment(**git.environment)
        self._fetch_missing = fetch_missing
        self._writer = LooseObjectDB(str(scratch))
        self._written: set[str] = set()
        self._trees: dict[str, dict[str, Entry]] = {}

    def read(self, oid: str) -> bytes:
        """The content of a blob (or the raw bytes of any object).

        Raises :class:`MissingObjectError`.
        """
        try:
            return self._reader.get_object_data(oid)[3]
        except BrokenPipeError as error:
            raise _reader_is_gone() from error
        except ValueError as error:
            if self._fetch_missing is not None and self._fetch_missing(oid.encode()):
                return self.read(oid)
            raise MissingObjectError(oid) from error

    def has(self, oid: str) -> bool:
        """Whether the object can be read here."""
        try:
            self._reader.get_object_header(oid)
        except BrokenPipeError as error:
            raise _reader_is_gone() from error
        except ValueError:
            return False
        return True

    def ensure(self, oids: Iterable[str]) -> None:
        """Have these objects here if they can be had, for git apply, which names none it misses."""
        if self._fetch_missing is None:
            return
        wanted = tuple(oids)
        while absent := [oid for oid in wanted if not self.has(oid)]:
            if not self._fetch_missing(" ".join(absent).encode()):
                return

    def write(self, kind: str, content: bytes) -> str:
        """Store an object of ``kind`` (blob, tree, commit); returns its id."""
        oid = sha1(b"%s %d\0" % (kind.encode(), len(content)) + content).hexdigest()
        if oid not in self._written:
            self._writer.store(IStream(kind.encode(), len(content), BytesIO(content)))
            self._written.add(oid)
        return oid

    def write_commit(
        self,
        tree: str,
        parents: Sequence[str] = (),
        *,
        message: str,
        author: str = OURS,
        committer: str = OURS,
    ) -> str:
        """Store a commit; ``author`` and ``committer`` are ``Name <mail> seconds zone``."""
        head = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        text = "\n".join([*head, f"author {author}", f"committer {committer}", "", message])
        return self.write("commit", text.encode("utf-8", "surrogateescape"))

    def tree(self, oid: str) -> Mapping[str, Entry]:
        """The entries of one tree object, by name."""
        known = self._trees.get(oid)
        if known is None:
            known = {} if oid == EMPTY_TREE else dict(_parse_tree(self.read(oid)))
            self._trees[oid] = known
        return known

    def entry(self, tree: str, path: str) -> Entry | None:
        """What stands at ``path`` in ``tree``, None where nothing does."""
        *parents, name = path.split("/")
        for parent in parents:
            step = self.tree(tree).get(parent)
            if step is None or not step.is_tree:
                return None
            tree = step.oid
        return self.tree(tree).get(name)

    def file(self, tree: str, path: str) -> Entry | None:
        """What stands at ``path`` unless it is a directory."""
        entry = self.entry(tree, path)
        return None if entry is None or entry.is_tree else entry

    def files(self, tree: str, paths: Iterable[str]) -> dict[str, Entry | None]:
        """:meth:`file` for each path."""
        return {path: self.file(tree, path) for path in paths}

    def blocker(self, tree: str, path: str) -> str | None:
        """The ancestor of ``path`` that is not a directory in ``tree`` (a file or symlink)."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            ancestor = "/".join(parts[:depth])
            entry = self.entry(tree, ancestor)
            if entry is None:
                return None
            if not entry.is_tree:
                return ancestor
        return None

    def content(self, tree: str, path: str) -> bytes | None:
        """The bytes of the file at ``path`` in ``tree``, None where there is none."""
        entry = self.file(tree, path)
        return None if entry is None or entry.mode == GITLINK_MODE else self.read(entry.oid)

    def blob(self, entry: Entry | None) -> bytes:
        """The bytes of a file (a symlink's are its target); none of a submodule, or of nothing."""
        return b"" if entry is None or entry.mode == GITLINK_MODE else self.read(entry.oid)

    def walk(self, tree: str, prefix: str = "") -> Iterator[tuple[str, Entry]]:
        """Every file below ``tree``, depth first, with its full path."""
        for name, entry in self.tree(tree).items():
            path = f"{prefix}{name}"
            if entry.is_tree:
                yield from self.walk(entry.oid, f"{path}/")
            else:
                yield path, entry

    def overlay(self, tree: str, changes: Entries) -> str:
        """``tree`` with some paths replaced (or removed, where the entry is None).

        Only the directories on the way are read and written; one left empty disappears, as git
        keeps no empty directories. Raises :class:`UpstreamError` where a path would have to go
        through a file.
        """
        here: dict[str, Entry | None] = {}
        below: dict[str, dict[str, Entry | None]] = {}
        for path, entry in changes.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = entry
            else:
                here[name] = entry
        entries = dict(self.tree(tree))
        for name, entry in here.items():
            if entry is None:
                entries.pop(name, None)
            else:
                entries[name] = entry
        for name, nested in below.items():
            step = entries.get(name)
            if step is not None and not step.is_tree:
                if all(entry is None for entry in nested.values()):
                    continue
                raise UpstreamError(f"{name}: a path cannot go through a file or symlink")
            subtree = self.overlay(step.oid if step else EMPTY_TREE, nested)
            if subtree == EMPTY_TREE:
                entries.pop(name, None)
            else:
                entries[name] = Entry(TREE_MODE, subtree)
        return self._write_tree(entries)

    def tree_of(self, entries: Entries) -> str:
        """A tree of just these paths."""
        return self.overlay(EMPTY_TREE, {path: entry for path, entry in entries.items() if entry})

    def _write_tree(self, entries: Mapping[str, Entry]) -> str:
        # git sorts a directory as if its name ended in a slash
        ordered = sorted(
            (encode_path(name) + (b"/" if entry.is_tree else b""), encode_path(name), entry)
            for name, entry in entries.items()
        )
        oid = self.write(
            "tree",
            b"".join(
                entry.mode.encode() + b" " + name + b"\0" + bytes.fromhex(entry.oid)
                for _, name, entry in ordered
            ),
        )
        self._trees[oid] = dict(entries)
        return oid


def _reader_is_gone() -> UpstreamError:
    # not the closed pipe of our own output, which is no error
    return UnavailableError(
        "git cat-file ended while objects were read", hint="Was it killed? Run the command again."
    )


def _parse_tree(raw: bytes) -> Iterator[tuple[str, Entry]]:
    position = 0
    while position < len(raw):
        space = raw.index(b" ", position)
        end = raw.index(b"\0", space)
        mode = raw[position:space].decode()
        oid = raw[end + 1 : end + 21].hex()
        yield decode_path(raw[space + 1 : end]), Entry(mode, oid)
        position = end + 21
