"""``patchq resolve``: solve the conflict of a held patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli.options import TagArgument, patch_or_tag
from patchq.cli.series_edits import written_words
from patchq.cli.session import Session, session

if TYPE_CHECKING:
    from patchq.engine.rebase.solving.resolve import HeldPatches, OpenedConflict
    from patchq.engine.series.edits import Edited


def resolve(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[PATCH]", help="A held patch.")] = None,
    tag: TagArgument = None,
    go_on: Annotated[
        bool, typer.Option("--continue", help="Take what was solved in the worktree.")
    ] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Leave the patch held.")] = False,
) -> int:
    """Solve the conflict of a held patch.

    It joins its series when it is solved; at once if it conflicts no more, or just this conflict
    was solved before.

    Without a name, the held patches are listed: first those that conflict by themselves, then
    those that follow them.

    \b
    Examples:
      patchq resolve
      patchq resolve v0.5.18
      patchq resolve arch-prune.patch
      patchq resolve --continue
    """
    from patchq.engine.rebase.solving.resolve import OpenedConflict

    run = session(context)
    if name is not None:
        name, tag = patch_or_tag(run, name, tag)
    if sum((bool(name), go_on, abort)) > 1:
        raise typer.BadParameter("give a patch, --continue or --abort")
    if go_on:
        _say(run, run.api.continue_resolve())
        return 0
    if abort:
        left = run.api.abort_resolve()
        typer.echo(
            f"{left.name} stays out of the series on {left.tag}"
            if left
            else "what was being solved is forgotten; series/ is as it was"
        )
        return 0
    series = tag or run.newest_series
    if name is None:
        return _list(run, series)
    opened = run.api.resolve(name, series)
    if isinstance(opened, OpenedConflict):
        return say_opened(opened, series)
    _say(run, opened)
    return 0


def say_opened(opened: OpenedConflict, tag: str) -> int:
    """Say what there is to solve and how to go on; the exit status."""
    from patchq.engine.rebase.solving.state import WAYS_ON

    typer.echo(f"{opened.report.name} conflicts on {tag} in {', '.join(opened.conflicts)}")
    typer.echo(WAYS_ON)
    return 1


def _say(run: Session, edited: Edited) -> None:
    run.say_notes(edited.notes)
    typer.echo(f"{edited.new.tag}: {written_words(edited.changes, dry_run=False)}")


def _list(run: Session, tag: str) -> int:
    found = run.api.held(tag)
    if not (found.roots or found.followers):
        typer.echo(f"nothing is held on {tag}")
        return 0
    typer.echo(f"held on {tag}: {held_words(found)}")
    for name in found.roots:
        typer.echo(f"  {name}")
    for name, leaders in found.followers.items():
        typer.echo(f"  {name} follows {', '.join(leaders)}")
    return 1


def held_words(found: HeldPatches) -> str:
    """How many conflict by themselves, and how many only follow those."""
    roots, followers = len(found.roots), len(found.followers)
    words = "1 conflicts by itself" if roots == 1 else f"{roots} conflict by themselves"
    them = "it" if roots == 1 else "them"
    follow = "1 follows" if followers == 1 else f"{followers} follow"
    return f"{words}, {follow} {them}" if followers else words


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resolve")(resolve)
