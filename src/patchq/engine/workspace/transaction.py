"""The one door through which ``series/`` and ``upstream.lock`` are written: all or nothing.

A transaction is a numbered directory under ``.patchq/transactions``. The name of the journal in
it says how far it came, and renaming the journal is the only step from one state to the next:

================  ==============================================================================
no journal        staged aside, nothing decided: recovery throws it away
``forward.json``  committed: recovery puts what is staged into place
``back.json``     being taken back (a failure, or ``undo``): recovery restores what was there
``done.json``     finished; ``old/`` holds what was there before
================  ==============================================================================

Both directions look at what lies in ``new/`` and ``old/`` before each rename, so either can be cut
off anywhere and started again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any

from patchq.engine.workspace.locking import exclusive
from patchq.errors import InputError, PatchqError, Where
from patchq.files import replace_file, sweep, sync
from patchq.model.workspace import Workspace

KEPT = 20
"""How many finished transactions can be undone."""

_FORWARD = "forward.json"
_BACK = "back.json"
_DONE = "done.json"


class Kind(Enum):
    """What a change makes of its path; of a ``KEPT`` file, ``undo`` keeps a copy aside."""

    FILE = "file"
    KEPT = "kept"
    DIRECTORY = "directory"
    ABSENT = "absent"


@dataclass(frozen=True)
class StagedPath:
    """One path of a transaction: whether it existed before, and a digest of what it becomes."""

    path: str
    kind: Kind
    existed: bool
    digest: str | None


@dataclass(frozen=True)
class Journal:
    """A transaction in words (``label``) and paths."""

    label: str
    time: str
    changes: tuple[StagedPath, ...]

    def encode(self) -> bytes:
        """The journal as JSON."""
        return json.dumps(asdict(self), default=lambda kind: kind.value, indent=1).encode("ascii")

    @classmethod
    def decode(cls, raw: bytes) -> Journal:
        """The journal that :meth:`encode` wrote; raises ValueError for any other text."""
        try:
            fields = json.loads(raw)
            changes = tuple(map(_read_change, fields["changes"]))
            return cls(_text(fields["label"]), _text(fields["time"]), changes)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not as it was written: {error!r}") from error


def _read_change(fields: Mapping[str, Any]) -> StagedPath:
    path, digest = _text(fields["path"]), fields["digest"]
    if not _is_inside(PurePosixPath(path)):
        raise ValueError(f"{path!r} is not inside the workspace")
    return StagedPath(
        path=path,
        kind=Kind(fields["kind"]),
        existed=bool(fields["existed"]),
        digest=None if digest is None else _text(digest),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value


@dataclass(frozen=True)
class _Kept:
    """A file that stays when the rest is taken back."""

    content: bytes


_Content = bytes | _Kept | Mapping[str, bytes] | None


class Transaction:
    """Changes to a workspace, collected in memory and made together by :meth:`commit`.

    ``label`` is the command, as messages and ``patchq undo`` name it.
    """

    def __init__(self, workspace: Workspace, label: str):
        self._workspace = workspace
        self._label = label
        self._contents: dict[PurePosixPath, _Content] = {}

    def write_file(self, path: Path, content: bytes) -> None:
        """Make ``path`` a file of this content."""
        self._change(path, content)

    def keep_file(self, path: Path, content: bytes) -> None:
        """Make ``path`` a file of this content, which goes :func:`aside` when it is taken back.

        For what the user made that serves whatever becomes of the command.
        """
        self._change(path, _Kept(content))

    def write_directory(self, path: Path, files: Mapping[str, bytes]) -> None:
        """Make ``path`` a directory of exactly these files, whatever it holds now."""
        for name in files:
            if not _is_inside(PurePosixPath(name)):
                raise ValueError(f"{name!r} is not inside {path}")
        self._change(path, dict(files))

    def remove(self, path: Path) -> None:
        """Remove the file or directory ``path``, if there is one."""
        self._change(path, None)

    def _change(self, path: Path, content: _Content) -> None:
        name = PurePosixPath(path.relative_to(self._workspace.root))
        if not _is_inside(name):
            raise ValueError(f"{path} is not inside the workspace")
        for other in self._contents:
            if name != other and (name.is_relative_to(other) or other.is_relative_to(name)):
                raise ValueError(f"{name} and {other} overlap in one transaction")
        self._contents[name] = content

    def commit(self) -> None:
        """Make all changes, or none.

        Raises :class:`PatchqError` if the disk refuses (full, read-only, another file system),
        with everything as it was before.
        """
        if not self._contents:
            return
        with exclusive(self._workspace):
            if _unfinished(self._workspace):
                raise PatchqError(
                    "another command was cut off while this one ran; nothing was changed",
                    hint="Run the command again.",
                )
            slot = _next_slot(self._workspace)
            try:
                slot.stage(self._label, self._contents)
                slot.put()
            except BaseException as error:
                slot.abandon()
                if isinstance(error, OSError):
                    raise _refused(self._label, error) from error
                raise
            for done in _slots(self._workspace)[:-KEPT]:
                done.discard()


def aside(root: Path, path: Path) -> Path:
    """Where a file of the workspace at ``root`` is kept that no longer stands in its place."""
    return Workspace(root).state_dir / "kept" / path.relative_to(root)


def keep_aside(root: Path, path: Path, content: bytes) -> Path:
    """Keep what was to be, or was, the content of ``path``; returns where."""
    kept = aside(root, path)
    kept.parent.mkdir(parents=True, exist_ok=True)
    replace_file(kept, content)
    return kept


def kept_aside(workspace: Workspace, names: Iterable[str]) -> dict[Path, bytes]:
    """Those of the workspace's files ``names`` that are kept aside, by where they belong."""
    home = aside(workspace.root, workspace.root)
    files = (workspace.root / name for name in names)
    return {
        workspace.root / file.relative_to(home): file.read_bytes()
        for file in files
        if file.is_relative_to(home)
    }


