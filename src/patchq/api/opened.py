"""An open workspace: its files, its upstream, and the right to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from patchq.errors import InputError, PatchqError
from patchq.model.patch_names import meant_name
from patchq.model.workspace import Workspace as WorkspaceFiles
from patchq.model.workspace import find_workspace

if TYPE_CHECKING:
    from patchq.engine.series.selection import Selection
    from patchq.engine.workspace.project import Project
    from patchq.engine.workspace.upstream import Upstream
    from patchq.git.remote import Remote
    from patchq.git.store import Store
    from patchq.model.lock import Lock
    from patchq.model.settings import Settings
    from patchq.model.web import Web
    from patchq.report.commit import CommitLinks

Progress = Callable[[int, int, str], None]
"""Called with how much is done, of how much, and what comes now."""


def quiet(_done: int, _total: int, _name: str) -> None:
    """A :data:`Progress` that says nothing."""


def _silent(_text: str) -> None:
    pass


def _silently(_text: str) -> AbstractContextManager[object]:
    return nullcontext()


@dataclass(frozen=True)
class OpenWorkspace:
    """See :class:`~patchq.api.Workspace`."""

    files: WorkspaceFiles
    upstream: str | None = None
    say: Callable[[str], None] = _silent
    limits: Callable[[str], None] = _silent
    fetching: Callable[[str], AbstractContextManager[object]] = _silently
    terminal: bool = False
    typed: Callable[[str | None, str], str] | None = None

    @classmethod
    def open(
        cls,
        directory: str | Path = ".",
        *,
        upstream: str | None = None,
        say: Callable[[str], None] = _silent,
        limits: Callable[[str], None] | None = None,
        fetching: Callable[[str], AbstractContextManager[object]] = _silently,
        terminal: bool = False,
        typed: Callable[[str | None, str], str] | None = None,
    ) -> Self:
        """The workspace around ``directory``; an interrupted write to it is settled first.

        ``upstream`` is a clone that lends its objects, or a URL; default: what the lock says.
        ``say`` hears what is worth saying on the way, ``limits`` what a lender may lack (default:
        ``say``), and ``fetching`` stands around every fetch. On a ``terminal`` git shows its own
        progress. ``typed`` names a change for :meth:`undo`, given the series that it is about and
        the option for that. Raises :class:`~patchq.errors.InputError` if there is no workspace.
        """
        from patchq.engine.workspace.transaction import recover

        files = find_workspace(Path(directory))
        settled = recover(files)
        if settled:
            say(settled)
        return cls(files, upstream, say, limits or say, fetching, terminal, typed)

    @classmethod
    def create(cls, directory: str | Path, upstream: str, *, going_on: bool = False) -> Self:
        """Make ``directory`` a workspace for ``upstream``, a URL or the path of a clone.

        ``going_on`` takes a workspace for the same upstream that has no series yet.
        """
        from patchq.engine.workspace.init import make_workspace

        return cls(make_workspace(Path(directory), upstream, going_on=going_on))

    @property
    def lock(self) -> Lock:
        """The bases, as ``upstream.lock`` has them now."""
        return self.files.lock()

    @cached_property
    def settings(self) -> Settings:
        """What ``series/patchq.yaml`` says."""
        return self.files.settings()

    @cached_property
    def store(self) -> Store:
        """Upstream's objects: those of our own and those of the lender."""
        from patchq.engine.workspace.upstream import open_upstream

        location = self.upstream or self._recorded_lender or self.lock.upstream
        opened = open_upstream(self.files, location, terminal=self.terminal, showing=self.fetching)
        for limit in opened.limits:
            self.limits(limit)
        if opened.store.mended:
            self.say(opened.store.mended)
        return opened.store

    @property
    def project(self) -> Project:
        """All of it, as the engine takes it."""
        from patchq.engine.workspace.project import Project

        return Project(self.files, self.lock, self.settings, self.store)

    @property
    def upstream_refs(self) -> Upstream:
        """Upstream's refs, read where ``upstream`` or the lock says."""
        from patchq.engine.workspace.upstream import Upstream

        return Upstream(self.store, self._remote(self.upstream or self.lock.upstream))

    @property
    def fetch_remote(self) -> Remote | None:
        """What bases are fetched from: the first of ``upstream`` and the lock that is a URL."""
        from patchq.engine.workspace.upstream import is_url

        places = (place for place in (self.upstream, self.lock.upstream) if place)
        url = next(filter(is_url, places), None)
        return self._remote(url) if url else None

    def _remote(self, location: str) -> Remote:
        from patchq.git.remote import Remote

        return Remote(location, self.store.directory, terminal=self.terminal)

    @property
    def web(self) -> Web:
        """Where upstream is shown: by the settings, else by its own address.

        Upstream may be a clone on this machine: then by where that came from.
        """
        from patchq.engine.workspace.upstream import origin_of
        from patchq.model.web import Web, web_of

        given = self.settings.web or Web()
        if given.has_addresses:
            return given
        for place in filter(None, (self.lock.upstream, self.upstream)):
            found = web_of(origin_of(self.files, place))
            if found.has_addresses:
                return replace(found, title=given.title)
        return given

    @property
    def links(self) -> CommitLinks:
        """Links to upstream's commits and pull requests; see :attr:`web`."""
        from patchq.report.commit import CommitLinks

        found = self.web
        return CommitLinks(found.commit, found.pull, found.compare, found.file)

    # series and their patches

    @property
    def series_names(self) -> tuple[str, ...]:
        """The bases that have a series, in the lock's order."""
        return self.files.series_names()

    @property
    def newest_series(self) -> str:
        """The last of them; raises :class:`~patchq.errors.InputError` if there is none."""
        names = self.series_names
        if not names:
            raise InputError(
                "this workspace has no series yet",
                hint="Start one: `patchq import FILE… --tag TAG`.",
            )
        return names[-1]

    def named(
        self, names: Iterable[str], series: str | None = None, *, retired: bool = False
    ) -> list[str]:
        """The patches of a series that ``names`` mean, also without their ending.

        With ``retired`` also those that have left it. A name that is none of them stays, for the
        engine to refuse.
        """
        series = series or self.newest_series
        known = self.files.series(series).names
        meant = [meant_name(name, known) for name in names]
        if not retired:
            return meant
        left = {record.name for record in self.files.retired(series)}
        return [name if name in known else meant_name(name, left) for name in meant]

    def chosen_guards(
        self, series: str, guards: Iterable[str] = (), variants: Iterable[str] = ()
    ) -> tuple[str, ...]:
        """The guards given, and those of the variants of a series."""
        if not variants:
            return tuple(guards)
        from patchq.engine.series.variants import guards_of

        return (*guards, *guards_of(self.files, series, variants))

    def select(
        self, series: str | None = None, guards: Sequence[str] = (), variants: Sequence[str] = ()
    ) -> Selection:
        """The patches of a series that are on, with what turns them on."""
        from patchq.engine.series.selection import select

        series = series or self.newest_series
        return select(
            self.files.load(series), self.settings, self.chosen_guards(series, guards, variants)
        )

    # writing

    @contextmanager
    def writing(self) -> Iterator[WorkspaceFiles]:
        """The files, ours alone while they are written to.

        Raises :class:`~patchq.errors.PatchqError` with the way out while a rebase is unfinished or
        an edit open.
        """
        with self.going_on() as files:
            refuse_under_way(files)
            yield files

    def label(self, what: str, series: str | None = None, option: str = "--tag") -> str:
        """The name of a change for :meth:`undo`: ``what`` it is, or the command as it was typed."""
        if self.typed is not None:
            return self.typed(series, option)
        return what if series is None else f"{what} {option} {series}"

    @contextmanager
    def going_on(self) -> Iterator[WorkspaceFiles]:
        """The same to go on with an unfinished rebase or edit, or to end it."""
        before = self._kept
        try:
            with self.writing_alone() as files:
                yield files
        finally:
            for directory in sorted(self._kept - before):
                place = directory.relative_to(self.files.root)
                self.say(f"files that were not taken are kept in {place}")

    @contextmanager
    def writing_alone(self) -> Iterator[WorkspaceFiles]:
        """The files with their lock held, whatever is unfinished there."""
        from patchq.engine.workspace.locking import exclusive

        with exclusive(self.files):
            yield self.files

    @property
    def _kept(self) -> set[Path]:
        """The directories of files that were moved out of a worktree."""
        return set((self.files.state_dir / "kept").glob("*-*"))

    @property
    def _recorded_lender(self) -> str | None:
        """The lender that an unfinished rebase began with."""
        from patchq.engine.rebase.operation import load

        try:
            operation = load(self.files)
        except PatchqError:  # who goes on with the rebase is told
            return None
        return operation.lender if operation else None


def refuse_under_way(files: WorkspaceFiles) -> None:
    """Raise with the way out while a rebase or a resolve is unfinished, or an edit open."""
    from patchq.engine.edit.state import refuse_while_open
    from patchq.engine.rebase.operation import refuse_meanwhile
    from patchq.engine.rebase.solving.state import refuse_while_resolving

    refuse_meanwhile(files)
    refuse_while_resolving(files)
    refuse_while_open(files)
