"""Under which names a line stands: the class and the function, the keys, the section.

A line may stand as it landed while the name above it became another: then it is about something
else. Indentation and section lines tell it; of languages with braces nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from patchq.engine.languages.tokens import Family, family

_DEFINES = re.compile(rb"\s*(?:async\s+)?(?:def|class)\s+(\w+)")
_KEY = re.compile(rb"\s*(?:-\s+)?[\"']?([^\s\"':{}\[\],#][^\"':]*)[\"']?\s*:")
_SECTION = re.compile(rb"\s*(\[[^\]]+\]+)\s*(?:[#;].*)?$")
SWITCH_KEY = rb"(?:if|when|enabled|disabled)\s*:"
"""A key of YAML that may switch off what it belongs to."""
_SWITCH = re.compile(rb"\s*(?:-\s+)?" + SWITCH_KEY)
_YAML = frozenset({".yaml", ".yml"})
_KEYED = _YAML | {".json"}
_SECTIONED = frozenset({".toml", ".ini", ".cfg", ".conf", ".service", ".desktop"})
HEADED = _SECTIONED | _YAML | {".properties"}
"""Files in which lines mean what the head of their section makes of them."""


def is_under_the_same(
    path: str, then: Sequence[bytes], number: int, now: Sequence[bytes], place: int
) -> bool:
    """Whether line ``number`` of ``then`` has the names above it that it has at ``place`` now.

    A function or class that was only renamed is the same.
    """
    suffix = PurePosixPath(path).suffix
    if suffix in _SECTIONED:
        return _section(then, number) == _section(now, place)
    if suffix in _KEYED:
        sides = (then, number), (now, place)
        keys, new = (_names(_KEY, lines, at) for lines, at in sides)
        switched, off = (_switches(lines, at) for lines, at in sides)
        return keys == new and off <= switched
    if family(path) is not Family.PYTHON:
        return True
    names, new = _names(_DEFINES, then, number), _names(_DEFINES, now, place)
    if len(names) != len(new):
        return False
    others = {old for old, name in zip(names, new, strict=True) if old != name}
    return not others or not any(
        match[1] in others for line in now if (match := _DEFINES.match(line))
    )


def _names(pattern: re.Pattern[bytes], lines: Sequence[bytes], number: int) -> list[bytes]:
    matches = (pattern.match(lines[at]) for at in _above(lines, number))
    return [match[1].strip() for match in matches if match]


def _section(lines: Sequence[bytes], number: int) -> bytes | None:
    matches = (_SECTION.match(lines[at]) for at in reversed(range(number + 1)))
    return next((match[1] for match in matches if match), None)


def _switches(lines: Sequence[bytes], number: int) -> int:
    """How many of the blocks around a line of YAML have a key that may switch them off."""
    return sum(
        any(_SWITCH.match(lines[beside]) for beside in _beside(lines, at))
        for at in (number, *_above(lines, number))
    )


def _above(lines: Sequence[bytes], number: int) -> Iterator[int]:
    """The lines that a line stands below, from the inside out."""
    indent = _indent(lines[number])
    for at in reversed(range(number)):
        if indent == 0:
            return
        if lines[at].strip() and _indent(lines[at]) < indent:
            indent = _indent(lines[at])
            yield at


def _beside(lines: Sequence[bytes], number: int) -> Iterator[int]:
    """The lines of the block of one, as far as they are indented like it."""
    indent = _indent(lines[number])
    for step in (-1, 1):
        at = number
        while 0 <= at < len(lines) and (not lines[at].strip() or _indent(lines[at]) >= indent):
            if _indent(lines[at]) == indent and lines[at].strip():
                yield at
            ends = (
                _starts_item(lines[at], indent)
                if step < 0
                else (at + 1 < len(lines) and _starts_item(lines[at + 1], indent))
            )
            if ends:
                break
            at += step


def _starts_item(line: bytes, indent: int) -> bool:
    return line.lstrip().startswith(b"- ") and _indent(line) == indent


def _indent(line: bytes) -> int:
    """Where the key or the statement begins; of an item, that behind its dash."""
    return _column(line) + (2 if line.lstrip().startswith(b"- ") else 0)


def _column(line: bytes) -> int:
    return len(line) - len(line.lstrip())
