"""``patchq backport``: upstream changes onto a tag, as patches of its series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli.session import session
from patchq.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchq.cli.session import Session
    from patchq.engine.backport.apply_change import UnmergedUnit
    from patchq.engine.backport.backport import BackportTerms, Brought, PrerequisiteMode
    from patchq.engine.backport.prerequisites import Found, Prerequisite
    from patchq.engine.backport.upstream_change import ChangeReader, UpstreamChange
    from patchq.model.series import Guard

SCHEMA = "patchq.backport/1"

_MOST_LINES = 6


def backport(
    context: typer.Context,
    requests: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PR|COMMIT|RANGE]...",
            help="What to bring: a PR's number, pull/N (its head), a commit, A..B.",
        ),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", metavar="FILE", help="A .diff or .patch of an upstream change."),
    ] = None,
    onto: Annotated[
        str | None, typer.Option("--onto", metavar="TAG", help="The base; default: newest series.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What the patch is called.")
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option("--guard", metavar="GUARD", help="Apply only with GUARD on: a variant."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="GLOB", help="Leave these files out, too (gitignore)."),
    ] = None,
    main: Annotated[
        str | None,
        typer.Option("--main", metavar="REF", help="Upstream's main: a branch or a commit."),
    ] = None,
    with_prerequisites: Annotated[
        bool, typer.Option("--with-prerequisites", help="Bring what it needs, as patches.")
    ] = False,
    squash: Annotated[
        bool, typer.Option("--squash", help="Bring it with what it needs as one patch.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="The most prerequisites.")
    ] = 5,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Bring upstream changes onto a tag, as patches on top of its series.

    Where one does not apply, the earlier upstream commits that it needs are searched for and
    shown. All that is asked for comes in, or nothing (exit code 1).

    \b
    Examples:
      patchq backport 35371 35496 --onto v0.5.18
      patchq backport 35496 --onto v0.5.18 --with-prerequisites
      patchq backport c14312a66420 --guard experiment
      patchq backport --file 36186.diff --onto v0.5.18
    """
    from patchq.engine.backport.backport import Backporter
    from patchq.engine.backport.upstream_change import ChangeReader
    from patchq.engine.workspace.transaction import Transaction

    here = session(context)
    if not requests and not file:
        raise InputError("nothing is asked for", hint="Name a PR, a commit or a range, or --file.")
    if name is not None and len(requests or ()) + len(file or ()) > 1:
        raise InputError("--name names one patch", hint="Bring the changes one by one.")
    tag = onto or here.newest_series
    patterns = (*here.settings.backport_exclude, *(exclude or ()))
    changes = ChangeReader(here.store, here.settings, patterns)
    with here.writing() as workspace, here.progress("backport") as progress:
        directory = workspace.load_or_empty(tag)
        wanted = _wanted(here, changes, tag, requests or (), file or (), main)
        terms = _terms(guard or (), name, _company(with_prerequisites, squash), limit)
        backporter = Backporter(here.project, directory, changes, terms)
        brought: list[Brought] = []
        for number, (change, source) in enumerate(wanted, 1):
            progress(number, len(wanted), change.title)
            brought.append(backporter.bring(change, source))
            if not brought[-1].patches:
                break
        done = all(one.patches for one in brought)
        if done and not dry_run:
            words = [*(requests or ()), *(f"--file {one}" for one in file or ())]
            transaction = Transaction(workspace, f"backport {' '.join(words)} --onto {tag}")
            backporter.stage(transaction)
            transaction.commit()
    for notice in (notice for one in brought for notice in one.notices):
        here.notice(notice)
    if as_json:
        typer.echo(_json(tag, brought, written=done and not dry_run), nl=False)
    else:
        typer.echo("\n".join(_text(tag, brought, done=done, dry_run=dry_run)))
    return 0 if done else 1


def _wanted(
    here: Session,
    changes: ChangeReader,
    tag: str,
    requests: Sequence[str],
    files: Sequence[Path],
    main: str | None,
) -> list[tuple[UpstreamChange, str | None]]:
    """The changes asked for, in order, each with where it comes from if that is a file."""
    import sys

    from patchq.engine.backport.requests import Sources
    from patchq.engine.importing.cut_from import OriginFinder
    from patchq.engine.workspace.main_branch import main_tip

    tip = main_tip(here.project, main)
    sources = Sources(here.project, changes, tip, terminal=sys.stderr.isatty())
    wanted: list[tuple[UpstreamChange, str | None]] = []
    for request in requests:
        located = sources.find(request)
        for notice in located.notices:
            here.notice(notice)
        wanted += [(change, None) for change in located.changes]
    origins = OriginFinder(here.project, tip)
    for file in files:
        for foreign in origins.read(str(file), file.read_bytes(), tag, changes):
            here.notice(f"{file}: {foreign.cut_from}")
            wanted.append((foreign.change, file.name))
    return wanted


def _terms(
    guards: Sequence[str], name: str | None, company: PrerequisiteMode, limit: int
) -> BackportTerms:
    from datetime import UTC, datetime

    from patchq.engine.backport.backport import BackportTerms
    from patchq.engine.series.message import now

    today = datetime.fromtimestamp(int(now().split()[0]), UTC).date().isoformat()
    return BackportTerms(today, tuple(map(_guard, guards)), name, company, limit)


def _company(with_prerequisites: bool, squash: bool) -> PrerequisiteMode:
    from patchq.engine.backport.backport import PrerequisiteMode

    if squash:
        return PrerequisiteMode.SQUASHED
    return PrerequisiteMode.PATCHES if with_prerequisites else PrerequisiteMode.NONE


