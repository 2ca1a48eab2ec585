"""All or nothing: whatever fails or dies, the workspace is as before or as after."""

import errno
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import pytest

from patchq.engine.workspace.kept_aside import aside
from patchq.engine.workspace.locking import exclusive
from patchq.engine.workspace.transaction import KEPT, Transaction, recover, undo
from patchq.errors import InputError, PatchqError
from patchq.model.workspace import Workspace

STEPS = ("open", "mkdir", "chmod", "fchmod", "fsync", "rename", "replace", "unlink", "rmdir")


class Killed(BaseException):
    """The process is gone: nothing that it would do next happens."""


class Faults:
    """Counts the changes made to the disk, and lets the one numbered ``at`` and later ones fail."""

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        at: int = 0,
        error: BaseException | None = None,
        *,
        lasting: bool = False,
    ):
        self.count = 0
        self.at, self.error, self.lasting = at, error, lasting
        for name in STEPS:
            patch.setattr(os, name, self._wrap(getattr(os, name)))
        patch.setattr(Path, "open", self._wrap(Path.open))

    def _wrap(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            due = self.count == self.at or (self.lasting and self.count > self.at)
            if self.error is not None and due:
                raise self.error
            return real(*args, **kwargs)

        return step


def snapshot(workspace: Workspace) -> dict[str, bytes]:
    return {
        str(path.relative_to(workspace.root)): path.read_bytes()
        for path in sorted(workspace.root.rglob("*"))
        if path.is_file() and ".patchq" not in path.parts
    }


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make(tmp_path / "w")


def make(root: Path) -> Workspace:
    for name, content in {
        "upstream.lock": b"old lock",
        "series/v1/series": b"a.patch\n",
        "series/v1/a.patch": b"old a",
        "series/v1/gone.patch": b"old",
        "series/v0/series": b"",
        "series/stray": b"stray",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return Workspace(root)


def change(workspace: Workspace) -> Transaction:
    transaction = Transaction(workspace, "rebase --onto v2")
    transaction.write_file(workspace.lock_path, b"new lock")
    transaction.write_file(workspace.root / "notes/new.txt", b"made")
    transaction.write_directory(workspace.series_path("v1"), {"series": b"", "sub/b.patch": b"b"})
    transaction.write_directory(
        workspace.series_path("v2"), {"series": b"c.patch\n", "c.patch": b"c"}
    )
    transaction.remove(workspace.series_path("v0"))
    transaction.remove(workspace.series_dir / "stray")
    transaction.remove(workspace.series_dir / "never")
    return transaction


OLD = {
    "series/stray": b"stray",
    "series/v0/series": b"",
    "series/v1/a.patch": b"old a",
    "series/v1/gone.patch": b"old",
    "series/v1/series": b"a.patch\n",
    "upstream.lock": b"old lock",
}
NEW = {
    "notes/new.txt": b"made",
    "series/v1/series": b"",
    "series/v1/sub/b.patch": b"b",
    "series/v2/c.patch": b"c",
    "series/v2/series": b"c.patch\n",
    "upstream.lock": b"new lock",
}


def steps_of_a_commit(tmp_path: Path) -> int:
    workspace = make(tmp_path / "count")
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch)
        change(workspace).commit()
    return faults.count


def test_a_commit_makes_every_change(workspace: Workspace) -> None:
    assert snapshot(workspace) == OLD
    change(workspace).commit()
    assert snapshot(workspace) == NEW
    assert recover(workspace) is None


def test_nothing_is_written_before_commit(workspace: Workspace) -> None:
    change(workspace)
    assert snapshot(workspace) == OLD
    assert not workspace.state_dir.exists()


def test_a_kill_at_any_step_leaves_old_or_new(tmp_path: Path) -> None:
    outcomes = []
    for at in range(1, steps_of_a_commit(tmp_path) + 1):
        workspace = make(tmp_path / str(at))
        with pytest.MonkeyPatch.context() as patch:
            Faults(patch, at, Killed(), lasting=True)
            with pytest.raises(Killed):
                change(workspace).commit()
        assert workspace.lock_path.exists()
        words = recover(workspace)
        outcomes.append(snapshot(workspace))
        assert outcomes[-1] in (OLD, NEW)
        if words is not None:
            assert ("complete" in words) == (outcomes[-1] == NEW)
        assert recover(workspace) is None
    # One point of commit: old up to it, new from it on.
    assert outcomes == sorted(outcomes, key=lambda found: found == NEW)
    assert OLD in outcomes
    assert NEW in outcomes


def test_a_kill_during_recovery_is_recovered_from(tmp_path: Path) -> None:
    total = steps_of_a_commit(tmp_path)
    for at in range(total // 2, total + 1, 9):
        for again in range(1, 40):
            workspace = make(tmp_path / f"{at}-{again}")
            with pytest.MonkeyPatch.context() as patch:
                Faults(patch, at, Killed(), lasting=True)
                with pytest.raises(Killed):
                    change(workspace).commit()
            with pytest.MonkeyPatch.context() as patch:
                faults = Faults(patch, again, Killed(), lasting=True)
                with suppress(Killed):
                    recover(workspace)
            recover(workspace)
            assert snapshot(workspace) in (OLD, NEW)
            if faults.count < again:
                break


def failure_of(action: Callable[[], None]) -> str | None:
    try:
        action()
    except PatchqError as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", [errno.ENOSPC, errno.EXDEV])
def test_a_step_that_fails_changes_nothing_and_says_so(tmp_path: Path, kind: int) -> None:
    for at in range(1, steps_of_a_commit(tmp_path) + 1):
        workspace = make(tmp_path / str(at))
        with pytest.MonkeyPatch.context() as patch:
            Faults(patch, at, OSError(kind, os.strerror(kind)))
            failure = failure_of(change(workspace).commit)
        assert failure is not None
        assert os.strerror(kind) in failure
        assert "nothing was changed" in failure
        assert snapshot(workspace) == OLD
        recover(workspace)
        assert snapshot(workspace) == OLD


def test_a_disk_that_stays_full_is_put_right_later(tmp_path: Path) -> None:
    for at in range(1, steps_of_a_commit(tmp_path) + 1):
        workspace = make(tmp_path / str(at))
        with pytest.MonkeyPatch.context() as patch:
            Faults(patch, at, OSError(errno.EIO, "broken"), lasting=True)
            with suppress(PatchqError):
                change(workspace).commit()
        recover(workspace)
        assert snapshot(workspace) in (OLD, NEW)


def test_an_interrupt_takes_the_change_back(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace
    calls: list[Any] = []

    def interrupted(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(*args)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        change(workspace).commit()
    assert snapshot(workspace) == OLD


def test_modes_do_not_depend_on_the_umask(workspace: Workspace) -> None:
    before = os.umask(0o077)
    try:
        change(workspace).commit()
    finally:
        os.umask(before)
    modes = {
        name: (workspace.root / name).stat().st_mode & 0o777
        for name in ("upstream.lock", "notes", "series/v1", "series/v1/sub", "series/v2/c.patch")
    }
    assert modes == {
        "upstream.lock": 0o644,
        "notes": 0o755,
        "series/v1": 0o755,
        "series/v1/sub": 0o755,
        "series/v2/c.patch": 0o644,
    }


def test_the_state_directory_is_ignored_by_git(workspace: Workspace) -> None:
    change(workspace).commit()
    assert (workspace.state_dir / ".gitignore").read_bytes() == b"*\n"


def test_undo_takes_back_one_command_at_a_time(workspace: Workspace) -> None:
    change(workspace).commit()
    again = Transaction(workspace, "drop b.patch")
    again.remove(workspace.series_path("v2"))
    again.commit()
    assert undo(workspace).label == "drop b.patch"
    assert snapshot(workspace) == NEW
    assert undo(workspace).label == "rebase --onto v2"
    assert snapshot(workspace) == OLD
    with pytest.raises(InputError, match="nothing to undo"):
        undo(workspace)


def test_undo_never_takes_a_later_edit_with_it(workspace: Workspace) -> None:
    change(workspace).commit()
    (workspace.series_path("v2") / "c.patch").write_bytes(b"by hand")
    with pytest.raises(InputError, match="series/v2 was changed since"):
        undo(workspace)
    assert (workspace.series_path("v2") / "c.patch").read_bytes() == b"by hand"
    assert workspace.lock_path.read_bytes() == b"new lock"


def test_old_transactions_are_forgotten(workspace: Workspace) -> None:
    for number in range(KEPT + 3):
        transaction = Transaction(workspace, str(number))
        transaction.write_file(workspace.lock_path, b"%d" % number)
        transaction.commit()
    assert len(list((workspace.state_dir / "transactions").iterdir())) == KEPT
    assert undo(workspace).label == str(KEPT + 2)


def test_a_kept_file_goes_aside_when_the_rest_is_taken_back(workspace: Workspace) -> None:
    kept = workspace.series_dir / ".resolutions" / "ab" / "kept.yaml"
    for content in (b"one", b"two"):
        transaction = change(workspace)
        transaction.keep_file(kept, content)
        transaction.commit()
        assert kept.read_bytes() == content
        kept.write_bytes(content + b" by hand")
        undo(workspace)
        assert aside(workspace.root, kept).read_bytes() == content + b" by hand"
        assert snapshot(workspace) == OLD


def test_what_is_taken_back_leaves_no_empty_directory(workspace: Workspace) -> None:
    transaction = Transaction(workspace, "import")
    transaction.write_file(workspace.series_path("v9") / "deep" / "a.patch", b"a")
    transaction.commit()
    undo(workspace)
    assert not workspace.series_path("v9").exists()
    assert workspace.series_dir.is_dir()


def test_a_directory_is_no_file(workspace: Workspace) -> None:
    transaction = Transaction(workspace, "x")
    transaction.write_file(workspace.lock_path, b"new")
    transaction.write_file(workspace.series_path("v1"), b"file")
    with pytest.raises(PatchqError, match="nothing was changed"):
        transaction.commit()
    assert snapshot(workspace) == OLD


@pytest.mark.parametrize("name", ["../x", "/x", "", "a/../../x"])
def test_nothing_is_written_outside(workspace: Workspace, name: str) -> None:
    transaction = Transaction(workspace, "x")
    with pytest.raises(ValueError, match="inside"):
        transaction.write_directory(workspace.series_path("v2"), {name: b""})


def test_changes_of_one_transaction_do_not_overlap(workspace: Workspace) -> None:
    transaction = Transaction(workspace, "x")
    transaction.remove(workspace.series_dir)
    with pytest.raises(ValueError, match="overlap"):
        transaction.write_file(workspace.settings_path, b"")
    with pytest.raises(ValueError, match="not inside"):
        transaction.remove(workspace.root)


def hold(root: Path, pipe: Connection) -> None:
    with exclusive(Workspace(root)):
        pipe.send("held")
        pipe.recv()


@pytest.fixture
def holder(workspace: Workspace) -> Iterator[tuple[SpawnProcess, Connection]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=hold, args=(workspace.root, theirs))
    process.start()
    assert ours.poll(20)
    yield process, ours
    process.kill()
    process.join()


def test_a_second_process_is_told_who_holds_the_lock(
    workspace: Workspace, holder: tuple[SpawnProcess, Connection]
) -> None:
    with (
        pytest.raises(PatchqError, match=rf"process {holder[0].pid}, `.+`, since \d"),
        exclusive(workspace, wait=0.1),
    ):
        pass


def test_a_second_process_waits(
    workspace: Workspace, holder: tuple[SpawnProcess, Connection]
) -> None:
    holder[1].send("release")
    with exclusive(workspace, wait=10):
        pass


def test_the_lock_of_a_killed_process_is_free(
    workspace: Workspace, holder: tuple[SpawnProcess, Connection]
) -> None:
    holder[0].kill()
    with exclusive(workspace, wait=10):
        pass


def test_the_lock_may_be_nested(workspace: Workspace) -> None:
    with exclusive(workspace), exclusive(workspace, wait=0):
        pass
    with exclusive(workspace, wait=0):
        pass