def recover(workspace: Workspace) -> str | None:
    """Bring to an end what an earlier command was cut off in; every command begins with this.

    Returns words for the user, or None if there was nothing to do. Raises
    :class:`PatchqError` if the disk refuses, or the command's record is damaged.
    """
    sweep(workspace.state_dir)
    if not _unfinished(workspace):
        return None
    with exclusive(workspace):
        # What was unfinished a moment ago may have been another process at work.
        return "; ".join(slot.settle() for slot in _unfinished(workspace)) or None


def undo(workspace: Workspace) -> Journal:
    """Take back the newest finished transaction, all but what it keeps, and return its journal.

    Raises :class:`InputError` if there is none, where its record is damaged, or where what it
    wrote was edited since.
    """
    with exclusive(workspace):
        done = [slot for slot in _slots(workspace) if slot.has(_DONE)]
        if not done:
            raise InputError("there is nothing to undo", hint="`git log` knows the rest.")
        slot = done[-1]
        journal = slot.journal(_DONE)
        for change in journal.changes:
            if (
                change.kind is not Kind.KEPT
                and _digest(workspace.root / change.path) != change.digest
            ):
                raise InputError(
                    f"{change.path} was changed since `{journal.label}`; nothing was undone",
                    hint="Take that change back first, or use git.",
                )
        slot.enter(_DONE, _BACK)
        slot.abandon()
        return journal


def newest(workspace: Workspace) -> Journal | None:
    """What :func:`undo` would take back, None if there is nothing.

    Raises :class:`InputError` if its record is damaged.
    """
    done = [slot for slot in _slots(workspace) if slot.has(_DONE)]
    return done[-1].journal(_DONE) if done else None


