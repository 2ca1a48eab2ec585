"""The verdict on one patch: made here and nowhere else.

Content decides. The patch is merged onto the new base, and where the merge alone does not settle
its fate, so is each of its hunks, there and on every commit between the bases that touches its
files. The order of the questions is the order of :class:`patchq.model.verdict.Verdict`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from patchq.engine.judge.case import Case, CaseFacts, renamed_apart
from patchq.engine.judge.duplicates import duplicates
from patchq.engine.judge.evidence import EvidenceMaker
from patchq.engine.judge.fault import unless_fault
from patchq.engine.judge.gone.follow import Followed
from patchq.engine.judge.gone.unreachable import GoneCode, is_found
from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.landing.hidden import HiddenLandings
from patchq.engine.judge.landing.history_walk import HistoryWalker
from patchq.engine.judge.landing.hunk_history import (
    HunkHistory,
    LandedState,
)
from patchq.engine.judge.merges import Merges
from patchq.engine.judge.outcomes import (
    carried_outcomes,
    conflicting,
    outcomes,
    trail_outcomes,
    unsettled,
)
from patchq.engine.judge.predicates import SpanPredicates
from patchq.engine.judge.since.evidence import LaterEvidence
from patchq.engine.judge.since.in_effect import InEffect
from patchq.engine.judge.unreferenced import LostReference, References
from patchq.engine.judge.watch import watched
from patchq.engine.series.hunks import Unit, split_units
from patchq.engine.series.rewrite import Carried, Carrier, Rewrite
from patchq.engine.series.stack import Stack
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import PatchqError
from patchq.git.apply import Applied
from patchq.git.merge import MergeQuestion, MergeState
from patchq.model.patch import Patch
from patchq.model.verdict import (
    Evidence,
    HunkOutcome,
    HunkState,
    PatchReport,
    PathChange,
    Verdict,
)
from patchq.model.words import some

_NOT_IN_EFFECT = (LandedState.OVERRULED, LandedState.OTHER_MODE)
FOR_GNU_PATCH = "rewritten for GNU patch, which would put a hunk elsewhere or refuse it"


class Judge:
    """Judges the patches of a series on one span."""

    def __init__(self, span: UpstreamRange, stack: Stack, paths: Iterable[str]):
        """``paths`` are those of all the patches to be judged: looked up in one go."""
        paths = sorted(paths)
        span.expect(path for path in paths if span.covers(path))
        self._span = span
        self.references = References(span, paths)
        self._objects = span.store.objects
        self._merges = Merges(span)
        self._walker = HistoryWalker(span)
        self._hidden = HiddenLandings(span, self._walker)
        self._evidence = EvidenceMaker(span)
        self._later = LaterEvidence(span)
        self._in_effect = InEffect(span, self._evidence)
        self._gone = GoneCode(span)
        self._carrier = Carrier(stack, span.store.mailer, self._objects)
        self.predicates = SpanPredicates(span)

    def is_elsewhere(self, patch: Patch) -> bool:
        """Whether code that ``patch`` edits moved: a missing path says nothing then."""
        return bool(patch.header.retire_when) and self._gone.is_elsewhere(patch)

    def judge(self, case: Case) -> Judgement:
        """The judgement on a patch that both bases cover and that stands on the old one.

        What goes wrong is raised: :class:`patchq.engine.judge.placed.PlaceJudge` makes a verdict
        of it.
        """
        facts = self._merges.find(case)
        blocked = self._merges.blocked(case)
        if blocked:
            judgement = self._judge_blocked(facts, blocked)
        elif renames := renamed_apart(facts, self._span.store.mailer, self._objects):
            judgement = self._judge_renamed_apart(facts, renames)
        elif self._merges.has_effect(facts):
            judgement = self._judge_clean(facts)
        else:
            judgement = self._judge_collision(facts)
        found = replace(
            judgement.report,
            evidence=(*judgement.report.evidence, *watched(self._span, case.patch)),
            notes=(
                *judgement.report.notes,
                *self.predicates.not_known(case.patch, accepted=case.accepted),
            ),
        )
        return replace(judgement, report=found, looked=self._gone.looked())

    def blocked(self, case: Case) -> Mapping[str, str]:
        """The paths that cannot be there, each with the file in the place of its directory."""
        return self._merges.blocked(case)

    def landed(self, case: Case) -> Judgement | None:
        """The judgement on a patch that upstream has all of, None on any other."""
        return unless_fault(lambda: self._landed(case), None)

    def never_there(self, patch: Patch, applied: Applied) -> frozenset[str]:
        """Paths in which ``patch`` adds lines that no commit between the bases has."""
        units = split_units(patch, applied, self._objects)
        return unless_fault(lambda: self._walker.never_there(units), frozenset())

    def _landed(self, case: Case) -> Judgement | None:
        facts = self._merges.find(case)
        if self._merges.blocked(case) or self._merges.has_effect(facts):
            return None
        units, states = self._apart(facts)
        if not {MergeState.EMPTY, MergeState.COLLIDES}.issuperset(states):
            return None
        trails, _ = self._follow(units, states, facts, undoing=False)
        return self._upstreamed(facts, trails)

    def questions(self, case: Case) -> list[MergeQuestion]:
        """What :meth:`judge` will ask first: a merge of all, and of each unit alone."""
        applied, tree = case.applied, self._objects.tree_of
        _, entries = self._merges.places(case)
        if entries == applied.before:
            return []
        units = split_units(case.patch, applied, self._objects)
        ours = [{path: entries.get(path) for path in unit.paths} for unit in units]
        whole = MergeQuestion(tree(applied.before), tree(entries), tree(applied.after))
        return [whole, *map(self._walker.question, units, ours)]

    def _judge_blocked(self, facts: CaseFacts, blocked: Mapping[str, str]) -> Judgement:
        evidence = self._evidence.blocked(blocked)
        hunks = outcomes(facts.case.patch, HunkState.CONFLICTING)
        return Judgement(self._report(facts, Verdict.CONFLICT, hunks=hunks, evidence=evidence))

    def _judge_renamed_apart(self, facts: CaseFacts, renames: Mapping[str, str]) -> Judgement:
        carried = carried_outcomes(facts, self._objects)
        hunks = conflicting(carried, lambda hunk: hunk.file in renames)
        evidence = self._evidence.renamed_apart(facts, renames) + self._evidence.moves(facts)
        return Judgement(self._report(facts, Verdict.CONFLICT, hunks=hunks, evidence=evidence))

    # -- the merge is clean ------------------------------------------------------------------

    def _judge_clean(self, facts: CaseFacts) -> Judgement:
        units, states = self._apart(facts)
        upstream = {
            (unit.file, index)
            for unit, state in zip(units, states, strict=True)
            if state is MergeState.EMPTY
            for index in unit.hunks
        }
        ruled = self._ruled(facts, carried_outcomes(facts, self._objects, upstream))
        if ruled is not None:
            return ruled
        twice = list(duplicates(self._span, units, states, facts))
        trails, standing = self._follow(units, states, facts)
        if twice:
            places = {place for place, _ in twice}
            carried = carried_outcomes(facts, self._objects, upstream)
            hunks = conflicting(carried, lambda hunk: (hunk.file, hunk.index) in places)
            landed = self._evidence.merged(trails)
            verdict = Verdict.SUPERSEDED if landed else Verdict.CONFLICT
            evidence = tuple(item for _, item in twice) + landed + self._evidence.moves(facts)
            return Judgement(self._report(facts, verdict, hunks=hunks, evidence=evidence))
        if standing or any(trail.fate in _NOT_IN_EFFECT for trail in trails):
            hunks = trail_outcomes(trails, facts)
            landed = self._evidence.merged(trails) + self._evidence.undone(trails)
            evidence = standing + landed + self._evidence.moves(facts)
            verdict = unsettled(trails)
            return Judgement(self._report(facts, verdict, hunks=hunks, evidence=evidence))
        return self._judge_carried(facts, upstream, trails)

    def _judge_carried(
        self,
        facts: CaseFacts,
        upstream: Collection[tuple[str, int]],
        trails: Sequence[HunkHistory],
    ) -> Judgement:
        """The judgement on a patch that merges, and of which the hunks ``upstream`` have landed."""
        rewritten = self._carry(facts)
        evidence = self._evidence.moves(facts)
        if upstream:
            verdict = Verdict.PARTIAL
            evidence += self._evidence.merged(trails)
        elif rewritten.rewrite is Rewrite.HUNKS:
            verdict = Verdict.ADAPTED
            evidence += self._evidence.context_changes(facts)
        else:
            verdict = Verdict.MOVED if facts.moves else Verdict.CLEAN
        evidence += self._evidence.undone(trails)
        patch = self.predicates.followed(rewritten.patch)
        follows = patch is not rewritten.patch and not facts.moves
        lost = self._lost_references(facts)
        splits = self._evidence.splits(facts)
        evidence += splits + self._evidence.unreferenced(lost)
        notes = (
            *(["predicate paths in the header follow a move"] if follows else []),
            *(f"directory-split: {item.text}" for item in splits),
            *([FOR_GNU_PATCH] if rewritten.for_gnu_patch else []),
            *(item.note for item in lost),
        )
        report = self._report(
            facts,
            verdict,
            hunks=carried_outcomes(facts, self._objects, upstream),
            evidence=evidence,
            notes=notes,
        )
        return Judgement(report, patch)

    def _carry(self, facts: CaseFacts) -> Carried:
        case = facts.case
        new_path = {path: place.new or path for path, place in facts.placements.items()}
        before = {new_path[path]: entry for path, entry in facts.entries.items()}
        after = {
            new_path[path]: self._objects.file(facts.merged.tree, path)
            for path in case.applied.paths
        }
        stray = {path for path, _ in self._objects.walk(facts.merged.tree)} - new_path.keys()
        if stray:
            raise PatchqError(f"{case.patch.name}: the merge touched {some(sorted(stray))}")
        tree = self._objects.overlay(
            case.ours, {path: entry for path, entry in after.items() if entry != before[path]}
        )
        return self._carrier.carry(case.patch, case.ours, tree, before, after, facts.moves)

    def _lost_references(self, facts: CaseFacts) -> list[LostReference]:
        """The files of the patch that upstream named and that nothing names any more."""
        paths = facts.case.applied.paths
        return [lost for path in paths if (lost := self.references.lost(path)) is not None]

    # -- the merge is empty, or collides -----------------------------------------------------

    def _judge_collision(self, facts: CaseFacts) -> Judgement:
        units, states = self._apart(facts)
        trails, standing = self._follow(units, states, facts)
        upstreamed = self._upstreamed(facts, trails)
        if upstreamed is not None:
            return upstreamed
        losses = self._gone.losses(trails, facts)
        unreachable = self._gone.unreachable(trails, losses, facts)
        if unreachable is not None:
            return unreachable
        ruled = self._ruled(facts, trail_outcomes(trails, facts), moved=is_found(losses))
        if ruled is not None:
            return ruled
        followed = self._gone.follow(trails, losses, facts)
        if followed is not None:
            return self._judge_moved(facts, *followed)
        evidence = self._gone.evidence(losses) + standing + self._evidence.merged(trails)
        lost = any(not loss.trail.once_landed for loss in losses)
        verdict = Verdict.CONFLICT if lost else unsettled(trails)
        evidence += (
            self._evidence.collisions(trails)
            + self._evidence.undone(trails)
            + self._evidence.moves(facts)
            + self._evidence.splits(facts)
        )
        return Judgement(
            self._report(facts, verdict, hunks=trail_outcomes(trails, facts), evidence=evidence)
        )

    def _judge_moved(
        self, facts: CaseFacts, followed: Followed, found: tuple[Evidence, ...]
    ) -> Judgement:
        patch = self.predicates.followed(self._carry(followed.facts).patch)
        hunks = carried_outcomes(followed.facts, self._objects)
        evidence = found + self._evidence.moves(facts)
        report = self._report(followed.facts, Verdict.MOVED, hunks=hunks, evidence=evidence)
        return Judgement(report, patch)

    def _upstreamed(self, facts: CaseFacts, trails: Sequence[HunkHistory]) -> Judgement | None:
        if not all(trail.has_landed for trail in trails):
            return None
        hunks = trail_outcomes(trails, facts)
        evidence = (
            *self._evidence.merged(trails),
            *self._later.find(trails, facts),
            *self._evidence.moves(facts),
        )
        return Judgement(self._report(facts, Verdict.UPSTREAMED, hunks=hunks, evidence=evidence))

    # -- shared ------------------------------------------------------------------------------

    def _apart(self, facts: CaseFacts) -> tuple[tuple[Unit, ...], list[MergeState]]:
        """The units of the patch, and what a merge of each alone gives."""
        units = split_units(facts.case.patch, facts.case.applied, self._objects)
        if self._merges.is_empty(facts):
            return units, [MergeState.EMPTY] * len(units)
        ours = [{path: facts.entries.get(path) for path in unit.paths} for unit in units]
        return units, self._walker.states(units, ours)

    def _follow(
        self,
        units: Sequence[Unit],
        states: Sequence[MergeState],
        facts: CaseFacts,
        *,
        undoing: bool = True,
    ) -> tuple[list[HunkHistory], tuple[Evidence, ...]]:
        """The trails of the units, and what shows that they were not just merged.

        Unless ``undoing``, that is asked only if all of them landed.
        """
        trails = self._walker.follow(units, states, facts.entries, undoing=undoing)
        trails = self._hidden.find(trails, facts.case.applied, facts.entries)
        if not undoing and not all(trail.has_landed for trail in trails):
            return trails, ()
        return self._in_effect.check(trails, facts)

    def _ruled(
        self, facts: CaseFacts, hunks: tuple[HunkOutcome, ...], *, moved: bool = False
    ) -> Judgement | None:
        """The judgement by the patch's own rules, None if they are silent.

        ``hunks`` are what would become of them otherwise; those of an expired patch go with it.
        """
        case = facts.case
        ruled = self.predicates.ruling(case.patch, accepted=case.accepted, moved=moved)
        if ruled is None:
            return None
        verdict, evidence = ruled
        if verdict is Verdict.EXPIRED:
            hunks = outcomes(case.patch, HunkState.GONE)
        return Judgement(self._report(facts, verdict, hunks=hunks, evidence=(evidence,)))

    def _report(
        self,
        facts: CaseFacts,
        verdict: Verdict,
        *,
        hunks: tuple[HunkOutcome, ...],
        evidence: tuple[Evidence, ...],
        notes: tuple[str, ...] = (),
    ) -> PatchReport:
        patch = facts.case.patch
        return PatchReport(
            name=patch.name,
            verdict=verdict,
            paths=tuple(PathChange(path, facts.placements[path].new) for path in patch.paths),
            hunks=hunks,
            evidence=evidence,
            notes=notes,
            kind=patch.header.kind,
        )
