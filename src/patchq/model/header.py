"""What stands before the diff: a mail's header and message, a quilt header, prose, or nothing.

Fields come as git trailers (git-interpret-trailers(1)) or as the pseudo-header of DEP-3
(https://dep-team.pages.debian.net/deps/dep3/). What git would cut off or eat in a message is told
by its ``mailinfo.c``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from email.errors import MessageError
from email.header import decode_header, make_header
from enum import Enum
from functools import cached_property
from itertools import dropwhile

from patchq.errors import InputError, Where
from patchq.model.predicate import Predicate, parse_predicate, path_span

_MBOX = re.compile(r"From \S+ .*\d\d:\d\d:\d\d")
_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9-]*):(?:[ \t]+(.*)|)$")
_CHERRY_PICK = re.compile(r"\(cherry picked from commit [0-9a-f]+\)$")
_COMMIT = re.compile(r"commit [0-9a-f]{7,64}\b")
_REPLY = re.compile(r"\s*(?:Re:\s*)*", re.IGNORECASE)
_DIFFSTAT = re.compile(
    r" .+ \| +(?:\d+ ?[-+]*|Bin\b.*)$| \d+ files? changed\b"
    r"| (?:create|delete) mode [0-7]{6} | mode change [0-7]{6} | (?:rename|copy) .+ \(\d+%\)$"
)
_STAT_END = re.compile(r" \d+ files? changed\b")
_SEPARATOR = re.compile(r"---\s*$")
_ZERO_OR_ID = re.compile(r"From [0-9a-f]{40} ")
_ZERO_COMMIT = re.compile(r"From 0+ ")
_HG = "# HG changeset patch"
_ONELINE = re.compile(r"[0-9a-f]{7,40} (?:\([^()]*\) )?(?=\S)")
_NEXT_PERSON = re.compile(r"(?<=>)\s*(?:[,;&]|and\b)\s*(?=[^\s,;])")
_MAIL_FIELDS = {"from", "author", "subject", "date"}
_RAW_AUTHOR = re.compile(r"author (.+>) (\d{1,11}) ([-+][01]\d[0-5]\d)$", re.ASCII)
_MOST_NAME = 60
"""How many bytes of a name git's mailinfo believes."""
# patch(1) sees a diff through indentation, of X as well as blanks; quilt ends a header at "---"
_DIFF_LIKE = re.compile(
    r"[ \tX]*(?:(?:---|\*\*\*)(?:\s|$)|\+\+\+ |@@ -|diff -|Index:|GIT binary patch)"
)
_OPENING = re.compile(r"(?:From|Subject|Date):|\[PATCH\]|>From\s", re.IGNORECASE)
_SCISSORS = re.compile(r"([<>])([8%])|([8%])([<>])")

_MESSAGE_FIELDS = {"description", "subject", "from", "author", "date"}
_DEP3 = {
    "origin",
    "bug",
    "forwarded",
    "reviewed-by",
    "acked-by",
    "last-update",
    "applied-upstream",
    "upstream-status",  # OpenEmbedded's, with CVE
    "cve",
}
_VENDOR = {
    "x-kind",
    "x-upstream-pr",
    "x-requires",
    "x-retire-when",
    "x-expect",
    "x-verify",
    "x-watch",
    "x-drift-accepted",
}
_PREDICATES = ("x-retire-when", "x-expect", "x-verify")


class HeaderForm(Enum):
    """A mail as ``git format-patch`` writes it, or anything else."""

    MAIL = "mail"
    PLAIN = "plain"


@dataclass(frozen=True)
class Trailer:
    """A field, continuation lines folded into one; ``line`` counts from 1 in the header."""

    key: str
    value: str
    line: int

    def __str__(self) -> str:
        return f"{self.key}: {self.value}"


