"""How a patch from outside fits a tree: applied strictly, else merged from what it was cut from.

Where strict ``git apply`` refuses, the merge that ``git apply --3way`` would make is tried: base is
what the patch's index lines name. A patch that was made in another directory (inside a part of the
tree, or on an installed package) is read where all its paths exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from patchq.engine.importing.advice import Adviser, place_of
from patchq.engine.importing.given.read import Given
from patchq.engine.importing.places import Places
from patchq.engine.series.stack import Stack
from patchq.errors import InputError, Where
from patchq.git.apply import Applied, Refused
from patchq.git.objects import Entry
from patchq.git.store import Store
from patchq.git.strict import PlainDiff
from patchq.model.diff import ChangeKind, FileChange
from patchq.model.ids import TreeId
from patchq.model.lock import Base
from patchq.model.patch import Patch, read_patch


@dataclass(frozen=True)
class BroughtOver:
    """A patch that was cut from another state of upstream, and what it does to the tree here.

    ``applied`` is None if it does not merge; ``remarks`` say what it was cut from, and then
    what it needs; ``needs`` are the upstream changes that it needs, as ``patchq backport`` takes
    them. ``there``: the tree has all of it. ``stands_on`` are the paths of the tree that decide
    it, None if they are not known.
    """

    applied: Applied | None
    remarks: tuple[str, ...]
    needs: tuple[str, ...] = ()
    there: bool = False
    stands_on: frozenset[str] | None = None


BringOver = Callable[[Patch, TreeId], BroughtOver | None]
"""Finds what a patch was cut from and merges it onto a tree; None if nothing is found."""


@dataclass(frozen=True)
class Fit:
    """A patch as it was read, and what it does to the tree.

    ``merged``: by a three-way merge, ``remarks`` say from what. ``read_as`` are the options with
    which its paths are those of the tree, where these are not the usual ones.
    """

    reading: Patch
    applied: Applied
    merged: bool = False
    remarks: tuple[str, ...] = ()
    read_as: str | None = None


class NoFitError(InputError):
    """A patch neither applies to a tree nor merges onto it.

    Where ``stands_on`` is known, it does not as long as these paths of the tree stay as they are.
    """

    stands_on: frozenset[str] | None = None


class AllThereError(InputError):
    """The tree has all of a patch already."""


@dataclass(frozen=True)
class Paths:
    """How the paths of a patch are to be read, where it is said: git's ``-p`` and directory."""

    strip: int | None = None
    directory: str | None = None

    def __bool__(self) -> bool:
        return self.strip is not None or self.directory is not None


