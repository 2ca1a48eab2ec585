"""The message in front of a diff, in any form: mail, quilt or DEP-3 header, git log, Mercurial.

What git would cut off or eat in a message is told by its ``mailinfo.c``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from enum import Enum

from patchq.model.header_lines import (
    FIELD,
    SEPARATOR,
    HeaderLine,
    Trailer,
    is_ours,
    joined,
    paragraph_end,
    read_fields,
    split_notes,
    split_trailers,
    trimmed,
    without_stat,
)
from patchq.model.header_people import persons, sender, unfolded

MBOX_LINE = re.compile(r"From \S+ .*\d\d:\d\d:\d\d")
_COMMIT = re.compile(r"commit [0-9a-f]{7,64}\b")
_REPLY = re.compile(r"\s*(?:Re:\s*)*", re.IGNORECASE)
_ZERO_OR_ID = re.compile(r"From [0-9a-f]{40} ")
_HG = "# HG changeset patch"
_ONELINE = re.compile(r"[0-9a-f]{7,40} (?:\([^()]*\) )?(?=\S)")
_MAIL_FIELDS = {"from", "author", "subject", "date"}
_RAW_AUTHOR = re.compile(r"author (.+>) (\d{1,11}) ([-+][01]\d[0-5]\d)$", re.ASCII)
_MESSAGE_FIELDS = {"description", "subject", "from", "author", "date"}


class HeaderForm(Enum):
    """A mail as ``git format-patch`` writes it, or anything else."""

    MAIL = "mail"
    PLAIN = "plain"


@dataclass(frozen=True)
class Message:
    """A header taken apart: message lines are without their fields, notes follow a ``---``."""

    form: HeaderForm
    subject: str
    author: str | None
    date: str | None
    body: str
    trailers: tuple[Trailer, ...]
    notes: str


def read_message(raw: bytes) -> Message:
    lines = [
        HeaderLine(number, text.removesuffix("\r"))
        for number, text in enumerate(decoded(raw).split("\n"), 1)
    ]
    mail = _split_mail(lines)
    if mail is not None:
        return _read_mail(*mail)
    mail = _split_loose_mail(lines)
    if mail is not None:
        return replace(_read_mail(*mail), form=HeaderForm.PLAIN)
    if lines[0].text == _HG:
        return _read_hg(lines)
    return _read_plain(_uncommented(lines))


def decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def bare_line(text: str) -> str:
    """A line without a ``# `` that quilt users put before prose."""
    return re.sub(r"^# ?", "", text)


def _uncommented(lines: Sequence[HeaderLine]) -> list[HeaderLine]:
    """Lines without their leading ``#`` where all lines have one."""
    written = [line for line in lines if line.text.strip()]
    if not written or not all(line.text.startswith("#") for line in written):
        return list(lines)
    return [HeaderLine(line.number, bare_line(line.text)) for line in lines]


def _split_mail(lines: Sequence[HeaderLine]) -> tuple[list[Trailer], list[HeaderLine]] | None:
    """The fields of a mail's header and the lines of its body; None if it is no mail."""
    mbox = bool(MBOX_LINE.match(lines[0].text))
    rest = lines[1:] if mbox else lines
    end = paragraph_end(rest)
    fields = read_fields(rest[:end])
    if not fields:
        return None
    keys = {entry.key.lower() for entry in fields}
    if not (mbox and "subject" in keys) and not {"from", "subject", "date"} <= keys:
        return None
    return fields, list(rest[end:])


def _split_loose_mail(lines: Sequence[HeaderLine]) -> tuple[list[Trailer], list[HeaderLine]] | None:
    """A mail that StGit took for a message: blank lines stand between its first lines."""
    if not MBOX_LINE.match(lines[0].text) or not _ZERO_OR_ID.match(lines[0].text):
        return None
    rest, fields = trimmed(lines[1:]), list[Trailer]()
    while rest:
        notes = (i for i, line in enumerate(rest) if SEPARATOR.match(line.text))
        end = min(paragraph_end(rest), next(notes, len(rest)))
        found = read_fields(rest[:end])
        if not found or any(entry.key.lower() not in _MAIL_FIELDS for entry in found):
            break
        fields += found
        rest = trimmed(rest[end:])
    return (fields, rest) if any(entry.key.lower() == "subject" for entry in fields) else None


def _read_mail(fields: Sequence[Trailer], lines: list[HeaderLine]) -> Message:
    head = {entry.key.lower(): unfolded(entry.value) for entry in reversed(fields)}
    lines, inner = _in_body_headers(lines)
    head |= inner
    body, notes = split_notes(lines)
    prose, trailers = split_trailers(body)
    return Message(
        form=HeaderForm.MAIL,
        subject=_untagged(head.get("subject", "")),
        author=sender(persons(head.get("from"))[0]),
        date=head.get("date"),
        body=joined(prose),
        trailers=(
            *(entry for entry in fields if is_ours(entry.key)),
            *_others(fields, ("from",)),
            *trailers,
        ),
        notes=notes,
    )


def _in_body_headers(lines: list[HeaderLine]) -> tuple[list[HeaderLine], dict[str, str]]:
    """From, Subject and Date at the top of a mail's body, which stand for those of the mail."""
    lines = trimmed(lines)
    found: dict[str, str] = {}
    for number, line in enumerate(lines):
        match = FIELD.match(line.text)
        if match is None or match[1].lower() not in ("from", "subject", "date"):
            return lines[number:], found
        found[match[1].lower()] = (match[2] or "").strip()
    return [], found


