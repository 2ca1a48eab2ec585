"""``patchq import``: patches from anywhere into a series."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.api.importing import ImportOptions
from patchq.cli.import_run import run
from patchq.cli.options import Author, DryRun, Json, KeepGoing, Main
from patchq.cli.series_edits import say_edited
from patchq.cli.session import Session, session
from patchq.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NUMBER = re.compile(r"#?\d{1,6}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_patches)


def import_patches(
    context: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT...",
            help="A patch, a mailbox, a directory, a series file, a branch or a range A..B; - for "
            "standard input.",
        ),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(
            "--tag", metavar="TAG", help="The series to add to; without it, say which base fits."
        ),
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            "--guard", metavar="GUARD", help="Apply only with GUARD (only without: --guard=-GUARD)."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What the patch is called.")
    ] = None,
    strip: Annotated[
        int | None,
        typer.Option("--strip", metavar="N", min=0, help="Leading directories to take off paths."),
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option("--directory", metavar="DIR", help="The paths are below DIR of the tree."),
    ] = None,
    recount: Annotated[
        bool, typer.Option("--recount", help="Recount hunks whose @@ line has wrong counts.")
    ] = False,
    keep_going: KeepGoing = False,
    take: Annotated[
        bool,
        typer.Option("--take", help="Without --tag: take each patch onto the base it fits best."),
    ] = False,
    together: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="GUARD", help="Make sure that it also applies with GUARD on."
        ),
    ] = None,
    variants: Annotated[
        list[str] | None,
        typer.Option(
            "--variant", metavar="NAME", help="Make sure that it also applies in this variant."
        ),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="WHAT takes the place of the patch of the same name."),
    ] = False,
    propose_end: Annotated[
        bool,
        typer.Option("--propose-end", help="Write the proposed end of a patch that has none."),
    ] = False,
    author: Author = None,
    repo: Annotated[
        Path | None,
        typer.Option("--repo", metavar="DIR", help="Where branches are; default: the upstream."),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option("--recipe", metavar="FILE", help="Read pins and gates of a shell recipe."),
    ] = None,
    main: Main = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Bring patches from anywhere into a series.

    Diffs, mails, mailboxes, quilt directories, branches: each patch is applied strictly on top of
    the series and written as a git mail, prose kept as the description. All come in, or none;
    --keep-going takes those that fit. Without --tag, a table says which base each patch fits.
    With --replace they take the place of patches that are there, which keep their guards and
    those fields that the new version has none of; the patches above are merged onto them.

    \b
    Examples:
      patchq import fix.patch --tag v0.5.17
      patchq import debian/patches --tag v0.5.17
      patchq import v0.5.17..my-branch --repo ~/src/sglang
      patchq import ~/old-pile
      git diff | patchq import - --name fix --tag v0.5.17
      patchq import --replace tree/patches/fix.patch --tag v0.5.17
    """
    here = session(context)
    options = ImportOptions(
        guards=tuple(guard or ()),
        name=name,
        strip=strip,
        directory=directory,
        recount=recount,
        keep_going=keep_going,
        propose_end=propose_end,
        author=author,
        repo=repo,
        main=main,
        together=tuple(together or ()),
        variants=tuple(variants or ()),
        dry_run=dry_run,
    )
    wanted = what or []
    if recipe is not None:
        if wanted or replace or tag is None:
            raise typer.BadParameter("--recipe goes with --tag, and without patches")
        if as_json:
            raise typer.BadParameter("--recipe prints no JSON: leave --json out")
        return _recipe(here, recipe, tag, dry_run=dry_run)
    if not wanted:
        raise InputError("name what to import", hint="patchq import WHAT… --tag TAG")
    if replace:
        if tag is None:
            raise typer.BadParameter("--replace needs --tag")
        if guard or together or variants or propose_end or keep_going:
            raise typer.BadParameter(
                "--replace goes without --guard, --with, --variant, --propose-end and --keep-going"
            )
        _replace(context, wanted, tag, options, as_json=as_json)
        return 0
    if all(_NUMBER.fullmatch(word) and not Path(word).exists() for word in wanted):
        from patchq.cli.backport import backport

        return backport(
            context,
            wanted,
            onto=tag,
            name=name,
            guard=guard,
            main=main,
            dry_run=dry_run,
            as_json=as_json,
        )
    return run(here, wanted, tag, options, take=take, as_json=as_json)


def _recipe(here: Session, file: Path, tag: str, *, dry_run: bool) -> int:
    from patchq.cli.import_recipe import import_recipe

    return import_recipe(here, file, tag, dry_run=dry_run)


def _replace(
    context: typer.Context,
    files: Sequence[str],
    tag: str,
    options: ImportOptions,
    *,
    as_json: bool,
) -> None:
    contents = dict(_contents(files, options.name))
    edited = session(context).api.replace_patches(contents, tag, options)
    say_edited(context, edited, dry_run=options.dry_run, as_json=as_json)


def _contents(files: Sequence[str], name: str | None) -> Iterator[tuple[str, bytes]]:
    """Each file, as messages call it, and what is in it."""
    if name is not None and len(files) > 1:
        raise InputError("--name names one patch", hint="Import the files one by one.")
    for file in files:
        if file == "-" and name is None:
            raise InputError("a patch from standard input needs --name")
        if file == "-":
            yield "standard input", sys.stdin.buffer.read()
        else:
            yield file, Path(file).read_bytes()
