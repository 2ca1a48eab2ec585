"""Patches whose truth is known from history: real upstream commits, cut for the older tag.

A label comes from history (which commits lie between the tags, what was reverted by name) and from
exact lines, never from what is judged. Upstream also takes commits back under titles that do not
say so: one of which no line is left anywhere on the newer tag has not landed for good.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Generic, TypeVar

from peers import patch_ids

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo, History
from patchq.git.mail import Mailer
from patchq.git.merge import MergeQuestion
from patchq.git.objects import Entry
from patchq.git.search import lines_with_texts
from patchq.model.diff import ChangeKind, FileChange, Hunk
from patchq.model.diff_layout import split_lines
from patchq.model.ids import CommitId, TreeId
from patchq.model.patch import Patch

_BATCH = 40
_REVERT = re.compile(r"^(?:\[[^\]]*\]\s*)*Revert\s*[:\s]\s*[\"“](?P<quoted>.*?)[\"”]?\s*$", re.I)
_AGAIN = re.compile(r"\bre-?land|\bre-?appl|revert\s+[\"“]revert", re.I)
_NUMBERS = re.compile(r"(?:\s*\(#\d+\))+\s*$")
_RANGE = re.compile(r"#(\d+)(?:\s*[-–]\s*#(\d+))?")
_WORD = re.compile(rb"[A-Za-z_]{3,}")
_OPENS = re.compile(rb"\s*(?:async\s+)?def |class |[A-Za-z].*[({]\s*$")


class Group(Enum):
    """What history says of a patch."""

    WHOLE = "landed, whole"
    FILES = "landed, part of the files"
    TWO = "landed, two commits"
    REVERTED = "landed and reverted"
    UNDONE = "landed, no line is left"
    NEVER = "never landed"
    TWIN = "same edit, other function"
    SOME = "landed in part"

    @property
    def landed(self) -> bool:
        """Whether upstream has all of it."""
        return self in (Group.WHOLE, Group.FILES, Group.TWO)


@dataclass(frozen=True)
class Case:
    """A patch for the old tag; ``commits`` are those that brought it in, ``made_of`` all of it."""

    group: Group
    patch: Patch
    made_of: tuple[str, ...]
    commits: tuple[str, ...]


@dataclass(frozen=True)
class Cut:
    """A commit's change as it is on a tag: the tree of the tag with it."""

    commit: CommitInfo
    tree: TreeId


def cut_commits(
    span: UpstreamRange, commits: Sequence[CommitInfo], onto: TreeId
) -> Iterator[Cut | None]:
    """Each commit merged onto the tree ``onto`` with its parent as the base.

    None where that is not clean, or changes nothing.
    """
    for start in range(0, len(commits), _BATCH):
        batch = commits[start : start + _BATCH]
        merged = span.store.merger.merge_all(
            [MergeQuestion(_tree(span, c.parents[0]), onto, c.tree) for c in batch]
        )
        for commit, answer in zip(batch, merged, strict=True):
            changes = answer.clean and answer.tree != onto
            yield Cut(commit, answer.tree) if changes else None


def later_commits(span: UpstreamRange, future: CommitId) -> list[CommitInfo]:
    """The commits from the new tag to ``future`` of which no title or number is on it already."""
    history = History(span.store.git)
    between = history.subjects(span.old.commit, span.new.commit)
    known = {number for commit in between for number in _numbers(commit.subject)}
    names = {_title(commit.subject) for commit in between}
    return [
        commit
        for commit in history.subjects(span.new.commit, future)
        if len(commit.parents) == 1
        and not known & _numbers(commit.subject)
        and _title(commit.subject) not in names
    ]


def _tree(span: UpstreamRange, commit: CommitId) -> TreeId:
    return span.store.objects.commit_tree(commit)


