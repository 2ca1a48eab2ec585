"""Reports and the lifecycle matrix as web pages: one file each, nothing loaded from anywhere.

All text of a page is escaped by the templates; a content security policy with the hashes of the
page's own style and script keeps everything else from running, whatever slips through. With
scripts the evidence is read out of the page's ``noscript``, so that a large page is quick to open;
without, it stands below the grid.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from patchq.model.patch import Patch
from patchq.model.verdict import Column, Matrix, Report
from patchq.model.words import counted
from patchq.report.commit import NO_LINKS, CommitLinks, commit_of
from patchq.report.page import Page
from patchq.report.page_making import make_page
from patchq.report.sections import REQUIREMENTS, remembered_words
from patchq.report.summary import facts, missing_path, state
from patchq.report.text import day, printable

_SHORT = 9
_PULL = re.compile(r"(?<![\w#&/])#(\d{1,9})\b")
_SHOWN = 8


@dataclass(frozen=True)
class Made:
    """What a page says of its making: the version, when (in seconds since 1970), and the commit of
    the workspace, with changes that are not committed or without."""

    version: str
    when: int
    commit: str | None = None
    changed: bool = False

    @property
    def words(self) -> str:
        """All of it in a line."""
        when = f"{datetime.fromtimestamp(self.when, UTC):%Y-%m-%d %H:%M} UTC"
        source = ""
        if self.commit:
            changes = " and changes that are not committed" if self.changed else ""
            source = f" from {self.commit[:_SHORT]}{changes}"
        return f"Made by patchq {self.version}{source}, {when}"


def render_html(
    report: Report,
    *,
    links: CommitLinks = NO_LINKS,
    made: Made | None = None,
    old: Mapping[str, Patch] | None = None,
    new: Mapping[str, Patch] | None = None,
) -> str:
    """``report`` as one self-contained page.

    ``links`` make links of commits and pull requests. ``old`` are the patches of the series,
    ``new`` as they are carried.
    """
    source = Column(report.series, report.base_commit, "", True, None, contents=old or {})
    target = Column(report.onto, report.onto_commit, "", False, report, contents=new or {})
    guards = f" with {', '.join(report.guards)}" if report.guards else ""
    commits = f"{report.base_commit[:_SHORT]} → {report.onto_commit[:_SHORT]}"
    return _write(
        make_page(Matrix((source, target)), (target,), (target,)),
        title=f"{report.series} → {report.onto}",
        lead=f"{counted(len(report.patches), 'patch')}{guards} · {commits}",
        single=True,
        links=links,
        made=made,
    )


def render_matrix_html(
    matrix: Matrix,
    *,
    title: str = "Patch lifecycle",
    links: CommitLinks = NO_LINKS,
    made: Made | None = None,
) -> str:
    """``matrix`` as one self-contained page: what is to decide, then a grid of patches and bases.

    ``links`` as for :func:`render_html`. Each cell opens its evidence.
    """
    bases = [column.base for column in matrix.columns]
    span = (
        "" if not bases else f", {bases[0]}" if len(bases) == 1 else f", {bases[0]} to {bases[-1]}"
    )
    return _write(
        make_page(matrix, matrix.columns, tuple(reversed(matrix.open))),
        title=title,
        lead=f"{counted(len(matrix.names), 'patch')}, {counted(len(bases), 'base')}{span}",
        single=False,
        links=links,
        made=made,
    )


def _write(page: Page, *, links: CommitLinks, made: Made | None, **facts: object) -> str:
    environment = _environment(links)
    style = environment.get_template("page.css.j2").render()
    script = _source(environment, "page.js")
    # style and script are files of ours and hold nothing from upstream
    return environment.get_template("page.html.j2").render(
        page=page,
        links=links,
        made=made.words if made else "",
        style=Markup(style),
        script=Markup(script),
        diffs=Markup(page.diffs.as_json()),
        shown=_SHOWN,
        requirements_title=REQUIREMENTS,
        **facts,
    )


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _environment(links: CommitLinks) -> Environment:
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
        linked=lambda text: _linked(text, links),
        missing_path=missing_path,
        remembered=remembered_words,
        sha256=_digest,
        facts=facts,
        state=state,
    )
    return environment


def _spelled(value: object) -> object:
    """What a template writes, with control characters and broken bytes as escapes."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _linked(text: str, links: CommitLinks) -> Markup:
    """Prose of one or more lines, its numbers of pull requests as links where these are known."""
    prose = "\n".join(map(printable, text.split("\n")))
    pieces = _PULL.split(prose)
    found = [escape(pieces[0])]
    for number, rest in zip(pieces[1::2], pieces[2::2], strict=True):
        address = links.to_pull(int(number))
        link = Markup('<a href="{}" rel="noreferrer">#{}</a>').format(address, number)
        found += [link if address else escape(f"#{number}"), escape(rest)]
    return Markup("").join(found)


def _digest(text: str) -> str:
    """The hash of an inline style or script, as a content security policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
