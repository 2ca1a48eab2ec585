"""Put a changed series together again: each patch merged onto what is below it now.

A patch is a change of tree entries, and the bytes that so far did it. If the patches below it
are others now, the change is merged three-way onto them; its bytes are kept where they still do
exactly that (:mod:`patchq.engine.series.rewrite`): only patches that must change are written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from patchq.engine.series.repeated_lines import find_duplicate
from patchq.engine.series.rewrite import Carrier
from patchq.engine.series.stack import PatchRefusedError, Stack, below
from patchq.errors import FindingsError, PatchqError, Where
from patchq.git.objects import Entries
from patchq.git.store import Store
from patchq.model.ids import TreeId
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.retired import provided_by_upstream
from patchq.model.series import Series, SeriesEntry
from patchq.model.words import some
from patchq.model.workspace import SeriesDirectory


@dataclass(frozen=True)
class Work:
    """What a patch is to do: the entries of the paths it changes, as they were and as they are.

    ``patch`` is what to call it, and the bytes to keep as far as they do this.
    """

    patch: Patch
    before: Entries
    after: Entries


class StandingNote(str):
    """What is to be said of a series, and stays true whatever is edited: once is enough."""

    __slots__ = ()


class NoMergeError(FindingsError):
    """A patch does not merge with what is below it now."""

    def __init__(self, name: str, paths: Sequence[str], tag: str):
        super().__init__(
            f"{name} does not merge with what is below it now: conflict in {some(paths)}",
            hint=f"Nothing was written. In a `patchq edit {tag}`, git helps to solve the conflict.",
        )
        self.name = name


class Restacker:
    """Stacks patches of one series on its base, under the workspace's default guards.

    What is asked of a patch depends on whether it is in one of the selections that matter: those of
    the default guards, and of the guards ``concerned`` beside them. A patch that is in neither, or
    that requires a patch which is absent, is left as it is where it does not apply or merge;
    :attr:`notices` tells of it. Raises :class:`~patchq.errors.UpstreamError` if the store lacks
    ``base``.
    """

    def __init__(
        self,
        store: Store,
        base: Base,
        default_guards: frozenset[str],
        concerned: frozenset[str] = frozenset(),
    ):
        store.require((base,))
        self._objects = store.objects
        self._merger = store.merger
        self._base = base
        self._default_guards = default_guards
        self._selected = default_guards | concerned
        self._left_alone: dict[str, str] = {}
        self.stack = Stack(store)
        self.mailer = store.mailer
        self._carrier = Carrier(self.stack, self.mailer, store.objects)

    def covers(self, patch: Patch) -> bool:
        """Whether the base has all of the patch's paths; one that it has not is never applied."""
        return all(map(self._base.covers, patch.paths))

    @property
    def notices(self) -> tuple[str, ...]:
        """What is to be said of the patches that were left as they are."""
        return tuple(
            StandingNote(f"{name} is left as it is: {why}")
            for name, why in self._left_alone.items()
        )

    @property
    def left_alone(self) -> Collection[str]:
        """The patches that were left as they are, for they do not apply or merge."""
        return self._left_alone.keys()

    def works(
        self, directory: SeriesDirectory, without: Collection[str] = (), *, lenient: bool = False
    ) -> dict[str, Work]:
        """What each patch of a series does, by name; those that the base covers, less ``without``.

        One that is left as it is has none. Raises
        :class:`~patchq.engine.series.stack.PatchRefusedError` if another one does not apply; if
        ``lenient``, that is left as it is too.
        """
        found: dict[str, Work] = {}
        for entry in directory.series.entries:
            patch = directory.patches[entry.name]
            if entry.name in without or not self.covers(patch):
                continue
            try:
                tree = self.tree_below(directory.series, entry, directory.patches)
                applied = self.stack.apply(tree, patch, onto=self._base.name)
            except PatchRefusedError as error:
                if not (lenient or self._is_optional(entry, patch, directory.patches)):
                    raise
                self._leave(entry, patch, directory.patches, error)
            else:
                found[entry.name] = Work(patch, applied.before, applied.after)
        return found

    def leaves_alone(
        self,
        entry: SeriesEntry,
        patch: Patch,
        patches: Mapping[str, Patch],
        error: PatchqError,
    ) -> bool:
        """Whether a patch that ``error`` is about can be left as it is; it is noted, then."""
        optional = self._is_optional(entry, patch, patches)
        if optional:
            self._leave(entry, patch, patches, error)
        return optional

    def _is_optional(self, entry: SeriesEntry, patch: Patch, patches: Mapping[str, Patch]) -> bool:
        """Whether nothing may be asked of the patch: it is in no selection that matters."""
        return not entry.active(self._selected) or bool(self._absent(patch, patches))

    def _absent(self, patch: Patch, patches: Mapping[str, Patch]) -> list[str]:
        """The patches it requires that are not before it in the series, or wait themselves."""
        before = set(takewhile(lambda name: name != patch.name, patches))
        return [
            name for name in patch.header.requires if name not in before or name in self._left_alone
        ]

    def _leave(
        self,
        entry: SeriesEntry,
        patch: Patch,
        patches: Mapping[str, Patch],
        error: PatchqError,
    ) -> None:
        absent = self._absent(patch, patches)
        if absent:
            gone = [name for name in absent if name not in patches]
            waiting = [name for name in absent if name in self._left_alone]
            named = gone or waiting or absent
            one = len(named) == 1
            words = "comes after it" if one else "come after it"
            if gone:
                words = f"{'is' if one else 'are'} not in the series"
            elif waiting:
                words = "is left as it is too" if one else "are left as they are too"
            why = f"it requires {', '.join(named)}, which {words}"
        elif not entry.active(self._selected):
            guards = " ".join(str(guard).removeprefix("#") for guard in entry.guards)
            why = f"its guards ({guards}) are off, and it {_reason(error)}"
        else:
            why = f"it {_reason(error)}"
        self._left_alone.setdefault(entry.name, why)

    def tree_below(
        self, series: Series, entry: SeriesEntry, patches: Mapping[str, Patch]
    ) -> TreeId:
        """The tree that the patch of ``entry`` stands on."""
        return self.tree(below(series, entry, self._default_guards), patches)

    def tree(self, entries: Iterable[SeriesEntry], patches: Mapping[str, Patch]) -> TreeId:
        """The base with the patches of ``entries`` in order, less those that are left as they are.

        Raises :class:`~patchq.engine.series.stack.PatchRefusedError` if one does not apply.
        """
        tree = self._base.tree
        for entry in entries:
            patch = patches[entry.name]
            if entry.name in self._left_alone or not self.covers(patch):
                continue
            try:
                tree = self.stack.apply(tree, patch, onto=self._base.name).tree
            except PatchRefusedError as error:
                if not self._absent(patch, patches):
                    raise
                self._leave(entry, patch, patches, error)
        return tree

    def restack(
        self, directory: SeriesDirectory, series: Series, works: Mapping[str, Work]
    ) -> SeriesDirectory:
        """``directory`` with another order, or other patches in it.

        ``works`` says what the patches of ``series`` do; one that is not in it is left as it is.
        Raises :class:`FindingsError`, naming the patch, if one no longer merges, does nothing
        any more, or is left without a patch that it requires; none of that for a patch that is in
        no selection that matters.
        """
        known = {name: directory.patches.get(name) or works[name].patch for name in series.names}
        patches: dict[str, Patch] = {}
        for entry in series.entries:
            work, patch = works.get(entry.name), known[entry.name]
            optional = self._is_optional(entry, patch, known)
            try:
                if work is not None:
                    patch = self.place(work, self.tree_below(series, entry, patches))
                elif entry.name in self._left_alone and not optional:  # its guards were turned on
                    tree = self.tree_below(series, entry, patches)
                    self.stack.apply(tree, patch, onto=self._base.name)
            except (FindingsError, PatchRefusedError) as error:
                if not optional:
                    raise
                self._leave(entry, patch, known, error)
            patches[entry.name] = patch
        restacked = replace(directory, series=series, patches=patches)
        check_requirements(directory, restacked, self._selected)
        return restacked

    def place(self, work: Work, tree: TreeId) -> Patch:
        """The patch that does ``work`` to ``tree``, merged onto it where it must be.

        Raises :class:`FindingsError`, naming the patch, if it no longer merges or does nothing.
        """
        ours = self._objects.files(tree, work.before)
        leaving = {path for path, entry in work.after.items() if entry is None}
        for path in work.before.keys() - leaving:
            if self._objects.blocker(tree, path, leaving):
                raise NoMergeError(work.patch.name, (path,), self._base.name)
        if ours == dict(work.before):
            after: Entries = work.after
        else:
            after = self._merge(work, ours)
        if ours == dict(after):
            raise FindingsError(
                f"{work.patch.name} does nothing any more: the patches below it have all of it",
                hint=f"Leave it out: `patchq drop {work.patch.name} --tag {self._base.name} "
                "--reason WHY`, or drop its commit.",
            )
        result = self._objects.overlay(
            tree, {path: entry for path, entry in after.items() if entry != ours[path]}
        )
        return self._carrier.carry(work.patch, tree, result, ours, after, {}).patch

    def _merge(self, work: Work, ours: Entries) -> Entries:
        name = work.patch.name
        tree_of = self._objects.tree_of
        merged = self._merger.merge(tree_of(work.before), tree_of(ours), tree_of(work.after))
        if not merged.clean:
            raise NoMergeError(name, merged.conflicted_paths, self._base.name)
        found = dict(self._objects.walk(merged.tree))
        stray = found.keys() - work.before.keys()
        if stray:
            raise NoMergeError(name, tuple(sorted(stray)), self._base.name)
        after = {path: found.get(path) for path in work.before}
        self._check_duplicates(work, ours, after)
        return after

    def _check_duplicates(self, work: Work, ours: Entries, after: Entries) -> None:
        """Refuse a clean merge that would repeat a line which a patch below adds elsewhere now."""
        for change in work.patch.files:
            path = change.paths[-1]
            sides = [entries.get(path) for entries in (work.before, ours, after)]
            if sides[0] == sides[1] or not all(sides):
                continue
            texts = [self._objects.read(entry.oid) for entry in sides if entry]
            for hunk in change.hunks:
                duplicate = find_duplicate(hunk, path, *texts)
                if duplicate:
                    line = duplicate.lines[0].decode(errors="replace").strip()
                    raise FindingsError(
                        f"{work.patch.name} would repeat {line!r}, which a patch below adds to "
                        f"{path} already",
                        hint="Take the line out of one of the two with "
                        f"`patchq edit {self._base.name}`.",
                    )


