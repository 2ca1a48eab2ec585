"""A rebase that stopped, for the terminal: the patch, why, whose commit, and the ways on."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from patchq.model.verdict import PatchReport, Report, Verdict
from patchq.report.causes import causes
from patchq.report.look import VERDICTS
from patchq.report.summary import state
from patchq.report.terminal import INDENT, Writer

_SOLVE = (
    "Solve it in .patchq/worktree with any tool (an editor, git mergetool, …),",
    "and `git add` there what is solved.",
)
_SKIP = ("patchq rebase --skip --reason WHY", "leave this patch out")
_ABORT = ("patchq rebase --abort", "forget the rebase")
_MERGE_WAYS = (
    ("patchq rebase --continue", "continue with what is there"),
    _SKIP,
    _ABORT,
)
_DRIFT_WAYS = (
    ("patchq rebase --accept-drift WHY", "carry it all the same, if it merges"),
    ("patchq rebase --continue", "after editing its X-Expect"),
    _SKIP,
    _ABORT,
)


def render_stop(report: Report, stopped: str, *, solvable: bool, console: Console) -> None:
    """Print why ``report`` stops at the patch ``stopped``, and how to go on.

    ``solvable`` says whether there is a worktree to solve it in.
    """
    writer = Writer(console)
    names = [patch.name for patch in report.patches]
    patch = report.patches[names.index(stopped)]
    place = f"patch {names.index(stopped) + 1} of {len(names)}"
    writer.words(f"{report.series} → {report.onto} stopped at {place}", style="bold")
    for earlier in report.patches[: names.index(stopped)]:
        for note in earlier.notes:
            writer.words(f"{earlier.name}: {note}", 2, style="dim")
    writer.blank()
    _patch(writer, patch)
    later = sum(other.name != stopped for other in report.needs_review)
    if later:
        writer.words(f"{later} more may need you after it", INDENT, style="dim")
    writer.blank()
    for words in _SOLVE if solvable else ():
        writer.words(words)
    writer.words("Then one of:" if solvable else "One of:")
    ways = _ways(patch, solvable)
    width = max(len(command) for command, _ in ways)
    for command, meaning in ways:
        writer.line(Text.assemble((f"{command:{width}}", "bold"), "  ", meaning), 2)


def _ways(patch: PatchReport, solvable: bool) -> tuple[tuple[str, str], ...]:
    if patch.verdict is Verdict.DRIFTED:
        return _DRIFT_WAYS
    return _MERGE_WAYS if solvable else (_SKIP, _ABORT)


def _patch(writer: Writer, patch: PatchReport) -> None:
    look = VERDICTS[patch.verdict]
    head = Text.assemble(
        (f"{writer.sign(look)} {patch.verdict.value}", look.style),
        "  ",
        (writer.say(patch.name), "bold"),
        (f"  {state(patch)}", "dim"),
    )
    writer.line(head)
    for cause in causes(patch):
        if cause.commit:
            writer.commit(cause.commit, INDENT)
        indent = INDENT + 2 * bool(cause.commit)
        for words in cause.words:
            writer.words(words, indent)
        for move in cause.moves:
            writer.words(f"{move.old or '.'}/ → {move.new or '.'}/", indent)
