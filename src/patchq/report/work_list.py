"""The work list of a new tag: for a terminal, as JSON, as Markdown."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from rich.console import Console

from patchq.model.release import WorkItem, WorkList, WorkSection
from patchq.model.verdict import Evidence
from patchq.report.commit import NO_LINKS, CommitLinks, commit_of
from patchq.report.document import render_document
from patchq.report.jsonreport import evidence_fields
from patchq.report.markdown import commit_words, escape
from patchq.report.terminal import INDENT, Writer

SCHEMA = "patchq.next/1"

_STYLES = {
    WorkSection.BLOCKS: "bold red",
    WorkSection.CORRUPTS: "bold red",
    WorkSection.DECIDE: "bold magenta",
    WorkSection.LEAVES: "bold blue",
    WorkSection.READ: "bold",
}


def render_work_list(work: WorkList, console: Console) -> None:
    """Print ``work``: a section each for who must act, what is fine in one line."""
    writer = Writer(console)
    writer.words(f"{work.series} → {work.onto}", style="bold")
    for section in WorkSection:
        items = work.of(section)
        if not items:
            continue
        writer.blank()
        writer.words(_heading(section), style=_STYLES[section])
        for item, following in zip_longest(items, items[1:]):
            # a command that answers several items in a row is printed below the last
            repeated = following is not None and following.command == item.command
            _item(writer, replace(item, command=None) if repeated else item)
    writer.blank()
    for words in _closing(work):
        writer.words(words, style="dim")


def _heading(section: WorkSection) -> str:
    return section.value[0].upper() + section.value[1:]


def _item(writer: Writer, item: WorkItem) -> None:
    writer.words(f"{item.subject}: {item.text}", INDENT // 2)
    shown: set[str] = set()
    for evidence in item.evidence:
        commit = commit_of(evidence)
        if commit is None and evidence.text not in item.text:
            writer.words(evidence.text, INDENT, style="dim")
        elif commit is not None and commit.short not in shown:
            shown.add(commit.short)
            writer.commit(commit, INDENT)
    if item.command:
        writer.command(item.command)


def _closing(work: WorkList) -> list[str]:
    lines = []
    if work.fine:
        lines.append(f"Fine: {'; '.join(work.fine)}")
    if work.folded:
        lines.append(f"Guards off: {', '.join(work.folded)}")
    if not work.items:
        lines.append("Nothing to do.")
    return lines


def render_work_list_json(work: WorkList) -> str:
    """The same as a JSON document."""
    return render_document(
        {
            "schema": SCHEMA,
            "series": work.series,
            "onto": work.onto,
            "items": [
                {
                    "section": item.section.value,
                    "subject": item.subject,
                    "text": item.text,
                    "evidence": [evidence_fields(evidence) for evidence in item.evidence],
                    "command": item.command,
                }
                for item in work.items
            ],
            "fine": list(work.fine),
            "guards_off": list(work.folded),
        }
    )


def render_work_list_markdown(work: WorkList, *, links: CommitLinks = NO_LINKS) -> str:
    """The same as Markdown, fit for a comment."""
    lines = [f"## {escape(work.series)} → {escape(work.onto)}", ""]
    for section in WorkSection:
        items = work.of(section)
        if items:
            lines += [f"### {_heading(section)}", ""]
            lines += [_markdown_item(item, links) for item in items]
            lines.append("")
    lines += [f"{escape(words)}\n" for words in _closing(work)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown_item(item: WorkItem, links: CommitLinks) -> str:
    commits = [text for evidence in item.evidence if (text := _commit(evidence, links))]
    parts = [f"**{escape(item.subject)}**: {escape(item.text)}", *dict.fromkeys(commits)]
    if item.command:
        parts.append(f"`{item.command}`")
    return "- " + " · ".join(parts)


def _commit(evidence: Evidence, links: CommitLinks) -> str | None:
    commit = commit_of(evidence)
    return commit_words(commit, links) if commit else None
