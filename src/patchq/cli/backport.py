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
    from patchq.engine.backport.backport import PrerequisiteMode


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
    here = session(context)
    if not requests and not file:
        raise InputError("nothing is asked for", hint="Name a PR, a commit or a range, or --file.")
    if name is not None and len(requests or ()) + len(file or ()) > 1:
        raise InputError("--name names one patch", hint="Bring the changes one by one.")
    tag = onto or here.newest_series
    with here.progress("backport") as progress:
        brought = here.api.backport(
            requests or (),
            file or (),
            tag,
            name=name,
            guards=guard or (),
            exclude=exclude or (),
            main=main,
            prerequisites=_mode(with_prerequisites, squash),
            limit=limit,
            dry_run=dry_run,
            progress=progress,
        )
    done = all(one.patches for one in brought)
    for notice in (notice for one in brought for notice in one.notices):
        here.notice(notice)
    from patchq.report.backport import render_json, render_text

    if as_json:
        output.text(render_json(tag, brought, written=done and not dry_run))
    else:
        output.text(render_text(tag, brought, done=done, dry_run=dry_run))
    return 0 if done else 1


def _mode(with_prerequisites: bool, squash: bool) -> PrerequisiteMode:
    from patchq.engine.backport.backport import PrerequisiteMode

    if squash:
        return PrerequisiteMode.SQUASHED
    return PrerequisiteMode.PATCHES if with_prerequisites else PrerequisiteMode.NONE


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("backport")(backport)
