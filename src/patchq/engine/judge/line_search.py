"""Did lines become more frequent in a whole tree? Then they may have moved there.

A line that stood in many other places all along tells nothing: such lines come and go by
themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.search import count_lines

COMMON = 4
"""A line that stands this often elsewhere on the old base is not specific to the patch's code."""

_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,}")


@dataclass(frozen=True)
class Elsewhere:
    """Lines that became more frequent outside the place that is gone.

    ``files`` are where they appeared, most of them first.
    """

    lines: tuple[bytes, ...]
    files: tuple[str, ...]


def search_elsewhere(
    span: UpstreamRange, candidates: Sequence[bytes], lost: Mapping[bytes, int]
) -> Elsewhere:
    """Which of ``candidates`` became more frequent than the old base had them but for ``lost``."""
    after = count_lines(span.store.git, span.new.tree, candidates)
    now = _by_line(after)
    # what stands nowhere any more needs no second search
    before = count_lines(span.store.git, span.old.tree, [line for line in candidates if now[line]])
    elsewhere = _by_line(before)
    elsewhere.subtract(lost)
    lines = [line for line in candidates if elsewhere[line] < COMMON]
    more = tuple(line for line in lines if now[line] > max(elsewhere[line], 0))
    places: Counter[str] = Counter()
    for (line, file), count in (after - before).items():
        if line in more:
            places[file] += count
    ranked = sorted(places, key=lambda file: (-places[file], file))
    return Elsewhere(more, tuple(ranked))


def is_telling(line: bytes) -> bool:
    """Whether a line says something: it has two words at least."""
    return len(set(_WORD.findall(line))) >= 2


def _by_line(counts: Counter[tuple[bytes, str]]) -> Counter[bytes]:
    total: Counter[bytes] = Counter()
    for (line, _), count in counts.items():
        total[line] += count
    return total
