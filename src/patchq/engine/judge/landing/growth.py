"""Whether a line that was edited still does what it did, and more.

It does if only list items were added: arguments, elements, imported names. After any other edit (an
operator, another constant, a cast, a call around it) the text cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from patchq.engine.languages.matching import SequenceMatcher
from patchq.engine.languages.tokens import CLOSING, OPENING, Family, tokenize
from patchq.engine.series.hunks import common_ends

_OFF = frozenset(b"False false FALSE None NULL nullptr null 0 off OFF no".split())


@lru_cache(maxsize=4096)
def only_grew(kind: Family, line: bytes, grown: bytes) -> bool:
    """Whether ``grown`` is ``line`` with added list items, or another layout of it."""
    old, new = (_layout(tokenize(kind, text).texts) for text in (line, grown))
    if old[:1] == new[:1] == (b"from",):
        old, new = map(_names_imported, (old, new))
    if old == new or not new:
        return old == new
    imports = new[:1] == old[:1] == (b"import",)
    depths = [imports + depth for depth in _depths(new)]
    head, tail = common_ends(old, new)
    if head + tail == len(old):
        return depths[head] > 0 and _is_items(new, head, len(new) - tail)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return all(
        kind == "insert" and depths[first] > 0 and _is_items(new, first, end)
        for kind, _, _, first, end in matcher.get_opcodes()
        if kind != "equal"
    )


def _layout(tokens: Sequence[bytes]) -> tuple[bytes, ...]:
    """The tokens without trailing commas."""
    after = [*tokens[1:], b")"][: len(tokens)]
    return tuple(
        t for t, then in zip(tokens, after, strict=True) if t != b"," or then not in CLOSING
    )


def _names_imported(tokens: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The tokens of a ``from`` import without the module, which may have moved."""
    return tokens[tokens.index(b"import") :] if b"import" in tokens else tokens


def _depths(tokens: Sequence[bytes]) -> Iterator[int]:
    """The bracket depth of each token."""
    depth = 0
    for token in tokens:
        depth -= token in CLOSING
        yield depth
        depth += token in OPENING


def _is_items(tokens: Sequence[bytes], first: int, end: int) -> bool:
    """Whether the tokens from ``first`` to ``end`` are whole list items, none of them "off"."""
    added, before = tokens[first:end], tokens[first - 1 : first]
    after = tokens[end] if end < len(tokens) else b")"
    if added[0] == b"," and (after == b"," or after in CLOSING):
        items = added[1:]
    elif added[-1] == b"," and before[0] in (b",", b"import", *OPENING):
        items = added[:-1]
    else:
        return False
    return min(_depths(items), default=0) >= 0 and not _OFF.intersection(items)
