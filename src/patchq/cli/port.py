"""``patchq port``: take patches to the series of other tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli.options import DryRun
from patchq.cli.series_edits import patch_names, written_words
from patchq.cli.session import Session, session

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
    before a patch that requires them. For a tag where one of them needs review nothing is written;
    the other tags get theirs.

    \b
    Examples:
      patchq port clamp.patch --to v0.5.16,v0.5.17
      patchq port clamp.patch clamp-test.patch --from v0.5.18 --to v0.5.15 --dry-run
      patchq port clamp.patch --to v0.5.17 --replace
      patchq port clamp.patch --live
    """
    from contextlib import nullcontext

    from patchq.engine.rebase import port as engine

    run = session(context)
    given = (tag for text in targets or () for tag in text.split(",") if tag)
    tags = list(dict.fromkeys(given))
    names = patch_names(context, source, names) if source else _anywhere(run, names)
    origin = source or engine.newest_with(run.project, names)
    if live:
        tags += _live(run, origin, names, replace=replace)
    if not tags:
        raise typer.BadParameter("--to names no tag" if not live else "no live base lacks them")
    label = run.typed() + (f" ({', '.join(tags)})" if live else "")
    with nullcontext() if dry_run else run.writing(), run.progress("porting") as progress:
        ported: list[Ported] = []
        for number, tag in enumerate(tags):
            progress(number, len(tags), tag)
            ported.append(engine.port(run.project, origin, names, tag, replacing=replace))
        if not dry_run:
            engine.write(run.project, ported, label)
    if json:
        _print_json(origin, ported, dry_run)
    else:
        _print_text(run, ported, dry_run)
    return 1 if any(each.report.needs_review for each in ported) else 0


def _live(run: Session, origin: str, names: Sequence[str], *, replace: bool) -> list[str]:
    """The live bases, other than ``origin``, that lack one of the patches."""
    have = run.workspace.series_names()
    return [
        base.name
        for base in run.lock.bases
        if base.name in run.settings.release.live
        and base.name != origin
        and (replace or base.name not in have or not _has_all(run, base.name, names))
    ]


def _has_all(run: Session, tag: str, names: Sequence[str]) -> bool:
    return set(names) <= set(run.workspace.series(tag).names)


def _anywhere(run: Session, names: Sequence[str]) -> list[str]:
    """The patches of any series that ``names`` mean."""
    from patchq.model.nearest import did_you_mean
    from patchq.model.series import NoSuchPatchError, meant_name

    workspace = run.workspace
    known = {name for tag in workspace.series_names() for name in workspace.series(tag).names}
    meant = [meant_name(name, known) for name in names]
    for name in meant:
        if name not in known:
            raise NoSuchPatchError(
                name,
                f"no series has {name}",
                hint=did_you_mean(name, known, "`patchq list` shows them."),
            )
    return meant


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
            continue
        if each.report.needs_review:
            why = "a patch needs review"
        elif each.added:
            why = f"{', '.join(each.added)} is there already, byte for byte"
        else:
            why = "no patch is needed there"
        run.notice(f"{tag}: nothing written, {why}")


def _print_json(source: str, ported: Sequence[Ported], dry_run: bool) -> None:
    from patchq.cli import output
    from patchq.report.jsonreport import report_fields

    document = {
        "series": source,
        "dry_run": dry_run,
        "written": {each.report.onto: list(each.added) for each in ported if each.added},
        "reports": [report_fields(each.report) for each in ported],
    }
    output.document("port", document)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("port")(port)
