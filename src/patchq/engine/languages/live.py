"""Which lines of a text do something: a comment does nothing, nor does what is switched off."""

from __future__ import annotations

import re
from functools import lru_cache

from patchq.engine.languages.tokens import TRIPLE, Family, coded_lines, family

_UNREAD = re.compile(
    rb"#\[(=*)\[[\s\S]*?\]\1\]"
    rb"|^[ \t]*:[ \t]*<<-?[ \t]*['\"]?(\w+)['\"]?[^\n]*\n[\s\S]*?^[ \t]*\2[ \t]*$",
    re.MULTILINE,
)
"""A bracket comment of CMake; what a shell gives to a command that does nothing."""
_NEVER = re.compile(
    rb"\s*(?:(?:el)?if|while)\s*\(?\s*(?:0|false)\s*\)?\s*(?:[:{]|;\s*(?:then|do))?", re.IGNORECASE
)
_MAY_NEVER = re.compile(rb"(?:if|while)\s*\(?\s*(?:0|false)", re.IGNORECASE)
CONDITION = re.compile(rb"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b\s*((\w*).*)")
"""A directive that begins or ends a part of the text: its name, its condition, the first word."""


@lru_cache(maxsize=16)
def code_lines(path: str, text: bytes) -> list[bytes]:
    """The lines of a file, stripped; empty where no code begins, in strings of many lines too."""
    kind = family(path)
    if kind is Family.PYTHON or path.endswith(".toml"):
        text = TRIPLE.sub(_emptied, text)
    if kind is Family.OTHER and (b"#[" in text or b"<<" in text):
        text = _UNREAD.sub(_emptied, text)
    return coded_lines(kind, text)


def _emptied(match: re.Match[bytes]) -> bytes:
    return b"\n" * match[0].count(b"\n")


@lru_cache(maxsize=64)
def live_lines(path: str, text: bytes) -> frozenset[int]:
    """The (0-based) lines with code that may run: none in a comment or a string of many lines,
    below ``if False``, or in a part that the preprocessor leaves out (``#if 0``)."""
    lines = text.split(b"\n")
    live = frozenset(number for number, line in enumerate(code_lines(path, text)) if line)
    if _MAY_NEVER.search(text):
        live -= _never_run(lines)
    return live - _left_out(lines) if family(path) is Family.C else live


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


def _left_out(lines: list[bytes]) -> set[int]:
    dead: set[int] = set()
    parts: list[bytes] = []  # what the condition of each open part is: b"0", b"1" or unknown
    for number, line in enumerate(lines):
        match = CONDITION.fullmatch(line)
        if match is None:
            if b"0" in parts:
                dead.add(number)
        elif match[1] == b"endif":
            del parts[-1:]
        elif match[1].startswith(b"el") and parts:
            parts[-1] = {b"0": b"", b"1": b"0"}.get(parts[-1], b"")
        elif match[1].startswith(b"if"):
            known = match[2].split(b"/")[0].strip() if match[1] == b"if" else b""
            parts.append(known if known in (b"0", b"1") else b"")
    return dead
