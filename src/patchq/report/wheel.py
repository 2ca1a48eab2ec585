"""A wheel beside its prediction, library by library, for the terminal."""

from __future__ import annotations

from rich.console import Console

from patchq.model.verification import Outcome
from patchq.model.wheel import WheelReport, counts_of
from patchq.report.terminal import INDENT, Writer


def render_wheel(report: WheelReport, console: Console) -> None:
    """Print ``report`` to ``console``, in its width, colours and encoding."""
    writer = Writer(console)
    passed = report.section.outcome is Outcome.PASSED
    writer.words(f"{report.section.summary} ({report.machine})", style="bold")
    for row in report.rows:
        writer.blank()
        target = f" ({row.predicted.target})" if row.predicted and row.library else ""
        style = "green" if row.equal else "bold red"
        writer.words(f"{'equal' if row.equal else 'differs'}  {row.name}{target}", style=style)
        writer.words(f"built      {counts_of(row.library)}", INDENT)
        if not row.equal:
            writer.words(f"predicted  {counts_of(row.predicted)}", INDENT)
    if not passed:
        writer.blank()
        writer.words("The wheel is not what the patched tree builds for this target.")
