"""Spelling of what comes from an upstream: paths of any bytes, subjects by anyone."""

from __future__ import annotations

import re

_KEPT = re.compile(r"[^\t\n]+")
_QUOTED = re.compile(r"\\udc([89a-f][0-9a-f])")


def readable(text: str) -> str:
    r"""``text`` with the bytes that are not UTF-8 as ``\xNN``: valid in any Unicode document.

    >>> readable("caf\udce9.c")
    'caf\\xe9.c'
    """
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def spelled(message: str) -> str:
    r"""``message`` with such bytes in one spelling, also those that ``repr`` quoted.

    >>> spelled("no caf\udce9, and no " + repr("caf\udce9"))
    "no caf\\xe9, and no 'caf\\xe9'"
    """
    return _QUOTED.sub(r"\\x\1", readable(message))


def printable(text: str) -> str:
    r"""``text`` fit for a terminal: also control and direction characters as escapes.

    >>> printable("\x1b[31mred")
    '\\x1b[31mred'
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in readable(text)
    )


def displayable(text: str) -> str:
    r"""``text`` of any number of lines, :func:`printable` but for their ends and tabs.

    >>> displayable("a\tb\r\n\u202e")
    'a\tb\\r\n\\u202e'
    """
    if text.isprintable():
        return text
    return _KEPT.sub(lambda match: printable(match[0]), text)


def day(date: str | None) -> str:
    """The day of an ISO 8601 date."""
    return (date or "")[: len("2026-01-31")]
