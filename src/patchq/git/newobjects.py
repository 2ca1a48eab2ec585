"""Objects made here: in memory until a process of git may look for them, then in one pack.

A loose object costs a file, made and removed again; a pack costs two, whatever it holds
(gitformat-pack(5), written by gitdb). Each process of git opens the index of every pack, unless one
index is of many (git-multi-pack-index(1)).
"""

from __future__ import annotations

import os
import zlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from patchq.model.ids import ObjectId

if TYPE_CHECKING:
    from patchq.git.process import Git

_FEW = 4
"""Up to so many are written one by one: each pack is one more place where git looks."""

_UNINDEXED = 16
"""Up to so many packs have no index in common yet."""

_MOST = 32 << 20
"""So many bytes are kept in memory before they are written anyway."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_FASTEST = 1


class NewObjects:
    """Those that go to one object directory, which is ours alone."""

    def __init__(self, directory: Path, git: Git):
        self._directory = directory
        self._git = git
        self._held: dict[ObjectId, tuple[str, bytes]] = {}
        self._size = 0
        self._packs = 0

    def go_apart(self, directory: Path) -> None:
        """Have all go to another directory from now on, what is held as well."""
        self._directory = directory

    def add(self, oid: ObjectId, kind: str, content: bytes) -> None:
        """Hold an object that is not there yet."""
        self._held[oid] = kind, content
        self._size += len(content)
        if self._size > _MOST:
            self.flush()

    def get(self, oid: ObjectId) -> bytes | None:
        """The content of an object that is still held."""
        held = self._held.get(oid)
        return None if held is None else held[1]

    def flush(self) -> None:
        """Have all on disk, for a process of git to find."""
        if not self._held:
            return
        packed = len(self._held) > _FEW
        if packed:
            self._write_pack()
        else:
            for oid, (kind, content) in self._held.items():
                self._write_loose(oid, kind, content)
        self._held.clear()
        self._size = 0
        if packed and self._packs % _UNINDEXED == 0:
            self._git.run("multi-pack-index", f"--object-dir={self._directory}", "write")

    def _write_pack(self) -> None:
        from gitdb.base import OStream
        from gitdb.pack import PackEntity

        folder = self._directory / "pack"
        folder.mkdir(exist_ok=True)
        self._packs += 1
        name = f"pack-{self._packs:040x}"
        streams = [
            OStream(bytes.fromhex(oid), kind.encode(), len(content), BytesIO(content))
            for oid, (kind, content) in self._held.items()
        ]
        index = BytesIO()
        with (folder / f"{name}.pack").open("wb") as pack:
            PackEntity.write_pack(streams, pack.write, index.write, len(streams), _FASTEST)
        # git takes a pack for there once its index is: whole, for a process that looks meanwhile
        new = folder / f"{name}.new"
        new.write_bytes(index.getvalue())
        new.rename(folder / f"{name}.idx")

    def _write_loose(self, oid: ObjectId, kind: str, content: bytes) -> None:
        """Write a loose object (gitrepository-layout(5)).

        The directory is ours alone, and git is asked about an object only after this: it needs
        neither a file aside nor a rename.
        """
        directory = self._directory / oid[:2]
        directory.mkdir(exist_ok=True)
        try:
            descriptor = os.open(directory / oid[2:], _NEW_FILE, 0o444)
        except FileExistsError:  # git made the same
            return
        try:
            with os.fdopen(descriptor, "wb") as stream:
                raw = b"%s %d\0%b" % (kind.encode(), len(content), content)
                stream.write(zlib.compress(raw, _FASTEST))
        except OSError:
            (directory / oid[2:]).unlink()
            raise
