"""Apply a patch strictly to a tree, by ``git apply`` on an index of the touched paths only.

Strictly means git's own rule without fuzz: every context line must match, line offsets are
allowed. Nothing is checked out. What :mod:`patchq.git.strict` can place needs no process.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from patchq.git.merge import read_stage
from patchq.git.objects import GITLINK_MODE, Entries, Entry, Objects, decode_path, encode_path
from patchq.git.process import Git, load_gitpython
from patchq.git.strict import Content, PlainDiff, Unplaced
from patchq.model.ids import ObjectId, TreeId
from patchq.scratch import scratch_root


@dataclass(frozen=True)
class Applied:
    """A patch in place: the new tree, and each path it changed as it was and as it is."""

    tree: TreeId
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
        self,
        tree: TreeId,
        diff: bytes,
        paths: Collection[str],
        *,
        strip: int = 1,
        directory: str = "",
        context: int | None = None,
        plain: PlainDiff | None = None,
    ) -> Applied | Refused:
        """Apply ``diff``, which touches ``paths``, to ``tree``, below ``directory`` of it.

        If ``plain`` is given, it is the same diff as it was read, and git is asked only about what
        it cannot settle.

        With ``context`` only so many lines around a change must match, where the diff has more.

        ``paths`` bound what the result may differ in: git sees only them (and a file or symlink
        because of which one of them cannot be there, so that it can refuse).
        """
        before = self._visible(tree, paths)
        alone = context is None and before.keys() == set(paths)
        found = plain.apply(before, self._objects.blob) if plain and alone else None
        if isinstance(found, Unplaced):
            return Refused(found.reason)
        if found is not None:
            after = {path: self._keep(content) for path, content in found.items()}
            return self._changed(tree, before, after)
        files = (entry for entry in before.values() if entry and entry.mode != GITLINK_MODE)
        self._objects.verify(entry.oid for entry in files)
        with tempfile.TemporaryDirectory(prefix="index-", dir=scratch_root()) as scratch:
            index = _Index(self._git, Path(scratch, "index"))
            refused = index.write({path: entry for path, entry in before.items() if entry})
            refused = refused or index.apply(diff, strip, directory, context)
            if refused is not None:
                return refused
            applied = self._changed(tree, before, index.read())
        stray = set(self._objects.differing(tree, applied.tree)).difference(paths)
        if stray:
            return Refused(f"git reads it as a change of {', '.join(sorted(stray))} too")
        return applied

    def _keep(self, file: Content | None) -> Entry | None:
        return Entry(file.mode, self._objects.write_blob(file.content)) if file else None

    def _changed(self, tree: TreeId, before: Entries, after: Entries) -> Applied:
        paths = before.keys() | after.keys()
        changed = sorted(path for path in paths if before.get(path) != after.get(path))
        changes = {path: after.get(path) for path in changed}
        return Applied(
            tree=self._objects.overlay(tree, changes),
            before={path: before.get(path) for path in changed},
            after=changes,
        )

    def names(
        self, diff: bytes, *, strip: int = 1, directory: str = ""
    ) -> tuple[str, ...] | Refused:
        """The files that git finds in ``diff``, by their new names (or old, if they are deleted).

        What it passes over as no diff is not among them.
        """
        args = ("apply", "--numstat", "-z", f"-p{strip}", *_below(directory), "-")
        listed = self._git.run(*args, stdin=diff, allow=(0, 1, 128))
        if listed.status:
            return Refused(_reason(listed.stderr))
        rows = listed.stdout.split(b"\0")[:-1]
        return tuple(decode_path(row.split(b"\t", 2)[2]) for row in rows)

    def _visible(self, tree: TreeId, paths: Collection[str]) -> dict[str, Entry | None]:
        visible = self._objects.files(tree, paths)
        for path in paths:
            blocker = self._objects.blocker(tree, path, paths)
            if blocker is not None:
                visible[blocker] = self._objects.file(tree, blocker)
        return visible


@dataclass(frozen=True)
class _Index:
    """An index of our own; git is asked only about paths that GitPython does not take."""

    git: Git
    file: Path

    def write(self, entries: Mapping[str, Entry]) -> Refused | None:
        try:
            _write_index(self.file, entries)
        except ValueError:
            self.file.unlink()
            rows = (
                f"{entry.mode} {entry.oid}\t".encode() + encode_path(path) + b"\0"
                for path, entry in entries.items()
            )
            return self._change("update-index", "-z", "--index-info", stdin=b"".join(rows))
        return None

    def apply(self, diff: bytes, strip: int, directory: str, context: int | None) -> Refused | None:
        options = ("--cached", "--whitespace=nowarn", f"-p{strip}", *_below(directory), "-")
        if context is not None:
            options = (f"-C{context}", *options)
        return self._change("apply", *options, stdin=diff)

    def read(self) -> dict[str, Entry]:
        try:
            return _read_index(self.file)
        except ValueError:
            listed = self.git.run("ls-files", "--stage", "-z", environment=self._environment)
            rows = map(read_stage, listed.stdout.split(b"\0")[:-1])
            return {path: Entry(stage.mode, stage.oid) for path, stage in rows}

    @property
    def _environment(self) -> Mapping[str, str]:
        return {"GIT_INDEX_FILE": str(self.file)}

    def _change(self, *args: str, stdin: bytes) -> Refused | None:
        result = self.git.run(*args, stdin=stdin, environment=self._environment, allow=(0, 1, 128))
        return Refused(_reason(result.stderr)) if result.status else None


def _below(directory: str) -> tuple[str, ...]:
    return (f"--directory={directory}",) if directory else ()


def _reason(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").splitlines()
    reasons = [re.sub(r"^error: ", "", line) for line in lines if line.startswith("error: ")]
    return "; ".join(dict.fromkeys(reasons)) or (lines[-1] if lines else "git apply refused it")


def _write_index(file: Path, entries: Mapping[str, Entry]) -> None:
    """Raises ``ValueError`` for paths that GitPython does not take, fewer than git itself does."""
    load_gitpython()
    from git.index.fun import write_cache
    from git.index.typ import BaseIndexEntry, IndexEntry

    rows = [
        IndexEntry.from_base(
            BaseIndexEntry((int(entry.mode, 8), bytes.fromhex(entry.oid), 0, path))
        )
        for path, entry in sorted(entries.items(), key=lambda item: encode_path(item[0]))
    ]
    with file.open("wb") as stream:
        write_cache(rows, stream)


def _read_index(file: Path) -> dict[str, Entry]:
    """Raises ``ValueError`` as :func:`_write_index` does."""
    load_gitpython()
    from git.index.fun import read_cache

    with file.open("rb") as stream:
        _, entries, _, _ = read_cache(stream)
    return {
        str(path): Entry(f"{entry.mode:o}", ObjectId(entry.binsha.hex()))
        for (path, _stage), entry in entries.items()
    }
