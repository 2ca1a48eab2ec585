"""Conflicts that were solved once: ``series/.resolutions``, for everyone who has the workspace.

A resolution lies under the blobs of base, ours and theirs of the files that conflicted, whatever
their paths, and serves only where all three are the same. A file that was solved within itself is a
resolution of its own; where solving also changed other files, all of it is one resolution, and what
those other files were before must be the same too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchq.engine.workspace.kept_aside import aside
from patchq.errors import InputError, Where
from patchq.git.objects import (
    SYMLINK_MODE,
    Entries,
    Entry,
    Objects,
    decode_path,
    encode_path,
)
from patchq.git.worktree import Sides
from patchq.model.ids import TreeId
from patchq.model.workspace import Workspace
from patchq.model.yamlfile import YamlValue, dump, parse

if TYPE_CHECKING:
    from patchq.engine.rebase.conflict import Collision

DIRECTORY = ".resolutions"
VERSION = 1

_ABSENT = "absent"
_MODES = ("100644", "100755", SYMLINK_MODE)

_Blobs = tuple[str, str, str]


@dataclass(frozen=True)
class File:
    """What solving made of a file: mode and content, None if it went away."""

    path: str
    mode: str | None
    content: bytes | None


@dataclass(frozen=True)
class Resolution:
    """Conflicted files by the blobs of their three sides, and other files by what they were."""

    conflicts: Mapping[_Blobs, File]
    others: Mapping[str, tuple[str, File]]

    @property
    def key(self) -> str:
        """What it is found under."""
        return _key(self.conflicts)


@dataclass(frozen=True)
class Solved:
    """The files of a collision as they were solved before, and where that is kept."""

    files: Entries
    names: tuple[str, ...]


class Resolutions:
    """The resolutions of a workspace."""

    def __init__(self, workspace: Workspace, objects: Objects):
        shared = workspace.series_dir / DIRECTORY
        # what came of a rebase that was aborted or undone is this workspace's alone
        self._directories = (shared, aside(workspace.root, shared))
        self._root = workspace.root
        self._objects = objects

    @property
    def exist(self) -> bool:
        """Whether the workspace has any."""
        return any(directory.is_dir() for directory in self._directories)

    def solve(self, collision: Collision) -> Solved | None:
        """The outcome of ``collision`` where every conflict in it was solved before.

        Raises :class:`InputError` if a file of the directory is malformed or not its own.
        """
        if not collision.conflicts:
            return None
        blobs = {path: _blobs(sides) for path, sides in collision.conflicts.items()}
        together = self._read(_key(blobs.values()))
        if together is not None and self._stand(together, collision):
            found = [together]
        else:
            alone = [self._read(_key([triple])) for triple in dict.fromkeys(blobs.values())]
            found = [one for one in alone if one is not None and not one.others]
            if len(found) < len(alone):
                return None
        files = dict(collision.merged)
        for resolution in found:
            for path, triple in blobs.items():
                if triple in resolution.conflicts:
                    files[path] = self._entry(resolution.conflicts[triple])
            files.update((path, self._entry(file)) for path, (_, file) in resolution.others.items())
        places = (self._file(one.key) for one in found)
        return Solved(files, tuple(str(file.relative_to(self._root)) for file in places if file))

    def _stand(self, resolution: Resolution, collision: Collision) -> bool:
        """Whether the other files are what they were when the conflict was solved."""
        merged = collision.merged
        return all(
            before == _blob(merged[path] if path in merged else self._ours(collision, path))
            for path, (before, _) in resolution.others.items()
        )

    def _ours(self, collision: Collision, path: str) -> Entry | None:
        return self._objects.file(collision.case.ours, path)

    def _entry(self, file: File) -> Entry | None:
        if file.mode is None or file.content is None:
            return None
        return Entry(file.mode, self._objects.write_blob(file.content))

    def _file(self, key: str) -> Path | None:
        name = _name(key).removeprefix(f"{DIRECTORY}/")
        files = (directory / name for directory in self._directories)
        return next((file for file in files if file.is_file()), None)

    def _read(self, key: str) -> Resolution | None:
        file = self._file(key)
        if file is None:
            return None
        where = Where(str(file.relative_to(self._root)))
        resolution = _read(file.read_bytes(), where)
        if resolution.key != key:
            raise InputError(
                "it is not the resolution that its name says",
                where=where,
                hint="Restore the file from git, or delete it and solve the conflict again.",
            )
        return resolution


def remember(
    collision: Collision, tree: TreeId, changed: Iterable[str], objects: Objects, *, onto: str
) -> dict[str, bytes]:
    """The files, by their names below ``series/``, that keep ``tree`` as the outcome.

    ``changed`` are the paths in which ``tree`` differs from what the patch goes onto. A collision
    without conflicts keeps nothing; nor does one conflict that was solved in two ways, as it may
    be in two files that are alike: which of them is meant the next time, no one can tell.
    """
    outcomes: dict[_Blobs, list[File]] = {}
    for path, sides in collision.conflicts.items():
        outcomes.setdefault(_blobs(sides), []).append(_file(objects, tree, path))
    solved = {blobs: files[0] for blobs, files in outcomes.items() if _agree(files)}
    if not solved:
        return {}
    others: dict[str, tuple[str, File]] = {}
    for path in sorted({*changed, *collision.merged} - collision.conflicts.keys()):
        merged = collision.merged
        before = merged[path] if path in merged else objects.file(collision.case.ours, path)
        if objects.file(tree, path) != before:
            others[path] = (_blob(before), _file(objects, tree, path))
    if others:
        parts = [Resolution(solved, others)] if len(solved) == len(outcomes) else []
    else:
        parts = [Resolution({blobs: file}, {}) for blobs, file in solved.items()]
    patch = collision.case.patch.name
    return {_name(part.key): _render(part, patch, onto) for part in parts}


def _agree(files: Sequence[File]) -> bool:
    return len({(file.mode, file.content) for file in files}) == 1


def _file(objects: Objects, tree: TreeId, path: str) -> File:
    entry = objects.file(tree, path)
    if entry is None:
        return File(path, None, None)
    return File(path, entry.mode, objects.read(entry.oid))


def _blob(entry: Entry | None) -> str:
    return _ABSENT if entry is None else entry.oid


def _blobs(sides: Sides) -> _Blobs:
    return _blob(sides.base), _blob(sides.ours), _blob(sides.theirs)


def _key(conflicts: Iterable[_Blobs]) -> str:
    lines = sorted({" ".join(blobs) for blobs in conflicts})
    return sha256("\n".join(lines).encode()).hexdigest()


def _name(key: str) -> str:
    # long enough: what the file says is compared with the whole key
    return f"{DIRECTORY}/{key[:2]}/{key[2:16]}.yaml"


def _render(resolution: Resolution, patch: str, onto: str) -> bytes:
    return dump(
        {
            "version": VERSION,
            "patch": patch,
            "onto": onto,
            "conflicts": [
                {"path": encode_path(file.path)}
                | dict(zip(("base", "ours", "theirs"), blobs, strict=True))
                | _outcome(file)
                for blobs, file in resolution.conflicts.items()
            ],
        }
        | _others(resolution)
    )


def _others(resolution: Resolution) -> dict[str, Any]:
    rows = [
        {"path": encode_path(path), "before": before} | _outcome(file)
        for path, (before, file) in resolution.others.items()
    ]
    return {"others": rows} if rows else {}


def _outcome(file: File) -> dict[str, Any]:
    return {} if file.mode is None else {"mode": file.mode, "content": file.content}


def _read(raw: bytes, where: Where) -> Resolution:
    document = parse(raw, where)
    if document is None:
        raise InputError("the file is empty", where=where)
    document.check_version(VERSION)
    fields = document.fields("version", "patch", "onto", "conflicts", optional=("others",))
    others = fields["others"].sequence() if "others" in fields else ()
    return Resolution(
        dict(_conflicts(fields["conflicts"].sequence())), dict(map(_read_other, others))
    )


def _conflicts(values: Sequence[YamlValue]) -> Iterator[tuple[_Blobs, File]]:
    for value in values:
        sides = ("base", "ours", "theirs")
        fields = value.fields("path", *sides, optional=("mode", "content"))
        base, ours, theirs = (fields[side].text() for side in sides)
        yield (base, ours, theirs), _read_file(fields)


def _read_other(value: YamlValue) -> tuple[str, tuple[str, File]]:
    fields = value.fields("path", "before", optional=("mode", "content"))
    file = _read_file(fields)
    return file.path, (fields["before"].text(), file)


def _read_file(fields: Mapping[str, YamlValue]) -> File:
    path = decode_path(fields["path"].content())
    if "mode" not in fields or "content" not in fields:
        return File(path, None, None)
    mode = fields["mode"].text()
    if mode not in _MODES:
        fields["mode"].fail(f"unknown mode {mode!r}", hint=f"One of: {', '.join(_MODES)}.")
    return File(path, mode, fields["content"].content())
