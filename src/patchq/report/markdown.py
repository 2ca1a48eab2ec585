"""A report as Markdown, for a comment on a forge: decisions on top, the evidence folded away.

GitHub Flavored Markdown. Subjects, paths and names are anybody's text: none of it becomes markup,
a link, a mention of a person or a reference to an issue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from patchq.model.verdict import Column, Matrix, PatchReport, Remembered, Report
from patchq.report.causes import Cause, causes, move_words
from patchq.report.cells import cell, marks, short_bases
from patchq.report.commit import NO_LINKS, Commit, CommitLinks
from patchq.report.look import LIVE, MEMORIES, VERDICTS
from patchq.report.sections import (
    LOOK_AT,
    REQUIREMENTS,
    ReportSection,
    in_section,
    remembered_words,
    requirement_words,
    settled,
    to_decide,
    watched,
)
from patchq.report.summary import state, summary
from patchq.report.text import printable

_MARKUP = re.compile(r"[\\`*_\[\]~|!&<>]|^[-+=#]|^\d+(?=[.)])")
# What a forge takes for review, an issue, an address or a formula, unless a comment follows.
_REFERENCE = re.compile(r"[@#$]|:(?=//)|(?i:\bwww)(?=\.)|(?i:\bGH)(?=-\d)")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_NOTHING = "<!-- -->"

COMMENT_LIMIT = 65_000
"""A little less than what GitHub takes for one comment (65,536 characters)."""


def render_markdown(report: Report, *, links: CommitLinks = NO_LINKS) -> str:
    """``report`` as Markdown.

    ``links`` make links of commits and pull requests.
    """
    blocks = [
        f"### {escape(summary(report))}",
        *_decisions(report, links),
        *_looks(report, links),
        *_requirements(report),
        *_table(report.patches),
        *_evidence(report, links),
    ]
    if line := settled(report):
        blocks.append(escape(line))
    return "\n\n".join(blocks) + "\n"


def render_matrix_markdown(matrix: Matrix, *, links: CommitLinks = NO_LINKS) -> str:
    """The lifecycle matrix as Markdown: open decisions, the grid newest base first, a legend.

    What goes past the length that forges take for a comment is left out, and said.
    """
    count = len(matrix.names)
    blocks = [f"### {count} patch{'' if count == 1 else 'es'}, {len(matrix.columns)} bases"]
    for column in reversed(matrix.open):
        if column.report is not None:
            blocks += [f"**{escape(column.base)}**", *_decisions(column.report, links)]
    blocks.append(_grid(matrix, matrix.shown))
    if matrix.folded:
        whole = _grid(matrix, matrix.columns)
        summary = f"all {len(matrix.columns)} bases"
        blocks.append(f"<details><summary>{summary}</summary>\n\n{whole}\n\n</details>")
    live = [f"{column.base} ({column.role})" for column in matrix.columns if column.role]
    if live:
        blocks.append(escape(f"{LIVE.sign} live: {', '.join(live)}"))
    legend = (f"{mark.look.sign} {mark.word} {count}" for mark, count in marks(matrix))
    blocks.append(escape(" · ".join(legend)))
    text = "\n\n".join(blocks) + "\n"
    if len(text) <= COMMENT_LIMIT:
        return text
    kept = text[: COMMENT_LIMIT - 200].rpartition("\n")[0]
    return f"{kept}\n\nThe rest is left out: it is too long for a comment.\n"


def _grid(matrix: Matrix, columns: Sequence[Column]) -> str:
    """A table of the patches that have a cell on one of ``columns``, the newest base first."""
    columns = tuple(reversed(columns))
    short = short_bases(tuple(column.base for column in columns))
    marks = (LIVE.sign if column.role else "" for column in columns)
    heads = (escape(mark + base) for mark, base in zip(marks, short, strict=True))
    rows = [f"| patch | {' | '.join(heads)} |", "|---" * (len(columns) + 1) + "|"]
    for name in matrix.names:
        cells = [cell(column, name) for column in columns]
        if any(cells):
            signs = (found.mark.look.sign if found else "" for found in cells)
            rows.append(f"| {code(name)} | {' | '.join(signs)} |")
    return "\n".join(rows)


def escape(text: str) -> str:
    r"""``text`` as plain words: no character of it is markup, or calls somebody.

    >>> escape("*bold* <img> @you")
    '\\*bold\\* &lt;img&gt; @<!-- -->you'
    """
    plain = _MARKUP.sub(_escaped, printable(text))
    return _REFERENCE.sub(lambda match: match[0] + _NOTHING, plain)


def _escaped(match: re.Match[str]) -> str:
    found = match[0]
    if found.isdigit():
        return f"{found}{_NOTHING}"
    return _ENTITIES.get(found, f"\\{found}")


def code(text: str) -> str:
    """``text`` as a code span, whatever it holds; safe in a table as well."""
    text = printable(text)
    if "|" in text or "`" in text:
        # in a table a bar ends the cell even within code, so HTML has to do it
        return f"<code>{escape(text)}</code>"
    return f"`{text}`"


def _decisions(report: Report, links: CommitLinks) -> Iterator[str]:
    remembered = to_decide(report)
    patches = in_section(report, ReportSection.DECIDE)
    if remembered or patches:
        lines = [f"**{ReportSection.DECIDE.value}**", ""]
        for item in remembered:
            lines += _remembered(item, links)
        for patch in patches:
            look = VERDICTS[patch.verdict]
            words = f"{look.sign} **{patch.verdict.value}** {code(patch.name)}"
            lines.append(f"- {words}: {escape(state(patch))}")
            lines += _explained(patch, links)
        yield "\n".join(lines)


def _remembered(item: Remembered, links: CommitLinks) -> Iterator[str]:
    look = MEMORIES[item.memory]
    words = f"{look.sign} **{item.memory.value}** {code(item.name)}"
    yield f"- {words}: {escape(remembered_words(item))}"
    if item.now:
        yield from _explained(item.now, links)


def _looks(report: Report, links: CommitLinks) -> Iterator[str]:
    commits = watched(report.patches)
    if commits:
        lines = [f"**{LOOK_AT}**", ""]
        for watch in commits:
            lines.append(f"- {commit_words(watch.commit, links) if watch.commit else 'no commit'}")
            lines += [f"  - {code(name)}: {escape(text)}" for name, text in watch.patches]
        yield "\n".join(lines)


def _requirements(report: Report) -> Iterator[str]:
    found = report.requirements
    if found:
        lines = [f"**{REQUIREMENTS}**", ""]
        for change in found.changes:
            words = escape(requirement_words(change))
            lines.append(f"- **{words}**" if change.pin else f"- {words}")
        yield "\n".join([*lines, *(f"- {escape(text)}" for text in found.unknown)])


def _table(patches: Sequence[PatchReport]) -> Iterator[str]:
    if patches:
        rows = [
            f"| {VERDICTS[patch.verdict].sign} | {code(patch.name)} | {patch.verdict.value} "
            f"| {patch.action.value} | {escape(state(patch))} |"
            for patch in patches
        ]
        yield "\n".join(["| | patch | verdict | action | hunks |", "|---|---|---|---|---|", *rows])


def _evidence(report: Report, links: CommitLinks) -> Iterator[str]:
    """What explains the patches that need no decision, folded away."""
    patches = [
        patch
        for part in (ReportSection.DROPPED, ReportSection.CARRIED)
        for patch in in_section(report, part)
        if causes(patch)
    ]
    if patches:
        lines = ["<details>", f"<summary>Evidence for {len(patches)} more</summary>", ""]
        for patch in patches:
            look = VERDICTS[patch.verdict]
            lines.append(f"- {look.sign} {patch.verdict.value} {code(patch.name)}")
            lines += _explained(patch, links)
        yield "\n".join([*lines, "", "</details>"])


def _explained(patch: PatchReport, links: CommitLinks) -> Iterator[str]:
    for cause in causes(patch):
        words = list(_words(cause, patch))
        if cause.commit:
            yield f"  - {commit_words(cause.commit, links)}"
            yield from (f"    - {line}" for line in words)
        else:
            yield from (f"  - {line}" for line in words)


def _words(cause: Cause, patch: PatchReport) -> Iterator[str]:
    yield from map(escape, cause.words)
    yield from (escape(move_words(move, (patch,))) for move in cause.moves)


def commit_words(commit: Commit, links: CommitLinks) -> str:
    """A commit as Markdown: its id, linked if that is known, PR, date and subject."""
    address = links.to(commit.oid)
    oid = f"[`{commit.short}`](<{address}>)" if address else f"`{commit.short}`"
    number = escape(f"(#{commit.pr})") if commit.pr else ""
    pull = links.to_pull(commit.pr) if commit.pr else None
    if pull:
        number = f"([#{_NOTHING}{commit.pr}](<{pull}>))"
    facts = " ".join(word for word in (commit.date, commit.first_tag) if word)
    return " ".join(part for part in (oid, number, escape(facts), escape(commit.subject)) if part)
