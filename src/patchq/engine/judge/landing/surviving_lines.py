"""What is left of a change that landed, where upstream edited the lines again.

Neither a clean merge nor a clean removal tells then whether upstream still has it, so its lines
are looked at: the old ones must not have come back, and the new ones must be there, or lines that
grew out of them. What leaves no trace counts as taken out again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher

from patchq.engine.series.repeated_lines import count_stripped

_WORD = re.compile(rb"[A-Za-z0-9_]{2,}")
_ALIKE = 0.6


def still_there(before: bytes, after: bytes, landed: bytes, final: bytes) -> bool:
    """Whether the change from ``before`` to ``after`` shows in ``final``.

    ``landed`` is the file as the change left it upstream, ``final`` as it is at the end.
    """
    old, new = count_stripped(before), count_stripped(after)
    then, now = count_stripped(landed), count_stripped(final)
    removed, added = _telling(old - new), _telling(new - old)
    if any(now[line] > then[line] for line in removed):
        return False
    if not added:
        return False
    kept = [line for line in added if now[line] >= then[line]]
    if 2 * len(kept) >= len(added):
        return True
    fresh = _telling(now - then)
    return bool(removed) and all(
        any(_grew_from(line, removed, candidate) for candidate in fresh)
        for line in added
        if line not in kept
    )


def _grew_from(line: bytes, removed: Iterable[bytes], candidate: bytes) -> bool:
    """Whether ``candidate`` looks like ``line``, and more so than like any line it replaced."""
    likeness = _likeness(line, candidate)
    return likeness >= _ALIKE and all(_likeness(old, candidate) < likeness for old in removed)


def _likeness(one: bytes, other: bytes) -> float:
    return SequenceMatcher(None, one.decode("latin-1"), other.decode("latin-1")).ratio()


def _telling(lines: Counter[bytes]) -> list[bytes]:
    return [line for line in lines if _WORD.search(line)]
