"""``patchq show``: one patch of a series, decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from patchq.cli.session import session

if TYPE_CHECKING:
    from patchq.model.diff import FileChange
    from patchq.model.patch import Patch
    from patchq.model.series import SeriesEntry

SCHEMA = "patchq.show/1"


def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="The patch, by its file name.")],
    tag: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The series; default: the newest.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Print the file's bytes, no more.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what it says as JSON.")] = False,
) -> None:
    """Show one patch: what its header says, the files and hunks it has, then the diff.

    \b
    Examples:
      patchq show arch-prune.patch
      patchq show arch-prune v0.5.16
      patchq show arch-prune.patch --raw | git apply --check
    """
    run = session(context)
    directory = run.workspace.load(tag or run.newest_series)
    entry = directory.series.entry(name)
    patch = directory.patches[entry.name]
    if raw:
        typer.echo(patch.raw, nl=False)
    elif json:
        from patchq.report.document import render_document

        typer.echo(render_document(_document(directory.tag, entry, patch)), nl=False)
    else:
        _print(directory.tag, entry, patch)


def _document(tag: str, entry: SeriesEntry, patch: Patch) -> dict[str, Any]:
    header = patch.header
    return {
        "schema": SCHEMA,
        "series": tag,
        "name": entry.name,
        "sha256": patch.sha256,
        "strip": entry.strip,
        "guards": [str(guard).removeprefix("#") for guard in entry.guards],
        "subject": header.subject,
        "author": header.author,
        "date": header.date,
        "body": header.body,
        "fields": [{"key": field.key, "value": field.value} for field in header.trailers],
        "files": [_file(change) for change in patch.files],
    }


def _file(change: FileChange) -> dict[str, Any]:
    return {
        "kind": change.kind.value,
        "old": change.old,
        "new": change.new,
        "old_mode": change.old_mode,
        "new_mode": change.new_mode,
        "binary": change.binary,
        "hunks": len(change.hunks),
        "added": _added(change),
        "removed": _removed(change),
    }


def _added(change: FileChange) -> int:
    return sum(len(hunk.added) for hunk in change.hunks)


def _removed(change: FileChange) -> int:
    return sum(len(hunk.removed) for hunk in change.hunks)


def _print(tag: str, entry: SeriesEntry, patch: Patch) -> None:
    for label, value in _labels(tag, entry, patch):
        typer.echo(typer.style(f"{label}: ", bold=True) + value)
    if patch.header.body:
        typer.echo(f"\n{patch.header.body}")
    typer.echo()
    for change in patch.files:
        typer.echo(f"  {_summary(change)}")
    typer.echo()
    _print_diff(patch.diff)


def _labels(tag: str, entry: SeriesEntry, patch: Patch) -> list[tuple[str, str]]:
    header = patch.header
    labels = [
        ("Patch", f"{tag}/{entry.name}"),
        ("Guards", " ".join(str(guard).removeprefix("#") for guard in entry.guards)),
        ("Subject", header.subject),
        ("Author", header.author or ""),
        ("Date", header.date or ""),
        *((field.key, field.value) for field in header.trailers),
    ]
    return [(label, value) for label, value in labels if value]


def _summary(change: FileChange) -> str:
    path = " → ".join(change.paths)
    if change.binary:
        return f"{change.kind.value}  {path}  (binary)"
    hunks = len(change.hunks)
    return (
        f"{change.kind.value}  {path}  {hunks} hunk{'' if hunks == 1 else 's'}, "
        f"+{_added(change)} -{_removed(change)}"
    )


def _print_diff(diff: bytes) -> None:
    """Coloured on a terminal; elsewhere byte for byte."""
    import sys

    if not sys.stdout.isatty():
        typer.echo(diff, nl=False)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    text = diff.decode(errors="replace")
    Console().print(Syntax(text, "diff", background_color="default", word_wrap=True))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show")(show)
