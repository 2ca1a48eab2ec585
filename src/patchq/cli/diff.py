"""``patchq diff``: how the patches of two series, or of two selections, differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from patchq.cli.options import Guards, Variants
from patchq.cli.session import Session, session


def diff(
    context: typer.Context,
    old: Annotated[str, typer.Argument(metavar="TAG", help="The old series.")],
    new: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The series to compare it with.")
    ] = None,
    patch: Annotated[
        str | None, typer.Argument(metavar="[PATCH]", help="Show how this patch differs.")
    ] = None,
    guards: Guards = None,
    variants: Variants = None,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Compare two series patch by patch, like git range-diff.

    A patch is unchanged byte for byte; changed in metadata only (its header, or line numbers and
    blob ids); changed; gone; or new. With PATCH, its message and diff are shown, old against new.
    With one TAG and guards or variants: the patches that they add and remove.

    \b
    Examples:
      patchq diff v0.5.16 v0.5.17
      patchq diff v0.5.16 v0.5.17 arch-prune.patch
      patchq diff v0.5.17 --with nemotron
    """
    run = session(context)
    if (new is None) != bool(guards or variants):
        raise typer.BadParameter("give two tags, or one with --with GUARD or --variant NAME")
    if new is None:
        _guards(run, old, guards or (), variants or (), as_json=json)
    elif patch is None:
        _series(run, old, new, as_json=json)
    elif json:
        raise typer.BadParameter("--json goes without PATCH")
    else:
        _patch(run, old, new, patch)


def _series(run: Session, old: str, new: str, *, as_json: bool) -> None:
    from patchq.cli import output
    from patchq.report.series_diff import render_series_diff, render_series_diff_json

    found = run.api.compare(old, new)
    if as_json:
        output.text(render_series_diff_json(found))
    else:
        render_series_diff(found, output.terminal())


def _guards(
    run: Session, tag: str, guards: Sequence[str], variants: Sequence[str], *, as_json: bool
) -> None:
    from patchq.cli import output
    from patchq.report.series_diff import render_guard_diff, render_guard_diff_json

    found = run.api.compare_guards(tag, guards, variants)
    if as_json:
        output.text(render_guard_diff_json(found))
    else:
        render_guard_diff(found, output.terminal())


def _patch(run: Session, old: str, new: str, name: str) -> None:
    from patchq.cli import output
    from patchq.report.patch import render_diff

    shown = run.api.compare_patch(name, old, new)
    console = output.terminal()
    if shown and console.is_terminal:
        render_diff(shown, console)
    elif shown:
        typer.echo(shown, nl=False)
    else:
        run.notice(f"{name} is the same in both")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff")(diff)
