"""Tars of trees: read as tarfile reads them, compared with the tree, unpacked."""

from __future__ import annotations

import gzip
import lzma
import os
import tarfile
from pathlib import Path

import pytest
from miniature import Edits, MakeMiniature, Miniature, executable, symlink
from test_git_layer import spoil

from patchq.archives.compression import Compression
from patchq.errors import InputError, UpstreamError
from patchq.git.lender import find_lender
from patchq.git.raw_objects import DamagedObjectError, MissingObjectError
from patchq.git.store import Store, open_store
from patchq.git.tar_entries import files_with, read_entries, unpack
from patchq.git.tarball import Packed, Snapshot, add_to_tar, packing, write_tar
from patchq.scratch import scratch_root

LONG = "/".join(["directory-with-a-long-name"] * 6)
FILES: Edits = {
    "a.txt": "a\n",
    "empty": "",
    "run.sh": executable("#!/bin/sh\n"),
    "link": symlink("a.txt"),
    "long link": symlink("x" * 150),
    f"{LONG}/short.py": "in the prefix\n",
    f"{LONG}/{'y' * 120}.py": "in a header of its own\n",
    "ä/ü.txt": "umlauts\n",
    "zeros": "\0" * 5000,
}


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    made.commit("Begin", FILES)
    made.tag("v1")
    return made


@pytest.fixture
def store(upstream: Miniature, tmp_path: Path) -> Store:
    return open_store(tmp_path / "store.git", lender=find_lender(upstream.path))


def pack(store: Store, upstream: Miniature, to: Path) -> tuple[Packed, Snapshot]:
    tree = store.objects.commit_tree(upstream.commit_id("v1"))
    snapshot = Snapshot(tree, "v1", "2026-01-01T00:00:00Z", "p")
    return write_tar(store, snapshot, to), snapshot


def unpack_objects(upstream: Miniature) -> None:
    """Have every object in a file of its own."""
    for pack_file in list((upstream.path / "objects" / "pack").glob("*.pack")):
        content = pack_file.read_bytes()
        for part in pack_file.parent.glob(f"{pack_file.stem}.*"):
            part.unlink()
        upstream.git("unpack-objects", "-q", stdin=content)


def test_entries_are_those_of_tarfile(upstream: Miniature, store: Store, tmp_path: Path) -> None:
    packed, snapshot = pack(store, upstream, tmp_path / "t")
    add_to_tar(packed, snapshot, {"patchq/more": b"more\n", "zero": b"\0" * 512})
    with tarfile.open(packed.file, errors="surrogateescape") as members:
        expected = [
            (
                os.fsencode(member.name),
                member.mode,
                member.mtime,
                stream.read()
                if (stream := members.extractfile(member) if member.isfile() else None)
                else os.fsencode(member.linkname),
            )
            for member in members
        ]
    entries = [(e.name, e.mode, e.time, bytes(e.content)) for e in read_entries(packed.file)]
    assert entries == expected
    assert len(entries) > len(FILES)


def test_what_is_added_follows_the_last_entry_and_the_tar_ends_as_tars_do(
    upstream: Miniature, store: Store, tmp_path: Path
) -> None:
    packed, snapshot = pack(store, upstream, tmp_path / "t")
    before = packed.file.read_bytes()
    add_to_tar(packed, snapshot, {"more": b"more\n"})
    after = packed.file.read_bytes()
    assert after[: packed.end] == before[: packed.end]
    assert len(after) % tarfile.RECORDSIZE == 0
    appended = tmp_path / "appended"
    appended.write_bytes(before)
    with tarfile.open(appended, "a:", format=tarfile.USTAR_FORMAT) as tar:
        member = tarfile.TarInfo("p/more")
        member.size, member.mtime, member.mode = 5, snapshot.seconds, 0o644
        member.uname = member.gname = "root"
        (tmp_path / "more").write_bytes(b"more\n")
        with (tmp_path / "more").open("rb") as content:
            tar.addfile(member, content)
    assert appended.read_bytes() == after


