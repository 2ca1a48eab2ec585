"""Put other versions of its patches into a series, as quilt or a colleague gives them back.

A replaced patch keeps its name, its line in the series file, and whatever the new version says
nothing of; those above it are merged onto it. If the new version stands in the place of the old
one already, as quilt refreshes it there, nothing is known of the old one: the file is brought to
the form of a git mail, and those above must apply as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from patchq.engine.importing.fit import BringOver, Fit, Fitter, NoFitError, Paths
from patchq.engine.importing.given.read import Given, Notice, read_given
from patchq.engine.importing.importing import ImportTerms, is_git_mail
from patchq.engine.series.edits import Edited
from patchq.engine.series.header_edit import add_field, remove_field, with_message
from patchq.engine.series.message import head_of, raw_date, wording
from patchq.engine.series.restack import NoMergeError, Restacker, Work, check_requirements
from patchq.engine.series.rewrite import applies_alike
from patchq.engine.series.stack import PatchRefusedError
from patchq.engine.workspace.project import Project
from patchq.errors import FindingsError, InputError, Where
from patchq.git.apply import Applied, Refused
from patchq.git.mail import author_of
from patchq.git.objects import Entry
from patchq.model.ids import TreeId
from patchq.model.nearest import did_you_mean
from patchq.model.patch import Patch, repair
from patchq.model.series import SeriesEntry
from patchq.model.workspace import SeriesDirectory

_ABOVE = (
    "Nothing was written. Refresh it on top of the new version, as quilt does, and give both to "
    "`patchq import --replace`."
)
_FILE_MODES = {"100644", "100755"}
_BELOW = (
    "It must apply on top of the patches below it: refresh it there, and give those that changed "
    "as well."
)


def replace_patches(
    project: Project,
    tag: str,
    files: Mapping[str, bytes],
    name: str | None,
    terms: ImportTerms,
    bring_over: BringOver,
) -> Edited:
    """The series on ``tag`` with the patches in ``files`` for those of the same names.

    ``name`` names the patch that a single file is for; ``terms`` give author and date where neither
    version does. Raises :class:`InputError` if a file is for no patch of the series or does not
    apply in its place, and :class:`FindingsError` if a patch above one no longer stands.
    """
    directory = project.workspace.load(tag)
    given: dict[str, _Given] = {}
    notices: list[Notice] = []
    for file, raw in files.items():
        patches, remarks = _read(directory, file, raw, name)
        notices.extend(remarks)
        for patch in patches:
            if patch.name in given:
                raise InputError(
                    f"{patch.name} is given twice, first as {given[patch.name].patch.place}",
                    where=Where(patch.patch.place),
                )
            given[patch.name] = patch
    return _Replacing(project, directory, given, notices, terms, bring_over).result()


@dataclass(frozen=True)
class _Given:
    """A patch for the one called ``name``; ``in_place``: it is the file in the series itself."""

    name: str
    patch: Given
    in_place: bool


def _read(
    directory: SeriesDirectory, file: str, raw: bytes, name: str | None
) -> tuple[Sequence[_Given], Sequence[Notice]]:
    patches, notices = read_given(file, raw, name)
    if len(patches) > 1:
        return [_Given(_known(directory, p, p.name), p, in_place=False) for p in patches], notices
    (patch,) = patches
    known = _known(directory, patch, name or _tail(file, directory.series.names) or patch.name)
    in_place = Path(file).resolve() == (directory.path / known).resolve()
    return [_Given(known, patch, in_place)], notices


def _tail(file: str, names: Iterable[str]) -> str | None:
    """The longest name that ``file`` ends in."""
    parts = PurePath(file).parts
    ends = [name for name in names if parts[-name.count("/") - 1 :] == PurePath(name).parts]
    return max(ends, key=len, default=None)


def _known(directory: SeriesDirectory, given: Given, name: str) -> str:
    names = directory.series.names
    if name in names:
        return name
    if given.name in names:
        return given.name
    meant = did_you_mean(name, names)
    advice = f"{meant} Say so with --name. " if meant else ""
    raise InputError(
        f"no patch {name!r} in the series on {directory.tag}",
        where=Where(given.place),
        hint=f"{advice}A new patch comes in without --replace.",
    )


class _Replacing:
    """From patches that are given to a series directory."""

    def __init__(
        self,
        project: Project,
        directory: SeriesDirectory,
        given: Mapping[str, _Given],
        notices: Iterable[Notice],
        terms: ImportTerms,
        bring_over: BringOver,
    ):
        base = project.lock.base(directory.tag)
        self._store = project.store
        self._objects = project.store.objects
        self._restacker = Restacker(project.store, base, project.settings.default_guards)
        self._fitter = Fitter(
            project.store, self._restacker.stack, base, bring_over, project.lock.bases
        )
        self._old = directory
        self._given = given
        self._terms = terms
        self._notes = list(map(str, notices))
        self._patches: dict[str, Patch] = {}
        self._touched = False

    def result(self) -> Edited:
        for entry in self._old.series.entries:
            given = self._given.get(entry.name)
            old = self._old.patches[entry.name]
            if given is None or (given.patch.raw == old.raw and not given.in_place):
                patch = self._kept(entry, old)
            else:
                patch = self._replaced(entry, old, given)
                self._touched = True
            self._patches[entry.name] = patch
        new = replace(self._old, patches=self._patches)
        check_requirements(self._old, new)
        return Edited(self._old, new, (*self._notes, *self._restacker.notices))

    def _tree(self, entry: SeriesEntry) -> TreeId:
        return self._restacker.tree_below(self._old.series, entry, self._patches)

    def _work(self, entry: SeriesEntry, patch: Patch) -> Work | None:
        """What the patch does in the series as it was; None if that does not stand."""
        try:
            tree = self._restacker.tree_below(self._old.series, entry, self._old.patches)
            applied = self._restacker.stack.apply(tree, patch, onto=self._old.tag)
        except PatchRefusedError:
            return None
        return Work(patch, applied.before, applied.after)

    # -- a patch that is not given ---------------------------------------------------------------

    def _kept(self, entry: SeriesEntry, patch: Patch) -> Patch:
        """The patch on what is below it now; one that nothing may be asked of is left as it is."""
        if not self._touched or not self._restacker.covers(patch):
            return patch
        try:
            return self._moved(entry, patch)
        except (FindingsError, PatchRefusedError) as error:
            if self._restacker.leaves_alone(entry, patch, self._old.patches, error):
                return patch
            raise

    def _moved(self, entry: SeriesEntry, patch: Patch) -> Patch:
        work, tree = self._work(entry, patch), self._tree(entry)
        if work is not None:
            try:
                return self._restacker.place(work, tree)
            except NoMergeError as error:
                raise FindingsError(error.message, hint=_ABOVE) from error
        applied = self._restacker.stack.try_apply(tree, patch)
        if isinstance(applied, Refused):
            raise FindingsError(
                f"{patch.name} does not apply to what is below it now: {applied.reason}",
                where=patch.where,
                hint=_ABOVE,
            )
        return patch

    # -- a patch that is given -------------------------------------------------------------------

    def _replaced(self, entry: SeriesEntry, old: Patch, given: _Given) -> Patch:
        place = given.patch.place
        if not self._restacker.covers(old):
            raise InputError(
                f"{old.name} changes files that the archive of {self._old.tag} does not hold",
                where=Where(place),
                hint="Replace it on a base that has all of upstream, and port it: "
                f"`patchq port {old.name} --to {self._old.tag} --replace`.",
            )
        raw, repairs = repair(given.patch.raw, recount=self._terms.recount)
        self._notes += (str(Notice(Where(place, mended.line), mended.text)) for mended in repairs)
        tree = self._tree(entry)
        paths = self._terms.paths or (Paths(entry.strip) if entry.strip > 1 else Paths())
        try:
            fit = self._fitter.fit(tree, replace(given.patch, name=old.name), raw, paths)
        except NoFitError as error:
            raise InputError(error.message, where=error.where, hint=_BELOW) from error
        if fit.merged:
            self._note(place, "; ".join(("applied by three-way merge", *fit.remarks)))
        if given.in_place:
            alike = applies_alike(fit.reading, fit.applied, self._store.objects)
            if is_git_mail(old) and not repairs and not fit.merged and alike:
                return old
            words = wording(fit.reading, author=self._terms.author, date=self._terms.date)
            return self._placed(old, head_of(self._store, words), tree, fit.applied)
        applied = self._with_modes(fit, self._work(entry, old), tree, place)
        worded = self._worded(old, fit.reading, place)
        if _gives(self._restacker.stack.try_apply(tree, old), applied):
            return worded
        if all(worded.diff.startswith(b"diff --git ", change.start) for change in worded.files):
            return self._restacker.place(Work(worded, applied.before, applied.after), tree)
        return self._placed(old, worded.head, tree, applied)

    def _placed(self, old: Patch, head: bytes, tree: TreeId, applied: Applied) -> Patch:
        """The patch as git writes it, under ``head``."""
        trees = map(self._objects.tree_of, (applied.before, applied.after))
        diff = self._restacker.mailer.diff(*trees, strip=old.strip)
        patch = replace(old, raw=head + diff)
        return self._restacker.place(Work(patch, applied.before, applied.after), tree)

    def _with_modes(self, fit: Fit, was: Work | None, tree: TreeId, place: str) -> Applied:
        """What the patch does, with the modes that the old one set where it cannot tell any."""
        applied = fit.applied
        if was is None:
            return applied
        lost = sorted(was.after.keys() - applied.after.keys())
        if lost:
            self._note(place, f"no longer changes {', '.join(lost)}")
        silent = [c.new for c in fit.reading.files if c.new and not (c.old_mode or c.new_mode)]
        modes = {
            path: Entry(mode, entry.oid)
            for path in silent
            if (mode := _mode_set(was, path))
            and (entry := applied.after.get(path))
            and {mode, entry.mode} == _FILE_MODES
        }
        after = {**applied.after, **modes}
        return Applied(self._objects.overlay(tree, after), applied.before, after)

    def _worded(self, old: Patch, new: Patch, place: str) -> Patch:
        """The old patch saying what the new one says; with its own bytes where that is the same."""
        merged = _said(old, new)
        kept = dict.fromkeys(
            trailer.key for trailer in merged.header.trailers if not new.header.fields(trailer.key)
        )
        if new.header.subject and kept:
            self._note(place, f"kept of {old.name}: {', '.join(kept)}")
        author = author_of(old.header.author) or self._terms.author
        date = raw_date(old.header.date) or self._terms.date
        before, after = (wording(patch, author=author, date=date) for patch in (old, merged))
        return with_message(self._store, old, before, after)

    def _note(self, place: str, text: str) -> None:
        self._notes.append(str(Notice(Where(place), text)))


def _gives(found: Applied | Refused, wanted: Applied) -> bool:
    return isinstance(found, Applied) and found.tree == wanted.tree


def _mode_set(work: Work, path: str) -> str | None:
    """The mode that a patch gives to a file: a new one, or one that is changed."""
    before, after = work.before.get(path), work.after.get(path)
    if after is None or (before is not None and before.mode == after.mode):
        return None
    return after.mode


def _said(old: Patch, new: Patch) -> Patch:
    """The old patch under the new one's words, where it has any, and with its fields.

    Fields that the new one has none of are the old one's.
    """
    if new.header.subject:
        patch = replace(old, raw=new.head + old.diff)
        for trailer in old.header.trailers:
            if not new.header.fields(trailer.key):
                patch = add_field(patch, trailer.key, trailer.value)
        return patch
    patch = old
    for key, values in _fields(new):
        if values == old.header.fields(key):
            continue
        patch = remove_field(patch, key) if old.header.fields(key) else patch
        for value in values:
            patch = add_field(patch, key, value)
    return patch


def _fields(patch: Patch) -> Iterator[tuple[str, tuple[str, ...]]]:
    for key in dict.fromkeys(trailer.key for trailer in patch.header.trailers):
        yield key, patch.header.fields(key)
