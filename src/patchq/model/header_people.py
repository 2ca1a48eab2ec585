"""Who wrote a patch, as a mail or DEP-3 names people; by git's ``mailinfo.c``."""

from __future__ import annotations

import re

_NEXT_PERSON = re.compile(r"(?<=>)\s*(?:[,;&]|and\b)\s*(?=[^\s,;])")
_MOST_NAME = 60
"""How many bytes of a name git's mailinfo believes."""


def unfolded(value: str) -> str:
    """A header's value with RFC 2047 words decoded; as written where that fails."""
    if "=?" not in value:
        return value
    from email.errors import MessageError
    from email.header import decode_header, make_header

    try:
        return str(make_header(decode_header(value)))
    except (MessageError, LookupError, UnicodeError, ValueError):
        return value


def sender(text: str | None) -> str | None:
    """A From line as ``Name <mail>``, by git's ``mailinfo.c``; as it is where it has no address."""
    if not text:
        return None
    plain = _without_quotes(text)
    at = plain.find("@")
    if at < 0:
        match = re.match(r"([^<]*)<([^>]*)>", text)
        return _named(match[1], match[2]) if match else text.strip()
    start = max(plain.rfind(mark, 0, at) for mark in "< \t") + 1
    stop = next((i for i in range(start, len(plain)) if plain[i] in " \t>"), len(plain))
    name = plain[:start].removesuffix("<") + " " + plain[stop + 1 :]
    return _named(name, plain[start:stop])


def _named(name: str, mail: str) -> str | None:
    """git takes the mail for a name that is none; the parentheses around one are a comment's."""
    name = " ".join(name.split())
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1]
    sane = name and len(name.encode("utf-8", "surrogateescape")) <= _MOST_NAME
    if not sane or any(mark in name for mark in "@<>"):
        name = mail
    return f"{name} <{mail}>" if name else None


def persons(text: str | None) -> list[str | None]:
    """The people that a From or Author names; DEP-3 allows several."""
    return [*(_NEXT_PERSON.split(text) if text else ())] or [None]


def _without_quotes(text: str) -> str:
    """A structured header's text: quoted strings without their quotes, comments as they are."""
    plain, depth, quoted, literal = "", 0, False, False
    for char in text:
        if literal:
            literal = False
        elif char == "\\" and (quoted or depth):
            literal = True
            continue
        elif char == '"' and not depth:
            quoted = not quoted
            continue
        elif not quoted and char in "()":
            depth = max(depth + (1 if char == "(" else -1), 0)
        plain += char
    return plain