@dataclass(frozen=True)
class Header:
    """What a patch says of itself; ``where`` is the file, for errors in fields."""

    raw: bytes
    form: HeaderForm
    subject: str
    author: str | None
    date: str | None
    body: str
    trailers: tuple[Trailer, ...]
    where: Where | None = field(default=None, compare=False)

    def field(self, key: str) -> str | None:
        """The first value of ``key``, in any case; None where it is not given."""
        return next(iter(self.fields(key)), None)

    def fields(self, key: str) -> tuple[str, ...]:
        """All values of ``key``, in any case."""
        return tuple(trailer.value for trailer in self._trailers(key))

    @property
    def kind(self) -> str | None:
        """``X-Kind``."""
        return self.field("X-Kind")

    @property
    def upstream_prs(self) -> tuple[int, ...]:
        """``X-Upstream-PR``: any of these ends the patch's life.

        Raises :class:`InputError` where something else than numbers stands there.
        """
        numbers: list[int] = []
        for trailer in self._trailers("X-Upstream-PR"):
            for word in re.split(r"[|,\s]+", trailer.value.strip()):
                if not re.fullmatch(r"#?[0-9]{1,18}", word):
                    raise InputError(
                        f"{word[:40]!r} in X-Upstream-PR is not a PR number",
                        where=self._place(trailer),
                        hint="Write X-Upstream-PR: 36186, or 123 | 456 for either.",
                    )
                numbers.append(int(word.removeprefix("#")))
        return tuple(dict.fromkeys(numbers))

    @property
    def requires(self) -> tuple[str, ...]:
        """``X-Requires``: the patches that must come before."""
        return self._words("X-Requires")

    @property
    def watch(self) -> tuple[str, ...]:
        """``X-Watch``: words of upstream commits worth a look."""
        return self._words("X-Watch")

    @property
    def retire_when(self) -> tuple[Predicate, ...]:
        """``X-Retire-When``; raises :class:`InputError` where one is malformed."""
        return self._predicates("X-Retire-When")

    @property
    def expect(self) -> tuple[Predicate, ...]:
        """``X-Expect``; raises :class:`InputError` where one is malformed."""
        return self._predicates("X-Expect")

    @property
    def verify(self) -> tuple[Predicate, ...]:
        """``X-Verify``; raises :class:`InputError` where one is malformed."""
        return self._predicates("X-Verify")

    @cached_property
    def stale(self) -> bool:
        """Whether a mail tells what it does not keep true: a commit's id, a diffstat.

        ``git format-patch --zero-commit --no-stat`` writes neither.
        """
        lines = _decode(self.raw).split("\n")
        told = bool(_MBOX.match(lines[0])) and not _ZERO_COMMIT.match(lines[0])
        notes = dropwhile(lambda line: not _SEPARATOR.match(line), lines)
        return told or any(map(_STAT_END.match, notes))

    def check_fields(self) -> None:
        """Raise :class:`InputError` for the first vendor field that is malformed."""
        _ = (self.upstream_prs, self.retire_when, self.expect, self.verify)

    def _trailers(self, key: str) -> tuple[Trailer, ...]:
        return tuple(entry for entry in self.trailers if entry.key.lower() == key.lower())

    def _words(self, key: str) -> tuple[str, ...]:
        text = " ".join(self.fields(key))
        return tuple(dict.fromkeys(word for word in re.split(r"[,\s]+", text) if word))

    def _predicates(self, key: str) -> tuple[Predicate, ...]:
        return tuple(
            parse_predicate(trailer.value, self._place(trailer)) for trailer in self._trailers(key)
        )

    def _place(self, trailer: Trailer) -> Where | None:
        return self.where and Where(self.where.file, (self.where.line or 0) + trailer.line)


@dataclass(frozen=True)
class _Line:
    number: int
    text: str


@dataclass(frozen=True)
class _Message:
    """A header taken apart: message lines are without their fields, notes follow a ``---``."""

    form: HeaderForm
    subject: str
    author: str | None
    date: str | None
    body: str
    trailers: tuple[Trailer, ...]
    notes: str


def read_header(raw: bytes, where: Where | None = None) -> Header:
    """Read what stands before a diff; never fails, as anything may stand there.

    ``where.line`` is the number of lines before ``raw`` in its file.
    """
    message = _read(raw)
    return Header(
        raw=raw,
        form=message.form,
        subject=message.subject,
        author=message.author,
        date=message.date,
        body=message.body,
        trailers=message.trailers,
        where=where,
    )


