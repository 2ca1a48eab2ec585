"""The upstream commits that a change stands on and its target lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from patchq.git.history import CommitEdits, CommitInfo, Walk
from patchq.git.store import Store
from patchq.model.diff import Hunk
from patchq.model.ids import CommitId


class Between:
    """The commits of ``tip`` that are not in ``target``; none if ``target`` is no commit of it.

    What lies between ``target`` and ``main`` is asked of git once for all tips in it.
    """

    def __init__(
        self, store: Store, target: CommitId | None, tip: CommitId, main: CommitId | None = None
    ):
        self._store = store
        self._history = store.history
        self._objects = store.objects
        self._target = target
        self._tip = tip
        self._main = main
        self._touching: dict[str, tuple[CommitInfo, ...]] = {}
        self._edits: dict[str, tuple[CommitEdits, ...]] = {}

    @cached_property
    def has_commits(self) -> bool:
        """Whether there are any."""
        return self._target is not None and not self._history.contains(self._tip, self._target)

    @cached_property
    def _walk(self) -> Walk:
        if self._target is None:
            return Walk.of(())
        self._store.complete((self._target, self._main or self._tip))
        return self._history.walk(self._target, self._tip, self._main)

    @property
    def order(self) -> Mapping[CommitId, int]:
        """The place of each commit, the oldest first."""
        return self._walk.order

    def touching(self, path: str) -> tuple[CommitInfo, ...]:
        """The commits that touch ``path`` under any of its names, oldest first."""
        if path not in self._touching:
            self._touching[path] = self._walk.touching([path])
        return self._touching[path]

    def names(self, path: str) -> dict[str, None]:
        """What else the file at ``path`` is called on the way, and ``path``."""
        touches = [touch for commit in self.touching(path) for touch in commit.touches]
        return dict.fromkeys([path, *(name for t in touches for name in (t.old, t.new))])

    def before(self, path: str, end: CommitId | None) -> Iterator[CommitInfo]:
        """Of :meth:`touching` those older than commit ``end`` (all, for None), newest first."""
        after_all = len(self._walk.commits)
        place = after_all if end is None else self.order.get(end, after_all)
        return (c for c in reversed(self.touching(path)) if self.order[c.oid] < place)

    def name_back(self, path: str, end: CommitId | None) -> str | None:
        """What the target calls the file that is ``path`` just before ``end``.

        None if a commit in between added it, or where nothing in between touched it.
        """
        name, seen = path, False
        for commit in self.before(path, end):
            for touch in commit.touches:
                if touch.new == name and touch.status == "A":
                    return None
                if touch.new == name and touch.status == "R":
                    name, seen = touch.old, True
        return name if seen else None

    def is_new(self, path: str, end: CommitId | None) -> CommitInfo | None:
        """The commit that added the file that is ``path`` just before ``end``, if one did."""
        name = path
        for commit in self.before(path, end):
            for touch in commit.touches:
                if touch.new == name and touch.status == "A":
                    return commit
                if touch.new == name and touch.status == "R":
                    name = touch.old
        return None

    def writers(
        self, path: str, first: int, stop: int, end: CommitId | None
    ) -> tuple[CommitId, ...]:
        """The commits that last changed lines ``first`` to ``stop`` of ``path``, newest first.

        Lines are those of the file just before ``end``, from 0, ``stop`` not inside; what was
        deleted between them or beside them counts as changed. An unchanged line has no writer here.
        """
        # Odd places are lines, even ones the gaps before them: git's merge takes changes that
        # touch for a conflict, so the gaps at both ends belong to the region.
        region = set(range(2 * first, 2 * stop + 1))
        found: list[CommitId] = []
        name = path
        wanted = {commit.oid for commit in self.before(path, end)}
        for commit in self.edits(path):
            for file in commit.files if commit.oid in wanted else ():
                if file.new != name:
                    continue
                if file.hunks:
                    touched, region = _step_back(region, file.hunks)
                    found += [commit.oid] if touched else []
                name = file.old or name
        return tuple(found)

    def expect(self, paths: Iterable[str]) -> None:
        """Say which paths :meth:`edits` will be asked about: git is asked for all at once."""
        fresh = [path for path in dict.fromkeys(paths) if path not in self._edits]
        commits: dict[CommitId, None] = {}
        names: dict[str, None] = {}
        for path in fresh:
            commits.update(dict.fromkeys(commit.oid for commit in self.touching(path)))
            names |= self.names(path)
        newest_first = sorted(commits, key=self.order.__getitem__, reverse=True)
        edits = self._history.edits(newest_first, tuple(names))
        self._edits.update(dict.fromkeys(fresh, edits))

    def edits(self, path: str) -> tuple[CommitEdits, ...]:
        """What each commit did to the file, and perhaps to others, newest first."""
        self.expect([path])
        return self._edits[path]

    def first_with(
        self, path: str, holds: Callable[[bytes], object], end: CommitId | None
    ) -> CommitInfo | None:
        """The oldest commit from which on ``holds`` is true of the file until ``end``."""
        found = None
        for commit in self.before(path, end):
            names = [touch.new for touch in commit.touches if touch.status != "D"]
            contents = (self._objects.content(commit.tree, name) for name in names)
            if not any(content is not None and holds(content) for content in contents):
                break
            found = commit
        return found


def has_word(word: str) -> Callable[[bytes], object]:
    """A test for contents that hold ``word``."""
    return re.compile(rb"(?<!\w)%s(?!\w)" % re.escape(word.encode())).search


def _step_back(region: set[int], hunks: Sequence[Hunk]) -> tuple[bool, set[int]]:
    """Whether hunks without context touch the region, and the rest of it before them."""
    touched = False
    before: set[int] = set()
    rest = set(region)
    shift = 0
    for hunk in hunks:
        # with no lines on a side, its start is the line before
        start = hunk.new_start - 1 if hunk.new_count else hunk.new_start
        low, high = 2 * start, 2 * (start + hunk.new_count)
        inside = {place for place in rest if low <= place <= high}
        touched = touched or bool(inside)
        earlier = {place for place in rest if place < low}
        before |= {place - shift for place in earlier}
        rest -= inside | earlier
        shift += 2 * (hunk.new_count - hunk.old_count)
    return touched, before | {place - shift for place in rest}
