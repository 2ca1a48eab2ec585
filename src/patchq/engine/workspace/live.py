"""Bases that are still deployed: what they still need of the patches that ended elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from patchq.engine.workspace.project import Project
from patchq.errors import InputError
from patchq.model.release import Ended
from patchq.model.retired import RecordState, Retired
from patchq.model.settings import Settings
from patchq.model.verdict import Action, PatchReport, Report
from patchq.model.workspace import Workspace


def still_needed(
    workspace: Workspace, settings: Settings, name: str, onto: str = ""
) -> tuple[str, ...]:
    """The live bases other than ``onto`` whose series has the patch ``name``, with their role."""
    live = settings.release.live
    return tuple(
        f"{tag} ({live[tag]})"
        for tag in workspace.series_names()
        if tag in live and tag != onto and name in workspace.series(tag).names
    )


def with_needed(project: Project, report: Report) -> Report:
    """``report`` with the live bases that still need what ended or is remembered as retired."""
    workspace, settings = project.workspace, project.settings
    if not settings.release.live:
        return report

    def told(patch: PatchReport) -> PatchReport:
        needed = still_needed(workspace, settings, patch.name, report.onto)
        if patch.action is not Action.DROP or not needed:
            return patch
        note = f"still needed by {', '.join(needed)}"
        return replace(patch, notes=tuple(dict.fromkeys([*patch.notes, note])))

    return replace(
        report,
        patches=tuple(map(told, report.patches)),
        remembered=tuple(
            replace(item, needed_by=still_needed(workspace, settings, item.name, report.onto))
            for item in report.remembered
        ),
    )


def ended(workspace: Workspace, settings: Settings) -> Iterator[Ended]:
    """The patches that are retired in the newest series that knows them, but are in older ones.

    By name, with the series that have them.
    """
    known: dict[str, Retired | None] = {}
    having: dict[str, list[str]] = {}
    for tag in reversed(workspace.series_names()):
        for name in workspace.series(tag).names:
            known.setdefault(name, None)
            having.setdefault(name, []).insert(0, tag)
        for record in workspace.retired(tag):
            known.setdefault(record.name, record)
    for name, last in sorted(known.items()):
        if last is not None and last.standing is RecordState.RETIRED and name in having:
            needed = still_needed(workspace, settings, name)
            yield Ended(name, last.verdict, last.since, tuple(having[name]), needed)


def require_live(settings: Settings) -> None:
    """Raise :class:`InputError` if the settings name no live base."""
    if not settings.release.live:
        raise InputError(
            "patchq.yaml does not say which bases are live",
            hint="Name them with their role under `live:`, such as `v1.2: rollback`.",
        )
