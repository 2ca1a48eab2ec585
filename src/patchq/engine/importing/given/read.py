"""Files as they are given, split into patches: mails, bundles of commits, compressed files.

A file may hold several patches: a mailbox, ``git log -p``, mails put behind each other with or
without a ``From`` line. Each begins with a header; text that belongs to none is kept as prose.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from email import message_from_bytes
from pathlib import PurePath

from patchq.engine.importing.given.file_kind import unpacked
from patchq.engine.importing.given.stream_order import stream_order
from patchq.engine.series.message import slug
from patchq.engine.series.naming import asked_name, patch_name
from patchq.errors import InputError, Where
from patchq.model.diff_layout import FileSection, find_diff, layout, split_lines
from patchq.model.header import Header
from patchq.model.patch import Patch
from patchq.model.series import Guard
from patchq.model.words import counted

_MBOX = re.compile(rb"(?:From \S+|[F>]From [0-9a-f]{40}) .*\d\d:\d\d:\d\d")
_FIELD = re.compile(rb"([A-Za-z][A-Za-z0-9-]*):(?:[ \t]|\r?\n?$)")
_COMMIT = re.compile(rb"commit [0-9a-f]{7,64}\b")
_COMMIT_FIELD = re.compile(
    rb"(?:Author|AuthorDate|Commit|CommitDate|Date|Merge|Reflog|tree|parent|author|gpgsig)[: ]"
)
_ONELINE = re.compile(rb"[0-9a-f]{7,40} .*[A-Za-z]")
_MAILS = re.compile(rb"^From \S+ .*\d\d:\d\d:\d\d.*\n(?=[A-Za-z][A-Za-z0-9-]*:)", re.M)
_HG = re.compile(rb"# HG changeset patch\r?\n?$")
_SIGNATURE = re.compile(rb"-- ?\r?\n?$")
_MIME_FIELD = re.compile(rb"^(?:Content-[\w-]+|MIME-Version):.*\n(?:[ \t].*\n)*", re.I | re.M)
_MIME_ENCODED = re.compile(
    rb"^Content-(?:Transfer-Encoding:\s*(?:base64|quoted-printable)|Type:\s*multipart/)",
    re.I | re.M,
)
_COUNT = re.compile(r"\[[^\]]*?(\d+)/(\d+)\]")


@dataclass(frozen=True)
class Notice:
    """Something to say about a patch that came in.

    ``of_many`` says the same of several patches, if ``text`` is about this one alone.
    """

    where: Where
    text: str
    of_many: str | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True)
class Given:
    """One patch as it was given; ``place`` is how messages name it.

    ``raw`` is what the file holds behind its first ``line`` lines, or, where ``decoded``, that
    without its mail's encoding. ``prose`` stood beside the diff and not in the header. ``strip``
    and ``guards`` are those of a series file, ``above`` the comments that stand above it there;
    ``number`` is the n of ``[n/m]`` in the subject.
    """

    place: str
    name: str
    raw: bytes
    decoded: bool = False
    prose: str = ""
    line: int = 0
    strip: int | None = None
    guards: tuple[Guard, ...] = ()
    above: tuple[str, ...] = ()
    number: int | None = None

    @property
    def subject_name(self) -> str | None:
        """What it says that it is called, or else its subject, as the name of a file."""
        return _name(Patch("", self.raw).header)


def read_given(
    file: str, raw: bytes, name: str | None = None
) -> tuple[tuple[Given, ...], tuple[Notice, ...]]:
    """The patches in a file, in the order in which they stand there, or were made.

    Parts without a diff (a cover letter, a merge) are skipped with a notice. Raises
    :class:`InputError` where ``name`` is given for several patches, or for something that is no
    unified diff.
    """
    raw, title, note = unpacked(file, raw)
    notices = [Notice(Where(file), note)] if note else []
    parts = _parts(raw)
    if len(parts) == 1:
        given = _given(parts[0], file, asked_name(name) if name is not None else patch_name(title))
        return (_numbered(given),), (*notices, *_prose_notice(given))
    noun = "mail" if all(_MBOX.match(part.raw) for part in parts) else "patch"
    if name is not None:
        raise InputError(
            f"{len(parts)} {'mails' if noun == 'mail' else 'patches'} are in it, "
            "--name names one patch",
            where=Where(file),
            hint="Leave --name out: each patch is then named by its subject.",
        )
    read = [Patch("", part.raw) for part in parts]
    order = stream_order([(patch.head, patch.diff) for patch in read])
    if order.words:
        notices.append(Notice(Where(file), order.words))
    patches: list[Given] = []
    numbered = [*enumerate(zip(parts, read, strict=True), 1)]
    for number, (part, patch) in reversed(numbered) if order.backwards else numbered:
        place = f"{file}, {noun} {number}"
        if patch.diff:
            wanted = _name(patch.header) or f"{PurePath(title).stem}-{number}.patch"
            taken = {given.name for given in patches}
            given = _given(part, place, free_name(wanted, taken))
            patches.append(_numbered(given))
            notices += _prose_notice(given)
        else:
            subject = f" ({patch.header.subject})" if patch.header.subject else ""
            notices.append(Notice(Where(place), f"no diff in it: skipped{subject}"))
    if not patches:
        raise InputError(f"none of its {counted(len(parts), noun)} holds a diff", where=Where(file))
    return tuple(patches), tuple(notices)


def _given(part: _Part, place: str, name: str) -> Given:
    return Given(place, name, part.raw, part.decoded, part.prose, part.line)


def told_name(header: Header) -> str | None:
    """The file name that a commit's message gives its patch: patchq's or gbp's."""
    gbp = (value.split(None, 1) for value in header.fields("Gbp-Pq"))
    names = (words[1] for words in gbp if len(words) == 2 and words[0].lower() == "name")
    return header.field("Patch-Name") or next(names, None)


