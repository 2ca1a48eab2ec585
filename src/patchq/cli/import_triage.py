"""``patchq import`` without ``--tag``: which base each patch fits, and each taken onto its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchq.cli.import_run import Options
    from patchq.cli.session import Session
    from patchq.engine.importing.sources import Collected
    from patchq.model.triage import Triage


def triage(
    here: Session, what: Sequence[str], found: Collected, options: Options, *, take: bool
) -> int:
    """Say which base each patch fits, or with ``take`` bring each onto the one it fits best.

    The exit code is 1 where a patch of this repository fits no base.
    """
    from patchq.cli.import_run import asked_paths
    from patchq.cli.output import terminal
    from patchq.engine.importing.triage import triage as judge
    from patchq.engine.workspace.main_branch import main_tip
    from patchq.errors import InputError
    from patchq.report.document import render_document
    from patchq.report.triage import commands, render_triage, triage_document

    if not here.lock.bases:
        raise InputError(
            "upstream.lock has no base yet", hint="`patchq lock TAG` pins one; or name --tag."
        )
    with here.progress("import") as progress:
        tip = main_tip(here.project, options.main)
        answer = judge(
            here.project,
            found.patches,
            tip,
            asked_paths(options),
            progress,
            recount=options.recount,
        )
    for notice in found.notices:
        here.notice(str(notice))
    for error in found.errors:
        here.notice(f"not read: {error}")
    bad = bool(found.errors or answer.unplaced)
    if take:
        return max(_take(here, found, answer, options), int(bad))
    if options.as_json:
        typer.echo(render_document(triage_document(answer)), nl=False)
        return int(bad)
    render_triage(answer, terminal())
    lines = list(commands(answer))
    if lines:
        typer.echo("")
        typer.echo(f"Take each onto its best base: patchq import {' '.join(what)} --take")
        typer.echo("or base by base:")
    for line in lines:
        typer.echo(f"  {line}")
    return int(bad)


def _take(here: Session, found: Collected, answer: Triage, options: Options) -> int:
    from patchq.cli.import_run import bring
    from patchq.engine.importing.sources import Collected
    from patchq.report.document import render_document

    by_place = {given.place: given for given in found.patches}
    chosen = {
        base: Collected([replace(by_place[file.place], name=file.name) for file in taken])
        for base in answer.bases
        if (taken := answer.taken(base))
    }
    label = f"{here.typed()} ({', '.join(chosen)})"
    brought = bring(here, chosen, replace(options, keep_going=True), label)
    for one in brought:
        one.say(here)
        if not options.as_json:
            typer.echo(one.text())
    if options.as_json:
        imports = [one.document() for one in brought]
        document = {"schema": "patchq.taken/1", "dry_run": options.dry_run, "imports": imports}
        typer.echo(render_document(document), nl=False)
    for file in answer.files:
        if file.other:
            here.notice(f"{file.place}: for another repository, passed over")
        elif file.best is None:
            why = "upstream has it" if file.there else file.problem
            here.notice(f"{file.place}: passed over: {why}")
    return max((one.code for one in brought), default=0)
