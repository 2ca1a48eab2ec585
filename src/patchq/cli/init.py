"""``patchq init``: make a workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Author, Json, KeepGoing
from patchq.cli.session import Session, session


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(
    context: typer.Context,
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where; made if it is missing.")
    ] = Path(),
    upstream: Annotated[
        str | None,
        typer.Option(metavar="URL|PATH", help="The upstream repository.", show_default=False),
    ] = None,
    what: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="WHAT",
            help="Take these patches: whatever `patchq import` takes; may be repeated.",
        ),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option("--tag", metavar="TAG", help="The upstream tag that the patches are for."),
    ] = None,
    repo: Annotated[
        Path | None,
        typer.Option("--repo", metavar="DIR", help="Where the branch is; default: the upstream."),
    ] = None,
    keep_going: KeepGoing = False,
    author: Author = None,
    json: Json = False,
) -> int:
    """Make a directory a workspace for a patch series.

    With --from, patches come in at once: a quilt directory, debian/patches, a branch, a mailbox,
    pull requests. The tag is locked first; a branch and a debian/changelog tell which. With --tag
    alone, the tag is locked.

    \b
    Examples:
      patchq init --upstream https://github.com/sgl-project/sglang
      patchq init downstream --upstream ~/src/sglang --from my-branch
      patchq init downstream --upstream ~/src/sglang --from debian/patches --tag v0.5.17
    """
    from patchq.api import Workspace
    from patchq.errors import InputError

    run = session(context)
    location = upstream or run.upstream
    if location is None:
        raise InputError(
            "which upstream? --upstream is missing",
            hint="patchq init --upstream URL, or the path of a clone.",
        )
    if what and tag is None:
        tag = _tag_for(run, location, what, repo)
    workspace = Workspace.create(run.start / directory, location, going_on=bool(what)).files
    if tag is not None and not what:
        return _lock(context, run, workspace.root, tag, json=json)
    if json and not what:
        document = {"workspace": str(workspace.root), "upstream": workspace.lock().upstream}
        output.document("init", document)
        return 0
    typer.echo(f"{workspace.root} is a workspace for {workspace.lock().upstream}", err=json)
    if not what:
        typer.echo(
            "Next: `patchq lock TAG` there pins a base, `patchq import FILE…` takes patches."
        )
        return 0
    assert tag is not None
    return _take(
        *(context, run, workspace.root, what, tag, repo),
        keep_going=keep_going,
        author=author,
        json=json,
    )


def _lock(context: typer.Context, run: Session, root: Path, tag: str, *, json: bool) -> int:
    """Lock ``tag`` in the new workspace, which has no patches yet."""
    from patchq.cli.lock import lock

    context.obj = replace(run, start=root)
    typer.echo(f"{root} is a workspace", err=json)
    return lock(context, [tag], json=json)


def _take(
    context: typer.Context,
    run: Session,
    root: Path,
    what: list[str],
    tag: str,
    repo: Path | None,
    *,
    keep_going: bool,
    author: str | None,
    json: bool,
) -> int:
    """Lock ``tag`` in the new workspace and import ``what`` onto it."""
    from patchq.cli.import_patches import import_patches
    from patchq.cli.lock import tell_pins
    from patchq.errors import PatchqError

    here = replace(run, start=root)
    words = [word for one in what for word in _words(one)]
    try:
        tell_pins(here, *here.api.lock_bases(tag), err=json)
        context.obj = replace(run, start=root)  # which reads the lock anew
        return import_patches(
            context,
            words,
            tag=tag,
            repo=repo,
            keep_going=keep_going,
            author=author,
            as_json=json,
        )
    except PatchqError:
        run.notice(
            f"{root} is a workspace, without a patch yet: the same command goes on, as does "
            "`patchq import` there"
        )
        raise


def _words(text: str) -> list[str]:
    """One thing to import, or the numbers in a list of pull requests."""
    numbers = text.replace(",", " ").split()
    return numbers if all(word.lstrip("#").isdecimal() for word in numbers) else [text]


def _tag_for(run: Session, location: str, what: list[str], repo: Path | None) -> str:
    """The tag that the patches say they are for; raises :class:`InputError`."""
    from patchq.engine.importing.sources import is_path
    from patchq.engine.importing.start_tag import tag_of_branch, tags_of_changelog
    from patchq.engine.workspace.upstream import is_url, local_path
    from patchq.errors import InputError
    from patchq.git.lender import find_lender

    upstream = None if is_url(location) else find_lender(run.start / local_path(location))
    for word in what:
        changelog = next((path for path in _changelogs(Path(word)) if path.is_file()), None)
        if changelog is not None:
            names = tags_of_changelog(changelog.read_bytes())
            known = [n for n in names if upstream is None or upstream.ref(f"refs/tags/{n}")]
            if known:
                return known[0]
        elif not is_path(word) and upstream is not None and word != "-":
            found = tag_of_branch(upstream, find_lender(repo) if repo else upstream, word)
            if found is not None:
                return found
    raise InputError(
        "the patches do not say for which tag of upstream they are",
        hint="Name it: --tag TAG. If you do not know it: `patchq init`, `patchq lock TAG…`, and "
        "`patchq import` shows which they fit.",
    )


def _changelogs(path: Path) -> tuple[Path, ...]:
    return (path / "debian/changelog", path.parent / "changelog", path / "changelog")
