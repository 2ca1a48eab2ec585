"""What explains a verdict, put together commit by commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from patchq.model.verdict import (
    Action,
    Evidence,
    EvidenceKind,
    HunkOutcome,
    HunkState,
    PatchReport,
    PathChange,
)
from patchq.model.words import some
from patchq.report.commit import ShownCommit, commit_of

# Evidence that lists the hunks its commit decided, and the state those are in.
_DECIDED = {
    EvidenceKind.MERGED: HunkState.UPSTREAM,
    EvidenceKind.CONFLICTING_CHANGE: HunkState.CONFLICTING,
}
# Evidence that speaks for the whole patch, and that speaks for all hunks of its paths.
_FOR_ALL = {EvidenceKind.PREDICATE, EvidenceKind.REQUIRES, EvidenceKind.NOT_COVERED}
_FOR_PATHS = {EvidenceKind.CONFLICTING_CHANGE, EvidenceKind.PATH_GONE}


@dataclass(frozen=True)
class Directories:
    """A path change without what its two sides end in alike."""

    old: str
    new: str


@dataclass(frozen=True)
class Cause:
    """A commit (None: none known), what it did to the patch, and which moves it made."""

    commit: ShownCommit | None
    words: tuple[str, ...]
    moves: tuple[Directories, ...]


def causes(patch: PatchReport) -> tuple[Cause, ...]:
    """All that explains the verdict, by commit, in the order of the evidence.

    What ``X-Watch`` found explains nothing and is left out.
    """
    words: dict[ShownCommit | None, list[str]] = {}
    moves: dict[ShownCommit | None, list[Directories]] = {}
    if patch.action is Action.REVIEW:
        words[None] = [*_unexplained(patch), *_after(patch)]
    pending = {change.new: _directories(change) for change in _moved(patch)}
    for evidence in patch.evidence:
        if evidence.kind is EvidenceKind.WATCH:
            continue
        commit = commit_of(evidence)
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
        Cause(commit, tuple(said), tuple(dict.fromkeys(moves.get(commit, ()))))
        for commit, said in words.items()
        if commit or said or moves.get(commit)
    )


def _after(patch: PatchReport) -> Iterator[str]:
    if patch.blocked_by:
        yield f"after {some(patch.blocked_by)}"


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


def _directories(change: PathChange) -> Directories:
    old, new = change.old.split("/"), (change.new or "").split("/")
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return Directories("/".join(old), "/".join(new))


def move_words(directories: Directories, patches: Iterable[PatchReport]) -> str:
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
