"""The headings of a line: the class and function, the keys, the section that it is in.

An unchanged line means something else under another heading. Headings are told by indentation and
section lines; languages with braces have none here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from patchq.engine.judge.landing.binding.python_lines import DEFINES
from patchq.engine.judge.landing.conditions.nesting import indent_of
from patchq.engine.judge.landing.file_lines import FileLines
from patchq.engine.languages.tokens import Family

_KEY = re.compile(rb"\s*(?:-\s+)?[\"']?([^\s\"':{}\[\],#][^\"':]*)[\"']?\s*:")
_SECTION = re.compile(rb"\s*(\[[^\]]+\]+)\s*(?:[#;].*)?$")
SWITCH_KEY = rb"(?:if|when|enabled|disabled|continue-on-error|allow_failure)\s*:"
"""A key of YAML that may switch off its block, or have failures of it ignored."""
_SWITCH = re.compile(rb"\s*(?:-\s+)?" + SWITCH_KEY)
_YAML = frozenset({".yaml", ".yml"})
_KEYED = _YAML | {".json"}
_SECTIONED = frozenset({".toml", ".ini", ".cfg", ".conf", ".service", ".desktop"})
HEADED = _SECTIONED | _YAML | {".properties"}
"""Suffixes of files in which a line depends on its section."""


def is_section(lines: FileLines, number: int) -> bool:
    """Whether a line is the head of a section."""
    return lines.suffix in _SECTIONED and _SECTION.match(lines.raw[number]) is not None


def is_under_the_same(then: FileLines, number: int, now: FileLines, place: int) -> bool:
    """Whether line ``number`` of ``then`` has the same headings at ``place`` in ``now``.

    A function or class that was only renamed counts as the same.
    """
    suffix = then.suffix
    if suffix in _SECTIONED:
        return _section(then.raw, number) == _section(now.raw, place)
    if suffix in _KEYED:
        return _names(_KEY, then, number) == _names(_KEY, now, place)
    if then.kind is not Family.PYTHON:
        return True
    names, new = _names(DEFINES, then, number), _names(DEFINES, now, place)
    if len(names) != len(new):
        return False
    others = {old for old, name in zip(names, new, strict=True) if old != name}
    return not others or not any(
        match[1] in others for line in now.raw if (match := DEFINES.match(line))
    )


def is_switched(then: FileLines, number: int, now: FileLines, place: int) -> bool:
    """Whether a YAML block around a line got a key that may switch it off."""
    return then.suffix in _YAML and bool(_switches(now, place) - _switches(then, number))


def _names(pattern: re.Pattern[bytes], lines: FileLines, number: int) -> list[bytes]:
    matches = (pattern.match(lines.raw[at]) for at in lines.above(number))
    return [match[1].strip() for match in matches if match]


def _section(lines: Sequence[bytes], number: int) -> bytes | None:
    matches = (_SECTION.match(lines[at]) for at in reversed(range(number + 1)))
    return next((match[1] for match in matches if match), None)


def _switches(lines: FileLines, number: int) -> Counter[bytes]:
    """The lines with keys that may switch off a YAML block around a line."""
    if not any(map(_SWITCH.match, lines.raw)):
        return Counter()
    blocks = (number, *lines.above(number))
    keys = {at for block in blocks for at in _beside(lines.raw, block)}
    return Counter(lines[at] for at in keys if _SWITCH.match(lines.raw[at]))


def _beside(lines: Sequence[bytes], number: int) -> Iterator[int]:
    """The numbers of the lines of the same block with the same indentation as a line."""
    indent = indent_of(lines[number])
    for step in (-1, 1):
        at = number
        while 0 <= at < len(lines) and (not lines[at].strip() or indent_of(lines[at]) >= indent):
            if indent_of(lines[at]) == indent and lines[at].strip():
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
    return line.lstrip().startswith(b"- ") and indent_of(line) == indent