def _name(header: Header) -> str | None:
    told = told_name(header) or slug(header.subject)
    return patch_name(told) if told else None


def free_name(name: str, taken: Collection[str]) -> str:
    """``name``, or with a number behind it where that is taken."""
    stem, number = name.removesuffix(".patch"), 2
    while name in taken:
        name, number = f"{stem}-{number}.patch", number + 1
    return name


def _numbered(given: Given) -> Given:
    head = given.raw[: find_diff(given.raw)]
    subject = re.search(rb"^Subject:(.*(?:\n[ \t].*)*)", head, re.M)
    count = _COUNT.search(subject[1].decode("latin-1")) if subject else None
    return replace(given, number=int(count[1])) if count else given


def _prose_notice(given: Given) -> Iterator[Notice]:
    if given.prose:
        first = given.prose.partition("\n")[0]
        yield Notice(
            Where(given.place), f"text beside its diff is now part of its message: {first!r}"
        )


# -- where a patch begins --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    raw: bytes
    prose: str
    line: int
    decoded: bool = False


def _split(raw: bytes) -> list[_Part]:
    """The file cut at every header of a patch that stands outside the diffs."""
    lines = split_lines(raw)
    head = raw.count(b"\n", 0, find_diff(raw))
    sections = _moved(layout(lines[head:]), head)
    texts = list(_texts(sections, len(lines)))
    starts = list(_starts(lines, texts))
    first = starts[0] if starts else 0
    preface = _prose(lines, [(0, first)]) if first else ""
    if not starts or (sections and sections[0].start < first):
        starts, preface = [0, *starts], ""
    parts: list[_Part] = []
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        own = [section for section in sections if start <= section.start < stop]
        after = own[0].start if own else stop
        outside = [
            (max(low, after), min(high, stop)) for low, high in texts if high > after and low < stop
        ]
        whole = b"".join(lines[start:stop])
        # mangled on the way: "FFrom" by hand, ">From" by a mailbox that quotes
        whole = whole[1:] if _MBOX.match(whole) and not whole.startswith(b"From") else whole
        pieces = (preface if not parts else "", _prose(lines, outside))
        parts.append(_Part(whole, "\n\n".join(filter(None, pieces)), start))
    return parts


def _moved(sections: Sequence[FileSection], by: int) -> list[FileSection]:
    return [
        replace(section, start=section.start + by, tail=section.tail + by) for section in sections
    ]


