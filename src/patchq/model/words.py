"""Numbers and lists of names in messages."""

from __future__ import annotations

from collections.abc import Sequence


def some(names: Sequence[str], most: int = 3) -> str:
    """The first ``most`` of ``names``, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def counted(number: int, noun: str) -> str:
    """``1 hunk``, ``2 hunks``, ``2 patches``."""
    ending = "" if number == 1 else "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{number} {noun}{ending}"
