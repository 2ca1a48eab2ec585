"""The lifecycle matrix for the terminal: a sign a cell, in as many blocks as the width asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import add

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from patchq.model.verdict import Column, Matrix, Memory, Report
from patchq.report.cells import Cell, cell, marks, short_bases
from patchq.report.look import LIVE
from patchq.report.roots import Root, roots
from patchq.report.sections import ReportSection, in_section, remembered_words, to_decide, watched
from patchq.report.summary import state
from patchq.report.terminal import INDENT, Writer


def render_matrix(matrix: Matrix, console: Console, *, unfolded: bool = False) -> None:
    """Print ``matrix`` to ``console``: open decisions, the grid with the newest bases first, and
    what the signs mean.

    Where bases are live the others are folded, unless it is to be ``unfolded``.
    """
    writer = Writer(console)
    if not matrix.columns:
        writer.words("The lock has no bases yet.")
        return
    _write_open(writer, matrix.open)
    names = {name: writer.say(name.removesuffix(".patch")) for name in matrix.names}
    room = writer.width - max((cell_len(name) for name in names.values()), default=0)
    columns = matrix.columns if unfolded else matrix.shown
    heads = _heads(writer, columns, room)
    for start, end in reversed(list(_blocks(heads, room))):
        _write_block(writer, columns[start:end], heads[start:end], names)
        writer.blank()
    if matrix.names:
        _write_legend(writer, matrix)
    _write_live(writer, matrix, unfolded=unfolded)


def _heads(writer: Writer, columns: Sequence[Column], room: int) -> tuple[str, ...]:
    """The bases by their names where all of them fit ``room``, else shortened; live ones marked."""
    mark = writer.sign(LIVE)
    marks = [mark if column.role else "" for column in columns]
    bases = tuple(column.base for column in columns)
    whole = tuple(map(writer.say, map(add, marks, bases)))
    if sum(2 + cell_len(head) for head in whole) <= room:
        return whole
    return tuple(map(writer.say, map(add, marks, short_bases(bases))))


def _write_live(writer: Writer, matrix: Matrix, *, unfolded: bool) -> None:
    live = [f"{column.base} ({column.role})" for column in matrix.columns if column.role]
    if live:
        writer.words(f"{writer.sign(LIVE)} live: {', '.join(live)}")
    if matrix.folded and not unfolded:
        writer.words(f"Folded: {', '.join(matrix.folded)} (--unfold shows them)", style="dim")


def _write_open(writer: Writer, columns: Sequence[Column]) -> None:
    """What the newest of ``columns`` asks for, line by line, and what the older ones do in one."""
    judged = [(column, column.report) for column in reversed(columns) if column.report]
    for number, (column, report) in enumerate(judged):
        lines = list(_decisions(report))
        if not lines:
            continue
        if number:
            counts = Counter(line.partition(" ")[0] for line in lines)
            words = ", ".join(f"{count} {word}" for word, count in counts.items())
            writer.words(f"{ReportSection.DECIDE.value} on {column.base}: {words}")
        else:
            writer.words(f"{ReportSection.DECIDE.value} on {column.base}", style="bold")
            for line in lines:
                writer.words(line, INDENT)
        writer.blank()


def _decisions(report: Report) -> Iterator[str]:
    for item in to_decide(report):
        yield f"{item.memory.value} {item.name}: {remembered_words(item)}"
    for root in roots(in_section(report, ReportSection.DECIDE)):
        patch = root.patch
        yield f"{patch.verdict.value} {patch.name}: {state(patch)}" + _with_followers(root)
    for watch in watched(report.patches):
        yield from (f"watched {name}: {text}" for name, text in watch.patches)


def _with_followers(root: Root) -> str:
    if not root.followers:
        return ""
    names = ", ".join(patch.name.removesuffix(".patch") for patch in root.followers)
    verb = "stands" if len(root.followers) == 1 else "stand"
    return f"; {len(root.followers)} {verb} on it: {names}"


def _blocks(heads: Sequence[str], room: int) -> Iterator[tuple[int, int]]:
    """Runs of columns that fit ``room``, at least one a run; the last ones are the fullest."""
    end = len(heads)
    found = []
    while end:
        start, used = end, 0
        while start and (start == end or used + 2 + cell_len(heads[start - 1]) <= room):
            start -= 1
            used += 2 + cell_len(heads[start])
        found.append((start, end))
        end = start
    return reversed(found)


def _write_block(
    writer: Writer, columns: Sequence[Column], heads: Sequence[str], names: dict[str, str]
) -> None:
    """One run of columns, with the patches that something happened to in it."""
    rows = {name: [cell(column, name) for column in columns] for name in names}
    shown = {name: cells for name, cells in rows.items() if any(map(_tells, cells))}
    width = max((cell_len(names[name]) for name in shown), default=0)
    line = Text(" " * width)
    for head in heads:
        line.append(f"  {head}", style="bold")
    writer.row(line)
    for name, cells in shown.items():
        line = Text(names[name] + " " * (width - cell_len(names[name])))
        for head, found in zip(heads, cells, strict=True):
            sign = writer.sign(found.mark.look) if found else " "
            line.append(f"  {sign:>{cell_len(head)}}", style=found.mark.look.style if found else "")
        writer.row(line)


def _tells(found: Cell | None) -> bool:
    """Whether a cell is worth a row; that a patch stays retired is not."""
    return found is not None and found.mark.word != Memory.SETTLED.value


def _write_legend(writer: Writer, matrix: Matrix) -> None:
    writer.items(
        [
            Text.assemble((writer.sign(mark.look), mark.look.style), f" {mark.word} {count}")
            for mark, count in marks(matrix)
        ]
    )
