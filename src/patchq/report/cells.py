"""The cells of the lifecycle matrix: what there is to show of one patch on one base."""

from __future__ import annotations

from dataclasses import dataclass

from patchq.model.verdict import Column, Matrix, Memory, PatchReport, Remembered, Verdict
from patchq.report.look import DROPPED, MEMORIES, NEEDED, NEW, UNFETCHED, VERDICTS, Look

NEW_WORD = "new"
DROPPED_WORD = "dropped"
NEEDED_WORD = "still-needed"
UNFETCHED_WORD = "not-fetched"


@dataclass(frozen=True)
class Mark:
    """A word that a cell can show, how it looks, and what it means."""

    word: str
    look: Look
    meaning: str


_MEANINGS: dict[Verdict, str] = {
    Verdict.NOT_COVERED: "not looked at: an archive lacks its paths, or another patch is absent",
    Verdict.UPSTREAMED: "upstream has all of it",
    Verdict.UNREACHABLE: "the code it patches is gone",
    Verdict.EXPIRED: "its X-Retire-When holds",
    Verdict.DRIFTED: "its X-Expect does not hold",
    Verdict.SUPERSEDED: "upstream landed it in another shape",
    Verdict.CONFLICT: "it collides with upstream",
    Verdict.PARTIAL: "upstream has part of it",
    Verdict.ADAPTED: "merged over changed context",
    Verdict.MOVED: "applies at new paths",
    Verdict.CLEAN: "applies as it is",
}
_REMEMBERED: dict[Memory, str] = {
    Memory.SETTLED: "retired, and rightly so",
    Memory.RESURFACED: "retired, needed again",
    Memory.HELD: "waits for a decision",
    Memory.UNKNOWN: "retired, cannot be judged here",
    Memory.LOST: "not in this series, and no record says why",
}
MARKS: dict[str, Mark] = {
    mark.word: mark
    for mark in (
        *(Mark(verdict.value, VERDICTS[verdict], words) for verdict, words in _MEANINGS.items()),
        *(Mark(memory.value, MEMORIES[memory], words) for memory, words in _REMEMBERED.items()),
        Mark(NEEDED_WORD, NEEDED, "not covered, but a built wheel still has what it takes out"),
        Mark(DROPPED_WORD, DROPPED, "left out by a decision"),
        Mark(NEW_WORD, NEW, "joined the series here"),
        Mark(UNFETCHED_WORD, UNFETCHED, "not judged: it, or the base before it, is not fetched"),
    )
}


@dataclass(frozen=True)
class Cell:
    """A patch on a base: judged there, remembered there, or new there."""

    name: str
    column: Column
    mark: Mark
    patch: PatchReport | None = None
    remembered: Remembered | None = None


def cell(column: Column, name: str) -> Cell | None:
    """The cell of ``name`` on ``column``, None if the patch has no part in it.

    A judgement counts before a memory, and both before the patch's joining.
    """
    if patch := column.patch(name):
        return Cell(name, column, MARKS[_word(patch)], patch=patch)
    if item := column.memory(name):
        return Cell(name, column, MARKS[item.memory.value], patch=item.now, remembered=item)
    if name in column.introduced:
        return Cell(name, column, MARKS[NEW_WORD])
    is_dark = bool(column.unfetched) and name in column.contents
    return Cell(name, column, MARKS[UNFETCHED_WORD]) if is_dark else None


def _word(patch: PatchReport) -> str:
    if patch.skipped is not None:
        return DROPPED_WORD
    return NEEDED_WORD if patch.is_still_needed else patch.verdict.value


def marks(matrix: Matrix) -> tuple[tuple[Mark, int], ...]:
    """The marks that occur in ``matrix`` and how often: the legend."""
    words = [
        found.mark.word
        for column in matrix.columns
        for name in matrix.names
        if (found := cell(column, name))
    ]
    return tuple((mark, words.count(mark.word)) for mark in MARKS.values() if mark.word in words)


def short_bases(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of bases as column heads: less what all begin with, ``post1`` as ``p1``.

    >>> short_bases(("v0.5.16", "v0.5.16.post1", "v0.5.17"))
    ('16', '16p1', '17')
    """
    start = _common_start(names)
    short = tuple(name[start:].replace(".post", "p").replace(".dev", "d") or name for name in names)
    return short if len(set(short)) == len(names) else names


def _common_start(names: tuple[str, ...]) -> int:
    """How long the common beginning of ``names`` is, up to its last separator."""
    if len(names) < 2:
        return 0
    length = 0
    for letters in zip(*names, strict=False):
        if len(set(letters)) > 1:
            break
        length += 1
    common = names[0][:length]
    return max(common.rfind(separator) for separator in ".-_/") + 1
