"""What people have as files, taken apart into patches: mails, bundles of commits, compressed files.

A file may hold several patches: a mailbox, ``git log -p``, mails put behind each other with or
without a ``From`` line. Each begins with a header; text that belongs to none is kept as prose.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from email import message_from_bytes
from io import BytesIO
from pathlib import PurePath
from typing import IO, cast

from patchq.engine.importing.stream_order import stream_order
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

_COMPRESSED: dict[bytes, tuple[str, tuple[str, ...], Callable[[IO[bytes]], IO[bytes]]]] = {
    b"\x1f\x8b": ("gzip", (".gz",), lambda raw: cast("IO[bytes]", gzip.GzipFile(fileobj=raw))),
    b"\xfd7zXZ\0": ("xz", (".xz",), lzma.LZMAFile),
    b"BZh": ("bzip2", (".bz2",), bz2.BZ2File),
}
"""By the bytes that they begin with: what to call them, their endings, what reads them."""

UNPACKED_LIMIT = 256 << 20
"""A file that unpacks to more bytes than this is refused."""

_NOT_A_PATCH = (
    (
        re.compile(rb"\A(?:\xff\xfe|\xfe\xff|[!-~]\0[ -~]\0|\0[!-~]\0[ -~])"),
        "UTF-16 text, as PowerShell's > writes it",
        "Make it again with `git diff --output=FILE`, or convert it: iconv -f UTF-16 -t UTF-8.",
    ),
    (
        re.compile(rb"\A.{257}ustar", re.S),
        "a tar archive",
        "Unpack it, and name the directory or the files.",
    ),
    (
        re.compile(rb"\A# v\d git bundle\n"),
        "a git bundle",
        "Fetch from it into a clone, and name the branch or range with --repo.",
    ),
    (re.compile(rb"\A\x28\xb5\x2f\xfd"), "a file compressed by zstd", "Unpack it: unzstd FILE."),
    (re.compile(rb"\APK\x03\x04"), "a zip archive", "Unpack it and import the patches in it."),
    (
        re.compile(rb"^\x1b\[[\d;]*m(?:diff --git |--- )", re.M),
        "a diff in the colours of a terminal",
        "Make it again with `git diff --no-color`.",
    ),
    (
        re.compile(rb"\A(?:>.*\n)*> ?(?:diff --git |--- ).*\n(?:>.*\n)*\Z"),
        "a diff that a mail quotes",
        "Take the `> ` from its lines, or save the mail that it is from.",
    ),
    (
        re.compile(rb"\A\s*<(?:!doctype|html)\b", re.I),
        "a web page",
        "Download the patch itself: on a forge, the address of the commit or pull request with "
        ".patch or .diff behind it.",
    ),
    (
        re.compile(rb"^\*{15}.*\r?\n\*\*\* \d+(?:,\d+)? \*\*\*\*", re.M),
        "a context diff",
        "Make it again with `diff -u`, or convert it: `filterdiff --format=unified`.",
    ),
)
_GRAPH = re.compile(rb"^(?:[|*\\/_] ?)+ {0,2}diff --git ", re.M)
_NORMAL_DIFF = re.compile(rb"^\d+(?:,\d+)?[acd]\d+(?:,\d+)?\r?\n[<>] ", re.M)


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
    raw, title, notices = _unpacked(file, raw)
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


# -- what kind of file it is -----------------------------------------------------------------------


def _unpacked(file: str, raw: bytes) -> tuple[bytes, str, list[Notice]]:
    """What is in a file, what to name a patch by, and what is to be said of it."""
    title, notices = file, list[Notice]()
    for magic, (what, endings, unpack) in _COMPRESSED.items():
        if raw.startswith(magic):
            try:
                with unpack(BytesIO(raw)) as unpacked:
                    raw = unpacked.read(UNPACKED_LIMIT + 1)
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
                raise InputError(f"damaged {what} data: {error}", where=Where(file)) from error
            if len(raw) > UNPACKED_LIMIT:
                raise InputError(
                    f"it unpacks to more than {UNPACKED_LIMIT >> 20} MiB, the most that is read",
                    where=Where(file),
                )
            title = next((file.removesuffix(end) for end in endings if file.endswith(end)), file)
            notices.append(Notice(Where(file), f"compressed by {what}: read what is in it"))
            break
    for pattern, what, hint in _NOT_A_PATCH:
        if pattern.search(raw):
            raise InputError(f"this is {what}, not a unified diff", where=Where(file), hint=hint)
    if find_diff(raw) < len(raw):
        return raw, title, notices
    if _GRAPH.search(raw):
        raise InputError(
            "this is the output of `git log --graph`, not a unified diff",
            where=Where(file),
            hint="Make it again without the graph: `git log --reverse -p`, or `git format-patch`.",
        )
    if _NORMAL_DIFF.search(raw):
        raise InputError(
            "this is what plain diff(1) writes, not a unified diff",
            where=Where(file),
            hint="Make it again with `diff -u`: without context nothing says where a change goes.",
        )
    return raw, title, notices


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
