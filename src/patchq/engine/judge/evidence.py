"""The evidence for a verdict, in words that a reviewer can check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from patchq.engine.judge.case import CaseFacts
from patchq.engine.judge.landing.hunk_history import HunkHistory, LandedState
from patchq.engine.judge.landing.moved_removals import StillThere
from patchq.engine.judge.landing.unused import UnusedName
from patchq.engine.judge.since.build_files import LeftBuild
from patchq.engine.judge.since.later_edits import LaterCommits
from patchq.engine.judge.unreferenced import LostReference
from patchq.engine.series.hunks import Unit, locate
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.merge import MergeState
from patchq.git.objects import GITLINK_MODE, Entry
from patchq.model.diff import FileChange
from patchq.model.diff_layout import split_lines
from patchq.model.verdict import Evidence, EvidenceKind
from patchq.model.words import some

_TAKEN = (LandedState.UNDONE, LandedState.HALF, LandedState.GONE)


class EvidenceMaker:
    """Makes evidence between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects
        self._later = LaterCommits(span)

    def context_changes(self, facts: CaseFacts) -> tuple[Evidence, ...]:
        """The commits since which a file no longer has the lines of its hunks, with context."""
        evidence = []
        for change in facts.case.patch.files:
            path = change.paths[0]
            new = facts.placements[path].new if path in facts.placements else None
            entry = facts.entries.get(path)
            if not change.hunks or new is None or entry is None or self._places(change, entry):
                continue
            found = None
            for commit in reversed(self._span.commits((path,))):
                then = next(
                    (e for n in (path, new) if (e := self._objects.file(commit.tree, n))), None
                )
                if then is None or self._places(change, then):
                    break
                found = commit
            text = f"changed lines around the hunks of {path}"
            evidence.append(
                self._span.evidence(EvidenceKind.CONTEXT_CHANGED, text, found, paths=(new,))
            )
        return tuple(item for item in evidence if item.commit)

    def _places(self, change: FileChange, entry: Entry) -> tuple[int, ...] | None:
        return locate(change.hunks, split_lines(self._objects.blob(entry)))

    def removal(self, path: str) -> CommitInfo | None:
        found = None
        for commit in self._span.commits((path,)):
            if self._objects.file(commit.tree, path) is None and any(
                touch.old == path and touch.status in ("D", "R") for touch in commit.touches
            ):
                found = commit
        return found

    def still_there(self, found: Iterable[StillThere]) -> tuple[Evidence, ...]:
        """The lines that hunks remove and the new base has elsewhere, and who put them there."""
        return tuple(chain.from_iterable(map(self._still_there, found)))

    def _still_there(self, found: StillThere) -> tuple[Evidence, ...]:
        """The lines that a hunk removes and the new base has elsewhere, and who put them there."""
        where = hunk_words(found.trail)
        if found.share:
            text = (
                f"{where} removes what {found.files[0]} has now: {found.share:.0%} of it, "
                "names aside"
            )
        elif not found.lines:
            text = f"no line that {where} takes out says enough to tell whether it was only moved"
        else:
            place = f" in {some(found.files)}" if found.files else ""
            more = f" and {len(found.lines) - 1} more" if len(found.lines) > 1 else ""
            first = found.lines[0].decode(errors="replace")
            text = f"{where} removes what exists elsewhere{place}: {first!r}{more}"
        kind, files = EvidenceKind.CODE_MOVED, found.files[:5]
        evidence = self._span.evidence(kind, text, found.trail.landed, paths=files)
        if found.back is None:
            return (evidence,)
        back = self._span.evidence(kind, f"it came to {files[0]} here", found.back, paths=files)
        return evidence, back

    def merged(self, trails: Sequence[HunkHistory]) -> tuple[Evidence, ...]:
        """One piece of evidence for each commit that brought hunks in, the one with most first."""
        landed = [trail for trail in trails if trail.has_landed or trail.once_landed]
        commits = by_commit((trail.landed, trail) for trail in landed)
        evidence = []
        for commit, group in commits:
            count = sum(len(trail.unit.hunks) for trail in group)
            total = sum(len(trail.unit.hunks) for trail in trails)
            text = f"{count} of {total} hunks are in {self._span.new.name}"
            if commit is None:
                text += " (no commit between the bases shows where they came in)"
            elif then := _then(group, self._span.new.name, self._later):
                text = f"{count} of {total} hunks landed here{then}"
            files = tuple(dict.fromkeys(trail.unit.file for trail in group))
            evidence.append(self._span.evidence(EvidenceKind.MERGED, text, commit, paths=files))
        return tuple(evidence)

    def collisions(self, trails: Sequence[HunkHistory]) -> tuple[Evidence, ...]:
        colliding = [
            trail
            for trail in trails
            if trail.end is MergeState.COLLIDES and not (trail.has_landed or trail.once_landed)
        ]
        evidence = []
        for commit, group in by_commit((trail.ended_by, trail) for trail in colliding):
            files = tuple(dict.fromkeys(trail.unit.file for trail in group))
            text = f"changed the lines of {_hunks(group)}"
            evidence.append(
                self._span.evidence(EvidenceKind.CONFLICTING_CHANGE, text, commit, paths=files)
            )
        return tuple(evidence)

    def undone(self, trails: Sequence[HunkHistory]) -> tuple[Evidence, ...]:
        """The commits that removed or rewrote all or part of what had landed."""
        taken = [t for t in trails if t.fate in _TAKEN]
        evidence = []
        for commit, group in by_commit((t.undone, t) for t in taken if t.undone):
            part = "part of " if all(t.fate is LandedState.HALF for t in group) else ""
            landed = dict.fromkeys(t.landed.oid[:9] for t in group if t.landed)
            text = f"took {part}{_hunks(group)} out again, which {some(list(landed))} had brought"
            evidence.append(self._ended(EvidenceKind.UNDONE, text, commit, group))
        for commit, group in by_commit((t.landed, t) for t in taken if not t.undone):
            text = f"brought {_hunks(group)}, which was removed again later"
            evidence.append(self._ended(EvidenceKind.UNDONE, text, commit, group))
        overruled = [t for t in trails if t.fate is LandedState.OVERRULED and t.undone]
        for how in dict.fromkeys(t.how for t in overruled):
            for commit, group in by_commit((t.undone, t) for t in overruled if t.how == how):
                text = how.format(_hunks(group))
                evidence.append(self._ended(EvidenceKind.UNDONE, text, commit, group))
        modes = [t for t in trails if t.fate is LandedState.OTHER_MODE and t.undone]
        for commit, group in by_commit((t.undone, t) for t in modes):
            text = _modes(group, "again")
            evidence.append(self._ended(EvidenceKind.UNDONE, text, commit, group))
        changed = (LandedState.REWRITTEN, LandedState.UNTRACED)
        ended = ((t.undone, t) for t in trails if t.fate in changed and t.undone)
        for commit, group in by_commit(ended):
            is_open = any(t.fate is LandedState.UNTRACED for t in group)
            text = f"rewrote{', moved or removed' if is_open else ''} lines of {_hunks(group)}"
            evidence.append(self._ended(EvidenceKind.CONFLICTING_CHANGE, text, commit, group))
        return tuple(evidence)

    def _ended(
        self, kind: EvidenceKind, text: str, commit: CommitInfo | None, group: Sequence[HunkHistory]
    ) -> Evidence:
        files = tuple(dict.fromkeys(trail.unit.file for trail in group))
        return self._span.evidence(kind, text, commit, paths=files)

    def blocked(self, blockers: Mapping[str, str]) -> tuple[Evidence, ...]:
        """One piece of evidence for each path whose directory is a file on the new base."""

        def what(path: str) -> str:
            entry = self._span.store.objects.file(self._span.new.tree, path)
            if entry is None or entry.mode != GITLINK_MODE:
                return f"{path} is a file"
            return f"{path} is a submodule, and what is in it could not be searched"

        return tuple(
            self._span.evidence(
                EvidenceKind.CONFLICTING_CHANGE,
                f"{path} cannot be there: {what(blocker)}",
                next(reversed(self._span.commits((blocker,))), None),
                paths=(blocker,),
            )
            for path, blocker in blockers.items()
        )

    def renamed_apart(self, facts: CaseFacts, renames: Mapping[str, str]) -> tuple[Evidence, ...]:
        """One piece of evidence for each file that the patch and upstream renamed differently."""
        return tuple(
            self._span.evidence(
                EvidenceKind.CONFLICTING_CHANGE,
                f"rename/rename: the patch renames {old} to {new}, "
                f"upstream to {facts.placements[old].new}",
                self.removal(old),
                paths=(old,),
            )
            for old, new in renames.items()
        )

    def moves(self, facts: CaseFacts) -> tuple[Evidence, ...]:
        moves = facts.moves
        removals = {path: self.removal(path) for path in moves}
        found = by_commit(
            (commit, path)
            for path, commit in removals.items()
            if commit or self._objects.file(self._span.old.tree, path)
        )
        return tuple(
            self._span.evidence(
                EvidenceKind.PATH_MOVED,
                some([f"{path} → {moves[path]}" for path in paths]),
                commit,
                paths=tuple(moves[path] for path in paths),
            )
            for commit, paths in found
        )

    def idle(
        self, unused: Sequence[UnusedName], unbuilt: Sequence[LeftBuild]
    ) -> tuple[Evidence, ...]:
        """One piece of evidence for each name that is unused, taken or redefined, and for each file
        or directory that is no longer built."""
        found = dict[str, tuple[CommitInfo | None, str]]()
        for item in unused:
            about = f"{item.name}, which lines of {hunk_words(item.trail)} are part of"
            if item.taker:
                found[f"{about}, is in {item.taker} now"] = item.commit, item.taker
            elif item.maker:
                lines = f"which lines of {hunk_words(item.trail)} use or set"
                text = f"{item.maker} may change {item.name}, {lines}"
                found[text] = item.commit, item.maker
            else:
                text = f"nothing uses {about}: {item.user} was the last"
                found[text] = item.commit, item.user
        for left in unbuilt:
            about = left.name + (f", which has {left.path}" if left.path != left.name else "")
            text = f"no build file names {about}: {left.build_file} was the last"
            found[text] = left.commit, left.build_file
        return tuple(
            self._span.evidence(EvidenceKind.UNREFERENCED, text, commit, paths=(file,))
            for text, (commit, file) in found.items()
        )

    def unreferenced(self, lost: Sequence[LostReference]) -> tuple[Evidence, ...]:
        """One piece of evidence for each file that nothing names any more."""
        return tuple(
            self._span.evidence(
                EvidenceKind.UNREFERENCED,
                f"{item.referrer} was the last to name {item.path}",
                item.commit,
                paths=(item.path, item.referrer),
            )
            for item in lost
        )

    def splits(self, facts: CaseFacts) -> tuple[Evidence, ...]:
        """One piece of evidence for each added file whose directory was split."""
        return tuple(
            Evidence(
                EvidenceKind.DIRECTORY_SPLIT,
                f"{place.old} is placed at {place.new}; other files of its directory went to "
                f"{some(place.alternatives)}",
                paths=place.alternatives,
            )
            for place in facts.placements.values()
            if place.alternatives
        )


