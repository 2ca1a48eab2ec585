"""``patchq import-upstream``: take a release archive as a base."""

from __future__ import annotations

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
        typer.Option(
            metavar="GLOB",
            help="Paths that it is all of (default for a wheel: its packages); may be repeated.",
        ),
    ] = None,
    excludes: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Paths of these that it lacks; may be repeated."),
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
            "or pypi:NAME==VERSION. Its GPU code is evidence on the patches there. May be "
            "repeated.",
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
    run = session(context)
    base, added = run.api.import_upstream(
        source,
        tag,
        prefix=prefix,
        covers=covers or (),
        excludes=excludes or (),
        python=python,
        platform=platform,
        built=built or (),
        built_platform=built_platform,
        after=after,
    )
    if after is None and added:
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
        output.document("import-upstream", {**facts, "built": built_facts, "added": added})
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
