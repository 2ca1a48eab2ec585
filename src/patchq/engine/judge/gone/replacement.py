"""The file that replaced one which upstream deleted.

If settings change their format, or a module its language, the texts are not similar. The names are,
or the directory is the same one and one file of it was deleted and one added. Upstream may do both
in one commit, or add the new file first and delete the old one later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import PurePosixPath

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.model.ids import TreeId

_COMMON = 5
"""A file name that more files of the old tree have is too common to tell anything."""

_PROSE = frozenset({".md", ".mdx", ".rst", ".adoc"})


class Replacements:
    """Finds replacements of files between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects

    def find(self, path: str, commit: CommitInfo) -> str | None:
        """The file that replaced ``path``, which ``commit`` deleted; None if there is none."""
        gone = PurePosixPath(path)
        return self._at_once(gone, commit) or self._over_time(gone)

    def _at_once(self, gone: PurePosixPath, commit: CommitInfo) -> str | None:
        """The replacement among the files that the same commit added."""
        if not commit.parents:
            return None
        before = self._objects.commit_tree(commit.parents[0])
        went, came = self._changes(before, commit.tree)
        return _named_alike(gone, came) or next(iter(_beside(gone, went, came)), None)

    def _over_time(self, gone: PurePosixPath) -> str | None:
        """The replacement among the files that the new base has in addition, without renames."""
        went, came = self._between
        there = [name for name in came if name.suffix not in _PROSE or gone.suffix in _PROSE]
        alike = _named_alike(gone, there) if self._stems[gone.stem] <= _COMMON else None
        beside = _beside(gone, went, came)
        return alike or (beside[0] if len(beside) == 1 else None)

    @cached_property
    def _between(self) -> tuple[Sequence[PurePosixPath], Sequence[PurePosixPath]]:
        renames = self._span.renames.renames
        moved = {*renames, *renames.values()}
        went, came = self._changes(self._span.old.tree, self._span.new.tree)
        return [p for p in went if str(p) not in moved], [p for p in came if str(p) not in moved]

    @cached_property
    def _stems(self) -> Counter[str]:
        files = self._objects.walk(self._span.old.tree)
        return Counter(PurePosixPath(path).stem for path, _ in files)

    def _changes(self, old: TreeId, new: TreeId) -> tuple[list[PurePosixPath], list[PurePosixPath]]:
        """The files deleted and the files added from one tree to another."""
        went: list[PurePosixPath] = []
        came: list[PurePosixPath] = []
        for path in sorted(self._objects.differing(old, new)):
            was, is_ = (self._objects.file(tree, path) for tree in (old, new))
            if was is None or is_ is None:
                (came if was is None else went).append(PurePosixPath(path))
        return went, came


def _named_alike(gone: PurePosixPath, came: Iterable[PurePosixPath]) -> str | None:
    return next((str(path) for path in came if path.stem == gone.stem), None)


def _beside(
    gone: PurePosixPath, went: Sequence[PurePosixPath], came: Sequence[PurePosixPath]
) -> list[str]:
    """The files added to the directory of ``gone``, if no other file of it was deleted."""
    alone = all(path == gone for path in went if path.parent == gone.parent)
    return [str(path) for path in came if alone and path.parent == gone.parent]
