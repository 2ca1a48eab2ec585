"""A miniature upstream and patches as a workspace on disk, and the engine opened on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from miniature import Miniature

from patchq.engine.workspace.project import Project
from patchq.git.lender import find_lender
from patchq.git.store import open_store
from patchq.model.ids import commit_id, tree_id
from patchq.model.lock import Base, Lock, render_lock
from patchq.model.trust import TrustedTree, render_trust
from patchq.model.workspace import Workspace


def pinned(upstream: Miniature, tag: str) -> Base:
    """The base that a tag of ``upstream`` is."""
    shown = upstream.git("show", "-s", "--format=%H %T %cI", f"refs/tags/{tag}^{{commit}}")
    commit, tree, date = shown.decode().split()
    return Base(tag, commit_id(commit), tree_id(tree), date)


def make_workspace(
    upstream: Miniature,
    patches: Mapping[str, bytes],
    *,
    bases: Sequence[str | Base] = ("v1", "v2"),
    on: str = "v1",
    series: str | None = None,
    settings: str | None = None,
    root: Path | None = None,
) -> Workspace:
    """A workspace with one series, on ``on``: ``patches`` in order, or as ``series`` says.

    It lies beside ``upstream`` unless a ``root`` is given; ``settings`` is ``patchq.yaml``. The
    build of upstream is trusted, for machines without a sandbox.
    """
    workspace = Workspace(root or upstream.path.parent / "workspace")
    workspace.series_dir.mkdir(parents=True, exist_ok=True)
    lock = Lock(
        str(upstream.path),
        tuple(base if isinstance(base, Base) else pinned(upstream, base) for base in bases),
    )
    workspace.lock_path.write_bytes(render_lock(lock))
    if settings is not None:
        workspace.settings_path.write_text(settings)
        trusted = [TrustedTree(base.name, base.tree) for base in lock.bases]
        workspace.trust_path.write_bytes(render_trust(trusted))
    add_series(workspace, on, patches, series=series)
    return workspace


def add_series(
    workspace: Workspace, on: str, patches: Mapping[str, bytes], *, series: str | None = None
) -> Path:
    """A series on ``on`` in a workspace that is there; its directory."""
    directory = workspace.series_path(on)
    directory.mkdir()
    order = "".join(f"{name}\n" for name in patches) if series is None else series
    (directory / "series").write_text(order)
    for name, raw in patches.items():
        (directory / name).write_bytes(raw)
    return directory


def open_project(workspace: Workspace, upstream: Miniature) -> Project:
    """The workspace as the engine takes it, ``upstream`` lending its objects."""
    store = open_store(workspace.store_path, find_lender(upstream.path))
    return Project(workspace, workspace.lock(), workspace.settings(), store)


def placed(upstream: Miniature, at: str, *patches: bytes) -> dict[str, bytes]:
    """What git itself makes of ``patches`` on a revision: content by path of all they changed.

    A file that is gone is absent. Fails where strict ``git apply`` refuses one of them.
    """
    upstream.git("read-tree", at)
    for patch in patches:
        upstream.git("apply", "--cached", "--whitespace=nowarn", stdin=patch)
    changed = upstream.git("diff-index", "--cached", "-z", "--name-status", "--no-renames", at)
    fields = changed.split(b"\0")[:-1]
    names = [
        path.decode("utf-8", "surrogateescape")
        for status, path in zip(fields[::2], fields[1::2], strict=True)
        if status != b"D"
    ]
    return {name: upstream.read("", name) for name in names}
