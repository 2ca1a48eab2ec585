"""Archives as upstream bases: what is read from them, what is refused, and the commit made."""

from __future__ import annotations

import gzip
import io
import shutil
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from patchq.archives import entries
from patchq.archives.reader import (
    default_excludes,
    import_archive,
    read_archive,
    requirements_in,
)
from patchq.errors import InputError
from patchq.git.process import Git
from patchq.model.coverage import Coverage

EVERYTHING = Coverage()
MAY_2026 = 1777593600  # 2026-05-01T00:00:00Z

Member = tuple[tarfile.TarInfo, bytes]


def regular(name: str, content: bytes = b"x\n", mode: int = 0o644, mtime: float = 0) -> Member:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(content), mode, mtime
    return info, content


def special(name: str, kind: bytes, target: str = "") -> Member:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def sparse(name: str, size: int) -> Member:
    """A file of holes (the PAX form 1.0 of GNU tar's manual) that says to be of this size."""
    info = tarfile.TarInfo(name)
    keys = {"major": "1", "minor": "0", "name": name, "realsize": str(size)}
    info.pax_headers = {f"GNU.sparse.{key}": value for key, value in keys.items()}
    content = b"1\n0\n1\n".ljust(512, b"\0") + b"x"
    info.size = len(content)
    return info, content


def make_tar(file: Path, members: Sequence[Member], mode: str = "w:gz") -> Path:
    extended = any(info.pax_headers for info, _ in members)
    form = tarfile.PAX_FORMAT if extended else tarfile.GNU_FORMAT
    # errors: names that are not UTF-8 are written as their raw bytes.
    with tarfile.open(file, mode, format=form, errors="surrogateescape") as tar:  # type: ignore[call-overload]
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return file


def make_zip(
    file: Path,
    members: Sequence[tuple[str, bytes]],
    *,
    mode: int = 0,
    date: tuple[int, int, int, int, int, int] = (1980, 1, 1, 0, 0, 0),
) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, date)
            info.external_attr = mode << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return file


def paths(file: Path, coverage: Coverage = EVERYTHING, prefix: str = "") -> list[str]:
    return [each.path for each in read_archive(file, prefix=prefix, coverage=coverage)[0]]


@pytest.fixture
def store(tmp_path: Path) -> Git:
    directory = tmp_path / "store.git"
    Git().run("init", "--quiet", "--bare", str(directory))
    return Git(directory)


# Reading


def test_a_source_archive_loses_its_top_directory(tmp_path: Path) -> None:
    file = make_tar(
        tmp_path / "p-1.tar.gz",
        [
            special("p-1", tarfile.DIRTYPE),
            regular("p-1/run.sh", b"#!\n", 0o755, MAY_2026),
            regular("p-1/a/b.py", b"b\r\n", 0o664, MAY_2026 - 5),
            special("p-1/link", tarfile.SYMTYPE, "../outside"),
        ],
    )
    files, date = read_archive(file, prefix="sub/dir", coverage=EVERYTHING)
    assert [(each.path, each.mode, each.content) for each in files] == [
        ("sub/dir/a/b.py", "100644", b"b\r\n"),
        ("sub/dir/link", "120000", b"../outside"),
        ("sub/dir/run.sh", "100755", b"#!\n"),
    ]
    assert date == "2026-05-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("suffix", "mode"),
    [(".tar", "w"), (".tgz", "w:gz"), (".tar.bz2", "w:bz2"), (".tar.xz", "w:xz")],
)
def test_compressions_of_tar(tmp_path: Path, suffix: str, mode: str) -> None:
    file = make_tar(tmp_path / f"p-1{suffix}", [regular("p-1/a"), regular("p-1/b")], mode)
    assert paths(file) == ["a", "b"]


@pytest.mark.skipif(shutil.which("zstd") is None, reason="needs the zstd program")
def test_zstandard(tmp_path: Path) -> None:
    plain = make_tar(tmp_path / "p-1.tar", [regular("p-1/a", b"x" * 5000)], "w")
    subprocess.run(["zstd", "-q", plain], check=True)
    packed = tmp_path / "p-1.tar.zst"
    assert paths(packed) == ["a"]
    packed.write_bytes(packed.read_bytes()[:-8])
    with pytest.raises(InputError, match="broken"):
        paths(packed)