def _texts(sections: Sequence[FileSection], end: int) -> Iterator[tuple[int, int]]:
    """The runs of lines outside the sections of diffs."""
    at = 0
    for section in sections:
        yield at, section.start
        at = section.tail
    yield at, end


def _starts(lines: Sequence[bytes], texts: Sequence[tuple[int, int]]) -> Iterator[int]:
    """The lines at which a patch's header begins."""
    since: int | None = None
    fresh = True  # no diff since the last start
    for number, (low, high) in enumerate(texts):
        fresh = fresh and number == 0
        for index in range(low, high):
            line = lines[index]
            follower = lines[index + 1] if index + 1 < high else b""
            found = (
                (_MBOX.match(line) and _FIELD.match(follower))
                or (_COMMIT.match(line) and _COMMIT_FIELD.match(follower))
                or _HG.match(line)
                or (
                    _ONELINE.match(line)
                    and index + 1 == high < len(lines)
                    and (index == low or not lines[index - 1].strip())
                )
            )
            opens = index == low or not lines[index - 1].strip()
            if not found and opens and _FIELD.match(line):
                found = _is_header(lines[index:high], fresh, _paragraphs(lines, since, index))
            if found:
                yield index
                since, fresh = index, True


def _paragraphs(lines: Sequence[bytes], since: int | None, index: int) -> int | None:
    """How many paragraphs stand between the last start and a line; None without a start."""
    if since is None:
        return None
    between = [bool(line.strip()) for line in lines[since:index]]
    return sum(one and not before for one, before in zip(between, [False, *between], strict=False))


def _is_header(lines: Sequence[bytes], fresh: bool, behind: int | None) -> bool:
    """Whether a paragraph is the header of another patch.

    ``fresh``: no diff has come since the last start, ``behind`` paragraphs ago. The first paragraph
    of a mail's body may say From and Subject of that very mail (git-am(1)).
    """
    keys: set[bytes] = set()
    for line in lines:
        match = _FIELD.match(line)
        if match:
            keys.add(match[1].lower())
        elif not line.strip() or line[:1] not in b" \t":
            break
    if not fresh:
        return bool(keys & {b"subject", b"description"})
    return {b"from", b"subject", b"date"} <= keys and (behind is None or behind > 1)


def _prose(lines: Sequence[bytes], texts: Sequence[tuple[int, int]]) -> str:
    """What is said outside the diffs, a mail's signature apart."""
    kept: list[str] = []
    for low, high in texts:
        signature = False
        for line in lines[low:high]:
            signature = bool(line.strip()) and (signature or bool(_SIGNATURE.match(line)))
            if not signature:
                kept.append(line.decode("utf-8", "surrogateescape").rstrip())
        kept.append("")
    text = "\n".join(kept).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", text)


# -- mails -----------------------------------------------------------------------------------------


def _parts(raw: bytes) -> list[_Part]:
    """The patches of a file, each mail without its encoding."""
    if len(_MAILS.findall(raw)) > 1:
        return [one for part in _split(raw) for one in _decoded(part.raw) or [part]]
    return _decoded(raw) or _split(raw)


def _decoded(raw: bytes) -> list[_Part]:
    """The patches of a mail that has an encoding; none if it has none."""
    text = _without_encoding(raw)
    parts = [] if text == raw else _split(text)
    return [replace(part, line=0, decoded=True) for part in parts]


def _without_encoding(raw: bytes) -> bytes:
    """A mail in base64, quoted-printable or several parts as plain text; all else as it is."""
    head, gap, _ = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    if not gap or not _MIME_ENCODED.search(head + b"\n"):
        return raw
    texts = [
        _unix(part.get_payload(decode=True))
        for part in message_from_bytes(raw).walk()
        if part.get_content_maintype() == "text" and part.get_content_subtype() != "html"
    ]
    return _MIME_FIELD.sub(b"", head + b"\n") + b"\n" + b"".join(texts)


def _unix(text: object) -> bytes:
    """A mail's text, whose lines end in CRLF on the wire, with the ending that was meant."""
    assert isinstance(text, bytes)
    every = text.count(b"\r\n") == text.count(b"\n")
    return text.replace(b"\r\n", b"\n") if every else text
