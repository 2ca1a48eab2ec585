"""How the patches of one series differ from those of another."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum


class PatchDifference(Enum):
    """What became of a patch from one series to the other."""

    UNCHANGED = "unchanged"  # byte for byte
    METADATA = "metadata"  # the header, or only line numbers and blob ids
    CHANGED = "changed"
    GONE = "gone"
    NEW = "new"


class Aspect(Enum):
    """What of a patch differs."""

    HEADER = "header"
    POSITION = "line numbers"
    PATHS = "paths"
    CONTEXT = "context"
    CHANGE = "added or removed lines"


METADATA = frozenset({Aspect.HEADER, Aspect.POSITION})


@dataclass(frozen=True)
class PatchDiff:
    """One patch in both series; places count from 1, None if it is not there.

    ``old_name`` is given where it was called otherwise; ``reason`` is what the memory of the new
    series says of a patch that is gone.
    """

    name: str
    fate: PatchDifference
    aspects: tuple[Aspect, ...] = ()
    old_place: int | None = None
    new_place: int | None = None
    old_name: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class SeriesDiff:
    """Two series, patch by patch, in the order of the new one."""

    old: str
    new: str
    patches: tuple[PatchDiff, ...]

    def count(self) -> Counter[PatchDifference]:
        """How many patches met each fate."""
        return Counter(patch.fate for patch in self.patches)


@dataclass(frozen=True)
class GuardDiff:
    """How the selection with ``guards`` differs from the default one."""

    series: str
    guards: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