def test_a_wheel_keeps_its_names(tmp_path: Path) -> None:
    file = make_zip(
        tmp_path / "p-1-py3-none-any.whl",
        [
            ("p/a.py", b"a"),
            ("p/_version.py", b"v"),
            ("p/lib/core.cpython-311-x86_64-linux-gnu.so", b"\x7fELF"),
            ("p-1.dist-info/METADATA", b"m"),
            ("p-1.data/scripts/tool", b"t"),
        ],
    )
    assert paths(file, Coverage(excludes=default_excludes(file)), "python") == ["python/p/a.py"]


def test_only_a_wheel_has_default_excludes(tmp_path: Path) -> None:
    assert default_excludes(tmp_path / "p-1.tar.gz") == ()


def test_several_top_directories_are_all_kept(tmp_path: Path) -> None:
    file = make_zip(tmp_path / "p.zip", [("b/x", b""), ("a/x", b"")])
    assert paths(file) == ["a/x", "b/x"]


def test_a_single_file_is_not_taken_for_a_top_directory(tmp_path: Path) -> None:
    assert paths(make_zip(tmp_path / "p.zip", [("a", b"")])) == ["a"]


@pytest.mark.parametrize(
    ("unix", "expected"),
    [
        (0, "100644"),
        (stat.S_IFREG | 0o644, "100644"),
        (stat.S_IFREG | 0o755, "100755"),
        (stat.S_IFLNK | 0o777, "120000"),
    ],
)
def test_modes_of_a_zip(tmp_path: Path, unix: int, expected: str) -> None:
    file = make_zip(tmp_path / "p-1-py3-none-any.whl", [("p/a", b"target")], mode=unix)
    (only,), _ = read_archive(file, prefix="", coverage=EVERYTHING)
    assert (only.mode, only.content) == (expected, b"target")


def test_a_zip_with_the_earliest_date(tmp_path: Path) -> None:
    file = make_zip(tmp_path / "p.zip", [("p/a", b"")])
    assert read_archive(file, prefix="", coverage=EVERYTHING)[1] == "1980-01-01T00:00:00+00:00"


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    odd = b"caf\xe9".decode(errors="surrogateescape")
    assert paths(make_tar(tmp_path / "p.tgz", [regular(f"p/{odd}"), regular("p/z")])) == [odd, "z"]


def test_an_unmarked_zip_name_is_read_as_utf_8(tmp_path: Path) -> None:
    file = make_zip(tmp_path / "p.zip", [("p/caXY", b""), ("p/b", b"")])
    file.write_bytes(file.read_bytes().replace(b"caXY", "caé".encode()))
    assert paths(file) == ["b", "caé"]


def test_a_hard_link_has_its_targets_content(tmp_path: Path) -> None:
    file = make_tar(
        tmp_path / "p.tgz",
        [regular("p/a", b"same", 0o755), special("p/b", tarfile.LNKTYPE, "p/a"), regular("p/c")],
    )
    files, _ = read_archive(file, prefix="", coverage=Coverage(("b",)))
    assert [(each.path, each.mode, each.content) for each in files] == [("b", "100755", b"same")]


# What is refused


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../a",
        "p/../../a",
        "p/.git/hooks/post-checkout",
        "p/.GIT/config",
        "p/.git /config",
        "p/.git::$INDEX_ALLOCATION/config",
        "p/git~1/config",
        "p/.g\u200cit/config",
    ],
)
def test_unsafe_names_are_refused_in_every_format(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="unsafe path"):
        paths(make_tar(tmp_path / "p.tgz", [regular("p/a"), regular(name)]))
    with pytest.raises(InputError, match="unsafe path"):
        paths(make_zip(tmp_path / "p.zip", [("p/a", b""), (name, b"")]))


def test_names_that_only_look_like_git_are_kept(tmp_path: Path) -> None:
    kept = [".gitattributes", ".github/a", "x.git"]
    assert paths(make_tar(tmp_path / "p.tgz", [regular(f"p/{name}") for name in kept])) == kept


def test_an_unsafe_name_is_refused_where_it_is_not_covered_too(tmp_path: Path) -> None:
    file = make_tar(tmp_path / "p.tgz", [regular("p/a"), regular("p/../../b")])
    with pytest.raises(InputError, match="unsafe path"):
        paths(file, Coverage(("a",)))