@dataclass(frozen=True)
class _Slot:
    """The directory of one transaction, and the steps between its states."""

    root: Path
    directory: Path

    def has(self, state: str) -> bool:
        return (self.directory / state).exists()

    def journal(self, state: str) -> Journal:
        """The journal of that name; raises :class:`InputError` if it is damaged."""
        raw = (self.directory / state).read_bytes()
        try:
            return Journal.decode(raw)
        except ValueError as error:
            directory = self.directory.relative_to(self.root)
            raise InputError(
                f"the record of an earlier command is damaged: {error}",
                where=Where(str(directory / state)),
                hint=f"See with git that series/ and upstream.lock are whole, "
                f"then remove {directory}.",
            ) from error

    def enter(self, before: str, after: str) -> None:
        (self.directory / before).rename(self.directory / after)
        sync(self.directory)

    def stage(self, label: str, contents: Mapping[PurePosixPath, _Content]) -> None:
        """Write everything aside; the last step is the point of commit."""
        _make_directories(self.directory.parent)
        for directory in (self.directory, self.directory / "new", self.directory / "old"):
            _make_directory(directory)
        changes = tuple(
            self._stage_one(index, name, content)
            for index, (name, content) in enumerate(contents.items())
        )
        for directory in (self.directory / "new", self.directory / "old"):
            sync(directory)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        _write(self.directory / "journal", Journal(label, time, changes).encode())
        self.enter("journal", _FORWARD)

    def _stage_one(self, index: int, name: PurePosixPath, content: _Content) -> StagedPath:
        target, new, old = self.root / name, self._new(index), self._old(index)
        existed = os.path.lexists(target)
        match content:
            case None:
                return StagedPath(str(name), Kind.ABSENT, existed, None)
            case bytes() | _Kept():
                _write(new, content.content if isinstance(content, _Kept) else content)
                # Copied, not moved: a reader finds the file at every moment.
                if existed:
                    _write(old, target.read_bytes())
                kind = Kind.KEPT if isinstance(content, _Kept) else Kind.FILE
                return StagedPath(str(name), kind, existed, _digest(new))
            case _:
                _write_tree(new, content)
                return StagedPath(str(name), Kind.DIRECTORY, existed, _digest(new))

    def _new(self, index: int) -> Path:
        return self.directory / "new" / str(index)

    def _old(self, index: int) -> Path:
        return self.directory / "old" / str(index)

    def put(self) -> None:
        """Put what is staged into place."""
        changes = self.journal(_FORWARD).changes
        for index, change in enumerate(changes):
            self._put_one(self.root / change.path, change, self._new(index), self._old(index))
        self._sync_all(changes)
        # Not synced: were it lost, recovery would find everything in place already.
        (self.directory / _FORWARD).rename(self.directory / _DONE)

    def _put_one(self, target: Path, change: StagedPath, new: Path, old: Path) -> None:
        if change.kind is not Kind.ABSENT and not new.exists():
            return
        in_the_way = change.existed and change.kind in (Kind.DIRECTORY, Kind.ABSENT)
        if in_the_way and not os.path.lexists(old):
            target.rename(old)
        if change.kind is not Kind.ABSENT:
            _make_directories(target.parent)
            new.replace(target)

    def take_back(self) -> None:
        """Restore what was there before."""
        changes = self.journal(_BACK).changes
        for index, change in reversed(list(enumerate(changes))):
            self._take_back_one(self.root / change.path, change, self._new(index), self._old(index))
            if not change.existed:
                self._prune(self.root / change.path)
        self._sync_all(changes)
        (self.directory / _BACK).unlink()
        sync(self.directory)
        self.discard()

    def _take_back_one(self, target: Path, change: StagedPath, new: Path, old: Path) -> None:
        if change.kind is Kind.KEPT and target.exists():
            keep_aside(self.root, target, target.read_bytes())
        placed = change.kind is not Kind.ABSENT and not new.exists()
        replaced_at_once = change.kind in (Kind.FILE, Kind.KEPT) and change.existed
        if placed and not replaced_at_once:
            target.rename(new)
        if os.path.lexists(old):
            old.replace(target)

    def _prune(self, target: Path) -> None:
        """Remove the directories above ``target`` that are left empty, down from the first level.

        What made them is being taken back, and git knows no empty directories.
        """
        for parent in target.parents:
            if parent.parent == self.root or parent == self.root:
                return
            try:
                parent.rmdir()
            except OSError:
                return

    def _sync_all(self, changes: tuple[StagedPath, ...]) -> None:
        parents = {(self.root / change.path).parent for change in changes}
        for directory in (*sorted(parents), self.directory / "new", self.directory / "old"):
            if directory.exists():
                sync(directory)

    def abandon(self) -> None:
        """Restore what was there; leaves alone what is done already."""
        try:
            if self.has(_FORWARD):
                self.enter(_FORWARD, _BACK)
            if self.has(_BACK):
                self.take_back()
        except OSError as error:
            raise PatchqError(
                f"the change could neither be finished nor taken back: {error}",
                hint="Fix the disk; the next patchq command rolls the change back.",
            ) from error
        if not self.has(_DONE):
            self.discard()

    def settle(self) -> str:
        """Bring a transaction that was cut off to its end; returns what was done, in words."""
        if self.has(_FORWARD):
            label = self.journal(_FORWARD).label
            try:
                self.put()
            except OSError as error:
                self.abandon()
                raise _refused(label, error) from error
            return f"`{label}` had been cut off; its changes are now complete"
        if self.has(_BACK):
            label = self.journal(_BACK).label
            self.abandon()
            return f"`{label}` had been cut off; its changes are taken back"
        self.discard()
        return "a command had been cut off before it changed anything"

    def discard(self) -> None:
        """Forget the transaction."""
        # First, so that a half-removed transaction is never taken for one that can be undone.
        with suppress(OSError):
            (self.directory / _DONE).unlink()
        shutil.rmtree(self.directory, ignore_errors=True)


