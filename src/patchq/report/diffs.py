"""The diffs of a page: each text once, none without bounds, and one version against another."""

from __future__ import annotations

import json
import re
from difflib import unified_diff

from patchq.model.patch import Patch
from patchq.report.text import displayable

MOST_LINES = 1_500
MOST_CHARACTERS = 4_000_000
"""How much of one diff a page shows, and how much of all of them together."""

_MOST_COMPARED = 4_000_000
_POSITION = re.compile(r"^@@ -\S+ \+\S+ @@")
_CONTEXT = 4


class Diffs:
    """Texts by number; the same text has the same number."""

    def __init__(self, most: int = MOST_CHARACTERS) -> None:
        self._numbers: dict[str, int] = {}
        self._room = most

    def add(self, patch: Patch) -> int:
        """The number of the patch's diff; what is left out of it is said in its last line."""
        return self._number(_lines(patch))

    def change(self, old: Patch, new: Patch) -> int | None:
        """The number of the diff between two versions' diffs.

        None if they differ in no more than the places of their hunks, or are too long to compare.
        """
        before, after = ([*_placeless(_lines(patch))] for patch in (old, new))
        if before == after or len(before) * len(after) > _MOST_COMPARED:
            return None
        found = list(unified_diff(before, after, lineterm="", n=_CONTEXT))[2:]
        return self._number(["@@" if line.startswith("@@ -") else line for line in found])

    def as_json(self) -> str:
        """All texts, by number, as a list that may stand within a script element."""
        return json.dumps(list(self._numbers), separators=(",", ":")).replace("<", "\\u003c")

    def _number(self, lines: list[str]) -> int:
        text = "\n".join(lines[:MOST_LINES])
        left_out = len(lines) - MOST_LINES
        if left_out > 0:
            text += f"\n\\ {left_out} more lines are left out here: see patchq show"
        if text in self._numbers:
            return self._numbers[text]
        if len(text) > self._room:
            text = f"\\ {len(lines)} lines, for which the page has no room: see patchq show"
        self._room -= len(text)
        return self._numbers.setdefault(text, len(self._numbers))


def same_change(old: Patch, new: Patch) -> bool:
    """Whether two versions differ in no more than the places of their hunks."""
    return old.diff == new.diff or _placeless(_lines(old)) == _placeless(_lines(new))


def _lines(patch: Patch) -> list[str]:
    text = displayable(patch.diff.decode("utf-8", "surrogateescape"))
    return text.removesuffix("\n").split("\n")


def _placeless(lines: list[str]) -> list[str]:
    """The lines without what tells places and blobs."""
    return [_POSITION.sub("@@", line) for line in lines if not line.startswith("index ")]
