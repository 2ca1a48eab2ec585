"""``patchq resolve``: solve the conflict of a held patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from patchq.cli.options import Json, TagArgument, patch_or_tag
from patchq.cli.series_edits import say_edited
from patchq.cli.session import Session, session

if TYPE_CHECKING:
    from patchq.engine.rebase.solving.resolve import HeldPatches, OpenedConflict


def resolve(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[PATCH]", help="A held patch.")] = None,
    tag: TagArgument = None,
    go_on: Annotated[
        bool, typer.Option("--continue", help="Take what was solved in the worktree.")
    ] = False,
    abort: Annotated[
        bool, typer.Option("--abort", help="Leave the patch out of the series.")
    ] = False,
    accept_drift: Annotated[
        str | None,
        typer.Option("--accept-drift", metavar="WHY", help="Take a drifted patch all the same."),
    ] = None,
    json: Json = False,
) -> int:
    """Solve the conflict of a held patch.

    It joins its series when it is solved; at once if it conflicts no more, or just this conflict
    was solved before.

    Without a name, the held patches are listed: first those that need review by themselves, then
    those that follow them.

    \b
    Examples:
      patchq resolve
      patchq resolve v0.5.18
      patchq resolve arch-prune.patch
      patchq resolve gate.patch --accept-drift 'only renamed'
      patchq resolve --continue
    """
    from patchq.engine.rebase.solving.resolve import OpenedConflict

    run = session(context)
    if name is not None:
        name, tag = patch_or_tag(run, name, tag)
    if sum((bool(name), go_on, abort)) > 1:
        raise typer.BadParameter("give a patch, --continue or --abort")
    if accept_drift is not None and not (name and accept_drift.strip()):
        raise typer.BadParameter("--accept-drift needs a patch and a reason")
    if go_on:
        say_edited(context, run.api.continue_resolve(), dry_run=False, as_json=json)
        return 0
    if abort:
        left = run.api.abort_resolve()
        if json:
            _print_json(left.tag if left else None)
        elif left:
            typer.echo(f"{left.name} stays out of the series on {left.tag}")
        else:
            typer.echo("what was being solved is forgotten; series/ is as it was")
        return 0
    series = tag or run.newest_series
    if name is None:
        return _list(run, series, as_json=json)
    opened = run.api.resolve(name, series, accept_drift=accept_drift)
    if isinstance(opened, OpenedConflict):
        return say_opened(run, opened, series, as_json=json)
    say_edited(context, opened, dry_run=False, as_json=json)
    return 0


def say_opened(run: Session, opened: OpenedConflict, tag: str, *, as_json: bool) -> int:
    """Say what there is to solve and how to go on; the exit status."""
    from patchq.engine.rebase.session import WORKTREE
    from patchq.engine.rebase.solving.state import WAYS_ON

    if as_json:
        name, worktree = opened.report.name, str(run.workspace.state_dir / WORKTREE)
        found = {"name": name, "conflicts": list(opened.conflicts), "worktree": worktree}
        _print_json(tag, opened=found)
        return 1
    typer.echo(f"{opened.report.name} conflicts on {tag} in {', '.join(opened.conflicts)}")
    typer.echo(WAYS_ON)
    return 1


def _print_json(
    tag: str | None,
    *,
    held: list[dict[str, Any]] | None = None,
    opened: dict[str, Any] | None = None,
) -> None:
    from patchq.cli import output

    output.document("resolve", {"series": tag, "held": held, "opened": opened})


def _list(run: Session, tag: str, *, as_json: bool) -> int:
    found = run.api.held(tag)
    rows = {**dict.fromkeys(found.roots, ()), **found.followers}
    if as_json:
        _print_json(tag, held=[{"name": n, "follows": list(after)} for n, after in rows.items()])
        return int(bool(rows))
    if not rows:
        typer.echo(f"nothing is held on {tag}")
        return 0
    typer.echo(f"held on {tag}: {held_words(found)}")
    for name, leaders in rows.items():
        typer.echo(f"  {name} follows {', '.join(leaders)}" if leaders else f"  {name}")
    return 1


def held_words(found: HeldPatches) -> str:
    """How many need review by themselves, and how many only follow those."""
    roots, followers = len(found.roots), len(found.followers)
    words = "1 needs review by itself" if roots == 1 else f"{roots} need review by themselves"
    them = "it" if roots == 1 else "them"
    follow = "1 follows" if followers == 1 else f"{followers} follow"
    return f"{words}, {follow} {them}" if followers else words


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resolve")(resolve)
