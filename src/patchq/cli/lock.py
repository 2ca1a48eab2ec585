"""``patchq lock``: pin bases of upstream."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.options import After, Json
from patchq.cli.session import Session, session


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
    json: Json = False,
) -> None:
    """Pin upstream tags or commits in upstream.lock.

    \b
    Examples:
      patchq lock v0.5.16 v0.5.17
      patchq lock dev=main --after v0.5.17
      patchq lock --check
    """
    from patchq.errors import InputError

    run = session(context)
    if check:
        if after is not None:
            raise InputError("--check adds nothing: leave --after out")
        _check(run, names or [], as_json=json)
    elif names:
        _add(run, names, after, as_json=json)
    else:
        raise InputError("name what to lock", hint="patchq lock TAG, or NAME=COMMIT.")


def _add(run: Session, names: list[str], after: str | None, *, as_json: bool) -> None:
    from patchq.engine.workspace.upstream import Upstream, add_bases, lock_names, parse_request
    from patchq.git.remote import Remote

    requests = [parse_request(name) for name in names]
    if after is not None:
        run.lock.position(after)
    location = run.upstream or run.lock.upstream
    remote = Remote(location, run.store.directory, terminal=sys.stderr.isatty())
    upstream = Upstream(run.store, remote)
    pins = lock_names(run.lock, upstream, requests)
    with run.writing() as workspace:
        label = " ".join(["lock", *names])
        added = add_bases(workspace, [pin.base for pin in pins], after=after, label=label)
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
        return
    for pin in pins:
        if pin.base.name in added:
            why = f"{pin.origin} of {upstream}; trust on first use"
            typer.echo(f"{pin.base.name} = {pin.base.commit} ({why})")
        else:
            typer.echo(f"{pin.base.name} = {pin.base.commit} (unchanged)")


def _check(run: Session, names: list[str], *, as_json: bool) -> None:
    from patchq.engine.workspace.upstream import Upstream, moved
    from patchq.errors import UpstreamError
    from patchq.git.remote import Remote

    location = run.upstream or run.lock.upstream
    bases = [run.lock.base(name) for name in names] if names else list(run.lock.bases)
    remote = Remote(location, run.store.directory, terminal=sys.stderr.isatty())
    bad, rows = [], []
    for base, found in moved(Upstream(run.store, remote), bases):
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
