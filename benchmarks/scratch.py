"""A scratch workspace on a clone of the upstream: what every benchmark judges in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchq.engine.judge.cache import kept_verdicts
from patchq.engine.judge.case import Case
from patchq.engine.judge.judge import Judge
from patchq.engine.judge.judgement import Judgement
from patchq.engine.rebase.rebase import Rebased, rebase_series
from patchq.engine.series.stack import Stack
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import upstream_range
from patchq.errors import UpstreamError, Where
from patchq.git.lender import Lender, find_lender
from patchq.git.store import Store, open_store
from patchq.model.lock import Base, Lock, render_lock
from patchq.model.patch import Patch
from patchq.model.series import read_series
from patchq.model.workspace import SeriesDirectory, Workspace

TAGS = (
    "v0.5.10",
    "v0.5.11",
    "v0.5.12",
    "v0.5.12.post1",
    "v0.5.13",
    "v0.5.13.post1",
    "v0.5.14",
    "v0.5.15",
    "v0.5.15.post1",
    "v0.5.16",
    "v0.5.17",
    "v0.5.18",
)
"""The tags of SGLang that the benchmarks speak of, in the order of the lock."""


@dataclass(frozen=True)
class Scratch:
    """Where a benchmark works, and the clone that lends its objects (never written to)."""

    root: Path
    upstream: Path
    tags: tuple[str, ...] = TAGS

    def project(self) -> Project:
        """The workspace as the engine takes it, made on the first call.

        Raises :class:`~patchq.errors.UpstreamError` where the clone lacks one of the tags.
        """
        workspace = Workspace(self.root)
        lender = find_lender(self.upstream)
        store = open_store(workspace.store_path, lender)
        if not workspace.lock_path.exists():
            lock = Lock(str(self.upstream), tuple(_base(store, lender, tag) for tag in self.tags))
            workspace.series_dir.mkdir(parents=True, exist_ok=True)
            workspace.lock_path.write_bytes(render_lock(lock))
        return Project(workspace, workspace.lock(), workspace.settings(), store)


def series_of(tag: str, patches: Sequence[Patch]) -> SeriesDirectory:
    """A series of these patches on ``tag``, in memory only."""
    names = "".join(f"{patch.name}\n" for patch in patches)
    by_name: Mapping[str, Patch] = {patch.name: patch for patch in patches}
    return SeriesDirectory(tag, Path(tag), read_series(names.encode(), Where("series")), by_name)


def rebase(
    project: Project, old: str, new: str, patches: Sequence[Patch], jobs: int | None = None
) -> Rebased:
    """Judge ``patches``, a series on ``old``, on ``new``, in up to ``jobs`` processes."""
    verdicts = kept_verdicts(project.workspace)
    span, series = upstream_range(project, old, new), series_of(old, patches)
    return rebase_series(span, series, {}, verdicts, jobs=jobs)


def judge_each(
    project: Project, old: str, new: str, patches: Sequence[Patch]
) -> dict[str, Judgement]:
    """Judge each of ``patches`` (by name) alone; what can be looked up for all at once is."""
    span = upstream_range(project, old, new)
    stack = Stack(project.store)
    judge = Judge(span, stack, {path for patch in patches for path in patch.paths})
    return {
        patch.name: judge.judge(
            Case(patch, stack.apply(span.old.tree, patch, onto=old), span.new.tree)
        )
        for patch in patches
    }


def tree_of(project: Project, rebased: Rebased) -> str:
    """The tree of the new base with all that was carried."""
    carried = [rebased.judgements[name].patch for name in rebased.carried]
    return Stack(project.store).apply_all(
        rebased.onto.tree, [patch for patch in carried if patch], onto=rebased.onto.name
    )


def _base(store: Store, lender: Lender, tag: str) -> Base:
    oid = lender.ref(f"refs/tags/{tag}")
    commit = store.resolve(oid) if oid else None
    if commit is None:
        raise UpstreamError(f"the clone has no tag {tag}")
    return Base(tag, commit, *store.describe(commit))