def test_unpacked_is_what_the_tree_has(upstream: Miniature, store: Store, tmp_path: Path) -> None:
    packed, snapshot = pack(store, upstream, tmp_path / "t")
    into = tmp_path / "into"
    into.mkdir()
    before = os.umask(0o077)
    try:
        unpack(packed.file, into)
    finally:
        os.umask(before)
    root = into / "p"
    found = {str(file.relative_to(root)) for file in root.rglob("*") if not file.is_dir()}
    assert found == set(FILES)
    assert (root / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o644
    assert (root / "ä").stat().st_mode & 0o777 == 0o755
    assert (root / "link").readlink() == Path("a.txt")
    for path in (root / "a.txt", root / "ä", root / "link"):
        assert path.lstat().st_mtime == snapshot.seconds


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out"])
def test_no_entry_leads_out(tmp_path: Path, name: str) -> None:
    file, into = tmp_path / "t", tmp_path / "into"
    into.mkdir()
    with tarfile.open(file, "w") as tar:
        tar.addfile(tarfile.TarInfo(name))
    with pytest.raises(UpstreamError, match="leads out of the tree"):
        unpack(file, into)


def test_a_tar_that_is_cut_off_is_refused(
    upstream: Miniature, store: Store, tmp_path: Path
) -> None:
    packed, _ = pack(store, upstream, tmp_path / "t")
    cut = tmp_path / "cut"
    cut.write_bytes(packed.file.read_bytes()[: packed.end - 1])
    with pytest.raises(UpstreamError, match="the tar ends too early"):
        list(read_entries(cut))


def test_files_with_a_text(upstream: Miniature, store: Store, tmp_path: Path) -> None:
    packed, _ = pack(store, upstream, tmp_path / "t")
    assert list(files_with(packed.file, b"umlauts")) == ["p/ä/ü.txt".encode()]
    assert list(files_with(packed.file, b"nowhere")) == []
    assert packed.files_with(b"umlauts") == ("ä/ü.txt",)


def test_attributes_change_files_and_leave_them_out(
    upstream: Miniature, store: Store, tmp_path: Path
) -> None:
    rules = "secret export-ignore\n*.txt text eol=crlf\n"
    upstream.commit("Rule", {".gitattributes": rules, "secret": "x\n"})
    upstream.tag("v1")
    packed, _ = pack(store, upstream, tmp_path / "t")
    assert packed.differing.left_out == ("secret",)
    assert packed.differing.changed == ("a.txt", "ä/ü.txt")
    assert set(packed.files_with(b"nowhere")) == {"secret", "a.txt", "ä/ü.txt"}


@pytest.mark.parametrize("attributes", [{}, {".gitattributes": "*.txt text eol=crlf\n"}])
@pytest.mark.parametrize("count", [1, 200])
def test_damage_is_found_whatever_attributes_do(
    upstream: Miniature, store: Store, tmp_path: Path, attributes: dict[str, str], count: int
) -> None:
    more = {f"many/{number}.txt": f"{number}\n" for number in range(count)}
    upstream.commit("Grow", {**attributes, **more})
    upstream.tag("v1")
    unpack_objects(upstream)
    oid = spoil(upstream, "v1:many/0.txt", b"other\n")
    with pytest.raises(DamagedObjectError, match=oid):
        pack(store, upstream, tmp_path / "t")


@pytest.mark.parametrize("count", [1, 200])
def test_a_missing_object_is_named(
    upstream: Miniature, store: Store, tmp_path: Path, count: int
) -> None:
    upstream.commit("Grow", {f"many/{number}.txt": f"{number}\n" for number in range(count)})
    upstream.tag("v1")
    unpack_objects(upstream)
    oid = spoil(upstream, "v1:many/0.txt", b"")
    (upstream.path / "objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(MissingObjectError, match=oid):
        pack(store, upstream, tmp_path / "t")


@pytest.mark.parametrize("kind", ["gz", "xz"])
@pytest.mark.parametrize("size", [0, 10, 3 << 20])
def test_compressed_while_it_is_written_is_compressed_all_the_same(
    tmp_path: Path, kind: str, size: int
) -> None:
    tar = tmp_path / "tar"
    begin = bytes(range(256)) * (size // 256)
    tar.write_bytes(begin + bytes(100))
    with Compression(tar, tmp_path / "beside", kind) as compression:
        compression.begin(100)
        with tar.open("r+b") as stream:
            stream.seek(len(begin))
            stream.write(b"end" * 1000)
        compression.finish()
    with Compression(tar, tmp_path / "after", kind) as compression:
        compression.begin(0)
        compression.finish()
    packed = (tmp_path / "beside").read_bytes()
    assert packed == (tmp_path / "after").read_bytes()
    assert (gzip if kind == "gz" else lzma).decompress(packed) == tar.read_bytes()


def test_a_compression_that_is_given_up_ends(tmp_path: Path) -> None:
    tar = tmp_path / "tar"
    tar.write_bytes(bytes(5 << 20))
    with Compression(tar, tmp_path / "packed", "gz") as compression:
        compression.begin(1 << 20)


def test_what_ends_the_packing_ends_git(upstream: Miniature, store: Store, tmp_path: Path) -> None:
    tree = store.objects.commit_tree(upstream.commit_id("v1"))
    snapshot = Snapshot(tree, "v1", "2026-01-01T00:00:00Z", "p")
    with pytest.raises(InputError), packing(store, snapshot, tmp_path / "t"):
        raise InputError("it does not verify")
    assert not list(scratch_root().glob("archive-*"))
