"""Import patches onto a series: from anywhere, all or none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from patchq.cli import import_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchq.api.importing import ImportOptions, ImportResult
    from patchq.cli.session import Session
    from patchq.engine.importing.sources import Collected


def run(
    here: Session,
    what: Sequence[str],
    tag: str | None,
    options: ImportOptions,
    *,
    take: bool,
    as_json: bool,
) -> int:
    """Import ``what``; the exit code."""
    from patchq.report.document import render_document

    stdin = sys.stdin.buffer.read() if "-" in what else b""
    found, tag = here.api.collect(what, tag, options, stdin=stdin)
    if tag is None:
        from patchq.cli.import_triage import triage

        return triage(here, what, found, options, take=take, as_json=as_json)
    (result,) = bring(here, {tag: found}, options, here.typed(tag))
    say(here, result)
    if as_json:
        document = import_result.document(result, dry_run=options.dry_run)
        typer.echo(render_document(document), nl=False)
    else:
        typer.echo(import_result.text(result, dry_run=options.dry_run))
    return int(result.has_failures)


def bring(
    here: Session, found: Mapping[str, Collected], options: ImportOptions, label: str
) -> list[ImportResult]:
    """Put the patches found for each tag on top of its series, in one step for ``patchq undo``.

    Raises :class:`~patchq.errors.InputError` if one does not come in, and ``options`` do not say
    to keep going.
    """
    with here.progress("import") as progress:
        results = here.api.take(found, options, label, progress=progress)
    for result in results if not options.keep_going else ():
        if result.has_failures:
            for notice in (*result.found.notices, *result.batch.notices):
                here.notice(str(notice))
            import_result.raise_failures(here, result.batch, result.found.errors)
    return results


def say(here: Session, result: ImportResult) -> None:
    """Say on stderr what is no result."""
    if result.begins is not None:
        here.notice(f"series/{result.tag} starts over: {result.begins}")
    own = (notice for one in result.batch.imported for notice in one.notices)
    import_result.say_notices(here, (*result.found.notices, *result.batch.notices, *own))
    import_result.say_failures(here, result.batch, result.found.errors)
