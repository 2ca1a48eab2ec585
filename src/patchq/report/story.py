"""One patch's story in full, for the terminal: what it is, then what happened base by base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from patchq.model.verdict import (
    Action,
    Column,
    EvidenceKind,
    HunkOutcome,
    PatchReport,
    PathChange,
    Story,
)
from patchq.report.cells import UNFETCHED_WORD, Cell, cell
from patchq.report.commit import SHORT_ID, commit_of
from patchq.report.document import render_document
from patchq.report.jsonreport import patch_fields
from patchq.report.sections import remembered_words
from patchq.report.summary import missing_path, state
from patchq.report.terminal import INDENT, Writer
from patchq.report.text import day

SCHEMA = "patchq.story/1"

_WORDS: dict[Action, str] = {
    Action.CARRY: "carried",
    Action.ADAPT: "carried, rewritten",
    Action.DROP: "left the series",
    Action.REVIEW: "needs review",
}


def render_story(story: Story, console: Console) -> None:
    """Print ``story`` to ``console``: nothing is summed up, every hunk and path is there."""
    writer = Writer(console)
    writer.words(story.name, style="bold")
    if story.subject:
        writer.words(story.subject)
    writer.words(f"kind: {story.kind or 'none given'}", style="dim")
    for guard in story.guards:
        writer.words(f"guard: {guard}", style="dim")
    for end in story.ends:
        writer.words(f"ends: {end}", style="dim")
    if not story.ends:
        writer.words("ends: no rule; it is carried until upstream has it", style="dim")
    chapters = [found for column in story.columns if (found := cell(column, story.name))]
    if not chapters:
        writer.blank()
        writer.words("It has been in no series and judged on no base.")
    for chapter in chapters:
        writer.blank()
        _write_chapter(writer, chapter)


def render_story_json(story: Story) -> str:
    """``story`` as a JSON document: a report for each base it was judged on."""
    chapters = [found for column in story.columns if (found := cell(column, story.name))]
    return render_document(
        {
            "schema": SCHEMA,
            "name": story.name,
            "subject": story.subject,
            "kind": story.kind,
            "guards": list(story.guards),
            "ends": list(story.ends),
            "bases": [
                {
                    "name": chapter.column.base,
                    "date": chapter.column.date,
                    "mark": chapter.mark.word,
                    "patch": patch_fields(chapter.patch) if chapter.patch else None,
                }
                for chapter in chapters
            ],
        }
    )


def _write_chapter(writer: Writer, chapter: Cell) -> None:
    column, mark = chapter.column, chapter.mark
    head = Text.assemble(
        (f"{writer.sign(mark.look)} {mark.word}", mark.look.style),
        "  ",
        (writer.say(_way(column)), "bold"),
        "  ",
        (day(column.date), "dim"),
    )
    writer.line(head)
    if mark.word == UNFETCHED_WORD and column.unfetched != (column.base,):
        writer.words(f"not judged without {' and '.join(column.unfetched)}", INDENT)
    if chapter.remembered:
        writer.words(remembered_words(chapter.remembered), INDENT)
    if chapter.patch:
        _write_patch(writer, chapter.patch, judged=chapter.remembered is None)


def _way(column: Column) -> str:
    return f"{column.report.series} → {column.base}" if column.report else column.base


def _write_patch(writer: Writer, patch: PatchReport, *, judged: bool) -> None:
    words = f"{_WORDS[patch.action]} · {state(patch)}" if judged else state(patch)
    writer.words(words, INDENT)
    for note in patch.notes:
        writer.words(note, INDENT)
    if patch.blocked_by:
        writer.words(f"after {', '.join(patch.blocked_by)}", INDENT)
    for evidence in patch.evidence:
        label = "to look at" if evidence.kind is EvidenceKind.WATCH else evidence.kind.value
        writer.words(f"{label}: {evidence.text}", INDENT)
        if commit := commit_of(evidence):
            writer.commit(commit, INDENT + 2)
    for change in patch.paths:
        writer.words(_path(patch, change), INDENT, style="dim")
        for words in _hunks([hunk for hunk in patch.hunks if hunk.file == change.old]):
            writer.words(words, INDENT + 2, style="dim")


def _path(patch: PatchReport, change: PathChange) -> str:
    if change.new is None:
        return f"{change.old} → {missing_path(patch)}"
    return change.old if change.old == change.new else f"{change.old} → {change.new}"


def _hunks(hunks: Sequence[HunkOutcome]) -> Iterator[str]:
    for hunk in hunks:
        number = f"hunk {hunk.index}" if hunk.index else "whole file"
        offset = f", offset {hunk.offset:+d}" if hunk.offset else ""
        commit = f" by {hunk.commit[:SHORT_ID]}" if hunk.commit else ""
        yield f"{number}: {hunk.state.value}{offset}{commit}"
