"""Search a whole tree for lines and words, by ``git grep``.

git tries a list of patterns one by one on every line, so all that is looked for goes into one
pattern of alternatives.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from patchq.git.blobs import read_blobs
from patchq.git.objects import Entry, Objects, decode_path, encode_path
from patchq.git.process import Git
from patchq.model.ids import BlobId, ObjectId, TreeId
from patchq.model.regex import WordSet
from patchq.scratch import scratch_root

_GLOB = re.compile(r"[][*?\\]")
_ESCAPED = r"\\\g<0>"
_PLAIN = re.compile(rb"\w+")
_BOUNDED = re.compile(rb"\w(?:.*\w)?", re.DOTALL)
_TEXT_IF = 8000
"""git takes a file for binary that has a NUL byte among its first so many."""
_FEW = 20
"""So many blobs are read one by one: they may be in memory alone."""
_WORDS_APART = bytes(byte if _PLAIN.match(bytes([byte])) else ord(" ") for byte in range(256))
_SPECIAL = re.compile(rb"[][.^$*+?(){}|\\]")


Counts = Counter[tuple[bytes, str]]
"""How often a text stands in a file, by both."""


def count_texts(git: Git, tree: TreeId, texts: Collection[bytes]) -> tuple[Counts, Counts]:
    """How often each of ``texts`` is a whole line, and a part of one, in the files of ``tree``.

    They are given stripped, and so are the lines. Only text has lines: one with a NUL byte is never
    found.
    """
    whole, parts = Counts(), Counts()
    wanted = {text for text in texts if b"\0" not in text}
    if not wanted:
        return whole, parts
    search = PartSearch(wanted)
    for file, row in lines_with_texts(git, tree, wanted):
        line = row.strip()
        if line in wanted:
            whole[line, file] += 1
        for text, count in search.count(line):
            parts[text, file] += count
    return whole, parts


class PartSearch:
    """Looks for many parts of lines at once, as :func:`count_part` does for each."""

    def __init__(self, parts: Iterable[bytes]):
        self._by_word: dict[bytes, list[bytes]] = {}
        self._wordless: list[bytes] = []
        for part in dict.fromkeys(parts):
            # no word goes on at the ends of a part: each of its words is one of the line
            word = max(_PLAIN.findall(part), key=len, default=None)
            known = self._wordless if word is None else self._by_word.setdefault(word, [])
            known.append(part)

    def count(self, line: bytes) -> Iterator[tuple[bytes, int]]:
        """The parts that stand in ``line``, each with how often."""
        words = self._by_word.keys() & set(_PLAIN.findall(line))
        near = (part for word in words for part in self._by_word[word])
        for part in chain(near, self._wordless):
            if part in line and (count := count_part(part, line)):
                yield part, count


def lines_with_texts(
    git: Git, tree: TreeId, texts: Collection[bytes], below: Collection[str] = ()
) -> Iterator[tuple[str, bytes]]:
    """Each line of the text files of ``tree`` that has one of ``texts`` in it, with its path.

    Of a text with a NUL byte there is none. With ``below``, only in these directories and files.
    """
    wanted = {text for text in texts if text and b"\0" not in text}
    if not wanted:
        return
    inside = [f":(literal){path}" for path in sorted(below)]
    output = _grep(git, tree, [_one_of(wanted)], inside, "-z", "--full-name")
    prefix = f"{tree}:".encode()
    for row in output.split(b"\n"):
        name, found, line = row.partition(b"\0")
        if found:
            yield decode_path(name.removeprefix(prefix)), line


def count_part(part: bytes, text: bytes) -> int:
    """How often ``part`` stands in ``text``, with no word going on at its ends."""
    before = rb"(?<!\w)" if re.match(rb"\w", part) else b""
    after = rb"(?!\w)" if re.search(rb"\w\Z", part) else b""
    return len(re.findall(before + re.escape(part) + after, text))


def known_words(
    git: Git, tree: TreeId, words: Collection[str], suffixes: Collection[str]
) -> frozenset[str]:
    """Those of ``words`` that stand anywhere in files of ``suffixes`` in ``tree``.

    A word has no letter, digit or underscore beside it (git-grep, --word-regexp).
    """
    output = _grep_words(git, tree, words, _ending_in(suffixes), "-h", "--only-matching")
    return frozenset(output.decode(errors="replace").split("\n")) & frozenset(words)


def lines_with_words(
    git: Git, tree: TreeId, words: Collection[str], suffixes: Collection[str]
) -> tuple[tuple[str, bytes], ...]:
    """Each line in files of ``suffixes`` in ``tree`` that holds one of ``words``, with its path."""
    prefix = f"{tree}:".encode()
    rows = _grep_words(git, tree, words, _ending_in(suffixes), "-z", "--full-name").split(b"\n")
    parts = (row.partition(b"\0") for row in rows if row)
    return tuple((decode_path(name.removeprefix(prefix)), text) for name, _, text in parts)


def files_with_words(
    git: Git, tree: TreeId, words: Collection[str], directories: Collection[str] = ()
) -> dict[str, frozenset[str]]:
    """Which files of ``tree`` hold each of ``words`` as a whole word.

    With ``directories``, only the files directly in one of these are looked at.
    """
    inside = [f":(glob){_GLOB.sub(_ESCAPED, directory)}/*" for directory in sorted(directories)]
    output = _grep_words(git, tree, words, inside, "-z", "--full-name", "--only-matching")
    prefix = f"{tree}:".encode()
    found: dict[str, set[str]] = {}
    for row in output.split(b"\n"):
        name, _, word = row.partition(b"\0")
        if word:
            found.setdefault(word.decode(), set()).add(decode_path(name.removeprefix(prefix)))
    return {word: frozenset(files) for word, files in found.items()}


def blobs_with_words(
    git: Git, objects: Objects, blobs: Sequence[BlobId], words: Collection[str]
) -> dict[str, frozenset[BlobId]]:
    """Which of ``blobs`` hold each of ``words``, by the rules of :func:`files_with_words`.

    They are searched here, which takes a fraction of the time for many words. Each has to be
    :func:`is_bounded`. Raises :class:`MissingObjectError` and :class:`DamagedObjectError`.
    """
    raw = {encode_path(word): word for word in words}
    if not blobs or not raw:
        return {}
    search = WordSet(raw)
    found: dict[str, set[BlobId]] = {}
    for oid, content in _all_of(git, objects, blobs):
        if b"\0" in content[:_TEXT_IF]:
            continue
        for word in search.within(content):
            found.setdefault(raw[word], set()).add(oid)
    return {word: frozenset(oids) for word, oids in found.items()}


def words_of_blobs(
    git: Git, objects: Objects, blobs: Sequence[BlobId]
) -> Iterator[tuple[BlobId, frozenset[bytes]]]:
    """All words of each of ``blobs``; what is no text has none.

    Raises :class:`MissingObjectError` and :class:`DamagedObjectError`.
    """
    contents = _all_of(git, objects, blobs) if len(blobs) > _FEW else _each_of(objects, blobs)
    for oid, content in contents:
        text = b"" if b"\0" in content[:_TEXT_IF] else content
        yield oid, frozenset(text.translate(_WORDS_APART).split())


def _each_of(objects: Objects, blobs: Sequence[BlobId]) -> Iterator[tuple[BlobId, bytes]]:
    return ((oid, objects.read(oid)) for oid in blobs)


def _all_of(git: Git, objects: Objects, blobs: Sequence[BlobId]) -> Iterator[tuple[BlobId, bytes]]:
    left = set(blobs)
    for oid, content in read_blobs(git, blobs):
        left.discard(oid)
        yield oid, content
    for oid in sorted(left):
        yield oid, objects.read(oid)


def is_bounded(word: str) -> bool:
    """Whether ``word`` begins and ends with a word character."""
    return bool(_BOUNDED.fullmatch(encode_path(word)))


def changed_entries(
    git: Git, old: TreeId, new: TreeId
) -> Iterator[tuple[str, Entry | None, Entry | None]]:
    """Each path at which two trees differ, with what stands there in both (no directories)."""
    rows = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
    fields = rows.stdout.split(b"\0")[:-1]
    for head, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, new_mode, old_oid, new_oid, _ = head.removeprefix(b":").decode().split()
        sides = (old_mode, old_oid), (new_mode, new_oid)
        before, after = (Entry(mode, ObjectId(oid)) if int(mode) else None for mode, oid in sides)
        yield decode_path(path), before, after


def files_with_line(
    git: Git, tree: TreeId, line: str, paths: Collection[str] = ()
) -> Iterator[str]:
    """The text files of ``tree`` that have this very line (a POSIX basic regular expression).

    Only ``paths`` are looked through, if any are named.
    """
    output = git.run(
        *("--literal-pathspecs", "grep", "-I", "-z", "-l", "--no-color", "--full-name"),
        *("-e", f"^{line}$", tree, "--", *paths),
        allow=(0, 1),
    ).stdout
    for name in output.split(b"\0"):
        if name:
            yield decode_path(name).removeprefix(f"{tree}:")


def list_paths(git: Git, tree: TreeId) -> tuple[str, ...]:
    """The paths of all files in ``tree``."""
    output = git.run("ls-tree", "-r", "-z", "--name-only", tree).stdout
    return tuple(decode_path(name) for name in output.split(b"\0") if name)


def _grep_words(
    git: Git, tree: TreeId, words: Collection[str], pathspecs: Collection[str], *options: str
) -> bytes:
    return _grep(git, tree, _words(words), pathspecs, "--word-regexp", *options) if words else b""


def _grep(
    git: Git, tree: TreeId, patterns: Iterable[bytes], pathspecs: Collection[str], *options: str
) -> bytes:
    with tempfile.NamedTemporaryFile(prefix="grep-", dir=scratch_root()) as file:
        Path(file.name).write_bytes(b"".join(pattern + b"\n" for pattern in patterns))
        return git.run(
            *("grep", "-I", "--no-color", "--extended-regexp"),
            *options,
            "-f",
            file.name,
            tree,
            "--",
            *pathspecs,
            allow=(0, 1),
        ).stdout


def _ending_in(suffixes: Collection[str]) -> list[str]:
    return [f"*{suffix}" for suffix in suffixes]


def _words(words: Collection[str]) -> Iterator[bytes]:
    """The patterns for whole words.

    What is not of word characters alone stands by itself: git goes on behind the longest
    alternative that matches, and would pass over a shorter one that ends at a word's end.
    """
    raw = [encode_path(word) for word in words]
    plain = [word for word in raw if _PLAIN.fullmatch(word)]
    if plain:
        yield _one_of(plain)
    yield from (_one_of([word]) for word in raw if not _PLAIN.fullmatch(word))


def _one_of(texts: Iterable[bytes]) -> bytes:
    """A POSIX extended regular expression for any of ``texts``, each taken literally."""
    return b"|".join(_SPECIAL.sub(rb"\\\g<0>", text) for text in texts)