class Fitter:
    """Fits patches onto trees made from ``base``.

    ``bring_over`` is asked about a patch that does not apply; ``others`` are the bases that hints
    may speak of.
    """

    def __init__(
        self,
        store: Store,
        stack: Stack,
        base: Base,
        bring_over: BringOver = lambda _patch, _tree: None,
        others: Sequence[Base] = (),
    ):
        self._store = store
        self._objects = store.objects
        self._stack = stack
        self._bring_over = bring_over
        self._places = Places(store)
        self._adviser = Adviser(store, base, others, self._places)
        self._base = base

    def fit(self, tree: TreeId, given: Given, raw: bytes, paths: Paths = Paths()) -> Fit:
        """Put the patch in ``raw``, which is ``given`` mended, on ``tree``.

        Raises :class:`NoFitError` if it does not fit, :class:`AllThereError` if the tree has
        all of it, :class:`InputError` if it or a field of its header is malformed.
        """
        fit = self._fit(tree, given, raw, paths)
        self._check_removed(tree, fit)
        return fit

    def _fit(self, tree: TreeId, given: Given, raw: bytes, paths: Paths) -> Fit:
        readings = self.readings(tree, given, raw, paths)
        readings[0].header.check_fields()
        self._check_names(readings[0])
        refusals: list[Refused] = []
        for reading in readings:
            applied = self._stack.try_apply(tree, reading.bare)
            if isinstance(applied, Refused):
                refusals.append(applied)
            elif applied.tree == tree:
                raise self._refusal(tree, reading, "it changes nothing")
            else:
                return Fit(reading, applied, read_as=_unusual(reading, paths))
        reading, reason = readings[0], refusals[0].reason
        if any(self._adviser.is_there(tree, candidate) for candidate in readings):
            raise self._all_there(reading)
        if not paths and not self._places.knows(tree, reading):
            found = self._elsewhere(tree, given, raw, reading)
            if isinstance(found, Fit):
                return found
            if found is not None:
                reading, reason = found
        return self._merged(tree, reading, reason, paths)

    def _check_removed(self, tree: TreeId, fit: Fit) -> None:
        """Raise :class:`NoFitError` if a path is left that the patch takes away in the end.

        ``git apply`` leaves one that a section creates and a later one renames, if it was there.
        """
        removed = _removed(fit.reading)
        left = [path for path in removed if self._objects.file(fit.applied.tree, path)]
        if left:
            reason = f"it removes {', '.join(left)} in the end, and applied it would leave that"
            raise self._refusal(tree, fit.reading, reason)

    def _merged(self, tree: TreeId, reading: Patch, reason: str, paths: Paths) -> Fit:
        read_as = _unusual(reading, paths)
        alone = self._stack.try_apply(self._base.tree, reading.bare)
        if isinstance(alone, Applied):
            base = self._objects.tree_of(alone.before)
            applied = self._three_way(
                tree, reading, base, self._objects.tree_of(alone.after), reason
            )
            return Fit(reading, applied, True, (f"cut from {self._base.name} itself",), read_as)
        over = self._bring_over(reading, tree)
        if over is not None:
            if over.there:
                raise self._all_there(reading)
            if over.applied is None:
                text = "; ".join((reason, *over.remarks))
                refusal = self._refusal(tree, reading, text, over.needs)
                refusal.stands_on = over.stands_on
                raise refusal
            return Fit(reading, over.applied, True, over.remarks, read_as)
        preimage = self._preimage(reading)
        theirs = self._stack.try_apply(preimage, reading.bare) if preimage is not None else None
        if preimage is None or not isinstance(theirs, Applied):
            raise self._refusal(tree, reading, reason)
        applied = self._three_way(tree, reading, preimage, theirs.tree, reason)
        return Fit(reading, applied, merged=True, read_as=read_as)

    def _three_way(
        self, tree: TreeId, reading: Patch, base: TreeId, theirs: TreeId, reason: str
    ) -> Applied:
        """The change from tree ``base`` to ``theirs`` merged onto ``tree``; both hold just that."""
        ours = self._objects.tree_of(self._objects.files(tree, reading.paths))
        merge = self._store.merger.merge(base, ours, theirs)
        if not merge.clean:
            places = ", ".join(merge.conflicted_paths)
            raise self._refusal(tree, reading, f"{reason}; a three-way merge conflicts in {places}")
        if merge.tree == ours:
            raise self._all_there(reading)
        leaving = set(reading.paths) - dict(self._objects.walk(merge.tree)).keys()
        for path in reading.paths:
            blocker = path not in leaving and self._objects.blocker(tree, path, leaving)
            if blocker:
                raise self._refusal(
                    tree, reading, f"{reason}; {path} cannot be there: {blocker} is a file"
                )
        before = self._objects.files(tree, reading.paths)
        after = {**dict.fromkeys(reading.paths), **dict(self._objects.walk(merge.tree))}
        return Applied(self._objects.overlay(tree, after), before, after)

    def _check_names(self, reading: Patch) -> None:
        """Raise :class:`InputError` if git finds other files in the diff than we do."""
        if PlainDiff(reading.diff, 0, reading.files).is_plain:
            return
        found = self._store.applier.names(
            reading.diff, strip=reading.strip, directory=reading.directory
        )
        ours = sorted(change.new or change.old or "" for change in reading.files)
        if isinstance(found, Refused):
            raise InputError(found.reason, where=Where(place_of(reading)))
        if sorted(found) != ours:
            raise InputError(
                f"git finds changes of {', '.join(found) or 'nothing'} in it, and they read as "
                f"changes of {', '.join(ours)}",
                where=Where(place_of(reading)),
                hint="Take out the lines between the files' diffs that look like a diff.",
            )

    def readings(self, tree: TreeId, given: Given, raw: bytes, paths: Paths) -> tuple[Patch, ...]:
        """The patch with ``-p1`` and with ``-p0``, first the one whose paths the tree knows.

        Of the others only those it knows any of: a new file must not land under ``b/``. Where
        ``paths`` say how it is to be read, only that.
        """
        readings: list[Patch] = []
        errors: list[InputError] = []
        where = Where(given.place, given.line or None)
        for strip in (1, 0) if paths.strip is None else (paths.strip,):
            try:
                readings.append(
                    read_patch(
                        given.name, raw, strip=strip, where=where, directory=paths.directory or ""
                    )
                )
            except InputError as error:
                errors.append(error)
        if not readings:
            raise errors[0]
        known = {patch.strip: self._places.known(tree, patch) for patch in readings}
        first, *others = sorted(readings, key=lambda patch: -known[patch.strip])
        return (first, *(patch for patch in others if known[patch.strip]))

    def _elsewhere(
        self, tree: TreeId, given: Given, raw: bytes, reading: Patch
    ) -> Fit | tuple[Patch, str] | None:
        """The patch in the one place where all its paths exist and it applies.

        If it applies in none, the one place, if there is one only, and why it is refused there.
        """
        where = Where(given.place, given.line or None)
        places = self._places.find(tree, given.name, raw, where)
        if any(self._adviser.is_there(tree, place) for place in places):
            raise self._all_there(reading)
        answers = [(place, self._stack.try_apply(tree, place.bare)) for place in places]
        fitting = [(place, at) for place, at in answers if isinstance(at, Applied)]
        if len(fitting) > 1:
            options = " or ".join(f"`{options_of(place)}`" for place, _ in fitting[:3])
            raise NoFitError(
                f"{given.name} has no place of its own in {self._base.name}: its paths exist and "
                f"its context matches in {len(fitting)} directories",
                where=Where(place_of(reading)),
                hint=f"Say which: {options}.",
            )
        if fitting:
            ((place, applied),) = fitting
            return Fit(place, applied, read_as=options_of(place))
        if len(answers) == 1:
            ((place, refused),) = answers
            assert isinstance(refused, Refused)
            return place, refused.reason
        return None

    def _preimage(self, patch: Patch) -> TreeId | None:
        """The tree of the files that the index lines name; None if one is not in the store."""
        wanted: dict[str, FileChange] = {}
        for change in patch.files:
            if change.old is not None:
                wanted.setdefault(change.old, change)
        blobs = [change.old_blob or "" for change in wanted.values()]
        found = self._store.find_blobs(blobs)
        if not all(blob in found for blob in blobs):
            return None
        return self._objects.tree_of(
            {
                path: Entry(change.old_mode or "100644", found[blob])
                for (path, change), blob in zip(wanted.items(), blobs, strict=True)
            }
        )

    def _all_there(self, patch: Patch) -> AllThereError:
        return AllThereError(
            f"all of it is in {self._base.name} with the patches below it already",
            where=Where(place_of(patch)),
            hint="There is nothing to import.",
        )

    def _refusal(
        self, tree: TreeId, patch: Patch, reason: str, needs: Sequence[str] = ()
    ) -> NoFitError:
        line, spot = self._adviser.spot(tree, patch, reason)
        read_as = "" if patch.strip < 2 and not patch.directory else f" ({options_of(patch)})"
        return NoFitError(
            f"{patch.name}{read_as} does not apply to {self._base.name} with the patches below "
            f"it: {reason}{spot}",
            where=Where(place_of(patch), line),
            hint=self._adviser.advice(tree, patch, reason, needs),
        )


def _removed(patch: Patch) -> list[str]:
    """The paths that are gone after all of a patch."""
    stays: dict[str, bool] = {}
    for change in patch.files:
        if change.old is not None and change.kind is not ChangeKind.COPY:
            stays[change.old] = False
        if change.new is not None:
            stays[change.new] = True
    return [path for path, left in stays.items() if not left]


def options_of(patch: Patch) -> str:
    """The options of import that read a patch as it is read here."""
    below = f" --directory {patch.directory}" if patch.directory else ""
    return f"--strip {patch.strip}{below}"


def _unusual(reading: Patch, paths: Paths) -> str | None:
    return options_of(reading) if paths.directory or reading.strip > 1 else None
