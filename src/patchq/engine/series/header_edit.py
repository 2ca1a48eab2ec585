"""Edit what a patch says of itself: single fields in place, or its whole message.

A field is changed on its own lines; every other byte of the file stays. Only a changed message is
written anew, as the head of a git mail, and then all fields are in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from patchq.engine.series.message import Wording, head_of, normalised
from patchq.errors import InputError, Where
from patchq.git.store import Store
from patchq.model.header import Header
from patchq.model.header_lines import Trailer
from patchq.model.patch import Patch

_COMMENT = re.compile(r"# ?")
_SEPARATOR = re.compile(r"---\s*$")

_READERS: dict[str, Callable[[Header], object]] = {
    "x-upstream-pr": lambda header: header.upstream_prs,
    "x-retire-when": lambda header: header.retire_when,
    "x-expect": lambda header: header.expect,
    "x-verify": lambda header: header.verify,
}
_ENDS = ("x-retire-when", "x-upstream-pr")
_SINGLE = ("x-kind", "origin", "forwarded", "applied-upstream", "last-update")


def parse_field(text: str) -> tuple[str, str]:
    """``KEY: VALUE`` (or ``KEY=VALUE``) taken apart; raises :class:`InputError`."""
    match = re.fullmatch(r"([A-Za-z][A-Za-z0-9-]*)\s*[:=]\s*(\S[^\r\n]*)", text.strip())
    if match is None:
        raise InputError(f"{text!r} is not a field", hint="Write 'X-Kind: fix'.")
    return match[1], match[2]


def set_field(patch: Patch, key: str, value: str) -> Patch:
    """The patch with ``value`` as the only value of ``key``.

    Raises :class:`InputError` if the value is not one that the field may have.
    """
    found = _named(patch.header, key)
    if [trailer.value for trailer in found] == [value]:
        return patch
    if not found:
        return add_field(patch, key, value)
    lines = _lines(patch)
    for trailer in reversed(found[1:]):
        del lines[_block(lines, trailer)]
    first = _block(lines, found[0])
    mark = _COMMENT.match(lines[first.start])
    lines[first] = [f"{mark[0] if mark else ''}{found[0].key}: {value}"]
    rest = [trailer for trailer in patch.header.trailers if trailer not in found[1:]]
    wanted = [(t.key, value if t is found[0] else t.value) for t in rest]
    return _checked(patch, lines, wanted, key)


def add_field(patch: Patch, key: str, value: str) -> Patch:
    """The patch with one more field; the same patch where it has that already.

    Raises :class:`InputError` if the value is not one that the field may have.
    """
    trailers = patch.header.trailers
    if any(t.key.lower() == key.lower() and t.value == value for t in trailers):
        return patch
    lines = _lines(patch)
    wanted = [(trailer.key, trailer.value) for trailer in trailers]
    if trailers:
        last = max(trailers, key=lambda trailer: trailer.line)
        block = _block(lines, last)
        mark = _COMMENT.match(lines[block.start])
        lines[block.stop : block.stop] = [f"{mark[0] if mark else ''}{key}: {value}"]
        wanted.insert(trailers.index(last) + 1, (key, value))
    else:
        at = _message_end(lines)
        text = [f"{key}: {value}", *([""] if at == len(lines) - 1 else [])]
        lines[at:at] = ["", *text] if any(line.strip() for line in lines[:at]) else text
        wanted.append((key, value))
    return _checked(patch, lines, wanted, key)


def remove_field(patch: Patch, key: str, value: str | None = None) -> Patch:
    """The patch without the field, or without that one value of it.

    Raises :class:`InputError` if it has none such.
    """
    found = [t for t in _named(patch.header, key) if value is None or t.value == value]
    if not found:
        what = key if value is None else f"{key}: {value}"
        raise InputError(f"there is no {what} in it", where=Where(patch.name))
    lines = _lines(patch)
    for trailer in reversed(found):
        del lines[_block(lines, trailer)]
    wanted = [(t.key, t.value) for t in patch.header.trailers if t not in found]
    return _checked(patch, lines, wanted, key)


def rename_required(patch: Patch, old: str, new: str) -> Patch:
    """The patch with ``old`` in its ``X-Requires`` called ``new``, all else byte for byte."""
    lines = _lines(patch)
    word = re.compile(rf"(?<![^\s,:]){re.escape(old)}(?![^\s,])")
    for trailer in _named(patch.header, "X-Requires"):
        block = _block(lines, trailer)
        lines[block] = [word.sub(lambda _match: new, line) for line in lines[block]]
    return _with_lines(patch, lines)


def folded_header(patch: Patch, others: Sequence[Patch]) -> tuple[Patch, tuple[str, ...]]:
    """``patch`` with the fields of ``others`` that hold for the whole, and what was left out."""
    notes: list[str] = []
    names = {patch.name, *(other.name for other in others)}
    for other in others:
        said = (other.header.subject, other.header.body.strip())
        if said not in ((patch.header.subject, patch.header.body.strip()), ("", "")):
            notes.append(f"left out of {other.name}: its message ({other.header.subject})")
        for trailer in other.header.trailers:
            key = trailer.key.lower()
            if trailer.value in patch.header.fields(key):
                continue
            if key in _ENDS or (key in _SINGLE and patch.header.field(key) is not None):
                notes.append(f"left out of {other.name}: {trailer}")
            elif key != "x-requires":
                patch = add_field(patch, trailer.key, trailer.value)
        for required in other.header.requires:
            if required not in names and required not in patch.header.requires:
                patch = add_field(patch, "X-Requires", required)
    ends = [trailer for trailer in patch.header.trailers if trailer.key.lower() in _ENDS]
    notes += [f"now ends the life of all of {patch.name}: {trailer}" for trailer in ends]
    return patch, tuple(notes)


def with_message(store: Store, patch: Patch, old: Wording, new: Wording) -> Patch:
    """The patch saying ``new`` where it said ``old``; the same patch where that is the same."""
    if new == old:
        return patch
    if not new.message.strip():
        raise InputError("the message is empty; nothing was changed", where=Where(patch.name))
    return replace(patch, raw=head_of(store, new) + patch.diff)


def with_subject(words: Wording, subject: str) -> Wording:
    """``words`` with another subject."""
    _, _, body = words.message.partition("\n\n")
    return replace(words, message=normalised(f"{' '.join(subject.split())}\n\n{body}"))


def check_fields(header: Header) -> None:
    """Read every field that has rules; raises :class:`InputError` if one breaks them."""
    for read in _READERS.values():
        read(header)


def _named(header: Header, key: str) -> list[Trailer]:
    return [trailer for trailer in header.trailers if trailer.key.lower() == key.lower()]


def _lines(patch: Patch) -> list[str]:
    return patch.head.decode("utf-8", "surrogateescape").split("\n")


def _with_lines(patch: Patch, lines: Sequence[str]) -> Patch:
    head = "\n".join(lines).encode("utf-8", "surrogateescape")
    return patch if head == patch.head else replace(patch, raw=head + patch.diff)


def _block(lines: Sequence[str], trailer: Trailer) -> slice:
    """The lines of a field: its first, and those that continue it."""
    start = trailer.line - 1
    stop = start + 1
    while stop < len(lines) and re.match(r"(?:# ?)?[ \t]+\S", lines[stop]):
        stop += 1
    return slice(start, stop)


def _message_end(lines: Sequence[str]) -> int:
    """Where a field may be added: before a mail's ``---``, or behind the last line of text."""
    ends = [number for number, line in enumerate(lines) if _SEPARATOR.match(line)]
    end = ends[-1] if ends else len(lines) - 1
    while end and not lines[end - 1].strip():
        end -= 1
    return end


def _checked(
    patch: Patch, lines: Sequence[str], wanted: Sequence[tuple[str, str]], key: str
) -> Patch:
    """The patch of these lines, once its header says what was wanted and no more."""
    edited = _with_lines(patch, lines)
    header = edited.header
    if key.lower() in _READERS:
        _READERS[key.lower()](header)
    found = [(trailer.key, trailer.value) for trailer in header.trailers]
    same = (header.subject, header.author, header.date) == (
        patch.header.subject,
        patch.header.author,
        patch.header.date,
    )
    if not same or found != list(wanted) or edited.diff != patch.diff:
        raise InputError(
            f"{key} cannot be written into this header without changing what else it says",
            where=Where(patch.name),
            hint="Edit the whole message with --edit, which makes it a git mail.",
        )
    return edited
