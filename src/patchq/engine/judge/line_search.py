"""Whether lines became more frequent in a whole tree: then they may have moved there.

Lines that were in many places before do not count: they come and go.
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
"""A line that is elsewhere on the old base this often is not specific to the patch's code."""

_JUMPS = frozenset({b"return", b"goto", b"break", b"continue", b"pass", b"raise", b"throw"})
_MORE = re.compile(rb"[^\w\s;{}]")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,}")


@dataclass(frozen=True)
class Elsewhere:
    """Lines that became more frequent elsewhere; ``files`` got them, the one with most first."""

    lines: tuple[bytes, ...]
    files: tuple[str, ...]


def search_elsewhere(
    span: UpstreamRange, candidates: Sequence[bytes], change: Counter[bytes]
) -> Elsewhere:
    """The ``candidates`` that are more frequent, as lines or in longer ones, on the new base than
    on the old one after a ``change`` (the number of each line that it adds or removes)."""
    texts = {*candidates, *map(core, candidates)}
    now = count_texts(span.store.git, span.new.tree, texts)
    # lines that are nowhere on the new base need no second search
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
    """How often ``text`` has a (stripped) line."""
    return count_stripped(text)[line]


def core(line: bytes) -> bytes:
    """The part of a (stripped) line that is kept in a longer one: without quotes, commas and
    brackets at its ends."""
    return line.strip(b" \t,;\\\"'()[]{}") or line


def is_telling(line: bytes) -> bool:
    """Whether a line is specific enough to be recognised: it has at least two words."""
    return len(set(_WORD.findall(line))) >= 2


def is_own(line: bytes) -> bool:
    """Whether a line has a word and more, and is not only a jump."""
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
"""How a line is searched for, as it is or as a part of another, and how a change counts."""


def _parts(texts: Collection[bytes], lines: Counter[bytes]) -> Counter[bytes]:
    """How often ``lines`` have each of ``texts``."""
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
