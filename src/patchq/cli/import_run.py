"""Import patches onto a series: from anywhere, all or none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from patchq.cli import import_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchq.api.importing import ImportOptions
    from patchq.cli.session import Session


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
    (result,) = import_result.bring(here, {tag: found}, options, here.typed(tag))
    import_result.say(here, result)
    if as_json:
        document = import_result.document(result, dry_run=options.dry_run)
        typer.echo(render_document(document), nl=False)
    else:
        typer.echo(import_result.text(result, dry_run=options.dry_run))
    return int(result.has_failures)
