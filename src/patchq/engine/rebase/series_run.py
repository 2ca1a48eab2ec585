"""One pass over a series: each patch judged in its place, with what was decided before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from patchq.engine.judge.cache import VerdictCache
from patchq.engine.judge.case import LostPatch, PatchedBase, PlacedPatch
from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.placed import PlaceJudge, nothing_new
from patchq.engine.rebase.beside import share, shares
from patchq.engine.rebase.drift import with_drift_accepted
from patchq.engine.rebase.operation import Decision, DecisionKind
from patchq.engine.rebase.recorded_resolutions import Resolutions, Solved
from patchq.engine.series.stack import Stack, absent, below, independent
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import PatchqError
from patchq.git.apply import Refused
from patchq.git.merge import MergeQuestion
from patchq.kept_answers import key_of
from patchq.model.patch import Patch
from patchq.model.retired import provided_by_upstream
from patchq.model.series import SeriesEntry
from patchq.model.verdict import Action, PatchReport, Verdict
from patchq.model.workspace import SeriesDirectory
from patchq.steps import about

if TYPE_CHECKING:
    from patchq.engine.rebase.conflict import Collision

Progress = Callable[[int, int, str], None]
"""Told after each patch: how many are done, of how many, and the name of the last."""

_WORTH = 8
"""So many patches are worth a process of their own."""

_NOT_LOST = frozenset({Verdict.UPSTREAMED, Verdict.NOT_COVERED})
"""What a patch that is not in the new tree may be, for those above it to be judged as ever."""


@dataclass(frozen=True)
class Stop:
    """The first patch that needs review; ``number`` is its place in the series.

    ``collision`` is what there is to solve; None if nothing can be merged, or where the patch
    merges and the question is another (``drifted``).
    """

    report: PatchReport
    number: int
    collision: Collision | None


def _place_judge(span: UpstreamRange, source: SeriesDirectory, cache: VerdictCache) -> PlaceJudge:
    paths = sorted({path for patch in source.patches.values() for path in patch.paths})
    return PlaceJudge(span, Stack(span.store), paths, cache)


class Solver:
    """Knows what became of patches that need review: by decision, or by memory."""

    def __init__(self, decisions: Sequence[Decision] = (), resolutions: Resolutions | None = None):
        self._decisions = {(each.patch, each.choice): each for each in decisions}
        self._resolutions = resolutions

    def decision(self, name: str, choice: DecisionKind) -> Decision | None:
        """What the user chose for the patch ``name``."""
        return self._decisions.get((name, choice))

    @property
    def has_memory(self) -> bool:
        """Whether any collision was solved before."""
        return self._resolutions is not None and self._resolutions.exist

    def remembered(self, collision: Collision) -> Solved | None:
        """How this very collision was solved before."""
        return self._resolutions.solve(collision) if self._resolutions else None


class SeriesRun:
    """Judges the patches of one series on one span."""

    def __init__(
        self,
        span: UpstreamRange,
        source: SeriesDirectory,
        cache: VerdictCache,
        solver: Solver,
        judge: PlaceJudge | None = None,
    ):
        """``judge`` is that of a series of which ``source`` is a part, if there is one."""
        self._span = span
        self._source = source
        self._cache = cache
        self._solver = solver
        self._defaults = span.settings.default_guards
        self._provided = provided_by_upstream(source.retired)
        self._judge = judge or _place_judge(span, source, cache)
        self._stack = self._judge.stack
        self._places: dict[str, PlacedPatch] = {}
        self._covered: dict[str, bool] = {}
        self._now: PlacedPatch | None = None
        self._foreseen: set[str] = set()
        self.remembered: dict[str, None] = {}
        """The files that say how conflicts were solved again."""

    def judge_all(self, progress: Progress, jobs: int = 1) -> dict[str, Judgement]:
        """The judgement on every patch, in series order; up to ``jobs`` processes look for them."""
        progress = _onward(progress)
        merger, judge = self._span.store.merger, self._judge
        before = merger.ahead, judge.find_together
        merger.ahead = self._questions_ahead
        judge.find_together = partial(self._find_together, progress, jobs)
        try:
            return self._judge_all(progress)
        finally:
            merger.ahead, judge.find_together = before

    def _find_together(self, progress: Progress, jobs: int) -> bool:
        """Have other processes find judgements on patches that do not meet, once, and help them."""
        self._judge.find_together = nothing_new
        open_ = self._source.series.names[len(self._places) - 1 :]
        jobs = min(jobs, len(open_) // _WORTH)
        if jobs < 2:
            return False
        patches, names = self._source.patches, self._source.series.names
        tied = [(name, other) for name in names for other in patches[name].header.requires]
        groups = independent({name: self._judge.reach(patches[name]) for name in names}, tied)
        costs = {
            group: sum(self._cost(patches[name]) for name in group)
            for group in groups
            if not set(open_).isdisjoint(group)
        }
        parts = shares(costs, jobs)
        self._judge.judge.references.look_up()
        done: list[str] = []

        def told(_done: int, _of: int, name: str) -> None:
            done.append(name)
            progress(min(len(done) * jobs, len(names)), len(names), name)

        def work(number: int) -> None:
            series = self._source.series
            part = replace(
                self._source,
                series=replace(
                    series, entries=tuple(e for e in series.entries if e.name in parts[number])
                ),
            )
            run = SeriesRun(self._span, part, self._cache, self._solver, self._judge)
            with suppress(PatchqError):  # raised again by the patch that it is about
                run.judge_all(told)

        share(self._span.store, work, len(parts), jobs)
        return True

    def _cost(self, patch: Patch) -> int:
        """How much work a patch may be, beside others: each commit is asked about each hunk."""
        hunks = sum(len(change.hunks) + 1 for change in patch.files)
        return hunks * (10 + len(self._span.commits(patch.paths)))

    def _judge_all(self, progress: Progress) -> dict[str, Judgement]:
        settled: dict[str, Judgement] = {}
        while True:
            judgements: dict[str, Judgement] = {}
            for number, entry in enumerate(self._source.series.entries, start=1):
                known = settled.get(entry.name)
                judgements[entry.name] = known or self._judged(entry, judgements)
                if not settled:
                    progress(number, len(self._source.series.entries), entry.name)
            together = self._landed_together(judgements)
            if not together:
                return judgements
            settled.update(together)  # what stands on these is judged anew

    def _questions_ahead(self) -> Iterator[MergeQuestion]:
        """What the patches will ask that none before them, not judged yet, can change any more.

        Each is told once. What was foreseen wrongly is asked again when it is known.
        """
        if self._now is None:
            return
        open_: set[str] = set()
        entries = self._source.series.entries
        for entry in entries[self._source.series.names.index(self._now.patch.name) :]:
            patch = self._source.patches[entry.name]
            if entry.name not in self._foreseen and open_.isdisjoint(patch.paths):
                self._foreseen.add(entry.name)
                yield from self._judge.questions(replace(self._now, patch=patch))
            open_.update(patch.paths)

    def stop(self, judgements: Mapping[str, Judgement]) -> Stop | None:
        """The first patch that needs review, with all that there is to solve."""
        for number, entry in enumerate(self._source.series.entries, start=1):
            judgement = judgements[entry.name]
            if judgement.report.action is Action.REVIEW:
                return Stop(judgement.report, number, self._collision(judgement))
        return None

    def _judged(self, entry: SeriesEntry, judgements: Mapping[str, Judgement]) -> Judgement:
        placed = self._places[entry.name] = self._place(entry, judgements)
        self._now = placed
        with about(entry.name):
            judged = self._judge.judge_in_place(placed)
        judged = self._decided(self._with_blockers(judged, placed, judgements))
        return self._with_accepted(self._remembered(judged))

    def _place(self, entry: SeriesEntry, judgements: Mapping[str, Judgement]) -> PlacedPatch:
        patch = self._source.patches[entry.name]
        lower = below(self._source.series, entry, self._defaults)
        names = frozenset(other.name for other in lower)
        there = names | self._provided
        old = [self._source.patches[other.name] for other in lower if self._applies(other)]
        new = [judgements[other.name] for other in lower]
        lost = (
            LostPatch(
                self._source.patches[each.report.name], _became(each.report), each.report.verdict
            )
            for each in new
            if not each.stands and each.report.verdict not in _NOT_LOST
        )
        return PlacedPatch(
            stack=self._stack,
            patch=patch,
            old=PatchedBase(self._span.old.name, self._span.old.tree, tuple(old)),
            new=PatchedBase(
                self._span.new.name,
                self._span.new.tree,
                tuple(each.patch for each in new if each.stands and each.patch),
            ),
            below=names,
            missing=absent(patch, there, self._source.series),
            lost=tuple(item for item in lost if item.patch in old),
            accepted=self._solver.decision(entry.name, DecisionKind.DRIFT_ACCEPTED) is not None,
            inactive=not entry.active(self._defaults),
        )

    def _applies(self, entry: SeriesEntry) -> bool:
        """Whether a patch below is in the old tree: all are that the bases cover.

        Not so one that its guards or a requirement keep out of the series, if it does not apply.
        """
        patch = self._source.patches[entry.name]
        if entry.name not in self._covered:
            self._covered[entry.name] = all(map(self._span.covers, patch.paths))
        if not self._covered[entry.name]:
            return False
        placed = self._places[entry.name]
        if not (placed.missing or placed.inactive):
            return True
        tree = self._stack.apply_all(placed.old.tree, placed.old.patches, onto=placed.old.name)
        return not isinstance(self._stack.try_apply(tree, patch), Refused)

    def _with_blockers(
        self, judgement: Judgement, placed: PlacedPatch, judgements: Mapping[str, Judgement]
    ) -> Judgement:
        """Name the unsolved patches below that touch the same files as this unsolved one."""
        report = judgement.report
        if report.action is not Action.REVIEW or report.blocked_by:
            return judgement
        paths = set(placed.patch.paths)
        blockers = tuple(
            name
            for name, lower in judgements.items()
            if name in placed.below
            and lower.report.action is Action.REVIEW
            and paths & set(self._source.patches[name].paths)
        )
        return replace(judgement, report=replace(report, blocked_by=blockers))

    def _decided(self, judgement: Judgement) -> Judgement:
        """The judgement as the user decided, where one did."""
        report = judgement.report
        drift = self._solver.decision(report.name, DecisionKind.DRIFT_ACCEPTED)
        if drift is not None:
            report = replace(report, notes=(*report.notes, f"drift accepted: {drift.reason}"))
            judgement = replace(judgement, report=report)
        skipped = self._solver.decision(report.name, DecisionKind.SKIPPED)
        if skipped is not None:
            notes = (*report.notes, f"skipped: {skipped.reason}")
            return Judgement(replace(report, skipped=skipped.reason, notes=notes, blocked_by=()))
        resolved = self._solver.decision(report.name, DecisionKind.RESOLVED)
        if resolved is not None:
            patch = self._source.patches[report.name]
            return _solved(judgement, replace(patch, raw=resolved.content), "by hand")
        return judgement

    def _remembered(self, judgement: Judgement) -> Judgement:
        """The judgement with a conflict that was solved before solved again."""
        collision = self._collision(judgement) if self._solver.has_memory else None
        solved = self._solver.remembered(collision) if collision else None
        if not collision or not solved:
            return judgement
        from patchq.engine.rebase.resolved_patch import patch_as_solved

        made = patch_as_solved(self._span.store, self._stack, collision, solved.files)
        if made is None:
            return judgement
        patch = self._judge.predicates.followed(made)
        self.remembered.update(dict.fromkeys(solved.names))
        return _solved(judgement, patch, f"as remembered in {', '.join(solved.names)}")

    def _collision(self, judgement: Judgement) -> Collision | None:
        """What there is to solve; None if nothing is, or nothing can be merged."""
        report = judgement.report
        placed = self._places[report.name]
        if (
            report.action is not Action.REVIEW
            or report.verdict is Verdict.DRIFTED
            or judgement.is_fault
            or not placed.can_be_merged
        ):
            return None
        from patchq.engine.rebase.conflict import collide

        case = placed.case
        return None if self._judge.judge.blocked(case) else collide(self._span, case, report)

    def _with_accepted(self, judgement: Judgement) -> Judgement:
        """The judgement with the drift that the user accepted recorded in the carried patch."""
        name = judgement.report.name
        drift = self._solver.decision(name, DecisionKind.DRIFT_ACCEPTED)
        if drift is None or judgement.patch is None:
            return judgement
        patch = self._source.patches[name]
        carried = with_drift_accepted(self._span, patch, judgement.patch, drift.reason)
        return replace(judgement, patch=carried)

    def _landed_together(self, judgements: Mapping[str, Judgement]) -> Mapping[str, Judgement]:
        """New judgements on patches that upstream took, which shows only in several at once."""
        if not any(judgement.report.action is Action.REVIEW for judgement in judgements.values()):
            return {}
        links = {
            name: placed
            for name, placed in self._places.items()
            if not placed.missing and _is_seen(judgements[name])
        }
        settled: dict[str, Judgement] = {}
        for group in independent({name: self._judge.reach(links[name].patch) for name in links}):
            if any(judgements[name].report.action is Action.REVIEW for name in group):
                settled |= self._landed_in({name: links[name] for name in group}, judgements)
        return {name: settled[name] for name in links if name in settled}

    def _landed_in(
        self, links: Mapping[str, PlacedPatch], judgements: Mapping[str, Judgement]
    ) -> Mapping[str, Judgement]:
        """:meth:`_landed_together` of patches that meet no others."""
        alone = {name: self._judge.alone(placed) for name, placed in links.items()}
        actions = [judgements[name].report.action.value for name in links]
        predicates = self._judge.predicates
        keys = [placed.key(self._span, predicates) for placed in alone.values()]
        key = key_of(["settled", *keys, *actions])
        found = self._cache.get(key)
        if found is None:
            from patchq.engine.judge.joint_landing import RunJudge

            objects = self._span.store.objects
            runs = RunJudge(self._judge.judge, self._span.store.mailer, objects)
            settled = runs.settle(links, {name: judgements[name] for name in links})
            found = {n: settled[n] for n in links if settled[n] is not judgements[n]}
            self._cache.put(key, found)
        return found


def _onward(progress: Progress) -> Progress:
    """``progress`` that never goes back."""
    most = 0

    def told(done: int, total: int, name: str) -> None:
        nonlocal most
        if done >= most:
            most = done
            progress(done, total, name)

    return told


def _is_seen(judgement: Judgement) -> bool:
    return judgement.report.verdict is not Verdict.NOT_COVERED and not judgement.is_fault


def _became(report: PatchReport) -> str:
    if report.skipped is not None:
        return "skipped"
    left = "left as " if report.action is Action.DROP else ""
    return f"{left}{report.verdict.value}"


def _solved(judgement: Judgement, patch: Patch, how: str) -> Judgement:
    """A patch that was adapted by more than git: what it collided with stays in the evidence."""
    report = judgement.report
    notes = (*report.notes, f"{report.verdict.value}, resolved {how}")
    return Judgement(replace(report, verdict=Verdict.ADAPTED, notes=notes, blocked_by=()), patch)
