"""A report for the terminal: what needs a decision first, what is fine in one line each.

Patches with the same explanation stand together and it is given once, below them: a directory that
moved touches many patches and is one fact. Paths and commit ids are never cut; only the subjects of
commits are shortened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from patchq.model.verdict import (
    Action,
    Evidence,
    EvidenceKind,
    HunkOutcome,
    HunkState,
    PatchReport,
    PathChange,
    Report,
    Verdict,
)
from patchq.report.summary import summary
from patchq.report.text import printable

SHORT_ID = 9
_NARROWEST = 30
_SUBJECT = 24
_INDENT = 4


class _Section(Enum):
    """The parts of a table, in order, under their headings."""

    DECIDE = "Needs a decision"
    DROPPED = "Leaves the series"
    CARRIED = "Carried"


@dataclass(frozen=True)
class _Look:
    """How a verdict looks: a sign, one for streams that have only ASCII, and a colour."""

    sign: str
    plain: str
    style: str


_LOOKS: dict[Verdict, _Look] = {
    Verdict.NOT_COVERED: _Look("?", "?", "magenta"),
    Verdict.UPSTREAMED: _Look("↑", "^", "blue"),
    Verdict.UNREACHABLE: _Look("∅", "0", "blue"),
    Verdict.EXPIRED: _Look("†", "+", "blue"),
    Verdict.DRIFTED: _Look("≠", "!", "bold red"),
    Verdict.SUPERSEDED: _Look("≈", "&", "bold magenta"),
    Verdict.CONFLICT: _Look("✖", "x", "bold red"),
    Verdict.PARTIAL: _Look("✂", "/", "yellow"),
    Verdict.ADAPTED: _Look("~", "~", "yellow"),
    Verdict.MOVED: _Look("→", ">", "cyan"),
    Verdict.CLEAN: _Look("✔", "=", "green"),
}

_PLAIN = {"→": "->", "·": "-", "…": "..."}

# Evidence that lists the hunks its commit decided, and the state those are in.
_DECIDED = {
    EvidenceKind.MERGED: HunkState.UPSTREAM,
    EvidenceKind.CONFLICTING_CHANGE: HunkState.CONFLICTING,
}
# Evidence that speaks for the whole patch, and that speaks for all hunks of its paths.
_FOR_ALL = {EvidenceKind.PREDICATE, EvidenceKind.REQUIRES, EvidenceKind.NOT_COVERED}
_FOR_PATHS = {EvidenceKind.CONFLICTING_CHANGE, EvidenceKind.PATH_GONE}


def render_table(report: Report, console: Console) -> None:
    """Print ``report`` to ``console``, in its width, colours and encoding."""
    writer = _Writer(console)
    writer.words(summary(report), style="bold")
    for section in _Section:
        patches = [patch for patch in report.patches if _section(patch) is section]
        if patches:
            writer.blank()
            writer.words(section.value, style="dim")
            _write_section(writer, patches)


def _section(patch: PatchReport) -> _Section:
    if patch.action is Action.DROP:
        return _Section.DROPPED
    undecided = patch.action is Action.REVIEW or patch.verdict is Verdict.NOT_COVERED
    hinted = any(evidence.kind is EvidenceKind.HINT for evidence in patch.evidence)
    return _Section.DECIDE if undecided or hinted else _Section.CARRIED


# -- what there is to say --------------------------------------------------------------------


@dataclass(frozen=True)
class _Commit:
    """What evidence says of a commit."""

    oid: str
    pr: int | None
    subject: str
    date: str
    first_tag: str


@dataclass(frozen=True)
class _Directories:
    """A path change without what its two sides end in alike."""

    old: str
    new: str


@dataclass(frozen=True)
class _Cause:
    """A commit (None: none known), what it did to the patch, and which moves it made."""

    commit: _Commit | None
    words: tuple[str, ...]
    moves: tuple[_Directories, ...]


def _causes(patch: PatchReport) -> tuple[_Cause, ...]:
    """All that explains the verdict, by commit, in the order of the evidence."""
    words: dict[_Commit | None, list[str]] = {}
    moves: dict[_Commit | None, list[_Directories]] = {}
    if patch.action is Action.REVIEW:
        words[None] = [*_unexplained(patch), *(f"after {name}" for name in patch.blocked_by)]
    pending = {change.new: _directories(change) for change in _moved(patch)}
    for evidence in patch.evidence:
        commit = _commit(evidence)
        said = words.setdefault(commit, [])
        if evidence.kind is EvidenceKind.PATH_MOVED:
            made = [pending.pop(path) for path in evidence.paths if path in pending]
            moves.setdefault(commit, []).extend(made)
        else:
            said.extend(_words(evidence, patch))
    if pending:
        words.setdefault(None, [])
        moves.setdefault(None, []).extend(pending.values())
    return tuple(
        _Cause(commit, tuple(said), tuple(dict.fromkeys(moves.get(commit, ()))))
        for commit, said in words.items()
        if commit or said or moves.get(commit)
    )


def _commit(evidence: Evidence) -> _Commit | None:
    if evidence.commit is None:
        return None
    subject = (evidence.subject or "").removesuffix(f"(#{evidence.pr})").rstrip()
    date = (evidence.date or "")[: len("2026-01-31")]
    return _Commit(evidence.commit, evidence.pr, subject, date, evidence.first_tag or "")


def _words(evidence: Evidence, patch: PatchReport) -> Iterator[str]:
    """What a piece of evidence says; where its hunks are known by commit, a line a file."""
    state = _DECIDED.get(evidence.kind)
    decided = [
        hunk
        for hunk in patch.hunks
        if evidence.commit and hunk.commit == evidence.commit and hunk.state is state
    ]
    if not decided or evidence.kind is EvidenceKind.MERGED:
        yield evidence.text
    if patch.action is not Action.DROP:
        yield from _by_file(decided)


def _unexplained(patch: PatchReport) -> Iterator[str]:
    """The hunks in trouble of which no evidence speaks."""
    if any(evidence.kind in _FOR_ALL for evidence in patch.evidence):
        return
    explained = {
        path
        for evidence in patch.evidence
        if evidence.kind in _FOR_PATHS
        for path in evidence.paths
    }
    trouble = {HunkState.CONFLICTING, HunkState.GONE}
    yield from _by_file(
        hunk for hunk in patch.hunks if hunk.state in trouble and hunk.file not in explained
    )


def _by_file(hunks: Iterable[HunkOutcome]) -> Iterator[str]:
    files: dict[tuple[HunkState, str], list[int]] = {}
    for hunk in hunks:
        files.setdefault((hunk.state, hunk.file), []).append(hunk.index)
    for (state, file), indexes in files.items():
        numbers = ",".join(str(index) for index in indexes if index)
        label = f" hunk{'s' if len(indexes) > 1 else ''} {numbers}" if numbers else ""
        yield f"{state.value} {file}{label}"


def _moved(patch: PatchReport) -> list[PathChange]:
    return [change for change in patch.paths if change.new not in (None, change.old)]


def _directories(change: PathChange) -> _Directories:
    old, new = change.old.split("/"), (change.new or "").split("/")
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return _Directories("/".join(old), "/".join(new))


def _move_words(directories: _Directories, patches: Iterable[PatchReport]) -> str:
    """One file in full; for several of the same move, the directories and how many."""
    changes = {
        change
        for patch in patches
        for change in _moved(patch)
        if _directories(change) == directories
    }
    if len(changes) == 1:
        (change,) = changes
        return f"{change.old} → {change.new}"
    old, new = directories.old or ".", directories.new or "."
    return f"{old}/ → {new}/ ({len(changes)} files)"


# -- how it is laid out ----------------------------------------------------------------------


def _write_section(writer: _Writer, patches: Sequence[PatchReport]) -> None:
    groups: dict[tuple[_Cause, ...], list[PatchReport]] = {}
    for patch in patches:
        groups.setdefault(_causes(patch), []).append(patch)
    columns = writer.columns(patches)
    # last those that nothing needs to be said of: what follows a line would seem to explain it
    for number, causes in enumerate(sorted(groups, key=lambda causes: not causes)):
        if number:
            writer.blank()
        for patch in groups[causes]:
            writer.patch(patch, columns)
        for cause in causes:
            writer.cause(cause, groups[causes])


@dataclass(frozen=True)
class _Columns:
    """Widths that line the heads of patches up."""

    verdict: int
    name: int


class _Writer:
    """Writes lines that fit a console."""

    def __init__(self, console: Console):
        self._console = console
        self._width = max(console.width, _NARROWEST)
        marks = "".join([*_PLAIN, *(look.sign for look in _LOOKS.values())])
        self._unicode = _encodable(marks, console.encoding)

    def blank(self) -> None:
        self._console.print()

    def words(self, text: str, indent: int = 0, style: str = "") -> None:
        """Print plain words."""
        self.line(Text(self._say(text), style=style), indent)

    def line(self, text: Text, indent: int = 0) -> None:
        """Print ``text``, wrapped between words only: a long path stays whole."""
        for number, line in enumerate(_wrap(text, self._width - indent)):
            line.rstrip()
            # soft_wrap: the console neither wraps nor cuts a line wider than itself
            self._console.print(
                Text(" " * (indent + _INDENT * bool(number))) + line, soft_wrap=True
            )

    def columns(self, patches: Sequence[PatchReport]) -> _Columns:
        """Columns as wide as the widest; names are not lined up where that breaks lines."""
        verdict = max(len(patch.verdict.value) for patch in patches)
        name = max(len(self._say(patch.name)) for patch in patches)
        rest = max(len(_state(patch)) for patch in patches)
        fits = 2 + verdict + 2 + name + 2 + rest <= self._width
        return _Columns(verdict, name if fits else 0)

    def patch(self, patch: PatchReport, columns: _Columns) -> None:
        look = _LOOKS[patch.verdict]
        sign = look.sign if self._unicode else look.plain
        text = Text.assemble(
            (f"{sign} {patch.verdict.value:{columns.verdict}}", look.style),
            "  ",
            (f"{self._say(patch.name):{columns.name}}", "bold"),
        )
        state = Text(self._say(" · ".join((_state(patch), *patch.notes))), style="dim")
        if text.cell_len + 2 + state.cell_len <= self._width:
            self.line(Text.assemble(text, "  ", state))
        else:
            self.line(text)
            self.line(state, _INDENT)

    def cause(self, cause: _Cause, patches: Sequence[PatchReport]) -> None:
        indent = _INDENT
        if cause.commit:
            self.commit(cause.commit, indent)
            indent += 2
        for words in (*cause.words, *(_move_words(move, patches) for move in cause.moves)):
            self.words(words, indent)

    def commit(self, commit: _Commit, indent: int) -> None:
        """The commit in one line, its subject as far as it fits; else the subject on the next."""
        number = f"(#{commit.pr})" if commit.pr else ""
        facts = " ".join(word for word in (number, commit.date, commit.first_tag) if word)
        text = Text.assemble((commit.oid[:SHORT_ID], "yellow"), " ", self._say(facts))
        room = self._width - indent - len(text.plain) - 2
        if room >= min(_SUBJECT, len(commit.subject)):
            self.line(
                Text.assemble(text, "  ", (self._shortened(commit.subject, room), "dim")), indent
            )
        else:
            self.line(text, indent)
            room = self._width - indent - 2
            self.words(self._shortened(commit.subject, room), indent + 2, style="dim")

    def _shortened(self, subject: str, room: int) -> str:
        subject = self._say(subject)
        if cell_len(subject) <= room:
            return subject
        mark = self._say("…")
        short = Text(subject)
        short.truncate(room - len(mark))
        return short.plain.rstrip() + mark

    def _say(self, text: str) -> str:
        """``text`` in characters that the stream can show."""
        text = printable(text)
        if self._unicode and _encodable(text, self._console.encoding):
            return text
        for mark, plain in _PLAIN.items():
            text = text.replace(mark, plain)
        encoding = self._console.encoding
        return text.encode(encoding, "backslashreplace").decode(encoding)


def _wrap(text: Text, width: int) -> Iterable[Text]:
    """``text`` in lines of ``width``, from the second on less the indentation of those."""
    breaks = [0]
    for word in re.finditer(r"\S+", text.plain):
        room = width - _INDENT * (len(breaks) > 1)
        too_wide = cell_len(text.plain[breaks[-1] : word.end()]) > room
        if too_wide and word.start() > breaks[-1]:
            breaks.append(word.start())
    return text.divide(breaks[1:])


def _encodable(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _state(patch: PatchReport) -> str:
    """Where the hunks are, how far they were moved, and how long the patch has been carried."""
    counts: Mapping[HunkState, int] = patch.count()
    total = sum(counts.values())
    if counts.get(HunkState.CARRIED, 0) == total:
        hunks = f"{total}/{total} hunks"
    else:
        hunks = "hunks: " + ", ".join(
            f"{counts[state]} {state.value}" for state in HunkState if counts.get(state)
        )
    offsets = sorted({hunk.offset for hunk in patch.hunks if hunk.offset is not None})
    parts = [hunks]
    if any(offsets):
        low, high = f"{offsets[0]:+d}", f"{offsets[-1]:+d}"
        parts.append(f"offset {low if low == high else f'{low}…{high}'}")
    if patch.age > 1:
        parts.append(f"age {patch.age}")
    return ", ".join(parts)
