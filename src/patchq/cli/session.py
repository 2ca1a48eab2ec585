"""What every command needs: the workspace, the store, a place for notices."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from patchq.api import Workspace
from patchq.api.opened import refuse_under_way
from patchq.errors import PatchqError, UpstreamError
from patchq.files import replace_file
from patchq.model.lock import NoSuchBaseError
from patchq.model.patch_names import meant_name
from patchq.model.series import NoSuchPatchError
from patchq.model.workspace import Workspace as WorkspaceFiles
from patchq.model.workspace import find_workspace
from patchq.report.text import spelled
from patchq.steps import heard_by

if TYPE_CHECKING:
    from patchq.model.lock import Lock
    from patchq.model.settings import Settings
    from patchq.model.verdict import Column
    from patchq.report.progress import Bar


@dataclass(frozen=True)
class Session:
    """One run of the command line; ``context.obj`` of every command."""

    start: Path
    upstream: str | None
    debug: bool
    quiet: bool = False
    words: tuple[str, ...] = ()
    before: frozenset[str] = frozenset()
    """What was said already, before the command was begun again."""
    said: set[str] = field(default_factory=set, compare=False)
    _shown: list[Bar] = field(default_factory=list, compare=False)

    @cached_property
    def api(self) -> Workspace:
        """The workspace around ``start``, as scripts have it too."""
        return Workspace.open(
            self.start,
            upstream=self.upstream,
            say=self.notice,
            limits=self._notice_once,
            fetching=self._fetching,
            terminal=sys.stderr.isatty(),
            typed=self.typed,
        )

    @property
    def workspace(self) -> WorkspaceFiles:
        """The workspace's files."""
        return self.api.files

    @cached_property
    def lock(self) -> Lock:
        """The workspace's lock."""
        return self.api.lock

    @property
    def settings(self) -> Settings:
        """The workspace's settings."""
        return self.api.settings

    def bring(self, names: Sequence[str]) -> None:
        """Fetch locked bases that the store lacks; raises :class:`UpstreamError`."""
        self.notice(f"fetching {', '.join(names)}")
        with self.progress("fetch") as progress:
            for number, (base, _) in enumerate(self.api.fetch(*names), 1):
                progress(number, len(names), base.name)

    def tell_unfetched(self, columns: Iterable[Column]) -> None:
        """Say which bases are not fetched, so that not all of ``columns`` could be judged."""
        names = " ".join(dict.fromkeys(name for column in columns for name in column.unfetched))
        if names:
            self.notice(f"not fetched, so not judged: {names}: run `patchq fetch {names}`")

    def typed(self, tag: str | None = None, option: str = "--tag") -> str:
        """The command as it was typed, for the record that undo shows.

        With ``option`` and the ``tag`` that it is about, if it does not name it; of many names in a
        row the first ones, and how many more.
        """
        named = tag is None or any(tag in re.split("[=,]", word) for word in self.words)
        words = [word for word in self.words if word != "--json"]
        words += [] if named else [option, str(tag)]
        shown: list[str] = []
        for is_option, run in groupby(words, lambda word: word.startswith("-")):
            names = [shlex.quote(word) for word in run]
            more = len(names) - _FEW
            if is_option or more < 2:
                shown += names
            else:
                shown += [*names[:_FEW], f"(and {more} more)"]
        return " ".join(shown)

    @property
    def newest_series(self) -> str:
        """The last base in the lock's order that has a series; raises :class:`InputError`."""
        return self.api.newest_series

    def under_way(self) -> str | None:
        """How to go on with the rebase or edit that is open, None if there is none."""
        try:
            workspace = find_workspace(self.start)
        except PatchqError:
            return None
        try:
            refuse_under_way(workspace)
        except PatchqError as error:
            return f"{error}; {error.hint}"
        return None

    def notice(self, text: str) -> None:
        """Say something on stderr that is neither result nor error."""
        self.said.add(text)
        if not self.quiet and text not in self.before:
            typer.echo(f"patchq: {spelled(text)}", err=True)

    def say_notes(self, notes: Iterable[str]) -> None:
        """Say what an edit has to say; what stays true after it, once a workspace."""
        from patchq.engine.series.restack import StandingNote

        for note in notes:
            (self._notice_once if isinstance(note, StandingNote) else self.notice)(note)

    def _notice_once(self, text: str) -> None:
        """Say something that stays true for long, once a workspace."""
        said = self.workspace.cache_dir / "notices"
        known = said.read_text(errors="replace").splitlines() if said.is_file() else []
        digest = sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
        if digest in known or self.quiet:
            return
        self.notice(text)
        said.parent.mkdir(parents=True, exist_ok=True)
        replace_file(said, "".join(f"{line}\n" for line in (*known, digest)).encode())

    def elsewhere(self, error: PatchqError) -> str | None:
        """Where a patch that a series does not have is found instead; what else a tag is."""
        if not isinstance(error, NoSuchPatchError | NoSuchBaseError):
            return None
        try:
            workspace = find_workspace(self.start)
            if isinstance(error, NoSuchBaseError):
                tags = [
                    tag
                    for tag in workspace.series_names()
                    if _has(error.name, workspace.series(tag).names)
                ]
                if not tags:
                    return None
                return f"It is a patch of {', '.join(tags)}: name a tag here."
            if error.name in workspace.lock().names:
                return (
                    f"{error.name} is a tag: name a patch of it, which `patchq list {error.name}` "
                    "shows."
                )
            directories = [workspace.load(tag) for tag in workspace.series_names()]
        except PatchqError:
            return None
        active, retired = [], []
        for directory in directories:
            if _has(error.name, directory.series.names):
                active.append(directory.tag)
            if _has(error.name, [record.name for record in directory.retired]):
                retired.append(directory.tag)
        words = [f"It is in the series on {', '.join(active)}."] if active else []
        if retired and self.words[:1] == ("revive",):
            words.append(f"`patchq revive {error.name} {retired[-1]}` brings it back there.")
        elif retired:
            words.append(f"`patchq why {error.name}` says why it is not in {', '.join(retired)}.")
        return " ".join(words) or None

    def damage(self, error: PatchqError) -> tuple[str, str] | None:
        """What is damaged of the store, and what to do, if that is why git failed."""
        if not isinstance(error, UpstreamError):
            return None
        from patchq.git.damage import find_damage, remake
        from patchq.git.process import GitEndedError, GitFailedError, ReaderFailedError
        from patchq.git.raw_objects import DamagedObjectError
        from patchq.git.remote import FetchFailedError

        about_files = GitFailedError | DamagedObjectError | FetchFailedError
        if not isinstance(error, about_files) or isinstance(error, GitEndedError):
            return None
        try:
            store = find_workspace(self.start).store_path
            found = find_damage(store)
        except (PatchqError, OSError):
            return None
        if found is not None and found.repository != store:
            return f"{found} ({error})", (
                f"{found.repository} lends its objects: `git fsck` there says more. Lend another "
                "clone with --upstream."
            )
        if found is None and not isinstance(error, ReaderFailedError):
            return None
        under_way = self.under_way()
        first = f"First end what is under way: {under_way}\n" if under_way else ""
        return f"{found} ({error})" if found else str(error), first + remake(store)

    @contextmanager
    def progress(self, what: str) -> Iterator[_Progress]:
        """Progress on a terminal, silence in a pipe."""
        if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            yield _Progress(None)
            return
        from patchq.report.progress import showing

        with showing(what) as bar, heard_by(bar.show):
            self._shown.append(bar)
            try:
                yield _Progress(bar)
            finally:
                self._shown.remove(bar)

    @contextmanager
    def _fetching(self, words: str) -> Iterator[None]:
        """Say what is fetched, and leave the status line to git's own progress meanwhile."""
        for bar in self._shown:
            bar.pause()
        self.notice(words)
        yield
        for bar in self._shown:
            bar.resume()


_FEW = 6
"""How many names in a row a record of a command has."""


def _has(name: str, known: Sequence[str]) -> bool:
    return meant_name(name, known) in known


def show_git_commands() -> None:
    """Write each git command and the time it took to stderr."""
    from patchq.git.process import observe

    observe(lambda words, seconds: typer.echo(f"git {words} ({seconds:.3f} s)", err=True))


class _Progress:
    """Takes the engine's progress calls and shows them, if there is a terminal to show them on."""

    def __init__(self, bar: Bar | None):
        self._bar = bar

    def __call__(self, done: int, total: int, name: str) -> None:
        if self._bar is not None:
            self._bar.show(done, total, name)


def session(context: typer.Context) -> Session:
    """The session of a command's context."""
    found = context.obj
    assert isinstance(found, Session)
    return found