def test_an_unsafe_prefix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--prefix: unsafe path '\.\./x'"):
        paths(make_tar(tmp_path / "p.tgz", [regular("p/a")]), prefix="../x")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([regular("p/a"), regular("p/./a")], "is there twice"),
        ([special("p/d", tarfile.SYMTYPE, "/tmp"), regular("p/d/a")], "below the symbolic link"),
        ([regular("p/d/a"), special("p/d", tarfile.SYMTYPE, "/tmp")], "below the symbolic link"),
        ([regular("p/d"), special("p/d", tarfile.DIRTYPE)], "below the file"),
        ([regular("p/a"), special("p/dev", tarfile.CHRTYPE)], "neither file"),
        ([regular("p/a"), special("p/pipe", tarfile.FIFOTYPE)], "neither file"),
        ([regular("p/a"), special("p/b", tarfile.LNKTYPE, "/etc/passwd")], "hard link"),
        ([special("p/b", tarfile.LNKTYPE, "p/b")], "hard link"),
        ([regular("p/a"), special("p/.gitmodules", tarfile.SYMTYPE, "a")], "a symbolic link"),
        ([regular("p/a"), special("p/GITMOD~1", tarfile.SYMTYPE, "a")], "a symbolic link"),
        (
            [
                special("p/a", tarfile.SYMTYPE, "b"),
                special("p/.gitmodules", tarfile.LNKTYPE, "p/a"),
            ],
            "a symbolic link",
        ),
        ([regular("p/" + "d/" * 401 + "a")], "longer or deeper"),
        ([regular("p/" + "d" * 4096)], "longer or deeper"),
        ([regular("p/a"), special("p/l", tarfile.SYMTYPE, "")], "to nowhere"),
        ([regular("p/a"), special("p/l", tarfile.SYMTYPE, "d" * 4096)], "to nowhere"),
        ([regular("p/a"), sparse("p/s", -5)], "negative size"),
        ([regular("p/a"), sparse("p/s", 1 << 40)], "more than 2048 MiB"),
    ],
)
def test_entries_that_make_no_safe_tree(
    tmp_path: Path, members: Sequence[Member], message: str
) -> None:
    file = make_tar(tmp_path / "p.tgz", members)
    with pytest.raises(InputError, match=message) as caught:
        paths(file)
    assert caught.value.where is not None
    assert caught.value.where.file == str(file)


def test_a_directory_of_a_zip_has_no_content(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="directory with content"):
        paths(make_zip(tmp_path / "p.zip", [("p/a", b"1"), ("p/b/", b"lost")]))


def test_metadata_without_end_is_not_read(tmp_path: Path) -> None:
    metadata = b"Name: p\nRequires-Dist: " + b"a" * (17 << 20)
    file = make_zip(tmp_path / "p.whl", [("p-1.dist-info/METADATA", metadata)])
    with pytest.raises(InputError, match="longer than 16 MiB"):
        requirements_in(file)


def test_a_zip_with_a_name_twice(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        file = make_zip(tmp_path / "p.zip", [("p/a", b"1"), ("p/a", b"2")])
    with pytest.raises(InputError, match="is there twice"):
        paths(file)


def test_a_bomb_is_refused_before_it_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "SIZE_LIMIT", 1 << 20)
    zeros = bytes(600_000)
    for file in (
        make_tar(tmp_path / "p.tgz", [regular("p/a", zeros), regular("p/b", zeros)]),
        make_zip(tmp_path / "p.zip", [("p/a", zeros), ("p/b", zeros)]),
    ):
        with pytest.raises(InputError, match="more than 1 MiB"):
            paths(file)
    assert paths(tmp_path / "p.zip", Coverage(excludes=("b",))) == ["a"]


def test_a_zip_that_understates_a_size_is_broken(tmp_path: Path) -> None:
    file = make_zip(tmp_path / "p.zip", [("p/a", bytes(5000))])
    file.write_bytes(file.read_bytes().replace((5000).to_bytes(4, "little"), b"\x05\0\0\0"))
    with pytest.raises(InputError, match="broken"):
        paths(file)


