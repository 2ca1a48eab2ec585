"""The status of a workspace as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from patchq.model.status import EditStatus, RebaseStatus, ResolveStatus, SeriesStatus, Status
from patchq.report.document import render_document
from patchq.report.stopped import render_stop
from patchq.report.terminal import Writer
from patchq.report.text import spelled

SCHEMA = "patchq.status/1"

_LABEL = 11


_MOST = 5
"""Names of a kind that are listed; the others are counted."""


def render_status(status: Status, console: Console) -> None:
    """Print ``status``: a line a fact, then the rebase under way and the ways on."""
    writer = Writer(console)
    for label, value in _facts(status):
        writer.line(Text.assemble((f"{label:{_LABEL}}", "dim"), writer.say(value)))
    if status.rebase is not None:
        writer.blank()
        _rebase(writer, status.rebase, console)
    if status.resolve is not None:
        writer.blank()
        _resolve(writer, status.resolve)
    if status.edit is not None:
        writer.blank()
        _edit(writer, status.edit)


def _facts(status: Status) -> Iterator[tuple[str, str]]:
    yield "workspace", status.root
    yield "upstream", status.upstream
    if status.lender and status.lender != status.upstream:
        yield "lent by", status.lender
    for limit in status.limits:
        yield "note", limit
    count = len(status.bases)
    ends = dict.fromkeys((status.bases[0], status.bases[-1])) if count else ()
    yield "bases", f"{count}: {' … '.join(ends)}" if count else "none yet"
    yield "series", ", ".join(map(_counted, status.series)) or "none yet"
    off: dict[str, list[str]] = {}
    for each in status.series:
        for entry in each.guarded_off:
            off.setdefault(str(entry), []).append(each.tag)
    for words, tags in list(off.items())[:_MOST]:
        yield "guarded", f"{words} is off on {', '.join(tags)}"
    if (more := len(off) - _MOST) > 0:
        yield "guarded", f"{more} more are off: `patchq list TAG` shows them"
    for each in status.series:
        for name, verdict in each.held[:_MOST]:
            yield "held", f"{name} on {each.tag}: {verdict.value}"
        if (more := len(each.held) - _MOST) > 0:
            yield "held", f"{more} more: `patchq resolve` lists them"
        for name in each.resurfaced[:_MOST]:
            yield "resurfaced", f"{name} on {each.tag}: `patchq revive {name} {each.tag}`"
        if (more := len(each.resurfaced) - _MOST) > 0:
            yield "resurfaced", f"{more} more: `patchq report {each.tag}` shows them"
        if each.problem:
            yield "broken", spelled(each.problem)
    for name in status.unlocked:
        yield "unlocked", f"series/{name} is on no base of upstream.lock: `patchq lock {name}`"
    if last := status.last:
        yield "undo", last.problem or f"{last.label} ({last.time})"


def _counted(series: SeriesStatus) -> str:
    count, off = series.patches, len(series.guarded_off)
    if count is None:
        return f"{series.tag} (?)"
    return f"{series.tag} ({count - off} of {count})" if off else f"{series.tag} ({count})"


def _rebase(writer: Writer, rebase: RebaseStatus, console: Console) -> None:
    if rebase.report is not None and rebase.stopped is not None:
        solvable = rebase.worktree is not None
        render_stop(rebase.report, rebase.stopped, solvable=solvable, console=console)
    else:
        at = f", stopped at {rebase.stopped}" if rebase.stopped else ""
        writer.words(f"{rebase.source} → {rebase.onto} is under way{at}", style="bold")
    if rebase.unmerged or rebase.marked or rebase.problem:
        writer.blank()
    _unsolved(writer, rebase)
    if rebase.problem:
        writer.words(rebase.problem, style="bold red")
    elif rebase.stopped is None:
        writer.words("Everything is decided: `patchq rebase --continue` writes the new series.")


def _unsolved(writer: Writer, where: RebaseStatus | ResolveStatus) -> None:
    for path in where.marked:
        writer.line(Text.assemble(("markers left: ", "bold red"), writer.say(path)))
    for path in where.unmerged:
        writer.line(Text.assemble(("not added: ", "bold red"), writer.say(path)))


def _resolve(writer: Writer, resolve: ResolveStatus) -> None:
    where = f", in {', '.join(resolve.conflicts)}" if resolve.conflicts else ""
    writer.words(
        f"{resolve.name} is being solved for the series on {resolve.tag}{where}", style="bold"
    )
    _unsolved(writer, resolve)
    if resolve.problem:
        writer.words(resolve.problem, style="bold red")
    writer.words(f"Solve it in {resolve.worktree} and `git add` there what is solved.")
    writer.words("Then one of:")
    writer.words("  patchq resolve --continue  take what is there")
    writer.words("  patchq resolve --abort     leave the patch out of the series")


def _edit(writer: Writer, edit: EditStatus) -> None:
    upto = f" up to {edit.opened}" if edit.opened else ""
    writer.words(f"{edit.tag} is open for editing{upto}", style="bold")
    if edit.problem:
        writer.words(edit.problem, style="bold red")
        return
    writer.words(f"Its patches are commits in {edit.worktree}. Then one of:")
    writer.words("  patchq refresh       write back what is there")
    writer.words("  patchq edit --abort  forget it")


def render_status_json(status: Status) -> str:
    """``status`` as a JSON document."""
    rebase, edit, last = status.rebase, status.edit, status.last
    resolve = status.resolve
    document = {
        "schema": SCHEMA,
        "workspace": status.root,
        "upstream": status.upstream,
        "lender": status.lender,
        "limits": list(status.limits),
        "bases": list(status.bases),
        "series": [
            {
                "tag": each.tag,
                "patches": each.patches,
                "guarded_off": [
                    {"name": entry.name, "guards": entry.guard_words} for entry in each.guarded_off
                ],
                "held": [{"name": name, "verdict": kind.value} for name, kind in each.held],
                "resurfaced": list(each.resurfaced),
                "problem": each.problem and spelled(each.problem),
            }
            for each in status.series
        ],
        "unlocked": list(status.unlocked),
        "rebase": rebase
        and {
            "from": rebase.source,
            "onto": rebase.onto,
            "since": rebase.since,
            "decided": [{"name": name, "choice": choice} for name, choice in rebase.decided],
            "stopped": rebase.stopped,
            "worktree": rebase.worktree,
            "unmerged": list(rebase.unmerged),
            "marked": list(rebase.marked),
            "problem": rebase.problem,
        },
        "resolve": resolve
        and {
            "name": resolve.name,
            "tag": resolve.tag,
            "worktree": resolve.worktree,
            "conflicts": list(resolve.conflicts),
            "unmerged": list(resolve.unmerged),
            "marked": list(resolve.marked),
            "problem": resolve.problem,
        },
        "edit": edit
        and {
            "tag": edit.tag,
            "opened": edit.opened,
            "since": edit.since,
            "worktree": edit.worktree,
            "problem": edit.problem,
        },
        "undo": last
        and {
            "command": last.label,
            "time": last.time,
            "paths": list(last.paths),
            "problem": last.problem,
        },
    }
    return render_document(document)
