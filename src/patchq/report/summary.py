"""A report in one line, and a patch in half a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from patchq.model.verdict import HunkState, PatchReport, Report, Verdict
from patchq.model.words import counted


def summary(report: Report) -> str:
    """``v1 → v2 · 5 patches: 4 moved, 1 conflict``: the most frequent verdict first."""
    total = len(report.patches)
    counts = Counter(patch.verdict for patch in report.patches)
    verdicts = sorted((verdict for verdict in Verdict if counts[verdict]), key=lambda v: -counts[v])
    words = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in verdicts)
    guards = f" (with {', '.join(report.guards)})" if report.guards else ""
    patches = counted(total, "patch")
    return f"{report.series} → {report.onto}{guards} · {patches}" + (f": {words}" if words else "")


def state(patch: PatchReport) -> str:
    """Where the hunks are, how far they were moved, and how long the patch has been carried."""
    counts: Mapping[HunkState, int] = patch.count()
    total = sum(counts.values())
    if counts.get(HunkState.CARRIED, 0) == total:
        hunks = f"{total}/{total} hunks"
    else:
        hunks = "hunks: " + ", ".join(
            f"{counts[state]} {state.value}" for state in HunkState if counts.get(state)
        )
    offsets = sorted({hunk.offset for hunk in patch.hunks if hunk.offset is not None})
    parts = [hunks]
    if any(offsets):
        low, high = f"{offsets[0]:+d}", f"{offsets[-1]:+d}"
        parts.append(f"offset {low if low == high else f'{low}…{high}'}")
    if patch.age > 1:
        parts.append(f"age {patch.age}")
    return ", ".join(parts)


def facts(patch: PatchReport) -> str:
    """The :func:`state` of the patch, and its notes."""
    return " · ".join((state(patch), *patch.notes))


def missing_path(patch: PatchReport) -> str:
    """What to say of a path that the new base does not have; an archive may only not cover it."""
    return "not covered" if patch.verdict is Verdict.NOT_COVERED else "nowhere"
