"""Apply a patch strictly to a tree, by ``git apply`` on an index of the touched paths only.

Strictly means git's own rule without fuzz: every context line must match, line offsets are
allowed. Nothing is checked out.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from git.index.fun import read_cache, write_cache
from git.index.typ import BaseIndexEntry, IndexEntry

from patchq.errors import InputError
from patchq.git.objects import GITLINK_MODE, Entries, Entry, Objects, encode_path
from patchq.git.process import Git


@dataclass(frozen=True)
class Applied:
    """A patch in place: the new tree, and each path it changed as it was and as it is."""

    tree: str
    before: Entries
    after: Entries

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that changed."""
        return tuple(self.after)


@dataclass(frozen=True)
class Refused:
    """git would not apply the patch; its own words why."""

    reason: str


class Applier:
    """Applies diffs to trees of one store."""

    def __init__(self, git: Git, objects: Objects):
        self._git = git
        self._objects = objects

    def apply(
        self, tree: str, diff: bytes, paths: Collection[str], *, strip: int = 1
    ) -> Applied | Refused:
        """Apply ``diff``, which touches ``paths``, to ``tree``.

        ``paths`` bound what the result may differ in: git sees only them (and a file or symlink
        that stands where one of their directories should, so that it can refuse).
        """
        before = self._visible(tree, paths)
        files = (entry for entry in before.values() if entry and entry.mode != GITLINK_MODE)
        self._objects.ensure(entry.oid for entry in files)
        with tempfile.TemporaryDirectory(prefix="patchq-index-") as scratch:
            index = Path(scratch, "index")
            _write_index(index, {path: entry for path, entry in before.items() if entry})
            result = self._git.run(
                "apply",
                "--cached",
                "--whitespace=nowarn",
                f"-p{strip}",
                "-",
                stdin=diff,
                environment={"GIT_INDEX_FILE": str(index)},
                allow=(0, 1, 128),
            )
            if result.status:
                return Refused(_reason(result.stderr))
            after = _read_index(index)
        changed = sorted(
            path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
        )
        changes = {path: after.get(path) for path in changed}
        return Applied(
            tree=self._objects.overlay(tree, changes),
            before={path: before.get(path) for path in changed},
            after=changes,
        )

    def _visible(self, tree: str, paths: Collection[str]) -> dict[str, Entry | None]:
        visible = self._objects.files(tree, paths)
        for path in paths:
            blocker = self._objects.blocker(tree, path)
            if blocker is not None:
                visible[blocker] = self._objects.file(tree, blocker)
        return visible


def _reason(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").splitlines()
    reasons = [re.sub(r"^error: ", "", line) for line in lines if line.startswith("error: ")]
    return "; ".join(dict.fromkeys(reasons)) or (lines[-1] if lines else "git apply refused it")


def _write_index(file: Path, entries: Mapping[str, Entry]) -> None:
    rows = [
        IndexEntry.from_base(
            BaseIndexEntry((int(entry.mode, 8), bytes.fromhex(entry.oid), 0, path))
        )
        for path, entry in sorted(entries.items(), key=lambda item: encode_path(item[0]))
    ]
    try:
        with file.open("wb") as stream:
            write_cache(rows, stream)
    except (UnicodeError, ValueError) as error:
        raise InputError(f"a path of the patch cannot be put into git's index: {error}") from error


def _read_index(file: Path) -> dict[str, Entry]:
    with file.open("rb") as stream:
        _, entries, _, _ = read_cache(stream)
    return {
        str(path): Entry(f"{entry.mode:o}", entry.binsha.hex())
        for (path, _stage), entry in entries.items()
    }
