"""One transaction on disk: staged aside, put into place, taken back; whatever cuts it off.

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
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from patchq.engine.workspace.journal import Journal, Kind, StagedPath
from patchq.engine.workspace.kept_aside import keep_aside
from patchq.errors import InputError, PatchqError, Where
from patchq.files import sync
from patchq.model.workspace import Workspace
from patchq.signals import Interrupted

FORWARD = "forward.json"
BACK = "back.json"
DONE = "done.json"


@dataclass(frozen=True)
class Kept:
    """A file that stays when the rest is taken back."""

    content: bytes


Content = bytes | Kept | Mapping[str, bytes] | None


@dataclass(frozen=True)
class Slot:
    """The directory of one transaction, and the steps between its states."""

    root: Path
    directory: Path

    def has(self, state: str) -> bool:
        """Whether it has come to this state."""
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
                hint=f"See with git that series/ and upstream.lock are intact, "
                f"then remove {directory}.",
            ) from error

    def enter(self, before: str, after: str) -> None:
        """Go from one state to another, in one step."""
        (self.directory / before).rename(self.directory / after)
        sync(self.directory)

    def stage(self, label: str, contents: Mapping[PurePosixPath, Content]) -> None:
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
        self.enter("journal", FORWARD)

    def _stage_one(self, index: int, name: PurePosixPath, content: Content) -> StagedPath:
        target, new, old = self.root / name, self._new(index), self._old(index)
        existed = os.path.lexists(target)
        match content:
            case None:
                return StagedPath(str(name), Kind.ABSENT, existed, None)
            case bytes() | Kept():
                _write(new, content.content if isinstance(content, Kept) else content)
                # Copied, not moved: a reader finds the file at every moment.
                if existed:
                    _write(old, target.read_bytes())
                kind = Kind.KEPT if isinstance(content, Kept) else Kind.FILE
                return StagedPath(str(name), kind, existed, digest_of(new))
            case _:
                _write_tree(new, content)
                return StagedPath(str(name), Kind.DIRECTORY, existed, digest_of(new))

    def _new(self, index: int) -> Path:
        return self.directory / "new" / str(index)

    def _old(self, index: int) -> Path:
        return self.directory / "old" / str(index)

    def put(self) -> None:
        """Put what is staged into place."""
        changes = self.journal(FORWARD).changes
        for index, change in enumerate(changes):
            self._put_one(self.root / change.path, change, self._new(index), self._old(index))
        self._sync_all(changes)
        # Not synced: were it lost, recovery would find everything in place already.
        (self.directory / FORWARD).rename(self.directory / DONE)

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
        changes = self.journal(BACK).changes
        for index, change in reversed(list(enumerate(changes))):
            self._take_back_one(self.root / change.path, change, self._new(index), self._old(index))
            if not change.existed:
                self._prune(self.root / change.path)
        self._sync_all(changes)
        (self.directory / BACK).unlink()
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
        """Restore what was there; leaves alone what is done already.

        A signal that comes meanwhile ends the program behind it.
        """
        try:
            self._abandon()
        except Interrupted:
            self._abandon()  # no second one is raised
            raise

    def _abandon(self) -> None:
        try:
            if self.has(FORWARD):
                self.enter(FORWARD, BACK)
            if self.has(BACK):
                self.take_back()
        except OSError as error:
            raise PatchqError(
                f"the change could neither be finished nor taken back: {error}",
                hint="Fix the disk; the next patchq command rolls the change back.",
            ) from error
        if not self.has(DONE):
            self.discard()

    def settle(self) -> str:
        """Bring a transaction that was cut off to its end; returns what was done, in words."""
        if self.has(FORWARD):
            label = self.journal(FORWARD).label
            try:
                self.put()
            except OSError as error:
                self.abandon()
                raise refused(label, error) from error
            return f"`{label}` had been cut off; its changes are now complete"
        if self.has(BACK):
            label = self.journal(BACK).label
            self.abandon()
            return f"`{label}` had been cut off; its changes are taken back"
        self.discard()
        return "a command had been cut off before it changed anything"

    def discard(self) -> None:
        """Forget the transaction."""
        # First, so that a half-removed transaction is never taken for one that can be undone.
        with suppress(OSError):
            (self.directory / DONE).unlink()
        shutil.rmtree(self.directory, ignore_errors=True)


def _transactions(workspace: Workspace) -> Path:
    return workspace.state_dir / "transactions"


def slots(workspace: Workspace) -> list[Slot]:
    """All transactions, oldest first."""
    directory = _transactions(workspace)
    names = (entry.name for entry in directory.iterdir()) if directory.is_dir() else ()
    numbers = sorted(int(name) for name in names if name.isdecimal())
    return [Slot(workspace.root, directory / f"{number:08d}") for number in numbers]


def unfinished(workspace: Workspace) -> list[Slot]:
    """Those that were cut off."""
    return [slot for slot in slots(workspace) if not slot.has(DONE)]


def next_slot(workspace: Workspace) -> Slot:
    """The place of a new one."""
    there = slots(workspace)
    number = int(there[-1].directory.name) + 1 if there else 1
    return Slot(workspace.root, _transactions(workspace) / f"{number:08d}")


def refused(label: str, error: OSError) -> PatchqError:
    """What to say if the disk refuses."""
    # of a rename the place it was to go to: what is staged is ours, and can be written
    blamed = error.filename2 or error.filename
    place = f" ({blamed})" if blamed else ""
    return PatchqError(
        f"`{label}` could not be written: {error.strerror}{place}; nothing was changed"
    )


def digest_of(path: Path) -> str | None:
    """A hash of a file's or directory's content; None if there is neither."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if not file.is_dir())
        lines = (f"{digest_of(file)} {file.relative_to(path)}\n" for file in files)
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
