"""A report for the terminal: what needs a decision first, what is fine in one line each.

Patches with the same explanation stand together and it is given once, below them: a directory that
moved touches many patches and is one fact. Paths and commit ids are never cut; only the subjects of
commits are shortened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from patchq.model.requirements import RequirementChanges
from patchq.model.verdict import PatchReport, Remembered, Report
from patchq.report.causes import Cause, causes, move_words
from patchq.report.look import MEMORIES, VERDICTS
from patchq.report.sections import (
    LOOK_AT,
    REQUIREMENTS,
    ReportSection,
    Watched,
    in_section,
    remembered_words,
    requirement_words,
    settled,
    to_decide,
    watched,
)
from patchq.report.summary import facts, state, summary
from patchq.report.terminal import INDENT, Writer


def render_table(report: Report, console: Console) -> None:
    """Print ``report`` to ``console``, in its width, colours and encoding."""
    writer = Writer(console)
    writer.words(summary(report), style="bold")
    for part in ReportSection:
        remembered = to_decide(report) if part is ReportSection.DECIDE else ()
        patches = in_section(report, part)
        if remembered or patches:
            _heading(writer, part.value)
            for item in remembered:
                _write_remembered(writer, item)
            if remembered and patches:
                writer.blank()
            _write_section(writer, patches)
        if part is ReportSection.DECIDE:
            _write_watched(writer, watched(report.patches))
            _write_requirements(writer, report.requirements)
    if line := settled(report):
        writer.blank()
        writer.words(line, style="dim")


def _heading(writer: Writer, text: str) -> None:
    writer.blank()
    writer.words(text, style="dim")


def _write_remembered(writer: Writer, item: Remembered) -> None:
    look = MEMORIES[item.memory]
    head = Text.assemble(
        (f"{writer.sign(look)} {item.memory.value}", look.style),
        "  ",
        (writer.say(item.name), "bold"),
    )
    writer.line(head)
    writer.words(remembered_words(item), INDENT)
    if item.now:
        for cause in causes(item.now):
            _write_cause(writer, cause, (item.now,))


def _write_watched(writer: Writer, commits: Sequence[Watched]) -> None:
    if commits:
        _heading(writer, LOOK_AT)
    for watch in commits:
        if watch.commit:
            writer.commit(watch.commit, 0)
        for name, text in watch.patches:
            writer.words(f"{name}: {text}", INDENT)


def _write_requirements(writer: Writer, requirements: RequirementChanges) -> None:
    if not requirements:
        return
    _heading(writer, REQUIREMENTS)
    for change in requirements.changes:
        writer.words(requirement_words(change), style="bold" if change.pin else "")
    for text in requirements.unknown:
        writer.words(text)


def _write_section(writer: Writer, patches: Sequence[PatchReport]) -> None:
    groups: dict[tuple[Cause, ...], list[PatchReport]] = {}
    for patch in patches:
        groups.setdefault(causes(patch), []).append(patch)
    columns = _columns(writer, patches)
    # last those that nothing needs to be said of: what follows a line would seem to explain it
    for number, group in enumerate(sorted(groups, key=lambda causes: not causes)):
        if number:
            writer.blank()
        if group and len(groups[group]) > 1:
            writer.words(f"{len(groups[group])} patches, explained together:", style="dim")
        for patch in groups[group]:
            _write_patch(writer, patch, columns)
        for cause in group:
            _write_cause(writer, cause, groups[group])


@dataclass(frozen=True)
class _Columns:
    """Widths that line the heads of patches up."""

    verdict: int
    name: int


def _columns(writer: Writer, patches: Sequence[PatchReport]) -> _Columns:
    """Columns as wide as the widest; names are not lined up where that breaks lines."""
    verdict = max((len(patch.verdict.value) for patch in patches), default=0)
    name = max((len(writer.say(patch.name)) for patch in patches), default=0)
    rest = max((len(state(patch)) for patch in patches), default=0)
    fits = 2 + verdict + 2 + name + 2 + rest <= writer.width
    return _Columns(verdict, name if fits else 0)


def _write_patch(writer: Writer, patch: PatchReport, columns: _Columns) -> None:
    look = VERDICTS[patch.verdict]
    text = Text.assemble(
        (f"{writer.sign(look)} {patch.verdict.value:{columns.verdict}}", look.style),
        "  ",
        (f"{writer.say(patch.name):{columns.name}}", "bold"),
    )
    rest = Text(writer.say(facts(patch)), style="dim")
    if text.cell_len + 2 + rest.cell_len <= writer.width:
        writer.line(Text.assemble(text, "  ", rest))
    else:
        writer.line(text)
        writer.line(rest, INDENT)


def _write_cause(writer: Writer, cause: Cause, patches: Sequence[PatchReport]) -> None:
    indent = INDENT
    if cause.commit:
        writer.commit(cause.commit, indent)
        indent += 2
    for words in (*cause.words, *(move_words(move, patches) for move in cause.moves)):
        writer.words(words, indent)
