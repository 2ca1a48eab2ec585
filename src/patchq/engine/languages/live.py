"""The lines of a text that have an effect: none in comments, and none that are switched off."""

from __future__ import annotations

import re
from itertools import chain

from patchq.engine.languages.tokens import TRIPLE, Family, coded_lines, family
from patchq.recent import kept_for

_UNREAD = re.compile(
    rb"#\[(=*)\[[\s\S]*?\]\1\]"
    rb"|^[ \t]*:[ \t]*<<-?[ \t]*['\"]?(\w+)['\"]?[^\n]*\n[\s\S]*?^[ \t]*\2[ \t]*$",
    re.MULTILINE,
)
"""A bracket comment of CMake; a here-document that a shell gives to ``:``, which does nothing."""
_MARKUP = re.compile(
    r"\.(?:mdx?|markdown|[sx]?html?|xml|svg|vue|xsd|xslt?|xaml|plist|ui|qrc|props|targets|\w+proj"
    r"|launch|urdf|xacro)$",
    re.IGNORECASE,
)
_MARKUP_COMMENT = re.compile(
    rb"<!--[\s\S]*?-->|^[ \t]*<!--[\s\S]*\Z|\{/\*[\s\S]*?\*/\}", re.MULTILINE
)
"""A comment of HTML, XML and Markdown, also one that nothing ends; one of MDX."""
_NEVER = re.compile(
    rb"\s*(?:(?:el)?if|while)\s*\(?\s*(?:0|false)\s*\)?\s*(?:[:{]|;\s*(?:then|do))?", re.IGNORECASE
)
_MAY_NEVER = re.compile(rb"(?:if|while)\s*\(?\s*(?:0|false)", re.IGNORECASE)
DIRECTIVE = rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b"
"""A preprocessor directive that begins or ends a branch of a condition; its name."""
_CONDITION = re.compile(DIRECTIVE + rb"\s*((\w*).*)")
"""The same with the condition, and the first word of that."""
_DEFINED = re.compile(rb"[ \t]*#[ \t]*define[ \t]+(\w+)")
Part = tuple[int, ...]
"""A branch of a preprocessor condition: the line of its directive, and those of the branches before
it, back to the ``#if``."""


@kept_for(2 << 20)
def code_lines(path: str, text: bytes) -> list[bytes]:
    """The stripped lines of a file; empty if no code begins on one, also in a multi-line string."""
    kind = family(path)
    if kind is Family.PYTHON or path.endswith(".toml"):
        text = TRIPLE.sub(_emptied, text)
    if kind is Family.OTHER and (b"#[" in text or b"<<" in text):
        text = _UNREAD.sub(_emptied, text)
    if b"<!--" in text or b"{/*" in text:
        text = _MARKUP_COMMENT.sub(_emptied, text) if _MARKUP.search(path) else text
    return coded_lines(kind, text)


def _emptied(match: re.Match[bytes]) -> bytes:
    return b"\n" * match[0].count(b"\n")


@kept_for(8 << 20)
def live_lines(path: str, text: bytes) -> frozenset[int]:
    """The (0-based) lines with code that may run: none in a comment or a multi-line string, below
    ``if False``, or in a branch that the preprocessor drops (``#if 0``)."""
    lines = text.split(b"\n")
    live = frozenset(number for number, line in enumerate(code_lines(path, text)) if line)
    if _MAY_NEVER.search(text):
        live -= _never_run(lines)
    return live - _left_out(text) if family(path) is Family.C else live


def _never_run(lines: list[bytes]) -> set[int]:
    dead: set[int] = set()
    limit: int | None = None
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if limit is not None and line.strip() and indent <= limit:
            limit = None
        if limit is not None:
            dead.add(number)
        elif _NEVER.fullmatch(line.rstrip()):
            limit = indent
    return dead


def _left_out(text: bytes) -> set[int]:
    """The lines below ``#if 0``, and those of the other branches of ``#if 1``."""
    lines = text.split(b"\n")

    def is_dead(part: Part) -> bool:
        match = _CONDITION.match(lines[part[-1]])
        known = match[2].split(b"/")[0].strip() if match and match[1] == b"if" else b""
        return known == (b"1" if part[1:] else b"0")

    found = parts(text)
    dead = {part for part in set(chain.from_iterable(found)) if is_dead(part)}
    return {
        number
        for number, around in enumerate(found)
        if not dead.isdisjoint(around) and not _CONDITION.match(lines[number])
    }


@kept_for(8 << 20)
def parts(text: bytes) -> tuple[tuple[Part, ...], ...]:
    """The branches that each line of a text is in, from the outside in.

    The directive that begins a branch is in it, the one that ends it is not. An include guard is no
    condition.
    """
    lines = text.split(b"\n")
    found: list[tuple[Part, ...]] = []
    open_: list[Part | None] = []
    now: tuple[Part, ...] = ()
    for number, line in enumerate(lines):
        match = _CONDITION.match(line) if b"#" in line else None
        if match is not None:
            around = () if match[1].startswith(b"if") else open_.pop() if open_ else None
            if match[1] != b"endif":
                below = _DEFINED.match(lines[number + 1]) if lines[number + 1 :] else None
                guards = below and match[1] == b"ifndef" and below[1] == match[3]
                open_.append(None if guards or around is None else (number, *around))
            now = tuple(filter(None, open_))
        found.append(now)
    return tuple(found)