def _guard(text: str) -> Guard:
    from patchq.model.series import Guard

    word = text.removeprefix("#")
    return Guard(word.lstrip("+-"), not word.startswith("-"))


def _text(tag: str, brought: Sequence[Brought], *, done: bool, dry_run: bool) -> Iterator[str]:
    verb = "would bring" if dry_run or not done else "brought"
    for one in brought:
        if not one.patches:
            yield from _shortfall(tag, one.found)
            continue
        for patch in one.patches:
            yield f"{verb} {patch.name} onto {tag}"
        for landing in one.found.landings:
            for old, new in landing.moves.items():
                yield f"  {old} is {new} there"
    if not done:
        yield "Nothing was written."


def _shortfall(tag: str, found: Found) -> Iterator[str]:
    """Why a change does not come in by itself, what would bring it, and what by hand is left."""
    from patchq.engine.backport.prerequisites import SearchOutcome

    change = found.change
    problems = [
        *([f"{_count(len(found.collisions), 'hunk')} of it collide"] if found.collisions else []),
        *([f"{_count(len(found.missing), 'name')} it uses are not there"] if found.missing else []),
    ]
    yield f"{change.title} does not come onto {tag} by itself: {' and '.join(problems)}"
    yield f"  {change.subject}"
    for name in found.missing:
        yield f"  missing {name.name}, used in {name.file}:{name.line}"
    match found.outcome:
        case SearchOutcome.FOUND:
            yield f"It comes with {_count(len(found.prerequisites), 'earlier commit')} of upstream:"
            yield from _prerequisites(found)
            yield "Bring them too with --with-prerequisites, or with --squash as one patch."
        case SearchOutcome.TOO_MANY:
            yield (
                f"It leans on {len(found.prerequisites)} earlier commits of upstream or more, past "
                "the limit (--limit); directly on these:"
            )
            yield from _prerequisites(found, only_for=change.title)
        case _ if found.prerequisites:
            yield "No set of earlier commits is enough; these were found:"
            yield from _prerequisites(found)
        case _:
            yield "No earlier commit of upstream helps."
    if found.collisions:
        yield "By hand, these lines are to be settled:"
        for collision in found.collisions:
            yield from _collision(collision)


def _prerequisites(found: Found, only_for: str | None = None) -> Iterator[str]:
    titles = {one.change.title for one in found.prerequisites}
    for one in found.prerequisites:
        if only_for is not None and only_for not in one.needed_for():
            continue
        change = one.change
        added, removed = change.lines
        files = _count(len(change.after), "file")
        yield (
            f"  {(change.commit or '')[:9]} {change.title}  +{added} -{removed} in {files}  "
            f"{change.subject}"
        )
        needs = [
            other.change.title
            for other in found.prerequisites
            if change.title in other.needed_for() and other.change.title in titles
        ]
        if needs:
            yield f"    itself needs {', '.join(needs)}"
        for reason in one.reasons[:_MOST_LINES]:
            yield f"    for {reason.needed_by}: {reason.text}"
        if len(one.reasons) > _MOST_LINES:
            yield f"    and {len(one.reasons) - _MOST_LINES} more reasons"


def _collision(collision: UnmergedUnit) -> Iterator[str]:
    unit = collision.unit
    if not collision.clashes:
        yield f"  {unit.file}: as a whole"
    for clash in collision.clashes:
        yield f"  {clash.path}:{clash.line} (hunk {', '.join(map(str, unit.hunks))})"
        yield from _excerpt("-", clash.ours)
        yield from _excerpt("+", clash.theirs)


def _excerpt(sign: str, lines: Sequence[bytes]) -> Iterator[str]:
    for line in lines[:_MOST_LINES]:
        yield f"    {sign} {line.decode('utf-8', 'replace')}"
    if len(lines) > _MOST_LINES:
        yield f"    {sign} … {len(lines) - _MOST_LINES} more lines"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _json(tag: str, brought: Sequence[Brought], *, written: bool) -> str:
    from patchq.report.document import render_document

    return render_document(
        {
            "schema": SCHEMA,
            "tag": tag,
            "written": written,
            "changes": [
                {
                    "title": one.found.change.title,
                    "commit": one.found.change.commit,
                    "subject": one.found.change.subject,
                    "outcome": one.found.outcome.value,
                    "patches": [
                        {"name": patch.name, "sha256": patch.sha256} for patch in one.patches
                    ],
                    "left_out": list(one.found.change.left_out),
                    "prerequisites": list(map(_prerequisite, one.found.prerequisites)),
                    "collisions": [
                        {
                            "file": collision.unit.file,
                            "hunks": list(collision.unit.hunks),
                            "lines": [clash.line for clash in collision.clashes],
                        }
                        for collision in one.found.collisions
                    ],
                    "missing": [
                        {"name": name.name, "file": name.file, "line": name.line}
                        for name in one.found.missing
                    ],
                    "notices": list(one.notices),
                }
                for one in brought
            ],
        }
    )


def _prerequisite(one: Prerequisite) -> dict[str, object]:
    added, removed = one.change.lines
    return {
        "commit": one.change.commit,
        "title": one.change.title,
        "subject": one.change.subject,
        "files": len(one.change.after),
        "added": added,
        "removed": removed,
        "reasons": [{"for": reason.needed_by, "text": reason.text} for reason in one.reasons],
    }


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("backport")(backport)
