"""The range from one base to another: where paths moved, what is covered, the commits between."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from hashlib import sha256
from typing import Any

from patchq.engine.workspace.project import Project
from patchq.engine.workspace.pull_requests import PullRequests
from patchq.git.changed_lines import ChangedLines
from patchq.git.history import CommitInfo, narrow
from patchq.git.process import require_version
from patchq.git.renames import RenameMap
from patchq.kept_answers import KeptAnswers, key_of
from patchq.model.coverage import Coverage
from patchq.model.ids import CommitId
from patchq.model.lock import Base
from patchq.model.verdict import Evidence, EvidenceKind
from patchq.recent import Recent

_WORD = re.compile(rb"\w\w+")
_FEW = 4
"""A file with fewer words may equal another by chance, and is not recognised elsewhere."""


class Whereabouts(Enum):
    """What the new base has of a path of the old one."""

    SAME = "same"
    MOVED = "moved"
    GONE = "gone"
    UNCOVERED = "uncovered"


@dataclass(frozen=True)
class Placement:
    """The place of a path of a patch on the new base (``new`` is None if it has none).

    ``alternatives`` are other directories that it may be in, if upstream split its own.
    """

    old: str
    new: str | None
    where: Whereabouts
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Covered:
    """The paths that all of some archives have."""

    coverages: tuple[Coverage, ...]

    @property
    def identity(self) -> str:
        return sha256(repr(self.coverages).encode()).hexdigest()[:16]

    def accepts(self, path: str) -> bool:
        return all(coverage.covers_path(path) for coverage in self.coverages)


_LINES = 200_000
"""How many commits of lines of history are kept, some megabytes."""


class UpstreamRange:
    """From ``old`` to ``new``, two bases of the lock that are present in the store."""

    def __init__(self, project: Project, old: Base, new: Base):
        project.store.require((old, new))
        self.project = project
        self.store = project.store
        self.lock = project.lock
        self.settings = project.settings
        self.old = old
        self.new = new
        self.cache = project.cache
        self._history = project.store.history
        self._placements: dict[str, Placement] = {}
        self._in_trees: dict[str, Placement] = {}
        self._lines: Recent[tuple[CommitId, bool], frozenset[CommitId]] = Recent(_LINES, len)
        self._expected: set[str] = set()
        self._wide: dict[frozenset[str], tuple[CommitInfo, ...]] = {}

    @property
    def has_history(self) -> bool:
        """Whether commits connect the two bases (an archive has none)."""
        return self.old.archive is None and self.new.archive is None

    @cached_property
    def identity(self) -> list[object]:
        """All that answers about this range depend on, for cache keys.

        It includes where history is cut off and which bases are missing: later answers may differ.
        """
        return [
            [[b.name, b.commit, self.store.objects.has(b.commit)] for b in self._upto_new],
            sorted(self._history.ends),
            [
                [
                    base.name,
                    base.commit,
                    base.archive and [base.archive.covers, base.archive.excludes],
                ]
                for base in (self.old, self.new)
            ],
            self.settings.pr_pattern,
            self.settings.merge_pattern,
            require_version(),
        ]

    @property
    def _upto_new(self) -> Sequence[Base]:
        """The bases up to the new one, as later ones change no answer."""
        names = [base.name for base in self.lock.bases]
        return self.lock.bases[: names.index(self.new.name) + 1 if self.new.name in names else None]

    def covers(self, path: str) -> bool:
        """Whether both bases cover ``path``."""
        return self.old.covers(path) and self.new.covers(path)

    def place(self, path: str) -> Placement:
        """The place of ``path`` of the old base, or of a patch on it, on the new one."""
        if path not in self._placements:
            self._placements[path] = self._place(path)
        return self._placements[path]

    def place_by_trees(self, path: str) -> Placement:
        """:meth:`place` as the two trees tell it, without the commits between them."""
        if path not in self._in_trees:
            self._in_trees[path] = self._look_up(path)
        return self._in_trees[path]

    def expect(self, paths: Iterable[str]) -> None:
        """Announce paths that :meth:`commits` will be asked about, so that git is asked once."""
        self._expected.update(paths)

    def commits(self, paths: Iterable[str]) -> tuple[CommitInfo, ...]:
        """The commits between the bases that touch ``paths`` under any name, oldest first."""
        if not self.has_history:
            return ()
        return self._touching(self._names(paths))

    def since(self, paths: Iterable[str], holds: Callable[[CommitInfo], bool]) -> CommitInfo | None:
        """The commit on ``paths`` since which ``holds`` is true of all, None if there is none."""
        found = None
        for commit in reversed(self.commits(paths)):
            if not holds(commit):
                break
            found = commit
        return found

    def first_tag(self, commit: CommitId) -> str | None:
        """The first base of the lock, up to the new one, that contains ``commit``."""
        names = [base.name for base in self.lock.bases]
        upto = names.index(self.new.name)
        start = names.index(self.old.name) + 1 if self.old.name in names[:upto] else 0
        for base in self.lock.bases[start:upto]:
            if (
                base.archive is None
                and self.store.objects.has(base.commit)
                and self._history.contains(commit, base.commit)
            ):
                return base.name
        return self.new.name

    def descends(self, commit: CommitId, ancestor: CommitId) -> bool:
        """Whether ``commit`` has ``ancestor`` in its history; fast for many commits."""
        if commit not in self._parents or ancestor not in self._parents:
            return self._history.contains(ancestor, commit)
        return commit in self._reached(ancestor, back=False)

    def precedes(self, ancestor: CommitId, commit: CommitId) -> bool:
        """The same; fast for many ancestors."""
        if commit not in self._parents or ancestor not in self._parents:
            return self._history.contains(ancestor, commit)
        return ancestor in self._reached(commit, back=True)

    @cached_property
    def _parents(self) -> Mapping[CommitId, Sequence[CommitId]]:
        """The commits between the bases, with their parents."""
        return self._history.parents(self.old.commit, self.new.commit)

    @cached_property
    def _children(self) -> Mapping[CommitId, Sequence[CommitId]]:
        found: dict[CommitId, list[CommitId]] = {oid: [] for oid in self._parents}
        for oid, parents in self._parents.items():
            for parent in found.keys() & parents:
                found[parent].append(oid)
        return found

    def _reached(self, start: CommitId, *, back: bool) -> frozenset[CommitId]:
        """``start``, and the commits between the bases in its history, or with it in theirs."""
        known = self._lines.get((start, back))
        if known is not None:
            return known
        links = self._parents if back else self._children
        found: set[CommitId] = set()
        ahead = [start]
        while ahead:
            oid = ahead.pop()
            if oid not in found and oid in links:
                found.add(oid)
                ahead.extend(links[oid])
        reached = frozenset(found)
        self._lines.keep((start, back), reached)
        return reached

    def after(self, commit: CommitInfo) -> tuple[CommitId, ...]:
        """The commits between the bases that are not in the history of ``commit``, newest first."""
        if commit.oid not in self._parents:
            return tuple(self._parents)
        before = self._reached(commit.oid, back=True)
        return tuple(oid for oid in self._parents if oid not in before)

    @cached_property
    def changed_lines(self) -> ChangedLines:
        """The lines that the commits between the bases changed."""
        return ChangedLines(self.store.git, self._parents)

    def messages(self, commits: Sequence[CommitId]) -> dict[CommitId, str]:
        """The whole message of each commit."""
        return self._history.messages(commits)

    def evidence(
        self,
        kind: EvidenceKind,
        text: str,
        commit: CommitInfo | None,
        paths: tuple[str, ...] = (),
    ) -> Evidence:
        """A piece of evidence, with the facts about its commit."""
        if commit is None:
            return Evidence(kind, text, paths=paths)
        return Evidence(
            kind,
            text,
            commit=commit.oid,
            pr=self.pull_request(commit),
            subject=commit.subject,
            date=commit.date,
            first_tag=self.first_tag(commit.oid),
            paths=paths,
        )

    def pull_request(self, commit: CommitInfo) -> int | None:
        """The number of the pull request of a commit, None if none is known."""
        numbers = self.settings.pull_requests(commit.subject) or self._pull_requests.of(commit.oid)
        return numbers[0] if numbers else None

    @cached_property
    def renames(self) -> RenameMap:
        """The moves between the two trees, restricted to what both bases cover."""
        return RenameMap(
            self.store.git,
            self.store.objects,
            self.old.tree,
            self.new.tree,
            self.cache / "renames",
            _Covered(tuple(self._coverages)) if self._coverages else None,
        )

    @cached_property
    def _coverages(self) -> Sequence[Coverage]:
        return [base.coverage for base in (self.old, self.new) if base.archive is not None]

    def _place(self, path: str) -> Placement:
        """The place by the trees; by its history first if neither tree has the file."""
        placed = self.place_by_trees(path)
        there = (self.store.objects.file(base.tree, path) for base in (self.old, self.new))
        if placed.where is Whereabouts.UNCOVERED or any(there):
            return placed
        key = key_of([path, self.identity])
        kept = self._kept_renames.get(key)
        if kept is None:
            kept = [self._renamed_since(path)]
            self._kept_renames.put(key, kept)
        (renamed,) = kept
        return Placement(path, renamed, Whereabouts.MOVED) if renamed else placed

    @cached_property
    def _kept_renames(self) -> KeptAnswers[list[str | None]]:
        return KeptAnswers(self.cache / "renamed-since", "patchq.renamed-since/2", _name, list)

    def _look_up(self, path: str) -> Placement:
        if not self.covers(path):
            return Placement(path, None, Whereabouts.UNCOVERED)
        if self.store.objects.file(self.new.tree, path) is not None:
            return Placement(path, path, Whereabouts.SAME)
        if self.store.objects.file(self.old.tree, path) is not None:
            new = self.renames.file(path)
            return Placement(path, new, Whereabouts.MOVED if new else Whereabouts.GONE)
        added = self.renames.added(path)
        where = Whereabouts.SAME if added.path == path else Whereabouts.MOVED
        return Placement(path, added.path, where, added.alternatives)

    def _renamed_since(self, path: str) -> str | None:
        """The path of a file that upstream added at ``path`` between the bases and renamed.

        None for a file with little content, such as an empty ``__init__.py``.
        """
        found: str | None = None
        for commit in self.commits((path,)):
            for touch in commit.touches:
                if touch.status == "A" and touch.new == path:
                    found = path
                elif touch.old == found and touch.status in ("R", "D"):
                    found = touch.new if touch.status == "R" else None
        objects = self.store.objects
        if found is None or objects.file(self.old.tree, found) is not None:
            return None
        entry = objects.file(self.new.tree, found)
        says = entry is not None and len(_WORD.findall(objects.blob(entry))) >= _FEW
        return found if says else None

    def _names(self, paths: Iterable[str]) -> frozenset[str]:
        """``paths`` on both bases."""
        old = set(paths)
        placed = map(self.place_by_trees, old)
        return frozenset(old | {place.new for place in placed if place.new is not None})

    def _touching(self, names: frozenset[str]) -> tuple[CommitInfo, ...]:
        if names not in self._logs:
            wide = next((asked for asked in self._wide if names <= asked), None)
            if wide is None and names <= (expected := self._names(self._expected)):
                self._expected.clear()
                self._wide[expected] = self._log(expected)
                wide = expected
            self._logs[names] = narrow(self._wide[wide], names) if wide else self._log(names)
        return self._logs[names]

    @cached_property
    def _pull_requests(self) -> PullRequests:
        return PullRequests(self._history, self.settings, self.old.commit, self.new.commit)

    def _log(self, names: Iterable[str]) -> tuple[CommitInfo, ...]:
        return self._history.touching(self.old.commit, self.new.commit, sorted(names), merges=True)

    @cached_property
    def _logs(self) -> dict[frozenset[str], tuple[CommitInfo, ...]]:
        return {}


def upstream_range(project: Project, old: str, new: str) -> UpstreamRange:
    """The range from one locked base to another."""
    return UpstreamRange(project, project.lock.base(old), project.lock.base(new))


def _name(kept: Any) -> list[str | None]:
    (name,) = kept
    return [None if name is None else str(name)]
