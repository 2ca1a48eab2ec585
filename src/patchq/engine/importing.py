"""Bring patches of any kind into a series: mended, applied strictly, written as git mails.

A patch that already is a mail as ``git format-patch`` writes it, and applies, stays byte for byte.
Every other one is written anew by git from the two trees it stands between, its prose as the
message. Where strict ``git apply`` refuses, the merge that ``git apply --3way`` would make is
tried: base is what the patch's index lines name.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email import message_from_bytes
from enum import Enum
from itertools import pairwise
from pathlib import PurePath

from patchq.engine.stack import Stack, below
from patchq.engine.transaction import Transaction
from patchq.engine.units import locate
from patchq.engine.wording import ADDRESS, author_of, raw_date, slug
from patchq.errors import InputError, PatchqError, Where
from patchq.git.apply import Applied, Refused
from patchq.git.identity import UNKNOWN_AUTHOR
from patchq.git.mail import Mailer
from patchq.git.objects import Entry
from patchq.git.store import Store
from patchq.model.diff import ChangeKind, FileChange, Hunk, split_lines
from patchq.model.header import Header, HeaderForm, description
from patchq.model.lock import Base
from patchq.model.patch import Patch, read_patch, repair
from patchq.model.series import Guard, Series, SeriesEntry
from patchq.model.workspace import SERIES, SeriesDirectory, Workspace

_MBOX = re.compile(rb"^From \S+ .*\d\d:\d\d:\d\d.*\n(?=[A-Za-z][A-Za-z0-9-]*:)", re.M)
_MIME_FIELD = re.compile(rb"^(?:Content-[\w-]+|MIME-Version):.*\n(?:[ \t].*\n)*", re.I | re.M)
_MIME_ENCODED = re.compile(
    rb"^Content-(?:Transfer-Encoding:\s*(?:base64|quoted-printable)|Type:\s*multipart/)",
    re.I | re.M,
)
_NUMBER = re.compile(r"\d+-(?=.)")
_EXTENSIONS = (".patch", ".diff", ".txt", ".mbox", ".eml")
_PULL_IN_NAME = re.compile(r"(?<![A-Za-z])pr[-_ ]?(\d+)", re.I)
_PULL_IN_PROSE = re.compile(
    r"(?:\bpull/|\bpr[ #-]*|(?<![\w&/])#(?=\d{3}))(\d+)(?![\w-]|\.\w)", re.I
)
_COMMENT = re.compile(rb"#\s|//|/?\*|--\s")
_FAILED_HUNK = re.compile(r"patch failed: (.+):(\d+)$")
_TELLING = range(8, 121)
"""How long a line is that tells something and still reads well in a header."""


@dataclass(frozen=True)
class Notice:
    """Something to say about a patch that came in."""

    where: Where
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True)
class Given:
    """One patch as it was given; ``place`` is how messages name it.

    ``raw`` is what the file holds, or, where ``decoded``, that without its mail's encoding.
    """

    place: str
    name: str
    raw: bytes
    decoded: bool = False


class Form(Enum):
    """How a patch came in, and so what its file holds."""

    VERBATIM = "verbatim"
    REWRITTEN = "rewritten"
    MERGED = "merged"


@dataclass(frozen=True)
class Imported:
    """A patch of the series; ``strip`` is the ``-p`` it was read with, ``end`` a field proposed."""

    patch: Patch
    source: str
    strip: int
    form: Form
    end: str | None
    notices: tuple[Notice, ...]


@dataclass(frozen=True)
class Terms:
    """What holds for all patches of one import.

    ``together`` are guards that the patches must apply with as well; ``author`` and ``date``
    (git's raw form) stand in where a patch names none; ``write_end`` puts the proposed end into
    the patch.
    """

    guards: tuple[Guard, ...] = ()
    together: frozenset[str] = frozenset()
    author: str = UNKNOWN_AUTHOR
    date: str = "0 +0000"
    write_end: bool = False


def read_given(
    file: str, raw: bytes, name: str | None = None
) -> tuple[tuple[Given, ...], tuple[Notice, ...]]:
    """The patches in a file: one, or one for each mail of a mailbox.

    Mails without a diff (a cover letter) are passed over with a notice. Raises
    :class:`InputError` where ``name`` is given for several patches.
    """
    mails = _split_mailbox(raw)
    if len(mails) == 1:
        decoded = _without_encoding(raw)
        given = Given(file, patch_name(name or file), decoded, decoded != raw)
        return (given,), ()
    if name is not None:
        raise InputError(
            f"{len(mails)} mails are in it, --name names one patch",
            where=Where(file),
            hint="Leave --name out: each patch is then named by its subject.",
        )
    patches: list[Given] = []
    notices: list[Notice] = []
    for number, mail in enumerate(mails, 1):
        place = f"{file}, mail {number}"
        decoded = _without_encoding(mail)
        patch = Patch("", decoded)
        if patch.diff:
            title = slug(patch.header.subject) or f"{PurePath(file).stem}-{number}"
            patches.append(Given(place, patch_name(title), decoded, decoded != mail))
        else:
            notices.append(Notice(Where(place), "no diff in it: passed over"))
    if not patches:
        raise InputError("none of its mails holds a diff", where=Where(file))
    return tuple(patches), tuple(notices)


def patch_name(file: str) -> str:
    """The name in the series for a file: no number in front, ``.patch`` behind."""
    base = re.sub(r"[\s#]+", "-", PurePath(file).name).lstrip("-.")
    stem = next((base.removesuffix(end) for end in _EXTENSIONS if base.endswith(end)), base)
    stem = _NUMBER.sub("", stem, count=1) if _NUMBER.match(stem) else stem
    if not stem:
        raise InputError(f"{file!r} gives no name for a patch", hint="Name it with --name.")
    return f"{stem}.patch"


def open_series(workspace: Workspace, tag: str) -> SeriesDirectory:
    """The series on ``tag``, an empty one where there is none yet.

    Raises :class:`InputError` where ``tag`` is not in the lock or its series is malformed.
    """
    workspace.lock().position(tag)
    path = workspace.series_path(tag)
    if (path / SERIES).is_file():
        return workspace.load(tag)
    where = Where(str((path / SERIES).relative_to(workspace.root)))
    return SeriesDirectory(tag, path, Series(b"", (), where), {})


def now() -> str:
    """This moment in git's raw form, or the one that ``SOURCE_DATE_EPOCH`` says."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return f"{int(given) if given.isdecimal() else int(time.time())} +0000"


@dataclass(frozen=True)
class BroughtOver:
    """A patch that was cut from another state of upstream, and what it does to the tree here.

    ``applied`` is None where it does not merge; ``remarks`` say what it was cut from, and then
    what it needs.
    """

    applied: Applied | None
    remarks: tuple[str, ...]


BringOver = Callable[[Patch, str], BroughtOver | None]
"""Finds what a patch was cut from and merges it onto a tree; None where nothing is found."""


class Importer:
    """Puts patches on top of a series, in memory; :meth:`stage` hands over what is to be written.

    ``bring_over`` is asked about a patch that does not apply. Raises
    :class:`~patchq.errors.UpstreamError` where the store lacks ``base``.
    """

    def __init__(
        self,
        store: Store,
        base: Base,
        directory: SeriesDirectory,
        default_guards: frozenset[str],
        terms: Terms,
        bring_over: BringOver = lambda _patch, _tree: None,
    ):
        store.require((base,))
        self._store = store
        self._objects = store.objects
        self._stack = Stack(store)
        self._mailer = Mailer(store.git, store.objects)
        self._base = base
        self._directory = directory
        self._default_guards = default_guards
        self._terms = terms
        self._bring_over = bring_over
        self._series = directory.series
        self._patches = dict(directory.patches)
        self._new: list[str] = []

    def bring(self, given: Given) -> Imported:
        """Put one patch on top of the series.

        Raises :class:`InputError` where its name is taken, it is malformed, or it does not apply.
        """
        self._check_name(given)
        raw, repairs = repair(given.raw)
        entry = SeriesEntry(given.name, guards=self._terms.guards)
        series = self._series.append(entry)
        tree = self._tree(below(series, series.entry(given.name), self._default_guards))
        fit = self._fit(tree, self._readings(tree, given, raw))
        header = fit.reading.header
        end = _propose_end(fit.reading, self._before(tree)) if _lacks_end(header) else None
        written_end = end if self._terms.write_end else None
        exact = not (repairs or given.decoded or fit.merged or written_end)
        verbatim = exact and _is_git_mail(fit.reading)
        date = raw_date(header.date)
        imported = Imported(
            patch=fit.reading if verbatim else self._mail(tree, fit, date, written_end),
            source=given.place,
            strip=fit.reading.strip,
            form=Form.VERBATIM if verbatim else Form.MERGED if fit.merged else Form.REWRITTEN,
            end=end,
            notices=tuple(
                Notice(where, text)
                for where, text in (
                    *((Where(given.place, entry.line), entry.text) for entry in repairs),
                    *((Where(given.place), text) for text in _remarks(fit, date, end, written_end)),
                )
            ),
        )
        self._series = series
        self._patches[given.name] = imported.patch
        self._new.append(given.name)
        self._check_together(imported.patch, series, given.place)
        return imported

    def stage(self, transaction: Transaction) -> None:
        """Write the series with its new patches."""
        path = self._directory.path
        transaction.write_file(path / SERIES, self._series.raw)
        for name in self._new:
            transaction.write_file(path / name, self._patches[name].raw)

    def _check_name(self, given: Given) -> None:
        where = Where(given.place)
        if given.name in self._series.names:
            raise InputError(
                f"{given.name} is in the series on {self._base.name} already",
                where=where,
                hint="Import it under another name with --name, or drop the old one first.",
            )
        if (self._directory.path / given.name).exists():
            raise InputError(
                f"a file {given.name} lies in the directory of the series, but not in the series",
                where=where,
                hint="Take it away, or import under another name with --name.",
            )

    def _tree(self, entries: Sequence[SeriesEntry]) -> str:
        patches = (self._patches[entry.name] for entry in entries)
        return self._stack.apply_all(self._base.tree, patches, onto=self._base.name)

    def _before(self, tree: str) -> Callable[[str], bytes | None]:
        return lambda path: self._objects.content(tree, path)

    def _readings(self, tree: str, given: Given, raw: bytes) -> tuple[Patch, ...]:
        """The patch with ``-p1`` and with ``-p0``, first the one whose paths the tree knows.

        Of the others only those it knows any of: a new file must not land under ``b/``.
        """
        readings: list[Patch] = []
        errors: list[InputError] = []
        for strip in (1, 0):
            try:
                readings.append(read_patch(given.name, raw, strip=strip, where=Where(given.place)))
            except InputError as error:
                errors.append(error)
        if not readings:
            raise errors[0]
        known = {patch.strip: self._known_paths(tree, patch) for patch in readings}
        first, *others = sorted(readings, key=lambda patch: -known[patch.strip])
        return (first, *(patch for patch in others if known[patch.strip]))

    def _known_paths(self, tree: str, patch: Patch) -> int:
        """How many paths of the patch are in the tree, or in a directory that is."""
        return sum(
            any(self._objects.entry(tree, name) for name in (path, path.rpartition("/")[0]) if name)
            for path in patch.paths
        )

    def _fit(self, tree: str, readings: Sequence[Patch]) -> _Fit:
        refusals: list[Refused] = []
        for reading in readings:
            applied = self._stack.try_apply(tree, reading)
            if isinstance(applied, Refused):
                refusals.append(applied)
            elif applied.tree == tree:
                raise self._refusal(tree, reading, "it changes nothing")
            else:
                return _Fit(reading, applied)
        reading, reason = readings[0], refusals[0].reason
        if _is_there(reading, self._before(tree)):
            raise InputError(
                f"all of it is in {self._base.name} with the patches below it already",
                where=Where(_place(reading)),
                hint="There is nothing to import.",
            )
        over = self._bring_over(reading, tree)
        if over is not None:
            if over.applied is None:
                raise self._refusal(tree, reading, "; ".join((reason, *over.remarks)))
            return _Fit(reading, over.applied, merged=True, remarks=over.remarks)
        base = self._preimage(reading)
        theirs = self._stack.try_apply(base, reading) if base is not None else None
        if base is None or not isinstance(theirs, Applied):
            raise self._refusal(tree, reading, reason)
        ours = self._objects.tree_of(self._objects.files(tree, reading.paths))
        merge = self._store.merger.merge(base, ours, theirs.tree)
        if not merge.clean:
            places = ", ".join(merge.conflicted_paths)
            raise self._refusal(tree, reading, f"{reason}; a three-way merge conflicts in {places}")
        if merge.tree == ours:
            raise self._refusal(tree, reading, f"{reason}; a three-way merge leaves nothing of it")
        before = self._objects.files(tree, reading.paths)
        after = {**dict.fromkeys(reading.paths), **dict(self._objects.walk(merge.tree))}
        return _Fit(
            reading,
            Applied(self._objects.overlay(tree, after), before, after),
            merged=True,
        )

    def _preimage(self, patch: Patch) -> str | None:
        """The tree of the files that the index lines name; None where one is not in the store."""
        wanted: dict[str, FileChange] = {}
        for change in patch.files:
            if change.old is not None:
                wanted.setdefault(change.old, change)
        blobs = [change.old_blob or "" for change in wanted.values()]
        found = self._find_blobs(blobs)
        if not all(blob in found for blob in blobs):
            return None
        return self._objects.tree_of(
            {
                path: Entry(change.old_mode or "100644", found[blob])
                for (path, change), blob in zip(wanted.items(), blobs, strict=True)
            }
        )

    def _find_blobs(self, blobs: Sequence[str]) -> Mapping[str, str]:
        """Full ids of abbreviated ones, for those that are one blob of the store."""
        asked = [blob for blob in dict.fromkeys(blobs) if blob]
        answers = self._store.git.text(
            "cat-file", "--batch-check=%(objectname) %(objecttype)", stdin="\n".join(asked).encode()
        ).split("\n")
        return {
            blob: answer.removesuffix(" blob")
            for blob, answer in zip(asked, answers, strict=False)
            if answer.endswith(" blob")
        }

    def _refusal(self, tree: str, patch: Patch, reason: str) -> InputError:
        found = _failed_hunk(patch, reason)
        line, spot = None, ""
        if found is not None:
            path, hunk = found
            line = patch.head.count(b"\n") + hunk.line
            spot = f" (hunk {hunk.index} of {path})"
        absent = [c.old for c in patch.files if c.old and not self._objects.file(tree, c.old)]
        cut = "Import it with --tag onto the tag that it was cut from; "
        over = f"`patchq rebase --onto {self._base.name}` then brings it over."
        return InputError(
            f"{patch.name} does not apply to {self._base.name} with the patches below it: "
            f"{reason}{spot}",
            where=Where(_place(patch), line),
            hint=f"{absent[0]} is not in {self._base.name}. {cut}{over}" if absent else cut + over,
        )

    def _mail(self, tree: str, fit: _Fit, date: str | None, end: str | None) -> Patch:
        reading, applied = fit.reading, fit.applied
        raw = self._mailer.mail(
            self._objects.tree_of(applied.before),
            self._objects.tree_of(applied.after),
            message=_message(reading, end),
            author=author_of(reading.header.author) or self._terms.author,
            date=date or self._terms.date,
        )
        patch = read_patch(reading.name, raw, where=Where(reading.name))
        again = self._stack.try_apply(tree, patch)
        if not isinstance(again, Applied) or again.tree != applied.tree:
            raise PatchqError(f"{reading.name}: git's own diff does not give the tree it is of")
        return patch

    def _check_together(self, patch: Patch, series: Series, place: str) -> None:
        """Whether the patch also applies where the guards of ``together`` are on."""
        if not self._terms.together:
            return
        own = frozenset(guard.name for guard in self._terms.guards if guard.positive)
        selected = self._default_guards | own | self._terms.together
        active = series.active(selected)
        if not active or active[-1].name != patch.name:
            return
        refused = self._stack.try_apply(self._tree(active[:-1]), patch)
        if isinstance(refused, Refused):
            guards = ", ".join(sorted(self._terms.together))
            raise InputError(
                f"{patch.name} does not apply together with {guards}: {refused.reason}",
                where=Where(place),
                hint="Guard it (--guard) and import a variant that fits for those guards.",
            )


@dataclass(frozen=True)
class _Fit:
    """A patch as it was read, and what it does to the tree."""

    reading: Patch
    applied: Applied
    merged: bool = False
    remarks: tuple[str, ...] = ()


_Content = Callable[[str], bytes | None]


def _split_mailbox(raw: bytes) -> tuple[bytes, ...]:
    starts = [match.start() for match in _MBOX.finditer(raw)]
    if len(starts) < 2 or raw[: starts[0]].strip():
        return (raw,)
    return tuple(raw[start:stop] for start, stop in pairwise([*starts, len(raw)]))


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


def _place(patch: Patch) -> str:
    return patch.where.file if patch.where else patch.name


def _is_git_mail(patch: Patch) -> bool:
    """Whether ``git am`` takes it as it is."""
    header = patch.header
    return (
        patch.strip == 1
        and header.form is HeaderForm.MAIL
        and bool(header.subject)
        and bool(ADDRESS.match(header.author or ""))
        and all(patch.diff.startswith(b"diff --git ", change.start) for change in patch.files)
    )


def _failed_hunk(patch: Patch, reason: str) -> tuple[str, Hunk] | None:
    """The hunk that git says it failed at."""
    for match in map(_FAILED_HUNK.match, reason.split("; ")):
        for change in patch.files if match else ():
            for hunk in change.hunks:
                if match and (change.old, str(hunk.old_start)) == match.groups():
                    return match[1], hunk
    return None


def _is_there(patch: Patch, content: _Content) -> bool:
    """Whether every file already is as the patch would leave it."""
    return all(_has_change(change, content) for change in patch.files)


def _has_change(change: FileChange, content: _Content) -> bool:
    if change.new is None:
        return change.old is not None and content(change.old) is None
    text = content(change.new)
    if text is None or not change.hunks:
        return False
    if change.kind is ChangeKind.ADD:
        return text == b"".join(change.hunks[0].added)
    return locate([_reversed(hunk) for hunk in change.hunks], split_lines(text)) is not None


def _reversed(hunk: Hunk) -> Hunk:
    swap = {b"-": b"+", b"+": b"-"}
    return replace(
        hunk,
        old_start=hunk.new_start,
        old_count=hunk.new_count,
        new_start=hunk.old_start,
        new_count=hunk.old_count,
        lines=tuple(swap.get(line[:1], line[:1]) + line[1:] for line in hunk.lines),
    )


def _message(patch: Patch, end: str | None) -> str:
    subject, body = description(patch.header)
    subject = subject or re.sub(r"[-_]+", " ", patch.name.removesuffix(".patch"))
    if end is not None:
        body = "".join((body, "\n" if patch.header.trailers else "\n\n" if body else "", end))
    return f"{subject}\n\n{body}\n" if body else f"{subject}\n"


def _lacks_end(header: Header) -> bool:
    return not (header.fields("X-Upstream-PR") or header.fields("X-Retire-When"))


def _propose_end(patch: Patch, content: _Content) -> str | None:
    """The field that would end the patch's life: its PR, else a line of upstream's it removes."""
    pull = _pull_request(patch)
    if pull is not None:
        return f"X-Upstream-PR: {pull}"
    lines = [
        (change.old, line.strip())
        for change in patch.files
        if change.old is not None
        for hunk in change.hunks
        for line in hunk.removed
        if line.strip().isascii() and len(line.strip()) in _TELLING
    ]
    if not lines:
        return None

    def tells(found: tuple[str, bytes]) -> tuple[bool, bool, int]:
        path, line = found
        return not _COMMENT.match(line), _is_unique(line, content(path)), len(line)

    path, line = max(lines, key=tells)
    regex = re.escape(line.decode("ascii")).replace("\\ ", " ")
    return f"X-Retire-When: lacks {shlex.quote(path)} {shlex.quote(regex)}"


def _pull_request(patch: Patch) -> str | None:
    """The number that its name or its prose gives; prose that gives several tells of others."""
    named = _PULL_IN_NAME.search(patch.name)
    if named:
        return named[1]
    prose = f"{patch.header.subject}\n{patch.header.body}"
    numbers = set(_PULL_IN_PROSE.findall(prose))
    return numbers.pop() if len(numbers) == 1 else None


def _is_unique(line: bytes, text: bytes | None) -> bool:
    return text is not None and text.count(line) == 1


def _remarks(
    fit: _Fit, date: str | None, end: str | None, written_end: str | None
) -> Iterator[str]:
    header = fit.reading.header
    if fit.merged:
        yield "; ".join(("applied by three-way merge", *fit.remarks))
    if header.date and date is None:
        yield f"the date {header.date!r} cannot be read: the present one stands in for it"
    if written_end is not None:
        yield f"nothing ended its life; added: {written_end}"
    elif end is not None:
        yield f"nothing ends its life; proposed: {end} (--propose-end writes it)"
    elif _lacks_end(header):
        yield "nothing ends its life: give it X-Upstream-PR or X-Retire-When"
