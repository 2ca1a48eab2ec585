"""An index of a tree that tells which files may have a piece of code; made once and kept.

For each text file it has the names in it, and marks of its punctuation: code with all names changed
still has the same brackets, dots and commas in the same order. Both are 32-bit checksums: a
collision adds a file that is compared in vain, and never hides one. The files found are then read
and compared token by token.

Short code with all names changed is not found: see
:mod:`~patchq.engine.languages.search.fresh_code`.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path
from typing import Any
from zlib import crc32

from patchq.engine.languages.search.containment import Piece
from patchq.engine.languages.tokens import (
    Family,
    Tokens,
    tokenize,
)
from patchq.git.blobs import TreeFile, list_files, read_blobs
from patchq.git.objects import GITLINK_MODE, SYMLINK_MODE
from patchq.git.store import Store
from patchq.kept_answers import KeptAnswers
from patchq.model.ids import BlobId, TreeId, blob_id
from patchq.recent import Recent

_VERSION = "search-index/3"
_LARGEST = 32 * 2**20
_BINARY_PROBE = 8000
_NO_TEXT = (b"\x1f\x8b", b"BZh", b"version https://git-lfs.github.com/spec/")
"""How archives that may be too small to have a NUL byte begin, and pointers of Git LFS."""

_NAME = re.compile(rb"[A-Za-z_]\w*")
_MARK = re.compile(rb"(?=([=(].{11}))", re.DOTALL)
_PUNCTUATION = b"!$%&()*+,-./:;<=>?@[]^{|}~"
_NO_PUNCTUATION = bytes(set(range(256)) - set(_PUNCTUATION))

_SHARED_NAMES = 0.3
"""A file with a smaller share of a piece's names (by weight) cannot have much of the piece."""
_SHARED_MARKS = 0.5
_FEW_MARKS = 4
_ROUNDING = 1e-9
_BUCKETS = 1 << 12
_TOKENS = 400_000
"""How many tokens of files are kept, some tens of megabytes: the next piece is often nearby."""


@dataclass(frozen=True)
class _Facts:
    """The names and marks of each text blob of a tree, and which blobs are ``binary``.

    ``skipped`` are paths that could not be read.
    """

    names: dict[BlobId, array[int]]
    marks: dict[BlobId, array[int]]
    binary: frozenset[BlobId]
    skipped: tuple[str, ...]

    @cached_property
    def blobs(self) -> list[BlobId]:
        """The text blobs; the index of one is its number."""
        return list(self.names)

    @cached_property
    def by_name(self) -> Holders:
        return Holders(self.names.values())

    @cached_property
    def by_mark(self) -> Holders:
        return Holders(map(self.marks.__getitem__, self.names))


class Holders:
    """Which of many blobs, by number, have a checksum.

    A table of 64-bit pairs in buckets by checksum: a set for each blob would take ten times the
    memory, and be slower to query.
    """

    def __init__(self, blobs: Iterable[array[int]]):
        self._buckets = [array("Q") for _ in range(_BUCKETS)]
        put = [bucket.append for bucket in self._buckets]
        for number, sums in enumerate(blobs):
            for sum_ in sums:
                put[sum_ % _BUCKETS](sum_ << 32 | number)

    def of(self, sum_: int) -> list[int]:
        """The numbers of the blobs with ``sum_``; twice if two names of one blob have it."""
        first, last = sum_ << 32, sum_ << 32 | 0xFFFFFFFF
        return [pair - first for pair in self._buckets[sum_ % _BUCKETS] if first <= pair <= last]


