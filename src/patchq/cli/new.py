"""``patchq new``: begin a new patch."""

from __future__ import annotations

from typing import Annotated

import typer

from patchq.cli.options import Guards, TagOption, Variants
from patchq.cli.session import session


def new(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the patch is called.")],
    subject: Annotated[
        str, typer.Option("--subject", "-m", metavar="TEXT", help="What it does, in one line.")
    ],
    tag: TagOption = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="PATCH", help="Where; default: at the end.")
    ] = None,
    guards: Guards = None,
    variants: Variants = None,
    json: Annotated[bool, typer.Option("--json", help="Say what was opened as JSON.")] = False,
) -> None:
    """Begin a new patch.

    Opens the series in .patchq/edit with an empty commit for it on top.

    Make the change there; `patchq refresh --amend` puts it into the patch and writes it.

    \b
    Examples:
      patchq new qsa-gate.patch -m "Gate QSA off on sm_121"
      patchq new hotfix -m "Fix the clamp" --tag v0.5.17 --after base.patch
    """
    from patchq.cli.edit import show_opened

    run = session(context)
    series = tag or run.newest_series
    with run.progress(f"opening {series}"):
        opened = run.api.edit(series, after, guards or (), variants or (), new=(name, subject))
    show_opened(run, opened, as_json=json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("new")(new)
