"""``patchq rebase``: take a series onto another base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli.options import Jobs
from patchq.cli.output import Format
from patchq.cli.session import Session, session
from patchq.model.words import counted

if TYPE_CHECKING:
    from patchq.engine.rebase.rebase import Rebased
    from patchq.engine.rebase.session import Decided
    from patchq.model.verdict import Report


def rebase(
    context: typer.Context,
    onto: Annotated[
        str | None, typer.Option("--onto", metavar="TAG", help="The base to rebase onto.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TAG", help="The series to take; default: the newest before --onto."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge only; write nothing.")] = False,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going",
            help="Do not stop: write the new series, and hold what needs review in retired.yaml.",
        ),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the series that is there already.")
    ] = False,
    continue_rebase: Annotated[
        bool, typer.Option("--continue", help="Continue with what is in .patchq/worktree.")
    ] = False,
    skip: Annotated[
        bool, typer.Option("--skip", help="Leave out the patch it stopped at, and go on.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="WHY", help="Why --skip leaves it out.")
    ] = None,
    accept_drift: Annotated[
        str | None,
        typer.Option("--accept-drift", metavar="WHY", help="Carry a drifted patch, and go on."),
    ] = None,
    abort: Annotated[
        bool, typer.Option("--abort", help="Forget the rebase that is under way.")
    ] = False,
    jobs: Jobs = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> int:
    """Rebase a series onto another base, without a checkout.

    Each patch is merged three-way with its old base; the report says what became of it, and why.
    It stops at the first patch that needs review, with the conflict laid out in .patchq/worktree.
    The new series is written as one directory at the end, or not at all.

    \b
    Examples:
      patchq rebase --onto v0.5.17
      patchq rebase --onto v0.5.17 --dry-run --json
      patchq rebase --from v0.5.18 --onto v0.5.16
      patchq rebase --continue
      patchq rebase --skip --reason "no such hardware left"
      patchq rebase --onto v0.5.18 --keep-going
    """
    run = session(context)
    steps = [continue_rebase, skip, accept_drift is not None, abort]
    if sum(steps) + (onto is not None) != 1:
        raise typer.BadParameter(
            "give one of --onto, --continue, --skip, --accept-drift and --abort"
        )
    if reason is not None and not skip:
        raise typer.BadParameter("--reason belongs to --skip")
    if any(steps) and (source or dry_run or keep_going or replace or jobs):
        raise typer.BadParameter(
            "--from, --dry-run, --keep-going, --replace and --jobs belong to --onto"
        )
    if abort:
        return _abort(run, json)
    if skip:
        return _skip(run, reason, json)
    if accept_drift is not None:
        return _accept_drift(run, accept_drift, json)
    if continue_rebase:
        return _continue(run, json)
    assert onto is not None
    return _start(run, onto, source, dry_run, keep_going, replace, jobs, json)


def _start(
    run: Session,
    onto: str,
    source: str | None,
    dry_run: bool,
    keep_going: bool,
    replace: bool,
    jobs: int | None,
    json: bool,
) -> int:
    from patchq.cli import output

    if dry_run:
        source = source or run.api.project.series_before(onto)
        with run.progress(f"judging {source} on {onto}") as progress:
            report = run.api.judge(source, onto=onto, progress=progress, jobs=jobs).report
        output.write_report(report, Format.JSON if json else Format.TABLE)
        return _code(report)
    with run.progress(f"rebasing onto {onto}") as progress:
        rebased = run.api.rebase(
            onto,
            source=source,
            keep_going=keep_going,
            replace=replace,
            progress=progress,
            jobs=jobs,
        )
    return _show(run, rebased, json, stopped=not keep_going)


def _continue(run: Session, json: bool) -> int:
    with run.progress("rebasing") as progress:
        taken, rebased = run.api.continue_rebase(progress=progress)
    if taken is not None:
        if not json:
            _show_taken(taken)
        for path in taken.left_out:
            run.notice(
                f"left out of {taken.patch}, which has no such file, and not `git add`ed: {path}"
            )
    return _show(run, rebased, json)


def _skip(run: Session, reason: str | None, json: bool) -> int:
    waiting = run.api.rebase_under_way
    if reason is None and waiting is not None:
        reason = _ask(waiting.stopped)
    if waiting is not None and not (reason and reason.strip()):
        raise typer.BadParameter("--skip needs a reason: --reason WHY")
    with run.progress("rebasing") as progress:
        rebased = run.api.skip((reason or "").strip(), progress=progress)
    return _show(run, rebased, json)


def _ask(stopped: str | None) -> str:
    import sys

    if not sys.stdin.isatty():
        return ""
    return str(typer.prompt(f"Why is {stopped} left out", err=True))


def _accept_drift(run: Session, reason: str, json: bool) -> int:
    if not reason.strip():
        raise typer.BadParameter("--accept-drift needs a reason")
    with run.progress("rebasing") as progress:
        rebased = run.api.accept_drift(reason.strip(), progress=progress)
    return _show(run, rebased, json)


def _abort(run: Session, json: bool) -> int:
    aborted = run.api.abort_rebase()
    if json:
        from patchq.cli import output

        facts = {"written": aborted.written, "resolutions": list(aborted.resolutions)}
        output.document("rebase-aborted", facts)
    if aborted.written:
        run.notice("the new series had been written already; `patchq undo` takes it back")
    else:
        run.notice("the rebase is forgotten; every series and upstream.lock are as they were")
    for name in aborted.resolutions:
        run.notice(f"what you solved is kept in {name}; delete it to solve that conflict again")
    return 0


def _show_taken(taken: Decided) -> None:
    from patchq.cli import output
    from patchq.report.patch import render_diff

    typer.echo(f"{taken.patch}, old against new:")
    render_diff(taken.comparison, output.terminal())
    for name in taken.resolutions:
        typer.echo(f"to be remembered in {name}")
    typer.echo()


def _show(run: Session, rebased: Rebased, json: bool, *, stopped: bool = True) -> int:
    """What came of it: the report, or at a stop what it waits for."""
    from patchq.cli import output

    stop = rebased.stop if stopped else None
    if json or not stop:
        output.write_report(rebased.report, Format.JSON if json else Format.TABLE)
    else:
        output.write_stop(rebased.report, stop.report.name, solvable=stop.collision is not None)
    if stop:
        run.notice(f"nothing was written yet: {stop.report.name} needs review")
    else:
        words = counted(len(rebased.carried), "patch")
        run.notice(f"wrote series/{rebased.onto.name} ({words})")
        for item in rebased.report.resurfaced:
            run.notice(
                f"{item.name} is needed again and not in the series: "
                f"`patchq revive {item.name} {rebased.onto.name}` brings it back"
            )
        _say_held(run, rebased.onto.name)
        missing = run.api.gaps(rebased.onto.name)
        for gap in missing:
            run.notice(f"{gap.name} is {gap.words}: {gap.ways_on}")
        for remark in run.api.misfits(rebased.onto.name):
            run.notice(f"{remark.where}: {remark.text}")
        if missing:
            return 1
    return _code(rebased.report)


def _say_held(run: Session, tag: str) -> None:
    from patchq.cli.resolve import held_words

    found = run.api.held(tag)
    if found.roots:
        run.notice(f"held: {held_words(found)}; `patchq resolve` lists them")


def _code(report: Report) -> int:
    """1 if review is needed, also for what left the series: held, or needed again."""
    from patchq.report.sections import to_decide

    return 1 if report.needs_review or to_decide(report) else 0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rebase")(rebase)
