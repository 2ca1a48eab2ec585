"""``patchq export``: write a patched source tree, the same bytes from the same inputs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli.selecting import Guards, Variants
from patchq.cli.session import Session, session
from patchq.errors import FindingsError

if TYPE_CHECKING:
    from patchq.engine.export.export import Prepared
    from patchq.model.verification import Failure


class _Format(StrEnum):
    DIRECTORY = "dir"
    TAR_GZ = "tar.gz"
    TAR_XZ = "tar.xz"
    TAR_ZST = "tar.zst"
    QUILT = "quilt"
    GIT = "git"


def export(
    context: typer.Context,
    tag: Annotated[str, typer.Argument(metavar="TAG", help="The series to export.")],
    to: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="PATH", help="Where to; default: ./NAME-TAG-patched."
        ),
    ] = None,
    form: Annotated[
        _Format | None,
        typer.Option(
            "--format", help="Default: what PATH ends in; a directory where it says nothing."
        ),
    ] = None,
    guards: Guards = None,
    variants: Variants = None,
    subdir: Annotated[
        str | None, typer.Option("--subdir", metavar="DIR", help="Only this part of the tree.")
    ] = None,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Do not verify the series before.")
    ] = False,
    print_build: Annotated[
        bool,
        typer.Option("--print-build", help="Print how the export is built; write nothing."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Say what was written as JSON.")] = False,
) -> None:
    """Write a tag's patched source tree: a directory, a tarball, a quilt series, a git branch.

    The patches are applied strictly, in order, and the series is verified. The same series, lock
    and guards give the same tar everywhere; the tree's patchq-manifest.json names what it was made
    from, PATH.verify.json what was verified.

    \b
    Examples:
      patchq export v0.5.17
      patchq export v0.5.17 -o tree.tar.zst
      patchq export v0.5.17 -o build/tree --with nemotron
      patchq export v0.5.17 --format git -o tree.git
      patchq export v0.5.17 --print-build
    """
    from patchq.engine.export.export import (
        default_name,
        export_series,
        prepare_export,
        render_build,
        render_record,
    )
    from patchq.engine.export.formats import ExportFormat
    from patchq.engine.series.selection import select

    run = session(context)
    chosen = ExportFormat(form.value) if form else ExportFormat.of(to)
    selection = select(run.workspace.load(tag), run.settings, guards or ())
    prepared = prepare_export(run.project, selection, variants or (), subdir)
    if print_build:
        typer.echo(render_build(prepared), nl=False)
        return
    target = to or Path(default_name(run.lock, tag) + chosen.ending)
    beside = {} if no_verify else {"verify.json": _verified(run, prepared)}
    with run.progress(f"exporting {tag}"):
        exported = export_series(prepared, chosen, target, beside)
    for remark in prepared.outside:
        run.notice(f"cannot be built alone: {remark}")
    if json:
        typer.echo(render_record(exported), nl=False)
        return
    count = len(exported.patches)
    guarded = f" (with {', '.join(exported.guards)})" if exported.guards else ""
    typer.echo(f"{tag} with {count} patch{'' if count == 1 else 'es'}{guarded}")
    typer.echo(f"tree        {exported.tree}")
    typer.echo(f"tar sha256  {exported.tar_sha256}")
    typer.echo(f"written to  {target}")


def _verified(run: Session, prepared: Prepared) -> bytes:
    """The result of verifying what is to be exported; raises where it fails."""
    from patchq.engine.verify.verify import verify_series
    from patchq.report.jsonverification import render_json

    tag = prepared.base.name
    with run.progress(f"verifying {tag}") as progress:
        verification = verify_series(run.project, prepared.subject.selection, progress)
    if not verification.passed:
        for section in verification.sections:
            for failure in section.failures:
                run.notice(f"{section.name}: {_words(failure)}")
        raise FindingsError(
            f"{tag} does not verify; nothing was exported",
            hint=f"`patchq verify {tag}` shows all of it; --no-verify exports it as it is.",
        )
    return render_json(verification).encode()


def _words(failure: Failure) -> str:
    place = f"{failure.where}: " if failure.where else ""
    return f"{place}{failure.text}{f' ({failure.patch})' if failure.patch else ''}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)