def _refused(label: str, error: OSError) -> PatchqError:
    # of a rename the place it was to go to: what is staged is ours, and can be written
    blamed = error.filename2 or error.filename
    place = f" ({blamed})" if blamed else ""
    return PatchqError(
        f"`{label}` could not be written: {error.strerror}{place}; nothing was changed"
    )


def _transactions(workspace: Workspace) -> Path:
    return workspace.state_dir / "transactions"


def _slots(workspace: Workspace) -> list[_Slot]:
    """All transactions, oldest first."""
    directory = _transactions(workspace)
    names = (entry.name for entry in directory.iterdir()) if directory.is_dir() else ()
    numbers = sorted(int(name) for name in names if name.isdecimal())
    return [_Slot(workspace.root, directory / f"{number:08d}") for number in numbers]


def _unfinished(workspace: Workspace) -> list[_Slot]:
    return [slot for slot in _slots(workspace) if not slot.has(_DONE)]


def _next_slot(workspace: Workspace) -> _Slot:
    slots = _slots(workspace)
    number = int(slots[-1].directory.name) + 1 if slots else 1
    return _Slot(workspace.root, _transactions(workspace) / f"{number:08d}")


def _is_inside(path: PurePosixPath) -> bool:
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _digest(path: Path) -> str | None:
    """A hash of a file's or directory's content; None if there is neither."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if not file.is_dir())
        lines = (f"{_digest(file)} {file.relative_to(path)}\n" for file in files)
        content = os.fsencode("".join(lines))
    elif path.exists():
        content = path.read_bytes()
    else:
        return None
    return hashlib.sha256(content).hexdigest()


def _make_directory(path: Path) -> None:
    path.mkdir()
    path.chmod(0o755)  # whatever the umask


def _make_directories(path: Path) -> None:
    if not path.is_dir():
        _make_directories(path.parent)
        _make_directory(path)
        sync(path.parent)


def _write_tree(path: Path, files: Mapping[str, bytes]) -> None:
    _make_directory(path)
    for name, content in files.items():
        _make_directories((path / name).parent)
        _write(path / name, content)
    for directory in (path, *(entry for entry in path.rglob("*") if entry.is_dir())):
        sync(directory)


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