def _reason(error: PatchqError) -> str:
    """The error as what its patch does."""
    if isinstance(error, PatchRefusedError):
        return f"does not apply to {error.onto} with the patches below it"
    if isinstance(error, NoMergeError):
        return "does not merge with what is below it now"
    return error.message.partition(" ")[2]


def check_requirements(
    old: SeriesDirectory, new: SeriesDirectory, guards: frozenset[str] | None = None
) -> None:
    """Raise if a patch stood behind one that it requires, and no longer does.

    With ``guards`` only for patches that are active under them.
    """
    for name, required in sorted(_unmet(new, guards) - _unmet(old, guards)):
        if guards is not None and not new.series.entry(name).active(guards):
            continue
        raise FindingsError(
            f"{name} requires {required}, which {_why_unmet(old, new, name, required)}",
            where=Where(new.series.where.file),
            hint=f"Take {required} out of the X-Requires of {name}, or keep it before {name}.",
        )


def _why_unmet(old: SeriesDirectory, new: SeriesDirectory, name: str, required: str) -> str:
    names = new.series.names
    if required == name:
        return "is itself"
    if required not in names:
        return "leaves the series" if required in old.series.names else "is not in the series"
    if names.index(required) > names.index(name):
        return "would come after it"
    guards = " ".join(map(str, new.series.entry(required).guards))
    return f"would be off where {name} is on ({guards})"


def _unmet(
    directory: SeriesDirectory, guards: frozenset[str] | None = None
) -> set[tuple[str, str]]:
    """Each patch and one that it requires, which is not below it in every selection that has it.

    Without ``guards`` it is only asked what stands where.
    """
    provided = provided_by_upstream(directory.retired)
    there: dict[str, SeriesEntry] = {}
    unmet: set[tuple[str, str]] = set()
    for entry in directory.series.entries:
        own = frozenset(guard.name for guard in entry.guards if guard.positive)
        for other in directory.patches[entry.name].header.requires:
            lower = there.get(other)
            is_below = lower is not None and (guards is None or lower.active(guards | own))
            if not is_below and other not in provided:
                unmet.add((entry.name, other))
        there[entry.name] = entry
    return unmet
