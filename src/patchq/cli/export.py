"""``patchq export``: write a patched source tree, the same bytes from the same inputs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from patchq.cli.session import session


class _Format(StrEnum):
    DIRECTORY = "dir"
    TAR_GZ = "tar.gz"


def export(
    context: typer.Context,
    tag: Annotated[str, typer.Argument(metavar="TAG", help="The series to export.")],
    to: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="PATH", help="Where to; default: ./NAME-TAG-patched[.tar.gz]."
        ),
    ] = None,
    form: Annotated[
        _Format | None,
        typer.Option(
            "--format", help="Default: what PATH ends in; a directory where it says nothing."
        ),
    ] = None,
    guards: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="GUARD", help="Turn a guard on; may be repeated."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Say what was written as JSON.")] = False,
) -> None:
    """Write a tag's patched source tree as a directory or a tarball.

    The patches are applied strictly, in order. The same series, lock and guards give the same tar
    everywhere; the tree's patchq-manifest.json names what it was made from.

    \b
    Examples:
      patchq export v0.5.17
      patchq export v0.5.17 --format tar.gz
      patchq export v0.5.17 -o build/sglang --with nemotron
    """
    from patchq.engine.export import Form, default_name, export_series, render_record
    from patchq.engine.selection import select

    run = session(context)
    chosen = Form(form.value) if form else Form.of(to)
    selection = select(run.workspace.load(tag), run.settings, guards or ())
    target = to or Path(default_name(run.lock, tag) + chosen.ending)
    with run.progress(f"exporting {tag}"):
        exported = export_series(run.project, selection, chosen, target)
    if json:
        typer.echo(render_record(exported), nl=False)
        return
    count = len(exported.patches)
    guarded = f" (with {', '.join(exported.guards)})" if exported.guards else ""
    typer.echo(f"{tag} with {count} patch{'' if count == 1 else 'es'}{guarded}")
    typer.echo(f"tree        {exported.tree}")
    typer.echo(f"tar sha256  {exported.tar_sha256}")
    typer.echo(f"written to  {target}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)
