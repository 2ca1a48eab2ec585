"""``patchq split``: make two patches of one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli.options import DryRun, Json, TagOption
from patchq.cli.series_edits import say_edited
from patchq.cli.session import session

if TYPE_CHECKING:
    from patchq.engine.series.edits import PatchPart


def split(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="The patch to split.")],
    take: Annotated[
        list[str],
        typer.Option(
            "--take",
            metavar="PATH[:HUNKS]",
            help="What goes into the new patch: a file, directory or pattern; of a file perhaps "
            "some hunks (1,3-4). May be repeated.",
        ),
    ],
    into: Annotated[str, typer.Option("--into", metavar="NEW", help="Name of the new patch.")],
    subject: Annotated[
        str | None,
        typer.Option("--subject", "-m", metavar="TEXT", help="Subject of the new patch."),
    ] = None,
    tag: TagOption = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Split a patch in two.

    What --take names becomes a patch of its own, right after it.

    Both keep author, date, message and all fields. The patched tree stays the same.

    \b
    Examples:
      patchq split big.patch --take python/ --into big-python.patch
      patchq split big.patch --take src/a.cu:2,4-5 --take docs --into rest -m "Gate the rest"
    """
    parts = [_part(text) for text in take]
    api = session(context).api
    edited = api.split(name, parts, into, tag, subject=subject, dry_run=dry_run)
    say_edited(context, edited, dry_run=dry_run, as_json=json)


def _part(text: str) -> PatchPart:
    from patchq.engine.series.edits import PatchPart

    match = re.fullmatch(r"(.+):([\d,-]+)", text)
    if match is None:
        return PatchPart(text)
    hunks: set[int] = set()
    for word in match[2].split(","):
        ends = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
        if ends is None:
            raise typer.BadParameter(f"--take {text}: hunks are numbers and ranges, like 1,3-4")
        hunks.update(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return PatchPart(match[1], frozenset(hunks))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("split")(split)
