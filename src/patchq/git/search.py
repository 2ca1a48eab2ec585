"""Search a whole tree for lines and words, by ``git grep``."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from patchq.git.objects import decode_path
from patchq.git.process import Git


def count_lines(git: Git, tree: str, lines: Collection[bytes]) -> Counter[tuple[bytes, str]]:
    """How often each of ``lines`` (given stripped) stands in each file of ``tree``."""
    found: Counter[tuple[bytes, str]] = Counter()
    if not lines:
        return found
    with tempfile.NamedTemporaryFile(prefix="patchq-lines-") as patterns:
        Path(patterns.name).write_bytes(b"".join(line + b"\n" for line in lines))
        output = git.run(
            "grep",
            "-I",
            "-z",
            "--no-color",
            "--full-name",
            "--fixed-strings",
            "-f",
            patterns.name,
            tree,
            allow=(0, 1),
        ).stdout
    wanted = set(lines)
    prefix = f"{tree}:".encode()
    for row in output.split(b"\n"):
        name, _, text = row.partition(b"\0")
        stripped = text.strip()
        if stripped in wanted:
            found[stripped, decode_path(name.removeprefix(prefix))] += 1
    return found


def known_words(
    git: Git, tree: str, words: Collection[str], suffixes: Collection[str]
) -> frozenset[str]:
    """Those of ``words`` that stand anywhere in files of ``suffixes`` in ``tree``.

    A word has no letter, digit or underscore beside it (git-grep, --word-regexp).
    """
    output = _grep(git, tree, words, suffixes, "-h", "--only-matching")
    return frozenset(output.decode(errors="replace").split("\n")) & frozenset(words)


def lines_with_words(
    git: Git, tree: str, words: Collection[str], suffixes: Collection[str]
) -> tuple[tuple[str, bytes], ...]:
    """Each line in files of ``suffixes`` in ``tree`` that holds one of ``words``, with its path."""
    prefix = f"{tree}:".encode()
    rows = _grep(git, tree, words, suffixes, "-z", "--full-name").split(b"\n")
    parts = (row.partition(b"\0") for row in rows if row)
    return tuple((decode_path(name.removeprefix(prefix)), text) for name, _, text in parts)


def files_with_words(git: Git, tree: str, words: Collection[str]) -> dict[str, frozenset[str]]:
    """Which files of ``tree`` hold each of ``words`` as a whole word."""
    output = _grep(git, tree, words, (), "-z", "--full-name", "--only-matching")
    prefix = f"{tree}:".encode()
    found: dict[str, set[str]] = {}
    for row in output.split(b"\n"):
        name, _, word = row.partition(b"\0")
        if word:
            found.setdefault(word.decode(), set()).add(decode_path(name.removeprefix(prefix)))
    return {word: frozenset(files) for word, files in found.items()}


def _grep(
    git: Git, tree: str, words: Collection[str], suffixes: Collection[str], *options: str
) -> bytes:
    if not words:
        return b""
    with tempfile.NamedTemporaryFile(prefix="patchq-words-") as patterns:
        Path(patterns.name).write_text("".join(f"{word}\n" for word in words))
        return git.run(
            "grep",
            "-I",
            "--no-color",
            "--fixed-strings",
            "--word-regexp",
            *options,
            "-f",
            patterns.name,
            tree,
            "--",
            *(f"*{suffix}" for suffix in suffixes),
            allow=(0, 1),
        ).stdout
