"""Strings of Python that a formatter put into other quotes, which says the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from patchq.engine.languages.tokens import Family, family

_LITERAL = re.compile(
    rb"(?P<long>'''|\"\"\").*?(?:(?P=long)|\Z)|#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?P<plain>[^'\"\\\n]*)'"
    rb"|'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)


def quoted_alike(path: str, *texts: bytes) -> Sequence[bytes]:
    """Versions of a Python file with all plain strings in double quotes, if the last one differs
    from the one before it by quotes; else none."""
    *_, then, now = texts
    if family(path) is not Family.PYTHON or b"'" not in then + now:
        return ()
    alike = tuple(map(_double_quoted, texts))
    return alike if _missing(*alike[-2:]) < _missing(then, now) else ()


def _missing(then: bytes, now: bytes) -> int:
    return len(set(then.split(b"\n")).difference(now.split(b"\n")))


def _double_quoted(text: bytes) -> bytes:
    return _LITERAL.sub(_requoted, text)


def _requoted(match: re.Match[bytes]) -> bytes:
    plain = match["plain"]
    return match[0] if plain is None else b'"' + plain + b'"'
