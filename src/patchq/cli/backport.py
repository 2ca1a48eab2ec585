"""``patchq backport``: upstream changes onto a tag, as patches of its series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.options import DryRun, Json, Main
from patchq.cli.session import session
from patchq.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchq.cli.session import Session
    from patchq.engine.backport.backport import BackportTerms, Brought, PrerequisiteMode
    from patchq.engine.backport.upstream_change import ChangeReader, UpstreamChange
    from patchq.model.series import Guard


def backport(
    context: typer.Context,
    requests: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PR|COMMIT|RANGE]...",
            help="What to bring: a PR's number, pull/N (its head), a commit, A..B.",
        ),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", metavar="FILE", help="A .diff or .patch of an upstream change."),
    ] = None,
    onto: Annotated[
        str | None, typer.Option("--onto", metavar="TAG", help="The base; default: newest series.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What the patch is called.")
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option("--guard", metavar="GUARD", help="Apply only with GUARD on: a variant."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="GLOB", help="Leave these files out, too (gitignore)."),
    ] = None,
    main: Main = None,
    with_prerequisites: Annotated[
        bool, typer.Option("--with-prerequisites", help="Bring what it needs, as patches.")
    ] = False,
    squash: Annotated[
        bool, typer.Option("--squash", help="Bring it with what it needs as one patch.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="The most prerequisites.")
    ] = 5,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Make patches of upstream changes, on top of a series.

    If one does not apply, the earlier upstream commits that it needs are searched for and
    shown. All that is asked for comes in, or nothing (exit code 1).

    \b
    Examples:
      patchq backport 35371 35496 --onto v0.5.18
      patchq backport 35496 --onto v0.5.18 --with-prerequisites
      patchq backport c14312a66420 --guard experiment
      patchq backport --file 36186.diff --onto v0.5.18
    """
    from patchq.engine.backport.backport import Backporter
    from patchq.engine.backport.upstream_change import ChangeReader
    from patchq.engine.workspace.transaction import Transaction

    here = session(context)
    if not requests and not file:
        raise InputError("nothing is asked for", hint="Name a PR, a commit or a range, or --file.")
    if name is not None and len(requests or ()) + len(file or ()) > 1:
        raise InputError("--name names one patch", hint="Bring the changes one by one.")
    tag = onto or here.newest_series
    patterns = (*here.settings.backport_exclude, *(exclude or ()))
    changes = ChangeReader(here.store, here.settings, patterns)
    with here.writing() as workspace, here.progress("backport") as progress:
        directory = workspace.load_or_empty(tag)
        wanted = _wanted(here, changes, tag, requests or (), file or (), main)
        terms = _terms(guard or (), name, _company(with_prerequisites, squash), limit)
        backporter = Backporter(here.project, directory, changes, terms)
        brought: list[Brought] = []
        for number, (change, source) in enumerate(wanted, 1):
            progress(number, len(wanted), change.title)
            brought.append(backporter.bring(change, source))
            if not brought[-1].patches:
                break
        done = all(one.patches for one in brought)
        if done and not dry_run:
            transaction = Transaction(workspace, here.typed(tag, "--onto"))
            backporter.stage(transaction)
            transaction.commit()
    for notice in (notice for one in brought for notice in one.notices):
        here.notice(notice)
    from patchq.report.backport import render_json, render_text

    if as_json:
        output.text(render_json(tag, brought, written=done and not dry_run))
    else:
        output.text(render_text(tag, brought, done=done, dry_run=dry_run))
    return 0 if done else 1


def _wanted(
    here: Session,
    changes: ChangeReader,
    tag: str,
    requests: Sequence[str],
    files: Sequence[Path],
    main: str | None,
) -> list[tuple[UpstreamChange, str | None]]:
    """The changes asked for, in order, each with where it comes from if that is a file."""
    import sys

    from patchq.engine.backport.requests import Sources
    from patchq.engine.importing.cut_from import OriginFinder
    from patchq.engine.workspace.main_branch import main_tip

    tip = main_tip(here.project, main)
    sources = Sources(here.project, changes, tip, terminal=sys.stderr.isatty())
    wanted: list[tuple[UpstreamChange, str | None]] = []
    for request in requests:
        located = sources.find(request)
        for notice in located.notices:
            here.notice(notice)
        wanted += [(change, None) for change in located.changes]
    origins = OriginFinder(here.project, tip)
    for file in files:
        for foreign in origins.read(str(file), file.read_bytes(), tag, changes):
            here.notice(f"{file}: {foreign.cut_from}")
            wanted.append((foreign.change, file.name))
    return wanted


def _terms(
    guards: Sequence[str], name: str | None, company: PrerequisiteMode, limit: int
) -> BackportTerms:
    from datetime import UTC, datetime

    from patchq.engine.backport.backport import BackportTerms
    from patchq.engine.series.message import now

    today = datetime.fromtimestamp(int(now().split()[0]), UTC).date().isoformat()
    return BackportTerms(today, tuple(map(_guard, guards)), name, company, limit)


def _company(with_prerequisites: bool, squash: bool) -> PrerequisiteMode:
    from patchq.engine.backport.backport import PrerequisiteMode

    if squash:
        return PrerequisiteMode.SQUASHED
    return PrerequisiteMode.PATCHES if with_prerequisites else PrerequisiteMode.NONE


def _guard(text: str) -> Guard:
    from patchq.model.series import Guard

    word = text.removeprefix("#")
    return Guard(word.lstrip("+-"), not word.startswith("-"))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("backport")(backport)
