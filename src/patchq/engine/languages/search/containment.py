"""How much of one piece of code is contained in another text.

Shingles are runs of a few tokens. The containment is the share of them that is in one window of the
text, in any order: a function that was split, merged, inlined or reformatted keeps most of them.
With names ignored, so does one with renamed variables; if each name was renamed consistently, that
tells more. Shingles of common names have little weight (Broder, On the resemblance and containment
of documents, 1997).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from patchq.engine.languages.tokens import NAME, STRING, Tokens

EXACT = 5
"""Tokens in a shingle with names."""
SHAPE = 8
"""Tokens in a shingle without names: there are fewer different ones."""
LEAST = 0.5
"""The least :attr:`Figures.renamed` that is computed."""
_SLACK = 1.5
"""A window has this many times the tokens of the piece."""
_KNOWN = re.compile(b"\1{%d,}" % EXACT)
"""A run of tokens that the piece has too, in a mask of the text."""

Weight = Callable[[bytes], float]
"""How much a name tells, from 0 to 1."""


@dataclass(frozen=True)
class Figures:
    """The shares of a piece that a window has, from 0 to 1, and its first and last line.

    ``renamed`` is the share with consistently renamed names; it is not computed if it would be less
    than :data:`LEAST`.
    """

    exact: float
    shape: float
    names: float
    first: int = 0
    last: int = 0
    renamed: float = 0.0


class Piece:
    """Code to search for in other texts."""

    def __init__(self, tokens: Tokens, weight: Weight = lambda _name: 1.0):
        self.tokens = tokens
        self.names = {name: weight(name) for name in tokens.names}
        self._exact: dict[object, float] = {
            shingle: max((self.names.get(token, 0.0) for token in shingle), default=0.0) or 0.05
            for shingle in _shingles(tokens.texts, EXACT)
        }
        self._shape: dict[object, float] = dict.fromkeys(_shape_shingles(tokens.shapes), 1.0)
        self._names: dict[object, float] = dict(self.names.items())
        self._words = frozenset(tokens.texts)
        self._window = round(_SLACK * len(tokens.texts)) + EXACT

    @property
    def size(self) -> int:
        """How many tokens it has."""
        return len(self.tokens.texts)

    def within(self, tokens: Tokens) -> Figures:
        """The shares of the piece in the best window of ``tokens``, by each measure."""
        window = self._window
        exact, at = _best(self._shared(tokens.texts), self._exact, window)
        shape, shape_at = _best(_shared_shapes(tokens.shapes, self._shape), self._shape, window)
        names, names_at = _best(enumerate(tokens.texts), self._names, window)
        if exact < min(shape, names):
            at = shape_at if shape >= names else names_at
        lines = tokens.lines
        if not lines:
            return Figures(0, 0, 0)
        last = min(at + window, len(lines) - 1)
        return Figures(exact, shape, names, lines[at], lines[last], self._renamed(tokens, shape))

    def _shared(self, texts: Sequence[bytes]) -> Iterator[tuple[int, object]]:
        """The shingles of ``texts`` without unknown tokens, each with its place."""
        known = bytes(map(self._words.__contains__, texts))
        for run in _KNOWN.finditer(known):
            yield from enumerate(_shingles(texts[run.start() : run.end()], EXACT), run.start())

    def _renamed(self, tokens: Tokens, shape: float) -> float:
        """The share of the shingles with consistently renamed names: at most ``shape``."""
        if shape < LEAST:
            return 0.0
        wanted: dict[object, float] = dict.fromkeys(_patterns(self.tokens), 1.0)
        return _best(enumerate(_patterns(tokens)), wanted, self._window)[0]


def shared_words(wanted: Sequence[bytes], found: Sequence[bytes]) -> tuple[float, int]:
    """The share and number of the ``wanted`` words in the best window of those ``found``."""
    weights: dict[object, float] = dict.fromkeys(wanted, 1.0)
    share, _ = _best(enumerate(found), weights, round(_SLACK * len(wanted)) + EXACT)
    return share, round(share * len(weights))


def _best(
    found: Iterable[tuple[int, object]], wanted: Mapping[object, float], window: int
) -> tuple[float, int]:
    """The largest share of ``wanted``, by weight, in one window, and where that begins.

    ``found`` are items with their places, in order.
    """
    total = sum(wanted.values())
    if not total:
        return 0.0, 0
    hits = [hit for hit in found if hit[1] in wanted]
    inside = dict.fromkeys(wanted, 0)
    held = best = 0.0
    start = place = 0
    for at, item in hits:
        if not inside[item]:
            held += wanted[item]
        inside[item] += 1
        while hits[start][0] <= at - window:
            gone = hits[start][1]
            inside[gone] -= 1
            if not inside[gone]:
                held -= wanted[gone]
            start += 1
        if held > best:
            best, place = held, hits[start][0]
    return min(best / total, 1.0), place


def _shingles(tokens: Sequence[bytes], length: int) -> Iterable[tuple[bytes, ...]]:
    return zip(*(tokens[first:] for first in range(length)), strict=False)


def _shape_shingles(shapes: str) -> Iterator[str]:
    return (shapes[at : at + SHAPE] for at in range(len(shapes) - SHAPE + 1))


def _shared_shapes(shapes: str, wanted: Mapping[object, float]) -> list[tuple[int, object]]:
    """The ``wanted`` shapes in ``shapes``, each with its place: most files have few."""
    places = range(len(shapes) - SHAPE + 1)
    return [(at, run) for at in places if (run := shapes[at : at + SHAPE]) in wanted]


def _patterns(tokens: Tokens) -> Iterable[tuple[bytes | str | int, ...]]:
    """The shingles of ``tokens``, each name in one replaced by its number among its names."""
    for shingle, shapes in zip(
        _shingles(tokens.texts, SHAPE), _shape_shingles(tokens.shapes), strict=True
    ):
        places: dict[bytes, int] = {}
        yield tuple(
            places.setdefault(text, len(places))
            if shape == NAME
            else shape
            if shape == STRING
            else text
            for text, shape in zip(shingle, shapes, strict=True)
        )
