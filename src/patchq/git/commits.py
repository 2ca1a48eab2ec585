"""Commit objects, read from their raw form (gitformat-commit, git-commit-tree(1))."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from patchq.errors import UpstreamError
from patchq.git.objects import Objects
from patchq.model.ids import CommitId, TreeId, commit_ids, tree_id

_TIME = re.compile(rb" (\d{1,11}) ([-+])([01]\d[0-5]\d)$")
_SIGNATURE = re.compile(r"(.*) (\d+ [-+]\d{4})$")


@dataclass(frozen=True)
class Commit:
    """A commit; ``author`` is ``Name <mail>``, ``date`` the author's in git's raw form."""

    oid: CommitId
    tree: TreeId
    parents: tuple[CommitId, ...]
    author: str
    date: str
    message: str

    @property
    def subject(self) -> str:
        """The first paragraph of the message, as one line (git-log(1), ``%s``)."""
        first = self.message.lstrip("\n").partition("\n\n")[0]
        return " ".join(line.rstrip() for line in first.rstrip("\n").split("\n"))


def committed(objects: Objects, oid: CommitId) -> datetime:
    """When the commit ``oid`` was committed, in its own zone."""
    for line in objects.read(oid).partition(b"\n\n")[0].split(b"\n"):
        if line.startswith(b"committer ") and (match := _TIME.search(line)):
            minutes = int(match[3][:2]) * 60 + int(match[3][2:])
            zone = timezone(timedelta(minutes=-minutes if match[2] == b"-" else minutes))
            return datetime.fromtimestamp(int(match[1]), zone)
    raise UpstreamError(f"commit {oid} has no committer's date")


def read_commit(objects: Objects, oid: CommitId) -> Commit:
    """The commit ``oid``; raises :class:`~patchq.git.raw_objects.MissingObjectError`."""
    head, _, body = objects.read(oid).partition(b"\n\n")
    fields: dict[str, list[str]] = {}
    for line in head.decode("utf-8", "surrogateescape").split("\n"):
        key, _, value = line.partition(" ")
        fields.setdefault(key, []).append(value)
    (encoding,) = fields.get("encoding", ["utf-8"])
    try:
        text = body.decode(encoding, "surrogateescape")
    except LookupError:
        text = body.decode("latin-1")
    author = _SIGNATURE.match(fields["author"][0])
    assert author is not None
    tree = tree_id(fields["tree"][0])
    return Commit(oid, tree, commit_ids(fields.get("parent", ())), author[1], author[2], text)
