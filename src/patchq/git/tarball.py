"""A tree as a tar that is the same, byte for byte, wherever it is made.

``git archive`` of a commit takes every time from the commit (of a bare tree it takes the clock),
and what attributes substitute (gitattributes(5), ``export-subst``) from the commit and the refs.
So the commit is made up from what it stands for, and git sees it in an empty repository whose
one ref is the tag.
"""

from __future__ import annotations

import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path, PurePosixPath

from patchq.errors import InputError
from patchq.git.objects import GITLINK_MODE, Entry, decode_path, encode_path
from patchq.git.process import EMAIL, IDENTITY, GitFailedError
from patchq.git.raw_objects import object_id
from patchq.git.store import Store
from patchq.git.tar_entries import files_with, read_entries
from patchq.model.ids import CommitId, TreeId
from patchq.scratch import scratch_root

# What a machine's configuration, or the number of objects in a store, would otherwise decide.
_PINNED = (
    "-c",
    "tar.umask=0022",
    "-c",
    "core.abbrev=no",
    "-c",
    "core.autocrlf=false",
    "-c",
    "core.eol=lf",
)

_ZIP_LEVEL = 6

OPEN_END = 2 * tarfile.RECORDSIZE
"""More than a tar ends in, which what is added takes the place of."""

_ZIP_BEGINS = 315532800  # 1980, the first year that the format knows


@dataclass(frozen=True)
class Snapshot:
    """A tree to pack: ``name`` is the tag it counts as, ``date`` (ISO 8601) the time of its files.

    ``prefix`` is the directory that all of it lies in, without a slash.
    """

    tree: TreeId
    name: str
    date: str
    prefix: str

    @property
    def seconds(self) -> int:
        """The time of its files, as a tar has it."""
        return int(datetime.fromisoformat(self.date).timestamp())


@dataclass(frozen=True)
class Differing:
    """Files that ``export-ignore`` left out, and those with other bytes than in the tree."""

    left_out: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Packed:
    """A tar of a snapshot: where its last entry ends, and what attributes made of its files."""

    file: Path
    prefix: str
    commit: CommitId
    end: int
    differing: Differing

    def files_with(self, text: bytes) -> tuple[str, ...]:
        """The files that may have ``text`` in the tree: as packed, or by attributes no more."""
        names = map(decode_path, files_with(self.file, text))
        found = (name.removeprefix(f"{self.prefix}/") for name in names)
        return tuple({*found, *self.differing.left_out, *self.differing.changed})


def write_tar(store: Store, snapshot: Snapshot, to: Path) -> Packed:
    """Pack ``snapshot`` as tar ``to``, and compare each file of it with the tree.

    Raises :class:`UpstreamError` if an object is missing or damaged, or the disk full.
    """
    with packing(store, snapshot, to) as packed:
        return packed()


@contextmanager
def packing(
    store: Store, snapshot: Snapshot, to: Path, then: Callable[[], object] = int
) -> Iterator[Callable[[], Packed]]:
    """:func:`write_tar` beside us: what is called waits until git has packed, and compares.

    ``then`` is called before the comparison. All but the last :data:`OPEN_END` bytes are there.
    """
    files = dict(store.objects.walk(snapshot.tree))
    blobs = [entry.oid for entry in files.values() if entry.mode != GITLINK_MODE]
    store.objects.bring(blobs)
    signature = f"{IDENTITY} <{EMAIL}> {snapshot.seconds} +0000"
    commit = store.objects.write_commit(
        snapshot.tree, message=f"{snapshot.prefix}\n", author=signature, committer=signature
    )
    tag = store.objects.write(
        "tag",
        f"object {commit}\ntype commit\ntag {snapshot.name}\ntagger {signature}\n\n"
        f"{snapshot.prefix}\n".encode(),
    )
    with tempfile.TemporaryDirectory(prefix="archive-", dir=scratch_root()) as directory:
        _repository(Path(directory), snapshot.name, tag)
        with store.git.running(
            *_PINNED,
            "archive",
            "--format=tar",
            f"--prefix={snapshot.prefix}/",
            f"--output={to}",
            commit,
            environment={"GIT_DIR": directory},
        ) as end_of_git:

            def packed() -> Packed:
                try:
                    end_of_git()
                except GitFailedError:
                    store.objects.verify(blobs)  # which says more
                    raise
                then()
                end, found = _compare(store, snapshot, files, to)
                store.objects.verify(blobs)  # those that attributes left out or changed
                return Packed(to, snapshot.prefix, commit, end, found)

            yield packed


