"""What a report tells beside its verdicts: upstream's own requirements, and its built wheels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from patchq.engine.backport.shipped_in import Ending, ends_of
from patchq.engine.rebase.rebase import Rebased
from patchq.engine.series.variants import recipe_of
from patchq.engine.verify.requirement_changes import requirement_changes
from patchq.engine.verify.wheel.evidence import Wheels
from patchq.engine.workspace.project import Project
from patchq.model.patch import Patch
from patchq.model.recipe import Recipe
from patchq.model.requirements import RequirementChanges
from patchq.model.verdict import Column, Report
from patchq.model.workspace import SeriesDirectory


def with_facts(project: Project, judged: Rebased) -> Rebased:
    """``judged`` with what upstream requires otherwise on the new base, and what wheels show."""
    report = judged.report
    old = (project.lock.base(report.series), recipe_of(project.workspace.load(report.series)))
    found = requirement_changes(project, old, (judged.onto, recipe_on(project, judged)))
    return replace(judged, report=replace(Wheels(project).in_report(report), requirements=found))


def with_ends(
    project: Project, report: Report, source: SeriesDirectory, main: str | None = None
) -> Report:
    """``report`` with a note on each patch that names what it was taken from: when it ends."""
    return _Facts(project, main).with_ends(report, source)


def columns_with_facts(project: Project, columns: Iterable[Column]) -> Iterator[Column]:
    """``columns`` of the matrix with what :func:`with_facts` and :func:`with_ends` tell of each."""
    facts = _Facts(project)
    for column in columns:
        report = column.report
        if report is None:
            yield column
            continue
        source = project.workspace.load(report.series)
        found = facts.requirements(report.series, column)
        told = replace(facts.with_ends(report, source), requirements=found)
        yield replace(column, report=told)


class _Facts:
    """What is told of reports beside their verdicts, each question asked once."""

    def __init__(self, project: Project, main: str | None = None):
        self._project = project
        self._main = main
        self._ends: dict[tuple[object, ...], Ending | None] = {}

    def with_ends(self, report: Report, source: SeriesDirectory) -> Report:
        return replace(
            report,
            patches=tuple(
                replace(patch, notes=(*patch.notes, f"ends: {ending}"))
                if (ending := self._ending(source.patches.get(patch.name)))
                else patch
                for patch in report.patches
            ),
        )

    def _ending(self, patch: Patch | None) -> Ending | None:
        if patch is None:
            return None
        key = (patch.header.upstream_prs, patch.header.field("Origin"))
        if key not in self._ends:
            self._ends[key] = ends_of(self._project, patch, self._main)
        return self._ends[key]

    def requirements(self, series: str, column: Column) -> RequirementChanges:
        workspace, lock = self._project.workspace, self._project.lock
        old = recipe_of(workspace.load(series))
        new = recipe_of(workspace.load(column.base)) if column.has_series else old
        sides = ((lock.base(series), old), (lock.base(column.base), new))
        return requirement_changes(self._project, *sides)


def recipe_on(project: Project, judged: Rebased) -> Recipe:
    """The recipe that holds on the new base: its own if it has a series, else the one before."""
    workspace, tag = project.workspace, judged.onto.name
    return recipe_of(workspace.load(tag) if tag in workspace.series_names() else judged.source)
