"""Patches that stand on one that collides, commits past both tags, and probes as one series."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from itertools import chain

from cases import Cut, cut_commits, later_commits
from probe import Fate, Place, Probe
from source import tree_diff

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.mail import Mailer
from patchq.git.objects import Entry
from patchq.model.ids import CommitId, TreeId
from patchq.model.patch import Patch


class CommitProbes:
    """Makes probes of the commits past the new tag, up to ``future``, of one span."""

    def __init__(self, span: UpstreamRange, future: CommitId, seed: int):
        self._span = span
        self._merger = span.store.merger
        self._objects = span.store.objects
        self._mailer = Mailer(span.store.git, self._objects)
        self._random = random.Random(seed)
        self._future = future

    @cached_property
    def _commits(self) -> list[CommitInfo]:
        commits = later_commits(self._span, self._future)
        self._random.shuffle(commits)
        return commits

    def future(self) -> Iterator[Probe]:
        """Commits that merge onto both tags: what they are on the new one is what is right."""
        old, new = self._span.old.tree, self._span.new.tree
        for cut, there in zip(*self._cut_for(old, new), strict=True):
            if cut is None or there is None:
                continue
            name = f"future-{cut.commit.oid[:12]}.patch"
            patch = Patch(name, self._mailer.diff(old, cut.tree))
            plain = self._merger.merge(old, new, cut.tree)
            merges = plain.clean if plain.tree == there.tree or not plain.clean else None
            yield Probe(
                Fate.FUTURE, patch, cut.commit.oid, cut.tree, right=there.tree, merges=merges
            )

    def stacked(self) -> Iterator[Probe]:
        """A line put into a run of lines that a patch adds which plain merge cannot carry.

        The patches below are commits, and where these are too few edits of lines that upstream
        changed too.
        """
        old, new = self._span.old.tree, self._span.new.tree
        cuts = filter(None, cut_commits(self._span, self._commits, old))
        lower = ((cut.commit.oid, cut.tree) for cut in cuts)
        for made_of, tree in chain(lower, self._edits()):
            if self._merger.merge(old, new, tree).clean:
                continue
            name = f"lower-{sha256(made_of.encode()).hexdigest()[:8]}.patch"
            patch = Patch(name, self._mailer.diff(old, tree))
            upper = self._on(Probe(Fate.STACKED, patch, made_of, tree, merges=False))
            if upper is not None:
                yield upper

    def _edits(self) -> Iterator[tuple[str, TreeId]]:
        """Trees of the old tag with a line edited, and some added, where upstream has others."""
        old = self._span.old.tree
        diffs = tree_diff(self._span.store.git, old, self._span.new.tree)
        places = [
            (diff.old, cut.start)
            for diff in diffs.values()
            for cut in diff.cuts
            if diff.new and cut.count > 1 and cut.added > 1
        ]
        self._random.shuffle(places)
        for path, at in places:
            entry = self._objects.file(old, path)
            if entry is None:
                continue
            lines = self._objects.read(entry.oid).splitlines(keepends=True)
            edited = lines[at].rstrip(b"\r\n") + b" patchq_lower\n"
            added = [b"patchq_lower_%d\n" % number for number in range(6)]
            content = b"".join([*lines[:at], edited, *added, *lines[at + 1 :]])
            oid = self._objects.write("blob", content)
            tree = self._objects.overlay(old, {path: Entry(entry.mode, oid)})
            yield f"{path}:{at + 1}", tree

    def _on(self, below: Probe) -> Probe | None:
        runs = [
            (change.paths[-1], hunk.new_start - 1 + at)
            for change in below.patch.files
            for hunk in change.hunks
            for at in _added_runs([line[:1] for line in hunk.lines])
        ]
        if not runs:
            return None
        path, at = self._random.choice(runs)
        entry = self._objects.file(below.tree, path)
        if entry is None:
            return None
        lines = self._objects.read(entry.oid).splitlines(keepends=True)
        name = below.name.replace("lower", "upper")
        mark = name.removesuffix(".patch").replace("-", "_").encode()
        lines[at:at] = [mark + b"\n"]
        oid = self._objects.write("blob", b"".join(lines))
        tree = self._objects.overlay(below.tree, {path: Entry(entry.mode, oid)})
        patch = Patch(name, self._mailer.diff(below.tree, tree))
        return Probe(Fate.STACKED, patch, below.made_of, tree, mark, (Place(path),), below=below)

    def _cut_for(
        self, old: TreeId, new: TreeId
    ) -> tuple[Iterator[Cut | None], Iterator[Cut | None]]:
        return (
            cut_commits(self._span, self._commits, old),
            cut_commits(self._span, self._commits, new),
        )


def _added_runs(signs: list[bytes]) -> Iterator[int]:
    """The middles of runs of added lines, as lines of the hunk's new side."""
    line = 0
    for number, sign in enumerate(signs):
        if sign in (b"-", b"\\"):
            continue
        if signs[max(number - 2, 0) : number + 2] == [b"+"] * 4:
            yield line
        line += 1


class Stacker:
    """Puts probes on top of each other, each made again on those before it."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._merger = span.store.merger
        self._mailer = Mailer(span.store.git, span.store.objects)

    def stack(self, probes: Sequence[Probe], count: int) -> list[Probe]:
        """A series of ``count`` of them (with what they stand on); what collides is left out."""
        old = top = self._span.old.tree
        series: list[Probe] = []
        for probe in probes:
            if len(series) >= count:
                break
            group = [probe.below, probe] if probe.below else [probe]
            trees, base, tree = [], old, top
            for one in group:
                merged = self._merger.merge(base, tree, one.tree)
                if not merged.clean or merged.tree == tree:
                    break
                trees.append((tree, merged.tree))
                base, tree = one.tree, merged.tree
            if len(trees) < len(group):
                continue
            stacked = [
                replace(one, patch=Patch(one.name, self._mailer.diff(*sides)))
                for one, sides in zip(group, trees, strict=True)
            ]
            series += stacked
            top = tree
        return series


def disjoint(probes: Sequence[Probe]) -> list[Probe]:
    """Those of which no two touch the same file: what each gives can be seen in the whole."""
    seen: set[str] = set()
    found = []
    for probe in probes:
        paths = set(probe.patch.paths)
        if not paths & seen:
            found.append(probe)
            seen |= paths
    return found
