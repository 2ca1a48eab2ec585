"""``patchq files``: the files that a series touches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Guards, TagOption, Variants, patches_and_tag
from patchq.cli.session import session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchq.engine.series.selection import Selection


def files(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATCH|TAG", help="Only these; default: all active patches of the series."
        ),
    ] = None,
    tag: TagOption = None,
    guards: Guards = None,
    variants: Variants = None,
    paths: Annotated[bool, typer.Option("--paths", help="Print the paths alone.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the files that a series touches, with their patches.

    \b
    Examples:
      patchq files
      patchq files v0.5.17
      patchq files arch-prune.patch --tag v0.5.17
      git -C ~/sglang log v0.5.17..main -- $(patchq files --paths)
    """
    import os

    run = session(context)
    patches, tag = patches_and_tag(run, names or (), tag)
    selection, found = run.api.touched(patches, tag, guards or (), variants or ())
    if json:
        _print_json(selection, found)
        return
    width = max(map(len, found), default=0)
    for path, touching in found.items():
        line = path if paths else f"{path:{width}}  {' '.join(touching)}"
        typer.echo(os.fsencode(line))


def _print_json(selection: Selection, found: Mapping[str, tuple[str, ...]]) -> None:
    document = {
        "series": selection.directory.tag,
        "guards": sorted(selection.guards),
        "files": [{"path": path, "patches": list(patches)} for path, patches in found.items()],
    }
    output.document("files", document)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("files")(files)
