"""A report as Markdown, for a comment on a forge: decisions on top, the evidence folded away.

GitHub Flavored Markdown. Subjects, paths and names are anybody's text: none of it becomes markup,
a link, a mention of a person or a reference to an issue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from patchq.model.verdict import Column, Matrix, Memory, PatchReport, Remembered, Report
from patchq.model.words import counted
from patchq.report.causes import Cause, causes, move_words
from patchq.report.cells import Cell, cell, marks, short_bases
from patchq.report.commit import NO_LINKS, CommitLinks, ShownCommit
from patchq.report.look import LIVE, MEMORIES, VERDICTS
from patchq.report.roots import roots
from patchq.report.sections import (
    LOOK_AT,
    REQUIREMENTS,
    ReportSection,
    in_section,
    remembered_words,
    requirement_words,
    section,
    settled,
    to_decide,
    watched,
)
from patchq.report.summary import facts, summary
from patchq.report.text import printable

_MARKUP = re.compile(r"[\\`*_\[\]~|!&<>]|^[-+=#]|^\d+(?=[.)])")
# What a forge takes for a person, an issue, a milestone, an emoji, an address or a formula, unless
# a comment follows.
_REFERENCE = re.compile(r"[@#$%]|:(?=//|[a-z0-9_+-]+:)|(?i:\bwww)(?=\.)|(?i:\bGH)(?=-\d)")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_NOTHING = "<!-- -->"

COMMENT_LIMIT = 65_000
"""A little less than what GitHub takes for one comment (65,536 characters)."""

_IN_SIGHT = 10
"""How many decisions are not folded."""

_GITHUB = re.compile(r"^https://github\.com/")


def render_markdown(report: Report, *, links: CommitLinks = NO_LINKS) -> str:
    """``report`` as Markdown.

    ``links`` make links of commits and pull requests. What goes past the length that forges take
    for a comment is left out, the least important first, and said.
    """

    def blocks(detail: int) -> Iterator[str]:
        yield f"### {escape(summary(report))}"
        yield from _decisions(report, links, detail)
        yield from _looks(report, links)
        yield from _requirements(report)
        yield from _table(report, detail)
        yield from _evidence(report, links, detail)
        if line := settled(report):
            yield escape(line)

    return _fitting(blocks, _LEFT_OUT)


def render_matrix_markdown(matrix: Matrix, *, links: CommitLinks = NO_LINKS) -> str:
    """The lifecycle matrix as Markdown: open decisions, the grid newest base first, a legend.

    As short as :func:`render_markdown`.
    """
    patches, bases = counted(len(matrix.names), "patch"), counted(len(matrix.columns), "base")

    def blocks(detail: int) -> Iterator[str]:
        yield f"### {patches}, {bases}"
        yield from _unfetched(matrix)
        yield from _open(matrix, links, detail)
        yield from _grids(matrix, detail)
        yield from _legend(matrix)

    return _fitting(blocks, _LEFT_OUT_OF_MATRIX)


# -- as long as it may be ----------------------------------------------------------------------

Blocks = Callable[[int], Iterable[str]]
"""Makes the blocks of a text; the higher the number it is given, the less there is in them."""

_LEFT_OUT = (
    "",
    "the evidence for patches that are carried",
    "the evidence for patches that need no decision",
    "the evidence for patches that need no decision, and the table's rows of carried patches",
    "all evidence, and the table's rows of carried patches",
)
_LEFT_OUT_OF_MATRIX = (
    "",
    "the table of all bases",
    "the table of all bases, and the rows of patches that left earlier",
    "the table of all bases, the rows of patches that left earlier, and those of carried patches",
    "all evidence, the table of all bases, and the rows of patches that need no decision",
)
_NO_CARRIED_EVIDENCE, _NO_MORE_EVIDENCE, _NO_CARRIED, _NO_EVIDENCE = 1, 2, 3, 4


def _fitting(blocks: Blocks, left_out: Sequence[str]) -> str:
    """The fullest text of these blocks that fits a comment."""
    for detail, words in enumerate(left_out):
        told = [*blocks(detail)]
        if words:
            told.append(f"Left out, for a comment may not be longer: {words}. {_WHOLE}")
        text = "\n\n".join(told) + "\n"
        if len(text) <= COMMENT_LIMIT:
            return text
    end = f"The rest is left out, for a comment may not be longer. {_WHOLE}"
    kept = text[: COMMENT_LIMIT - len(end) - 40].rpartition("\n")[0]
    still_open = kept.count("<details>") - kept.count("</details>")
    return f"{kept}\n" + "\n</details>\n" * still_open + f"\n{end}\n"


_WHOLE = "`--format html` has all of it."


def _unfetched(matrix: Matrix) -> Iterator[str]:
    names = dict.fromkeys(name for column in matrix.columns for name in column.unfetched)
    if names:
        yield f"Not fetched, so not judged: {escape(', '.join(names))}"


def _open(matrix: Matrix, links: CommitLinks, detail: int) -> Iterator[str]:
    """What the newest base asks for, and folded what older ones do."""
    for number, column in enumerate(reversed(matrix.open)):
        if column.report is None:
            continue
        told = "\n\n".join(
            [*_decisions(column.report, links, detail), *_requirements(column.report)]
        )
        if told and not number:
            yield f"**{escape(column.base)}**\n\n{told}"
        elif told:
            yield _folded(f"{column.base}", told)


def _grids(matrix: Matrix, detail: int) -> Iterator[str]:
    yield _grid(matrix, matrix.shown, detail)
    if matrix.folded and not detail:
        yield _folded(f"all {len(matrix.columns)} bases", _grid(matrix, matrix.columns, detail))


def _legend(matrix: Matrix) -> Iterator[str]:
    live = [f"{column.base} ({column.role})" for column in matrix.columns if column.role]
    if live:
        yield escape(f"{LIVE.sign} live: {', '.join(live)}")
    legend = (f"{mark.look.sign} {mark.word} {count}" for mark, count in marks(matrix))
    yield escape(" · ".join(legend))


def _folded(title: str, text: str) -> str:
    return f"<details>\n<summary>{escape(title)}</summary>\n\n{text}\n\n</details>"


def _grid(matrix: Matrix, columns: Sequence[Column], detail: int) -> str:
    """A table of the patches that have a cell on one of ``columns``, the newest base first."""
    columns = tuple(reversed(columns))
    short = short_bases(tuple(column.base for column in columns))
    marks = (LIVE.sign if column.role else "" for column in columns)
    heads = (escape(mark + base) for mark, base in zip(marks, short, strict=True))
    rows = [f"| patch | {' | '.join(heads)} |", "|---" * (len(columns) + 1) + "|"]
    for name in matrix.names:
        cells = [cell(column, name) for column in columns]
        if any(cells) and (cells[0] is None or _asks(cells[0], detail)):
            signs = (found.mark.look.sign if found else "" for found in cells)
            rows.append(f"| {code(name)} | {' | '.join(signs)} |")
    return "\n".join(rows)


def _asks(newest: Cell, detail: int) -> bool:
    """Whether a row is worth its place, by its cell on the newest base."""
    if newest.remembered:
        return newest.remembered.memory is not Memory.SETTLED or detail < _NO_MORE_EVIDENCE
    if newest.patch is None:
        return detail < _NO_CARRIED
    part = section(newest.patch)
    least = {ReportSection.CARRIED: _NO_CARRIED, ReportSection.DROPPED: _NO_EVIDENCE}
    return detail < least.get(part, _NO_EVIDENCE + 1)


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


def _decisions(report: Report, links: CommitLinks, detail: int) -> Iterator[str]:
    """What needs a decision: the first ones in sight, what stands on another patch with it."""
    entries = [
        [_words_of_memory(item), *(_evidence_of(item.now, links, detail) if item.now else ())]
        for item in to_decide(report)
    ]
    for root in roots(in_section(report, ReportSection.DECIDE)):
        entry = [f"- {_verdict(root.patch)}: {escape(facts(root.patch))}"]
        entry += _evidence_of(root.patch, links, detail)
        if root.followers:
            names = ", ".join(code(patch.name) for patch in root.followers)
            count = len(root.followers)
            entry.append(f"  - {count} {'stands' if count == 1 else 'stand'} on it: {names}")
        entries.append(entry)
    if entries:
        first = [line for entry in entries[:_IN_SIGHT] for line in entry]
        yield "\n".join([f"**{ReportSection.DECIDE.value}**", "", *first])
    rest = [line for entry in entries[_IN_SIGHT:] for line in entry]
    if rest:
        yield _folded(f"{len(entries) - _IN_SIGHT} more to decide", "\n".join(rest))


def _verdict(patch: PatchReport) -> str:
    word = patch.verdict.value
    return f"{VERDICTS[patch.verdict].sign} **{word}** {code(patch.name)}"


def _words_of_memory(item: Remembered) -> str:
    look = MEMORIES[item.memory]
    words = f"{look.sign} **{item.memory.value}** {code(item.name)}"
    return f"- {words}: {escape(remembered_words(item))}"


def _evidence_of(patch: PatchReport, links: CommitLinks, detail: int) -> Iterator[str]:
    return _explained(patch, links) if detail < _NO_EVIDENCE else iter(())


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


def _table(report: Report, detail: int) -> Iterator[str]:
    patches = [
        patch
        for patch in report.patches
        if detail < _NO_CARRIED or section(patch) is not ReportSection.CARRIED
    ]
    if patches:
        rows = [
            f"| {VERDICTS[patch.verdict].sign} | {code(patch.name)} | {patch.verdict.value} "
            f"| {patch.action.value} | {escape(facts(patch))} |"
            for patch in patches
        ]
        yield "\n".join(["| | patch | verdict | action | hunks |", "|---|---|---|---|---|", *rows])


def _evidence(report: Report, links: CommitLinks, detail: int) -> Iterator[str]:
    """What explains the patches that are not told above, folded away."""
    followers = [
        patch
        for root in roots(in_section(report, ReportSection.DECIDE))
        for patch in root.followers
    ]
    parts = [followers, in_section(report, ReportSection.DROPPED)]
    if detail < _NO_CARRIED_EVIDENCE:
        parts.append(in_section(report, ReportSection.CARRIED))
    patches = [patch for part in parts for patch in part if causes(patch)]
    if patches and detail < _NO_MORE_EVIDENCE:
        lines: list[str] = []
        for patch in patches:
            look = VERDICTS[patch.verdict]
            lines.append(f"- {look.sign} {patch.verdict.value} {code(patch.name)}")
            lines += _explained(patch, links)
        yield _folded(f"Evidence for {len(patches)} more", "\n".join(lines))


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


def commit_words(commit: ShownCommit, links: CommitLinks) -> str:
    """A commit as Markdown: its id, linked if that is known, PR, date and subject."""
    address = links.to(commit.oid)
    oid = f"[`{commit.short}`](<{address}>)" if address else f"`{commit.short}`"
    number = escape(f"(#{commit.pr})") if commit.pr else ""
    pull = links.to_pull(commit.pr) if commit.pr else None
    if pull:
        # GitHub tells everybody on a pull request of links to it; not so of this host's
        pull = _GITHUB.sub("https://redirect.github.com/", pull)
        number = f"([#{_NOTHING}{commit.pr}](<{pull}>))"
    facts = " ".join(word for word in (commit.date, commit.first_tag) if word)
    return " ".join(part for part in (oid, number, escape(facts), escape(commit.subject)) if part)
