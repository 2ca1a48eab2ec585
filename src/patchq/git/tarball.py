"""A tree as a tar that is the same, byte for byte, wherever it is made.

``git archive`` of a commit takes every time from the commit (of a bare tree it takes the clock),
and what attributes substitute (gitattributes(5), ``export-subst``) from the commit and the refs.
So the commit is made up from what it stands for, and git sees it in an empty repository whose
one ref is the tag.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path, PurePosixPath

from patchq.errors import InputError, UpstreamError
from patchq.git.objects import encode_path
from patchq.git.process import EMAIL, IDENTITY
from patchq.git.raw_objects import object_id
from patchq.git.store import Store
from patchq.model.ids import TreeId
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

_PART = 1 << 20
_ZIP_LEVEL = 6
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


def write_tar(store: Store, snapshot: Snapshot, to: Path) -> None:
    """Pack ``snapshot`` as tar ``to``.

    Raises :class:`UpstreamError` if an object is missing or damaged, or the disk full.
    """
    store.objects.verify_files(snapshot.tree)
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
        store.git.run(
            *_PINNED,
            "archive",
            "--format=tar",
            f"--prefix={snapshot.prefix}/",
            f"--output={to}",
            commit,
            environment={"GIT_DIR": directory},
        )


def add_to_tar(tar_file: Path, snapshot: Snapshot, added: Mapping[str, bytes]) -> None:
    """Put files, which attributes do not apply to, at the end of what :func:`write_tar` made.

    A directory in their names must be one that the tree does not have.
    """
    # not by --add-file: with it, git 2.39 ends well although it could not read the tree
    with tarfile.open(tar_file, "a:", format=tarfile.USTAR_FORMAT) as tar:
        parents = (PurePosixPath(name).parents for name in added)
        for parent in sorted({str(path) for above in parents for path in above} - {"."}):
            directory = tarfile.TarInfo(f"{snapshot.prefix}/{parent}/")
            directory.type, directory.mtime, directory.mode = (
                tarfile.DIRTYPE,
                snapshot.seconds,
                0o755,
            )
            directory.uname = directory.gname = "root"
            tar.addfile(directory)
        for name, content in added.items():
            member = tarfile.TarInfo(f"{snapshot.prefix}/{name}")
            member.size, member.mtime, member.mode = len(content), snapshot.seconds, 0o644
            member.uname = member.gname = "root"  # as git writes it
            tar.addfile(member, BytesIO(content))


def differing(store: Store, tar_file: Path, snapshot: Snapshot) -> Differing:
    """What attributes made of the files of the tree in the tar of it."""
    listed = {path: entry.oid for path, entry in store.objects.walk(snapshot.tree)}
    attributes = any(path.rpartition("/")[2] == ".gitattributes" for path in listed)
    if not attributes:
        return Differing()
    packed, changed = set[str](), list[str]()
    with tarfile.open(tar_file, "r:", encoding="utf-8", errors="surrogateescape") as members:
        for member in members:
            path = member.name.removeprefix(f"{snapshot.prefix}/")
            packed.add(path)
            content = members.extractfile(member) if member.isfile() else None
            if content is not None and object_id(b"blob", content.read()) != listed.get(path):
                changed.append(path)
    return Differing(tuple(sorted(listed.keys() - packed)), tuple(sorted(changed)))


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


def unpack_tar(tar: Path, into: Path) -> None:
    """Unpack a tar that :func:`write_tar` made into the directory ``into``.

    Modes follow the tar, not the umask. Raises :class:`UpstreamError` for a name that leads out
    of ``into``; nothing is written through a symbolic link.
    """
    times: dict[str, float] = {}
    with (
        tar.open("rb") as raw,
        tarfile.open(fileobj=raw, mode="r:", encoding="utf-8", errors="surrogateescape") as members,
    ):
        for member in members:
            path = f"{into}/{_checked(member.name)}"
            if member.isdir():
                Path(path).mkdir()
                Path(path).chmod(member.mode)
                times[path] = member.mtime
            elif member.issym():
                Path(path).symlink_to(os.fsdecode(encode_path(member.linkname)))
                os.utime(path, (member.mtime, member.mtime), follow_symlinks=False)
            else:
                _unpack_file(raw.fileno(), member, path)
    for path, time in times.items():
        os.utime(path, (time, time))


def _unpack_file(tar: int, member: tarfile.TarInfo, path: str) -> None:
    """Write a file, past every layer of Python's: of eight thousand these take most of the time."""
    if not member.isreg():
        raise UpstreamError(f"{member.name}: neither a file, a directory nor a symbolic link")
    at, end = member.offset_data, member.offset_data + member.size
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        while at < end:
            part = os.pread(tar, min(end - at, _PART), at)
            if not part:
                raise UpstreamError(f"{member.name}: the tar ends too early")
            at += os.write(descriptor, part)
        os.fchmod(descriptor, member.mode)
        os.utime(descriptor, (member.mtime, member.mtime))
    finally:
        os.close(descriptor)


def _checked(name: str) -> str:
    """``name`` in the encoding of the file system, if it stays inside."""
    if name.startswith("/") or ".." in name.split("/"):
        raise UpstreamError(f"{name!r} leads out of the tree; nothing was exported")
    return os.fsdecode(encode_path(name))
