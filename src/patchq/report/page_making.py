"""Make a page of a matrix: what is asked of a reviewer, which rows, how they are grouped."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from patchq.errors import InputError
from patchq.model.header import Header
from patchq.model.verdict import Column, Matrix, Memory, PatchReport, Verdict
from patchq.report.cells import MARKS, UNFETCHED_WORD, Cell, Mark, cell
from patchq.report.commit import commit_of
from patchq.report.diffs import Diffs, same_change
from patchq.report.look import Look
from patchq.report.page import Ask, BaseHead, GridPlace, Group, OpenItem, Page, PatchRow, Versions
from patchq.report.roots import roots
from patchq.report.sections import (
    LOOK_AT,
    ReportSection,
    in_section,
    remembered_words,
    requirement_words,
    section,
    settled,
    to_decide,
    watched,
)
from patchq.report.summary import state
from patchq.report.text import printable, readable

WATCH = Mark("watch", Look("◎", "*", "yellow"), LOOK_AT)

_DECISIONS = ("by hand", "as remembered in", "drift accepted: ", "skipped: ", "dropped: ")
_MANY_BASES = 8
_SHORT_NAME = 26


def make_page(matrix: Matrix, shown: Sequence[Column], asking: Sequence[Column]) -> Page:
    """The page of the columns ``shown``; those ``asking`` stand on top, the first of them open.

    The other columns of ``matrix`` only lend what patches were before.
    """
    maker = _Maker(matrix, shown, asking)
    rows = [maker.row(name) for name in maker.names]
    counts = Counter(slot.cell.mark.word for row in rows for slot in row.slots if slot.cell)
    return Page(
        asks=tuple(map(_ask, asking)),
        groups=tuple(maker.groups(rows)),
        bases=tuple(
            _head(rows, number, column, asking, column.base in matrix.folded)
            for number, column in enumerate(shown)
        ),
        marks=tuple((mark, counts[word]) for word, mark in MARKS.items() if counts[word]),
        kinds=tuple(sorted({row.kind or "" for row in rows})),
        unfetched=tuple(dict.fromkeys(name for column in shown for name in column.unfetched)),
        diffs=maker.diffs,
    )


def anchor(name: str, base: str = "") -> str:
    """The address of a cell, a patch or a base within the page: valid as an id and in a link."""
    return quote(readable(f"{name}@{base}" if base else name), safe="@+")


class _Maker:
    """Makes the rows of one page."""

    def __init__(self, matrix: Matrix, shown: Sequence[Column], asking: Sequence[Column]):
        self._columns = {column.base: column for column in matrix.columns}
        self._shown = shown
        self._focus = next(iter(asking), None) or _last_judged(shown)
        report = self._focus.report if self._focus else None
        judged = report.patches if report else ()
        self._order = {patch.name: number for number, patch in enumerate(judged)}
        self._asking = {column.base for column in asking}
        self._cells = {
            column.base: {name: cell(column, name) for name in matrix.names} for column in shown
        }
        self.names = sorted(
            (n for n in matrix.names if any(self._cells[c.base][n] for c in shown)),
            key=self._place,
        )
        self._newest = {
            name: patch for column in matrix.columns for name, patch in column.contents.items()
        }
        self._shares = Counter(
            path for name in self.names for path in dict.fromkeys(self._paths(name))
        )
        self._roots, self._followers = _standing(self._focus)
        self.diffs = Diffs()

    def row(self, name: str) -> PatchRow:
        """The row of the patch ``name``."""
        cells = [self._cells[column.base][name] for column in self._shown]
        patches = [found.patch for found in cells if found and found.patch]
        patch = self._newest.get(name)
        header = patch.header if patch else None
        kinds = (judged.kind for judged in reversed(patches) if judged.kind)
        subject = header.subject if header else ""
        return PatchRow(
            name=name,
            short=name.removesuffix(".patch"),
            subject=subject,
            body=header.body.strip("\n") if header else "",
            ends=_ends(header) if header else (),
            kind=next(kinds, header.kind if header else None),
            age=max((judged.age for judged in patches), default=0),
            anchor=anchor(name),
            file=self._file(name),
            root=self._roots.get(name, ""),
            text=" ".join(_searched(name, subject, self._paths(name), patches)).lower(),
            slots=tuple(self._slots(name, cells)),
        )

    def groups(self, rows: Sequence[PatchRow]) -> Iterator[Group]:
        """The rows by what becomes of them on the base in question."""
        found: dict[str, list[PatchRow]] = {title: [] for title in _OUTCOMES}
        base = self._focus.base if self._focus else ""
        for row in rows:
            found[_outcome(self._cells.get(base, {}).get(row.name))].append(row)
        for title, members in found.items():
            if members:
                yield Group(title, tuple(members), folded=title == _LEFT_EARLIER)

    def _place(self, name: str) -> tuple[bool, int]:
        """Series order on the base in question, then what is not in it, the newest first."""
        last = max(n for n, c in enumerate(self._shown) if self._cells[c.base][name])
        alive = [
            n
            for n, c in enumerate(self._shown)
            if (found := self._cells[c.base][name]) and found.mark is not MARKS["settled"]
        ]
        place = self._order.get(name)
        return (place is None, -max(alive, default=-last - 1) if place is None else place)

    def _paths(self, name: str) -> tuple[str, ...]:
        patch = self._newest.get(name)
        if patch is not None:
            return patch.paths
        reports = (found[name] for found in self._cells.values())
        return tuple(
            dict.fromkeys(
                path
                for found in reports
                if found and found.patch
                for change in found.patch.paths
                for path in (change.new, change.old)
                if path
            )
        )

    def _file(self, name: str) -> str:
        shared = [path for path in self._paths(name) if self._shares[path] > 1]
        return max(shared, key=lambda path: self._shares[path], default="")

    def _slots(self, name: str, cells: Sequence[Cell | None]) -> Iterator[GridPlace]:
        there = [number for number, found in enumerate(cells) if found]
        alive = [
            number
            for number, found in enumerate(cells)
            if found and found.mark is not MARKS["settled"]
        ]
        for number, found in enumerate(cells):
            column = self._shown[number]
            place, thread = anchor(name, column.base), _thread(number, alive)
            if found is None:
                yield GridPlace(None, place, thread, fine=True)
                continue
            notes = found.patch.notes if found.patch else ()
            decided = tuple(note for note in notes if any(word in note for word in _DECISIONS))
            yield GridPlace(
                cell=found,
                anchor=place,
                thread=thread,
                fine=_is_fine(found) or bool(self._asking and column.base not in self._asking),
                quiet=_is_quiet(found),
                before=self._step(name, max((n for n in there if n < number), default=None)),
                after=self._step(name, min((n for n in there if n > number), default=None)),
                versions=self._versions(found),
                decisions=decided,
                notes=tuple(note for note in notes if note not in decided),
                commands=tuple(_commands(found, column.base in self._asking)),
                stands_on=tuple(self._links(found.patch.blocked_by, column) if found.patch else ()),
                carries=tuple(self._links(self._carried_by(name, column), column)),
            )

    def _step(self, name: str, number: int | None) -> tuple[str, str] | None:
        if number is None:
            return None
        base = self._shown[number].base
        return base, anchor(name, base)

    def _carried_by(self, name: str, column: Column) -> Sequence[str]:
        return self._followers.get(name, ()) if column is self._focus else ()

    def _links(self, names: Sequence[str], column: Column) -> Iterator[tuple[str, str]]:
        cells = self._cells[column.base]
        for name in names:
            yield name, anchor(name, column.base) if cells.get(name) else ""

    def _versions(self, found: Cell) -> Versions | None:
        column = found.column
        source = self._columns.get(column.report.series) if column.report else None
        old = source.contents.get(found.name) if source else None
        new = column.contents.get(found.name) or old
        if new is None:
            return None
        here = self.diffs.add(new)
        if old is None or source is None or same_change(old, new):
            return Versions(here)
        return Versions(here, self.diffs.add(old), self.diffs.change(old, new), source.base)


def _ends(header: Header) -> tuple[str, ...]:
    """The rules that end a patch's life, in words."""
    try:
        return (
            *(f"pull request #{number} is merged" for number in header.upstream_prs),
            *(predicate.text for predicate in header.retire_when),
        )
    except InputError as error:
        return (f"cannot be read: {error}",)