def _compare(
    store: Store, snapshot: Snapshot, files: Mapping[str, Entry], tar: Path
) -> tuple[int, Differing]:
    """The end of ``tar``, and how it differs from the ``files`` of the tree.

    git does not compare what it reads with ids: what stands there as its id says is sound.
    """
    left, changed, end = dict(files), list[str](), 0
    for packed in read_entries(tar):
        end = packed.end
        path = decode_path(packed.name).removeprefix(f"{snapshot.prefix}/")
        entry = left.pop(path, None)
        if entry is None or packed.is_directory:
            continue
        if object_id(b"blob", packed.content) == entry.oid:
            store.objects.take_as_sound(entry.oid)
        elif packed.is_file:
            changed.append(path)
    return end, Differing(tuple(sorted(left)), tuple(sorted(changed)))


def add_to_tar(packed: Packed, snapshot: Snapshot, added: Mapping[str, bytes]) -> None:
    """Put files, which attributes do not apply to, at the end of what :func:`write_tar` made.

    A directory in their names must be one that the tree does not have.
    """
    # not by --add-file: with it, git 2.39 ends well although it could not read the tree
    with packed.file.open("r+b") as stream:
        stream.seek(packed.end)
        # what git's own tar begins with, once more: the bytes of exports stay as they were
        stream.write(tarfile.TarInfo.create_pax_global_header({"comment": packed.commit}))
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            _add(tar, snapshot, added)


def _add(tar: tarfile.TarFile, snapshot: Snapshot, added: Mapping[str, bytes]) -> None:
    parents = (PurePosixPath(name).parents for name in added)
    for parent in sorted({str(path) for above in parents for path in above} - {"."}):
        directory = tarfile.TarInfo(f"{snapshot.prefix}/{parent}/")
        directory.type, directory.mtime, directory.mode = tarfile.DIRTYPE, snapshot.seconds, 0o755
        directory.uname = directory.gname = "root"
        tar.addfile(directory)
    for name, content in added.items():
        member = tarfile.TarInfo(f"{snapshot.prefix}/{name}")
        member.size, member.mtime, member.mode = len(content), snapshot.seconds, 0o644
        member.uname = member.gname = "root"  # as git writes it
        tar.addfile(member, BytesIO(content))


def _repository(directory: Path, name: str, tag: str) -> None:
    """A bare repository with one tag and, as objects come from elsewhere, no objects."""
    (directory / "objects").mkdir()
    tags = directory / "refs" / "tags"
    tags.mkdir(parents=True)
    (tags / name).write_text(f"{tag}\n")
    (directory / "HEAD").write_text("ref: refs/heads/unborn\n")


def write_zip(tar: Path, to: Path) -> None:
    """Write the entries of a tar that :func:`write_tar` made as a zip, in the same order.

    Times are UTC, as the format has no zone. Raises :class:`InputError` for a name that it cannot
    hold.
    """
    with (
        tarfile.open(tar, "r:", encoding="utf-8", errors="surrogateescape") as members,
        zipfile.ZipFile(to, "x", zipfile.ZIP_DEFLATED, compresslevel=_ZIP_LEVEL) as packed,
    ):
        for member in members:
            _add_to_zip(packed, members, member)


def _add_to_zip(packed: zipfile.ZipFile, members: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    try:
        member.name.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{encode_path(member.name)!r} is not UTF-8, which names in a zip are",
            hint="Take a tarball.",
        ) from None
    moment = datetime.fromtimestamp(max(member.mtime, _ZIP_BEGINS), UTC)
    name = f"{member.name}/" if member.isdir() else member.name
    info = zipfile.ZipInfo(name, moment.timetuple()[:6])
    info.create_system = 3  # Unix: the mode counts
    kind = stat.S_IFDIR if member.isdir() else stat.S_IFLNK if member.issym() else stat.S_IFREG
    info.external_attr = (kind | member.mode) << 16 | (0x10 if member.isdir() else 0)
    info.compress_type = zipfile.ZIP_STORED if member.isdir() else zipfile.ZIP_DEFLATED
    content = members.extractfile(member) if member.isfile() else None
    if content is None:
        packed.writestr(info, encode_path(member.linkname) if member.issym() else b"")
        return
    info.file_size = member.size
    with content, packed.open(info, "w") as stream:
        shutil.copyfileobj(content, stream)
