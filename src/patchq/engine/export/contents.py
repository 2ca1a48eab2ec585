"""What an exported tree consists of, as far as a build has to know it beforehand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from posixpath import dirname, join, normpath

from pathspec import GitIgnoreSpec

from patchq.errors import Where
from patchq.git.objects import GITLINK_MODE, SYMLINK_MODE, Entry, decode_path, encode_path
from patchq.git.search import files_with_line
from patchq.git.store import Store
from patchq.git.tarball import Packed
from patchq.model.globs import read_globs
from patchq.model.ids import TreeId
from patchq.model.verification import Remark

_LFS_POINTER = "version https://git-lfs.github.com/spec/v1"
_MANY_PATHS = 1000
"""More are not named to a process."""
_BUILD_FILES = re.compile(
    r"pyproject[^/]*\.toml|setup\.(py|cfg)|CMakeLists\.txt|Cargo\.toml|MANIFEST\.in|Makefile"
)
_UPWARDS = re.compile(rb"(?<![\w./])\.\.(?:/[\w./-]+)?(?=[\"'\s,:;)\]]|$)")


@dataclass(frozen=True)
class Contents:
    """The modes of a tree's files, and the files that are not simply what they seem."""

    modes: Mapping[str, int]
    symlinks: Mapping[str, str]
    submodules: Mapping[str, str]
    lfs_pointers: tuple[str, ...]


def survey(store: Store, tree: TreeId, packed: Packed) -> Contents:
    """Look through the whole of ``tree``, which was ``packed`` as it is."""
    files = dict(store.objects.walk(tree))
    return Contents(
        modes=dict(sorted(Counter(entry.mode for entry in files.values()).items())),
        symlinks={
            path: decode_path(store.objects.read(entry.oid))
            for path, entry in sorted(files.items())
            if entry.mode == SYMLINK_MODE
        },
        submodules={
            path: entry.oid for path, entry in sorted(files.items()) if entry.mode == GITLINK_MODE
        },
        lfs_pointers=_lfs_pointers(store, tree, packed),
    )


def _lfs_pointers(store: Store, tree: TreeId, packed: Packed) -> tuple[str, ...]:
    """The files that stand for others kept elsewhere: git-lfs(1) calls them pointers."""
    begin, *_ = _LFS_POINTER.partition(".")
    likely = packed.files_with(begin.encode())
    if not likely:
        return ()
    among = likely if len(likely) < _MANY_PATHS else ()
    return tuple(sorted(files_with_line(store.git, tree, _LFS_POINTER, among)))


def set_hashes(store: Store, tree: TreeId, sets: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """A hash for each set of paths: the same as long as no file of it differs.

    It is the sha256 of a line for each file, ``mode blob path`` and a null byte, by path.
    """
    files = sorted(store.objects.walk(tree))
    return {
        name: sha256(b"".join(_chosen(files, read_globs(patterns)))).hexdigest()
        for name, patterns in sets.items()
    }


def _chosen(files: Iterable[tuple[str, Entry]], spec: GitIgnoreSpec) -> Iterator[bytes]:
    for path, entry in files:
        if spec.match_file(path):
            yield f"{entry.mode} {entry.oid} ".encode() + encode_path(path) + b"\0"


def leads_outside(store: Store, tree: TreeId, directory: str) -> tuple[Remark, ...]:
    """What in ``directory`` of ``tree`` needs something of the tree that is not in it.

    Told from symbolic links, and from paths with ``..`` in the files that builds begin with.
    """
    holder = store.objects.entry(tree, directory)
    remarks = []
    for path, entry in store.objects.walk(holder.tree_id, f"{directory}/") if holder else ():
        if entry.mode == SYMLINK_MODE:
            target = decode_path(store.objects.read(entry.oid))
            if not _is_inside(join(dirname(path), target), directory):
                remarks.append(Remark(f"links to {target}, which is not exported", Where(path)))
        elif dirname(path) == directory and _BUILD_FILES.fullmatch(path.rpartition("/")[2]):
            remarks += _references(store, tree, directory, path)
    return tuple(dict.fromkeys(remarks))


def _references(store: Store, tree: TreeId, directory: str, path: str) -> Iterator[Remark]:
    content = store.objects.content(tree, path) or b""
    for number, line in enumerate(content.split(b"\n"), 1):
        for match in _UPWARDS.finditer(line):
            reference = decode_path(match[0])
            target = normpath(join(directory, reference))
            there = target == "." or store.objects.entry(tree, target) is not None
            if there and not _is_inside(target, directory):
                place = "the root of the tree" if target == "." else target
                text = f"needs {reference} ({place}), which is not exported"
                yield Remark(text, Where(path, number))


def _is_inside(path: str, directory: str) -> bool:
    return f"{normpath(path)}/".startswith(f"{directory}/")
