"""Bring upstream changes onto a base of the lock, as patches on top of its series."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from patchq.engine.backport.apply_change import Lander, Landing
from patchq.engine.backport.missing_commits import Between
from patchq.engine.backport.missing_names import Names
from patchq.engine.backport.prerequisites import LIMIT, Found, PrerequisiteSearch, SearchOutcome
from patchq.engine.backport.upstream_change import ChangeReader, UpstreamChange
from patchq.engine.series.directory_changes import changes, settles
from patchq.engine.series.naming import asked_name, patch_name
from patchq.engine.series.restack import Restacker
from patchq.engine.series.stack import PatchRefusedError, below
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.transaction import Transaction
from patchq.errors import InputError, PatchqError, Where
from patchq.git.apply import Applied, Refused
from patchq.git.objects import Entry
from patchq.model.header import description, read_header
from patchq.model.ids import CommitId, TreeId
from patchq.model.patch import Patch, read_patch
from patchq.model.series import Guard, Series, SeriesEntry
from patchq.model.words import counted, some
from patchq.model.workspace import SeriesDirectory

KIND = "backport"
_GOOD = (SearchOutcome.APPLIES, SearchOutcome.FOUND)
_OWN_FIELDS = ("origin", "x-upstream-pr", "x-kind", "last-update")
_TITLE = 60
_MOST_NAMED = 8


class PrerequisiteMode(Enum):
    """How prerequisites come along."""

    NONE = "none"
    PATCHES = "patches"
    SQUASHED = "squashed"


@dataclass(frozen=True)
class BackportTerms:
    """What holds for all changes of one backport; ``today`` (ISO 8601) is when it is made."""

    today: str
    guards: tuple[Guard, ...] = ()
    name: str | None = None
    company: PrerequisiteMode = PrerequisiteMode.NONE
    limit: int = LIMIT


@dataclass(frozen=True)
class Brought:
    """What became of one change: the patches written, where it could be brought."""

    found: Found
    patches: tuple[Patch, ...] = ()
    notices: tuple[str, ...] = ()


class Backporter:
    """Puts changes on top of a series, in memory; :meth:`stage` hands over what is to be written.

    Raises :class:`~patchq.errors.UpstreamError` if the store lacks the base.
    """

    def __init__(
        self,
        project: Project,
        directory: SeriesDirectory,
        changes: ChangeReader,
        terms: BackportTerms,
    ):
        self._project = project
        self._base = project.lock.base(directory.tag)
        self._directory = directory
        self._objects = project.store.objects
        self._history = project.store.history
        guards = project.settings.default_guards
        self._restacker = Restacker(project.store, self._base, guards)
        self._stack = self._restacker.stack
        self._mailer = project.store.mailer
        self._search = PrerequisiteSearch(project, self._base, changes, Names(project))
        self._terms = terms
        self._series = directory.series
        self._patches = dict(directory.patches)
        self._new: list[str] = []

    def bring(self, change: UpstreamChange, source: str | None = None) -> Brought:
        """Put ``change`` on top of the series, with what it needs where the terms say so.

        ``source`` says where a patch that is no upstream commit comes from. Raises
        :class:`InputError` if the base or the series has it already, or nothing of it is wanted.
        """
        if not change.after:
            left_out = some(change.left_out, _MOST_NAMED) or "it is empty"
            raise InputError(
                f"nothing is left of {change.title}: {left_out}",
                hint="--exclude, or `backport: exclude` in series/patchq.yaml, leaves it out.",
            )
        self._refuse_known(change)
        tree = self._tree(self._below())
        found = self._search.find(change, tree, self._terms.limit)
        if found.outcome is SearchOutcome.EMPTY:
            raise self._already_there(change)
        if found.outcome not in _GOOD or (
            found.prerequisites and self._terms.company is PrerequisiteMode.NONE
        ):
            return Brought(found, notices=self._in_archive(change))
        written = self._write_all(found, tree, source)
        notices = [*self._variants(written[-1])]
        for patch in written:
            notices += (f"{patch.name} {text}" for text in settles(self._directory, patch.name))
        return Brought(found, written, tuple(notices))

    def stage(self, transaction: Transaction) -> None:
        """Write the series with its new patches."""
        new = replace(self._directory, series=self._series, patches=self._patches)
        changes(self._directory, new).stage(transaction, self._directory)

    def _write_all(self, found: Found, tree: TreeId, source: str | None) -> tuple[Patch, ...]:
        if self._terms.company is PrerequisiteMode.SQUASHED:
            return (self._write(self._own_name(found.change), found.landings, tree, source, ()),)
        written: list[Patch] = []
        for landing in found.landings:
            if landing.change is found.change:
                below = [patch.name for patch in written]
                name = self._own_name(landing.change)
                written.append(self._write(name, [landing], tree, source, below))
            else:
                name = self._proposed_name(landing.change)
                written.append(self._write(name, [landing], tree, None, ()))
            tree = landing.tree
        return tuple(written)

    def _write(
        self,
        name: str,
        landings: Sequence[Landing],
        tree: TreeId,
        source: str | None,
        requires: Sequence[str],
    ) -> Patch:
        """One patch of one landing, or of several that come as one."""
        change = landings[-1].change
        before: dict[str, Entry | None] = {}
        after: dict[str, Entry | None] = {}
        for landing in landings:
            before = {**landing.before, **before}
            after |= landing.after
        needed = dict.fromkeys((*requires, *self._stands_on(before)))
        raw = self._mailer.mail(
            self._objects.tree_of(before),
            self._objects.tree_of(after),
            message=_message(landings, source, tuple(needed), self._terms.today),
            author=change.author,
            date=change.date,
        )
        patch = read_patch(name, raw)
        applied = self._stack.try_apply(tree, patch)
        if not isinstance(applied, Applied) or applied.tree != landings[-1].tree:
            raise PatchqError(f"{patch.name}: git's own diff does not give the tree it is of")
        self._series = self._series.append(SeriesEntry(patch.name, guards=self._terms.guards))
        self._patches[patch.name] = patch
        self._new.append(patch.name)
        return patch

    def _stands_on(self, before: Iterable[str]) -> list[str]:
        """The patches of this same backport that touch the same files."""
        paths = set(before)
        return [name for name in self._new if paths & set(self._patches[name].paths)]

    def _own_name(self, change: UpstreamChange) -> str:
        """The name asked for; of several changes, the first has it."""
        name = asked_name(self._terms.name) if self._terms.name is not None else None
        if name is None or name in self._new:
            return self._proposed_name(change)
        if name in self._series.names:
            raise InputError(
                f"{name} is in the series on {self._base.name} already",
                hint="Give it another name with --name.",
            )
        if (self._directory.path / name).exists():
            raise InputError(
                "the file is there already, though the series does not name it",
                where=Where(f"series/{self._base.name}/{name}"),
                hint="Remove it, or give another name with --name.",
            )
        return name

    def _proposed_name(self, change: UpstreamChange) -> str:
        title = _slug(change.subject, change.pull_requests) or change.title.lstrip("#")
        number = f"-pr{change.pull_requests[0]}" if change.pull_requests else ""
        name = patch_name(f"{title}{number}")
        if name in self._series.names or (self._directory.path / name).exists():
            name = patch_name(f"{title}{number}-{(change.commit or change.parent)[:9]}")
        return name

    def _below(self) -> tuple[SeriesEntry, ...]:
        """What a new entry at the end stands on."""
        entry = SeriesEntry("\0", guards=self._terms.guards)
        series = Series(self._series.raw, (*self._series.entries, entry), self._series.where)
        return below(series, entry, self._project.settings.default_guards)

    def _tree(self, entries: Sequence[SeriesEntry]) -> TreeId:
        return self._restacker.tree(entries, self._patches)

    def _refuse_known(self, change: UpstreamChange) -> None:
        """Raise if the base or a patch that it would stand on says that it is there."""
        if (
            change.commit is not None
            and self._base.archive is None
            and self._history.contains(change.commit, self._base.commit)
        ):
            first = self._first_base(change.commit)
            since = f" (since {first})" if first != self._base.name else ""
            raise InputError(
                f"{change.title} is in {self._base.name} already{since}: commit "
                f"{change.commit[:12]} is part of it",
                hint="There is nothing to backport.",
            )
        mine = {f"commit:{change.commit}"} if change.commit else set()
        for entry in self._below():
            header = self._patches[entry.name].header
            origin = set((header.field("Origin") or "").replace(",", " ").split())
            if origin & mine or (
                header.kind == KIND and set(header.upstream_prs) & set(change.pull_requests)
            ):
                raise self._in_series(change, entry.name)

    def _first_base(self, commit: CommitId) -> str:
        """The first git base up to ours that has ``commit``."""
        for base in self._project.lock.previous(self._base.name):
            if (
                base.archive is None
                and self._objects.has(base.commit)
                and self._history.contains(commit, base.commit)
            ):
                return base.name
        return self._base.name

    def _already_there(self, change: UpstreamChange) -> InputError:
        """Where the content of a change is that comes out empty."""
        entries = self._below()
        for number in range(len(entries) + 1):
            tree = self._tree(entries[:number])
            if self._search.find(change, tree, 0).outcome is SearchOutcome.EMPTY:
                break
        if number:
            return self._in_series(change, entries[number - 1].name)
        pick = self._cherry_pick(change)
        return InputError(
            f"{self._base.name} has all of {change.title} already{pick}",
            hint="There is nothing to backport.",
        )

    def _in_archive(self, change: UpstreamChange) -> tuple[str, ...]:
        """What tells that a base without history may have a change, altered since."""
        if self._base.archive is None or change.commit is None:
            return ()
        made = self._history.details(change.commit).info.date
        if made > self._base.date:
            return ()
        lander = Lander(
            self._project, self._base, Between(self._project.store, None, change.parent)
        )
        there, total = lander.there(change, self._base.tree)
        return (
            f"{change.title} may be in {self._base.name} already, changed since: the commit is "
            f"older ({made[:10]}), {there} of its {counted(total, 'change')} are there as they "
            "were, and the archive has no history that could tell",
        )

    def _cherry_pick(self, change: UpstreamChange) -> str:
        """The commit of the base's own branch that names the same pull request, in words."""
        if self._base.archive is not None or not change.pull_requests:
            return ""
        branch = self._history.merge_base(self._base.commit, change.parent)
        number = change.pull_requests[0]
        for commit in self._history.mentioning(self._base.commit, f"#{number}", branch):
            if number in self._project.settings.pull_requests(commit.subject):
                return f": {commit.oid[:12]} ({commit.subject})"
        return ""

    def _in_series(self, change: UpstreamChange, name: str) -> InputError:
        where = self._series.where
        line = self._series.entry(name).line
        return InputError(
            f"{change.title} is in the series on {self._base.name} already, as {name}",
            where=Where(where.file, line),
            hint="Drop that patch first, or bring a variant under a guard that excludes it.",
        )

    def _variants(self, patch: Patch) -> Iterable[str]:
        """Guards with which the new patch would not apply."""
        own = {guard.name for guard in self._terms.guards if guard.positive}
        always = self._project.settings.default_guards | own
        for guard in self._series.guards:
            active = self._series.active(always | {guard})
            if guard in always or not active or active[-1].name != patch.name:
                continue
            try:
                below_it = self._tree(active[:-1])
            except PatchRefusedError:  # without this patch too: not of its doing
                continue
            applied = self._stack.try_apply(below_it, patch)
            if isinstance(applied, Refused):
                yield f"{patch.name} does not apply with {guard} on: {applied.reason}"


