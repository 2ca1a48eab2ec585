"""A patch that collides with the new base, as people and tools are to see it.

The patch is merged as a whole, and every path is named as it is on the new base. What is to be
decided are the *conflicts*: paths that git could not merge, and those that it could but that the
judge does not trust (lines that would stand twice, a file without a certain place).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from patchq.engine.judge.case import Case
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.objects import GITLINK_MODE, SYMLINK_MODE, Entries, Entry
from patchq.git.store import Store
from patchq.git.worktree import Sides, WorktreeLayout
from patchq.model.lock import Base
from patchq.model.verdict import EvidenceKind, HunkState, PatchReport

_TROUBLE = frozenset({HunkState.CONFLICTING, HunkState.GONE})
_ASIDE = re.compile(r"(.+)~[0-9a-f]{40}(?:_\d+)?")
_BINARY_PROBE = 8000
"""Bytes in which git looks for a NUL to take a file for binary."""


@dataclass(frozen=True)
class Collision:
    """The merge of a case.

    ``merged`` are the paths of the patch as git merged them, markers inside where it could not;
    ``moves`` maps old paths to new where they differ; ``beside`` are the files in which the code
    may be now.
    """

    case: Case
    moves: Mapping[str, str]
    merged: Entries
    conflicts: Mapping[str, Sides]
    beside: tuple[str, ...] = ()


def collide(span: UpstreamRange, case: Case, report: PatchReport) -> Collision:
    """Merge ``case`` as a whole; ``report`` is what the judge said of it."""
    objects = span.store.objects
    applied = case.applied
    places = {path: span.place(path).new for path in applied.paths}
    names = {path: new or path for path, new in places.items()}
    ours = {path: objects.file(case.ours, new) if new else None for path, new in places.items()}
    tree = objects.tree_of
    merge = span.store.merger.merge(tree(applied.before), tree(ours), tree(applied.after))
    found = [path for path, _ in objects.walk(merge.tree)]
    asides = _asides([*found, *merge.conflicted_paths], found)
    paths = dict.fromkeys([*applied.paths, *(path for path in found if path not in asides)])
    sides = {
        path: Sides(applied.before.get(path), ours.get(path), applied.after.get(path))
        for path in _distrusted(report, applied.paths)
    }
    for path in dict.fromkeys(asides.get(path, path) for path in merge.conflicted_paths):
        stages = {
            stage.number: Entry(stage.mode, stage.oid)
            for where, stage in merge.conflicts
            if asides.get(where, where) == path
        }
        sides[path] = Sides(stages.get(1), stages.get(2), stages.get(3))
    return Collision(
        case=case,
        moves={path: new for path, new in places.items() if new not in (None, path)},
        merged={names.get(path, path): objects.file(merge.tree, path) for path in paths},
        conflicts={names.get(path, path): side for path, side in sides.items()},
        beside=tuple(
            path
            for item in report.evidence
            if item.kind is EvidenceKind.CODE_MOVED
            for path in item.paths
            if objects.file(case.ours, path)
        ),
    )


def _asides(paths: Iterable[str], there: Collection[str]) -> dict[str, str]:
    """The places of the sides that git-merge-tree(1) put aside, as ``lnk~<commit>``.

    It does so where the other side has an entry of another type.
    """
    matches = ((path, _ASIDE.fullmatch(path)) for path in paths)
    return {path: match[1] for path, match in matches if match and match[1] in there}


def _distrusted(report: PatchReport, paths: tuple[str, ...]) -> list[str]:
    troubled = {hunk.file for hunk in report.hunks if hunk.state in _TROUBLE}
    return [path for path in paths if path in troubled]


def layout(store: Store, collision: Collision, old: Base, new: Base) -> WorktreeLayout:
    """The worktree in which ``collision`` is to be solved."""
    objects = store.objects
    labels = (f"{new.name} (ours)", f"{old.name} (base)", collision.case.patch.name)
    files = dict(collision.merged)
    for path, sides in collision.conflicts.items():
        marked = _marked(store, sides, labels)
        if marked is not None:
            files[path] = marked
    shown = [*files, *collision.beside]
    ours = objects.write_commit(
        collision.case.ours, (new.commit,), message=f"{new.name} with the patches below\n"
    )
    return WorktreeLayout(
        commit=ours,
        parent=new.commit,
        tree=objects.overlay(collision.case.ours, files),
        directories=tuple(sorted({path.rpartition("/")[0] for path in shown} - {""})),
        unmerged=collision.conflicts,
    )


def _marked(store: Store, sides: Sides, labels: tuple[str, str, str]) -> Entry | None:
    """The file with labelled markers in diff3 style, None if it cannot have any.

    See git-merge-file(1). Only files that both sides have, as text, can be merged by lines.
    """
    ours, theirs = sides.ours, sides.theirs
    if ours is None or theirs is None:
        return None
    contents = [
        b"" if entry is None else store.objects.read(entry.oid)
        for entry in (ours, sides.base, theirs)
        if entry is None or entry.mode not in (SYMLINK_MODE, GITLINK_MODE)
    ]
    if len(contents) < 3 or any(b"\0" in content[:_BINARY_PROBE] for content in contents):
        return None
    merged = store.merger.merge_file(contents[0], contents[1], contents[2], labels)
    return Entry(ours.mode, store.objects.write_blob(merged))
