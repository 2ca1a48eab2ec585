"""The checks of one patch in its series."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date

from patchq.errors import InputError, Where
from patchq.model.diff import ChangeKind, FileChange
from patchq.model.header import PREDICATE_FIELDS, Header, description
from patchq.model.header_lines import Trailer
from patchq.model.header_message import HeaderForm
from patchq.model.lint import Code, Finding, Severity
from patchq.model.patch import Patch, nul_bytes, repair
from patchq.model.predicate import parse_predicate
from patchq.model.series import Series, SeriesEntry

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_SEPARATOR = re.compile(rb"^---\s*$", re.M)


@dataclass(frozen=True)
class LintedPatch:
    """A patch and the place it has in its series; ``upstreamed`` are patches no longer needed."""

    patch: Patch
    entry: SeriesEntry
    series: Series
    upstreamed: frozenset[str]

    @property
    def header(self) -> Header:
        return self.patch.header

    def at(self, line: int | None = None) -> Where:
        where = self.patch.where
        return Where(where.file if where else self.patch.name, line)

    def finding(
        self, severity: Severity, code: Code, text: str, line: int | None = None
    ) -> Finding:
        return Finding(severity, code, self.at(line), text)


def check_patch(subject: LintedPatch) -> Iterator[Finding]:
    """The findings in a patch."""
    for check in _CHECKS:
        yield from check(subject)


def with_hint(error: InputError) -> str:
    """The message of an error, with its hint."""
    return f"{error.message}. {error.hint}" if error.hint else error.message


def _error(patch: Patch) -> InputError | None:
    """Why the diff of ``patch`` cannot be read, None if it can."""
    try:
        if patch.files:
            return None
    except InputError as error:
        return error
    return InputError("no diff in it" if patch.raw.strip() else "the patch is empty")


def mend(patch: Patch) -> Patch | None:
    """The patch after its repairs, None if it needs none or they are not enough."""
    raw, repairs = repair(patch.raw)
    sound = replace(patch, raw=raw)
    return sound if repairs and _error(sound) is None else None


def _check_form(subject: LintedPatch) -> Iterator[Finding]:
    patch, error = subject.patch, _error(subject.patch)
    _, repairs = repair(patch.raw)
    fixable = mend(patch) is not None
    if error is not None:
        cure = "; ".join(f"line {entry.line}: {entry.text}" for entry in repairs)
        text = f"{error.message} (--fix: {cure})" if fixable else with_hint(error)
        where = error.where or subject.at()
        yield Finding(Severity.ERROR, Code.MALFORMED_DIFF, where, text, fixable)
        return
    for entry in repairs:
        text = f"{entry.text} (by --fix)"
        yield Finding(Severity.WARNING, Code.DAMAGED, subject.at(entry.line), text, fixable)


def _check_description(subject: LintedPatch) -> Iterator[Finding]:
    header = subject.header
    if not header.subject:
        text = "no Subject or Description"
        yield subject.finding(Severity.WARNING, Code.NO_SUBJECT, text, 1)
    if not header.author:
        text = "no From or Author"
        yield subject.finding(Severity.WARNING, Code.NO_AUTHOR, text, 1)
        if not header.field("Origin"):
            text = "no Origin, which DEP-3 asks of a patch without an author"
            yield subject.finding(Severity.WARNING, Code.NO_ORIGIN, text, 1)


def _check_fields(subject: LintedPatch) -> Iterator[Finding]:
    for trailer in subject.header.trailers:
        where = subject.at(trailer.line)
        try:
            _parse_field(trailer, where)
        except InputError as error:
            place = error.where or where
            yield Finding(Severity.ERROR, Code.MALFORMED_FIELD, place, with_hint(error))
    try:
        _ = subject.header.upstream_prs
    except InputError as error:
        place = error.where or subject.at()
        yield Finding(Severity.ERROR, Code.MALFORMED_FIELD, place, with_hint(error))


def _parse_field(trailer: Trailer, where: Where) -> None:
    key = trailer.key.lower()
    if key in PREDICATE_FIELDS:
        parse_predicate(trailer.value, where)
    if key == "last-update" and not _is_date(trailer.value):
        raise InputError(f"{trailer.value!r} is not a date as Last-Update has it (YYYY-MM-DD)")


def _is_date(text: str) -> bool:
    try:
        return bool(_ISO_DATE.fullmatch(text) and date.fromisoformat(text))
    except ValueError:
        return False


def _check_dropped_text(subject: LintedPatch) -> Iterator[Finding]:
    """Words after the ``---`` of a mail, which ``git am`` leaves out of the message."""
    header = subject.header
    trailers = "\n".join(map(str, header.trailers))
    message = "\n\n".join(part for part in (header.body, trailers) if part)
    # what description() has beyond the message are the words after "---"
    if header.form is HeaderForm.MAIL and description(header)[1].count("\n") > message.count("\n"):
        separator = _SEPARATOR.search(header.raw)
        line = header.raw.count(b"\n", 0, separator.start()) + 1 if separator else None
        text = "git am drops the text after ---; put it before"
        yield subject.finding(Severity.WARNING, Code.DROPPED_TEXT, text, line)


def _check_end(subject: LintedPatch) -> Iterator[Finding]:
    if not any(subject.header.fields(key) for key in ("X-Upstream-PR", "X-Retire-When")):
        text = "no rule retires it: give it X-Upstream-PR or X-Retire-When"
        yield subject.finding(Severity.WARNING, Code.NO_END, text)


def _check_requirements(subject: LintedPatch) -> Iterator[Finding]:
    names = subject.series.names
    own = names.index(subject.entry.name)
    for name in subject.header.requires:
        if name in names[:own] or name in subject.upstreamed:
            continue
        if name == subject.entry.name:
            severity, text = Severity.ERROR, "X-Requires: the patch requires itself"
        elif name in names[own:]:
            severity, text = Severity.ERROR, f"X-Requires: {name} must come before this patch"
        else:
            severity = Severity.NOTICE if subject.entry.guards else Severity.ERROR
            text = f"X-Requires: {name} is not in the series"
        trailers = (t for t in subject.header.trailers if t.key.lower() == "x-requires")
        line = next((trailer.line for trailer in trailers if name in trailer.value), None)
        yield subject.finding(severity, Code.MISSING_REQUIREMENT, text, line)


def _check_blanks(subject: LintedPatch) -> Iterator[Finding]:
    if _error(subject.patch) is not None:
        return
    head = subject.patch.head.count(b"\n")
    found = [
        head + line
        for change in subject.patch.files
        for hunk in change.hunks
        for line, content in hunk.numbered
        # a carriage return is part of the ending
        if content[:1] == b"+" and content.rstrip(b"\r\n").endswith((b" ", b"\t"))
    ]
    if found:
        noun = "line ends" if len(found) == 1 else "lines end"
        text = f"{len(found)} added {noun} in blanks"
        yield subject.finding(Severity.NOTICE, Code.TRAILING_BLANKS, text, found[0])


def _check_nul(subject: LintedPatch) -> Iterator[Finding]:
    if _error(subject.patch) is not None:
        return
    for line, text in nul_bytes(subject.patch):
        yield subject.finding(Severity.WARNING, Code.NUL_BYTE, text, line)


def _check_quilt(subject: LintedPatch) -> Iterator[Finding]:
    if _error(subject.patch) is not None:
        return
    head = subject.patch.head.count(b"\n")
    for change in subject.patch.files:
        obstacle = _obstacle(change)
        if obstacle is not None:
            line = head + change.line
            yield subject.finding(Severity.NOTICE, Code.NOT_FOR_QUILT, obstacle, line)


def _obstacle(change: FileChange) -> str | None:
    """What of a file's change a plain unified diff cannot say."""
    name = change.new or change.old
    if change.binary:
        return f"{name} is binary: GNU patch and quilt cannot apply it"
    if change.kind in (ChangeKind.RENAME, ChangeKind.COPY):
        return f"{name} is a {change.kind.value}: quilt and patch before 2.7 cannot apply it"
    if change.kind is ChangeKind.MODIFY and change.old_mode != change.new_mode:
        return f"{name} changes its mode: quilt and patch before 2.7 cannot apply it"
    return None


_CHECKS: tuple[Callable[[LintedPatch], Iterator[Finding]], ...] = (
    _check_form,
    _check_description,
    _check_fields,
    _check_dropped_text,
    _check_end,
    _check_requirements,
    _check_blanks,
    _check_nul,
    _check_quilt,
)
