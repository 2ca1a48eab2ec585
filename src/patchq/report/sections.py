"""What needs a decision, what leaves, what is fine: the parts of every report, in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from patchq.model.requirements import RequirementChange
from patchq.model.verdict import (
    Action,
    EvidenceKind,
    Memory,
    PatchReport,
    Remembered,
    Report,
)
from patchq.model.words import counted
from patchq.report.commit import ShownCommit, commit_of


class ReportSection(Enum):
    """The parts that patches fall into, in order, by their headings."""

    DECIDE = "Needs a decision"
    DROPPED = "Leaves the series"
    CARRIED = "Carried"


LOOK_AT = "To look at"
REQUIREMENTS = "Upstream's own requirements that changed"


def section(patch: PatchReport) -> ReportSection:
    """The part that ``patch`` belongs to; watched commits alone put it nowhere else."""
    if patch.action is Action.DROP:
        return ReportSection.DROPPED
    kinds = {evidence.kind for evidence in patch.evidence}
    undecided = patch.action is Action.REVIEW or kinds & {
        EvidenceKind.NOT_COVERED,
        EvidenceKind.HINT,
    }
    return ReportSection.DECIDE if undecided else ReportSection.CARRIED


def in_section(report: Report, part: ReportSection) -> tuple[PatchReport, ...]:
    """The patches of one part, in series order."""
    return tuple(patch for patch in report.patches if section(patch) is part)


def to_decide(report: Report) -> tuple[Remembered, ...]:
    """The patches out of the series that need a decision: resurfaced, lost, held, in this order."""
    return tuple(
        item
        for memory in (Memory.RESURFACED, Memory.LOST, Memory.HELD)
        for item in report.remembered
        if item.memory is memory
    )


def settled(report: Report) -> str:
    """One line on the retired patches that need nobody; empty if there are none."""
    counts = [
        f"{counted(count, 'retired patch')} {words}"
        for memory, words in (
            (Memory.SETTLED, "settled"),
            (Memory.UNKNOWN, f"cannot be judged on {report.onto}"),
        )
        if (count := sum(item.memory is memory for item in report.remembered))
    ]
    return " · ".join(counts)


def remembered_words(item: Remembered) -> str:
    """Why a remembered patch is where it is, in words."""
    if item.memory is Memory.LOST or item.retired_as is None:
        return f"in {item.since}, not in {item.missing}, no record"
    now = f", now {item.now.verdict.value}" if item.now else ""
    left = "held" if item.memory is Memory.HELD else "retired"
    needed = f", still needed by {', '.join(item.needed_by)}" if item.needed_by else ""
    return f"{left} as {item.retired_as.value} on {item.since}{now}{needed}"


def requirement_words(change: RequirementChange) -> str:
    """A requirement on both bases, and what the recipe pins it to."""
    if change.pin is None:
        return change.text
    reason = f": {change.reason}" if change.reason else ""
    return f"{change.text}, the recipe pins {change.pin}{reason}"


@dataclass(frozen=True)
class Watched:
    """An upstream commit that patches watch for, and what each says of it."""

    commit: ShownCommit | None
    patches: tuple[tuple[str, str], ...]


def watched(patches: Iterable[PatchReport]) -> tuple[Watched, ...]:
    """The evidence of ``X-Watch``, by commit."""
    groups: dict[ShownCommit | None, list[tuple[str, str]]] = {}
    for patch in patches:
        for evidence in patch.evidence:
            if evidence.kind is EvidenceKind.WATCH:
                groups.setdefault(commit_of(evidence), []).append((patch.name, evidence.text))
    return tuple(Watched(commit, tuple(group)) for commit, group in groups.items())
