"""Reports and the lifecycle matrix as web pages: one file each, nothing loaded from anywhere.

All text of a page is escaped by the templates; a content security policy with the hashes of the
page's own style and script keeps everything else from running, whatever slips through.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from patchq.model.verdict import Column, Matrix, PatchReport, Report
from patchq.report.cells import MARKS, Cell, Mark, cell, marks
from patchq.report.commit import NO_LINKS, CommitLinks, commit_of
from patchq.report.look import Look
from patchq.report.sections import (
    LOOK_AT,
    REQUIREMENTS,
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
from patchq.report.text import day, printable, readable

_WATCH = Mark("watch", Look("◎", "*", "yellow"), LOOK_AT)


def render_html(report: Report, *, links: CommitLinks = NO_LINKS) -> str:
    """``report`` as one self-contained page.

    ``links`` make links of commits and pull requests.
    """
    verdicts = [patch.verdict.value for patch in report.patches]
    return _page(
        "report.html.j2",
        styles=("style.css.j2", "report.css"),
        scripts=("theme.js",),
        report=report,
        links=links,
        marks=MARKS,
        bar=sorted(report.patches, key=lambda patch: list(ReportSection).index(section(patch))),
        counts=[(mark, verdicts.count(word)) for word, mark in MARKS.items() if word in verdicts],
        remembered=to_decide(report),
        decide=in_section(report, ReportSection.DECIDE),
        watched=watched(report.patches),
        requirements=[*map(requirement_words, report.requirements.changes)],
        unknown_requirements=report.requirements.unknown,
        requirements_title=REQUIREMENTS,
        dropped=in_section(report, ReportSection.DROPPED),
        carried=in_section(report, ReportSection.CARRIED),
        settled=settled(report),
    )


def render_matrix_html(
    matrix: Matrix, *, title: str = "Patch lifecycle", links: CommitLinks = NO_LINKS
) -> str:
    """``matrix`` as one self-contained page: a grid whose cells open their evidence.

    ``links`` as for :func:`render_html`. The patches still alive come first, then
    the latest to leave. Without JavaScript the evidence stands below the grid, and the cells lead
    to it.
    """
    rows = sorted((_row(matrix, name) for name in matrix.names), key=lambda row: -row.until)
    return _page(
        "matrix.html.j2",
        styles=("style.css.j2", "matrix.css"),
        scripts=("theme.js", "matrix.js"),
        title=title,
        links=links,
        rows=rows,
        bases=[_base(matrix, index, rows) for index in range(len(matrix.columns))],
        asks=[_ask(column) for column in reversed(matrix.open)],
        marks=marks(matrix),
        kinds=sorted({row.kind or "" for row in rows}),
    )


# -- what the pages show -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Slot:
    """A place in the grid: its cell if the patch has one there, and the line through it."""

    cell: Cell | None
    anchor: str
    thread: str
    fine: bool
    before: tuple[str, str] | None
    after: tuple[str, str] | None


@dataclass(frozen=True)
class _Row:
    """A patch through the bases.

    ``until`` is the last base that it lived on, ``text`` what a search looks into.
    """

    name: str
    short: str
    kind: str | None
    age: int
    until: int
    anchor: str
    text: str
    slots: tuple[_Slot, ...]


@dataclass(frozen=True)
class _Base:
    """A base, and every patch that something happened to there."""

    column: Column
    anchor: str
    open: bool
    slots: tuple[tuple[_Row, _Slot], ...]


@dataclass(frozen=True)
class _Asked:
    """One thing to decide or to look at, and where it stands."""

    name: str
    mark: Mark
    why: str
    link: str


@dataclass(frozen=True)
class _Ask:
    """What an open base asks for."""

    base: str
    decisions: tuple[_Asked, ...]
    watched: tuple[_Asked, ...]
    dropped: int
    carried: int


def _anchor(name: str, base: str = "") -> str:
    """The address of a cell, a patch or a base within the page: valid as an id and in a link."""
    return quote(readable(f"{name}@{base}" if base else name), safe="@+")


def _row(matrix: Matrix, name: str) -> _Row:
    cells = [cell(column, name) for column in matrix.columns]
    patches = [found.patch for found in cells if found and found.patch]
    alive = [
        index for index, found in enumerate(cells) if found and found.mark is not MARKS["settled"]
    ]
    return _Row(
        name=name,
        short=name.removesuffix(".patch"),
        kind=next((patch.kind for patch in reversed(patches) if patch.kind), None),
        age=max((patch.age for patch in patches), default=0),
        until=alive[-1] if alive else -1,
        anchor=_anchor(name),
        text=" ".join(_searched(name, patches)).lower(),
        slots=tuple(_slots(cells, matrix, name, alive)),
    )


def _slots(
    cells: Sequence[Cell | None], matrix: Matrix, name: str, alive: Sequence[int]
) -> Iterator[_Slot]:
    places = [index for index, found in enumerate(cells) if found]
    bases = [column.base for column in matrix.columns]
    for index, found in enumerate(cells):
        before = max((place for place in places if place < index), default=None)
        after = min((place for place in places if place > index), default=None)
        yield _Slot(
            cell=found,
            anchor=_anchor(name, bases[index]),
            thread=_thread(index, alive),
            fine=_is_fine(found),
            before=None if before is None else (bases[before], _anchor(name, bases[before])),
            after=None if after is None else (bases[after], _anchor(name, bases[after])),
        )


def _thread(index: int, alive: Sequence[int]) -> str:
    """The classes of the line through a patch's bases, from where it comes to where it leaves."""
    if index not in alive:
        return ""
    ends = {"first": index - 1, "last": index + 1}
    return " ".join(["alive", *(end for end, neighbour in ends.items() if neighbour not in alive)])