class TreeIndex:
    """The index of one tree. Nothing is read before the first query.

    It is kept below ``cache``. Blobs that it shares with ``before``, a tree that may have an index
    already, are not read again.
    """

    def __init__(self, store: Store, tree: TreeId, cache: Path, before: TreeId):
        self.tree = tree
        self._before = before
        self._store = store
        self._kept = KeptAnswers(cache / "search", _VERSION, _read, _written)
        self._tokens: Recent[tuple[Family, BlobId], Tokens] = Recent(
            _TOKENS, lambda each: len(each.texts)
        )

    @property
    def files(self) -> int:
        """The number of text files that are searched."""
        return sum(len(paths) for paths in self._paths.values())

    @property
    def skipped(self) -> tuple[str, ...]:
        """The files that are not in the index: too large, or not available."""
        return self._facts.skipped

    def is_binary(self, oid: BlobId) -> bool:
        """Whether a blob of the tree is no text, and so is not searched."""
        return oid in self._facts.binary

    def weight(self, name: bytes) -> float:
        """The weight of ``name``, from 0 to 1: the more files have it, the less."""
        files, common = len(self._facts.names), len(self._facts.by_name.of(crc32(name)))
        return log(1 + files / common) / log(1 + files) if common else 1.0

    def with_name(self, name: bytes) -> Iterator[tuple[str, bytes]]:
        """Each text file that may have ``name``, with its content."""
        yield from self.with_names(frozenset({name}))

    def with_names(self, names: frozenset[bytes]) -> Iterator[tuple[str, bytes]]:
        """Each text file that may have all of ``names``, with its content."""
        blobs = self._facts.blobs
        found = set(range(len(blobs)))
        for name in names:
            found.intersection_update(self._facts.by_name.of(crc32(name)))
        for number in sorted(found):
            content = self.content(blobs[number])
            for path in self._paths[blobs[number]]:
                yield path, content

    def candidates(self, piece: Piece, text: bytes) -> Iterator[BlobId]:
        """The blobs that may have much of ``piece``, whose source is ``text``.

        In any language: code moves into templates, generators and strings of others.
        """
        wanted = {crc32(name): weight for name, weight in piece.names.items()}
        # the order of addition must not decide: no file that has enough may be missed
        least = _SHARED_NAMES * sum(wanted.values()) * (1 - _ROUNDING)
        marks = frozenset(_marks(text))
        facts = self._facts
        shared: defaultdict[int, float] = defaultdict(float)
        for sum_, weight in wanted.items():
            for number in set(facts.by_name.of(sum_)):
                shared[number] += weight
        found = {number for number, weight in shared.items() if weight >= least}
        if len(marks) >= _FEW_MARKS:
            alike = Counter(number for mark in marks for number in facts.by_mark.of(mark))
            found.update(n for n, count in alike.items() if count >= _SHARED_MARKS * len(marks))
        chosen = {facts.blobs[number] for number in found}
        yield from (oid for oid in self._paths if oid in chosen)

    def paths(self, oid: BlobId) -> tuple[str, ...]:
        """The paths of the blob in the tree."""
        return self._paths[oid]

    def blob(self, path: str) -> BlobId | None:
        """The text blob at ``path``, None if there is none."""
        return self._blobs.get(path)

    def content(self, oid: BlobId) -> bytes:
        """The text of a blob of the tree; of a notebook, the source in its cells."""
        content = self._store.objects.read(oid)
        return source_of(content) if self._paths[oid][0].endswith(".ipynb") else content

    def tokens(self, oid: BlobId, kind: Family) -> Tokens:
        """The tokens of a blob of the tree."""
        known = self._tokens.get((kind, oid))
        if known is None:
            known = tokenize(kind, self.content(oid))
            self._tokens.keep((kind, oid), known)
        return known

    @cached_property
    def listed(self) -> tuple[TreeFile, ...]:
        """Every file of the tree, also those that are no text."""
        return list_files(self._store.git, self.tree)

    @cached_property
    def _paths(self) -> dict[BlobId, tuple[str, ...]]:
        known = self._facts.names
        found: dict[BlobId, list[str]] = {}
        for file in self.listed:
            if file.oid in known and file.mode != SYMLINK_MODE:
                found.setdefault(BlobId(file.oid), []).append(file.path)
        return {oid: tuple(paths) for oid, paths in found.items()}

    @cached_property
    def _blobs(self) -> dict[str, BlobId]:
        return {path: oid for oid, paths in self._paths.items() for path in paths}

    @cached_property
    def _facts(self) -> _Facts:
        kept = _recent.get(self.tree) or self._kept.get(self.tree)
        if kept is None:
            known = [facts for facts in (self._kept.get(self._before), *_recent.values()) if facts]
            kept = _scan(self._store, self.listed, known)
            if not kept.skipped:  # damaged objects may be repaired later
                self._kept.put(self.tree, kept)
        if not kept.skipped:
            _recent.clear()
            _recent[self.tree] = kept
        return kept