def description(header: Header, prose: str = "", without: Collection[str] = ()) -> tuple[str, str]:
    """Subject and message body, trailers last, fit for a commit message.

    ``prose`` is what else was said of the patch, outside its header; it follows the body. Trailers
    of the keys ``without`` are left out.

    No line of the body means a diff, a separator or a header to a mail or patch tool: such lines
    are indented, and barred where indentation is not enough. Notes after a ``---``, which
    ``git am`` drops, become part of the body.
    """
    message = _read(header.raw)
    prose = "\n\n".join(part for part in (message.body, message.notes, prose) if part)
    trailers = "\n".join(str(entry) for entry in message.trailers if entry.key not in without)
    return message.subject, defuse("\n\n".join(part for part in (prose, trailers) if part))


def replace_path(raw_header: bytes, old: str, new: str) -> bytes:
    """The header with path ``old`` of its predicates called ``new``, all else byte for byte."""
    text = raw_header.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    for trailer in _read(raw_header).trailers:
        if trailer.key.lower() not in _PREDICATES:
            continue
        start = trailer.line - 1
        stop = start + 1
        while stop < len(lines) and _continues(_bare(lines[stop])):
            stop += 1
        block = "\n".join(lines[start:stop])
        lines[start:stop] = _replace_operand(block, old, new).split("\n")
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _replace_operand(block: str, old: str, new: str) -> str:
    key, value = block.split(":", 1)
    span = path_span(value)
    if span is None:
        return block
    start, stop = span
    if shlex.split(value[start:stop]) != [old]:
        return block
    return f"{key}:{value[:start]}{shlex.quote(new)}{value[stop:]}"


