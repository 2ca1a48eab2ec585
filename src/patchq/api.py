"""The public way to use patchq from Python; the commands themselves go this way.

>>> from patchq import Workspace                                        # doctest: +SKIP
>>> workspace = Workspace.open("downstream")                            # doctest: +SKIP
>>> report = workspace.report(onto="v1.3")                              # doctest: +SKIP
>>> [patch.name for patch in report.needs_review]                       # doctest: +SKIP
['clamp.patch']

Nothing is imported before it is used: most of a short run is spent importing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from patchq.errors import FindingsError, InputError, PatchqError
from patchq.model.workspace import Workspace as WorkspaceFiles
from patchq.model.workspace import find_workspace

if TYPE_CHECKING:
    from patchq.engine.export.export import Exported
    from patchq.engine.export.prepare import Prepared
    from patchq.engine.rebase.rebase import Rebased
    from patchq.engine.series.selection import Selection
    from patchq.engine.workspace.project import Project
    from patchq.git.store import Store
    from patchq.model.export_format import ExportFormat
    from patchq.model.lint import Finding
    from patchq.model.lock import Lock
    from patchq.model.release import WorkList
    from patchq.model.settings import Settings
    from patchq.model.verdict import Matrix, Report, Story
    from patchq.model.verification import Verification

Progress = Callable[[int, int, str], None]
"""Called with how much is done, of how much, and what comes now."""


def quiet(_done: int, _total: int, _name: str) -> None:
    """A :data:`Progress` that says nothing."""


def _silent(_text: str) -> None:
    pass


def _silently(_text: str) -> AbstractContextManager[object]:
    return nullcontext()


@dataclass(frozen=True)
class Workspace:
    """A workspace, and what can be asked and done of it; make one with :meth:`open`.

    ``files`` are the files of it. What goes wrong is raised as
    :class:`~patchq.errors.PatchqError` with a message, a place and a hint.
    """

    files: WorkspaceFiles
    upstream: str | None = None
    limits: Callable[[str], None] = _silent
    fetching: Callable[[str], AbstractContextManager[object]] = _silently
    terminal: bool = False

    @classmethod
    def open(
        cls,
        directory: str | Path = ".",
        *,
        upstream: str | None = None,
        say: Callable[[str], None] = _silent,
        limits: Callable[[str], None] | None = None,
        fetching: Callable[[str], AbstractContextManager[object]] = _silently,
        terminal: bool = False,
    ) -> Workspace:
        """The workspace around ``directory``; an interrupted write to it is settled first.

        ``upstream`` is a clone that lends its objects, or a URL; default: what the lock says.
        ``say`` hears what was settled, ``limits`` what a lender may lack (default: ``say``), and
        ``fetching`` stands around every fetch. On a ``terminal`` git shows its own progress.
        Raises :class:`~patchq.errors.InputError` if there is no workspace.
        """
        from patchq.engine.workspace.transaction import recover

        files = find_workspace(Path(directory))
        settled = recover(files)
        if settled:
            say(settled)
        return cls(files, upstream, limits or say, fetching, terminal)

    # what it is

    @property
    def lock(self) -> Lock:
        """The bases, as ``upstream.lock`` has them now."""
        return self.files.lock()

    @cached_property
    def settings(self) -> Settings:
        """What ``series/patchq.yaml`` says."""
        return self.files.settings()

    @cached_property
    def store(self) -> Store:
        """Upstream's objects: those of our own and those of the lender."""
        from patchq.engine.workspace.upstream import open_upstream

        location = self.upstream or self._recorded_lender or self.lock.upstream
        opened = open_upstream(self.files, location, terminal=self.terminal, showing=self.fetching)
        for limit in opened.limits:
            self.limits(limit)
        return opened.store

    @property
    def project(self) -> Project:
        """All of it, as the engine takes it."""
        from patchq.engine.workspace.project import Project

        return Project(self.files, self.lock, self.settings, self.store)

    @property
    def series_names(self) -> tuple[str, ...]:
        """The bases that have a series, in the lock's order."""
        return self.files.series_names()

    @property
    def newest_series(self) -> str:
        """The last of them; raises :class:`~patchq.errors.InputError` if there is none."""
        names = self.series_names
        if not names:
            raise InputError(
                "this workspace has no series yet",
                hint="Start one: `patchq import FILE… --tag TAG`.",
            )
        return names[-1]

    def select(
        self, series: str | None = None, guards: Sequence[str] = (), variants: Sequence[str] = ()
    ) -> Selection:
        """The patches of a series (default: the newest) that are on, with what turns them on."""
        from patchq.engine.series.selection import select
        from patchq.engine.series.variants import guards_of

        series = series or self.newest_series
        chosen = (*guards, *guards_of(self.files, series, variants))
        return select(self.files.load(series), self.settings, chosen)

    # what can be asked

    def report(
        self,
        series: str | None = None,
        *,
        onto: str | None = None,
        against: str | None = None,
        progress: Progress = quiet,
    ) -> Report:
        """What becomes of each patch of ``series`` on the base ``onto``; writes nothing.

        By default the newest series (before ``onto``), on the base that follows it. With
        ``against``, a forecast on an upstream commit or branch past the last tag.
        """
        return self.judge(series, onto=onto, against=against, progress=progress).report

    def judge(
        self,
        series: str | None = None,
        *,
        onto: str | None = None,
        against: str | None = None,
        progress: Progress = quiet,
    ) -> Rebased:
        """The same with the patches as they would be carried."""
        from patchq.engine.verify.facts import with_facts

        project = self.project
        series = series or (project.series_before(onto) if onto else self.newest_series)
        judged = self._judged(project, series, onto, against, progress)
        return with_facts(project, self._with_ends(project, judged, against))

    def matrix(self, progress: Progress = quiet, *, jobs: int | None = None) -> Matrix:
        """Every patch against every locked base; those that are not fetched are left unjudged.

        As many bases at once as there are ``jobs`` (default: processors).
        """
        from patchq.engine.rebase.matrix.lifecycle import lifecycle
        from patchq.engine.verify.wheel.evidence import Wheels
        from patchq.model.verdict import Matrix

        project = self.project
        columns = lifecycle(project, progress, jobs=jobs).columns
        return Matrix(Wheels(project).in_columns(columns))

    def story(self, patch: str, onto: str | None = None, progress: Progress = quiet) -> Story:
        """One patch's life over the bases that are fetched, or on the base ``onto`` alone."""
        from patchq.engine.rebase.matrix.lifecycle import story

        return story(self.project, patch, onto, progress)

    def verify(
        self,
        series: str | None = None,
        guards: Sequence[str] = (),
        variants: Sequence[str] = (),
        *,
        progress: Progress = quiet,
    ) -> Verification:
        """What can be proved of a series (default: the newest) without its hardware."""
        from patchq.engine.verify.verify import verify_series

        return verify_series(self.project, self.select(series, guards, variants), progress)

    def lint(self, *series: str) -> tuple[Finding, ...]:
        """What is wrong or unfinished in the files of these series, by default of all."""
        from patchq.engine.series.lint import lint, lint_workspace
        from patchq.model.workspace import LOCK

        findings = lint_workspace(self.files)
        if any(finding.where.file == LOCK for finding in findings):
            return findings  # what the series stand on cannot be told
        names = series or self.series_names
        return (*findings, *(finding for name in names for finding in lint(self.files, name)))

    def next(self, tag: str, series: str | None = None, *, progress: Progress = quiet) -> WorkList:
        """What the locked base ``tag`` asks for, from ``series`` (default: the one before)."""
        from patchq.engine.release.work_list import work_list

        project = self.project
        return work_list(project, series or project.series_before(tag), tag, progress)

    # what can be done

    def rebase(
        self,
        onto: str,
        *,
        source: str | None = None,
        keep_going: bool = False,
        replace: bool = False,
        progress: Progress = quiet,
    ) -> Rebased:
        """Take a series (default: the newest before ``onto``) to the base ``onto``.

        The new series is written if nothing needs review, or with ``keep_going``, which holds what
        does; else the rebase waits at the first such patch (``stop``), as on the command line.
        Raises :class:`~patchq.errors.PatchqError` if a rebase or edit is open, or the series is
        there already and not to be replaced. To judge only, use :meth:`judge`.
        """
        from patchq.engine.rebase.operation import refuse_meanwhile
        from patchq.engine.rebase.rebase import judge_series, refuse_existing, refuse_losing
        from patchq.engine.rebase.session import begin, write

        refuse_meanwhile(self.files)
        if not replace:
            refuse_existing(self.files, onto)
        project = self.project
        rebased = judge_series(project, source or project.series_before(onto), onto, progress)
        with self.writing() as files:
            if not replace:
                refuse_existing(files, onto)
            refuse_losing(files, rebased)
            if rebased.stop and not keep_going:
                begin(project, rebased)
            else:
                write(project, rebased, f"rebase --onto {onto}", ())
        return rebased

    def export(
        self,
        series: str,
        to: str | Path,
        *,
        form: ExportFormat | None = None,
        guards: Sequence[str] = (),
        variants: Sequence[str] = (),
        target: str | None = None,
        verify: bool = True,
        progress: Progress = quiet,
    ) -> Exported:
        """Write the patched tree of ``series`` to ``to``; by default in the form of its ending.

        Raises :class:`~patchq.errors.FindingsError` if it does not verify; then nothing is written.
        """
        from patchq.engine.export.export import export_series
        from patchq.engine.export.prepare import WHOLE, prepare_export
        from patchq.model.export_format import ExportFormat
        from patchq.report.jsonverification import render_json

        selection = self.select(series, guards)
        prepared = prepare_export(self.project, selection, variants, WHOLE, target)
        beside = {}
        if verify:
            verified = self.verified(prepared, progress=progress)
            beside["verify.json"] = render_json(verified).encode()
        place = Path(to)
        return export_series(prepared, form or ExportFormat.of(place), place, beside)

    def verified(
        self,
        prepared: Prepared,
        fuzz: int = 0,
        *,
        say: Callable[[str], None] = _silent,
        progress: Progress = quiet,
    ) -> Verification:
        """The verification of what is to be exported.

        ``say`` hears each failure; then :class:`~patchq.errors.FindingsError` is raised.
        """
        from patchq.engine.verify.verify import verify_series

        tag, selection = prepared.base.name, prepared.subject.selection
        verification = verify_series(prepared.project, selection, progress, fuzz)
        if not verification.passed:
            for section in verification.sections:
                for failure in section.failures:
                    place = f"{failure.where}: " if failure.where else ""
                    patch = f" ({failure.patch})" if failure.patch else ""
                    say(f"{section.name}: {place}{failure.text}{patch}")
            raise FindingsError(
                f"{tag} does not verify; nothing was exported",
                hint=f"`patchq verify {tag}` shows all of it; --no-verify exports it as it is.",
            )
        return verification

    @contextmanager
    def writing(self) -> Iterator[WorkspaceFiles]:
        """The files, ours alone while they are written to.

        Raises :class:`~patchq.errors.PatchqError` with the way out while a rebase is unfinished or
        an edit open.
        """
        from patchq.engine.edit.state import refuse_while_open
        from patchq.engine.rebase.operation import refuse_meanwhile
        from patchq.engine.rebase.solving.state import refuse_while_resolving
        from patchq.engine.workspace.locking import exclusive

        with exclusive(self.files):
            refuse_meanwhile(self.files)
            refuse_while_resolving(self.files)
            refuse_while_open(self.files)
            yield self.files

    @property
    def _recorded_lender(self) -> str | None:
        """The lender that an unfinished rebase began with."""
        from patchq.engine.rebase.operation import load

        try:
            operation = load(self.files)
        except PatchqError:  # who goes on with the rebase is told
            return None
        return operation.lender if operation else None

    def _judged(
        self,
        project: Project,
        series: str,
        onto: str | None,
        against: str | None,
        progress: Progress,
    ) -> Rebased:
        from patchq.engine.rebase.decided import lost
        from patchq.engine.rebase.forecast import forecast
        from patchq.engine.rebase.rebase import judge_series

        if against is not None:
            return forecast(project, series, against, progress)
        target = onto or project.base_after(series)
        judged = judge_series(project, series, target, progress)
        if target not in self.series_names:
            return judged
        remembered = (*judged.report.remembered, *lost(self.files, target))
        return replace(judged, report=replace(judged.report, remembered=remembered))

    @staticmethod
    def _with_ends(project: Project, judged: Rebased, main: str | None) -> Rebased:
        """A note on each patch that names what it was taken from: when it ends."""
        from patchq.engine.backport.shipped_in import ends_of

        told = []
        for patch in judged.report.patches:
            ending = ends_of(project, judged.source.patches[patch.name], main)
            notes = (*patch.notes, f"ends: {ending}") if ending else patch.notes
            told.append(replace(patch, notes=notes))
        return replace(judged, report=replace(judged.report, patches=tuple(told)))
