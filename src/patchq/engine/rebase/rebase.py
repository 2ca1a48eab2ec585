"""Take a series from its base to another: judge every patch on the new one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from patchq.engine.judge.cache import VerdictCache, kept_verdicts
from patchq.engine.judge.judgement import Judgement
from patchq.engine.rebase.beside import cores
from patchq.engine.rebase.decided import lost
from patchq.engine.rebase.operation import Decision
from patchq.engine.rebase.recorded_resolutions import Resolutions
from patchq.engine.rebase.retired import recall
from patchq.engine.rebase.series_run import Progress, SeriesRun, Solver, Stop
from patchq.engine.series.continuity import ages, gaps, port_command
from patchq.engine.series.variants import moved_recipe
from patchq.engine.workspace.live import with_needed
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange, upstream_range
from patchq.errors import InputError, Where
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.retired import RecordState
from patchq.model.verdict import Action, Report
from patchq.model.workspace import SERIES, SeriesDirectory, Workspace


def quiet(_done: int, _total: int, _name: str) -> None:
    """A :data:`Progress` that says nothing."""


@dataclass(frozen=True)
class Rebased:
    """A series judged on another base: the report, and each patch as it is carried (or not)."""

    source: SeriesDirectory
    onto: Base
    report: Report
    judgements: Mapping[str, Judgement]
    find_stop: Callable[[], Stop | None]
    """Looks for the first patch that needs review; see :attr:`stop`."""
    remembered: tuple[str, ...] = ()
    """The files, below the workspace, that say how conflicts were solved again."""

    @cached_property
    def stop(self) -> Stop | None:
        """The first patch that needs review, with all that there is to solve."""
        return self.find_stop()

    @property
    def contents(self) -> Mapping[str, Patch]:
        """The patches as they would be carried."""
        found = {name: judgement.patch for name, judgement in self.judgements.items()}
        return {name: patch for name, patch in found.items() if patch is not None}

    @property
    def carried(self) -> tuple[str, ...]:
        """The names of the patches that go into the new series."""
        return tuple(
            report.name
            for report in self.report.patches
            if report.action in (Action.CARRY, Action.ADAPT)
        )


def judge_series(
    project: Project,
    source: str,
    onto: str,
    progress: Progress = quiet,
    decisions: Sequence[Decision] = (),
    jobs: int | None = None,
) -> Rebased:
    """Judge the series on ``source`` on the base ``onto``, both by name.

    Conflicts that ``series/.resolutions`` knows are solved by it. Raises :class:`InputError` if
    a name is unknown or they are the same base.
    """
    if source == onto:
        raise InputError(f"the series is on {onto} already; name another base")
    span = upstream_range(project, source, onto)
    directory = project.workspace.load(source)
    cache = kept_verdicts(project.workspace)
    solver = Solver(decisions, Resolutions(project.workspace, project.store.objects))
    rebased = rebase_series(
        span, directory, ages(project.workspace, source), cache, progress, solver, jobs
    )
    recalled = recall(project, directory, onto)
    remembered = (*(item.remembered for item in recalled), *lost(project.workspace, source))
    report = replace(rebased.report, remembered=remembered)
    return replace(rebased, report=with_needed(project, report))


def rebase_series(
    span: UpstreamRange,
    source: SeriesDirectory,
    ages: Mapping[str, int],
    cache: VerdictCache,
    progress: Progress = quiet,
    solver: Solver | None = None,
    jobs: int | None = None,
) -> Rebased:
    """Judge each patch of ``source`` (a series for ``span.old``) on ``span.new``, in up to ``jobs``
    processes (default: as many as may run at once here).

    Where ``solver`` knows what became of a patch, it is so. Raises :class:`InputError` if the
    series does not apply to its own base.
    """
    run = SeriesRun(span, source, cache, solver or Solver())
    judgements = {
        name: replace(judgement, report=replace(judgement.report, age=ages.get(name, 1)))
        for name, judgement in run.judge_all(progress, jobs or cores()).items()
    }
    source = replace(source, recipe=moved_recipe(span, source.recipe))
    report = Report(
        series=source.tag,
        onto=span.new.name,
        base_commit=span.old.commit,
        onto_commit=span.new.commit,
        guards=tuple(sorted(span.settings.default_guards)),
        patches=tuple(judgement.report for judgement in judgements.values()),
    )
    report = with_guards(source, span.settings.default_guards, report)
    return Rebased(
        source, span.new, report, judgements, lambda: run.stop(judgements), tuple(run.remembered)
    )


def with_guards(source: SeriesDirectory, defaults: Collection[str], report: Report) -> Report:
    """``report`` with a note at each patch that its guards turn off by default."""
    off = {
        entry.name: f"off by its guards ({' '.join(entry.guard_words)})"
        for entry in source.series.guarded_off(defaults)
    }
    patches = (
        replace(patch, notes=(off[patch.name], *patch.notes)) if patch.name in off else patch
        for patch in report.patches
    )
    return replace(report, patches=tuple(patches))


def refuse_existing(workspace: Workspace, tag: str) -> None:
    """Raise :class:`InputError` if ``tag`` has a series already."""
    if workspace.series_path(tag).exists():
        missing = [gap for gap in gaps(workspace, tag) if gap.carried]
        bring = f"{port_command(missing)} brings what it lacks. " if missing else ""
        raise InputError(
            f"there is a series on {tag} already",
            where=Where(f"series/{tag}"),
            hint=f"{bring}--replace rebases over it; --dry-run only judges.",
        )


def refuse_losing(workspace: Workspace, rebased: Rebased) -> None:
    """Raise :class:`InputError` if replacing the series that is there would lose anything of it.

    That is a patch that the rebased series neither has nor remembers, or a patch that was taken
    out of it with a reason and would come back.
    """
    tag = rebased.onto.name
    if not (workspace.series_path(tag) / SERIES).is_file():
        return
    source = rebased.source
    known = {*source.series.names, *(record.name for record in source.retired)}
    own = [name for name in workspace.series(tag).names if name not in known]
    dropped = [
        record.name
        for record in workspace.retired(tag)
        if record.standing is RecordState.DROPPED and record.since == tag
    ]
    lost = [*own, *(f"{name} (dropped with a reason)" for name in dropped)]
    if lost:
        raise InputError(
            f"replacing it would lose {', '.join(lost)}",
            where=Where(f"series/{tag}"),
            hint=f"`patchq diff {source.tag} {tag}` compares. To begin again all the same, remove "
            f"the directory: `git rm -r series/{tag}`.",
        )