class CaseMaker:
    """Makes labelled patches for one span; ``future`` is a commit past the new tag."""

    def __init__(self, span: UpstreamRange, future: CommitId, seed: int):
        self._span = span
        self._future = future
        self._random = random.Random(seed)
        self._objects = span.store.objects
        self._history = History(span.store.git)
        self._mailer = Mailer(span.store.git, self._objects)

    def cases(self, shares: Mapping[Group, int]) -> list[Case]:
        """As many cases of each group as asked for, or as there are."""
        found: list[Case] = []
        for group, count in shares.items():
            makers = {
                Group.WHOLE: self._whole,
                Group.FILES: self._files,
                Group.TWO: self._two,
                Group.REVERTED: self._reverted,
                Group.UNDONE: self._undone,
                Group.NEVER: self._never,
                Group.TWIN: self._twins,
                Group.SOME: self._some,
            }
            cases = makers[group]()
            found.extend(case for _, case in zip(range(count), cases, strict=False))
        return found

    # -- labels --------------------------------------------------------------------------

    @cached_property
    def _between(self) -> tuple[CommitInfo, ...]:
        found = self._history.subjects(self._span.old.commit, self._span.new.commit)
        return tuple(commit for commit in found if len(commit.parents) == 1)

    @cached_property
    def _fates(self) -> tuple[set[str], set[str]]:
        """Commits reverted for good, and commits of which nothing certain can be said."""
        reverted: set[str] = set()
        unsure: set[str] = set()
        for number, commit in enumerate(self._between):
            if "revert" not in commit.subject.lower():
                continue
            quoted = _quoted(commit.subject)
            earlier, later = self._between[:number], self._between[number + 1 :]
            targets = {c.oid for c in earlier if quoted and _is_called(c.subject, quoted)}
            named = set(_named(commit.subject))
            named_too = {c.oid for c in earlier if named & _numbers(c.subject)}
            again = quoted and (
                any(_lands_again(c.subject, quoted) for c in later)
                or any(_may_land_again(c.subject, quoted) for c in self._on_same_files(commit))
            )
            if again or not targets:
                unsure |= {commit.oid, *targets}
            else:
                reverted |= targets
            unsure |= named_too - targets
        return reverted, unsure

    def _on_same_files(self, revert: CommitInfo) -> tuple[CommitInfo, ...]:
        """The commits after ``revert`` that touch its files."""
        paths = self._objects.changed(_tree(self._span, revert.parents[0]), revert.tree)
        return self._history.touching(revert.oid, self._span.new.commit, paths)

    @cached_property
    def _landed(self) -> list[CommitInfo]:
        reverted, unsure = self._fates
        commits = [c for c in self._between if c.oid not in reverted | unsure]
        self._random.shuffle(commits)
        return commits

    @cached_property
    def _not_landed(self) -> list[CommitInfo]:
        commits = later_commits(self._span, self._future)
        self._random.shuffle(commits)
        return commits

    # -- groups --------------------------------------------------------------------------

    @cached_property
    def _all_cuts(self) -> _Drawn[tuple[Cut, bool]]:
        """The landed commits, and whether a line of each is left."""
        return _Drawn((cut, self._is_left(cut.tree)) for cut in self._cuts(self._landed))

    @property
    def _landed_cuts(self) -> Iterator[Cut]:
        return (cut for cut, is_left in self._all_cuts if is_left)

    @cached_property
    def _future_cuts(self) -> _Drawn[Cut]:
        return _Drawn(self._cuts(self._not_landed))

    def _whole(self) -> Iterator[Case]:
        for cut in self._landed_cuts:
            yield self._case(Group.WHOLE, [cut], cut.tree, landed=[cut])

    def _files(self) -> Iterator[Case]:
        for cut in self._landed_cuts:
            paths = sorted(self._changes(cut))
            if len(paths) < 2:
                continue
            some = self._random.sample(paths, self._random.randint(1, len(paths) - 1))
            changes = {path: self._objects.file(cut.tree, path) for path in some}
            tree = self._objects.overlay(self._span.old.tree, changes)
            if self._is_left(tree):
                yield self._case(Group.FILES, [cut], tree, landed=[cut])

    def _two(self) -> Iterator[Case]:
        for first, second in _pairs(self._landed_cuts):
            tree = self._both(first, second)
            if tree is not None:
                yield self._case(Group.TWO, [first, second], tree, landed=[first, second])

    def _reverted(self) -> Iterator[Case]:
        reverted, _ = self._fates
        for cut in self._cuts([c for c in self._between if c.oid in reverted]):
            yield self._case(Group.REVERTED, [cut], cut.tree, landed=[cut])

    def _undone(self) -> Iterator[Case]:
        for cut, is_left in self._all_cuts:
            if not is_left:
                yield self._case(Group.UNDONE, [cut], cut.tree, landed=[cut])

    def _never(self) -> Iterator[Case]:
        for cut in self._future_cuts:
            yield self._case(Group.NEVER, [cut], cut.tree, landed=[])

    def _some(self) -> Iterator[Case]:
        for ours, theirs in zip(self._landed_cuts, self._future_cuts, strict=False):
            ours_paths, theirs_paths = self._changes(ours), self._changes(theirs)
            if ours_paths.keys() & theirs_paths.keys():
                continue
            tree = self._objects.overlay(ours.tree, theirs_paths)
            yield self._case(Group.SOME, [ours, theirs], tree, landed=[ours])

    def _twins(self) -> Iterator[Case]:
        for cut in self._landed_cuts:
            twin = next(self._twins_of(cut), None)
            if twin is not None:
                yield self._case(Group.TWIN, [cut], twin, landed=[])

    def _twins_of(self, cut: Cut) -> Iterator[TreeId]:
        """Trees of the old tag with one hunk's edit made where its lines stand a second time."""
        old = self._span.old.tree
        patch = Patch("twin", self._mailer.diff(old, cut.tree))
        for change in patch.files:
            entry = self._objects.file(old, change.paths[0])
            new = self._span.place(change.paths[0]).new
            now = new and self._objects.content(self._span.new.tree, new)
            if not _is_edit(change) or entry is None or not now:
                continue
            lines = split_lines(self._objects.read(entry.oid))
            for hunk in change.hunks:
                edit = _Edit.of(hunk)
                for at in edit.elsewhere(lines, hunk) if edit else ():
                    edited = edit.made(lines, at) if edit else []
                    if not edit or not _still_stands(edit, lines, at, now):
                        continue
                    oid = self._objects.write("blob", b"".join(edited))
                    yield self._objects.overlay(old, {change.paths[0]: Entry(entry.mode, oid)})

    # -- cutting -------------------------------------------------------------------------

    def _cuts(self, commits: Sequence[CommitInfo]) -> Iterator[Cut]:
        return filter(None, cut_commits(self._span, commits, self._span.old.tree))

    def _both(self, first: Cut, second: Cut) -> TreeId | None:
        base = _tree(self._span, second.commit.parents[0])
        merged = self._span.store.merger.merge(base, first.tree, second.commit.tree)
        return merged.tree if merged.clean and merged.tree != first.tree else None

    def _changes(self, cut: Cut) -> dict[str, Entry | None]:
        paths = self._objects.changed(self._span.old.tree, cut.tree)
        return self._objects.files(cut.tree, paths)

    def _case(
        self, group: Group, made_of: Sequence[Cut], tree: TreeId, landed: Sequence[Cut]
    ) -> Case:
        names = [cut.commit.oid for cut in made_of]
        diff = self._mailer.diff(self._span.old.tree, tree)
        name = f"{group.name.lower()}-{'-'.join(oid[:9] for oid in names)}.patch"
        brought = tuple(same for cut in landed for same in self._same(cut.commit.oid))
        return Case(group, Patch(name, diff), tuple(names), brought)

    def _is_left(self, tree: TreeId) -> bool:
        """Whether of the lines that ``tree`` has and the old tag has not one is on the new tag.

        Of what adds none, nobody can tell by lines.
        """
        diff = Patch("cut", self._mailer.diff(self._span.old.tree, tree))
        hunks = [hunk for change in diff.files for hunk in change.hunks]
        net = Counter(line for hunk in hunks for line in hunk.postimage)
        net.subtract(Counter(line for hunk in hunks for line in hunk.preimage))
        added = {line for raw in +net if _WORD.search(line := raw.strip())}
        # most stand in the commit's own files: all are searched only if not
        own = [path for change in diff.files for path in change.paths]
        return not added or self._came(added, own) or self._came(added)

    def _came(self, lines: set[bytes], below: Sequence[str] = ()) -> bool:
        """Whether some of ``lines`` are on the new tag alone, or all were on the old one."""
        git = self._span.store.git
        before, after = (
            {row.strip() for _, row in lines_with_texts(git, base.tree, lines, below)}
            for base in (self._span.old, self._span.new)
        )
        return not lines - before or bool(lines & after - before)

    def _same(self, commit: str) -> list[str]:
        """``commit``, and those that history has with the very same change."""
        ids = self._patch_ids
        return [commit, *(c for c in ids if c != commit and ids[c] == ids.get(commit))]

    @cached_property
    def _patch_ids(self) -> dict[str, str]:
        return patch_ids(self._span)


