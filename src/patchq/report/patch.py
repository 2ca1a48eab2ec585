"""One patch, decoded: what its header says, its files and hunks, and the diff."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from patchq.model.diff import FileChange
from patchq.model.patch import Patch
from patchq.model.series import SeriesEntry
from patchq.model.words import counted
from patchq.report.document import render_document
from patchq.report.terminal import Writer

SCHEMA = "patchq.show/1"

# no background, and no colour that a light or a dark terminal hides
_STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}


def render_json(tag: str, entry: SeriesEntry, patch: Patch) -> str:
    """What the patch says, as JSON."""
    header = patch.header
    document = {
        "schema": SCHEMA,
        "series": tag,
        "name": entry.name,
        "sha256": patch.sha256,
        "strip": entry.strip,
        "guards": [str(guard).removeprefix("#") for guard in entry.guards],
        "subject": header.subject,
        "author": header.author,
        "date": header.date,
        "body": header.body,
        "fields": [{"key": field.key, "value": field.value} for field in header.trailers],
        "files": [_file(change) for change in patch.files],
    }
    return render_document(document)


def _file(change: FileChange) -> dict[str, Any]:
    return {
        "kind": change.kind.value,
        "old": change.old,
        "new": change.new,
        "old_mode": change.old_mode,
        "new_mode": change.new_mode,
        "binary": change.binary,
        "hunks": len(change.hunks),
        "added": _added(change),
        "removed": _removed(change),
    }


def _added(change: FileChange) -> int:
    return sum(len(hunk.added) for hunk in change.hunks)


def _removed(change: FileChange) -> int:
    return sum(len(hunk.removed) for hunk in change.hunks)


def render_patch(tag: str, entry: SeriesEntry, patch: Patch, console: Console) -> None:
    """Print the patch without its diff, for which see :func:`render_diff`."""
    writer = Writer(console)
    for label, value in _labels(tag, entry, patch):
        writer.row(Text.assemble((f"{label}: ", "bold"), writer.say(value)))
    if patch.header.body:
        writer.blank()
        for line in patch.header.body.split("\n"):
            writer.row(Text(writer.say(line)))
    writer.blank()
    for change in patch.files:
        writer.row(Text(f"  {writer.say(_summary(change))}"))
    writer.blank()


def render_diff(diff: bytes, console: Console) -> None:
    """Print a diff for a terminal: coloured, never wrapped, control characters as escapes."""
    writer = Writer(console)
    for line in diff.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n"):
        shown = "\t".join(map(writer.say, line.split("\t")))
        writer.row(Text(shown, style=_STYLES.get(line[:1], "")))


def _labels(tag: str, entry: SeriesEntry, patch: Patch) -> list[tuple[str, str]]:
    header = patch.header
    labels = [
        ("Patch", f"{tag}/{entry.name}"),
        ("Guards", " ".join(str(guard).removeprefix("#") for guard in entry.guards)),
        ("Subject", header.subject),
        ("Author", header.author or ""),
        ("Date", header.date or ""),
        *((field.key, field.value) for field in header.trailers),
    ]
    return [(label, value) for label, value in labels if value]


def _summary(change: FileChange) -> str:
    path = " → ".join(change.paths)
    if change.binary:
        return f"{change.kind.value}  {path}  (binary)"
    hunks = counted(len(change.hunks), "hunk")
    return f"{change.kind.value}  {path}  {hunks}, +{_added(change)} -{_removed(change)}"
