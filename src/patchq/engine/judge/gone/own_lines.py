"""Whether the lines that a hunk edits were added to another file.

If a file was split, no other file may have much of it, but one has the line that matters.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from patchq.engine.judge.gone.removal import LostCode
from patchq.engine.judge.line_search import Elsewhere, is_own, search_elsewhere
from patchq.engine.series.hunks import changed_region
from patchq.engine.series.repeated_lines import count_stripped
from patchq.engine.workspace.upstream_range import UpstreamRange


@dataclass(frozen=True)
class EditedLines:
    """The (stripped) lines that a hunk edits, of these the ones that it ``replaced``."""

    lines: tuple[bytes, ...]
    replaced: tuple[bytes, ...]


def edited_lines(span: UpstreamRange, lost: LostCode) -> EditedLines | None:
    """The lines that a hunk replaces, or those around its insertion; None if it edits none."""
    objects = span.store.objects
    region = changed_region(lost.unit, objects)
    if region is None:
        return None
    (path,) = lost.unit.paths
    sides = lost.unit.before[path], lost.unit.after[path]
    before, after = (count_stripped(objects.blob(entry)) for entry in sides)
    lines = tuple(line.strip() for line in region.inside)
    return EditedLines(lines, tuple(line for line in lines if after[line] < before[line]))


def own_lines_elsewhere(span: UpstreamRange, lost: LostCode) -> Elsewhere | None:
    """The lines that a hunk replaces, or both lines around an insertion, if other files got them.

    Lines that are common in the old tree do not count, nor do bare jumps and brackets.
    """
    edited = edited_lines(span, lost)
    if edited is None:
        return None
    objects, replaced = span.store.objects, edited.replaced
    wanted = tuple(dict.fromkeys(line for line in replaced or edited.lines if is_own(line)))
    if len(wanted) < (1 if replaced else 2):
        return None
    old = objects.content(span.old.tree, lost.path) or b""
    new = objects.content(span.new.tree, lost.new_path or lost.path) or b""
    change = Counter(count_stripped(new))
    change.subtract(count_stripped(old))
    found = search_elsewhere(span, wanted, change)
    complete = bool(replaced) or len(found.lines) == len(wanted)
    return found if found.lines and complete else None
