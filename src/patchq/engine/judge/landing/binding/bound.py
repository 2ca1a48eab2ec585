"""A name, and the lines that bind it."""

from __future__ import annotations

from dataclasses import dataclass

TAKES_IN = "\0"
"""Begins the name of what is no name, but a file that is taken in."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A name that lines from ``first`` to ``last`` bind: a definition, a value, a key.

    ``block`` are the conditional blocks and the scopes around it, the first ``scope`` of which the
    name belongs to. ``holds`` if what these lines do is what the name stands for; ``replaces`` if
    nothing of what the name stood for before is left; for one ``command`` alone, if that is given.
    """

    name: str
    first: int
    last: int
    block: tuple[int, ...] = ()
    scope: int = 0
    holds: bool = True
    replaces: bool = True
    command: str = ""

    def takes(self, other: Bound) -> bool:
        """Whether it takes the name from ``other``, which stands above, in every case."""
        return bool(
            self.replaces
            and self.name == other.name
            and self.first > other.last
            and (self.command or self.scope == other.scope <= len(self.block))
            and set(self.block).issubset(other.block)
        )