def _read(raw: bytes) -> _Message:
    lines = [
        _Line(number, text.removesuffix("\r"))
        for number, text in enumerate(_decode(raw).split("\n"), 1)
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


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _bare(text: str) -> str:
    """A line without a ``# `` that quilt users put before prose."""
    return re.sub(r"^# ?", "", text)


def _continues(text: str) -> bool:
    return text[:1] in (" ", "\t") and bool(text.strip())


def _uncommented(lines: Sequence[_Line]) -> list[_Line]:
    """Lines without their leading ``#`` where all lines have one."""
    written = [line for line in lines if line.text.strip()]
    if not written or not all(line.text.startswith("#") for line in written):
        return list(lines)
    return [_Line(line.number, _bare(line.text)) for line in lines]


def _fold(lines: Sequence[_Line]) -> list[Trailer] | None:
    """Lines as fields with their continuations; None where one is neither."""
    fields: list[tuple[str, list[str], int]] = []
    for line in lines:
        match = _FIELD.match(line.text)
        if match:
            fields.append((match[1], [(match[2] or "").strip()], line.number))
        elif fields and _continues(line.text):
            fields[-1][1].append(line.text.strip())
        else:
            return None
    return [Trailer(key, " ".join(parts).strip(), number) for key, parts, number in fields]


def _is_ours(key: str) -> bool:
    """Whether a field says something of the patch, not of the mail it came in."""
    key = key.lower()
    return key in _DEP3 or key in _VENDOR or key.startswith("bug-")


def _split_mail(lines: Sequence[_Line]) -> tuple[list[Trailer], list[_Line]] | None:
    """The fields of a mail's header and the lines of its body; None where it is no mail."""
    mbox = bool(_MBOX.match(lines[0].text))
    rest = lines[1:] if mbox else lines
    end = _paragraph_end(rest)
    fields = _fold(rest[:end])
    if not fields:
        return None
    keys = {entry.key.lower() for entry in fields}
    if not (mbox and "subject" in keys) and not {"from", "subject", "date"} <= keys:
        return None
    return fields, list(rest[end:])


def _split_loose_mail(lines: Sequence[_Line]) -> tuple[list[Trailer], list[_Line]] | None:
    """A mail that StGit took for a message: blank lines stand between its first lines."""
    if not _MBOX.match(lines[0].text) or not _ZERO_OR_ID.match(lines[0].text):
        return None
    rest, fields = _trim(lines[1:]), list[Trailer]()
    while rest:
        notes = (i for i, line in enumerate(rest) if _SEPARATOR.match(line.text))
        end = min(_paragraph_end(rest), next(notes, len(rest)))
        found = _fold(rest[:end])
        if not found or any(entry.key.lower() not in _MAIL_FIELDS for entry in found):
            break
        fields += found
        rest = _trim(rest[end:])
    return (fields, rest) if any(entry.key.lower() == "subject" for entry in fields) else None


def _read_mail(fields: Sequence[Trailer], lines: list[_Line]) -> _Message:
    head = {entry.key.lower(): _unfold(entry.value) for entry in reversed(fields)}
    lines, inner = _in_body_headers(lines)
    head |= inner
    body, notes = _split_notes(lines)
    prose, trailers = _split_trailers(body)
    return _Message(
        form=HeaderForm.MAIL,
        subject=_untagged(head.get("subject", "")),
        author=_sender(_persons(head.get("from"))[0]),
        date=head.get("date"),
        body=_join(prose),
        trailers=(
            *(entry for entry in fields if _is_ours(entry.key)),
            *_others(fields, ("from",)),
            *trailers,
        ),
        notes=notes,
    )


def _in_body_headers(lines: list[_Line]) -> tuple[list[_Line], dict[str, str]]:
    """From, Subject and Date at the top of a mail's body, which stand for those of the mail."""
    lines = _trim(lines)
    found: dict[str, str] = {}
    for number, line in enumerate(lines):
        match = _FIELD.match(line.text)
        if match is None or match[1].lower() not in ("from", "subject", "date"):
            return lines[number:], found
        found[match[1].lower()] = (match[2] or "").strip()
    return [], found


def _unfold(value: str) -> str:
    """A header's value with RFC 2047 words decoded; as written where that fails."""
    try:
        return str(make_header(decode_header(value)))
    except (MessageError, LookupError, UnicodeError, ValueError):
        return value


def _sender(text: str | None) -> str | None:
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


def _persons(text: str | None) -> list[str | None]:
    """The people that a From or Author names; DEP-3 allows several."""
    return [*(_NEXT_PERSON.split(text) if text else ())] or [None]


def _others(fields: Sequence[Trailer], keys: Collection[str]) -> Iterator[Trailer]:
    """All the authors, as they were written, if there is more than the one a mail can name."""
    named = {entry.value: entry for entry in reversed(fields) if entry.key.lower() in keys}
    if len(named) > 1 or any(len(_persons(text)) > 1 for text in named):
        yield from (Trailer("Author", e.value, e.line) for e in reversed(named.values()))


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


def _untagged(subject: str) -> str:
    start = 0
    while match := _REPLY.match(subject, start):
        start = match.end()
        end = subject.find("]", start)
        if not subject.startswith("[", start) or "PATCH" not in subject[start : end + 1].upper():
            break
        start = end + 1
    return " ".join(subject[start:].split())


def _read_plain(lines: list[_Line]) -> _Message:
    lines = _trim(_without_stat(lines))
    if lines and _COMMIT.match(lines[0].text):
        return _read_git_log(lines)
    lines, notes = _split_notes(lines)
    end = _paragraph_end(lines)
    fields = _fold(lines[:end])
    if fields and any(
        entry.key.lower() in _MESSAGE_FIELDS or _is_ours(entry.key) for entry in fields
    ):
        return _read_dep3(lines[:end], lines[end:], fields, notes)
    if len(lines) == 1 and (oneline := _ONELINE.match(lines[0].text)):
        lines = [_Line(lines[0].number, lines[0].text[oneline.end() :])]
    lines, values = _signed(lines)
    prose, trailers = _split_trailers(lines[1:])
    author, date = _sender(values.get("from", values.get("author"))), values.get("date")
    return _plain([*lines[:1], *prose], trailers, notes, author, date)


def _signed(lines: list[_Line]) -> tuple[list[_Line], dict[str, str]]:
    """Author and date in a paragraph of their own behind the subject, as StGit exports them."""
    if not lines[1:] or lines[1].text.strip():
        return lines, {}
    rest = _trim(lines[1:])
    end = _paragraph_end(rest)
    fields = _fold(rest[:end]) or ()
    values = {entry.key.lower(): entry.value for entry in fields}
    if not values or not values.keys() <= _MAIL_FIELDS - {"subject"}:
        return lines, {}
    return [lines[0], *rest[end:]], values


def _read_hg(lines: Sequence[_Line]) -> _Message:
    """``hg export``: fields as comments, then the message; a date's zone counts west of UTC."""
    end = next((i for i, line in enumerate(lines) if not line.text.startswith("#")), len(lines))
    words = [line.text[1:].strip().split(" ", 1) for line in lines[:end]]
    values = {pair[0]: pair[1] for pair in words if len(pair) == 2}
    date = re.fullmatch(r"(\d+) (-?\d+)", values.get("Date", ""))
    moment = date and datetime.fromtimestamp(
        int(date[1]), timezone(timedelta(seconds=-int(date[2])))
    )
    message, notes = _split_notes(_trim(lines[end:]))
    prose, trailers = _split_trailers(message[1:])
    author = _sender(values.get("User"))
    return _plain(
        [*message[:1], *prose], trailers, notes, author, moment.isoformat() if moment else None
    )


def _without_stat(lines: list[_Line]) -> list[_Line]:
    """Lines without the diffstats among them, which no prose is."""
    kept: list[_Line] = []
    ended = False
    for line in lines:
        kept.append(line)
        ended = bool(_STAT_END.match(line.text) or (ended and _DIFFSTAT.match(line.text)))
        while ended and kept and _DIFFSTAT.match(kept[-1].text):
            kept.pop()
    return kept


def _plain(
    prose: list[_Line],
    trailers: Sequence[Trailer],
    notes: str,
    author: str | None = None,
    date: str | None = None,
) -> _Message:
    """A message whose subject is the first line of its prose."""
    prose = _trim(prose)
    return _Message(
        form=HeaderForm.PLAIN,
        subject=_untagged(prose[0].text) if prose else "",
        author=author,
        date=date,
        body=_join(prose[1:]),
        trailers=tuple(trailers),
        notes=notes,
    )


def _read_dep3(
    header: list[_Line], rest: list[_Line], fields: Sequence[Trailer], notes: str
) -> _Message:
    prose, trailers = _split_trailers(rest)
    values = {entry.key.lower(): entry.value for entry in reversed(fields)}
    described = _described(header)
    return _plain(
        [*described, _Line(0, ""), *prose],
        [
            *(entry for entry in fields if entry.key.lower() not in _MESSAGE_FIELDS),
            *_others(fields, ("from", "author")),
            *trailers,
        ],
        notes,
        author=_sender(_persons(values.get("from", values.get("author")))[0]),
        date=values.get("date"),
    )


def _described(header: Sequence[_Line]) -> list[_Line]:
    """The lines of Description or Subject; a lone dot is an empty line, as in Debian's files."""
    described: list[_Line] = []
    inside = False
    for line in header:
        if match := _FIELD.match(line.text):
            inside = match[1].lower() in ("description", "subject")
            text = match[2] or ""
        else:
            text = "" if line.text.strip() == "." else line.text[1:]
        if inside:
            described.append(_Line(line.number, text))
    return described


def _read_git_log(lines: Sequence[_Line]) -> _Message:
    """``git show`` and ``git log -p``: fields, then the message indented by four spaces."""
    end = _paragraph_end(lines)
    values = _log_fields(lines[1:end])
    message = [_Line(line.number, line.text.removeprefix("    ")) for line in lines[end:]]
    message, notes = _split_notes(_trim(message))
    prose, trailers = _split_trailers(message[1:])
    date = values.get("authordate", values.get("date"))
    return _plain([*message[:1], *prose], trailers, notes, values.get("author"), date)


def _log_fields(lines: Sequence[_Line]) -> dict[str, str]:
    """Author and date as ``git show`` tells them, in any ``--format`` it has a name for."""
    for line in lines:
        if match := _RAW_AUTHOR.match(line.text):
            moment = datetime.fromtimestamp(int(match[2]), _zone(match[3]))
            return {"author": match[1], "date": moment.isoformat()}
    return {entry.key.lower(): entry.value for entry in _fold(lines) or ()}


def _zone(text: str) -> timezone:
    minutes = int(text[1:3]) * 60 + int(text[3:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _split_notes(lines: list[_Line]) -> tuple[list[_Line], str]:
    """What stands before a line ``---``, and the text after it that is not a diffstat."""
    for index, line in enumerate(lines):
        if _SEPARATOR.match(line.text):
            notes = [
                note
                for note in lines[index + 1 :]
                if not _DIFFSTAT.match(note.text) and not _SEPARATOR.match(note.text)
            ]
            return lines[:index], _join(notes)
    return lines, ""


def _split_trailers(lines: list[_Line]) -> tuple[list[_Line], tuple[Trailer, ...]]:
    """Prose and fields: of the last paragraph, and of any that holds nothing but known fields."""
    *others, last = _paragraphs(lines) or [[]]
    prose: list[_Line] = []
    trailers: list[Trailer] = []
    for paragraph in others:
        fields = _fold(paragraph)
        if fields and all(_is_ours(entry.key) for entry in fields):
            trailers.extend(fields)
        else:
            prose += [*paragraph, _Line(0, "")]
    rest, fields = _split_last(last)
    trailers.extend(fields)
    return (prose + rest, tuple(trailers)) if trailers else (lines, ())


def _split_last(paragraph: list[_Line]) -> tuple[list[_Line], list[Trailer]]:
    """The last paragraph, where git allows other lines (``[name: what]``) among trailers.

    git's rule: a quarter must be trailers, one of them of a kind that is written by tools.
    """
    start = next((i for i, line in enumerate(paragraph) if _FIELD.match(line.text)), None)
    fields = _fold(paragraph)
    if fields is not None or start is None:
        return ([], fields) if fields else (paragraph, [])
    members = [
        line for line in paragraph[start:] if _FIELD.match(line.text) or _continues(line.text)
    ]
    numbers = {line.number for line in members}
    others = [line for line in paragraph if line.number not in numbers]
    fields = _fold(members) or []
    written = any(_is_ours(entry.key) or entry.key == "Signed-off-by" for entry in fields)
    written = written or any(_CHERRY_PICK.match(line.text) for line in others)
    if written and len(fields) * 3 >= len(others):
        return others, fields
    return paragraph, []


def _paragraph_end(lines: Sequence[_Line]) -> int:
    return next((index for index, line in enumerate(lines) if not line.text.strip()), len(lines))


def _paragraphs(lines: Sequence[_Line]) -> list[list[_Line]]:
    paragraphs: list[list[_Line]] = [[]]
    for line in lines:
        if line.text.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return [paragraph for paragraph in paragraphs if paragraph]


def _trim(lines: Sequence[_Line]) -> list[_Line]:
    """Lines without empty ones at both ends."""
    written = [index for index, line in enumerate(lines) if line.text.strip()]
    return list(lines[written[0] : written[-1] + 1]) if written else []


def _join(lines: Sequence[_Line]) -> str:
    return "\n".join(line.text.rstrip() for line in _trim(lines))


def defuse(prose: str) -> str:
    """Prose in which no line means anything to git, patch or quilt; such lines are indented."""
    lines = prose.split("\n")
    return "\n".join(_defuse_line(line, opening=index == 0) for index, line in enumerate(lines))


def _defuse_line(line: str, *, opening: bool) -> str:
    if _is_scissors(line):
        # git sees scissors through indentation, so the blades are parted as well
        return "  " + _SCISSORS.sub(lambda match: " ".join(filter(None, match.groups())), line)
    if _DIFF_LIKE.match(line):
        return f"  | {line}"
    if line.startswith("From ") or (opening and _OPENING.match(line)):
        return f"  {line}"
    return line


def _is_scissors(line: str) -> bool:
    return bool(_SCISSORS.search(line)) and line.count("-") >= 2
