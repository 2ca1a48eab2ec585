"""Which names lines of Python may bind, told from their text: a file need not be parsed for that.

What :mod:`~patchq.engine.judge.landing.binding.python` reads as taking a name from a line must
share a word with that line here, or it is never asked: a new form there needs its words here. The
cases of ``tests/test_kept_names.py`` go through both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from keyword import kwlist

DEFINES = re.compile(rb"\s*(?:async\s+)?(?:def|class)\s+(\w+)")
"""The head of a definition, and its name."""
_WORD = re.compile(rb"[A-Za-z_]\w*")
_FUNCTION = re.compile(rb"(?:async\s+)?def\s+\w")
_NAMES = re.compile(rb"(?:import|from|del|setattr)\b|[(\"']?[\w.]+[\"']?(?:\s+as\s+\w+)?[\s,)]*$")
"""A statement that takes names, or an item of one that spans lines."""
_TAKES = re.compile(
    rb"^del\b|\*\*|\|\s*\{"
    rb"|\b(?:pop|remove|discard|clear|update|difference_update|dict|copy|replace|[sd]e[tl]attr)\("
)
_HELD = re.compile(rb"^[\"']|[\w\])][.\[][^=]*=|" + _TAKES.pattern)
"""What may set or remove an item, attribute or element of an object or its copy."""
_PASSING = re.compile(
    rb"(?:async\s+)?(?:for\b.*\bin\b|with\b.*|(?:if|while|\(\w+)\b.*:=.*)|[\w*, ]+\b(?=:=)"
)
"""The part of a loop, a ``with`` or a ``:=`` that may bind names."""
_APART = re.compile(rb"[,:(]")
_QUOTED = re.compile(rb"(\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')|#.*")
_ANNOTATION = re.compile(
    rb"(?<=[\w\"'])\s*:\s*[A-Za-z\"'][\w.]*[\"']?(?:\[[^=]*\])?(?=\s*(?:=|,|\)|$))"
)
_HEAD = re.compile(rb"(?:if|elif|else|for|while|with|try|except|finally|case|match|lambda|async)\b")
_PROSE = 3
"""A text with so many spaces is a message: its words are no names."""
_ITEM = re.compile(rb"[\"']([^\"']+)[\"']\s*:|^[\"']([^\"']*)[\"']")
_NO_NAMES = frozenset(word.encode() for word in (*kwlist, "self", "cls"))
_ASSIGNS = re.compile(rb"(?<![=!<>:])=(?!=)")
_NOT_CALLED = re.compile(rb"\b[A-Za-z_]\w*\b(?!\s*\()")


@dataclass(frozen=True)
class MayBind:
    """The names that some lines may bind, and those of items and attributes among them."""

    names: frozenset[bytes]
    held: frozenset[bytes]

    def may_take(self, heads: Sequence[bytes]) -> bool:
        """Whether they may rebind a name of a line: ``heads`` are the line and those that enclose
        it, from the inside out, without indentation.

        Local variables of functions do not count, but items and attributes of objects do.
        """
        heads = [_code_of(head) for head in heads]
        defined = {match[1] for head in heads if (match := DEFINES.match(head))}
        if not self.names.isdisjoint(defined):
            return True
        in_function = any(map(_FUNCTION.match, heads[1:]))
        words, taken = (may_hold, self.held) if in_function else (may_bind, self.names)
        bound = {word for head in heads for word in words(head)} - _NO_NAMES
        return not taken.isdisjoint(bound)


def bound_by(lines: Iterable[bytes]) -> MayBind:
    """What ``lines``, without indentation, may bind."""
    bound = {line: set(may_bind(line)) for line in map(_code_of, lines)}
    held = (
        names if _TAKES.search(line) else set(may_hold(line))
        for line, names in bound.items()
        if _HELD.search(line)
    )
    return MayBind(frozenset().union(*bound.values()), frozenset().union(*held))


@lru_cache(maxsize=4096)
def _code_of(line: bytes) -> bytes:
    """A line without comments and annotations, and with each message in it as one word."""
    bare = _QUOTED.sub(_as_one_word, line)
    return bare if _HEAD.match(bare) else _ANNOTATION.sub(b"", bare)


def _as_one_word(match: re.Match[bytes]) -> bytes:
    quoted: bytes = match[1] or b""
    return b"_".join(quoted.split()) if quoted.count(b" ") >= _PROSE else quoted


def may_bind(line: bytes) -> Iterable[bytes]:
    """The names that a line may bind or take away, and some others."""
    if match := DEFINES.match(line):
        return [match[1]]
    if _NAMES.match(line):
        return _WORD.findall(line.rpartition(b" import ")[2])
    if _HELD.search(line):
        return _WORD.findall(line)
    if match := _PASSING.match(line):
        return _WORD.findall(match[0])
    *targets, _value = _ASSIGNS.split(line)
    return _NOT_CALLED.findall(b" ".join(targets))


def may_hold(line: bytes) -> Iterator[bytes]:
    """The last parts of what a line may set in an object: a key, an attribute, a keyword argument,
    an element of a list on a line of its own."""
    *targets, _value = _ASSIGNS.split(line)
    for part in _APART.split(b",".join(targets)):
        yield from _WORD.findall(part)[-1:]
    for pair in _ITEM.findall(line):
        for found in pair:
            yield from _WORD.findall(found)
