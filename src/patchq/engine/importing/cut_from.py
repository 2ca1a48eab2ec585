"""What a patch from elsewhere was cut from, and the patch as a change of that.

The ``index`` lines of a git diff name the blobs it was made against (git-diff(1)): the commit whose
tree has them all is where it comes from. Without them, the tree on which most of its hunks stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from patchq.engine.backport.upstream_change import ChangeReader, UpstreamChange
from patchq.engine.importing.given.read import Given, read_given
from patchq.engine.series.hunks import locate
from patchq.engine.series.message import Wording, wording
from patchq.engine.series.stack import Stack
from patchq.engine.workspace.project import Project
from patchq.errors import InputError, UnavailableError, Where
from patchq.git.apply import Applied
from patchq.git.history import CommitInfo
from patchq.git.identity import UNKNOWN_AUTHOR
from patchq.git.objects import Entry
from patchq.model.diff_layout import split_lines
from patchq.model.ids import CommitId, TreeId
from patchq.model.lock import Base
from patchq.model.patch import Patch, read_patch, repair
from patchq.model.words import counted

_IN_NAME = re.compile(r"(?:^|(?<![A-Za-z])pr[-_ ]?)(\d{2,})(?=\.patch$|[-_.])", re.IGNORECASE)
_MOST_STEPS = 400
"""How many commits of main are tried for a patch that names no blobs, the newest first."""


class Proof(Enum):
    """How the origin was told."""

    BLOBS = "blobs"
    LINES = "lines"


@dataclass(frozen=True)
class CutFrom:
    """Where a patch was cut.

    ``name`` is the locked base that ``commit`` is, None for a commit of main; ``matched`` of
    ``total`` blobs (or hunks) are there; ``past`` is how many commits of main it stands past the
    branch point of the base ``tag``, 0 where it is not past it.
    """

    commit: CommitId
    tree: TreeId
    name: str | None
    proof: Proof
    matched: int
    total: int
    tag: str
    past: int

    def __str__(self) -> str:
        where = self.name or f"main at {self.commit[:12]}"
        past = (
            f", {counted(self.past, 'commit')} past {self.tag}'s branch point" if self.past else ""
        )
        what = "blobs" if self.proof is Proof.BLOBS else "hunks"
        part = "" if self.matched == self.total else f" ({self.matched} of {self.total} {what})"
        return f"cut from {where}{past}{part}"


@dataclass(frozen=True)
class Foreign:
    """A patch as a change of what it was cut from."""

    change: UpstreamChange
    cut_from: CutFrom


class OriginFinder:
    """Finds origins among the bases of the lock and the commits of ``main``, if that is known."""

    def __init__(self, project: Project, main: CommitId | None):
        self._project = project
        self._objects = project.store.objects
        self._history = project.store.history
        self._stack = Stack(project.store)
        self._main = main

    def find(self, patch: Patch, tag: str) -> CutFrom | None:
        """Where ``patch``, meant for the base ``tag``, was cut; None if nothing fits.

        One that only adds files fits where none of them is.
        """
        if all(change.old is None for change in patch.files):
            return self._without(patch, tag)
        blobs = _blobs(patch)
        if blobs:
            found = self._best(patch, tag, self._blob_score(blobs), len(blobs), Proof.BLOBS)
            if found is not None:
                return found
        hunks = sum(len(change.hunks) for change in patch.files if change.old is not None)
        return self._best(patch, tag, self._line_score(patch), hunks, Proof.LINES)

    def _without(self, patch: Patch, tag: str) -> CutFrom | None:
        """The first base that has no file of ``patch``, ``tag`` before others."""
        for base in self._bases(tag):
            if not any(self._objects.entry(base.tree, path) for path in patch.paths):
                return CutFrom(base.commit, base.tree, base.name, Proof.BLOBS, 0, 0, tag, 0)
        return None

    def read(self, file: str, raw: bytes, tag: str, changes: ChangeReader) -> tuple[Foreign, ...]:
        """The patches in a file, each as a change of what it was cut from.

        Raises :class:`InputError` if one is malformed, or where nothing is known that it
        applies to.
        """
        given, _ = read_given(file, raw)
        return tuple(self._read(one, tag, changes) for one in given)

    def _read(self, given: Given, tag: str, changes: ChangeReader) -> Foreign:
        mended, _ = repair(given.raw)
        where = Where(given.place)
        for strip in (1, 0):
            try:
                patch = read_patch(given.name, mended, strip=strip, where=where)
            except InputError:
                if strip:
                    continue
                raise
            patch.header.check_fields()
            words = wording(patch, author=UNKNOWN_AUTHOR, date="0 +0000")
            foreign = self.bring(patch, tag, changes, words)
            if foreign is not None:
                return foreign
        raise InputError(
            "it applies to no locked tag and to no commit of main that is known here",
            where=where,
            hint="Run `patchq fetch`, or name upstream's main with --main. A patch that stands on "
            "another that is not upstream needs that one first.",
        )

    def bring(
        self, patch: Patch, tag: str, changes: ChangeReader, words: Wording
    ) -> Foreign | None:
        """``patch`` as a change of what it was cut from; None if it does not apply there."""
        cut_from = self.find(patch, tag)
        if cut_from is None:
            return None
        applied = self._stack.try_apply(self._named_tree(patch, cut_from.tree), patch.bare)
        if not isinstance(applied, Applied):
            return None
        numbers = patch.header.upstream_prs or self._numbers(patch, words)
        change = changes.of_patch(patch, cut_from.commit, applied, words, numbers)
        return Foreign(change, cut_from)

    def _numbers(self, patch: Patch, words: Wording) -> tuple[int, ...]:
        """The pull requests that its subject ends with, else the one that its name gives."""
        told = self._project.settings.pull_requests(words.message.partition("\n")[0])
        named = _IN_NAME.search(patch.name)
        return told or ((int(named[1]),) if named else ())

    def _best(
        self, patch: Patch, tag: str, score: Callable[[TreeId], int], total: int, proof: Proof
    ) -> CutFrom | None:
        """The base or commit with the highest score: the tag, another base, a commit of main."""
        bases = self._bases(tag)
        scored = [(score(base.tree), base) for base in bases]
        best, base = max(scored, key=lambda pair: pair[0], default=(0, None))
        commit: CommitInfo | None = None
        if best < total:
            steps = self._steps(patch, None if proof is Proof.BLOBS else _MOST_STEPS)
            best, commit = _earliest_best(steps, score, best)
        if best <= 0:
            return None
        if commit is not None:
            return CutFrom(
                commit.oid, commit.tree, None, proof, best, total, tag, self._past(tag, commit.oid)
            )
        assert base is not None
        past = 0 if base.archive or base.name == tag else self._past(tag, base.commit)
        return CutFrom(base.commit, base.tree, base.name, proof, best, total, tag, past)

    def _bases(self, tag: str) -> list[Base]:
        """The bases that are here, ``tag`` first, then the newest."""
        there = [base for base in self._project.lock.bases if self._objects.has(base.tree)]
        there.reverse()
        return sorted(there, key=lambda base: base.name != tag)

    def _steps(self, patch: Patch, most: int | None) -> Sequence[CommitInfo]:
        """The commits of main that touch the patch's paths, newest first."""
        first = next((b for b in self._project.lock.bases if b.archive is None), None)
        if self._main is None or first is None or not self._objects.has(first.commit):
            return ()
        paths = [change.old for change in patch.files if change.old is not None]
        if not paths:
            return ()
        try:
            found = self._history.walk(first.commit, self._main).touching(paths)
        except UnavailableError:  # it looks at more files than those that touch the paths
            found = self._history.touching(first.commit, self._main, paths)
        return found[::-1][:most]

    def _past(self, tag: str, commit: CommitId) -> int:
        base = self._project.lock.base(tag)
        if base.archive is not None or not self._objects.has(base.commit):
            return 0
        walk = self._history.walk(base.commit, commit, self._main)
        return sum(len(walk.commits[place].parents) < 2 for place in walk.order.values())

    def _blob_score(self, blobs: Mapping[str, str]) -> Callable[[TreeId], int]:
        def score(tree: TreeId) -> int:
            found = self._objects.files(tree, blobs)
            return sum(
                entry is not None and entry.oid.startswith(blobs[path])
                for path, entry in found.items()
            )

        return score

    def _line_score(self, patch: Patch) -> Callable[[TreeId], int]:
        known: dict[tuple[str, str], int] = {}

        def score(tree: TreeId) -> int:
            total = 0
            for change in patch.files:
                entry = self._objects.file(tree, change.old) if change.old else None
                if entry is None or change.old is None:
                    continue
                key = (change.old, entry.oid)
                if key not in known:
                    lines = split_lines(self._objects.read(entry.oid))
                    known[key] = sum(locate([h], lines) is not None for h in change.hunks)
                total += known[key]
            return total

        return score

    def _named_tree(self, patch: Patch, tree: TreeId) -> TreeId:
        """``tree`` with the files whose blobs the patch names, where the store has those."""
        wanted: dict[str, Entry | None] = {}
        blobs = _blobs(patch)
        full = self._project.store.find_blobs(blobs.values())
        for path, blob in blobs.items():
            there = self._objects.file(tree, path)
            if there is not None and not there.oid.startswith(blob) and blob in full:
                wanted[path] = Entry(there.mode, full[blob])
        return self._objects.overlay(tree, wanted) if wanted else tree


def _earliest_best(
    steps: Sequence[CommitInfo], score: Callable[[TreeId], int], best: int
) -> tuple[int, CommitInfo | None]:
    """The commit with a score above ``best``; of neighbours that score alike, the first made."""
    found: CommitInfo | None = None
    running = False
    for commit in steps:
        value = score(commit.tree)
        if value > best:
            best, found, running = value, commit, True
        elif running and value == best:
            found = commit
        else:
            running = False
    return best, found


def _blobs(patch: Patch) -> dict[str, str]:
    """The blob that each file must have before, as the ``index`` lines give it (abbreviated)."""
    return dict(_named(patch))


def _named(patch: Patch) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for change in patch.files:
        if change.old is None or change.old in seen:
            continue
        seen.add(change.old)
        if change.old_blob and change.old_blob.strip("0"):
            yield change.old, change.old_blob
