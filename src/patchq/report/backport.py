"""What a backport brought, or what it lacks: for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchq.engine.backport.apply_change import UnmergedUnit
from patchq.engine.backport.backport import Brought
from patchq.engine.backport.prerequisites import Found, Prerequisite, SearchOutcome
from patchq.model.words import counted
from patchq.report.document import render_document

SCHEMA = "patchq.backport/1"

_MOST_LINES = 6


def render_text(tag: str, brought: Sequence[Brought], *, done: bool, dry_run: bool) -> str:
    """What came in and what did not, in lines; ``done`` says whether all of it came in."""
    return "".join(f"{line}\n" for line in _lines(tag, brought, done=done, dry_run=dry_run))


def _lines(tag: str, brought: Sequence[Brought], *, done: bool, dry_run: bool) -> Iterator[str]:
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
    change = found.change
    missing = counted(len(found.missing), "name")
    problems = [
        *([f"{counted(len(found.collisions), 'hunk')} of it collide"] if found.collisions else []),
        *([f"{missing} it uses are not there"] if found.missing else []),
    ]
    yield f"{change.title} does not come onto {tag} by itself: {' and '.join(problems)}"
    yield f"  {change.subject}"
    for name in found.missing:
        yield f"  missing {name.name}, used in {name.file}:{name.line}"
    match found.outcome:
        case SearchOutcome.FOUND:
            commits = counted(len(found.prerequisites), "earlier commit")
            yield f"It comes with {commits} of upstream:"
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
        files = counted(len(change.after), "file")
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


def render_json(tag: str, brought: Sequence[Brought], *, written: bool) -> str:
    """The same as JSON; ``written`` says whether the series has it now."""
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
