"""``patchq edit``: open a series as commits in a worktree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Guards, Variants
from patchq.cli.session import Session, session
from patchq.model.words import counted

if TYPE_CHECKING:
    from patchq.engine.edit.state import Edit
    from patchq.model.series import SeriesEntry

_WORDS = {
    "guards": "off by their guards (--with GUARD)",
    "not_covered": "not covered by the base",
}


def edit(
    context: typer.Context,
    tag: Annotated[
        str | None,
        typer.Argument(metavar="[TAG]", help="The series; default: the newest. A patch will do."),
    ] = None,
    patch: Annotated[
        str | None,
        typer.Argument(metavar="[PATCH]", help="Open the series up to this patch; default: all."),
    ] = None,
    guards: Guards = None,
    variants: Variants = None,
    abort: Annotated[
        bool, typer.Option("--abort", help="Forget the open edit; nothing is written.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Say what was opened as JSON.")] = False,
) -> None:
    """Open a series as commits, to change with any git tool.

    The worktree is .patchq/edit, one commit a patch.

    Amend, rebase, split, reorder, drop and add commits there; `patchq refresh` then brings them
    back as patch files. A commit's Patch-Name trailer says which file it is.

    \b
    Examples:
      patchq edit
      patchq edit v0.5.17 fa3-off.patch
      patchq edit fa3-off.patch --with nemotron
      patchq edit --abort
    """
    run = session(context)
    if abort:
        if tag or patch or guards or variants:
            raise typer.BadParameter("--abort goes alone")
        _abort(run, as_json=json)
        return
    if tag is not None and tag not in run.lock.names:
        patch, tag = tag, patch
    series = tag or run.newest_series
    with run.progress(f"opening {series}"):
        opened = run.api.edit(series, patch, guards or (), variants or ())
    show_opened(run, opened, as_json=json)


def show_opened(run: Session, opened: Edit, *, as_json: bool) -> None:
    """Say where the worktree is, and what to do in it."""
    from patchq.engine.edit.state import WORKTREE

    path = run.workspace.state_dir / WORKTREE
    closed = _not_opened(run, opened)
    if as_json:
        document = {
            "series": opened.tag,
            "worktree": str(path),
            "guards": list(opened.guards),
            "opened": list(opened.open_names),
            "commits": dict(opened.commits),
            "not_opened": {why: [entry.name for entry in found] for why, found in closed.items()},
        }
        output.document("edit-opened", document)
        return
    count = len(opened.open_names)
    above = len(opened.commits) - count
    typer.echo(
        f"{opened.tag}: {counted(count, 'patch')} as commits in {path}"
        + (f" ({above} above are not shown)" if above else "")
    )
    for why, found in closed.items():
        if found:
            typer.echo(f"  not opened, {_WORDS[why]}: {', '.join(map(str, found))}")
    typer.echo("  git rebase -i worktree/base   all of them; git commit --amend for the last")
    typer.echo("  patchq refresh                write it back; patchq edit --abort forgets it")


def _not_opened(run: Session, opened: Edit) -> dict[str, list[SeriesEntry]]:
    """The patches of the series that have no commit, by the reason."""
    series = run.workspace.load_or_empty(opened.tag).series
    selected = {*run.settings.default_guards, *opened.guards}
    left = [entry for entry in series.entries if entry.name not in opened.commits]
    return {
        "guards": [entry for entry in left if not entry.active(selected)],
        "not_covered": [entry for entry in left if entry.active(selected)],
    }


def _abort(run: Session, *, as_json: bool) -> None:
    aborted = run.api.abort_edit()
    if as_json:
        kept = aborted.kept
        document = {
            "unchanged": aborted.unchanged,
            "broken": aborted.broken,
            "head": aborted.head,
            "kept": {"directory": str(kept.directory), "files": list(kept.paths)} if kept else None,
        }
        output.document("edit-aborted", document)
    run.notice("the edit is forgotten; series/ is as it was")
    if aborted.head:
        run.notice(f"dropped with it: its commits up to {aborted.head}, still in .patchq/store.git")
    if aborted.kept:
        state = "its worktree was broken" if aborted.broken else "some files were in no commit"
        run.notice(f"{state}: {aborted.kept}")
    if aborted.unchanged:
        run.notice("nothing had been changed in it")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("edit")(edit)