@pytest.mark.parametrize("name", ["p.whl", "p.zip", "p.tar", "p.tar.gz", "p.tar.bz2", "p.tar.xz"])
@pytest.mark.parametrize("content", [b"", b"<html>404</html>\n" * 100])
def test_a_file_that_is_no_archive(tmp_path: Path, name: str, content: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(InputError, match="broken") as caught:
        paths(file)
    assert str(file) in str(caught.value)


def test_a_truncated_tarball(tmp_path: Path) -> None:
    file = make_tar(tmp_path / "p.tgz", [regular(f"p/{n}", bytes(3000)) for n in range(20)])
    whole = file.read_bytes()
    for length in (len(whole) // 2, len(whole) - 4):
        file.write_bytes(whole[:length])
        with pytest.raises(InputError, match="broken"):
            paths(file)


def test_a_damaged_header_does_not_end_the_archive_in_silence(tmp_path: Path) -> None:
    file = make_tar(tmp_path / "p.tgz", [regular("p/a"), regular("p/b"), regular("p/c")])
    damaged = bytearray(gzip.decompress(file.read_bytes()))
    damaged[2 * 512 + 100] ^= 0xFF
    file.write_bytes(gzip.compress(bytes(damaged)))
    with pytest.raises(InputError, match="broken"):
        paths(file)


def test_an_unknown_format_names_the_known_ones(tmp_path: Path) -> None:
    file = tmp_path / "p.rar"
    file.touch()
    with pytest.raises(InputError) as caught:
        paths(file)
    assert ".whl" in (caught.value.hint or "")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        paths(tmp_path / "p.whl")


# The commit


def test_the_commit_is_the_same_everywhere(tmp_path: Path, store: Git) -> None:
    file = make_tar(
        tmp_path / "p-1.tar.gz",
        [
            regular('p-1/odd "name"\\\n', b"q", 0o755, MAY_2026),
            regular("p-1/a.py", b"a\r\n"),
            special("p-1/l", tarfile.SYMTYPE, "a.py"),
        ],
    )
    made = import_archive(store, file, prefix="python", coverage=EVERYTHING, name="v1")
    assert made == import_archive(store, file, prefix="python/", coverage=EVERYTHING, name="again")
    assert store.text("rev-parse", "refs/patchq/archives/v1") == made.commit
    assert store.text("rev-parse", f"{made.commit}^{{tree}}") == made.tree
    assert store.run("ls-tree", "-r", "-z", made.commit).stdout.decode().split("\0")[:-1] == [
        f"100644 blob {store.text('hash-object', '--stdin', stdin=b'a' + bytes([13, 10]))}"
        "\tpython/a.py",
        f"120000 blob {store.text('hash-object', '--stdin', stdin=b'a.py')}\tpython/l",
        f'100755 blob {store.text("hash-object", "--stdin", stdin=b"q")}\tpython/odd "name"\\\n',
    ]
    assert store.text("cat-file", "commit", made.commit).splitlines() == [
        f"tree {made.tree}",
        f"author patchq <patchq@localhost> {MAY_2026} +0000",
        f"committer patchq <patchq@localhost> {MAY_2026} +0000",
        "",
        "Import p-1.tar.gz",
        "",
        f"sha256: {made.sha256}",
    ]
    store.run("fsck", "--strict", "--no-dangling")


def test_other_globs_give_another_commit_under_the_same_name(tmp_path: Path, store: Git) -> None:
    file = make_tar(tmp_path / "p.tgz", [regular("p/a"), regular("p/b")])
    first = import_archive(store, file, prefix="", coverage=EVERYTHING, name="v1")
    second = import_archive(store, file, prefix="", coverage=Coverage(("a",)), name="v1")
    assert first.commit != second.commit
    assert store.text("rev-parse", "refs/patchq/archives/v1") == second.commit


def test_nothing_covered_is_an_error(tmp_path: Path, store: Git) -> None:
    file = make_tar(tmp_path / "p.tgz", [regular("p/a")])
    with pytest.raises(InputError, match="none of its files is covered"):
        import_archive(store, file, prefix="python", coverage=Coverage(("/a",)), name="v1")


def test_a_name_that_git_does_not_take(tmp_path: Path, store: Git) -> None:
    file = make_tar(tmp_path / "p.tgz", [regular("p/a")])
    with pytest.raises(InputError, match="cannot be the name"):
        import_archive(store, file, prefix="", coverage=EVERYTHING, name="v1..2")


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "d-1.dist-info/METADATA",
            "Requires-Dist: a==1\nRequires-Dist: b;\n  os_name == 'x'\n",
            ("a==1", "b; os_name == 'x'"),
        ),
        ("d-1.dist-info/METADATA", "", ()),
        ("d-1/PKG-INFO", "Requires-Dist: a\n", ("a",)),
        ("d-1/PKG-INFO", "Dynamic: Requires-Dist\n", None),
        ("d/e/PKG-INFO", "Requires-Dist: a\n", None),
        ("README", "Requires-Dist: a\n", None),
    ],
)
def test_metadata_says_what_is_required(
    tmp_path: Path, name: str, text: str, found: tuple[str, ...] | None
) -> None:
    file = tmp_path / "d.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, f"Metadata-Version: 2.2\nName: d\nVersion: 1\n{text}")
    assert requirements_in(file) == found