_recent: dict[TreeId, _Facts] = {}
"""The facts of the last tree of this process: the next one may share most blobs."""


def _scan(store: Store, listed: Iterable[TreeFile], known: Sequence[_Facts]) -> _Facts:
    files = [file for file in listed if file.mode not in (GITLINK_MODE, SYMLINK_MODE)]
    wanted = {BlobId(file.oid) for file in files if (file.size or 0) <= _LARGEST}
    names: dict[BlobId, array[int]] = {}
    marks: dict[BlobId, array[int]] = {}
    binary: set[BlobId] = set()
    for facts in known:
        shared = wanted & facts.names.keys()
        names.update((oid, facts.names[oid]) for oid in shared)
        marks.update((oid, facts.marks[oid]) for oid in shared)
        binary |= wanted & facts.binary
    sums = _Sums()
    for oid, content in read_blobs(store.git, sorted(wanted - names.keys() - binary)):
        if b"\0" in content[:_BINARY_PROBE] or content.startswith(_NO_TEXT):
            binary.add(oid)
            continue
        names[oid] = array("I", map(sums.__getitem__, set(_NAME.findall(content))))
        marks[oid] = array("I", set(_marks(content)))
    seen = names.keys() | binary
    skipped = tuple(sorted(file.path for file in files if file.oid not in seen))
    return _Facts(names, marks, frozenset(binary), skipped)


class _Sums(dict[bytes, int]):
    """Checksums of names, each computed once."""

    def __missing__(self, name: bytes) -> int:
        self[name] = sum_ = crc32(name)
        return sum_


def source_of(notebook: bytes) -> bytes:
    """The source in the cells of a Jupyter notebook; the text itself if it is none."""
    try:
        cells = json.loads(notebook)["cells"]
        sources = ["".join(cell["source"]) for cell in cells]
    except (ValueError, TypeError, KeyError, RecursionError):
        return notebook
    return "\n".join(sources).encode("utf-8", "surrogateescape")


def _marks(text: bytes) -> Iterator[int]:
    return map(crc32, _MARK.findall(text.translate(None, _NO_PUNCTUATION)))


def _written(facts: _Facts) -> object:
    return {
        "blobs": {
            oid: [_packed(names), _packed(facts.marks[oid])] for oid, names in facts.names.items()
        },
        "binary": sorted(facts.binary),
        "skipped": list(facts.skipped),
    }


def _read(kept: Any) -> _Facts:
    blobs = kept["blobs"]
    return _Facts(
        {blob_id(oid): _unpacked(names) for oid, (names, _) in blobs.items()},
        {blob_id(oid): _unpacked(marks) for oid, (_, marks) in blobs.items()},
        frozenset(map(blob_id, kept["binary"])),
        tuple(kept["skipped"]),
    )


def _packed(sums: array[int]) -> str:
    if sys.byteorder == "big":
        sums = array("I", sums)
        sums.byteswap()
    return b64encode(sums.tobytes()).decode("ascii")


def _unpacked(text: str) -> array[int]:
    sums = array("I", b64decode(text))
    if sys.byteorder == "big":
        sums.byteswap()
    return sums
