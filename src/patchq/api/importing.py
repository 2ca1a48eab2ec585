"""Bring patches into series: from files and branches, and of upstream changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchq.api.editing import Editing
from patchq.api.opened import Progress, quiet
from patchq.errors import InputError, Where

if TYPE_CHECKING:
    from patchq.engine.backport.backport import BackportTerms, Brought, PrerequisiteMode
    from patchq.engine.backport.upstream_change import ChangeReader, UpstreamChange
    from patchq.engine.importing.batch import Batch
    from patchq.engine.importing.branches import BranchReader
    from patchq.engine.importing.fit import BringOver, Paths
    from patchq.engine.importing.importing import ImportTerms
    from patchq.engine.importing.recipe import ShellRecipe
    from patchq.engine.importing.sources import Collected
    from patchq.engine.series.edits import Edited
    from patchq.engine.workspace.project import Project
    from patchq.model.series import Guard
    from patchq.model.triage import Triage


@dataclass(frozen=True)
class ImportOptions:
    """How patches are brought in; the fields are the options of ``patchq import``."""

    guards: tuple[str, ...] = ()
    name: str | None = None
    strip: int | None = None
    directory: str | None = None
    recount: bool = False
    keep_going: bool = False
    propose_end: bool = False
    author: str | None = None
    repo: Path | None = None
    main: str | None = None
    together: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True)
class ImportResult:
    """What became of the patches that were found for one series.

    ``begins`` says why the series starts over, if it does.
    """

    tag: str
    found: Collected
    batch: Batch
    begins: str | None = None

    @property
    def has_failures(self) -> bool:
        """Whether a patch did not come in."""
        return bool(self.found.errors or self.batch.failures)


class Importing(Editing):
    """See :class:`~patchq.api.Workspace`."""

    def import_patches(
        self,
        what: Sequence[str],
        tag: str | None = None,
        options: ImportOptions = ImportOptions(),
        *,
        progress: Progress = quiet,
    ) -> ImportResult:
        """Put patches (files, directories, branches, ranges) on top of the series on ``tag``.

        All of them come in, or none (see ``has_failures``), but with ``keep_going``. A branch
        tells its ``tag``.
        """
        found, tag = self.collect(what, tag, options)
        if tag is None:
            raise InputError("the patches do not say for which base they are", hint="Name it.")
        label = self.label(f"import {' '.join(what)}", tag)
        (result,) = self.take({tag: found}, options, label, progress=progress)
        return result

    def collect(
        self,
        what: Sequence[str],
        tag: str | None = None,
        options: ImportOptions = ImportOptions(),
        *,
        stdin: bytes = b"",
    ) -> tuple[Collected, str | None]:
        """The patches that ``what`` names, and the base that they are for, if that is known.

        ``-`` are those of ``stdin``.
        """
        from patchq.engine.importing.sources import Collected, is_path, read_path, read_stream

        branches = [word for word in what if word != "-" and not is_path(word)]
        named = next((word for word in branches if word in self.lock.names), None)
        if named and tag in (None, named):
            raise InputError(
                f"{named} is a tag, and there is no file or directory of that name",
                hint=f"The series to import into goes with --tag {named}; for commits, write a "
                "range A..B.",
            )
        reader = self._branches(options.repo) if branches else None
        if options.name is not None and len(what) > 1:
            raise InputError("--name names one patch", hint="Import the files one by one.")
        if reader is not None and tag is None:
            bases = {reader.nearest(word) for word in branches}
            if len(bases) != 1 or None in bases:
                raise InputError(
                    "no base of upstream.lock is part of this branch",
                    hint="Name the series with --tag, or lock the tag that it is built on.",
                )
            tag = next(base.name for base in bases if base)
        found = Collected()
        for word in what:
            if word == "-":
                read_stream(stdin, options.name, found)
            elif is_path(word):
                read_path(Path(word), word, found, options.name)
            elif reader is None or not (".." in word or reader.knows(word)):
                raise InputError(
                    f"there is no file, directory, branch or commit {word!r}",
                    hint="Branches are looked for in the upstream; --repo names another "
                    "repository.",
                )
            else:
                assert tag is not None
                read = reader.read(word, self.lock.base(tag))
                found.patches += read.patches
                found.notices += read.notices
        found.skip_empty()
        found.look_around()
        return found, tag

    def _branches(self, repo: Path | None) -> BranchReader:
        from patchq.engine.importing.branches import BranchReader
        from patchq.engine.workspace.upstream import is_url, local_path
        from patchq.git.lender import find_lender

        store, lock = self.store, self.lock
        if repo is not None:
            lender = find_lender(repo)
        elif store.lender is not None:
            lender = store.lender
        elif not is_url(lock.upstream):
            lender = find_lender(self.files.root / local_path(lock.upstream))
        else:
            lender = find_lender(store.directory)
        return BranchReader(store, lender, {base.name: base for base in lock.bases})

    def take(
        self,
        found: Mapping[str, Collected],
        options: ImportOptions,
        label: str,
        *,
        progress: Progress = quiet,
    ) -> list[ImportResult]:
        """Put what was collected for each base on top of its series, as one change.

        Nothing is written if a patch does not come in, but with ``keep_going``.
        """
        from patchq.engine.importing.batch import bring_all
        from patchq.engine.importing.importing import Importer
        from patchq.engine.series.continuity import begun_anew
        from patchq.engine.workspace.transaction import Transaction

        project = self.project
        terms = {tag: self._terms(project.lock.base(tag).name, options) for tag in found}
        results: list[ImportResult] = []
        with self.writing() as files:
            transaction = Transaction(files, label)
            for tag, given in found.items():
                directory = files.load_or_empty(tag)
                importer = Importer(
                    project, directory, terms[tag], _bring_over(project, tag, options)
                )
                batch = bring_all(importer, given.patches, progress)
                results.append(ImportResult(tag, given, batch))
                if results[-1].has_failures and not options.keep_going:
                    return results
                if batch.imported:
                    begun = begun_anew(files, directory, found)
                    importer.stage(transaction, begun)
                    begins = begun.begins if begun and not options.dry_run else None
                    results[-1] = ImportResult(tag, given, batch, begins)
            if not options.dry_run:
                transaction.commit()
        return results

    def replace_patches(
        self, contents: Mapping[str, bytes], tag: str, options: ImportOptions
    ) -> Edited:
        """Other versions of patches of a series, by file name, in the place of those."""
        from patchq.engine.importing.replace import replace_patches

        def make(project: Project, tag: str) -> Edited:
            over = _bring_over(project, tag, options)
            terms = self._terms(tag, options)
            return replace_patches(project, tag, contents, options.name, terms, over)

        label = f"import --replace {' '.join(contents)}"
        return self.change(label, make, tag, dry_run=options.dry_run)

    def triage(
        self, found: Collected, options: ImportOptions, *, progress: Progress = quiet
    ) -> Triage:
        """How well each of the patches fits each base."""
        from patchq.engine.importing.triage import triage
        from patchq.engine.workspace.main_branch import main_tip

        project = self.project
        if not project.lock.bases:
            raise InputError(
                "upstream.lock has no base yet", hint="`patchq lock TAG` pins one; or name --tag."
            )
        tip, paths = main_tip(project, options.main), _paths(options)
        return triage(project, found.patches, tip, paths, progress, recount=options.recount)

    def import_recipe(
        self, file: Path, tag: str, *, dry_run: bool = False
    ) -> tuple[ShellRecipe, bytes]:
        """Write the recipe of a series from a build script: what was read, and the file."""
        from patchq.engine.importing.recipe import read_shell_recipe, render_recipe
        from patchq.engine.workspace.transaction import Transaction
        from patchq.model.recipe import read_recipe
        from patchq.model.workspace import RECIPE, SERIES

        base = self.lock.base(tag)
        with self.writing() as files:
            directory = files.load_or_empty(tag)
            target = directory.path / RECIPE
            if target.exists():
                raise InputError(
                    f"{tag} has a recipe already",
                    where=Where(str(target.relative_to(files.root))),
                    hint="Remove it, or write what is new into it by hand.",
                )
            self.store.check((base,))
            recipe = read_shell_recipe(
                self.project, base, directory.series, str(file), file.read_bytes()
            )
            rendered = render_recipe(recipe, str(file))
            read_recipe(rendered, Where(RECIPE))
            if not dry_run:
                transaction = Transaction(files, self.label(f"import --recipe {file}", tag))
                if not (directory.path / SERIES).exists():
                    transaction.write_file(directory.path / SERIES, directory.series.raw)
                transaction.write_file(target, rendered)
                transaction.commit()
        return recipe, rendered

    def _terms(self, tag: str, options: ImportOptions) -> ImportTerms:
        from patchq.engine.importing.importing import ImportTerms
        from patchq.engine.series.message import now
        from patchq.git.identity import own_identity
        from patchq.git.mail import author_of

        return ImportTerms(
            guards=tuple(map(as_guard, options.guards)),
            together=frozenset(self.chosen_guards(tag, options.together, options.variants)),
            author=author_of(options.author) or own_identity(self.files.root),
            date=now(),
            write_end=options.propose_end,
            paths=_paths(options),
            recount=options.recount,
        )

    # backports

    def backport(
        self,
        requests: Sequence[str] = (),
        files: Sequence[Path] = (),
        onto: str | None = None,
        *,
        name: str | None = None,
        guards: Sequence[str] = (),
        exclude: Sequence[str] = (),
        main: str | None = None,
        prerequisites: PrerequisiteMode | None = None,
        limit: int = 5,
        dry_run: bool = False,
        progress: Progress = quiet,
    ) -> tuple[Brought, ...]:
        """Make patches of upstream changes, on top of the series on ``onto``.

        ``requests`` are pull requests by number, ``pull/N``, commits and ranges; ``files`` diffs of
        changes that are not in upstream's history. All come in, or none: the last result without
        patches says what is missing. With ``prerequisites``, up to ``limit`` commits that they need
        come along.
        """
        from patchq.engine.backport.backport import Backporter
        from patchq.engine.backport.upstream_change import ChangeReader
        from patchq.engine.workspace.transaction import Transaction

        tag = onto or self.newest_series
        changes = ChangeReader(
            self.store, self.settings, (*self.settings.backport_exclude, *exclude)
        )
        with self.writing() as here:
            directory, project = here.load_or_empty(tag), self.project
            wanted = self._wanted(project, changes, tag, requests, files, main)
            terms = _backport_terms(guards, name, prerequisites, limit)
            base = project.lock.base(tag)
            ends = {end for change, _ in wanted for end in (change.parent, change.commit) if end}
            project.store.complete(ends if base.archive else {base.commit, *ends})
            backporter = Backporter(project, directory, changes, terms)
            brought: list[Brought] = []
            for number, (change, source) in enumerate(wanted, 1):
                progress(number, len(wanted), change.title)
                brought.append(backporter.bring(change, source))
                if not brought[-1].patches:
                    return tuple(brought)
            if not dry_run:
                words = [*requests, *(f"--file {one}" for one in files)]
                transaction = Transaction(
                    here, self.label(f"backport {' '.join(words)}", tag, "--onto")
                )
                backporter.stage(transaction)
                transaction.commit()
        return tuple(brought)

    def _wanted(
        self,
        project: Project,
        changes: ChangeReader,
        tag: str,
        requests: Sequence[str],
        files: Sequence[Path],
        main: str | None,
    ) -> list[tuple[UpstreamChange, str | None]]:
        """The changes asked for, in order, each with where it comes from if that is a file."""
        from patchq.engine.backport.requests import Sources
        from patchq.engine.importing.cut_from import OriginFinder
        from patchq.engine.workspace.main_branch import main_tip

        tip = main_tip(project, main)
        sources = Sources(project, changes, tip, terminal=self.terminal)
        wanted: list[tuple[UpstreamChange, str | None]] = []
        for request in requests:
            located = sources.find(request)
            for notice in located.notices:
                self.say(notice)
            wanted += [(change, None) for change in located.changes]
        origins = OriginFinder(project, tip)
        for file in files:
            for foreign in origins.read(str(file), file.read_bytes(), tag, changes):
                self.say(f"{file}: {foreign.cut_from}")
                wanted.append((foreign.change, file.name))
        return wanted


def as_guard(text: str) -> Guard:
    """A guard as it is written: ``NAME``, ``+NAME`` or ``-NAME``, perhaps behind a ``#``."""
    from patchq.model.series import asked_guard

    word = text.removeprefix("#")
    sign = word[:1] if word[:1] in ("+", "-") else ""
    return asked_guard(word.removeprefix(sign), positive=sign != "-")


def _bring_over(project: Project, tag: str, options: ImportOptions) -> BringOver:
    from patchq.engine.importing.foreign import Foreigners
    from patchq.engine.workspace.main_branch import main_tip

    return Foreigners(project, tag, main_tip(project, options.main)).bring_over


def _paths(options: ImportOptions) -> Paths:
    """How the paths of patches are to be read."""
    from patchq.engine.importing.fit import Paths

    if options.directory is None:
        return Paths(options.strip)
    parts = [part for part in options.directory.split("/") if part not in ("", ".")]
    if options.directory.startswith("/") or ".." in parts:
        raise InputError("--directory is a directory of the upstream tree")
    return Paths(options.strip, "/".join(parts))


def _backport_terms(
    guards: Sequence[str], name: str | None, mode: PrerequisiteMode | None, limit: int
) -> BackportTerms:
    from datetime import UTC, datetime

    from patchq.engine.backport.backport import BackportTerms, PrerequisiteMode
    from patchq.engine.series.message import now

    today = datetime.fromtimestamp(int(now().split()[0]), UTC).date().isoformat()
    chosen = mode or PrerequisiteMode.NONE
    return BackportTerms(today, tuple(map(as_guard, guards)), name, chosen, limit)
