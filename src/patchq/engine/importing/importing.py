"""Bring patches of any kind into a series: mended, applied strictly, written as git mails.

A patch that already is a mail as ``git format-patch`` writes it, and applies, stays byte for byte.
Every other one is written anew by git from the two trees it stands between, its prose as the
message.
"""

from __future__ import annotations

import re
import shlex
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from email import message_from_bytes
from enum import Enum
from itertools import pairwise
from pathlib import PurePath

from patchq.engine.importing.fit import BringOver, Fit, Fitter
from patchq.engine.series.early_end import ends_come
from patchq.engine.series.message import raw_date, slug
from patchq.engine.series.naming import patch_name
from patchq.engine.series.restack import Restacker, changes, settles
from patchq.engine.workspace.transaction import Transaction
from patchq.errors import InputError, PatchqError, Where
from patchq.git.apply import Applied, Refused
from patchq.git.identity import UNKNOWN_AUTHOR
from patchq.git.mail import author_of
from patchq.git.store import Store
from patchq.model.diff import ChangeKind, FileChange
from patchq.model.header import Header, HeaderForm, description
from patchq.model.lock import Base
from patchq.model.patch import Patch, read_patch, repair
from patchq.model.predicate import PredicateKind, parse_predicate
from patchq.model.series import Guard, Series, SeriesEntry
from patchq.model.workspace import SeriesDirectory

_MBOX = re.compile(rb"^From \S+ .*\d\d:\d\d:\d\d.*\n(?=[A-Za-z][A-Za-z0-9-]*:)", re.M)
_MIME_FIELD = re.compile(rb"^(?:Content-[\w-]+|MIME-Version):.*\n(?:[ \t].*\n)*", re.I | re.M)
_MIME_ENCODED = re.compile(
    rb"^Content-(?:Transfer-Encoding:\s*(?:base64|quoted-printable)|Type:\s*multipart/)",
    re.I | re.M,
)
_PULL_IN_NAME = re.compile(r"(?<![A-Za-z])pr[-_ ]?(\d+)", re.I)
_PULL_IN_PROSE = re.compile(
    r"(?:\bpull/|\bpr[ #-]*|(?<![\w&/])#(?=\d{3}))(\d+)(?![\w-]|\.\w)", re.I
)
_IDLE = re.compile(rb"#\s|//|/?\*|--\s|import\b|from\b|#\s*include\b")
"""Comments and imports: what other changes may bring as well."""
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


class ImportForm(Enum):
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
    form: ImportForm
    end: str | None
    notices: tuple[Notice, ...]


