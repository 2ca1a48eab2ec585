"""Did lines become more frequent in a whole tree? Then they may have moved there.

A line that stood in many other places all along tells nothing: such lines come and go by
themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from patchq.engine.languages.tokens import KEYWORDS
from patchq.engine.series.repeated_lines import count_stripped
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.search import Counts, PartSearch, count_texts

COMMON = 4
"""A line that stands this often elsewhere on the old base is not specific to the patch's code."""

_JUMPS = frozenset({b"return", b"goto", b"break", b"continue", b"pass", b"raise", b"throw"})
_MORE = re.compile(rb"[^\w\s;{}]")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,}")


@dataclass(frozen=True)
class Elsewhere:
    """Lines that became more frequent outside the place that is gone.

    ``files`` are where they appeared, most of them first.
    """

    lines: tuple[bytes, ...]
    files: tuple[str, ...]


def search_elsewhere(
    span: UpstreamRange, candidates: Sequence[bytes], change: Counter[bytes]
) -> Elsewhere:
    """Which of ``candidates`` became more frequent, as lines or in longer ones, than the old base
    would have them after a ``change``: how much more often, or less, it has each line then."""
    texts = {*candidates, *map(core, candidates)}
    now = count_texts(span.store.git, span.new.tree, texts)
    # what stands nowhere any more needs no second search
    then = count_texts(span.store.git, span.old.tree, {text for text, _ in now[1]})
    found: dict[bytes, None] = {}
    places: Counter[str] = Counter()
    ways: tuple[_Way, _Way] = ((bytes, change), (core, _parts(texts, change)))
    for was, is_, (cut, made) in zip(then, now, ways, strict=True):
        old, new = _by_text(was), _by_text(is_)
        more: dict[bytes, None] = {}
        for line in candidates:
            elsewhere = old[cut(line)] + made[cut(line)]
            if elsewhere < COMMON and new[cut(line)] > max(elsewhere, 0):
                more[cut(line)] = found[line] = None
        for (text, file), times in (is_ - was).items():
            places[file] += times if text in more else 0
    ranked = sorted(+places, key=lambda file: (-places[file], file))
    return Elsewhere(tuple(found), tuple(ranked))


def count_line(line: bytes, text: bytes) -> int:
    """How often a (stripped) line stands in ``text``."""
    return count_stripped(text)[line]


def core(line: bytes) -> bytes:
    """What of a (stripped) line stays the same in a longer one: quotes, commas and brackets at its
    ends may go."""
    return line.strip(b" \t,;\\\"'()[]{}") or line


def is_telling(line: bytes) -> bool:
    """Whether a line says something: it has two words at least."""
    return len(set(_WORD.findall(line))) >= 2


def is_own(line: bytes) -> bool:
    """Whether a line does something of its own: a word and more, and no mere jump."""
    words = _WORD.findall(line)
    return (
        bool(words)
        and words[0] not in _JUMPS
        and not KEYWORDS.issuperset(words)
        and _MORE.search(line) is not None
    )


def has_word(line: bytes) -> bool:
    """Whether a line has a word at all."""
    return _WORD.search(line) is not None


_Way = tuple[Callable[[bytes], bytes], Counter[bytes]]
"""How a line is looked for, as it is or as a part of another, and what a change does to it."""


def _parts(texts: Collection[bytes], lines: Counter[bytes]) -> Counter[bytes]:
    """How often each of ``texts`` stands in ``lines``."""
    search = PartSearch(texts)
    total: Counter[bytes] = Counter()
    for line, times in lines.items():
        for text, count in search.count(line) if times else ():
            total[text] += times * count
    return total


def _by_text(counts: Counts) -> Counter[bytes]:
    total: Counter[bytes] = Counter()
    for (text, _), count in counts.items():
        total[text] += count
    return total
