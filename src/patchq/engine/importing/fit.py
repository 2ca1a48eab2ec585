"""How a patch from outside fits a tree: applied strictly, else merged from what it was cut from.

Where strict ``git apply`` refuses, the merge that ``git apply --3way`` would make is tried: base is
what the patch's index lines name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from patchq.engine.series.hunks import locate
from patchq.engine.series.stack import Stack
from patchq.errors import InputError, Where
from patchq.git.apply import Applied, Refused
from patchq.git.objects import Entry
from patchq.git.store import Store
from patchq.model.diff import ChangeKind, FileChange, Hunk, split_lines
from patchq.model.lock import Base
from patchq.model.patch import Patch, read_patch

_NO_DATA = re.compile(r"cannot apply binary patch|without full index line")
_NO_PLACE = re.compile(r"invalid path", re.IGNORECASE)
_NO_DIFF = re.compile(r"bad git-diff|corrupt patch|unrecognized input|garbage|malformed")
_FAILED_HUNK = re.compile(r"patch failed: (.+):(\d+)$")


@dataclass(frozen=True)
class BroughtOver:
    """A patch that was cut from another state of upstream, and what it does to the tree here.

    ``applied`` is None where it does not merge; ``remarks`` say what it was cut from, and then
    what it needs.
    """

    applied: Applied | None
    remarks: tuple[str, ...]


BringOver = Callable[[Patch, str], BroughtOver | None]
"""Finds what a patch was cut from and merges it onto a tree; None where nothing is found."""


@dataclass(frozen=True)
class Fit:
    """A patch as it was read, and what it does to the tree."""

    reading: Patch
    applied: Applied
    merged: bool = False
    remarks: tuple[str, ...] = ()


class NoFitError(InputError):
    """A patch neither applies to a tree nor merges onto it."""


class Fitter:
    """Fits patches onto trees made from ``base``.

    ``bring_over`` is asked about a patch that does not apply.
    """

    def __init__(
        self,
        store: Store,
        stack: Stack,
        base: Base,
        bring_over: BringOver = lambda _patch, _tree: None,
    ):
        self._store = store
        self._objects = store.objects
        self._stack = stack
        self._base = base
        self._bring_over = bring_over

    def fit(self, tree: str, name: str, raw: bytes, place: str) -> Fit:
        """Put the patch in ``raw``, which messages call ``place``, on ``tree``.

        Raises :class:`NoFitError` where it does not fit, :class:`InputError` where it or a field
        of its header is malformed, or the tree has all of it.
        """
        readings = self._readings(tree, name, raw, place)
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
                return Fit(reading, applied)
        reading, reason = readings[0], refusals[0].reason
        if _is_there(reading, lambda path: self._objects.content(tree, path)):
            raise InputError(
                f"all of it is in {self._base.name} with the patches below it already",
                where=Where(_place(reading)),
                hint="There is nothing to import.",
            )
        over = self._bring_over(reading, tree)
        if over is not None:
            if over.applied is None:
                raise self._refusal(tree, reading, "; ".join((reason, *over.remarks)))
            return Fit(reading, over.applied, merged=True, remarks=over.remarks)
        base = self._preimage(reading)
        theirs = self._stack.try_apply(base, reading.bare) if base is not None else None
        if base is None or not isinstance(theirs, Applied):
            raise self._refusal(tree, reading, reason)
        ours = self._objects.tree_of(self._objects.files(tree, reading.paths))
        merge = self._store.merger.merge(base, ours, theirs.tree)
        if not merge.clean:
            places = ", ".join(merge.conflicted_paths)
            raise self._refusal(tree, reading, f"{reason}; a three-way merge conflicts in {places}")
        if merge.tree == ours:
            raise self._refusal(tree, reading, f"{reason}; a three-way merge leaves nothing of it")
        leaving = set(reading.paths) - dict(self._objects.walk(merge.tree)).keys()
        for path in reading.paths:
            blocker = path not in leaving and self._objects.blocker(tree, path, leaving)
            if blocker:
                raise self._refusal(
                    tree, reading, f"{reason}; {path} cannot be there: {blocker} is a file"
                )
        before = self._objects.files(tree, reading.paths)
        after = {**dict.fromkeys(reading.paths), **dict(self._objects.walk(merge.tree))}
        return Fit(
            reading,
            Applied(self._objects.overlay(tree, after), before, after),
            merged=True,
        )

    def _check_names(self, reading: Patch) -> None:
        """Raise :class:`InputError` if git finds other files in the diff than we do."""
        found = self._store.applier.names(reading.diff, strip=reading.strip)
        ours = sorted(change.new or change.old or "" for change in reading.files)
        if isinstance(found, Refused):
            raise InputError(found.reason, where=Where(_place(reading)))
        if sorted(found) != ours:
            raise InputError(
                f"git finds changes of {', '.join(found) or 'nothing'} in it, and they read as "
                f"changes of {', '.join(ours)}",
                where=Where(_place(reading)),
                hint="Take out the lines between the files' diffs that look like a diff.",
            )

    def _readings(self, tree: str, name: str, raw: bytes, place: str) -> tuple[Patch, ...]:
        """The patch with ``-p1`` and with ``-p0``, first the one whose paths the tree knows.

        Of the others only those it knows any of: a new file must not land under ``b/``.
        """
        readings: list[Patch] = []
        errors: list[InputError] = []
        for strip in (1, 0):
            try:
                readings.append(read_patch(name, raw, strip=strip, where=Where(place)))
            except InputError as error:
                errors.append(error)
        if not readings:
            raise errors[0]
        known = {patch.strip: self._known_paths(tree, patch) for patch in readings}
        first, *others = sorted(readings, key=lambda patch: -known[patch.strip])
        return (first, *(patch for patch in others if known[patch.strip]))

    def _known_paths(self, tree: str, patch: Patch) -> int:
        """How many paths of the patch are in the tree, or in a directory that is."""
        return sum(
            any(self._objects.entry(tree, name) for name in (path, path.rpartition("/")[0]) if name)
            for path in patch.paths
        )

    def _preimage(self, patch: Patch) -> str | None:
        """The tree of the files that the index lines name; None where one is not in the store."""
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

    def _refusal(self, tree: str, patch: Patch, reason: str) -> NoFitError:
        found = _failed_hunk(patch, reason)
        line, spot = None, ""
        if found is not None:
            path, hunk = found
            line = patch.head.count(b"\n") + hunk.line
            spot = f" (hunk {hunk.index} of {path})"
        return NoFitError(
            f"{patch.name} does not apply to {self._base.name} with the patches below it: "
            f"{reason}{spot}",
            where=Where(_place(patch), line),
            hint=self._advice(tree, patch, reason, found),
        )

    def _advice(self, tree: str, patch: Patch, reason: str, failed: tuple[str, Hunk] | None) -> str:
        """What to do about a patch that does not apply, by why it does not."""
        if _NO_DATA.search(reason):
            return "It names binary files without their content; `git diff --binary` writes it."
        if _NO_PLACE.search(reason):
            return (
                "A patch may touch neither .git, by any name that a system knows it by, nor "
                "anything outside the tree."
            )
        if _NO_DIFF.search(reason):
            return "git cannot read it; make it anew with `git diff` or `diff -u`."
        if failed is not None:
            path, hunk = failed
            if all(line[:1] in (b"-", b"+") for line in hunk.lines):
                return (
                    "It has no lines of context to find its place by; make it anew without -U0, "
                    "`git diff` and `diff -u` write three."
                )
            if _differs_in_blanks(hunk, self._objects.content(tree, path)):
                return (
                    "Only its blanks differ from the file's, as a mail program or a copy from a "
                    "page leaves them; get it as a file."
                )
        absent = [c.old for c in patch.files if c.old and not self._objects.file(tree, c.old)]
        gone = f"{absent[0]} is not in {self._base.name}. " if absent else ""
        return (
            f"{gone}Import it with --tag onto the tag that it was cut from; "
            f"`patchq rebase --onto {self._base.name}` then brings it over."
        )


_Content = Callable[[str], bytes | None]


def _place(patch: Patch) -> str:
    return patch.where.file if patch.where else patch.name


def _failed_hunk(patch: Patch, reason: str) -> tuple[str, Hunk] | None:
    """The hunk that git says it failed at."""
    for match in map(_FAILED_HUNK.match, reason.split("; ")):
        for change in patch.files if match else ():
            for hunk in change.hunks:
                if match and (change.old, str(hunk.old_start)) == match.groups():
                    return match[1], hunk
    return None


def _differs_in_blanks(hunk: Hunk, content: bytes | None) -> bool:
    """Whether the hunk finds a place in the file once blanks do not count."""

    def bare(line: bytes) -> bytes:
        return b"".join(line.split()) + b"\n"

    lines = tuple(line[:1].replace(b"\n", b" ") + bare(line[1:]) for line in hunk.lines)
    there = [bare(line) for line in split_lines(content or b"")]
    return locate([replace(hunk, lines=lines)], there) is not None


def _is_there(patch: Patch, content: _Content) -> bool:
    """Whether every file already is as the patch would leave it."""
    return all(_has_change(change, content) for change in patch.files)


def _has_change(change: FileChange, content: _Content) -> bool:
    if change.new is None:
        return change.old is not None and content(change.old) is None
    text = content(change.new)
    if text is None or not change.hunks:
        return False
    if change.kind is ChangeKind.ADD:
        return text == b"".join(change.hunks[0].added)
    return locate([_reversed(hunk) for hunk in change.hunks], split_lines(text)) is not None


def _reversed(hunk: Hunk) -> Hunk:
    swap = {b"-": b"+", b"+": b"-"}
    return replace(
        hunk,
        old_start=hunk.new_start,
        old_count=hunk.new_count,
        new_start=hunk.old_start,
        new_count=hunk.old_count,
        lines=tuple(swap.get(line[:1], line[:1]) + line[1:] for line in hunk.lines),
    )
