"""What a page shows of a matrix or a report: its questions, its rows, and what each cell tells."""

from __future__ import annotations

from dataclasses import dataclass, field

from patchq.model.verdict import Column
from patchq.report.cells import Cell, Mark
from patchq.report.diffs import Diffs
from patchq.report.look import Look
from patchq.report.sections import (
    LOOK_AT,
)

WATCH = Mark("watch", Look("◎", "*", "yellow"), LOOK_AT)

_DECISIONS = ("by hand", "as remembered in", "drift accepted: ", "skipped: ", "dropped: ")
_MANY_BASES = 8
_SHORT_NAME = 26


@dataclass(frozen=True)
class Versions:
    """A patch's diff by number: here, on the base before if that differs, and how it differs."""

    here: int
    before: int | None = None
    change: int | None = None
    base: str = ""


@dataclass(frozen=True)
class GridPlace:
    """A place in the grid: its cell if the patch has one there, and the line through it.

    A ``quiet`` one has no more to tell of hunks and paths than their number.
    """

    cell: Cell | None
    anchor: str
    thread: str
    fine: bool
    quiet: bool = False
    before: tuple[str, str] | None = None
    after: tuple[str, str] | None = None
    versions: Versions | None = None
    decisions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    stands_on: tuple[tuple[str, str], ...] = ()
    carries: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PatchRow:
    """A patch through the bases.

    ``file`` is the one that it shares with the most patches, ``root`` the patch that it waits for,
    ``text`` what a search looks into.
    """

    name: str
    short: str
    subject: str
    body: str
    ends: tuple[str, ...]
    kind: str | None
    age: int
    anchor: str
    file: str
    root: str
    text: str
    slots: tuple[GridPlace, ...]


@dataclass(frozen=True)
class Group:
    """Rows under one heading; ``folded`` where they need nobody."""

    title: str
    rows: tuple[PatchRow, ...]
    folded: bool = False


@dataclass(frozen=True)
class BaseHead:
    """A base, and every patch that something happened to there."""

    column: Column
    anchor: str
    open: bool
    folded: bool
    slots: tuple[tuple[PatchRow, GridPlace], ...]


@dataclass(frozen=True)
class OpenItem:
    """One thing to decide or to look at, where it stands, and what waits for it."""

    name: str
    mark: Mark
    why: str
    link: str
    followers: tuple[OpenItem, ...] = ()


@dataclass(frozen=True)
class Ask:
    """What a judged base asks for."""

    column: Column
    decisions: tuple[OpenItem, ...]
    unseen: tuple[OpenItem, ...]
    watched: tuple[OpenItem, ...]
    requirements: tuple[str, ...]
    unknown_requirements: tuple[str, ...]
    settled: str
    counts: tuple[tuple[Mark, int], ...]
    leaving: int
    carried: int

    @property
    def followers(self) -> int:
        """How many patches wait for another one's decision."""
        return sum(len(item.followers) for item in self.decisions)


@dataclass(frozen=True)
class Page:
    """All that a page shows."""

    asks: tuple[Ask, ...]
    groups: tuple[Group, ...]
    bases: tuple[BaseHead, ...]
    marks: tuple[tuple[Mark, int], ...]
    kinds: tuple[str, ...]
    unfetched: tuple[str, ...]
    diffs: Diffs = field(compare=False)

    @property
    def rows(self) -> tuple[PatchRow, ...]:
        """The rows of all groups."""
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def is_wide(self) -> bool:
        """Whether there is room for words in the cells: one base is judged."""
        return len(self.bases) == 1

    @property
    def is_short(self) -> bool:
        """Whether all names are short, which leaves their subjects more room."""
        return all(len(row.short) <= _SHORT_NAME for row in self.rows)

    @property
    def folded(self) -> int:
        """How many bases are folded."""
        return sum(base.folded for base in self.bases)

    @property
    def is_many(self) -> bool:
        """Whether the heads of the bases have to stand upright."""
        return len(self.bases) - self.folded > _MANY_BASES