_T = TypeVar("_T")


class _Drawn(Generic[_T]):
    """An iterator that can be gone through again from the start, computed once."""

    def __init__(self, source: Iterator[_T]):
        self._source = source
        self._seen: list[_T] = []

    def __iter__(self) -> Iterator[_T]:
        number = 0
        while True:
            if number == len(self._seen):
                following = next(self._source, None)
                if following is None:
                    return
                self._seen.append(following)
            yield self._seen[number]
            number += 1


@dataclass(frozen=True)
class _Edit:
    """The changed lines of a hunk with the line before and after: what is looked for again."""

    offset: int  # of ``old`` in the hunk's preimage
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]

    @classmethod
    def of(cls, hunk: Hunk) -> _Edit | None:
        """None where nothing is certain to tell the place: an edge of the file, or bare lines."""
        before, after = hunk.preimage, hunk.postimage
        short = min(len(before), len(after))
        head = next((n for n in range(short) if before[n] != after[n]), short)
        rest = short - head
        tail = next((n for n in range(rest) if before[-1 - n] != after[-1 - n]), rest)
        if head < 1 or tail < 1:
            return None
        head, tail = head - 1, tail - 1
        old, new = before[head : len(before) - tail], after[head : len(after) - tail]
        says = any(len(set(_WORD.findall(line))) >= 2 for line in old)
        return cls(head, old, new) if says else None

    def elsewhere(self, lines: Sequence[bytes], hunk: Hunk) -> Iterator[int]:
        """Where in ``lines`` the old side stands too, in another function than the hunk's own."""
        own = hunk.old_start - 1 + self.offset
        for at in range(len(lines) - len(self.old) + 1):
            if tuple(lines[at : at + len(self.old)]) != self.old or at == own:
                continue
            low, high = sorted((at, own))
            if any(_OPENS.match(line) for line in lines[low + len(self.old) : high]):
                yield at

    def made(self, lines: Sequence[bytes], at: int) -> list[bytes]:
        """``lines`` with the edit made at ``at``."""
        return [*lines[:at], *self.new, *lines[at + len(self.old) :]]


