"""Lines of a patch that upstream put into the same file at another place.

Such a merge is clean and wrong: the lines would stand there twice. But files repeat themselves
anyhow: what counts is the whole run of lines that a patch adds, put into the same definition (or,
outside of all, into the same block) as the patch puts it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from patchq.engine.languages.outline import outline
from patchq.git.commits import read_commit
from patchq.git.history import CommitInfo
from patchq.git.objects import Objects
from patchq.model.diff import Hunk
from patchq.model.ids import TreeId
from patchq.recent import kept_for

_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,}")
_ANY_WORD = re.compile(rb"\w")
_SAYS = 3
"""So many different words make several lines say something."""

_Block = tuple[bytes, ...]


@dataclass(frozen=True)
class Duplicate:
    """A run of lines that a hunk adds and that upstream added elsewhere in the file."""

    lines: tuple[bytes, ...]


def find_duplicate(
    hunk: Hunk, path: str, before: bytes, ours: bytes, result: bytes
) -> Duplicate | None:
    """Compare the file as the patch knew it, as upstream has it now, and as merged.

    A run of several lines counts where they say something; one of a single line, however short,
    only if the line stood nowhere in the file before. If the hunk replaces lines, a clean merge
    has found those in their place, so that what upstream did elsewhere was for another place.
    """
    for run in _inserted(hunk):
        now = _count(run, ours) if run else 0
        if not now or not _count(run, before) < now < _count(run, result):
            continue
        if not _says_something(run, count_stripped(before)):
            continue
        old, new, both = (_blocks(run, path, text) for text in (before, ours, result))
        if any(old[block] < new[block] < both[block] for block in both):
            return Duplicate(run)
    return None


def _inserted(hunk: Hunk) -> Iterator[tuple[bytes, ...]]:
    """Each run of changes that removes nothing: its lines, stripped, without empty ones."""
    for changed, run in groupby(hunk.lines, key=lambda line: line[:1] != b" "):
        lines = list(run)
        if changed and all(line[:1] == b"+" for line in lines):
            yield tuple(filter(None, (line[1:].strip() for line in lines)))


def _says_something(run: Sequence[bytes], before: Counter[bytes]) -> bool:
    news = any(line not in before and _ANY_WORD.search(line) for line in run)
    return news or (len(run) > 1 and len(set(_WORD.findall(b"\n".join(run)))) >= _SAYS)


def brought_by(
    duplicate: Duplicate, commits: Sequence[CommitInfo], names: Sequence[str], objects: Objects
) -> CommitInfo | None:
    """The first of ``commits`` that added the whole run to the file, which has one of ``names``."""

    wanted = Counter(duplicate.lines)

    def content(tree: TreeId) -> bytes:
        contents = (objects.content(tree, name) for name in names)
        return next((content for content in contents if content is not None), b"")

    for commit in commits:
        now = content(commit.tree)
        had = [content(read_commit(objects, parent).tree) for parent in commit.parents]
        if all(
            _count(duplicate.lines, then) < _count(duplicate.lines, now)
            and wanted <= count_stripped(now) - count_stripped(then)
            for then in had
        ):
            return commit
    return None


def _count(run: Sequence[bytes], content: bytes) -> int:
    return sum(1 for _ in _places(run, content))


def _places(run: Sequence[bytes], content: bytes) -> Iterator[tuple[int, int]]:
    """The first and the last line (from 0) of each place where ``run`` stands."""
    if run[0] not in content:
        return
    numbers, lines = _filled(content)
    for at in range(len(lines) - len(run) + 1):
        if lines[at] == run[0] and lines[at : at + len(run)] == tuple(run):
            yield numbers[at], numbers[at + len(run) - 1]


@kept_for(4 << 20)
def _filled(content: bytes) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
    """The lines that are not empty, stripped, and their numbers."""
    stripped = (line.strip() for line in content.split(b"\n"))
    filled = [(number, line) for number, line in enumerate(stripped) if line]
    return tuple(number for number, _ in filled), tuple(line for _, line in filled)


def _blocks(run: Sequence[bytes], path: str, content: bytes) -> Counter[_Block]:
    """How often ``run`` stands in each definition, or block outside of all."""
    return Counter(_block(path, content, *place) for place in _places(run, content))


def _block(path: str, content: bytes, first: int, last: int) -> _Block:
    """The innermost definition around these lines by name, else the lines that they are below.

    A line is below the last one before it that is indented less.
    """
    known = outline(path, content)
    around = [d for d in known.definitions if d.first < first and last <= d.last] if known else []
    if around:
        return (min(around, key=lambda d: d.last - d.first).name.encode(),)
    lines = content.split(b"\n")
    above: list[bytes] = []
    indent = _indent(lines[first])
    for line in reversed(lines[:first]):
        if line.strip() and _indent(line) < indent:
            indent = _indent(line)
            above.append(line)
    return tuple(above)


def _indent(line: bytes) -> int:
    expanded = line.expandtabs()
    return len(expanded) - len(expanded.lstrip())


@kept_for(4 << 20)
def count_stripped(content: bytes) -> Counter[bytes]:
    """How often each line stands in ``content``, indentation aside."""
    return Counter(line.strip() for line in content.split(b"\n"))
