"""The entries of a tar that git archive wrote, without the checks that other tars need.

tarfile takes ten times as long for eight thousand files. The format is pax (pax(1)) as git's
archive-tar.c writes it: a name, target or size that its header has no room for stands in a header
of its own before it.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from patchq.errors import UpstreamError
from patchq.git.objects import decode_path

_BLOCK = 512
_FILE, _LINK, _DIRECTORY, _EXTENDED, _GLOBAL = b"0", b"2", b"5", b"x", b"g"


@dataclass(frozen=True)
class TarEntry:
    """One entry; ``content`` is the target of a link, and ``name`` has no slash at its end.

    What follows begins at ``end``.
    """

    name: bytes
    kind: bytes
    mode: int
    time: int
    content: memoryview
    end: int

    @property
    def is_file(self) -> bool:
        """Whether it is a plain file."""
        return self.kind == _FILE

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, or a submodule."""
        return self.kind == _DIRECTORY


def read_entries(file: Path) -> Iterator[TarEntry]:
    """The entries of a tar in order; the file must stay as it is meanwhile.

    Raises :class:`UpstreamError` if it ends too early.
    """
    data = memoryview(_mapped(file))
    at, more = 0, dict[bytes, bytes]()
    while at < len(data) and data[at]:
        head = bytes(data[at : at + _BLOCK])
        kind = head[156:157]
        size = int(more[b"size"]) if b"size" in more else int(head[124:135], 8)
        begin = at + _BLOCK
        content = data[begin : begin + size]
        at = begin + -(-size // _BLOCK) * _BLOCK
        if at > len(data):
            raise UpstreamError(f"{decode_path(_name(head))}: the tar ends too early")
        if kind == _EXTENDED:
            more = dict(_records(bytes(content)))
        elif kind != _GLOBAL:
            if kind == _LINK:
                content = memoryview(more.get(b"linkpath") or _text(head, 157, 257))
            name = (more.get(b"path") or _name(head)).rstrip(b"/")
            yield TarEntry(name, kind, int(head[100:107], 8), int(head[136:147], 8), content, at)
            more = {}


def files_with(file: Path, text: bytes) -> Iterator[bytes]:
    """The names of the files of a tar that have ``text`` in them."""
    if _mapped(file).find(text) >= 0:
        for entry in read_entries(file):
            if entry.is_file and text in bytes(entry.content):
                yield entry.name


def _mapped(file: Path) -> mmap.mmap:
    with file.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def _name(head: bytes) -> bytes:
    return b"/".join(filter(None, (_text(head, 345, 500), _text(head, 0, 100))))


def _text(head: bytes, begin: int, end: int) -> bytes:
    return head[begin:end].partition(b"\0")[0]


def _records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What an extended header says: ``LENGTH KEY=VALUE`` and a line feed, LENGTH of all of it."""
    while content:
        length = int(content.partition(b" ")[0])
        key, _, value = content[:length].partition(b" ")[2].partition(b"=")
        yield key, value[:-1]
        content = content[length:]


def unpack(file: Path, into: Path) -> None:
    """Unpack a tar into the directory ``into``.

    Modes follow the tar, not the umask. Raises :class:`UpstreamError` for a name that leads out
    of ``into``; nothing is written through a symbolic link.
    """
    times: dict[bytes, int] = {}
    above = os.fsencode(into)
    for entry in read_entries(file):
        if entry.name.startswith(b"/") or b".." in entry.name.split(b"/"):
            name = decode_path(entry.name)
            raise UpstreamError(f"{name!r} leads out of the tree; nothing was exported")
        path = b"%s/%s" % (above, entry.name)
        if entry.is_file:
            _write(path, entry)
        elif entry.is_directory:
            os.mkdir(path)  # noqa: PTH102
            os.chmod(path, entry.mode)  # noqa: PTH101
            times[path] = entry.time
        elif entry.kind == _LINK:
            os.symlink(bytes(entry.content), path)  # noqa: PTH211
            os.utime(path, (entry.time, entry.time), follow_symlinks=False)
        else:
            name = decode_path(entry.name)
            raise UpstreamError(f"{name}: neither a file, a directory nor a symbolic link")
    for path, time in times.items():
        os.utime(path, (time, time))


def _write(path: bytes, entry: TarEntry) -> None:
    """Write a file, past every layer of Python's: of eight thousand these take most of the time."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        left = entry.content
        while left:
            left = left[os.write(descriptor, left) :]
        os.fchmod(descriptor, entry.mode)
        os.utime(descriptor, (entry.time, entry.time))
    finally:
        os.close(descriptor)
