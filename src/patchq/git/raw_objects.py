"""Read and write git objects by their ids.

Reading goes through one process that stays open (:mod:`patchq.git.reader`); what is written stays
in memory until a process of git may need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from threading import Thread
from typing import IO

from patchq.errors import UpstreamError
from patchq.git.newobjects import NewObjects
from patchq.git.process import EMAIL, IDENTITY, FetchMissing, Git
from patchq.git.reader import Reader, reader_failed
from patchq.model.ids import BlobId, CommitId, ObjectId, TreeId
from patchq.recent import Recent

OURS = f"{IDENTITY} <{EMAIL}> 0 +0000"
"""Who makes the commits that carry trees to git: the same on every machine."""

_RECENT = 32 << 20
"""So many bytes of what was read are kept, in case they are asked for again."""

_MANY = 64
"""From how many objects on a process of its own reads them faster."""


class MissingObjectError(UpstreamError):
    """An object that history refers to is in no store we may read."""

    def __init__(self, oid: ObjectId):
        super().__init__(
            f"object {oid} is missing from the upstream store",
            hint="The clone that lent it may have been repacked, moved or cut: run `patchq fetch`, "
            "or point --upstream at a complete clone.",
        )
        self.oid = oid


class DamagedObjectError(UpstreamError):
    """An object has other content than its id says."""

    def __init__(self, oid: ObjectId):
        super().__init__(
            f"object {oid} is damaged: its content is not what its id says",
            hint="`git fsck` in the clone that lends its objects says more; lend another one with "
            "--upstream.",
        )
        self.oid = oid


class RawObjects:
    """The objects of one store (and of the stores lending to it).

    If one to be read is missing, ``fetch_missing`` is told its id first. git does not compare
    what it reads with the id; here that is done for all that is read, and for what a process of
    git will read, by :meth:`verify`.
    """

    def __init__(self, git: Git, scratch: Path, fetch_missing: FetchMissing | None = None):
        self._reader = Reader(git.start_reading)
        self._git = git
        self._fetch_missing = fetch_missing
        self._new = git.held = NewObjects(scratch, git)
        self._recent: Recent[ObjectId, bytes] = Recent(_RECENT, len)
        self._derived: dict[ObjectId, _Derived] = {}
        self._written: set[ObjectId] = set()
        self._sound: set[ObjectId] = set()

    def read(self, oid: ObjectId) -> bytes:
        """The content of a blob (or the raw bytes of any object).

        Raises :class:`MissingObjectError` and :class:`DamagedObjectError`.
        """
        known = self._new.get(oid)
        if known is None:
            known = self._recent.get(oid)
        if known is None:
            derived = self._derived.get(oid)
            known = self._made(derived) if derived else self._read(oid)
            self._recent.keep(oid, known)
        return known

    def _read(self, oid: ObjectId) -> bytes:
        found = self._reader.read(oid)
        if found is None:
            if self._fetch_missing is not None and self._fetch_missing(oid.encode()):
                return self._read(oid)
            raise MissingObjectError(oid)
        self._check(found.oid, found.kind, found.content)
        return found.content

    def _check(self, oid: ObjectId, kind: bytes, content: bytes) -> None:
        if oid not in self._sound:
            if object_id(kind, content) != oid:
                raise DamagedObjectError(oid)
            self._sound.add(oid)

    def bring(self, oids: Iterable[ObjectId]) -> None:
        """Have these objects here for a process of git, whose output tells their content.

        Raises :class:`MissingObjectError`.
        """
        wanted = dict.fromkeys(oids)
        self._write_derived(wanted)
        unknown = [oid for oid in wanted if oid not in self._sound and oid not in self._written]
        if len(unknown) > _MANY:
            unknown = missing_objects(self._git, unknown)
        for oid in unknown:
            if self.find(oid) is None:
                self.read(oid)

    def take_as_sound(self, oid: ObjectId) -> None:
        """Its content was seen elsewhere, and is what the id says."""
        self._sound.add(oid)

    def verify(self, oids: Iterable[ObjectId]) -> None:
        """Have these objects here, each with the content that its id says, for a process of git.

        Raises :class:`MissingObjectError` and :class:`DamagedObjectError`.
        """
        wanted = dict.fromkeys(oids)
        self._write_derived(wanted)
        unknown = [oid for oid in wanted if oid not in self._sound and oid not in self._written]
        if len(unknown) > _MANY:
            self._verify_many(unknown)
        for oid in unknown:
            if oid not in self._sound:
                self.read(oid)

    def _verify_many(self, oids: Sequence[ObjectId]) -> None:
        """Check those of ``oids`` that are here, by one process."""
        process = self._git.start(("cat-file", "--batch", "--buffer"))
        assert process.stdin
        assert process.stdout
        asking = Thread(target=_ask, args=(process.stdin, oids), daemon=True)
        asking.start()
        with process:
            for row in process.stdout:
                oid, kind, *size = row.split()
                if size:
                    content = process.stdout.read(int(size[0]))
                    if not process.stdout.read(1):
                        raise reader_failed(self._git.start_reading, process.wait(), oid.decode())
                    self._check(ObjectId(oid.decode()), kind, content)

    def _write_derived(self, oids: Iterable[ObjectId]) -> None:
        for oid in oids:
            derived = self._derived.pop(oid, None)
            if derived is not None:
                self._new.add(oid, "blob", self._made(derived))

    def _made(self, derived: _Derived) -> bytes:
        base = self.read(derived.base)
        return b"".join((base[: derived.start], derived.text, base[derived.end :]))

    def go_apart(self, scratch: Path) -> None:
        """In a process that was forked off: write to ``scratch``, and read by oneself."""
        self._reader.let_go()
        self._new.go_apart(scratch)
        self._fetch_missing = None

    def reopen(self) -> None:
        """Look for objects anew, where others lend theirs by now."""
        self._reader.close()

    def has(self, oid: ObjectId) -> bool:
        """Whether the object can be read here."""
        return oid in self._written or self.find(oid) is not None

    def find(self, name: str) -> ObjectId | None:
        """The id of the object that a name names, as gitrevisions(7) say."""
        return self._reader.find(name)

    def write(self, kind: str, content: bytes) -> ObjectId:
        """Have an object of ``kind`` (blob, tree, commit, tag); returns its id.

        Processes of git see it from their start on.
        """
        oid = object_id(kind.encode(), content)
        if oid not in self._written or oid in self._derived:
            self._new.add(oid, kind, content)
            self._written.add(oid)
            self._derived.pop(oid, None)
        return oid

    def write_blob(self, content: bytes) -> BlobId:
        """:meth:`write` a blob."""
        return BlobId(self.write("blob", content))

    def derive(self, base: BlobId, start: int, end: int, text: bytes) -> BlobId:
        """Have the blob that is ``base`` with ``text`` from ``start`` to ``end``; returns its id.

        It is made when it is read. A process of git sees it only after :meth:`verify` or
        :meth:`write_differing`.
        """
        derived = _Derived(base, start, end, text)
        oid = BlobId(object_id(b"blob", self._made(derived)))
        if oid not in self._written:
            self._derived[oid] = derived
            self._written.add(oid)
        return oid

    def write_commit(
        self,
        tree: TreeId,
        parents: Sequence[CommitId] = (),
        *,
        message: str,
        author: str = OURS,
        committer: str = OURS,
    ) -> CommitId:
        """Store a commit; ``author`` and ``committer`` are ``Name <mail> seconds zone``."""
        message = message.replace("\0", "\N{REPLACEMENT CHARACTER}")  # git reads no further
        head = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        text = "\n".join([*head, f"author {author}", f"committer {committer}", "", message])
        return CommitId(self.write("commit", text.encode("utf-8", "surrogateescape")))


@dataclass(frozen=True)
class _Derived:
    """A blob that is another one with some of its bytes replaced."""

    base: BlobId
    start: int
    end: int
    text: bytes


def missing_objects(git: Git, oids: Sequence[ObjectId]) -> list[ObjectId]:
    """Those of ``oids`` that are not here, found by one process (git-cat-file(1))."""
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    rows = git.run("cat-file", "--batch-check", "--buffer", stdin=asked).stdout if oids else b""
    answers = (row.split() for row in rows.splitlines())
    return [ObjectId(oid.decode()) for oid, *rest in answers if rest == [b"missing"]]


def object_id(kind: bytes, content: bytes | memoryview) -> ObjectId:
    """The id that git gives an object of this kind and content."""
    found = sha1(b"%s %d\0" % (kind, len(content)))
    found.update(content)
    return ObjectId(found.hexdigest())


def _ask(stdin: IO[bytes], oids: Sequence[ObjectId]) -> None:
    with suppress(BrokenPipeError), stdin:
        stdin.write("".join(f"{oid}\n" for oid in oids).encode())
