"""What a unit of a patch was on each commit between two bases, and what became of it."""

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
    """A unit at one commit."""

    commit: CommitInfo
    state: MergeState
    entries: Entries


class LandedState(Enum):
    """What became of a unit after the last commit on which it was empty."""

    NEVER = "never"  # there was no such commit
    THERE = "there"  # edited since perhaps, but its lines show it
    REWRITTEN = "rewritten"  # upstream put other code, with their words, in place of its lines
    HALF = "half"  # part of its lines was taken out again
    UNTRACED = "untraced"  # rewritten beyond recognition, or taken out: nobody can tell
    GONE = "gone"  # all of its lines were taken out again, together with others
    UNDONE = "undone"  # taken out again
    OTHER_MODE = "other mode"  # its lines stand, in a file that has not got the mode it gives it
    OVERRULED = "overruled"  # its lines stand, but were switched off or put on a condition
    ELSEWHERE = "elsewhere"  # only moved: what the unit takes out stands in another place


@dataclass(frozen=True)
class OtherMode:
    """A file at the end with the mode that it was to have, and the one that it has."""

    path: str
    wanted: str
    found: str


@dataclass(frozen=True)
class HunkHistory:
    """A unit from the old base to the new one: at each commit that touches it, and at the end.

    ``undone`` is the commit that took it out again or rewrote it, or part of it, if one did;
    ``how`` says what it did about lines that stand, ``modes`` are what its files lack, if that is
    their mode.
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
        """Upstream has the unit: it is empty at the end, or landed and its lines show it."""
        if self.end is MergeState.EMPTY:
            return self.fate not in (
                LandedState.ELSEWHERE,
                LandedState.OVERRULED,
                LandedState.OTHER_MODE,
            )
        return self.end is MergeState.COLLIDES and self.fate is LandedState.THERE

    @property
    def once_landed(self) -> bool:
        """Upstream took the unit; whether it still has it, the lines do not tell."""
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
        """The same, if what the unit takes out stands in another place."""
        return replace(self, fate=LandedState.ELSEWHERE)

    @property
    def without_effect(self) -> HunkHistory:
        """The same, if the lines of the unit do nothing any more."""
        return replace(self, end=MergeState.EMPTY, fate=LandedState.OVERRULED)

    @property
    def ended_by(self) -> CommitInfo | None:
        """The commit from which on the unit is in the state it has at the end.

        Of a merge that brought it into this state, it is the commit that was merged.
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
    """``trail``, marked if upstream has its lines in a file that nothing reads any more.

    ``places`` are the paths on the new base: ``main.c.disabled`` is not compiled.
    """
    new = [(path, places.get(path)) for path in trail.unit.paths]
    lost = any(after and _is_put_aside(path, after) for path, after in new)
    return trail.without_effect if lost and trail.has_landed else trail


def _is_put_aside(path: str, new: str) -> bool:
    """Whether a file got a name by which it is no source, or another suffix behind its own, or
    left the directory that workflows are read from."""
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
    """The file of a patch's ``path`` as it was before the commit of a step."""
    commit, entry = step.commit, step.entries.get(path)
    names = [t.old for t in commit.touches if objects.file(commit.tree, t.new) == entry]
    trees = [objects.commit_tree(parent) for parent in commit.parents[:1]]
    entries = (objects.file(tree, name) for tree in trees for name in names)
    return next((entry for entry in entries if entry is not None), None)


def text_before(objects: Objects, step: CommitState, path: str) -> bytes:
    """The text of :func:`entry_before`."""
    return objects.blob(entry_before(objects, step, path))
