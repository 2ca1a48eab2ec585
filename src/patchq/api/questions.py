"""What can be asked of a workspace; nothing here writes to its series or lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from patchq.api.opened import OpenWorkspace, Progress, quiet, refuse_under_way
from patchq.errors import PatchqError

if TYPE_CHECKING:
    from pathlib import Path

    from patchq.engine.rebase.rebase import Rebased
    from patchq.engine.rebase.solving.resolve import HeldPatches
    from patchq.engine.series.selection import Selection
    from patchq.engine.workspace.project import Project
    from patchq.model.lint import Finding
    from patchq.model.patch import Patch
    from patchq.model.release import Ended, GateAnswer, WorkList
    from patchq.model.series_diff import GuardDiff, SeriesDiff
    from patchq.model.status import Status
    from patchq.model.verdict import Matrix, Report, Story
    from patchq.model.verification import Verification
    from patchq.model.wheel import WheelReport
    from patchq.report.listing import Listing


class Questions(OpenWorkspace):
    """See :class:`~patchq.api.Workspace`."""

    def status(self) -> Status:
        """Upstream, bases and series, what is under way, and what undo takes back."""
        from patchq.engine.status import find_status

        return find_status(self.files, self.upstream)

    def listing(
        self, series: str | None = None, guards: Sequence[str] = (), variants: Sequence[str] = ()
    ) -> Listing:
        """The patches of a series in order, and what is wrong with those that cannot be read."""
        from patchq.engine.series.continuity import ages
        from patchq.engine.series.selection import select
        from patchq.report.listing import Listing, read_rows

        series = series or self.newest_series
        chosen = self.chosen_guards(series, guards, variants)
        directory, problems = self.files.survey(series)
        selection = select(directory, self.settings, chosen)
        rows, unread = read_rows(selection, ages(self.files, series))
        return Listing(selection, tuple(rows), (*problems, *unread))

    def touched(
        self,
        patches: Sequence[str] = (),
        series: str | None = None,
        guards: Sequence[str] = (),
        variants: Sequence[str] = (),
    ) -> tuple[Selection, dict[str, tuple[str, ...]]]:
        """What is on in a series, and the files that its patches (default: all) touch, by path."""
        from patchq.engine.series.selection import touched

        selection = self.select(series, guards, variants)
        entry = selection.directory.series.entry
        return selection, touched(selection, [entry(name).name for name in patches])

    # what becomes of patches

    def report(
        self,
        series: str | None = None,
        *,
        onto: str | None = None,
        against: str | None = None,
        progress: Progress = quiet,
        jobs: int | None = None,
    ) -> Report:
        """What becomes of each patch of ``series`` on the base ``onto``; writes nothing.

        By default the newest series (before ``onto``), on the base that follows it. With
        ``against``, a forecast on an upstream commit or branch past the last tag. As many
        processes as there are ``jobs`` (default: processors) judge a long series.
        """
        return self.judge(series, onto=onto, against=against, progress=progress, jobs=jobs).report

    def judge(
        self,
        series: str | None = None,
        *,
        onto: str | None = None,
        against: str | None = None,
        progress: Progress = quiet,
        jobs: int | None = None,
    ) -> Rebased:
        """The same with the patches as they would be carried."""
        from patchq.engine.verify.facts import with_ends, with_facts

        project = self.project
        series = series or (project.series_before(onto) if onto else self.newest_series)
        judged = self._judged(project, series, onto, against, progress, jobs)
        told = with_ends(project, judged.report, judged.source, against)
        return with_facts(project, replace(judged, report=told))

    def _judged(
        self,
        project: Project,
        series: str,
        onto: str | None,
        against: str | None,
        progress: Progress,
        jobs: int | None,
    ) -> Rebased:
        from patchq.engine.rebase.decided import lost
        from patchq.engine.rebase.forecast import forecast
        from patchq.engine.rebase.rebase import judge_series

        if against is not None:
            return forecast(project, series, against, progress, jobs)
        target = onto or project.base_after(series)
        judged = judge_series(project, series, target, progress, jobs=jobs)
        if target not in self.series_names:
            return judged
        remembered = (*judged.report.remembered, *lost(self.files, target))
        return replace(judged, report=replace(judged.report, remembered=remembered))

    def matrix(self, progress: Progress = quiet, *, jobs: int | None = None) -> Matrix:
        """Every patch against every locked base; those that are not fetched are left unjudged.

        As many bases at once as there are ``jobs`` (default: processors).
        """
        from patchq.engine.rebase.matrix.lifecycle import lifecycle
        from patchq.engine.verify.facts import columns_with_facts
        from patchq.engine.verify.wheel.evidence import Wheels
        from patchq.model.verdict import Matrix

        project = self.project
        columns = Wheels(project).in_columns(lifecycle(project, progress, jobs=jobs).columns)
        return Matrix(tuple(columns_with_facts(project, columns)))

    def story(self, patch: str, onto: str | None = None, progress: Progress = quiet) -> Story:
        """One patch's life over the bases that are fetched, or on the base ``onto`` alone."""
        from patchq.engine.rebase.matrix.lifecycle import story
        from patchq.engine.verify.wheel.evidence import Wheels

        project = self.project
        told = story(project, patch, onto, progress)
        return replace(told, columns=Wheels(project).in_columns(told.columns))

    def with_effects(self, report: Report, patches: Sequence[Patch]) -> Report:
        """``report`` with what each of ``patches``, on its new base, does to the build."""
        from patchq.engine.verify.build.effect import effects_on
        from patchq.model.verdict import TargetEffect

        found = effects_on(self.project, report.onto, patches)
        told = tuple(
            replace(
                patch,
                effects=tuple(
                    TargetEffect(effect.target, effect.effect.value)
                    for effect in found.get(patch.name, ())
                ),
            )
            for patch in report.patches
        )
        return replace(report, patches=told)

    def held(self, series: str | None = None) -> HeldPatches:
        """The patches that a series holds for review, see :meth:`resolve`."""
        from patchq.engine.rebase.solving.resolve import held

        return held(self.files.load(series or self.newest_series))

    def ended(self) -> tuple[Ended, ...]:
        """The patches that ended on a later base, with the live bases that still need them."""
        from patchq.engine.workspace.live import ended

        return tuple(ended(self.files, self.settings))

    # what can be proved

    def verify(
        self,
        series: str | None = None,
        guards: Sequence[str] = (),
        variants: Sequence[str] = (),
        *,
        progress: Progress = quiet,
    ) -> Verification:
        """What can be proved of a series without its hardware."""
        from patchq.engine.verify.verify import verify_series

        return verify_series(self.project, self.select(series, guards, variants), progress)

    def verify_wheel(
        self,
        wheel: Path,
        series: str | None = None,
        guards: Sequence[str] = (),
        variants: Sequence[str] = (),
        *,
        target: str | None = None,
    ) -> WheelReport:
        """A built wheel against what is predicted of the build of a series."""
        from patchq.engine.verify.build.prediction import predictions_of
        from patchq.engine.verify.wheel.check import verify_wheel

        selection = self.select(series, guards, variants)
        return verify_wheel(wheel, predictions_of(self.project, selection), target)

    def lint(self, *series: str) -> tuple[Finding, ...]:
        """What is wrong or unfinished in the files of these series, by default of all."""
        from patchq.engine.series.lint.lint import lint, lint_workspace
        from patchq.model.workspace import LOCK

        findings = lint_workspace(self.files)
        if any(finding.where.file == LOCK for finding in findings):
            return findings  # what the series stand on cannot be told
        names = series or self.series_names
        return (*findings, *(finding for name in names for finding in lint(self.files, name)))

    # a new tag

    def newer_tags(self, *, pre: bool = False) -> tuple[str, ...]:
        """The tags that upstream has after those of the lock; with ``pre`` pre-releases too."""
        from patchq.engine.workspace.tags import newer_tags, upstream_tags

        return newer_tags(self.lock, upstream_tags(self.upstream_refs), pre=pre)

    def next(self, tag: str, series: str | None = None, *, progress: Progress = quiet) -> WorkList:
        """What the locked base ``tag`` asks for, from ``series`` (default: the one before).

        If a rebase, a resolve or an edit is under way, that comes first.
        """
        from patchq.engine.release.work_list import work_list
        from patchq.model.release import WorkItem, WorkSection

        project = self.project
        work = work_list(project, series or project.series_before(tag), tag, progress)
        try:
            refuse_under_way(self.files)
        except PatchqError as error:
            words = f"{error.message}. {error.hint}"
            first = WorkItem(WorkSection.BLOCKS, "first", words, (), "patchq status")
            return replace(work, items=(first, *work.items))
        return work

    def notes(
        self,
        tag: str | None = None,
        series: str | None = None,
        *,
        earlier: Path | None = None,
        progress: Progress = quiet,
    ) -> str:
        """The notes on the base ``tag``, in Markdown, from ``series`` (default: the one before).

        Of the file ``earlier``, if it is there, only the parts that patchq wrote are other then.
        """
        from patchq.engine.release.work_list import judge_release
        from patchq.report.notes import render_notes, update_notes

        project = self.project
        tag = tag or self.newest_series
        series = series or project.series_before(tag)
        work, report = judge_release(project, series, tag, progress)
        roles = self.settings.release.live
        live = {b.name: roles[b.name] for b in reversed(self.lock.previous(tag)) if b.name in roles}
        if earlier is None or not earlier.is_file():
            return render_notes(work, report, live, links=self.links)
        text = earlier.read_text(encoding="utf-8")
        return update_notes(text, work, report, live, file=str(earlier), links=self.links)

    def gates(
        self, tag: str | None = None, *, since: str | None = None, target: str | None = None
    ) -> GateAnswer:
        """Upstream's capability gates on the base ``tag`` for a target (default: the first).

        With ``since`` also those that are new or changed since that base.
        """
        from patchq.engine.release.gates import read_gates

        return read_gates(self.project, tag or self.newest_series, target, since)

    # two series

    def compare(self, old: str, new: str) -> SeriesDiff:
        """Two series patch by patch."""
        from patchq.engine.series.compare import compare_series

        return compare_series(self.files.load(old), self.files.load(new))

    def compare_guards(
        self, series: str, guards: Sequence[str] = (), variants: Sequence[str] = ()
    ) -> GuardDiff:
        """The patches that guards and variants add to a series, and remove."""
        from patchq.engine.series.compare import compare_selections

        chosen = self.chosen_guards(series, guards, variants)
        return compare_selections(self.files.load(series), self.settings, chosen)

    def compare_patch(self, patch: str, old: str, new: str) -> bytes:
        """One patch in two series, as ``git range-diff`` shows it; empty if it is the same."""
        from patchq.engine.series.compare import compare_patch
        from patchq.model.patch_names import meant_name

        before, after = self.files.load(old), self.files.load(new)
        name = meant_name(patch, {*before.series.names, *after.series.names})
        return compare_patch(self.project, before, after, name)
