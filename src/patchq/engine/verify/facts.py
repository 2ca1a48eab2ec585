"""What a report tells beside its verdicts: upstream's own requirements, and its built wheels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from patchq.engine.backport.shipped_in import Ending, ends_of
from patchq.engine.rebase.rebase import Rebased
from patchq.engine.verify.requirement_changes import requirement_changes
from patchq.engine.verify.wheel.evidence import Wheels
from patchq.engine.workspace.project import Project
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.recipe import Recipe
from patchq.model.requirements import RequirementChanges
from patchq.model.verdict import Column, Report
from patchq.model.workspace import SeriesDirectory, Workspace


def with_facts(project: Project, judged: Rebased) -> Rebased:
    """``judged`` with what upstream requires otherwise on the new base, and what wheels show."""
    report = judged.report
    found = _requirements(project, report.series, judged.onto)
    return replace(judged, report=replace(Wheels(project).in_report(report), requirements=found))


def with_ends(
    project: Project, report: Report, source: SeriesDirectory, main: str | None = None
) -> Report:
    """``report`` with a note on each patch that names what it was taken from: when it ends."""
    return _Ends(project, main).with_ends(report, source)


def columns_with_facts(project: Project, columns: Iterable[Column]) -> Iterator[Column]:
    """``columns`` of the matrix with what :func:`with_facts` and :func:`with_ends` tell of each."""
    ends = _Ends(project)
    for column in columns:
        report = column.report
        if report is None:
            yield column
            continue
        source = project.workspace.load(report.series)
        found = _requirements(project, report.series, project.lock.base(column.base))
        told = replace(ends.with_ends(report, source), requirements=found)
        yield replace(column, report=told)


class _Ends:
    """When patches end, each question asked once."""

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


def _requirements(project: Project, series: str, onto: Base) -> RequirementChanges:
    workspace = project.workspace
    old = (project.lock.base(series), workspace.recipe(series))
    return requirement_changes(project, old, (onto, recipe_on(workspace, series, onto.name)))


def recipe_on(workspace: Workspace, series: str, tag: str) -> Recipe:
    """The recipe that holds on ``tag``: its own if it has a series, else that of ``series``."""
    return workspace.recipe(tag if tag in workspace.series_names() else series)
