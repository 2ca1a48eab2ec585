"""``patchq import`` without ``--tag``: which base each patch fits, and each taken onto its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchq.api.importing import ImportOptions
    from patchq.cli.session import Session
    from patchq.engine.importing.sources import Collected
    from patchq.model.triage import Triage, TriagedFile


def triage(
    here: Session,
    what: Sequence[str],
    found: Collected,
    options: ImportOptions,
    *,
    take: bool,
    as_json: bool,
) -> int:
    """Say which base each patch fits, or with ``take`` bring each onto the one it fits best.

    The exit code is 1 if a patch of this repository fits no base.
    """
    from patchq.cli import import_result
    from patchq.cli.output import terminal
    from patchq.report.document import render_document
    from patchq.report.triage import commands, render_triage, triage_document

    with here.progress("import") as progress:
        answer = here.api.triage(found, options, progress=progress)
    import_result.say_notices(here, found.notices)
    import_result.say_left_out(here, found)
    for error in found.errors:
        here.notice(f"not read: {error}")
    bad = bool(found.errors or answer.unplaced)
    if take:
        return max(_take(here, found, answer, options, as_json=as_json), int(bad))
    if as_json:
        document = {**triage_document(answer), **import_result.beside(found)}
        typer.echo(render_document(document), nl=False)
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


def _take(
    here: Session, found: Collected, answer: Triage, options: ImportOptions, *, as_json: bool
) -> int:
    from patchq.cli import import_result
    from patchq.engine.importing.sources import Collected
    from patchq.report.document import render_document

    by_place = {given.place: given for given in found.patches}
    chosen = {
        base: Collected([replace(by_place[file.place], name=file.name) for file in taken])
        for base in answer.bases
        if (taken := answer.taken(base))
    }
    label = f"{here.typed()} ({', '.join(chosen)})"
    brought = import_result.bring(here, chosen, replace(options, keep_going=True), label)
    for one in brought:
        import_result.say(here, one)
        if not as_json:
            typer.echo(import_result.text(one, dry_run=options.dry_run))
    if as_json:
        imports = [import_result.document(one, dry_run=options.dry_run) for one in brought]
        skipped = [
            {"file": file.place, "line": None, "text": why, "hint": None}
            for file, why in _skipped(answer)
        ]
        rest = import_result.beside(found)
        document = {
            "schema": "patchq.taken/1",
            "dry_run": options.dry_run,
            "imports": imports,
            **rest,
            "passed_over": [*skipped, *rest["passed_over"]],
        }
        typer.echo(render_document(document), nl=False)
    for file, why in _skipped(answer):
        here.notice(f"{file.place}: skipped: {why}")
    return int(any(one.has_failures for one in brought))


def _skipped(answer: Triage) -> Iterator[tuple[TriagedFile, str]]:
    """The patches that are taken onto no base, and why."""
    for file in answer.files:
        if file.other:
            yield file, "for another repository"
        elif file.best is None:
            yield file, "upstream has it" if file.there else file.problem or "it fits no base"