def _message(
    landings: Sequence[Landing], source: str | None, requires: Sequence[str], today: str
) -> str:
    """The commit's own message, what was left out, and the DEP-3 and vendor fields."""
    change = landings[-1].change
    head = f"From: {change.author}\nSubject: {change.message}"
    header = read_header(head.encode("utf-8", "surrogateescape"))
    subject, body = description(header)
    own = "\n".join(map(str, header.trailers))
    prose = body.removesuffix(own).rstrip("\n") if own else body
    parts = [prose] if prose else []
    left_out = tuple(dict.fromkeys(path for one in landings for path in one.change.left_out))
    if left_out:
        parts.append(f"Left out of this backport: {some(left_out, _MOST_NAMED)}.")
    others = [landing.change for landing in landings[:-1]]
    if others:
        lines = (f"  {other.commit} {other.subject}" for other in others)
        parts.append("\n".join(("With what it stands on:", *lines)))
    kept = [str(t) for t in header.trailers if t.key.lower() not in _OWN_FIELDS]
    numbers = " | ".join(map(str, change.pull_requests))
    fields = [
        *kept,
        f"Origin: {_origin(change, source)}",
        *([f"X-Upstream-PR: {numbers}"] if numbers else []),
        f"X-Kind: {KIND}",
        *(f"X-Requires: {name}" for name in requires),
        f"Last-Update: {today}",
    ]
    return "\n\n".join((subject, *parts, "\n".join(fields))) + "\n"


def _origin(change: UpstreamChange, source: str | None) -> str:
    if change.commit is None:
        return f"other, {source or change.title} (cut from {change.parent})"
    return f"backport, commit:{change.commit}"


def _slug(subject: str, numbers: Sequence[int]) -> str:
    """A subject as a file name: without the numbers at its end and the tags at its beginning."""
    text = subject
    for number in reversed(numbers):
        text = re.sub(rf"\s*\(?#{number}\)?\s*$", "", text)
    text = re.sub(r"^(?:\s*\[[^\]]*\])+", "", text)
    slug = re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-.")
    return slug if len(slug) <= _TITLE else slug[:_TITLE].rpartition("-")[0]
