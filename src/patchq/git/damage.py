"""Which file of a repository is damaged, found once git could not go on.

Read as files, by the formats that git documents (gitrepository-layout, gitformat-pack), so that
the file has a name: git often says of a damaged object only that its data are wrong.
"""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

from patchq.git.lender import borrowed

_REF = re.compile(rb"(?:[0-9a-f]{40}|ref: refs/[^\n]+)\s*")
_PACKED = re.compile(rb"#.*|\^[0-9a-f]{40}|[0-9a-f]{40} refs/.+|")
_HASH = 20
"""The bytes of the checksum of all before it, with which a pack and its index end."""
_PART = 1 << 20


@dataclass(frozen=True)
class Damage:
    """A damaged file, what is wrong with it, and the repository that it belongs to."""

    file: Path
    what: str
    repository: Path

    def __str__(self) -> str:
        return f"{self.file} is damaged: {self.what}"


def remake(store: Path) -> str:
    """What to do about a store that is damaged, if nothing is under way in its worktrees."""
    return (
        f"The store can be made anew: remove it (`rm -rf {shlex.quote(str(store))}`), then run "
        "`patchq fetch`."
    )


def find_damage(store: Path) -> Damage | None:
    """The first damaged file of the store, or of what it borrows from; None if none is found.

    Everything that git would read there is read: a few seconds for a gigabyte.
    """
    found = next(_refs(store), None) or next(_objects(store / "objects"), None)
    if found is not None:
        return Damage(*found, store)
    for lent in borrowed(store / "objects"):
        found = next(_objects(lent), None) if lent.is_dir() else None
        if found is not None:
            return Damage(*found, lent.parent)
    return None


def _refs(store: Path) -> Iterator[tuple[Path, str]]:
    for file in (store / "HEAD", *sorted((store / "refs").rglob("*"))):
        content = file.read_bytes() if file.is_file() else None
        if content is not None and not _REF.fullmatch(content):
            yield file, f"{_shown(content)} is neither an object id nor the name of a ref"
    packed = store / "packed-refs"
    lines = packed.read_bytes().split(b"\n") if packed.is_file() else []
    for number, line in enumerate(lines, 1):
        if not _PACKED.fullmatch(line):
            yield packed, f"line {number}, {_shown(line)}, is no ref"


def _objects(objects: Path) -> Iterator[tuple[Path, str]]:
    for directory in (objects, objects / "pack", objects / "info"):
        if directory.exists() and not directory.is_dir():
            yield directory, "it is no directory"
    for pack in sorted((objects / "pack").glob("*.pack")):
        index = pack.with_suffix(".idx")
        if not index.is_file():
            yield pack, "it has no index beside it (.idx)"
        for file in (index, pack) if index.is_file() else (pack,):
            if not _ends_in_checksum(file):
                yield file, "its content is not what its checksum says"
    for file in sorted(objects.glob("[0-9a-f][0-9a-f]/*")):
        if len(file.name) == 2 * _HASH - 2 and not _is_object(file):
            yield file, "its content is not what its name says"


def _ends_in_checksum(file: Path) -> bool:
    left = file.stat().st_size - _HASH
    found = sha1()
    with file.open("rb") as content:
        while left > 0 and (part := content.read(min(left, _PART))):
            found.update(part)
            left -= len(part)
        return left == 0 and content.read() == found.digest()


def _is_object(file: Path) -> bool:
    try:
        raw = zlib.decompress(file.read_bytes())
    except zlib.error:
        return False
    return sha1(raw).hexdigest() == file.parent.name + file.name


def _shown(content: bytes) -> str:
    text = content.strip().decode("ascii", "backslashreplace")
    return repr(text if len(text) <= 40 else f"{text[:40]}…") if text else "nothing"
