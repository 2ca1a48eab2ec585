"""Bring patches of any kind into a series: mended, applied strictly, written as git mails.

A patch that already is a mail as ``git format-patch`` writes it, and applies, stays byte for byte.
Every other one is written anew by git from the two trees it stands between, its prose as the
message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from patchq.engine.importing.ends import Ends, lacks_end
from patchq.engine.importing.fit import (
    AllThereError,
    BringOver,
    Fit,
    Fitter,
    NoFitError,
    Paths,
)
from patchq.engine.importing.given.read import Given, Notice
from patchq.engine.series.directory_changes import changes, settles
from patchq.engine.series.message import raw_date
from patchq.engine.series.restack import Restacker
from patchq.engine.series.rewrite import applies_alike
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.transaction import Transaction
from patchq.errors import InputError, PatchqError, Where
from patchq.git.apply import Applied, Refused
from patchq.git.identity import UNKNOWN_AUTHOR
from patchq.git.mail import MailedChange, author_of
from patchq.model.header import Header, description
from patchq.model.header_message import HeaderForm
from patchq.model.ids import TreeId
from patchq.model.patch import Patch, nul_bytes, read_patch, repair
from patchq.model.patch_names import check_name
from patchq.model.retired import Lineage, provided_by_upstream
from patchq.model.series import Guard, Series, SeriesEntry
from patchq.model.workspace import SeriesDirectory

_NAMING = ("Patch-Name", "Gbp-Pq")
"""Trailers that tell the file of a commit; as a patch it has a name."""


class ImportForm(Enum):
    """How a patch came in, and so what its file holds."""

    VERBATIM = "verbatim"
    REWRITTEN = "rewritten"
    MERGED = "merged"


@dataclass(frozen=True)
class Imported:
    """A patch of the series; it was read with the ``-p`` of ``strip``, below ``directory``.

    ``end`` is a field that was proposed.
    """

    patch: Patch
    source: str
    strip: int
    directory: str
    form: ImportForm
    end: str | None
    notices: tuple[Notice, ...]


@dataclass(frozen=True)
class ImportTerms:
    """What holds for all patches of one import.

    ``together`` are guards that the patches must apply with as well; ``author`` and ``date``
    (git's raw form) stand in where a patch names none; ``write_end`` puts the proposed end into
    the patch; ``paths`` say how the paths of the patches are to be read, and ``recount`` that
    wrong counts of hunks are to be mended.
    """

    guards: tuple[Guard, ...] = ()
    together: frozenset[str] = frozenset()
    author: str = UNKNOWN_AUTHOR
    date: str = "0 +0000"
    write_end: bool = False
    paths: Paths = field(default_factory=Paths)
    recount: bool = False


@dataclass(frozen=True)
class _Unwritten:
    """A patch whose mail is to be written, and the trees that it stands between."""

    before: TreeId
    after: TreeId
    mail: MailedChange


class Importer:
    """Puts patches on top of a series, in memory; :meth:`stage` hands over what is to be written.

    ``bring_over`` is asked about a patch that does not apply. Raises
    :class:`~patchq.errors.UpstreamError` if the store lacks the base.
    """

    def __init__(
        self,
        project: Project,
        directory: SeriesDirectory,
        terms: ImportTerms,
        bring_over: BringOver = lambda _patch, _tree: None,
    ):
        store, base = project.store, project.lock.base(directory.tag)
        self._objects = store.objects
        self._default_guards = project.settings.default_guards
        self._restacker = Restacker(store, base, self._default_guards)
        self._stack = self._restacker.stack
        self._mailer = self._restacker.mailer
        self._base = base
        self._directory = directory
        self._terms = terms
        self._fitter = Fitter(store, self._stack, base, bring_over, project.lock.bases)
        self._ends = Ends(project, base)
        self._series = directory.series
        self._patches = dict(directory.patches)
        self._unwritten: dict[str, _Unwritten] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The patches of the series as it is now."""
        return self._series.names

    @property
    def tag(self) -> str:
        """The base of the series."""
        return self._directory.tag

    @property
    def provided(self) -> frozenset[str]:
        """The patches that upstream has, so that no patch of the series is needed for them."""
        return provided_by_upstream(self._directory.retired)

    def bring(self, given: Given) -> Imported:
        """Put one patch on top of the series; its mail may be written by :meth:`written` only.

        Raises :class:`InputError` if its name is taken, it is malformed, or it does not apply.
        """
        self._check_name(given)
        raw, repairs = repair(given.raw, recount=self._terms.recount)
        entry = SeriesEntry(given.name, guards=(*given.guards, *self._terms.guards))
        series = self._series.append(entry, given.above)
        tree = self._restacker.tree_below(series, series.entry(given.name), self._patches)
        try:
            fit = self._fitter.fit(tree, given, raw, self._paths(given))
        except NoFitError as error:
            known = self._known(given, raw)
            if known is None and repairs:
                mended = "; ".join(f"line {given.line + one.line}: {one.text}" for one in repairs)
                message = f"{error.message} (mended: {mended})"
                known = NoFitError(message, where=error.where, hint=error.hint)
                known.stands_on = error.stands_on
            raise known or error from error
        header = fit.reading.header
        end = self._ends.propose(fit.reading) if lacks_end(header) else None
        written_end = end if self._terms.write_end else None
        changed = repairs or given.decoded or given.prose or fit.merged or written_end
        named = any(header.fields(key) for key in _NAMING)
        verbatim = not (changed or named) and is_git_mail(fit.reading) and not header.stale
        # git reads the whole file, and must find nothing more in it
        verbatim = (
            verbatim
            and self._stack.try_apply(tree, fit.reading) == fit.applied
            and applies_alike(fit.reading, fit.applied, self._objects)
        )
        date = raw_date(header.date)
        imported = Imported(
            patch=fit.reading
            if verbatim
            else self._rewritten(tree, given, fit, series, date, written_end),
            source=given.place,
            strip=fit.reading.strip,
            directory=fit.reading.directory,
            form=ImportForm.VERBATIM
            if verbatim
            else ImportForm.MERGED
            if fit.merged
            else ImportForm.REWRITTEN,
            end=end,
            notices=(
                *(Notice(Where(given.place, given.line + r.line), r.text) for r in repairs),
                *(
                    Notice(Where(given.place), text)
                    for text in (
                        *_remarks(fit, date),
                        *(text for _, text in nul_bytes(fit.reading)),
                        *self._ends.remarks(fit.reading),
                        *settles(self._directory, given.name),
                    )
                ),
                *_end_notices(Where(given.place), header, end, written=written_end is not None),
            ),
        )
        self._check_together(imported.patch, series, given)
        self._series = series
        self._patches[given.name] = imported.patch
        return imported

    def _known(self, given: Given, raw: bytes) -> NoFitError | AllThereError | None:
        """The error to raise if a patch of the series makes the very same change."""
        self._write_mails()
        wanted = _hunks(Patch(given.name, raw))
        for name, patch in self._patches.items():
            if wanted and _hunks(patch) == wanted:
                return AllThereError(
                    f"it is in the series on {self._base.name} already, as {name}",
                    where=Where(given.place),
                )
        return None

    def _paths(self, given: Given) -> Paths:
        """How its paths are to be read: as asked for, else as its series file says."""
        asked = self._terms.paths
        return asked if asked or given.strip in (None, 0, 1) else Paths(given.strip)

    def stage(self, transaction: Transaction, lineage: Lineage | None = None) -> None:
        """Write the series with its new patches, with ``lineage`` where that is another."""
        self._write_mails()
        new = replace(
            self._directory,
            series=self._series,
            patches=self._patches,
            lineage=lineage or self._directory.lineage,
        )
        changes(self._directory, new).stage(transaction, self._directory)

    def _check_name(self, given: Given) -> None:
        check_name(given.name, Where(given.place))
        where = Where(given.place)
        if given.name in self._series.names:
            raise InputError(
                f"{given.name} is in the series on {self._base.name} already",
                where=where,
                hint="--replace puts it in the place of the old one; --name gives it another name.",
            )
        if (self._directory.path / given.name).exists():
            raise InputError(
                f"a file {given.name} is in the directory of the series, but not in the series",
                where=where,
                hint="Remove it, or import under another name with --name.",
            )

    def written(self, imported: Iterable[Imported]) -> tuple[Imported, ...]:
        """``imported`` as their files will be, once all are in."""
        self._write_mails()
        return tuple(replace(one, patch=self._patches[one.patch.name]) for one in imported)

    def _rewritten(
        self,
        tree: TreeId,
        given: Given,
        fit: Fit,
        series: Series,
        date: str | None,
        end: str | None,
    ) -> Patch:
        """The patch as git writes it; as it was read, if the mails of all can wait for that."""
        reading = fit.reading.bare
        mail = _Unwritten(tree, fit.applied.tree, self._mail(given, fit, date, end))
        # what comes next stands on the same tree then, and on nothing but that
        same = self._stack.try_apply(tree, reading) == fit.applied
        if same and not series.guards and not self._terms.together:
            self._unwritten[given.name] = mail
            return reading
        return self._write({given.name: mail})[given.name]

    def _write_mails(self) -> None:
        waiting, self._unwritten = self._unwritten, {}
        self._patches.update(self._write(waiting))

    def _write(self, mails: Mapping[str, _Unwritten]) -> dict[str, Patch]:
        """The patches as git writes them, all by one process; each must do what it did."""
        patches: dict[str, Patch] = {}
        written = self._mailer.mails([one.mail for one in mails.values()]) if mails else ()
        for (name, one), raw in zip(mails.items(), written, strict=True):
            patches[name] = read_patch(name, raw, where=Where(name))
            again = self._stack.try_apply(one.before, patches[name])
            if not isinstance(again, Applied) or again.tree != one.after:
                raise PatchqError(f"{name}: git's own diff does not give the tree it is of")
        return patches

    def _mail(self, given: Given, fit: Fit, date: str | None, end: str | None) -> MailedChange:
        reading, applied = fit.reading, fit.applied
        author = author_of(reading.header.author) or self._terms.author
        if author == UNKNOWN_AUTHOR:
            raise InputError(
                "it names no author, and git does not know who you are",
                where=Where(given.place),
                hint="Say who made it with --author 'Name <mail>', or tell git who you are: "
                "`git config --global user.name 'Name'`, and user.email.",
            )
        return MailedChange(
            self._objects.tree_of(applied.before),
            self._objects.tree_of(applied.after),
            message=_message(reading, given.prose, end),
            author=author,
            date=date or self._terms.date,
        )

    def _check_together(self, patch: Patch, series: Series, given: Given) -> None:
        """Whether the patch also applies where the guards of ``together`` are on."""
        if not self._terms.together:
            return
        guards = (*given.guards, *self._terms.guards)
        own = frozenset(guard.name for guard in guards if guard.positive)
        selected = self._default_guards | own | self._terms.together
        active = series.active(selected)
        if not active or active[-1].name != patch.name:
            return
        refused = self._stack.try_apply(self._restacker.tree(active[:-1], self._patches), patch)
        if isinstance(refused, Refused):
            names = ", ".join(sorted(self._terms.together))
            raise InputError(
                f"{patch.name} does not apply together with {names}: {refused.reason}",
                where=Where(given.place),
                hint="Guard it (--guard) and import a variant that fits for those guards.",
            )


def _hunks(patch: Patch) -> list[tuple[str | None, str | None, list[tuple[bytes, ...]]]]:
    """What a patch does, whatever it says; nothing where it cannot be read, or is no text."""
    try:
        changes = patch.files
    except InputError:
        return []
    if any(change.binary for change in changes):
        return []
    return [(c.old, c.new, [hunk.lines for hunk in c.hunks]) for c in changes]


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


def _message(patch: Patch, prose: str, end: str | None) -> str:
    subject, body = description(patch.header, prose, _NAMING)
    subject = subject or re.sub(r"[-_]+", " ", patch.name.removesuffix(".patch"))
    if end is not None:
        body = "".join((body, "\n" if patch.header.trailers else "\n\n" if body else "", end))
    return f"{subject}\n\n{body}\n" if body else f"{subject}\n"


def _remarks(fit: Fit, date: str | None) -> Iterator[str]:
    header = fit.reading.header
    if fit.merged:
        yield "; ".join(("applied by three-way merge", *fit.remarks))
    if fit.read_as is not None:
        yield f"its paths are those of the tree with {fit.read_as}"
    if header.date and date is None:
        yield f"the date {header.date!r} cannot be read: the current one is used"


def _end_notices(
    where: Where, header: Header, end: str | None, *, written: bool
) -> Iterator[Notice]:
    """What is to be said of a patch that had no rule that retires it."""
    if written:
        yield Notice(where, f"no rule retired it; added: {end}", "no rule retired it; added one")
    elif end is not None:
        yield Notice(
            where,
            f"no rule retires it; proposed: {end} (--propose-end writes it)",
            "no rule retires it; one is proposed (--propose-end writes it)",
        )
    elif lacks_end(header):
        text = "no rule retires it, and none is safe to propose: give it X-Upstream-PR or "
        text += "X-Retire-When"
        yield Notice(where, text, f"{text} (`patchq lint` lists such patches)")