_T = TypeVar("_T")


def by_commit(
    pairs: Iterable[tuple[CommitInfo | None, _T]],
) -> list[tuple[CommitInfo | None, list[_T]]]:
    """Group by commit, the commit with most members first."""
    groups: dict[str, tuple[CommitInfo | None, list[_T]]] = {}
    for commit, member in pairs:
        groups.setdefault(commit.oid if commit else "", (commit, []))[1].append(member)
    return sorted(groups.values(), key=lambda group: -len(group[1]))


def _modes(trails: Iterable[HunkHistory], where: str) -> str:
    modes = dict.fromkeys(mode for trail in trails for mode in trail.modes)
    words = (f"{m.path} is {m.found} {where}, the patch makes it {m.wanted}" for m in modes)
    return "; ".join(words)


def _hunks(trails: Iterable[HunkHistory]) -> str:
    return ", ".join(map(hunk_words, trails))


def hunk_words(trail: HunkHistory) -> str:
    return unit_words(trail.unit)


def _then(group: Sequence[HunkHistory], base: str, later: LaterCommits) -> str:
    """What became by ``base`` of hunks that one commit brought in; empty if they are as landed."""
    fates = {trail.fate for trail in group}
    if fates == {LandedState.GONE}:
        return "; they were removed again"
    if fates & {LandedState.HALF, LandedState.GONE}:
        return "; part was removed again"
    if LandedState.OVERRULED in fates:
        return "; lines of theirs may do nothing any more, or not in every case"
    if modes := _modes(group, f"in {base}"):
        return f"; {modes}"
    if any(trail.once_landed and trail.fate is LandedState.ELSEWHERE for trail in group):
        return "; what they remove exists elsewhere"
    if any(trail.once_landed for trail in group):
        return "; their lines were rewritten since"
    if all(trail.end is MergeState.EMPTY for trail in group):
        return ""
    edited = any(item.commits for item in later.find(group))
    return "; upstream edited the lines since" if edited else ", beside other edits"


def unit_words(unit: Unit) -> str:
    """The file and the hunks of a unit."""
    indexes = [str(index) for index in unit.hunks if index]
    if not indexes:
        return unit.file
    return f"{unit.file} hunk{'s' if len(indexes) > 1 else ''} {', '.join(indexes)}"
