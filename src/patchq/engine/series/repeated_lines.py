"""Lines of a patch that upstream put into the same file at another place.

Such a merge is clean and wrong: the line would stand there twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from patchq.git.history import CommitInfo
from patchq.git.objects import Objects
from patchq.model.diff import Hunk

_COMMON = 4
"""A line that stood in the file this often before recurs by itself."""

_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,}")


@dataclass(frozen=True)
class Duplicate:
    """Lines that a hunk adds and that upstream added elsewhere in the file."""

    lines: tuple[bytes, ...]


def find_duplicate(hunk: Hunk, before: bytes, ours: bytes, result: bytes) -> Duplicate | None:
    """Compare the file as the patch knew it, as upstream has it now, and as merged.

    Only lines that say something count (three different words at least): common ones recur by
    themselves. Where the hunk replaces lines, a clean merge has found those in their place, so
    that what upstream did elsewhere was for another place.
    """
    then, now, merged = count_stripped(before), count_stripped(ours), count_stripped(result)
    lines = tuple(
        line
        for line in dict.fromkeys(_inserted(hunk))
        if len(set(_WORD.findall(line))) >= 3
        and then[line] < min(now[line], _COMMON)
        and now[line] < merged[line]
    )
    return Duplicate(lines) if lines else None


def _inserted(hunk: Hunk) -> Iterator[bytes]:
    """The added lines, stripped, of runs of changes that remove nothing."""
    for changed, run in groupby(hunk.lines, key=lambda line: line[:1] != b" "):
        lines = list(run)
        if changed and all(line[:1] == b"+" for line in lines):
            yield from (line[1:].strip() for line in lines)


def brought_by(
    duplicate: Duplicate, before: bytes, commits: Sequence[CommitInfo], name: str, objects: Objects
) -> CommitInfo | None:
    """The first of ``commits`` after which file ``name`` has one of the lines more often."""
    then = count_stripped(before)
    for commit in commits:
        now = count_stripped(objects.content(commit.tree, name) or b"")
        if any(now[line] > then[line] for line in duplicate.lines):
            return commit
    return None


@lru_cache(maxsize=64)
def count_stripped(content: bytes) -> Counter[bytes]:
    """How often each line stands in ``content``, indentation aside."""
    return Counter(line.strip() for line in content.split(b"\n"))