def _others(fields: Sequence[Trailer], keys: Collection[str]) -> Iterator[Trailer]:
    """All the authors, as they were written, if there is more than the one a mail can name."""
    named = {entry.value: entry for entry in reversed(fields) if entry.key.lower() in keys}
    if len(named) > 1 or any(len(persons(text)) > 1 for text in named):
        yield from (Trailer("Author", e.value, e.line) for e in reversed(named.values()))


def _untagged(subject: str) -> str:
    start = 0
    while match := _REPLY.match(subject, start):
        start = match.end()
        end = subject.find("]", start)
        if not subject.startswith("[", start) or "PATCH" not in subject[start : end + 1].upper():
            break
        start = end + 1
    return " ".join(subject[start:].split())


def _read_plain(lines: list[HeaderLine]) -> Message:
    lines = trimmed(without_stat(lines))
    if lines and _COMMIT.match(lines[0].text):
        return _read_git_log(lines)
    lines, notes = split_notes(lines)
    end = paragraph_end(lines)
    fields = read_fields(lines[:end])
    if fields and any(
        entry.key.lower() in _MESSAGE_FIELDS or is_ours(entry.key) for entry in fields
    ):
        return _read_dep3(lines[:end], lines[end:], fields, notes)
    if len(lines) == 1 and (oneline := _ONELINE.match(lines[0].text)):
        lines = [HeaderLine(lines[0].number, lines[0].text[oneline.end() :])]
    lines, values = _signed(lines)
    prose, trailers = split_trailers(lines[1:])
    author, date = sender(values.get("from", values.get("author"))), values.get("date")
    return _plain([*lines[:1], *prose], trailers, notes, author, date)


def _signed(lines: list[HeaderLine]) -> tuple[list[HeaderLine], dict[str, str]]:
    """Author and date in a paragraph of their own behind the subject, as StGit exports them."""
    if not lines[1:] or lines[1].text.strip():
        return lines, {}
    rest = trimmed(lines[1:])
    end = paragraph_end(rest)
    fields = read_fields(rest[:end]) or ()
    values = {entry.key.lower(): entry.value for entry in fields}
    if not values or not values.keys() <= _MAIL_FIELDS - {"subject"}:
        return lines, {}
    return [lines[0], *rest[end:]], values


def _read_hg(lines: Sequence[HeaderLine]) -> Message:
    """``hg export``: fields as comments, then the message; a date's zone counts west of UTC."""
    end = next((i for i, line in enumerate(lines) if not line.text.startswith("#")), len(lines))
    words = [line.text[1:].strip().split(" ", 1) for line in lines[:end]]
    values = {pair[0]: pair[1] for pair in words if len(pair) == 2}
    date = re.fullmatch(r"(\d+) (-?\d+)", values.get("Date", ""))
    moment = date and datetime.fromtimestamp(
        int(date[1]), timezone(timedelta(seconds=-int(date[2])))
    )
    message, notes = split_notes(trimmed(lines[end:]))
    prose, trailers = split_trailers(message[1:])
    author = sender(values.get("User"))
    return _plain(
        [*message[:1], *prose], trailers, notes, author, moment.isoformat() if moment else None
    )


def _plain(
    prose: list[HeaderLine],
    trailers: Sequence[Trailer],
    notes: str,
    author: str | None = None,
    date: str | None = None,
) -> Message:
    """A message whose subject is the first line of its prose."""
    prose = trimmed(prose)
    return Message(
        form=HeaderForm.PLAIN,
        subject=_untagged(prose[0].text) if prose else "",
        author=author,
        date=date,
        body=joined(prose[1:]),
        trailers=tuple(trailers),
        notes=notes,
    )


def _read_dep3(
    header: list[HeaderLine], rest: list[HeaderLine], fields: Sequence[Trailer], notes: str
) -> Message:
    prose, trailers = split_trailers(rest)
    values = {entry.key.lower(): entry.value for entry in reversed(fields)}
    described = _described(header)
    return _plain(
        [*described, HeaderLine(0, ""), *prose],
        [
            *(entry for entry in fields if entry.key.lower() not in _MESSAGE_FIELDS),
            *_others(fields, ("from", "author")),
            *trailers,
        ],
        notes,
        author=sender(persons(values.get("from", values.get("author")))[0]),
        date=values.get("date"),
    )


def _described(header: Sequence[HeaderLine]) -> list[HeaderLine]:
    """The lines of Description or Subject; a lone dot is an empty line, as in Debian's files."""
    described: list[HeaderLine] = []
    inside = False
    for line in header:
        if match := FIELD.match(line.text):
            inside = match[1].lower() in ("description", "subject")
            text = match[2] or ""
        else:
            text = "" if line.text.strip() == "." else line.text[1:]
        if inside:
            described.append(HeaderLine(line.number, text))
    return described


def _read_git_log(lines: Sequence[HeaderLine]) -> Message:
    """``git show`` and ``git log -p``: fields, then the message indented by four spaces."""
    end = paragraph_end(lines)
    values = _log_fields(lines[1:end])
    message = [HeaderLine(line.number, line.text.removeprefix("    ")) for line in lines[end:]]
    message, notes = split_notes(trimmed(message))
    prose, trailers = split_trailers(message[1:])
    date = values.get("authordate", values.get("date"))
    return _plain([*message[:1], *prose], trailers, notes, values.get("author"), date)


def _log_fields(lines: Sequence[HeaderLine]) -> dict[str, str]:
    """Author and date as ``git show`` tells them, in any ``--format`` it has a name for."""
    for line in lines:
        if match := _RAW_AUTHOR.match(line.text):
            moment = datetime.fromtimestamp(int(match[2]), _zone(match[3]))
            return {"author": match[1], "date": moment.isoformat()}
    return {entry.key.lower(): entry.value for entry in read_fields(lines) or ()}


def _zone(text: str) -> timezone:
    minutes = int(text[1:3]) * 60 + int(text[3:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
