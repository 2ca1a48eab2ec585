"""Hand a result to its renderer, and the text to where it was asked for."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from patchq.errors import InputError, Where
from patchq.files import replace_file, sweep
from patchq.model.verdict import Matrix, Report
from patchq.report.commit import NO_LINKS, CommitLinks
from patchq.written import note

if TYPE_CHECKING:
    from rich.console import Console

    from patchq.cli.session import Session
    from patchq.model.patch import Patch
    from patchq.report.html import Made


class Colour(Enum):
    """When output is coloured."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def apply_colour(colour: Colour) -> None:
    """Have all output coloured or not; see NO_COLOR and FORCE_COLOR in rich's documentation."""
    if colour is Colour.AUTO:
        return
    wanted, other = ("FORCE_COLOR", "NO_COLOR")
    if colour is Colour.NEVER:
        wanted, other = other, wanted
    os.environ.pop(other, None)
    os.environ[wanted] = "1"


class Format(Enum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


def write_report(
    report: Report,
    form: Format,
    *,
    to: Path | None = None,
    links: CommitLinks = NO_LINKS,
    made: Made | None = None,
    versions: tuple[Mapping[str, Patch], Mapping[str, Patch]] | None = None,
) -> None:
    """Write a report to a file or to stdout; ``links`` link commits and pull requests.

    ``versions`` are the patches as they were, and as they are carried, which a page shows.
    """
    if form is Format.TABLE:
        from patchq.report.table import render_table

        _table(lambda console: render_table(report, console), to)
    elif form is Format.JSON:
        from patchq.report.jsonreport import render_json

        text(render_json(report), to)
    elif form is Format.MARKDOWN:
        from patchq.report.markdown import render_markdown

        text(render_markdown(report, links=links), to)
    else:
        from patchq.report.html import render_html

        old, new = versions or ({}, {})
        text(render_html(report, links=links, made=made, old=old, new=new), to)


def write_matrix(
    matrix: Matrix,
    form: Format,
    *,
    title: str,
    to: Path | None = None,
    links: CommitLinks = NO_LINKS,
    unfolded: bool = False,
    made: Made | None = None,
) -> None:
    """Write the lifecycle matrix to a file or to stdout."""
    if form is Format.TABLE:
        from patchq.report.matrixtable import render_matrix

        _table(lambda console: render_matrix(matrix, console, unfolded=unfolded), to)
    elif form is Format.JSON:
        from patchq.report.jsonreport import render_matrix_json

        text(render_matrix_json(matrix), to)
    elif form is Format.HTML:
        from patchq.report.html import render_matrix_html

        text(render_matrix_html(matrix, title=title, links=links, made=made), to)
    else:
        from patchq.report.markdown import render_matrix_markdown

        text(render_matrix_markdown(matrix, links=links), to)


def title_of(run: Session) -> str:
    """What a page of all patches is headed by: as the settings say, else by upstream's name."""
    found = run.api.web
    name = (found.url or run.lock.upstream).rstrip("/").rpartition("/")[2]
    return found.title or f"Patches on {name.removesuffix('.git')}"


def made_by(run: Session) -> Made:
    """What a page says of its making."""
    from patchq import __version__
    from patchq.engine.series.message import clock
    from patchq.git.revision import revision
    from patchq.model.workspace import LOCK, SERIES
    from patchq.report.html import Made

    found = revision(run.workspace.root, (LOCK, SERIES))
    if found is None:
        return Made(__version__, clock())
    return Made(__version__, clock(), found.commit, found.changed)


def _table(render: Callable[[Console], None], to: Path | None) -> None:
    if to is None:
        render(terminal())
        return
    from patchq.report.terminal import Terminal

    stream = StringIO()
    render(Terminal(file=stream, highlight=False, width=100))
    text(stream.getvalue(), to)


def write_stop(report: Report, stopped: str, *, solvable: bool) -> None:
    """Write to stdout why a rebase stopped, and how to go on."""
    from patchq.report.stopped import render_stop

    render_stop(report, stopped, solvable=solvable, console=terminal())


def terminal(*, pipe_width: int | None = None) -> Console:
    """Stdout, as renderers take it, ``pipe_width`` columns wide if nothing sets the width."""
    from patchq.report.terminal import Terminal

    sized = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = None if sized else pipe_width
    return Terminal(file=sys.stdout, highlight=False, soft_wrap=False, width=width)


@contextmanager
def paged() -> Iterator[Console]:
    """Stdout through the user's pager on a terminal, as git does (git-config(1), core.pager)."""
    console = terminal()
    if not console.is_terminal:
        yield console
        return
    os.environ.setdefault("LESS", "FRX")
    import pydoc

    from rich.pager import Pager

    class UsersPager(Pager):
        """The user's pager; the terminal itself if nobody is there to leaf through."""

        def show(self, content: str) -> None:
            if sys.stdin.isatty():
                pydoc.pager(content)
            else:
                console.file.write(content)
                console.file.flush()

    with console.pager(UsersPager(), styles=True):
        yield console


def document(kind: str, facts: Mapping[str, object]) -> None:
    """Print ``facts`` as a JSON document with the schema ``patchq.<kind>/1``."""
    from patchq.report.document import render_document

    text(render_document({"schema": f"patchq.{kind}/1", **facts}))


def compact(value: Mapping[str, object]) -> None:
    """Print ``value`` as JSON on one line, as engines take it in an output."""
    import json

    typer.echo(json.dumps(value))


def text(content: str, to: Path | None = None) -> None:
    """Write text to a file or to stdout."""
    if to is None:
        typer.echo(content, nl=False)
        return
    check_place(to)
    raw = content.encode("utf-8", "surrogateescape")
    if to.exists() and not to.is_file():
        to.write_bytes(raw)  # a pipe, or a device
        return
    sweep(to.resolve().parent)
    try:
        replace_file(to.resolve(), raw)
    finally:
        if to.is_file() and to.read_bytes() == raw:
            note(str(to))


def check_place(to: Path) -> None:
    """Raise :class:`InputError` if a report cannot be written to ``to``."""
    refuse_series(to)
    if not to.parent.is_dir():
        raise InputError(
            f"there is no directory {to.parent}, so nothing was written",
            hint=f"`mkdir -p {shlex.quote(str(to.parent))}`, or write elsewhere.",
        )


def refuse_series(to: Path, what: str = "a report") -> None:
    """Raise :class:`InputError` if ``to`` is where patchq keeps the series, the lock or its state.

    ``what`` is what would be written there.
    """
    from patchq.errors import PatchqError
    from patchq.model.workspace import find_workspace

    target = to.resolve()
    try:
        workspace = find_workspace(target.parent)
    except PatchqError:
        return
    own = (workspace.lock_path, workspace.series_dir, workspace.state_dir)
    if not {target, *target.parents}.isdisjoint(own):
        raise InputError(
            f"series/, .patchq/ and upstream.lock are not a place for {what}",
            where=Where(str(to)),
            hint="Write it elsewhere; nothing was written.",
        )
