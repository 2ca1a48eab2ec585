"""All the files of a tree, listed and read in a few processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patchq.git.objects import decode_path
from patchq.git.process import Git
from patchq.git.raw_objects import object_id
from patchq.model.ids import BlobId, ObjectId, TreeId

_BATCH = 1000


@dataclass(frozen=True)
class TreeFile:
    """A file of a tree; ``size`` is in bytes, None for a submodule."""

    path: str
    mode: str
    oid: ObjectId
    size: int | None


def list_files(git: Git, tree: TreeId) -> tuple[TreeFile, ...]:
    """Every file below ``tree`` (git-ls-tree)."""
    rows = git.run("ls-tree", "-r", "-z", "-l", "--full-tree", tree).stdout.split(b"\0")
    return tuple(_file(row) for row in rows if row)


def read_blobs(git: Git, oids: Sequence[BlobId]) -> Iterator[tuple[BlobId, bytes]]:
    """The content of each blob; one that is missing or damaged is left out."""
    for first in range(0, len(oids), _BATCH):
        asked = oids[first : first + _BATCH]
        output = git.run("cat-file", "--batch", stdin="\n".join([*asked, ""]).encode()).stdout
        at = 0
        while at < len(output):
            end = output.index(b"\n", at)
            oid, *rest = output[at:end].split()
            at = end + 1
            if len(rest) == 2:
                kind, size = rest[0], int(rest[1])
                content = output[at : at + size]
                at += size + 1
                if (found := object_id(kind, content)) == oid.decode():
                    yield BlobId(found), content


def _file(row: bytes) -> TreeFile:
    head, _, path = row.partition(b"\t")
    mode, _, oid, size = head.split()
    return TreeFile(
        decode_path(path),
        mode.decode(),
        ObjectId(oid.decode()),
        None if size == b"-" else int(size),
    )
