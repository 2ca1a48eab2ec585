"""``patchq port``: take patches to the series of other tags."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli.options import DryRun
from patchq.cli.series_edits import written_words
from patchq.cli.session import Session, session
from patchq.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchq.engine.rebase.port import Ported


def port(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="PATCH", help="The patches to take.")],
    targets: Annotated[
        list[str] | None,
        typer.Option("--to", metavar="TAG[,TAG...]", help="Where to; may be repeated."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="To every live base of patchq.yaml that lacks them.")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="TAG", help="From which; default: the newest that has all."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace patches of these names that are there.")
    ] = False,
    dry_run: DryRun = False,
    json: Annotated[bool, typer.Option("--json", help="Print the reports as JSON.")] = False,
) -> int:
    """Take patches to the series of other tags.

    They are judged as in a rebase, on top of the series that is there, and added at its end, or
    before a patch that requires them. If one of them needs review on a tag, nothing is
    written there; the other tags get theirs.

    \b
    Examples:
      patchq port clamp.patch --to v0.5.16,v0.5.17
      patchq port clamp.patch clamp-test.patch --from v0.5.18 --to v0.5.15 --dry-run
      patchq port clamp.patch --to v0.5.17 --replace
      patchq port clamp.patch --live
    """
    from patchq.engine.workspace.live import require_live

    run = session(context)
    given = [tag for text in targets or () for tag in text.split(",") if tag]
    if not (given or live):
        patches = [name for name in names if name not in run.lock.names]
        tags = ",".join(name for name in names if name not in patches) or run.lock.names[-1]
        raise InputError(
            "give the tags to port to: --to TAG[,TAG…], or --live",
            hint=f"For one, `patchq port {shlex.join(patches or names)} --to {tags}`.",
        )
    with run.progress("porting") as progress:
        ported = run.api.port(
            names,
            given,
            source=source,
            live=live,
            replace=replace,
            dry_run=dry_run,
            progress=progress,
        )
    if not ported:
        require_live(run.settings)
        raise typer.BadParameter("no live base lacks them")
    if json:
        _print_json(ported, dry_run)
    else:
        _print_text(run, ported, dry_run)
    return 1 if any(each.report.needs_review for each in ported) else 0


def _print_text(run: Session, ported: Sequence[Ported], dry_run: bool) -> None:
    from patchq.cli import output
    from patchq.report.table import render_table

    for number, each in enumerate(ported):
        if number:
            typer.echo()
        render_table(each.report, output.terminal())
    for each in ported:
        tag = each.report.onto
        if each.edited and each.edited.changes:
            run.notice(f"{tag}: {written_words(each.edited.changes, dry_run=dry_run)}")
        else:
            run.notice(f"{tag}: nothing written, {_why_nothing(each)}")


def _why_nothing(ported: Ported) -> str:
    """Why nothing is written for a tag."""
    if ported.report.needs_review:
        return "a patch needs review"
    if ported.added:
        return f"{', '.join(ported.added)} is there already, byte for byte"
    return "no patch is needed there"


def _print_json(ported: Sequence[Ported], dry_run: bool) -> None:
    from patchq.cli import output
    from patchq.report.jsonreport import report_fields

    written = {e.report.onto: e for e in ported if e.edited and e.edited.changes}
    document = {
        "series": ported[0].report.series,
        "dry_run": dry_run,
        "written": {tag: list(each.added) for tag, each in written.items()},
        "nothing_written": {
            each.report.onto: _why_nothing(each)
            for each in ported
            if each.report.onto not in written
        },
        "reports": [report_fields(each.report) for each in ported],
    }
    output.document("port", document)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("port")(port)
