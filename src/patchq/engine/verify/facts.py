"""What a report tells beside its verdicts: upstream's own requirements, and its built wheels."""

from __future__ import annotations

from dataclasses import replace

from patchq.engine.rebase.rebase import Rebased
from patchq.engine.series.variants import recipe_of
from patchq.engine.verify.requirement_changes import requirement_changes
from patchq.engine.verify.wheel.evidence import Wheels
from patchq.engine.workspace.project import Project
from patchq.model.recipe import Recipe


def with_facts(project: Project, judged: Rebased) -> Rebased:
    """``judged`` with what upstream requires otherwise on the new base, and what wheels show."""
    report = judged.report
    old = (project.lock.base(report.series), recipe_of(project.workspace.load(report.series)))
    found = requirement_changes(project, old, (judged.onto, recipe_on(project, judged)))
    return replace(judged, report=replace(Wheels(project).in_report(report), requirements=found))


def recipe_on(project: Project, judged: Rebased) -> Recipe:
    """The recipe that holds on the new base: its own if it has a series, else the one before."""
    workspace, tag = project.workspace, judged.onto.name
    return recipe_of(workspace.load(tag) if tag in workspace.series_names() else judged.source)
