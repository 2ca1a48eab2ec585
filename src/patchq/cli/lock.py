"""``patchq lock``: pin bases of upstream."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.options import After, Json
from patchq.cli.session import Session, session
from patchq.model.words import counted

if TYPE_CHECKING:
    from patchq.engine.workspace.replace_archive import Replaced
    from patchq.engine.workspace.upstream import FoundBase
    from patchq.model.lock import Base


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lock")(lock)


def lock(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME[=COMMIT]…", help="A tag, or a commit or ref given a name."),
    ] = None,
    after: After = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only look whether locked tags moved upstream.")
    ] = False,
    replace_archive: Annotated[
        bool,
        typer.Option(
            "--replace-archive", help="Put the tag in the place of a base from an archive."
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Pin upstream tags or commits in upstream.lock.

    \b
    Examples:
      patchq lock v0.5.16 v0.5.17
      patchq lock dev=main --after v0.5.17
      patchq lock --check
      patchq lock v0.5.19 --replace-archive
    """
    from patchq.errors import InputError

    run = session(context)
    if replace_archive:
        if check or json or after is not None or len(names or ()) != 1:
            raise InputError("--replace-archive takes the name of one base, and no other option")
        return _replace_archive(run, (names or [""])[0])
    if check:
        if after is not None:
            raise InputError("--check adds nothing: leave --after out")
        _check(run, names or [], as_json=json)
    elif names:
        _add(run, names, after, as_json=json)
    else:
        raise InputError("name what to lock", hint="patchq lock TAG, or NAME=COMMIT.")
    return 0


def _add(run: Session, names: list[str], after: str | None, *, as_json: bool) -> None:
    pins, added = run.api.lock_bases(*names, after=after)
    for name in added if after is None else ():
        tell_place(run, name, added)
    if as_json:
        rows = [
            {
                "name": pin.base.name,
                "commit": pin.base.commit,
                "tree": pin.base.tree,
                "date": pin.base.date,
                "found_as": pin.origin,
                "added": pin.base.name in added,
            }
            for pin in pins
        ]
        output.document("lock", {"bases": rows})
    else:
        tell_pins(run, pins, added)


def tell_pins(
    run: Session, pins: Iterable[FoundBase], added: Collection[str], *, err: bool = False
) -> None:
    """Say what is locked, and as what it was found; ``err`` says it on stderr."""
    for pin in pins:
        if pin.base.name in added:
            why = f"{pin.origin} of {run.api.upstream_refs}; trust on first use"
            typer.echo(f"{pin.base.name} = {pin.base.commit} ({why})", err=err)
        else:
            typer.echo(f"{pin.base.name} = {pin.base.commit} (unchanged)", err=err)


def tell_place(run: Session, name: str, added: Collection[str] = ()) -> None:
    """Say where a new base stands in the order of the lock, if that is not the end.

    That another of those ``added`` with it comes next goes without saying.
    """
    lock = run.workspace.lock()
    place = lock.position(name)
    if lock.names[place + 1 :]:
        if lock.names[place + 1] in added:
            return
        run.notice(
            f"{name} stands before {lock.names[place + 1]}, by its version; "
            "`lock --after BASE` chooses another place"
        )
    elif place and _is_older(base := lock.bases[place], before := lock.bases[place - 1]):
        run.notice(
            f"{name} ({base.date[:10]}) is older than {before.name} ({before.date[:10]}) and "
            "stands after it; `lock --after BASE` chooses another place"
        )


def _is_older(base: Base, other: Base) -> bool:
    return datetime.fromisoformat(base.date) < datetime.fromisoformat(other.date)


def _replace_archive(run: Session, name: str) -> int:
    """Lock the tag, and judge what the archive did not cover; 1 if some of it needs review."""
    found = run.api.replace_archive(name)
    archive = found.archive.archive
    typer.echo(f"{name} = {found.base.commit} ({found.origin}; trust on first use)")
    typer.echo(
        f"every file of {archive.file if archive else name} is the same in it; "
        f"only in the tag: {counted(len(found.more), 'covered file')}"
    )
    return _judge_again(run, name, found)


def _judge_again(run: Session, name: str, replaced: Replaced) -> int:
    """The verdicts on the patches that the archive did not cover, on the base as it is now."""
    with run.progress(f"judging the series on {name} again") as progress:
        found = run.api.rejudge(replaced, progress)
    if not found.patches:
        return 0
    if found.report is None:
        run.notice(f"there is no series before {name}: `patchq verify {name}` tells what applies")
        return 0
    known = found.report.patches
    output.write_report(found.report, output.Format.TABLE)
    for missing in sorted(found.patches - {patch.name for patch in known}):
        run.notice(
            f"{missing} is not in {found.earlier}: `patchq verify {name}` tells if it applies"
        )
    run.notice(
        f"series/{name} is as it was: `patchq rebase --onto {name} --replace` writes these verdicts"
    )
    return 1 if any(patch.action.value == "review" for patch in known) else 0


def _check(run: Session, names: list[str], *, as_json: bool) -> None:
    from patchq.errors import UpstreamError

    bad, rows = [], []
    for base, found in run.api.moved(*names):
        rows.append({"name": base.name, "locked": base.commit, "upstream": found})
        if found not in (None, base.commit):
            bad.append(base.name)
        if as_json:
            continue
        if found is None:
            typer.echo(f"{base.name}: upstream has no tag of this name; locked by commit")
        elif found == base.commit:
            typer.echo(f"{base.name}: unchanged")
        else:
            typer.echo(f"{base.name}: moved to {found}, upstream.lock has {base.commit}")
    if as_json:
        output.document("lock-check", {"bases": rows, "moved": bad})
    if bad:
        raise UpstreamError(
            f"moved upstream: {', '.join(bad)}",
            hint="Nothing was overwritten. If a move is meant, remove the base from upstream.lock "
            "and lock it again.",
        )
