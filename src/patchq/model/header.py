"""What stands before the diff: a mail's header and message, a quilt header, prose, or nothing.

Fields come as git trailers (git-interpret-trailers(1)) or as the pseudo-header of DEP-3
(https://dep-team.pages.debian.net/deps/dep3/). What git would cut off or eat in a message is told
by its ``mailinfo.c``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from itertools import dropwhile

from patchq.errors import InputError, Where
from patchq.model.header_lines import SEPARATOR, STAT_END, Trailer, continues
from patchq.model.header_message import MBOX_LINE, HeaderForm, bare_line, decoded, read_message
from patchq.model.predicate import Predicate, parse_predicate, path_span

_ZERO_COMMIT = re.compile(r"From 0+ ")
# patch(1) sees a diff through indentation, of X as well as blanks; quilt ends a header at "---"
_DIFF_LIKE = re.compile(
    r"[ \tX]*(?:(?:---|\*\*\*)(?:\s|$)|\+\+\+ |@@ -|diff -|Index:|GIT binary patch)"
)
_OPENING = re.compile(r"(?:From|Subject|Date):|\[PATCH\]|>From\s", re.IGNORECASE)
_SCISSORS = re.compile(r"([<>])([8%])|([8%])([<>])")

PREDICATE_FIELDS = ("x-retire-when", "x-expect", "x-verify")


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
        """The first value of ``key``, in any case; None if it is not given."""
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

        Raises :class:`InputError` if something else than numbers stands there.
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
        """``X-Retire-When``; raises :class:`InputError` if one is malformed."""
        return self._predicates("X-Retire-When")

    @property
    def expect(self) -> tuple[Predicate, ...]:
        """``X-Expect``; raises :class:`InputError` if one is malformed."""
        return self._predicates("X-Expect")

    @property
    def verify(self) -> tuple[Predicate, ...]:
        """``X-Verify``; raises :class:`InputError` if one is malformed."""
        return self._predicates("X-Verify")

    @cached_property
    def stale(self) -> bool:
        """Whether a mail tells what it does not keep true: a commit's id, a diffstat.

        ``git format-patch --zero-commit --no-stat`` writes neither.
        """
        lines = decoded(self.raw).split("\n")
        told = bool(MBOX_LINE.match(lines[0])) and not _ZERO_COMMIT.match(lines[0])
        notes = dropwhile(lambda line: not SEPARATOR.match(line), lines)
        return told or any(map(STAT_END.match, notes))

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


def read_header(raw: bytes, where: Where | None = None) -> Header:
    """Read what stands before a diff; never fails, as anything may stand there.

    ``where.line`` is the number of lines before ``raw`` in its file.
    """
    message = read_message(raw)
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
    message = read_message(header.raw)
    prose = "\n\n".join(part for part in (message.body, message.notes, prose) if part)
    trailers = "\n".join(str(entry) for entry in message.trailers if entry.key not in without)
    return message.subject, defuse("\n\n".join(part for part in (prose, trailers) if part))


def replace_path(raw_header: bytes, old: str, new: str) -> bytes:
    """The header with path ``old`` of its predicates called ``new``, all else byte for byte."""
    text = raw_header.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    for trailer in read_message(raw_header).trailers:
        if trailer.key.lower() not in PREDICATE_FIELDS:
            continue
        start = trailer.line - 1
        stop = start + 1
        while stop < len(lines) and continues(bare_line(lines[stop])):
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
