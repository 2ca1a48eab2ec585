"""``patchq import-upstream``: take a release archive as a base."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.lock import tell_place
from patchq.cli.options import After, Json
from patchq.cli.session import session


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import-upstream")(import_upstream)


def import_upstream(
    context: typer.Context,
    tag: Annotated[str, typer.Option(metavar="TAG", help="The name of the base.")],
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|pypi:NAME==VERSION]",
            help="The archive; may be left out to add --built to a base that has one.",
        ),
    ] = None,
    prefix: Annotated[
        str, typer.Option(metavar="DIR", help="Where in upstream's tree its files belong.")
    ] = "",
    covers: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="What it speaks for (a wheel: its packages). Repeat."),
    ] = None,
    excludes: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="What of that is left out. Repeat.")
    ] = None,
    python: Annotated[
        str | None, typer.Option(metavar="X.Y", help="For this Python, of several wheels.")
    ] = None,
    platform: Annotated[
        str | None, typer.Option(metavar="TAG", help="For this platform, of several wheels.")
    ] = None,
    built: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR=WHEEL",
            help="A wheel that upstream built from DIR, which the archive does not cover: FILE "
            "or pypi:NAME==VERSION. Its GPU code is evidence on the patches there. Repeat.",
        ),
    ] = None,
    built_platform: Annotated[
        str | None, typer.Option(metavar="TAG", help="For this platform, of several such wheels.")
    ] = None,
    after: After = None,
    json: Json = False,
) -> None:
    """Import a source archive or wheel as a base, and lock it.

    \b
    Examples:
      patchq import-upstream project-1.2.tar.gz --tag v1.2
      patchq import-upstream pypi:sglang==0.5.17 --tag v0.5.17 --prefix python
      patchq import-upstream --tag v0.5.20 --built python/sglang/kernels/aot=kernel.whl
    """
    from patchq.archives.bases import ArchiveImport, find_archive, import_base
    from patchq.engine.verify.wheel.built import read_built, with_built
    from patchq.engine.workspace.upstream import add_bases, open_own

    run = session(context)
    if after is not None:
        run.lock.position(after)
    with run.writing() as workspace:
        wheels = tuple(
            read_built(workspace, Path.cwd(), text, built_platform) for text in built or ()
        )
        if source is None:
            base = with_built(workspace.lock(), tag, wheels)
        else:
            file, origin = find_archive(workspace, Path.cwd(), source, python, platform)
            wanted = ArchiveImport(
                tag, origin, file, prefix, tuple(covers or ()), tuple(excludes or ()), wheels
            )
            base = import_base(workspace.lock(), open_own(workspace), wanted)
        added = add_bases(workspace, [base], after=after, label=run.typed())
        base = workspace.lock().base(tag)
    if after is None and tag in added:
        tell_place(run, tag)
    assert base.archive is not None
    if json:
        archive = {
            "file": base.archive.file,
            "sha256": base.archive.sha256,
            "covers": base.archive.covers,
        }
        built_facts = [
            {
                "directory": wheel.directory,
                "file": wheel.file,
                "sha256": wheel.sha256,
                "libraries": list(wheel.libraries),
            }
            for wheel in base.archive.built
        ]
        facts = {"name": tag, "commit": base.commit, "tree": base.tree, "archive": archive}
        output.document("import-upstream", {**facts, "built": built_facts, "added": bool(added)})
        return
    why = "trust on first use" if added else "unchanged"
    typer.echo(
        f"{tag} = {base.commit} (sha256 {base.archive.sha256} of {base.archive.file}; {why})"
    )
    typer.echo(f"covers {' '.join(base.archive.covers) or 'everything'}")
    if base.archive.excludes:
        typer.echo(f"leaves out {' '.join(base.archive.excludes)}")
    if base.archive.requires is not None:
        typer.echo(f"requires {len(base.archive.requires)} packages, by its metadata")
    for wheel in base.archive.built:
        typer.echo(f"built from {wheel.directory}: {wheel.file} (sha256 {wheel.sha256})")
        for line in wheel.libraries:
            typer.echo(f"  {line}")