def _last_judged(columns: Sequence[Column]) -> Column | None:
    return next((column for column in reversed(columns) if column.report), None)


def _standing(column: Column | None) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The root of each patch that has one on ``column``, and the followers of each root."""
    followers: dict[str, tuple[str, ...]] = {}
    if column and column.report:
        for root in roots(column.report.needs_review):
            if root.followers:
                followers[root.patch.name] = tuple(patch.name for patch in root.followers)
    tops = {name: top for top, names in followers.items() for name in (top, *names)}
    return tops, followers


# -- groups ------------------------------------------------------------------------------------

_LEFT_EARLIER = "Left earlier"
_NOT_JUDGED = "Not judged"
_OUTCOMES = (
    ReportSection.DECIDE.value,
    _NOT_JUDGED,
    ReportSection.DROPPED.value,
    ReportSection.CARRIED.value,
    _LEFT_EARLIER,
)


def _outcome(found: Cell | None) -> str:
    """The group of a row, by its cell on the base in question."""
    if found is None:
        return _LEFT_EARLIER
    if found.remembered:
        memory = found.remembered.memory
        if memory is Memory.SETTLED:
            return _LEFT_EARLIER
        return _NOT_JUDGED if memory is Memory.UNKNOWN else ReportSection.DECIDE.value
    if found.mark.word == UNFETCHED_WORD or _is_unseen(found.patch):
        return _NOT_JUDGED
    return section(found.patch).value if found.patch else ReportSection.CARRIED.value


def _is_unseen(patch: PatchReport | None) -> bool:
    return patch is not None and patch.verdict is Verdict.NOT_COVERED and patch.skipped is None


def _is_fine(found: Cell) -> bool:
    """Whether a cell may be left out on paper."""
    if found.patch is None:
        return found.remembered is None or found.mark is MARKS["settled"]
    return found.mark is MARKS["settled"] or section(found.patch) is ReportSection.CARRIED


def _is_quiet(found: Cell) -> bool:
    patch = found.patch
    if patch is None or found.mark is MARKS["settled"]:
        return patch is not None
    moved = any(change.old != change.new for change in patch.paths)
    told = patch.evidence or patch.effects or patch.notes or moved
    return found.mark is MARKS["clean"] and not told


def _thread(index: int, alive: Sequence[int]) -> str:
    """The classes of the line through a patch's bases, from where it comes to where it leaves."""
    if index not in alive:
        return ""
    ends = {"first": index - 1, "last": index + 1}
    return " ".join(["alive", *(end for end, neighbour in ends.items() if neighbour not in alive)])


