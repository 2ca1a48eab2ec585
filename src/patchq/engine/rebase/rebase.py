"""Take a series from its base to another: judge every patch, build the new series directory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from patchq.engine.judge.cache import VerdictCache, kept_verdicts
from patchq.engine.judge.case import Case, Judgement
from patchq.engine.judge.joint_landing import Link, RunJudge
from patchq.engine.judge.judge import RULES, Judge
from patchq.engine.rebase.conflict import Collision, collide
from patchq.engine.rebase.drift import with_drift_accepted
from patchq.engine.rebase.operation import Decision, DecisionKind
from patchq.engine.rebase.recorded_resolutions import Resolutions, Solved
from patchq.engine.rebase.resolved_patch import patch_to
from patchq.engine.rebase.retired import recall
from patchq.engine.series.stack import Stack, below
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import InputError, Where
from patchq.kept_answers import key_of
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.retired import RecordState, Retired, render_retired
from patchq.model.series import SeriesEntry
from patchq.model.verdict import Action, PatchReport, Report, Verdict
from patchq.model.workspace import SeriesDirectory, Workspace

_PROJECT_FILE = "CMakeLists.txt"

Progress = Callable[[int, int, str], None]
"""Told after each patch: how many are done, of how many, and the name of the last."""


def quiet(_done: int, _total: int, _name: str) -> None:
    """A :data:`Progress` that says nothing."""


@dataclass(frozen=True)
class Stop:
    """The first patch that needs a person; ``number`` is its place in the series.

    ``collision`` is what there is to solve; None where nothing can be merged, or where the patch
    merges and the question is another (``drifted``).
    """

    report: PatchReport
    number: int
    collision: Collision | None


@dataclass(frozen=True)
class Rebased:
    """A series judged on another base: the report, and each patch as it is carried (or not)."""

    source: SeriesDirectory
    onto: Base
    report: Report
    judgements: Mapping[str, Judgement]
    find_stop: Callable[[], Stop | None]
    """Looks for the first patch that needs a person; see :attr:`stop`."""
    remembered: tuple[str, ...] = ()
    """The files, below the workspace, that say how conflicts were solved again."""

    @cached_property
    def stop(self) -> Stop | None:
        """The first patch that needs a person, with all that there is to solve."""
        return self.find_stop()

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
) -> Rebased:
    """Judge the series on ``source`` on the base ``onto``, both by name.

    Conflicts that ``series/.resolutions`` knows are solved by it. Raises :class:`InputError` where
    a name is unknown or they are the same base.
    """
    if source == onto:
        raise InputError(f"the series is on {onto} already; name another base")
    span = project.upstream_range(source, onto)
    directory = project.workspace.load(source)
    cache = kept_verdicts(project.workspace)
    solver = Solver(decisions, Resolutions(project.workspace, project.store.objects))
    rebased = rebase_series(
        span, directory, ages(project.workspace, source), cache, progress, solver
    )
    recalled = recall(project, _out_of(directory), onto)
    report = replace(rebased.report, remembered=tuple(item.remembered for item in recalled))
    return replace(rebased, report=report)


def rebase_series(
    span: UpstreamRange,
    source: SeriesDirectory,
    ages: Mapping[str, int],
    cache: VerdictCache,
    progress: Progress = quiet,
    solver: Solver | None = None,
) -> Rebased:
    """Judge each patch of ``source`` (a series for ``span.old``) on ``span.new``.

    Where ``solver`` knows what became of a patch, it is so. Raises :class:`InputError` where the
    series does not apply to its own base.
    """
    run = _Run(span, source, cache, solver or Solver())
    judgements: dict[str, Judgement] = {}
    for number, entry in enumerate(source.series.entries, start=1):
        judgements[entry.name] = run.judge(entry, judgements)
        progress(number, len(source.series.entries), entry.name)
    judgements = {
        name: replace(judgement, report=replace(judgement.report, age=ages.get(name, 1)))
        for name, judgement in run.settle(judgements).items()
    }
    source = replace(source, recipe=_moved_recipe(span, source.recipe))
    report = Report(
        series=source.tag,
        onto=span.new.name,
        base_commit=span.old.commit,
        onto_commit=span.new.commit,
        guards=tuple(sorted(span.settings.default_guards)),
        patches=tuple(judgement.report for judgement in judgements.values()),
    )
    return Rebased(
        source, span.new, report, judgements, lambda: run.stop(judgements), tuple(run.remembered)
    )


class Solver:
    """Knows what became of patches that need a person: by decision, or by memory."""

    def __init__(self, decisions: Sequence[Decision] = (), resolutions: Resolutions | None = None):
        self._decisions = {(each.patch, each.choice): each for each in decisions}
        self._resolutions = resolutions

    def decision(self, name: str, choice: DecisionKind) -> Decision | None:
        """What a person chose for the patch ``name``."""
        return self._decisions.get((name, choice))

    @property
    def has_memory(self) -> bool:
        """Whether any collision was solved before."""
        return self._resolutions is not None and self._resolutions.exist

    def remembered(self, collision: Collision) -> Solved | None:
        """How this very collision was solved before."""
        return self._resolutions.solve(collision) if self._resolutions else None


class _Run:
    """One pass over a series."""

    def __init__(
        self, span: UpstreamRange, source: SeriesDirectory, cache: VerdictCache, solver: Solver
    ):
        self._span = span
        self._source = source
        self._cache = cache
        self._solver = solver
        self._stack = Stack(span.store)
        paths = {path for patch in source.patches.values() for path in patch.paths}
        self._judge = Judge(span, self._stack, sorted(paths))
        self._keys: dict[str, str] = {}
        self.remembered: dict[str, None] = {}

    def judge(self, entry: SeriesEntry, judgements: Mapping[str, Judgement]) -> Judgement:
        patch = self._source.patches[entry.name]
        uncovered = self._judge.uncovered(patch)
        if uncovered is not None:
            return uncovered
        lower = self._below(entry)
        there = {other.name for other in lower} | {
            record.name
            for record in self._source.retired
            if record.standing is RecordState.RETIRED and record.verdict is Verdict.UPSTREAMED
        }
        missing = [name for name in patch.header.requires if name not in there]
        if missing:
            return self._decided(self._judge.without_base(patch, missing), patch)
        key = self._keys[entry.name] = self._key(patch, lower, judgements)
        kept = self._cache.get(key)
        if kept is None:
            found = self._judge.judge(self._case(entry, judgements))
            kept = {patch.name: found}
            if not found.is_fault:
                self._cache.put(key, kept)
        judged = self._blocked(kept[patch.name], patch, lower, judgements)
        solved = self._remembered(self._decided(judged, patch), entry, judgements)
        return self._with_accepted(solved, patch)

    def stop(self, judgements: Mapping[str, Judgement]) -> Stop | None:
        """The first patch that needs a person, with all that there is to solve."""
        for number, entry in enumerate(self._source.series.entries, start=1):
            judgement = judgements[entry.name]
            if judgement.report.action is Action.REVIEW:
                return Stop(judgement.report, number, self._collision(judgement, entry, judgements))
        return None

    def _decided(self, judgement: Judgement, patch: Patch) -> Judgement:
        """The judgement as a person decided, where one did."""
        report = judgement.report
        drift = self._solver.decision(patch.name, DecisionKind.DRIFT_ACCEPTED)
        if drift is not None:
            report = replace(report, notes=(*report.notes, f"drift accepted: {drift.reason}"))
            judgement = replace(judgement, report=report)
        skipped = self._solver.decision(patch.name, DecisionKind.SKIPPED)
        if skipped is not None:
            notes = (*report.notes, f"skipped: {skipped.reason}")
            return Judgement(replace(report, skipped=skipped.reason, notes=notes, blocked_by=()))
        resolved = self._solver.decision(patch.name, DecisionKind.RESOLVED)
        if resolved is not None:
            return _solved(judgement, replace(patch, raw=resolved.content), "by hand")
        return judgement

    def _remembered(
        self, judgement: Judgement, entry: SeriesEntry, judgements: Mapping[str, Judgement]
    ) -> Judgement:
        """The judgement with a conflict that was solved before solved again."""
        if not self._solver.has_memory:
            return judgement
        collision = self._collision(judgement, entry, judgements)
        solved = self._solver.remembered(collision) if collision else None
        if not collision or not solved:
            return judgement
        tree = self._span.store.objects.overlay(collision.case.ours, solved.files)
        if tree == collision.case.ours:
            return judgement
        patch = self._judge.with_predicates(
            patch_to(self._span.store, self._stack, collision, tree)
        )
        self.remembered.update(dict.fromkeys(solved.names))
        return _solved(judgement, patch, f"as remembered in {', '.join(solved.names)}")

    def _collision(
        self, judgement: Judgement, entry: SeriesEntry, judgements: Mapping[str, Judgement]
    ) -> Collision | None:
        """What there is to solve; None where nothing is, or nothing can be merged."""
        report = judgement.report
        to_solve = report.action is Action.REVIEW and report.verdict is not Verdict.DRIFTED
        if not to_solve or entry.name not in self._keys or judgement.is_fault:
            return None
        case = self._case(entry, judgements)
        return None if self._judge.blocked(case) else collide(self._span, case, report)

    def _case(self, entry: SeriesEntry, judgements: Mapping[str, Judgement]) -> Case:
        link = self._link(entry, judgements)
        return Case(link.patch, link.applied, link.ours, self._accepted(entry.name))

    def _with_accepted(self, judgement: Judgement, patch: Patch) -> Judgement:
        """The judgement with the drift that a person accepted recorded in the carried patch."""
        drift = self._solver.decision(patch.name, DecisionKind.DRIFT_ACCEPTED)
        if drift is None or judgement.patch is None:
            return judgement
        carried = with_drift_accepted(self._span, patch, judgement.patch, drift.reason)
        return replace(judgement, patch=carried)

    def _accepted(self, name: str) -> bool:
        return self._solver.decision(name, DecisionKind.DRIFT_ACCEPTED) is not None

    def settle(self, judgements: Mapping[str, Judgement]) -> Mapping[str, Judgement]:
        """The judgements, with patches that landed only together recognised."""
        if not any(judgement.report.action is Action.REVIEW for judgement in judgements.values()):
            return judgements
        actions = [judgement.report.action.value for judgement in judgements.values()]
        key = key_of(["settled", *self._keys.values(), *actions])
        settled = self._cache.get(key)
        if settled is None:
            settled = self._settle(judgements)
            self._cache.put(key, settled)
        return {**judgements, **settled}

    def _settle(self, judgements: Mapping[str, Judgement]) -> dict[str, Judgement]:
        objects = self._span.store.objects
        runs = RunJudge(self._judge, self._span.store.mailer, objects)
        entries = self._source.series.entries
        links = {
            entry.name: self._link(entry, judgements)
            for entry in entries
            if entry.name in self._keys
        }
        settled = runs.settle(links, judgements)
        return {name: settled[name] for name in links if settled[name] is not judgements[name]}

    def _below(self, entry: SeriesEntry) -> tuple[SeriesEntry, ...]:
        return below(self._source.series, entry, self._span.settings.default_guards)

    def _key(
        self, patch: Patch, lower: Sequence[SeriesEntry], judgements: Mapping[str, Judgement]
    ) -> str:
        old = [self._source.patches[entry.name] for entry in lower if self._covered(entry)]
        new = [judgement.patch for e in lower if (judgement := judgements[e.name]).stands]
        return key_of(
            [
                RULES,
                self._span.identity,
                [patch.name, patch.sha256, patch.strip],
                [[other.sha256, other.strip] for other in old],
                [[other.sha256, other.strip] for other in new if other],
                *(["drift accepted"] if self._accepted(patch.name) else []),
            ]
        )

    def _link(self, entry: SeriesEntry, judgements: Mapping[str, Judgement]) -> Link:
        patch = self._source.patches[entry.name]
        lower = self._below(entry)
        applied = self._stack.apply(self._on_old(lower), patch, onto=self._span.old.name)
        names = frozenset(other.name for other in lower)
        return Link(patch, applied, self._on_new(lower, judgements), names)

    def _on_new(self, entries: tuple[SeriesEntry, ...], judgements: Mapping[str, Judgement]) -> str:
        """The new base with the carried form of ``entries``."""
        carried = [judgements[entry.name] for entry in entries]
        patches = [judgement.patch for judgement in carried if judgement.stands]
        return self._stack.apply_all(
            self._span.new.tree, [p for p in patches if p], onto=self._span.new.name
        )

    def _covered(self, entry: SeriesEntry) -> bool:
        return all(self._span.covers(path) for path in self._source.patches[entry.name].paths)

    def _on_old(self, entries: tuple[SeriesEntry, ...]) -> str:
        tree = self._span.old.tree
        for entry in entries:
            if self._covered(entry):
                patch = self._source.patches[entry.name]
                tree = self._stack.apply(tree, patch, onto=self._span.old.name).tree
        return tree

    def _blocked(
        self,
        judgement: Judgement,
        patch: Patch,
        lower: tuple[SeriesEntry, ...],
        judgements: Mapping[str, Judgement],
    ) -> Judgement:
        """Name the unsolved patches below that touch the same files as this unsolved one."""
        if judgement.report.action is not Action.REVIEW:
            return judgement
        paths = set(patch.paths)
        blockers = tuple(
            entry.name
            for entry in lower
            if judgements[entry.name].report.action is Action.REVIEW
            and paths & set(self._source.patches[entry.name].paths)
        )
        return replace(judgement, report=replace(judgement.report, blocked_by=blockers))


def _solved(judgement: Judgement, patch: Patch, how: str) -> Judgement:
    """A patch that was adapted by more than git: what it collided with stays in the evidence."""
    report = judgement.report
    notes = (*report.notes, f"{report.verdict.value}, resolved {how}")
    return Judgement(replace(report, verdict=Verdict.ADAPTED, notes=notes, blocked_by=()), patch)


def new_directory(rebased: Rebased) -> dict[str, bytes]:
    """The files of the new series directory, by name.

    Patches that need review are held in ``retired.yaml``; whether they may be is the caller's
    decision.
    """
    source = rebased.source
    records = [
        _record(rebased, report)
        for report in rebased.report.patches
        if report.action in (Action.DROP, Action.REVIEW)
    ]
    left = {record.name for record in records}
    carried = {
        name: judgement.patch
        for name, judgement in rebased.judgements.items()
        if name not in left and judgement.patch is not None
    }
    return directory_files(
        replace(
            source,
            series=source.series.without(left),
            patches=carried,
            retired=_memory(_out_of(source), records),
        )
    )


def directory_files(directory: SeriesDirectory) -> dict[str, bytes]:
    """The files that a series directory is made of, by name."""
    files = {"series": directory.series.raw}
    files.update((name, patch.raw) for name, patch in directory.patches.items())
    if directory.retired:
        files["retired.yaml"] = render_retired(directory.retired)
    if directory.recipe is not None:
        files["recipe.yaml"] = directory.recipe
    return files


def _moved_recipe(span: UpstreamRange, recipe: bytes | None) -> bytes | None:
    """The recipe with its project directory where it is on the new base, all else byte for byte."""
    found = re.search(rb"^project: *(\S+) *$", recipe or b"", re.MULTILINE)
    if recipe is None or found is None:
        return recipe
    marker = f"{found[1].decode()}/{_PROJECT_FILE}"
    new = span.place(marker).new if span.covers(marker) else None
    if new is None:
        return recipe
    directory = new.removesuffix(f"/{_PROJECT_FILE}").encode()
    return recipe[: found.start(1)] + directory + recipe[found.end(1) :]


def _out_of(directory: SeriesDirectory) -> tuple[Retired, ...]:
    """The records of patches that are not in the series (again)."""
    return tuple(r for r in directory.retired if r.name not in directory.series.names)


def _memory(earlier: tuple[Retired, ...], records: list[Retired]) -> tuple[Retired, ...]:
    names = {record.name for record in records}
    return (*(old for old in earlier if old.name not in names), *records)


def _record(rebased: Rebased, report: PatchReport) -> Retired:
    held = report.action is Action.REVIEW
    entry = rebased.source.series.entry(report.name)
    return Retired(
        name=report.name,
        verdict=report.verdict,
        reason=report.skipped or _reason(report),
        evidence=report.evidence,
        content=rebased.source.patches[report.name].raw,
        standing=RecordState.HELD if held else RecordState.RETIRED,
        since=rebased.onto.name,
        base=rebased.source.tag,
        guards=entry.guards,
        strip=entry.strip,
    )


def _reason(report: PatchReport) -> str:
    return report.evidence[0].text if report.evidence else report.verdict.value


def refuse_existing(workspace: Workspace, tag: str) -> None:
    """Raise :class:`InputError` where ``tag`` has a series already."""
    if workspace.series_path(tag).exists():
        raise InputError(
            f"there is a series on {tag} already",
            where=Where(f"series/{tag}"),
            hint="--replace rebases over it; --dry-run only judges.",
        )


def ages(workspace: Workspace, upto: str) -> Counter[str]:
    """On how many bases in a row each patch of the series ``upto`` has stood, that one included."""
    names = workspace.series_names()
    counts: Counter[str] = Counter()
    alive: set[str] | None = None
    for tag in reversed(names[: names.index(upto) + 1]):
        present = set(workspace.series(tag).names)
        alive = present if alive is None else alive & present
        counts.update(alive)
    return counts
