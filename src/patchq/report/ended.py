"""Patches that ended and are still in older series: for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from shlex import quote

from rich.console import Console

from patchq.model.release import Ended
from patchq.report.document import render_document
from patchq.report.terminal import Writer

SCHEMA = "patchq.ended/1"


def render_ended(
    ended: Sequence[Ended], live: Collection[str], console: Console, *, not_live: bool
) -> None:
    """Print what can go and the commands for it; of what cannot, that it is still needed."""
    writer = Writer(console)
    proposed = [item for item in ended if _tags(item, live, not_live)]
    for item in proposed:
        tags = _tags(item, live, not_live)
        text = f"{item.name}: {item.verdict.value} on {item.since}, still in {', '.join(tags)}"
        writer.words(text)
        reason = quote(f"{item.verdict.value} on {item.since}")
        for tag in tags:
            writer.command(f"patchq drop {item.name} --tag {tag} --reason {reason}")
    for item in ended:
        if item.needed_by:
            text = f"{item.name}: ended; still needed by {', '.join(item.needed_by)}"
            writer.words(text, style="dim")
    if not proposed:
        writer.words("No patch that ended can go.")


def render_ended_json(ended: Sequence[Ended], live: Collection[str], *, not_live: bool) -> str:
    """The same as a JSON document."""
    return render_document(
        {
            "schema": SCHEMA,
            "ended": [
                {
                    "name": item.name,
                    "verdict": item.verdict.value,
                    "since": item.since,
                    "still_in": list(item.tags),
                    "needed_by": list(item.needed_by),
                    "can_go": list(_tags(item, live, not_live)),
                }
                for item in ended
            ],
        }
    )


def _tags(item: Ended, live: Collection[str], not_live: bool) -> tuple[str, ...]:
    """The series that the patch can be dropped from: none if a live one needs it."""
    if not_live:
        return () if item.needed_by else item.tags
    return tuple(tag for tag in item.tags if tag not in live)