def _still_stands(edit: _Edit, lines: Sequence[bytes], at: int, now: bytes) -> bool:
    """Whether upstream left the place alone: five lines around it stand as they were, once."""
    first, last = max(at - 5, 0), at + len(edit.old) + 5
    around = b"".join(lines[first:last])
    return b"".join(lines).count(around) == 1 and now.count(around) == 1


def _is_edit(change: FileChange) -> bool:
    return change.kind is ChangeKind.MODIFY and len(change.paths) == 1 and bool(change.hunks)


def _pairs(cuts: Iterable[Cut]) -> Iterator[tuple[Cut, Cut]]:
    """The first with the second, the third with the fourth, and so on."""
    drawn = iter(cuts)
    return zip(drawn, drawn, strict=False)


def _title(subject: str) -> str:
    return _NUMBERS.sub("", subject).strip()


def _numbers(subject: str) -> set[str]:
    trailing = _NUMBERS.search(subject)
    return set(re.findall(r"\d+", trailing[0])) if trailing else set()


def _named(subject: str) -> Iterator[str]:
    """The numbers that a subject speaks of; ``#1–#3`` means all three."""
    for first, last in _RANGE.findall(_NUMBERS.sub("", subject)):
        yield from map(str, range(int(first), int(last or first) + 1))


def _quoted(subject: str) -> str | None:
    match = _REVERT.match(_title(subject))
    return _title(match["quoted"]) if match else None


def _is_called(subject: str, quoted: str) -> bool:
    short = quoted.rstrip(".…")
    title = _title(subject)
    return title == quoted or (short != quoted and title.startswith(short))


def _lands_again(subject: str, quoted: str) -> bool:
    return _is_called(subject, quoted) or (quoted in subject and bool(_AGAIN.search(subject)))


def _may_land_again(subject: str, quoted: str) -> bool:
    """Whether it says so, in other words: two of the longer ones are the same."""
    words = [set(re.findall(r"[a-z]{4,}", text.lower())) for text in (subject, quoted)]
    return bool(_AGAIN.search(subject)) and len(words[0] & words[1]) >= 2
