"""What became of a patch on another base: verdict, evidence, hunks, report.

A :class:`PatchReport` is made in one place (:mod:`patchq.engine.judge`); actions and exit codes
follow from its verdict by the tables below.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from patchq.model.ids import CommitId
from patchq.model.requirements import RequirementChanges

if TYPE_CHECKING:
    from patchq.model.patch import Patch


class Verdict(Enum):
    """The fate of a patch on the new base; where several hold, the first listed here counts."""

    NOT_COVERED = "not-covered"
    UPSTREAMED = "upstreamed"
    UNREACHABLE = "unreachable"
    EXPIRED = "expired"
    DRIFTED = "drifted"
    SUPERSEDED = "superseded"
    CONFLICT = "conflict"
    PARTIAL = "partial"
    ADAPTED = "adapted"
    MOVED = "moved"
    CLEAN = "clean"


class Action(Enum):
    """What rebase does with the patch."""

    CARRY = "carry"
    ADAPT = "adapt"
    DROP = "drop"
    REVIEW = "review"


ACTIONS: dict[Verdict, Action] = {
    Verdict.NOT_COVERED: Action.CARRY,
    Verdict.UPSTREAMED: Action.DROP,
    Verdict.UNREACHABLE: Action.DROP,
    Verdict.EXPIRED: Action.DROP,
    Verdict.DRIFTED: Action.REVIEW,
    Verdict.SUPERSEDED: Action.REVIEW,
    Verdict.CONFLICT: Action.REVIEW,
    Verdict.PARTIAL: Action.ADAPT,
    Verdict.ADAPTED: Action.ADAPT,
    Verdict.MOVED: Action.CARRY,
    Verdict.CLEAN: Action.CARRY,
}


class HunkState(Enum):
    """Where one hunk of a patch ended up."""

    CARRIED = "carried"
    UPSTREAM = "upstream"
    CONFLICTING = "conflicting"
    GONE = "gone"
    UNCOVERED = "uncovered"


class EvidenceKind(Enum):
    """What a piece of evidence shows."""

    MERGED = "merged"
    PATH_GONE = "path-gone"
    SYMBOL_GONE = "symbol-gone"
    PATH_MOVED = "path-moved"
    CONFLICTING_CHANGE = "conflicting-change"
    CONTEXT_CHANGED = "context-changed"
    CODE_MOVED = "code-moved"
    DUPLICATE = "duplicate"
    DIRECTORY_SPLIT = "directory-split"
    PREDICATE = "predicate"
    UNDONE = "undone"
    EDITED_SINCE = "edited-since"
    MENTIONED_SINCE = "mentioned-since"
    REQUIRES = "requires"
    NOT_COVERED = "not-covered"
    STILL_NEEDED = "still-needed"
    BUILT_WHEEL = "built-wheel"
    UNREFERENCED = "unreferenced"
    WATCH = "watch"
    HINT = "hint"
    FAULT = "fault"
    NAME = "name"
    GATE = "gate"
    CLAIM = "claim"
    REQUIREMENT = "requirement"


@dataclass(frozen=True)
class Evidence:
    """One checkable fact behind a verdict: a commit, where one decided it, and plain words."""

    kind: EvidenceKind
    text: str
    commit: CommitId | None = None
    pr: int | None = None
    subject: str | None = None
    date: str | None = None
    first_tag: str | None = None
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class HunkOutcome:
    """One hunk of a patch: ``file`` is its path in the old patch, ``index`` counts from 1 a file.

    A change without hunks (mode, pure rename, binary) is one outcome of index 0. ``offset`` is in
    lines between the hunk's header and the place where it applied; None if it did not.
    """

    file: str
    index: int
    state: HunkState
    offset: int | None = None
    commit: CommitId | None = None


@dataclass(frozen=True)
class PathChange:
    """A path of the patch on the old base and on the new one (None: no such path there)."""

    old: str
    new: str | None


@dataclass(frozen=True)
class TargetEffect:
    """What a patch does to the build of one target: the name of a verification effect."""

    target: str
    effect: str


@dataclass(frozen=True)
class PatchReport:
    """The verdict on one patch, and all that a reviewer needs to check it."""

    name: str
    verdict: Verdict
    paths: tuple[PathChange, ...] = ()
    hunks: tuple[HunkOutcome, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    kind: str | None = None
    age: int = 1
    skipped: str | None = None
    """Why the user left the patch out, where one did."""
    effects: tuple[TargetEffect, ...] = ()
    """What the patch does to the builds that were evaluated."""

    @property
    def action(self) -> Action:
        """What rebase does with the patch."""
        return ACTIONS[self.verdict] if self.skipped is None else Action.DROP

    @property
    def is_still_needed(self) -> bool:
        """Whether a wheel built of a base that does not cover it shows that it is needed."""
        return any(item.kind is EvidenceKind.STILL_NEEDED for item in self.evidence)

    def count(self) -> Counter[HunkState]:
        """How many hunks ended in each state."""
        return Counter(hunk.state for hunk in self.hunks)


class Memory(Enum):
    """What became of a patch that left the series earlier."""

    SETTLED = "settled"  # what retired it still holds
    RESURFACED = "resurfaced"  # upstream undid it: the patch is needed again
    HELD = "held"  # waits for review
    UNKNOWN = "unknown"  # cannot be judged again on this base
    LOST = "lost"  # neither in the next series nor in its memory: nobody said why


@dataclass(frozen=True)
class Remembered:
    """A patch of ``retired.yaml``, judged again: what it was retired as, and what it is now.

    Of one that is lost, ``since`` is the last series that has it, and ``missing`` the first without
    it; it was retired as nothing.
    """

    name: str
    retired_as: Verdict | None
    since: str
    memory: Memory
    now: PatchReport | None = None
    missing: str = ""
    needed_by: tuple[str, ...] = ()
    """The live bases whose series still has it, with their role."""


@dataclass(frozen=True)
class Report:
    """Every patch of one series on one target, in series order."""

    series: str
    onto: str
    base_commit: CommitId
    onto_commit: CommitId
    guards: tuple[str, ...]
    patches: tuple[PatchReport, ...]
    remembered: tuple[Remembered, ...] = ()
    requirements: RequirementChanges = field(default_factory=RequirementChanges)
    """What upstream itself requires otherwise on the new base."""

    def with_verdict(self, *verdicts: Verdict) -> tuple[PatchReport, ...]:
        """The patches whose verdict is one of ``verdicts``."""
        return tuple(patch for patch in self.patches if patch.verdict in verdicts)

    @property
    def needs_review(self) -> tuple[PatchReport, ...]:
        """The patches that need review."""
        return tuple(patch for patch in self.patches if patch.action is Action.REVIEW)

    @property
    def resurfaced(self) -> tuple[Remembered, ...]:
        """The retired patches that upstream made necessary again."""
        return tuple(item for item in self.remembered if item.memory is Memory.RESURFACED)

    @property
    def lost(self) -> tuple[Remembered, ...]:
        """The patches that vanished between two series."""
        return tuple(item for item in self.remembered if item.memory is Memory.LOST)


@dataclass(frozen=True)
class Column:
    """One base of the lifecycle matrix.

    ``report`` judges the newest series before it on this base (None for the first series);
    ``introduced`` are the patches that this base's own series has and the one before had not,
    ``role`` what a base is for that is still deployed. ``unfetched`` are the bases
    that would have to be fetched to judge it; none if it is judged. The commit of an archive is not
    one of upstream's.
    """

    base: str
    commit: CommitId
    date: str
    has_series: bool
    report: Report | None
    introduced: tuple[str, ...] = ()
    role: str | None = None
    unfetched: tuple[str, ...] = ()
    is_archive: bool = False
    contents: Mapping[str, Patch] = field(default_factory=dict, repr=False, compare=False)
    """The patches as they stand on this base: in its own series, else as they would be carried (as
    they were before, if that is not known); and those that its memory keeps."""

    def patch(self, name: str) -> PatchReport | None:
        """What became of the patch ``name`` on this base, None if it was not judged."""
        patches = self.report.patches if self.report else ()
        return next((patch for patch in patches if patch.name == name), None)

    @property
    def is_unsettled(self) -> bool:
        """Whether its own series leaves something open."""
        report = self.report
        return bool(
            self.has_series
            and report
            and (report.lost or any(item.memory is Memory.HELD for item in report.remembered))
        )

    def memory(self, name: str) -> Remembered | None:
        """What became of the retired patch ``name`` on this base, None if none is."""
        remembered = self.report.remembered if self.report else ()
        return next((item for item in remembered if item.name == name), None)


@dataclass(frozen=True)
class Story:
    """One patch through the bases: what its header says of it, and where it was judged.

    ``ends`` are the rules that end its life, in plain words; ``guards`` are those that it has or
    had in a series, with what the settings say of them.
    """

    name: str
    subject: str
    kind: str | None
    ends: tuple[str, ...]
    columns: tuple[Column, ...]
    guards: tuple[str, ...] = ()


@dataclass(frozen=True)
class Matrix:
    """Every patch against every locked base, in the lock's order."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Every patch, in the order of its first appearance."""
        seen: dict[str, None] = {}
        for column in self.columns:
            for name in column.introduced:
                seen[name] = None
            for patch in column.report.patches if column.report else ():
                seen[patch.name] = None
            for item in column.report.remembered if column.report else ():
                seen[item.name] = None
        return tuple(seen)

    @property
    def open(self) -> tuple[Column, ...]:
        """The judged bases that ask for a decision.

        All after the newest series; of the others those on which a patch is lost or held.
        """
        newest = max((n for n, column in enumerate(self.columns) if column.has_series), default=-1)
        return tuple(
            column
            for number, column in enumerate(self.columns)
            if column.report and (number > newest or column.is_unsettled)
        )

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns to look at first: live bases, open ones, the newest series and what follows.

        All of them if no base is live.
        """
        if not any(column.role for column in self.columns):
            return self.columns
        newest = max((n for n, column in enumerate(self.columns) if column.has_series), default=0)
        unsettled = self.open
        return tuple(
            column
            for number, column in enumerate(self.columns)
            if column.role or number >= newest or column in unsettled
        )

    @property
    def folded(self) -> tuple[str, ...]:
        """The bases of the other columns."""
        shown = self.shown
        return tuple(column.base for column in self.columns if column not in shown)
