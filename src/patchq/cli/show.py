"""``patchq show``: one patch of a series, decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.options import TagArgument, patch_and_tag
from patchq.cli.session import session
from patchq.model.patch import read_patch
from patchq.model.patch_names import meant_name
from patchq.model.series import NoSuchPatchError, SeriesEntry

if TYPE_CHECKING:
    from patchq.model.retired import Retired
    from patchq.model.workspace import SeriesDirectory


def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="The patch, by its file name.")],
    tag: TagArgument = None,
    raw: Annotated[bool, typer.Option("--raw", help="Print the file's bytes, no more.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what it says as JSON.")] = False,
) -> None:
    """Show one patch: header, files, hunks and diff.

    Also one that is held or left the series, as retired.yaml keeps it.

    \b
    Examples:
      patchq show arch-prune.patch
      patchq show arch-prune v0.5.16
      patchq show arch-prune.patch --raw | git apply --check
    """
    run = session(context)
    name, tag = patch_and_tag(run, name, tag)
    directory = run.workspace.load(tag or run.newest_series)
    try:
        entry = directory.series.entry(name)
        patch = directory.patches[entry.name]
    except NoSuchPatchError:
        record = _left(directory, name)
        if record is None:
            raise
        entry = SeriesEntry(record.name, strip=record.strip, guards=record.guards)
        patch = read_patch(record.name, record.content, strip=record.strip)
        run.notice(
            f"{record.name} is {record.standing.value} and not in the series on {directory.tag}: "
            f"{record.reason}"
        )
    if raw:
        typer.echo(patch.raw, nl=False)
        return
    from patchq.report.patch import render_diff, render_json, render_patch

    if json:
        output.text(render_json(directory.tag, entry, patch))
        return
    with output.paged() as console:
        render_patch(directory.tag, entry, patch, console)
        if console.is_terminal:
            render_diff(patch.diff, console)
    if not console.is_terminal:
        typer.echo(patch.diff, nl=False)


def _left(directory: SeriesDirectory, name: str) -> Retired | None:
    """What is kept of a patch that is out of the series."""
    records = {record.name: record for record in directory.out_of_series}
    return records.get(meant_name(name, records.keys()))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show")(show)
