"""The lines of a message: paragraphs, fields and trailers, notes behind ``---``, diffstats.

What counts as a trailer is told by git-interpret-trailers(1) and DEP-3.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

FIELD = re.compile(r"([A-Za-z][A-Za-z0-9-]*):(?:[ \t]+(.*)|)$")
_CHERRY_PICK = re.compile(r"\(cherry picked from commit [0-9a-f]+\)$")
_DIFFSTAT = re.compile(
    r" .+ \| +(?:\d+ ?[-+]*|Bin\b.*)$| \d+ files? changed\b"
    r"| (?:create|delete) mode [0-7]{6} | mode change [0-7]{6} | (?:rename|copy) .+ \(\d+%\)$"
)
STAT_END = re.compile(r" \d+ files? changed\b")
SEPARATOR = re.compile(r"---\s*$")
_DEP3 = {
    "origin",
    "bug",
    "forwarded",
    "reviewed-by",
    "acked-by",
    "last-update",
    "applied-upstream",
    "upstream-status",  # OpenEmbedded's, with CVE
    "cve",
}
_VENDOR = {
    "x-kind",
    "x-upstream-pr",
    "x-requires",
    "x-retire-when",
    "x-expect",
    "x-verify",
    "x-watch",
    "x-drift-accepted",
}


@dataclass(frozen=True)
class Trailer:
    """A field, continuation lines folded into one; ``line`` counts from 1 in the header."""

    key: str
    value: str
    line: int

    def __str__(self) -> str:
        return f"{self.key}: {self.value}"


@dataclass(frozen=True)
class HeaderLine:
    """A line of a header; ``number`` counts from 1."""

    number: int
    text: str


def continues(text: str) -> bool:
    """Whether a line goes on with the field above it."""
    return text[:1] in (" ", "\t") and bool(text.strip())


def read_fields(lines: Sequence[HeaderLine]) -> list[Trailer] | None:
    """Lines as fields with their continuations; None if one is neither."""
    fields: list[tuple[str, list[str], int]] = []
    for line in lines:
        match = FIELD.match(line.text)
        if match:
            fields.append((match[1], [(match[2] or "").strip()], line.number))
        elif fields and continues(line.text):
            fields[-1][1].append(line.text.strip())
        else:
            return None
    return [Trailer(key, " ".join(parts).strip(), number) for key, parts, number in fields]


def is_ours(key: str) -> bool:
    """Whether a field says something of the patch, not of the mail it came in."""
    key = key.lower()
    return key in _DEP3 or key in _VENDOR or key.startswith("bug-")


def without_stat(lines: list[HeaderLine]) -> list[HeaderLine]:
    """Lines without the diffstats among them, which no prose is."""
    kept: list[HeaderLine] = []
    ended = False
    for line in lines:
        kept.append(line)
        ended = bool(STAT_END.match(line.text) or (ended and _DIFFSTAT.match(line.text)))
        while ended and kept and _DIFFSTAT.match(kept[-1].text):
            kept.pop()
    return kept


def split_notes(lines: list[HeaderLine]) -> tuple[list[HeaderLine], str]:
    """What stands before a line ``---``, and the text after it that is not a diffstat."""
    for index, line in enumerate(lines):
        if SEPARATOR.match(line.text):
            notes = [
                note
                for note in lines[index + 1 :]
                if not _DIFFSTAT.match(note.text) and not SEPARATOR.match(note.text)
            ]
            return lines[:index], joined(notes)
    return lines, ""


def split_trailers(lines: list[HeaderLine]) -> tuple[list[HeaderLine], tuple[Trailer, ...]]:
    """Prose and fields: of the last paragraph, and of any that holds nothing but known fields."""
    *others, last = _paragraphs(lines) or [[]]
    prose: list[HeaderLine] = []
    trailers: list[Trailer] = []
    for paragraph in others:
        fields = read_fields(paragraph)
        if fields and all(is_ours(entry.key) for entry in fields):
            trailers.extend(fields)
        else:
            prose += [*paragraph, HeaderLine(0, "")]
    rest, fields = _split_last(last)
    trailers.extend(fields)
    return (prose + rest, tuple(trailers)) if trailers else (lines, ())


def _split_last(paragraph: list[HeaderLine]) -> tuple[list[HeaderLine], list[Trailer]]:
    """The last paragraph, where git allows other lines (``[name: what]``) among trailers.

    git's rule: a quarter must be trailers, one of them of a kind that is written by tools.
    """
    start = next((i for i, line in enumerate(paragraph) if FIELD.match(line.text)), None)
    fields = read_fields(paragraph)
    if fields is not None or start is None:
        return ([], fields) if fields else (paragraph, [])
    members = [line for line in paragraph[start:] if FIELD.match(line.text) or continues(line.text)]
    numbers = {line.number for line in members}
    others = [line for line in paragraph if line.number not in numbers]
    fields = read_fields(members) or []
    written = any(is_ours(entry.key) or entry.key == "Signed-off-by" for entry in fields)
    written = written or any(_CHERRY_PICK.match(line.text) for line in others)
    if written and len(fields) * 3 >= len(others):
        return others, fields
    return paragraph, []


def paragraph_end(lines: Sequence[HeaderLine]) -> int:
    """The index of the first empty line, or the number of lines."""
    return next((index for index, line in enumerate(lines) if not line.text.strip()), len(lines))


def _paragraphs(lines: Sequence[HeaderLine]) -> list[list[HeaderLine]]:
    paragraphs: list[list[HeaderLine]] = [[]]
    for line in lines:
        if line.text.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return [paragraph for paragraph in paragraphs if paragraph]


def trimmed(lines: Sequence[HeaderLine]) -> list[HeaderLine]:
    """Lines without empty ones at both ends."""
    written = [index for index, line in enumerate(lines) if line.text.strip()]
    return list(lines[written[0] : written[-1] + 1]) if written else []


def joined(lines: Sequence[HeaderLine]) -> str:
    """The lines as one text, without empty ones at both ends."""
    return "\n".join(line.text.rstrip() for line in trimmed(lines))
