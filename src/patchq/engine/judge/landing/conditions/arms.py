"""The arms of ``switch``, ``match``, ``case`` of a shell, and the handlers of a ``try``."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from patchq.engine.judge.landing.conditions.nesting import column_of

ALTERNATIVES = b"\2"
"""Separates the alternatives of an arm."""
ANY_ERROR = b"Exception"
_DEFAULT = b"default"
_HANDLER = re.compile(rb"[}\s]*(?:except\b\s*\*?\s*(.*?)\s*:|catch\s*\((.*?)\)\s*\{?\s*$)")
_LABEL = re.compile(rb"\s*(?:case\b.*|default\s*):")
_LABELS = re.compile(rb"(?:^\s*|[:;]\s*)(?:case\b\s*(.+?)|(default))\s*(?<!:):(?!:)")
_PATTERN = re.compile(rb"\s*\(?\s*((?:[^\s()\"'#;&$`]|\"[^\"]*\"|'[^']*'|\\.|\s*\|\s*)+)\)(?!\))")
_CHOICE = re.compile(
    rb"[}\s]*(?:switch\s*\((.*)\)\s*\{?|match\s+(.*):|case\s+(.*?)\s+in)\s*(?:#.*|//.*|/\*.*)?$"
)
_TRY = re.compile(rb"[}\s]*try\b")
_FIXED = re.compile(rb"-?[\d.]\w*|\"[^\"]*\"|'[^']*'|\w+(?:\.\w+)+|None|True|False")
"""A pattern of Python that matches one value only."""
_GLOB = re.compile(rb"[*?\[]")


@dataclass(frozen=True)
class Arm:
    """An arm: the subject of the choice, the patterns that it ``takes``, and those of earlier arms
    that may match the same."""

    subject: bytes
    takes: frozenset[bytes]
    taken_before: frozenset[bytes]


def arm_at(lines: Sequence[bytes], number: int) -> Arm | None:
    """The arm that a line begins, None if it begins none that can be read."""
    line = lines[number]
    if _HANDLER.match(line):
        return _handler(lines, number)
    if not (_LABEL.match(line) or _PATTERN.match(line)):
        return None
    column = column_of(line)
    for at in range(number - 1, -1, -1):
        match = _CHOICE.match(lines[at])
        if match and column_of(lines[at]) <= column:
            return _chosen(lines, number, at, match)
        if lines[at].strip() and column_of(lines[at]) < column and not _is_aside(lines[at]):
            return None
    return None


def _chosen(lines: Sequence[bytes], number: int, head: int, match: re.Match[bytes]) -> Arm | None:
    """The arm at ``number`` of the choice that ``match`` found at ``head``."""
    column = column_of(lines[number])
    subject = b"case:" + b"".join(b" ".join(filter(None, match.groups())).split())
    if match[1] is not None:
        takes = _labels(lines[number])
        for at in range(number - 1, head, -1):
            if not _LABEL.fullmatch(lines[at].rstrip()):
                break
            takes |= _labels(lines[at])
        before = set(_others(lines, head, column)) - takes if _DEFAULT in takes else set()
    else:
        read, meet = (_cases, _overlap) if match[2] is not None else (_patterns, _meet)
        takes = read(lines[number])
        above = (line for line in lines[head + 1 : number] if column_of(line) == column)
        before = {
            each for line in above for each in read(line) if any(meet(each, one) for one in takes)
        }
    return Arm(subject, frozenset(takes), frozenset(before)) if takes else None


def _others(lines: Sequence[bytes], head: int, column: int) -> Iterator[bytes]:
    """The labels of a whole switch."""
    for line in lines[head + 1 :]:
        if line.strip() and column_of(line) <= column and line.lstrip().startswith(b"}"):
            return
        if column_of(line) == column:
            yield from _labels(line)


def _labels(line: bytes) -> set[bytes]:
    if not _LABEL.match(line):
        return set()
    return {b"".join((one or other).split()) for one, other in _LABELS.findall(line)}


def _cases(line: bytes) -> set[bytes]:
    """The alternatives of a ``case`` in Python."""
    match = re.match(rb"\s*case\b\s*(.+?)\s*:\s*(?:#.*)?$", line)
    if not match:
        return set()
    return {b" ".join(each.split()) for each in match[1].split(b"|")}


def _overlap(one: bytes, other: bytes) -> bool:
    return one == other or not (_FIXED.fullmatch(one) and _FIXED.fullmatch(other))


def _patterns(line: bytes) -> set[bytes]:
    match = _PATTERN.match(line)
    said = match[1].split(b"|") if match else ()
    return {stripped for each in said if (stripped := each.strip().strip(b"\"'"))}


def _meet(one: bytes, other: bytes) -> bool:
    """Whether two patterns of a shell may match the same word."""
    words = one.decode("latin-1"), other.decode("latin-1")
    globs = [_GLOB.search(one) is not None, _GLOB.search(other) is not None]
    if all(globs):
        return True
    return fnmatchcase(*words) or fnmatchcase(*reversed(words))


def _handler(lines: Sequence[bytes], number: int) -> Arm | None:
    takes, before = _caught(lines[number]), set[bytes]()
    column = column_of(lines[number])
    for at in range(number - 1, -1, -1):
        if not lines[at].strip() or column_of(lines[at]) > column or _is_aside(lines[at]):
            continue
        if column_of(lines[at]) < column or _TRY.match(lines[at]):
            break
        earlier = _caught(lines[at])
        if not _are_apart(earlier, takes):
            before |= earlier & takes or earlier
    return Arm(b"case:", frozenset(takes), frozenset(before)) if takes else None


def _caught(line: bytes) -> set[bytes]:
    """The types that a handler catches; of built-in ones of Python, their subclasses too."""
    match = _HANDLER.match(line)
    if match is None:
        return set()
    if match[2] is not None:
        return {b" ".join(re.sub(rb"\bconst\b|&|\w+\s*$", b"", match[2]).split()) or b"..."}
    said = re.sub(rb"\s+as\s+\w+$", b"", match[1]).strip(b"() ") or b"BaseException"
    return {one for each in said.split(b",") if each.strip() for one in _below(each.strip())}


def _below(name: bytes) -> set[bytes]:
    error = _error(name)
    known = (each for each in vars(builtins) if _error(each.encode()))
    below = {
        each.encode() for each in known if error and issubclass(getattr(builtins, each), error)
    }
    return {name} | below


def _are_apart(one: set[bytes], other: set[bytes]) -> bool:
    """Whether no error can match both; known for built-in exceptions of Python only."""
    if not all(map(_error, one | other)):
        return not one or not other
    return one.isdisjoint(other)


def _error(name: bytes) -> type[BaseException] | None:
    found = getattr(builtins, name.decode("latin-1"), None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _is_aside(line: bytes) -> bool:
    """Whether a line is a comment or a directive."""
    return line.lstrip().startswith((b"#", b"//", b"/*", b"*"))
