"""``patchq next``: what a new upstream tag asks for, as one work list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Json
from patchq.cli.session import session
from patchq.errors import InputError

if TYPE_CHECKING:
    from patchq.cli.session import Session


def next_tag(
    context: typer.Context,
    tag: Annotated[
        str | None, typer.Argument(metavar="[TAG]", help="The tag; default: upstream's newest.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="TAG", help="The series; default: the newest before TAG."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Do not lock the tag either; it must be locked.")
    ] = False,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="WHAT", help="Exit 1 only for these, comma separated: sections, names."
        ),
    ] = "",
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the list as Markdown.")
    ] = False,
    json: Json = False,
) -> int:
    """Say what a new tag asks for, as one work list.

    Finds upstream's newest tag (or takes TAG), locks it, rehearses the rebase, verifies, and
    compares requirements, names, gates and claims. Writes nothing but the lock. Exits 1 if
    anything is to be done before the tag can be used.

    \b
    Examples:
      patchq next
      patchq next v0.5.18 --dry-run
      patchq next --markdown
    """
    from patchq.model.release import WorkSection
    from patchq.report.work_list import (
        render_work_list,
        render_work_list_json,
        render_work_list_markdown,
    )

    run = session(context)
    wanted = [part.strip() for part in fail_on.split(",") if part.strip()]
    known = [*(section.value for section in WorkSection), "names"]
    for part in wanted:
        if part not in known:
            raise InputError(f"--fail-on: {part!r} is unknown", hint=f"One of: {', '.join(known)}.")
    onto = _locked(run, tag, dry_run=dry_run)
    with run.progress(f"judging {onto}") as progress:
        work = run.api.next(onto, source, progress=progress)
    if json:
        output.text(render_work_list_json(work))
    elif markdown:
        output.text(render_work_list_markdown(work, links=run.api.links))
    else:
        render_work_list(work, output.terminal())
    if not wanted:
        return int(work.needs_review)
    has_names = any(e.kind.value == "name" for item in work.items for e in item.evidence)
    return int(
        ("names" in wanted and has_names)
        or any(item.section.value in wanted for item in work.items)
    )


def _locked(run: Session, tag: str | None, *, dry_run: bool) -> str:
    """The tag to look at, in the lock from now on."""
    if tag is not None and tag in run.lock.names:
        return tag
    if tag is None:
        newer = run.api.newer_tags()
        if not newer:
            newest = run.lock.bases[-1].name
            run.notice(f"upstream has no tag after those of the lock; looking at {newest}")
            return newest
        tag = newer[-1]
    if dry_run:
        raise InputError(
            f"{tag} is not in upstream.lock, and --dry-run writes nothing",
            hint=f"`patchq lock {tag}`, or leave --dry-run out.",
        )
    (found,), _ = run.api.lock_bases(tag, label=run.typed(tag))
    run.notice(f"locked {tag} = {found.base.commit} ({found.origin}; trust on first use)")
    return tag


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("next")(next_tag)