@dataclass(frozen=True)
class ImportTerms:
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
        terms: ImportTerms,
        bring_over: BringOver = lambda _patch, _tree: None,
    ):
        self._objects = store.objects
        self._restacker = Restacker(store, base, default_guards)
        self._stack = self._restacker.stack
        self._mailer = self._restacker.mailer
        self._base = base
        self._directory = directory
        self._default_guards = default_guards
        self._terms = terms
        self._fitter = Fitter(store, self._stack, base, bring_over)
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
        tree = self._restacker.tree_below(series, series.entry(given.name), self._patches)
        fit = self._fitter.fit(tree, given.name, raw, given.place)
        header = fit.reading.header
        end = _propose_end(fit.reading, self._upstream) if _lacks_end(header) else None
        written_end = end if self._terms.write_end else None
        exact = not (repairs or given.decoded or fit.merged or written_end)
        verbatim = exact and is_git_mail(fit.reading) and not header.stale
        # git reads the whole file, and must find nothing more in it
        verbatim = verbatim and self._stack.try_apply(tree, fit.reading) == fit.applied
        date = raw_date(header.date)
        imported = Imported(
            patch=fit.reading if verbatim else self._mail(tree, fit, date, written_end),
            source=given.place,
            strip=fit.reading.strip,
            form=ImportForm.VERBATIM
            if verbatim
            else ImportForm.MERGED
            if fit.merged
            else ImportForm.REWRITTEN,
            end=end,
            notices=tuple(
                Notice(where, text)
                for where, text in (
                    *((Where(given.place, entry.line), entry.text) for entry in repairs),
                    *((Where(given.place), text) for text in _remarks(fit, date, end, written_end)),
                    *((Where(given.place), text) for text in self._come_already(fit.reading)),
                    *((Where(given.place), text) for text in settles(self._directory, given.name)),
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
        new = replace(self._directory, series=self._series, patches=self._patches)
        changes(self._directory, new).stage(transaction, self._directory)

    def _check_name(self, given: Given) -> None:
        where = Where(given.place)
        if given.name in self._series.names:
            raise InputError(
                f"{given.name} is in the series on {self._base.name} already",
                where=where,
                hint="--replace puts it in the place of the old one; --name gives it another name.",
            )
        if (self._directory.path / given.name).exists():
            raise InputError(
                f"a file {given.name} lies in the directory of the series, but not in the series",
                where=where,
                hint="Take it away, or import under another name with --name.",
            )

    def _upstream(self, path: str) -> bytes | None:
        return self._objects.content(self._base.tree, path)

    def _come_already(self, patch: Patch) -> Iterator[str]:
        for text, _ in ends_come(patch, self._base, self._objects):
            yield f"{text}: the next tag would retire it"

    def _mail(self, tree: str, fit: Fit, date: str | None, end: str | None) -> Patch:
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
        refused = self._stack.try_apply(self._restacker.tree(active[:-1], self._patches), patch)
        if isinstance(refused, Refused):
            guards = ", ".join(sorted(self._terms.together))
            raise InputError(
                f"{patch.name} does not apply together with {guards}: {refused.reason}",
                where=Where(place),
                hint="Guard it (--guard) and import a variant that fits for those guards.",
            )


def _split_mailbox(raw: bytes) -> tuple[bytes, ...]:
    whole, raw = raw, raw.removeprefix(BOM_UTF8)
    starts = [match.start() for match in _MBOX.finditer(raw)]
    if len(starts) < 2 or raw[: starts[0]].strip():
        return (whole,)
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


def is_git_mail(patch: Patch) -> bool:
    """Whether ``git am`` takes it as it is."""
    header = patch.header
    return (
        patch.strip == 1
        and header.form is HeaderForm.MAIL
        and bool(header.subject)
        and (header.author or "").endswith(">")
        and all(patch.diff.startswith(b"diff --git ", change.start) for change in patch.files)
    )


def _message(patch: Patch, end: str | None) -> str:
    subject, body = description(patch.header)
    subject = subject or re.sub(r"[-_]+", " ", patch.name.removesuffix(".patch"))
    if end is not None:
        body = "".join((body, "\n" if patch.header.trailers else "\n\n" if body else "", end))
    return f"{subject}\n\n{body}\n" if body else f"{subject}\n"


def _lacks_end(header: Header) -> bool:
    return not (header.fields("X-Upstream-PR") or header.fields("X-Retire-When"))


def _propose_end(patch: Patch, upstream: Callable[[str], bytes | None]) -> str | None:
    """The field that would end the patch's life: its PR, else that ``upstream`` says it itself.

    Only where that says all of the patch, one file that it adds or one place that it changes: part
    of it may come upstream while the rest is still needed. None where no such end is known.
    """
    pull = _pull_request(patch)
    if pull is not None:
        return f"X-Upstream-PR: {pull}"
    if len(patch.files) != 1:
        return None
    (change,) = patch.files
    text = _says_it(change)
    if text is None:
        return None
    predicate = parse_predicate(text)
    assert predicate.path is not None
    there = upstream(predicate.path)
    known = there is not None or predicate.kind is PredicateKind.PATH_EXISTS
    return f"X-Retire-When: {text}" if known and not predicate.holds_on(there) else None


def _says_it(change: FileChange) -> str | None:
    """The predicate that holds where upstream has the change."""
    path = change.new
    if path is None or not path.isprintable():
        return None
    if change.kind is ChangeKind.ADD:
        return f"path-exists {shlex.quote(path)}"
    lines = [line.strip() for hunk in change.hunks for line in hunk.added]
    telling = [line for line in lines if line.isascii() and len(line) in _TELLING]
    if len(change.hunks) != 1 or change.old_mode != change.new_mode or not telling:
        return None
    line = max(telling, key=lambda line: (not _IDLE.match(line), len(line)))
    regex = re.escape(line.decode("ascii")).replace("\\ ", " ")
    return f"contains {shlex.quote(path)} {shlex.quote(regex)}"


def _pull_request(patch: Patch) -> str | None:
    """The number that its name or its prose gives; prose that gives several tells of others."""
    named = _PULL_IN_NAME.search(patch.name)
    if named:
        return named[1]
    prose = f"{patch.header.subject}\n{patch.header.body}"
    numbers = set(_PULL_IN_PROSE.findall(prose))
    return numbers.pop() if len(numbers) == 1 else None


def _remarks(fit: Fit, date: str | None, end: str | None, written_end: str | None) -> Iterator[str]:
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
        yield (
            "nothing ends its life, and no safe end is known: "
            "give it X-Upstream-PR or X-Retire-When"
        )
