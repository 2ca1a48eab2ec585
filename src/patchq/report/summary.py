"""A report in one line."""

from __future__ import annotations

from collections import Counter

from patchq.model.verdict import Report, Verdict


def summary(report: Report) -> str:
    """``v1 → v2 · 5 patches: 4 moved, 1 conflict``: the most frequent verdict first."""
    total = len(report.patches)
    counts = Counter(patch.verdict for patch in report.patches)
    verdicts = sorted((verdict for verdict in Verdict if counts[verdict]), key=lambda v: -counts[v])
    words = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in verdicts)
    guards = f" (with {', '.join(report.guards)})" if report.guards else ""
    patches = f"{total} patch{'' if total == 1 else 'es'}"
    return f"{report.series} → {report.onto}{guards} · {patches}" + (f": {words}" if words else "")
