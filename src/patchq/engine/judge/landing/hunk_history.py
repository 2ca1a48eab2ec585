"""The state of a unit of a patch on each commit between two bases, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import PurePosixPath

from patchq.engine.languages.tokens import Family, family, is_template
from patchq.engine.series.hunks import Unit
from patchq.git.history import CommitInfo
from patchq.git.merge import MergeState
from patchq.git.objects import Entries, Entry, Objects

_WORKFLOWS = (".github/workflows/", ".forgejo/workflows/", ".gitea/workflows/")


@dataclass(frozen=True)
class CommitState:
    """The state of a unit on one commit, with its files there."""

    commit: CommitInfo
    state: MergeState
    entries: Entries


class LandedState(Enum):
    """What became of a unit after the last commit on which it was empty."""

    NEVER = "never"  # it was empty on no commit
    THERE = "there"  # perhaps edited since, but its lines are there
    REWRITTEN = "rewritten"  # its lines were replaced by other code that has their words
    HALF = "half"  # part of its lines was removed again
    UNTRACED = "untraced"  # rewritten beyond recognition, or removed: not known
    GONE = "gone"  # all of its lines were removed again, together with others
    UNDONE = "undone"  # it was reverted
    OTHER_MODE = "other mode"  # its lines are there, in a file without the mode that it sets
    OVERRULED = "overruled"  # its lines are there, but have no effect any more
    ELSEWHERE = "elsewhere"  # what the unit removes was only moved


@dataclass(frozen=True)
class OtherMode:
    """A file on the new base with the mode that the patch sets, and the one that it has."""

    path: str
    wanted: str
    found: str


@dataclass(frozen=True)
class HunkHistory:
    """A unit from the old base to the new one: at each commit that touches its files, and at the
    ``end``.

    ``undone`` is the commit that removed or rewrote all or part of it, None if there is none or it
    is not known; ``how`` says why lines that are there have no effect; ``modes`` are the files that
    lack the mode it sets.
    """

    unit: Unit
    steps: tuple[CommitState, ...]
    end: MergeState
    landed: CommitInfo | None = None
    fate: LandedState = LandedState.NEVER
    undone: CommitInfo | None = None
    how: str = ""
    modes: tuple[OtherMode, ...] = ()

    @property
    def has_landed(self) -> bool:
        """Whether upstream has the unit: it is empty at the end, or its lines are there."""
        if self.end is MergeState.EMPTY:
            return self.fate not in (
                LandedState.ELSEWHERE,
                LandedState.OVERRULED,
                LandedState.OTHER_MODE,
            )
        return self.end is MergeState.COLLIDES and self.fate is LandedState.THERE

    @property
    def once_landed(self) -> bool:
        """Whether upstream took the unit, and its lines do not show that it still has it."""
        if self.end is MergeState.EMPTY:
            return self.fate in (LandedState.OVERRULED, LandedState.OTHER_MODE)
        return self.fate in (
            LandedState.REWRITTEN,
            LandedState.UNTRACED,
            LandedState.HALF,
            LandedState.GONE,
            LandedState.ELSEWHERE,
            LandedState.OTHER_MODE,
        )

    @property
    def only_moved(self) -> HunkHistory:
        """This history, marked: what the unit removes was only moved."""
        return replace(self, fate=LandedState.ELSEWHERE)

    @property
    def without_effect(self) -> HunkHistory:
        """This history, marked: the lines of the unit have no effect any more."""
        return replace(self, end=MergeState.EMPTY, fate=LandedState.OVERRULED)

    @property
    def ended_by(self) -> CommitInfo | None:
        """The commit since which the unit is in its state at the end, None if none is known.

        If a merge commit brought that state, this is the commit that was merged.
        """
        found = None
        for number in reversed(range(len(self.steps))):
            if self.steps[number].state is not self.end:
                break
            found = number
        if found is None:
            return None
        same = (s.commit for s in reversed(self.steps[:found]) if s.state is self.end)
        commit = self.steps[found].commit
        return commit if len(commit.parents) == 1 else next(same, commit)


def without_lost_source(trail: HunkHistory, places: Mapping[str, str | None]) -> HunkHistory:
    """``trail``, marked as without effect if its file was renamed so that nothing reads it.

    ``places`` are the paths on the new base; ``main.c.disabled`` is not compiled.
    """
    new = [(path, places.get(path)) for path in trail.unit.paths]
    lost = any(after and _is_put_aside(path, after) for path, after in new)
    return trail.without_effect if lost and trail.has_landed else trail


def _is_put_aside(path: str, new: str) -> bool:
    """Whether the new name is that of no source file, has a suffix after the old one, or is outside
    of the directory that workflows are read from."""
    if path.startswith(_WORKFLOWS) and not new.startswith(_WORKFLOWS):
        return True
    if family(path) is not Family.OTHER:
        return family(new) is Family.OTHER
    old, now = PurePosixPath(path), PurePosixPath(new)
    longer = bool(old.suffix) and now.name.startswith((f"{old.name}.", f"{old.name}~"))
    return longer and not is_template(new)


def last_empty(steps: Sequence[CommitState]) -> int | None:
    return max((n for n, step in enumerate(steps) if step.state is MergeState.EMPTY), default=None)


def entry_before(objects: Objects, step: CommitState, path: str) -> Entry | None:
    """The file of the patch's ``path`` before the commit of a step."""
    commit, entry = step.commit, step.entries.get(path)
    names = [t.old for t in commit.touches if objects.file(commit.tree, t.new) == entry]
    trees = [objects.commit_tree(parent) for parent in commit.parents[:1]]
    entries = (objects.file(tree, name) for tree in trees for name in names)
    return next((entry for entry in entries if entry is not None), None)


def text_before(objects: Objects, step: CommitState, path: str) -> bytes:
    """The text of :func:`entry_before`."""
    return objects.blob(entry_before(objects, step, path))
