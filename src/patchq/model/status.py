"""Where a workspace stands: what ``patchq status`` says."""

from __future__ import annotations

from dataclasses import dataclass

from patchq.model.series import SeriesEntry
from patchq.model.verdict import Report, Verdict


@dataclass(frozen=True)
class SeriesStatus:
    """A series, how many patches it has, and those of it that wait for review.

    ``guarded_off`` are those that the default guards leave out.
    ``resurfaced`` are those retired that it needs again, as far as an earlier command found them.
    ``problem`` is what of it cannot be read; ``patches`` is None if that is its order.
    """

    tag: str
    patches: int | None
    held: tuple[tuple[str, Verdict], ...] = ()
    resurfaced: tuple[str, ...] = ()
    problem: str | None = None
    guarded_off: tuple[SeriesEntry, ...] = ()


@dataclass(frozen=True)
class RebaseStatus:
    """A rebase under way.

    ``stopped`` is the patch that waits; None if only the writing is left. ``report`` is the
    series as judged so far, None if that cannot be told, for the reason ``problem``. What is
    unsolved is empty if there is no ``worktree``.
    """

    source: str
    onto: str
    since: str
    decided: tuple[tuple[str, str], ...]
    stopped: str | None
    worktree: str | None = None
    unmerged: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    report: Report | None = None
    problem: str | None = None


@dataclass(frozen=True)
class ResolveStatus:
    """A patch out of the series on ``tag`` whose conflict is open in ``worktree``.

    ``conflicts`` are its paths, ``unmerged`` and ``marked`` what of them is unsolved; ``problem``
    is why that cannot be told.
    """

    name: str
    tag: str
    worktree: str
    conflicts: tuple[str, ...] = ()
    unmerged: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class EditStatus:
    """An open edit of the series on ``tag``, up to the patch ``opened`` (all of it: None)."""

    tag: str
    opened: str | None
    since: str
    worktree: str
    problem: str | None = None


@dataclass(frozen=True)
class LastChange:
    """The command that ``patchq undo`` takes back, when it ran, and the paths it changed.

    ``problem`` is why none of this can be told.
    """

    label: str
    time: str
    paths: tuple[str, ...]
    problem: str | None = None


@dataclass(frozen=True)
class Status:
    """All of it. ``limits`` is what the upstream that lends may lack, or why it is not there.

    ``unlocked`` are the series on bases that the lock does not have.
    """

    root: str
    upstream: str
    lender: str | None
    limits: tuple[str, ...]
    bases: tuple[str, ...]
    series: tuple[SeriesStatus, ...]
    rebase: RebaseStatus | None
    edit: EditStatus | None
    last: LastChange | None
    unlocked: tuple[str, ...] = ()
    resolve: ResolveStatus | None = None
