"""A wheel beside its prediction, library by library, for the terminal."""

from __future__ import annotations

from rich.console import Console

from patchq.model.verification import Outcome, Section
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


def render_torch(section: Section, console: Console) -> None:
    """Print whether a PyTorch has what a wheel needs, and each thing that it has not."""
    writer = Writer(console)
    writer.words(section.summary, style="bold")
    for note in section.notes:
        writer.words(note.text, INDENT)
    for failure in section.failures:
        writer.words(failure.text, INDENT, style="bold red")
    if section.outcome is Outcome.SKIPPED:
        writer.words("No library of it needs anything of PyTorch.", INDENT)