def _is_fine(found: Cell | None) -> bool:
    """Whether a cell may be left out on paper."""
    if found is None or found.patch is None:
        return True
    return found.mark is MARKS["settled"] or section(found.patch) is ReportSection.CARRIED


def _searched(name: str, patches: Sequence[PatchReport]) -> Iterator[str]:
    seen = {name}
    for patch in patches:
        seen.update(path for change in patch.paths for path in (change.old, change.new) if path)
        for evidence in patch.evidence:
            seen.update((evidence.subject or "", f"#{evidence.pr}" if evidence.pr else ""))
            seen.add((evidence.commit or "")[:12])
    yield from sorted(seen)


def _base(matrix: Matrix, index: int, rows: Sequence[_Row]) -> _Base:
    column = matrix.columns[index]
    return _Base(
        column=column,
        anchor=_anchor("", column.base),
        open=column in matrix.open,
        slots=tuple(
            (row, slot)
            for row in rows
            if (slot := row.slots[index]).cell and slot.cell.mark is not MARKS["settled"]
        ),
    )


def _ask(column: Column) -> _Ask:
    report = column.report
    assert report is not None
    decisions = [
        _Asked(
            item.name,
            MARKS[item.memory.value],
            _why(item.now) if item.now else remembered_words(item),
            _anchor(item.name, column.base),
        )
        for item in to_decide(report)
    ]
    decisions += [
        _Asked(
            patch.name,
            MARKS[patch.verdict.value],
            _why(patch),
            _anchor(patch.name, column.base),
        )
        for patch in in_section(report, ReportSection.DECIDE)
    ]
    looks = [
        _Asked(name, _WATCH, words, _anchor(name, column.base))
        for watch in watched(report.patches)
        for name, text in watch.patches
        for words in [f"{watch.commit.subject}: {text}" if watch.commit else text]
    ]
    return _Ask(
        base=column.base,
        decisions=tuple(decisions),
        watched=tuple(looks),
        dropped=len(in_section(report, ReportSection.DROPPED)),
        carried=len(in_section(report, ReportSection.CARRIED)),
    )


def _why(patch: PatchReport) -> str:
    """The first reason in a line: the commit where there is one, else the words."""
    for evidence in patch.evidence:
        commit = commit_of(evidence)
        number = f" (#{commit.pr})" if commit and commit.pr else ""
        return f"{commit.subject}{number}" if commit else evidence.text
    return state(patch)


# -- how they are written ----------------------------------------------------------------------


def _page(template: str, *, styles: Sequence[str], scripts: Sequence[str], **facts: object) -> str:
    environment = _environment()
    style = "".join(environment.get_template(name).render() for name in styles)
    script = "".join(_source(environment, name) for name in scripts)
    # style and script are files of ours and hold nothing from upstream
    return environment.get_template(template).render(
        style=Markup(style), script=Markup(script), **facts
    )


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("patchq.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_spelled,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        commit=commit_of,
        day=day,
        remembered=remembered_words,
        sha256=_digest,
        state=state,
    )
    return environment


def _spelled(value: object) -> object:
    """What a template writes, with control characters and broken bytes as escapes."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(text: str) -> str:
    """The hash of an inline style or script, as a content security policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
