"""What is wrong, unfinished or unportable in a series, told from its files alone.

The rules are git's (apply, am), DEP-3's (https://dep-team.pages.debian.net/deps/dep3/), and what
quilt and GNU patch can apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches

from patchq.engine.series.continuity import gaps
from patchq.engine.workspace.transaction import Transaction
from patchq.errors import InputError, Where
from patchq.model.diff import ChangeKind, FileChange
from patchq.model.header import PREDICATE_FIELDS, Header, description
from patchq.model.header_lines import Trailer
from patchq.model.header_message import HeaderForm
from patchq.model.lint import Code, Finding, Severity
from patchq.model.patch import Patch, nul_bytes, repair
from patchq.model.predicate import Predicate, PredicateKind, parse_predicate
from patchq.model.retired import provided_by_upstream
from patchq.model.series import Series, SeriesEntry
from patchq.model.workspace import RECIPE, SERIES, Workspace

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_SEPARATOR = re.compile(rb"^---\s*$", re.M)


def lint_workspace(workspace: Workspace) -> tuple[Finding, ...]:
    """The findings in what all series share: the lock, the settings, and which series there are."""
    findings = [*_malformed(workspace.lock), *_malformed(workspace.settings)]
    if not _malformed(workspace.lock):
        for name in workspace.unlocked():
            where = Where(str((workspace.series_path(name) / SERIES).relative_to(workspace.root)))
            text = f"upstream.lock has no base {name}: no command sees this series (patchq lock)"
            findings.append(Finding(Severity.WARNING, Code.UNLOCKED_SERIES, where, text))
    return tuple(findings)


def _malformed(read: Callable[[], object]) -> tuple[Finding, ...]:
    """What a YAML file is refused for, by whoever reads it."""
    try:
        read()
    except InputError as error:
        where = error.where or Where(SERIES)
        return (Finding(Severity.ERROR, Code.BAD_YAML, where, _with_hint(error)),)
    return ()


def lint(workspace: Workspace, tag: str) -> tuple[Finding, ...]:
    """The findings in the series on ``tag``: those of its order first, then patch by patch.

    Raises :class:`InputError` if there is no series on ``tag``; what is malformed in the series
    itself is a finding. That the settings are is one of :func:`lint_workspace`.
    """
    workspace.lock().position(tag)
    if not (workspace.series_path(tag) / SERIES).is_file():
        workspace.series(tag)  # raises, naming the series that there are
    try:
        series = workspace.series(tag)
    except InputError as error:
        where = error.where or Where(SERIES)
        return (Finding(Severity.ERROR, Code.BAD_SERIES, where, _with_hint(error)),)
    malformed = _malformed(lambda: workspace.retired(tag))
    upstreamed = provided_by_upstream(() if malformed else workspace.retired(tag))
    patches = _read(workspace, tag, series)
    findings = [
        *malformed,
        *_check_recipe(workspace, tag, series, upstreamed),
        *_check_files(workspace, tag, series, patches),
        *_check_guards(workspace, series),
        *_check_targets(workspace, patches),
        *_check_continuity(workspace, tag),
    ]
    for entry in series.entries:
        if entry.name in patches:
            subject = _Subject(patches[entry.name], entry, series, upstreamed)
            findings.extend(finding for check in _CHECKS for finding in check(subject))
    return tuple(findings)


def _check_recipe(
    workspace: Workspace, tag: str, series: Series, upstreamed: Collection[str]
) -> Iterator[Finding]:
    malformed = _malformed(lambda: workspace.recipe(tag))
    yield from malformed
    for variant in () if malformed else workspace.recipe(tag).variants.values():
        for name in variant.requires:
            if name not in series.names and name not in upstreamed:
                text = f"variant {variant.name} requires {name}, which is not in the series"
                where = variant.where or Where(RECIPE)
                yield Finding(Severity.NOTICE, Code.MISSING_REQUIREMENT, where, text)


def fix(workspace: Workspace, tag: str, transaction: Transaction) -> tuple[str, ...]:
    """Write into ``transaction`` every patch of ``tag`` that has one certain repair; their names.

    A patch that stays malformed after its repairs is left as it is.
    """
    mended = []
    for name, patch in _read(workspace, tag, workspace.series(tag)).items():
        sound = _mend(patch)
        if sound is not None:
            transaction.write_file(workspace.series_path(tag) / name, sound.raw)
            mended.append(name)
    return tuple(mended)


@dataclass(frozen=True)
class _Subject:
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


def _with_hint(error: InputError) -> str:
    return f"{error.message}. {error.hint}" if error.hint else error.message


def _read(workspace: Workspace, tag: str, series: Series) -> dict[str, Patch]:
    """The patches that are there, however malformed."""
    patches = {}
    for entry in series.entries:
        path = workspace.series_path(tag) / entry.name
        if path.is_file():
            where = Where(str(path.relative_to(workspace.root)))
            patches[entry.name] = Patch(entry.name, path.read_bytes(), entry.strip, where)
    return patches


def _check_files(
    workspace: Workspace, tag: str, series: Series, patches: dict[str, Patch]
) -> Iterator[Finding]:
    directory = workspace.series_path(tag)
    there = {
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.suffix in (".patch", ".diff") and path.is_file()
    }
    strays = sorted(there.difference(series.names))
    for entry in series.entries:
        if entry.name not in patches:
            near = get_close_matches(entry.name, strays, 1)
            advice = f"is it {near[0]}?" if near else "restore it, or take the line out"
            text = f"there is no file {entry.name}; {advice}"
            where = Where(series.where.file, entry.line)
            yield Finding(Severity.ERROR, Code.MISSING_FILE, where, text)
    for name in strays:
        where = Where(str((directory / name).relative_to(workspace.root)))
        text = "is in the directory but not in the series"
        yield Finding(Severity.WARNING, Code.STRAY_FILE, where, text)


def _check_guards(workspace: Workspace, series: Series) -> Iterator[Finding]:
    if _malformed(workspace.settings):
        return
    settings = workspace.settings()
    for entry in series.entries:
        if not entry.can_be_active(settings.default_guards):
            text = f"{entry.name} is never applied: whatever turns it on turns it off as well"
            where = Where(series.where.file, entry.line)
            yield Finding(Severity.WARNING, Code.NEVER_APPLIED, where, text)
    known = sorted({*settings.guards, *settings.default_guards})
    for name in series.guards:
        if name in known:
            continue
        line = next(e.line for e in series.entries if any(g.name == name for g in e.guards))
        near = get_close_matches(name, known, 1)
        advice = f"is {near[0]} meant?" if near else "describe it under 'guards' there"
        text = f"guard {name} is not in series/patchq.yaml; {advice}"
        where = Where(series.where.file, line)
        yield Finding(Severity.WARNING, Code.UNKNOWN_GUARD, where, text)


def _check_targets(workspace: Workspace, patches: dict[str, Patch]) -> Iterator[Finding]:
    """Predicates on a target that the settings do not describe: they would never be known."""
    if _malformed(workspace.settings):
        return
    settings = workspace.settings()
    gated = [facts.target for facts in settings.release.gates]
    built = [target.name for target in settings.targets]
    known = {PredicateKind.GATE: ("gates", gated), PredicateKind.ARCH: ("targets", built)}
    for patch in patches.values():
        for trailer in patch.header.trailers:
            predicate = _predicate(trailer)
            if predicate is None or predicate.kind not in known:
                continue
            key, names = known[predicate.kind]
            target = predicate.target
            if target not in names:
                advice = (
                    f"it has: {', '.join(names)}" if names else f"describe it under {key!r} there"
                )
                text = f"series/patchq.yaml has no {target} under {key!r}; {advice}"
                where = Where(patch.where.file if patch.where else patch.name, trailer.line)
                yield Finding(Severity.ERROR, Code.UNKNOWN_TARGET, where, text)


def _predicate(trailer: Trailer) -> Predicate | None:
    """The predicate of a field, None if it has none that can be read."""
    if trailer.key.lower() not in PREDICATE_FIELDS:
        return None
    try:
        return parse_predicate(trailer.value)
    except InputError:
        return None


def _check_continuity(workspace: Workspace, tag: str) -> Iterator[Finding]:
    """What the series before has, and this one neither has nor remembers."""
    try:
        found = gaps(workspace, tag)
    except InputError:
        return  # one of the two cannot be read, which is a finding of its own
    where = Where(str((workspace.series_path(tag) / SERIES).relative_to(workspace.root)))
    for gap in found:
        text = f"{gap.name} is {gap.words}: {gap.ways_on}"
        yield Finding(Severity.ERROR, Code.NO_RECORD, where, text)


def _error(patch: Patch) -> InputError | None:
    """Why the diff of ``patch`` cannot be read, None if it can."""
    try:
        if patch.files:
            return None
    except InputError as error:
        return error
    return InputError("no diff in it" if patch.raw.strip() else "the patch is empty")


def _mend(patch: Patch) -> Patch | None:
    """The patch after its repairs, None if it needs none or they are not enough."""
    raw, repairs = repair(patch.raw)
    sound = replace(patch, raw=raw)
    return sound if repairs and _error(sound) is None else None


def _check_form(subject: _Subject) -> Iterator[Finding]:
    patch, error = subject.patch, _error(subject.patch)
    _, repairs = repair(patch.raw)
    fixable = _mend(patch) is not None
    if error is not None:
        cure = "; ".join(f"line {entry.line}: {entry.text}" for entry in repairs)
        text = f"{error.message} (--fix: {cure})" if fixable else _with_hint(error)
        where = error.where or subject.at()
        yield Finding(Severity.ERROR, Code.MALFORMED_DIFF, where, text, fixable)
        return
    for entry in repairs:
        text = f"{entry.text} (by --fix)"
        yield Finding(Severity.WARNING, Code.DAMAGED, subject.at(entry.line), text, fixable)


def _check_description(subject: _Subject) -> Iterator[Finding]:
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


def _check_fields(subject: _Subject) -> Iterator[Finding]:
    for trailer in subject.header.trailers:
        where = subject.at(trailer.line)
        try:
            _parse_field(trailer, where)
        except InputError as error:
            place = error.where or where
            yield Finding(Severity.ERROR, Code.MALFORMED_FIELD, place, _with_hint(error))
    try:
        _ = subject.header.upstream_prs
    except InputError as error:
        place = error.where or subject.at()
        yield Finding(Severity.ERROR, Code.MALFORMED_FIELD, place, _with_hint(error))


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


def _check_dropped_text(subject: _Subject) -> Iterator[Finding]:
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


def _check_end(subject: _Subject) -> Iterator[Finding]:
    if not any(subject.header.fields(key) for key in ("X-Upstream-PR", "X-Retire-When")):
        text = "no rule retires it: give it X-Upstream-PR or X-Retire-When"
        yield subject.finding(Severity.WARNING, Code.NO_END, text)


def _check_requirements(subject: _Subject) -> Iterator[Finding]:
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


def _check_blanks(subject: _Subject) -> Iterator[Finding]:
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


def _check_nul(subject: _Subject) -> Iterator[Finding]:
    if _error(subject.patch) is not None:
        return
    for line, text in nul_bytes(subject.patch):
        yield subject.finding(Severity.WARNING, Code.NUL_BYTE, text, line)


def _check_quilt(subject: _Subject) -> Iterator[Finding]:
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


_CHECKS: tuple[Callable[[_Subject], Iterator[Finding]], ...] = (
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
