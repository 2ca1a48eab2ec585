"""A name, and the lines that bind it."""

from __future__ import annotations

from dataclasses import dataclass

TAKES_IN = "\0"
"""The first character of a ``name`` that is the path of an included file instead."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A binding of a name by the lines ``first`` to ``last``: a definition, a value, a key.

    ``block`` are the conditional blocks and scopes around it, by their first lines; the name
    belongs to the first ``scope`` of them. If it ``holds``, these lines are what the name means; if
    it ``replaces``, nothing of an earlier meaning is left. A ``command`` limits it to that command.
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
        """Whether it unconditionally replaces ``other``, a binding of the same name above it."""
        return bool(
            self.replaces
            and self.name == other.name
            and self.first > other.last
            and (self.command or self.scope == other.scope <= len(self.block))
            and set(self.block).issubset(other.block)
        )
