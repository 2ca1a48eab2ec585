"""Where the files of an old tree went in a new one.

git's own rename detection over the whole pair of trees is what counts (a pair is judged among
all candidates, not only those a patch happens to touch), asked for once a pair and kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from patchq.git.objects import Objects, decode_path
from patchq.git.process import Git, require_version
from patchq.kept_answers import KeptAnswers, key_of
from patchq.model.ids import TreeId


@dataclass(frozen=True)
class AddedPlace:
    """Where a file that a patch adds belongs.

    ``alternatives`` are the other directories that took files of its own, which was split.
    """

    path: str
    alternatives: tuple[str, ...] = ()


class PathFilter(Protocol):
    """A choice of paths, with a name that differs where the choice does."""

    @property
    def identity(self) -> str:
        """The same for the same choice, on every machine."""

    def accepts(self, path: str) -> bool:
        """Whether ``path`` is among the chosen."""


class RenameMap:
    """The moves between two trees. Nothing is computed until a path is missing."""

    def __init__(
        self,
        git: Git,
        objects: Objects,
        old: TreeId,
        new: TreeId,
        cache: Path,
        keep: PathFilter | None = None,
    ):
        """``keep`` says which paths are looked at; without one, all are."""
        self._git = git
        self._objects = objects
        self._old = old
        self._new = new
        self._keep = keep
        self._cache = KeptAnswers(cache, "patchq.renames/2", _read, dict)
        self._key = key_of([old, new, keep and keep.identity, require_version()])
        self._renames: Mapping[str, str] | None = None

    @property
    def renames(self) -> Mapping[str, str]:
        """Old path to new path, for every file that moved."""
        if self._renames is None:
            self._renames = self._load()
        return self._renames

    def file(self, path: str) -> str | None:
        """Where the file at ``path`` of the old tree is in the new one, None if it is gone."""
        if self._objects.file(self._new, path) is not None:
            return path
        return self.renames.get(path)

    def added(self, path: str) -> AddedPlace:
        """Where a file that is in neither tree belongs, should its directory have moved.

        git's rule for directory renames: a directory counts as moved when none of it is left, and
        it moved to where most of its files went (git-merge, merge.directoryRenames). Of several
        that took as many, the first by name counts.
        """
        directory, _, _ = path.rpartition("/")
        while directory:
            if self._objects.entry(self._new, directory) is not None:
                return AddedPlace(path)
            if self._objects.entry(self._old, directory) is not None:
                return self._through_directory(directory, path)
            directory, _, _ = directory.rpartition("/")
        return AddedPlace(path)

    def _through_directory(self, directory: str, path: str) -> AddedPlace:
        targets = Counter(
            target
            for old, new in self.renames.items()
            if (target := _moved_directory(directory, old, new)) is not None
        )
        if not targets:
            return AddedPlace(path)
        place, *others = sorted(targets, key=lambda target: (-targets[target], target))
        return AddedPlace(place + path[len(directory) :], tuple(others))

    def _load(self) -> Mapping[str, str]:
        known = self._cache.get(self._key)
        if known is None:
            known = self._ask_git()
            self._cache.put(self._key, known)
        return known

    def _ask_git(self) -> dict[str, str]:
        output = self._git.run(
            "diff-tree",
            "-r",
            "-z",
            "-M",
            "--no-rename-empty",
            "-l0",
            "--diff-filter=R",
            "--name-status",
            "--no-ext-diff",
            self._restricted(self._old),
            self._restricted(self._new),
        ).stdout
        fields = output.split(b"\0")[:-1]
        return {
            decode_path(old): decode_path(new)
            for old, new in zip(fields[1::3], fields[2::3], strict=True)
        }

    def _restricted(self, tree: TreeId) -> TreeId:
        keep = self._keep
        if keep is None:
            return tree
        out = [path for path, _ in self._objects.walk(tree) if not keep.accepts(path)]
        return self._objects.overlay(tree, dict.fromkeys(out))


def _read(kept: Mapping[str, str]) -> dict[str, str]:
    return dict(kept)


def _moved_directory(directory: str, old: str, new: str) -> str | None:
    """The directory ``directory`` moved to, going by one of its files; None: it tells nothing."""
    prefix = f"{directory}/"
    if not old.startswith(prefix):
        return None
    rest = old[len(prefix) :]
    return new[: -len(rest) - 1] if new.endswith(f"/{rest}") else new.rpartition("/")[0]
