"""The comparison of two series, as a table or as JSON."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console
from rich.text import Text

from patchq.model.series_diff import GuardDiff, PatchDiff, PatchDifference, SeriesDiff
from patchq.report.document import render_document
from patchq.report.terminal import INDENT, Writer

SCHEMA = "patchq.diff/1"

# The signs of git range-diff.
_LOOKS = {
    PatchDifference.UNCHANGED: ("=", "dim"),
    PatchDifference.METADATA: ("=", ""),
    PatchDifference.CHANGED: ("!", "yellow"),
    PatchDifference.GONE: ("<", "red"),
    PatchDifference.NEW: (">", "green"),
}


def render_series_diff(diff: SeriesDiff, console: Console) -> None:
    """Print ``diff``, one line a patch."""
    writer = Writer(console)
    counts = diff.count()
    told = ", ".join(f"{counts[fate]} {fate.value}" for fate in PatchDifference if counts[fate])
    writer.words(f"{diff.old} → {diff.new}: {told or 'no patches'}", style="bold")
    width = max((len(fate.value) for fate in counts), default=0)
    for patch in diff.patches:
        sign, style = _LOOKS[patch.fate]
        line = Text.assemble(
            f"{_place(patch.old_place)} {sign} {_place(patch.new_place)}  ",
            (f"{patch.fate.value:{width}}", style),
            "  ",
            (writer.say(patch.name), style or "bold"),
        )
        rest = Text(writer.say(_words(patch)), style="dim")
        if not rest or line.cell_len + 2 + rest.cell_len <= writer.width:
            writer.line(Text("  ").join([line, rest]) if rest else line)
        else:
            writer.line(line)
            writer.line(rest, INDENT)


def render_guard_diff(diff: GuardDiff, console: Console) -> None:
    """Print which patches the guards add (+) and remove (-)."""
    writer = Writer(console)
    guards = ", ".join(diff.guards)
    if not (diff.added or diff.removed):
        writer.words(f"{diff.series}: {guards} changes nothing")
        return
    writer.words(
        f"{diff.series} with {guards}: {len(diff.added)} more, {len(diff.removed)} less",
        style="bold",
    )
    for sign, names, style in (("+", diff.added, "green"), ("-", diff.removed, "red")):
        for name in names:
            writer.words(f"{sign} {name}", style=style)


def render_series_diff_json(diff: SeriesDiff) -> str:
    """``diff`` as a JSON document."""
    return render_document(
        {
            "schema": SCHEMA,
            "old": diff.old,
            "new": diff.new,
            "counts": {fate.value: diff.count()[fate] for fate in PatchDifference},
            "patches": [_patch(patch) for patch in diff.patches],
        }
    )


def render_guard_diff_json(diff: GuardDiff) -> str:
    """``diff`` as a JSON document."""
    return render_document(
        {
            "schema": SCHEMA,
            "series": diff.series,
            "guards": list(diff.guards),
            "added": list(diff.added),
            "removed": list(diff.removed),
        }
    )


def _patch(patch: PatchDiff) -> dict[str, Any]:
    return {
        "name": patch.name,
        "old_name": patch.old_name,
        "fate": patch.fate.value,
        "aspects": [aspect.name.lower() for aspect in patch.aspects],
        "old_place": patch.old_place,
        "new_place": patch.new_place,
        "reason": patch.reason,
    }


def _place(place: int | None) -> str:
    return f"{'-' if place is None else place:>3}"


def _words(patch: PatchDiff) -> str:
    words = [", ".join(aspect.value for aspect in patch.aspects)]
    if patch.old_name:
        words.append(f"was {patch.old_name}")
    if patch.reason:
        words.append(re.split(r"(?<=\.)\s", " ".join(patch.reason.split()), maxsplit=1)[0])
    return " · ".join(filter(None, words))