def _searched(
    name: str, subject: str, paths: Sequence[str], patches: Sequence[PatchReport]
) -> Iterator[str]:
    seen = {name, subject, *paths}
    for patch in patches:
        seen.update(path for change in patch.paths for path in (change.old, change.new) if path)
        for evidence in patch.evidence:
            seen.update((evidence.subject or "", f"#{evidence.pr}" if evidence.pr else ""))
            seen.add((evidence.commit or "")[:12])
    yield from sorted(seen - {""})


def _head(
    rows: Sequence[PatchRow], number: int, column: Column, asking: Sequence[Column], folded: bool
) -> BaseHead:
    slots = ((row, row.slots[number]) for row in rows)
    told = tuple(
        (row, slot) for row, slot in slots if slot.cell and slot.cell.mark is not MARKS["settled"]
    )
    return BaseHead(column, anchor("", column.base), column in asking, folded, told)


# -- questions ---------------------------------------------------------------------------------


def _ask(column: Column) -> Ask:
    report = column.report
    assert report is not None
    decide = in_section(report, ReportSection.DECIDE)
    counts = Counter(
        found.mark.word for patch in report.patches if (found := cell(column, patch.name))
    )
    decisions = [
        OpenItem(
            item.name,
            MARKS[item.memory.value],
            _why(item.now) if item.now else remembered_words(item),
            anchor(item.name, column.base),
        )
        for item in to_decide(report)
    ]
    for root in roots([patch for patch in decide if not _is_unseen(patch)]):
        followers = tuple(_asked(patch, column) for patch in root.followers)
        decisions.append(_asked(root.patch, column, followers))
    return Ask(
        column=column,
        decisions=tuple(decisions),
        unseen=tuple(_asked(patch, column) for patch in decide if _is_unseen(patch)),
        watched=tuple(
            OpenItem(name, WATCH, words, anchor(name, column.base))
            for watch in watched(report.patches)
            for name, text in watch.patches
            for words in [f"{watch.commit.subject}: {text}" if watch.commit else text]
        ),
        requirements=tuple(map(requirement_words, report.requirements.changes)),
        unknown_requirements=report.requirements.unknown,
        settled=settled(report),
        counts=tuple((mark, counts[word]) for word, mark in MARKS.items() if counts[word]),
        leaving=len(in_section(report, ReportSection.DROPPED)),
        carried=len(in_section(report, ReportSection.CARRIED)),
    )


def _asked(patch: PatchReport, column: Column, followers: tuple[OpenItem, ...] = ()) -> OpenItem:
    place = anchor(patch.name, column.base)
    found = cell(column, patch.name)
    mark = found.mark if found else MARKS[patch.verdict.value]
    return OpenItem(patch.name, mark, _why(patch), place, followers)


def _why(patch: PatchReport) -> str:
    """The first reason in a line: the commit where there is one, else the words."""
    for evidence in patch.evidence:
        commit = commit_of(evidence)
        number = f" (#{commit.pr})" if commit and commit.pr else ""
        return f"{commit.subject}{number}" if commit else evidence.text
    return state(patch)


def _commands(found: Cell, is_open: bool) -> Iterator[str]:
    """What a reader may want to type next."""
    name, base = shlex.quote(printable(found.name)), found.column.base
    memory = found.remembered.memory if found.remembered else None
    if memory is Memory.HELD and found.column.has_series:
        yield f"patchq resolve {name} {base}"
    elif memory is Memory.RESURFACED or memory is Memory.HELD:
        yield f"patchq revive {name}"
    elif memory is Memory.LOST and found.remembered:
        lost = found.remembered
        yield f"patchq port {name} --from {lost.since} --to {lost.missing}"
    elif is_open and found.patch and not found.column.has_series:
        yield f"patchq rebase --onto {base}"
    if found.column.report:
        yield f"patchq why {name} --onto {base}"
    series = (
        base if found.column.has_series else (found.column.report and found.column.report.series)
    )
    if series and memory is None:
        yield f"patchq show {name} {series}"
