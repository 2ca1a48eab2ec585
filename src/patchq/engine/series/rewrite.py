"""The bytes a carried patch is written with: as few of them new as can be.

A file section that strict ``git apply`` places on the new base just as the merge did keeps its
bytes; one that moved gets git's new header over its old hunks; only what still differs is written
anew from the trees. Whatever comes out is applied to the new base and compared with the merge's
tree before anyone sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from patchq.engine.series.stack import Stack
from patchq.errors import PatchqError
from patchq.git.apply import Applied
from patchq.git.mail import Mailer
from patchq.git.objects import Entries, Objects
from patchq.model.diff import FileChange, scan
from patchq.model.header import replace_path
from patchq.model.patch import Patch


class Rewrite(Enum):
    """How much of a patch had to be written anew."""

    NONE = "none"
    PATHS = "paths"
    HUNKS = "hunks"


@dataclass(frozen=True)
class Carried:
    """A patch for the new base."""

    patch: Patch
    rewrite: Rewrite


class Carrier:
    """Writes patches for trees of one store."""

    def __init__(self, stack: Stack, mailer: Mailer, objects: Objects):
        self._stack = stack
        self._mailer = mailer
        self._objects = objects

    def carry(
        self,
        patch: Patch,
        ours: str,
        result: str,
        before: Entries,
        after: Entries,
        moves: Mapping[str, str],
    ) -> Carried:
        """Write ``patch`` so that it takes tree ``ours`` to tree ``result``.

        ``before`` and ``after`` are the touched entries of both by their new paths; ``moves`` maps
        the patch's old paths to new ones where they differ.
        """
        stray = set(self._objects.differing(ours, result)).difference(before, after)
        if stray:
            names = ", ".join(sorted(stray))
            raise PatchqError(f"{patch.name}: the merge touched {names}, which are not the patch's")
        if not moves and self._gives(patch, ours, result):
            return Carried(patch, Rewrite.NONE)
        written = self._mailer.diff(
            self._objects.tree_of(before), self._objects.tree_of(after), strip=patch.strip
        )
        fresh = {_key(change): (written, change) for change in scan(written, strip=patch.strip)}
        for rewrite, diff in (
            (Rewrite.PATHS, _with_new_paths(patch, fresh, moves)),
            (Rewrite.HUNKS, self._with_new_hunks(patch, fresh, moves, ours, result)),
            (Rewrite.HUNKS, written),
        ):
            if diff is None:
                continue
            candidate = replace(patch, raw=patch.head + diff)
            if self._gives(candidate, ours, result):
                return Carried(candidate, rewrite)
        raise PatchqError(f"{patch.name}: git's own diff does not apply to the tree it was made of")

    def _gives(self, patch: Patch, ours: str, result: str) -> bool:
        applied = self._stack.try_apply(ours, patch)
        return isinstance(applied, Applied) and applied.tree == result

    def _with_new_hunks(
        self,
        patch: Patch,
        fresh: Mapping[_Key, tuple[bytes, FileChange]],
        moves: Mapping[str, str],
        ours: str,
        result: str,
    ) -> bytes | None:
        """Keep each section that by itself still does to its file what the merge does."""
        parts: list[bytes] = []
        used = set()
        for change in patch.files:
            key = _moved(change, moves)
            section = patch.diff[change.start : change.end]
            if key not in fresh:
                if any(path in fresh_paths for fresh_paths in fresh for path in key if path):
                    return None
                continue  # upstream has all of this section
            used.add(key)
            if key == _key(change) and self._keeps(patch, section, key, ours, result):
                parts.append(section)
            else:
                written, new = fresh[key]
                parts.append(written[new.start : new.end])
        return b"".join(parts) if used == fresh.keys() else None

    def _keeps(self, patch: Patch, section: bytes, key: _Key, ours: str, result: str) -> bool:
        applied = self._stack.try_apply(ours, replace(patch, raw=section))
        return isinstance(applied, Applied) and all(
            self._objects.file(applied.tree, path) == self._objects.file(result, path)
            for path in key
            if path
        )


_Key = tuple[str | None, str | None]


def _key(change: FileChange) -> _Key:
    return change.old, change.new


def _moved(change: FileChange, moves: Mapping[str, str]) -> _Key:
    return tuple(moves.get(path, path) if path else None for path in _key(change))  # type: ignore[return-value]


def _with_new_paths(
    patch: Patch, fresh: Mapping[_Key, tuple[bytes, FileChange]], moves: Mapping[str, str]
) -> bytes | None:
    """The patch's own hunks under git's headers for the new paths, the rest untouched."""
    if not moves:
        return None
    parts: list[bytes] = []
    for change in patch.files:
        section = patch.diff[change.start : change.end]
        key = _moved(change, moves)
        if key == _key(change):
            parts.append(section)
        elif key not in fresh:
            return None
        else:
            written, new = fresh[key]
            header = b"".join(_header_lines(written[new.start : new.end]))
            body = section[len(b"".join(_header_lines(section))) :]
            parts.append(header + body)
    return b"".join(parts)


def _header_lines(section: bytes) -> Iterator[bytes]:
    """The lines of a file section before its first hunk or binary data."""
    for line in section.splitlines(keepends=True):
        if line.startswith((b"@@ -", b"GIT binary patch")):
            return
        yield line


def with_moved_predicates(patch: Patch, moved: Mapping[str, str]) -> Patch:
    """``patch`` with the paths of its header's predicates rewritten, all else byte for byte."""
    head = patch.head
    for old, new in moved.items():
        head = replace_path(head, old, new)
    return patch if head == patch.head else replace(patch, raw=head + patch.diff)
