"""Judge a patch in its place in a series.

Code that upstream never had cannot be gone upstream: a patch that edits code which only a patch
below it adds is judged by what became of that one, never by what upstream lacks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from patchq.engine.judge.cache import VerdictCache
from patchq.engine.judge.case import LostPatch, PlacedPatch
from patchq.engine.judge.evidence import unit_words
from patchq.engine.judge.fault import ends_all, faulted
from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.predicates import SpanPredicates
from patchq.engine.judge.unmerged import uncovered, unjudged, without_base
from patchq.engine.languages.outline import outline
from patchq.engine.series.hunks import Unit, changed_region, split_units
from patchq.engine.series.stack import PatchRefusedError, Stack
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import PatchqError
from patchq.git.merge import MergeQuestion, MergeState
from patchq.git.objects import Entry, Objects
from patchq.model.patch import Patch, Reach
from patchq.model.verdict import (
    Evidence,
    EvidenceKind,
    HunkState,
    PatchReport,
    Verdict,
)
from patchq.model.words import some

if TYPE_CHECKING:
    from patchq.engine.judge.judge import Judge
    from patchq.engine.judge.landing.history_walk import HistoryWalker

_CARRIED = frozenset({Verdict.CLEAN, Verdict.MOVED, Verdict.ADAPTED, Verdict.PARTIAL})
_SEPARATOR = re.compile(r"\.|::")
_OF_UPSTREAM = frozenset(
    {
        EvidenceKind.CONFLICTING_CHANGE,
        EvidenceKind.PATH_GONE,
        EvidenceKind.SYMBOL_GONE,
        EvidenceKind.CODE_MOVED,
        EvidenceKind.MERGED,
    }
)
"""Evidence of what upstream did to code; it does not hold for code that a lost patch added."""


def nothing_new() -> bool:
    """Finds nothing."""
    return False


class PlaceJudge:
    """Judges patches in their places in a series, between two bases."""

    def __init__(
        self, span: UpstreamRange, stack: Stack, paths: Iterable[str], cache: VerdictCache
    ):
        """``paths`` are those of all patches to be judged."""
        self._span = span
        self._cache = cache
        self._objects = span.store.objects
        self.stack = stack
        self._paths = sorted(paths)
        span.expect(path for path in self._paths if span.covers(path))
        self.predicates = SpanPredicates(span)
        self._merger = span.store.merger
        self.find_together = nothing_new
        """Called before a patch is judged that has no cached judgement; whether it may have one
        now."""

    @cached_property
    def judge(self) -> Judge:
        """The judge for patches without a cached judgement; it imports most of the engine."""
        from patchq.engine.judge.judge import Judge

        judge = Judge(self._span, self.stack, self._paths)
        judge.predicates = self.predicates  # with the answers found before
        return judge

    @cached_property
    def _walker(self) -> HistoryWalker:
        from patchq.engine.judge.landing.history_walk import HistoryWalker

        return HistoryWalker(self._span)

    def judge_in_place(self, placed: PlacedPatch) -> Judgement:
        """The judgement on a patch; an error that concerns only this patch is a ``conflict``.

        Raises :class:`PatchRefusedError` if an active patch does not apply to its own base, and
        errors that concern more than this patch: no server to fetch from, a full disk.
        """
        try:
            return self._judge(placed)
        except Exception as error:
            if isinstance(error, PatchRefusedError) and error.onto == placed.old.name:
                if placed.inactive:
                    words = f"its guards are off, and it {error.message}"
                    return unjudged(placed.patch, words)
                raise
            if ends_all(error):
                raise
            return faulted(placed.patch, error)

    def _judge(self, placed: PlacedPatch) -> Judgement:
        patch = placed.patch
        unseen = uncovered(self._span, patch)
        if unseen is not None:
            return unseen
        if placed.missing:
            moved = self.judge.is_elsewhere(patch)
            ruled = self.predicates.ruling(patch, moved=moved)
            return without_base(self._span, patch, placed.missing, ruled, inactive=placed.inactive)
        placed, alone = self._alone(placed)
        if not placed.lost:
            return alone
        key = placed.key_with_lost(self._span, self.predicates)
        return self._kept(key, patch.name, lambda: self._without_lost(placed, alone))

    def questions(self, placed: PlacedPatch) -> list[MergeQuestion]:
        """The merges that :meth:`judge_in_place` will ask for first; none if not known."""
        if not all(map(self._span.covers, placed.patch.paths)):
            return []
        try:
            return self.judge.questions(self.alone(placed).case)
        except PatchqError:
            return []

    def alone(self, placed: PlacedPatch) -> PlacedPatch:
        """The patch on only those below that can affect it, as far as its paths tell."""
        return placed.on(self._places(placed.patch))

    def reach(self, patch: Patch) -> Reach:
        """The paths that ``patch`` touches on either base."""
        return Reach.of((*patch.paths, *self._places(patch)))

    def _places(self, patch: Patch) -> set[str]:
        return {new for path in patch.paths if (new := self._span.place(path).new)}

    def _alone(self, placed: PlacedPatch) -> tuple[PlacedPatch, Judgement]:
        """The patch on what can affect it, and its judgement if no patch below were lost."""
        by_trees = map(self._span.place_by_trees, placed.patch.paths)
        places = {place.new for place in by_trees if place.new}
        while True:
            own = placed.on(places)
            key = own.key(self._span, self.predicates)
            found = self._kept(key, placed.patch.name, partial(self._find, own))
            if places.issuperset(found.looked):
                return own, found
            places.update(found.looked)  # others may edit the files that its code moved to

    def _find(self, placed: PlacedPatch) -> Judgement:
        found = self.judge.judge(placed.case)
        by_trees = {self._span.place_by_trees(path).new for path in placed.patch.paths}
        looked = self._places(placed.patch) - by_trees | set(found.looked)
        return replace(found, looked=tuple(sorted(looked)))

    def _kept(self, key: str, name: str, judge: Callable[[], Judgement]) -> Judgement:
        kept = self._cache.get(key)
        if kept is None and self.find_together():
            kept = self._cache.get(key)
        if kept is None:
            kept = {name: judge()}
            self._cache.put(key, kept)
        return kept[name]

    def _without_lost(self, placed: PlacedPatch, judgement: Judgement) -> Judgement:
        """The judgement, adapted to the patches below that are not carried to the new base."""
        report, patch = judgement.report, placed.patch
        required = [item for item in placed.lost if item.patch.name in patch.header.requires]
        stands = self._stands_on(placed)
        verdict = report.verdict
        if verdict is Verdict.EXPIRED:
            return judgement  # by its own header, which no other patch can change
        if verdict in _CARRIED | {Verdict.UPSTREAMED}:
            # The merge shows that the new base has the code it edits, or the result of the edit;
            # not so if the hunk only undoes what a lost patch did.
            stands = [item for item in stands if item.takes_back]
            if verdict is Verdict.UPSTREAMED:
                required = []
        blockers = {item.lost.patch.name: item.lost for item in stands}
        blockers.update((item.patch.name, item) for item in required)
        if verdict is Verdict.UNREACHABLE:
            blockers.update((item.patch.name, item) for item in self._sharing_code(placed))
            if all(item.verdict is Verdict.UNREACHABLE for item in blockers.values()):
                return judgement
        if not blockers:
            return judgement
        lost = [item for item in placed.lost if item.patch.name in blockers]
        evidence = tuple(_lost_evidence(item, stands) for item in lost)
        return Judgement(_blocked(report, evidence, stands, tuple(i.patch.name for i in lost)))

    def _stands_on(self, placed: PlacedPatch) -> list[_Standing]:
        """The units of the patch that do not apply without a lost patch, each with that patch.

        The lost patches are reverted on the old base, the last one first, as far as merging can. A
        unit depends on the one without which it no longer applies.
        """
        patch, objects = placed.patch, self._objects
        sharing = _sharing_files(placed)
        if not sharing:
            return []
        units = list(split_units(patch, placed.applied, objects))
        files = dict(placed.applied.before)
        found = []
        for item in reversed(sharing):
            self._take_out(placed, item.patch, files)
            ours = [{path: files[path] for path in unit.paths} for unit in units]
            states = self._walker.states(units, ours)
            for unit, state in zip(list(units), states, strict=True):
                if state is not MergeState.APPLIES:
                    units.remove(unit)
                    found.append(_Standing(unit, item, state is MergeState.EMPTY))
        return found

    def _sharing_code(self, placed: PlacedPatch) -> Iterator[LostPatch]:
        """The lost patches that edit the same definitions as the patch, in any of their lines.

        Resolving one of them may mean restoring that code.
        """
        sharing, objects = _sharing_files(placed), self._objects
        units = split_units(placed.patch, placed.applied, objects) if sharing else ()
        mine = _places(units, objects)
        for item in sharing:
            others = _places(self._units_below(placed, item.patch), objects)
            if any(place.is_shared(other) for place in mine for other in others):
                yield item

    def _units_below(self, placed: PlacedPatch, lost: Patch) -> tuple[Unit, ...]:
        number = placed.old.patches.index(lost)
        tree = placed.stack.apply_all(
            placed.old.tree, placed.old.patches[:number], onto=placed.old.name
        )
        applied = placed.stack.apply(tree, lost, onto=placed.old.name)
        return split_units(lost, applied, self._objects)

    def _take_out(self, placed: PlacedPatch, lost: Patch, files: dict[str, Entry | None]) -> None:
        """Revert ``lost`` in ``files`` (of the old base), each unit that merges cleanly."""
        objects, tree_of = self._objects, self._objects.tree_of
        whole = placed.applied.tree
        units = self._units_below(placed, lost)
        waiting = [unit for unit in units if not files.keys().isdisjoint(unit.paths)]
        while waiting:
            now = _apart(waiting)
            waiting = [unit for unit in waiting if unit not in now]
            ours = [
                {
                    path: files[path] if path in files else objects.file(whole, path)
                    for path in unit.paths
                }
                for unit in now
            ]
            merged = self._merger.merge_all(
                [
                    MergeQuestion(tree_of(unit.after), tree_of(entries), tree_of(unit.before))
                    for unit, entries in zip(now, ours, strict=True)
                ]
            )
            for unit, answer in zip(now, merged, strict=True):
                if answer.clean:
                    files.update((path, objects.file(answer.tree, path)) for path in unit.paths)


def _apart(units: Iterable[Unit]) -> list[Unit]:
    """The first unit of each file; these do not overlap."""
    found, taken = list[Unit](), set[str]()
    for unit in units:
        if taken.isdisjoint(unit.paths):
            found.append(unit)
        taken.update(unit.paths)
    return found


def _sharing_files(placed: PlacedPatch) -> list[LostPatch]:
    paths = set(placed.patch.paths)
    return [item for item in placed.lost if not paths.isdisjoint(item.patch.paths)]


@dataclass(frozen=True)
class _Place:
    """The place of an edit: a definition, outside of all ("") or, if None, anywhere in a file."""

    path: str
    name: str | None

    def is_shared(self, other: _Place) -> bool:
        """Whether both are the same code, or one is inside the other."""
        if self.path != other.path:
            return False
        if self.name is None or other.name is None:
            return True
        one, two = sorted((_SEPARATOR.split(self.name), _SEPARATOR.split(other.name)), key=len)
        return two[: len(one)] == one


def _places(units: Iterable[Unit], objects: Objects) -> set[_Place]:
    """The places of the edits of ``units``, in the text before them and in the one after."""
    found: set[_Place] = set()
    for unit in units:
        for side in (unit, replace(unit, before=unit.after, after=unit.before)):
            region = changed_region(side, objects)
            shown = outline(region.path, b"".join(region.lines)) if region else None
            if region is None or shown is None:
                found.update(_Place(path, None) for path in unit.paths)
                continue
            first, last = region.first, region.last
            around = shown.around(first, last)
            touched = [d for d in shown.definitions if d.first <= last and d.last >= first]
            names = [around.name] if around else ["", *(each.name for each in touched)]
            found.update(_Place(region.path, name) for name in names)
    return found


@dataclass(frozen=True)
class _Standing:
    """A unit that depends on a lost patch: it edits its lines, or only undoes them."""

    unit: Unit
    lost: LostPatch
    takes_back: bool


def _lost_evidence(lost: LostPatch, stands: Sequence[_Standing]) -> Evidence:
    name = lost.patch.name
    places = [unit_words(item.unit) for item in stands if item.lost is lost]
    edit = "edits" if len(places) == 1 else "edit"
    does = f"{some(places)} {edit} what {name} brings" if places else f"stands on {name}"
    return Evidence(EvidenceKind.REQUIRES, f"{does}, which is not carried ({lost.became})")


def _blocked(
    report: PatchReport,
    evidence: tuple[Evidence, ...],
    stands: Sequence[_Standing],
    names: tuple[str, ...],
) -> PatchReport:
    """``report`` of a patch that cannot be resolved before the patches ``names`` are.

    Evidence that upstream lacks the code is left out: only the patches below added it.
    """
    standing = {(item.unit.file, index) for item in stands for index in item.unit.hunks}
    hunks = tuple(
        replace(hunk, state=HunkState.CONFLICTING, offset=None, commit=None)
        if not standing
        or (hunk.file, hunk.index) in standing
        or report.verdict is Verdict.UNREACHABLE
        else hunk
        for hunk in report.hunks
    )
    others = any((hunk.file, hunk.index) not in standing for hunk in report.hunks)
    said = tuple(item for item in report.evidence if others or item.kind not in _OF_UPSTREAM)
    kept = report.verdict in (Verdict.DRIFTED, Verdict.SUPERSEDED)
    undone = any(item.takes_back for item in stands)
    return replace(
        report,
        verdict=report.verdict if kept and not undone else Verdict.CONFLICT,
        hunks=hunks,
        evidence=evidence + said,
        blocked_by=names,
    )
