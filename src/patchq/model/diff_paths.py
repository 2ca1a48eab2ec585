"""The paths that a diff names: quoted, followed by a time, or two in one line."""

from __future__ import annotations

import re
from datetime import UTC, datetime

STAMP = re.compile(
    r"(?:\t.*|\s+(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d).*)$", re.DOTALL
)  # a tab, or what old diffs put there
_EPOCH = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.0+)? ([-+]\d\d):?(\d\d)")
_ESCAPE = re.compile(rb"\\([abtnvfr\"\\]|[0-3][0-7]{2})")
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


def as_text(raw: bytes) -> str:
    """A path's bytes as text that gives the same bytes back (PEP 383)."""
    return raw.decode("utf-8", "surrogateescape")


def is_epoch(field: str) -> bool:
    """Whether the time after a file's name is the epoch: how ``diff -N`` says "not there"."""
    match = _EPOCH.search(field)
    if match is None:
        return False
    try:
        moment = datetime.strptime(
            f"{match[1]} {match[2]}{match[3]}", "%Y-%m-%d %H:%M:%S %z"
        ).astimezone(UTC)
    except (ValueError, OverflowError):  # no date that there is
        return False
    return moment == datetime(1970, 1, 1, tzinfo=UTC)


def unquoted(name: str) -> str:
    """A name as git and GNU diff C-quote it where it holds unusual bytes."""
    if not (name.startswith('"') and '"' in name[1:]):
        return name
    inner = name[1 : name.rindex('"')].encode("utf-8", "surrogateescape")

    def byte(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([_ESCAPED[code[0]] if len(code) == 1 else int(code, 8)])

    return as_text(_ESCAPE.sub(byte, inner))


def name_pairs(names: str) -> list[tuple[str, str]]:
    """The ways to read ``a/x b/x``, where a space may also be part of a name."""
    quoted = re.match(r'("(?:[^"\\]|\\.)*") (.+)$', names) or re.match(r'(.+?) (".*")$', names)
    if quoted:
        return [(unquoted(quoted[1]), unquoted(quoted[2]))]
    spaces = (index for index, char in enumerate(names) if char == " ")
    return [(names[:index], names[index + 1 :]) for index in spaces]
