"""Which base each patch of a pile fits: tried on every base alone, else merged from where it does.

A patch that applies somewhere was cut from there, or from something that is the same to it; from
there it is merged onto the other bases, through renames. One that applies nowhere may be cut from a
commit of main, or stand on another patch of the pile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from patchq.engine.backport.apply_change import Lander
from patchq.engine.backport.missing_commits import Between
from patchq.engine.backport.upstream_change import ChangeReader, UpstreamChange
from patchq.engine.importing.cut_from import OriginFinder
from patchq.engine.importing.fit import AllThereError, Fit, Fitter, NoFitError, Paths
from patchq.engine.importing.given.read import Given
from patchq.engine.importing.places import Places
from patchq.engine.series.hunks import locate
from patchq.engine.series.message import wording
from patchq.engine.series.stack import Stack
from patchq.engine.workspace.project import Project
from patchq.errors import InputError
from patchq.git.apply import Applied
from patchq.git.identity import UNKNOWN_AUTHOR
from patchq.git.merge import MergeState
from patchq.model.diff_layout import split_lines
from patchq.model.ids import CommitId
from patchq.model.lock import Base
from patchq.model.patch import Patch, repair
from patchq.model.triage import (
    Fits,
    Triage,
    TriagedFile,
    generation,
    generations,
    unlocked_version,
)

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class _Found:
    """What is known of one patch after it was tried on every base."""

    given: Given
    fits: dict[str, Fits]
    homes: dict[str, Fit]
    other: bool = False
    problem: str | None = None


def triage(
    project: Project,
    patches: Sequence[Given],
    main: CommitId | None,
    paths: Paths,
    progress: Progress,
    *,
    recount: bool = False,
) -> Triage:
    """How each of ``patches`` fits each base of the lock that is here."""
    run = _Triage(project, main, paths, recount=recount)
    found = []
    for number, given in enumerate(patches, 1):
        progress(number, len(patches), given.name)
        found.append(run.look_at(given))
    names = generations((one.given.name for one in found), project.lock.names)
    files = [run.verdict(one, names[one.given.name], found) for one in found]
    return Triage(project.lock.names, tuple(_apart(files, project.lock.names)))


class _Triage:
    def __init__(self, project: Project, main: CommitId | None, paths: Paths, *, recount: bool):
        self._project = project
        self._objects = project.store.objects
        self._stack = Stack(project.store)
        self._places = Places(project.store)
        self._changes = ChangeReader(project.store, project.settings)
        self._origins = OriginFinder(project, main)
        self._paths = paths
        self._recount = recount
        self._bases = [base for base in project.lock.bases if self._objects.has(base.tree)]
        project.store.require(self._bases)
        self._fitters = {
            base.name: Fitter(project.store, self._stack, base, others=self._bases)
            for base in self._bases
        }

    def look_at(self, given: Given) -> _Found:
        """Try one patch on every base."""
        raw, _ = repair(given.raw, recount=self._recount)
        fits: dict[str, Fits] = dict.fromkeys(self._project.lock.names, Fits.UNKNOWN)
        homes: dict[str, Fit] = {}
        for base in reversed(self._bases):
            try:
                fit = self._fitters[base.name].fit(base.tree, given, raw, self._asked(given))
            except AllThereError:
                fits[base.name] = Fits.THERE
            except NoFitError:
                fits[base.name] = Fits.NO
            except InputError as error:
                return _Found(given, {}, {}, problem=str(error))
            else:
                homes[base.name] = fit
                fits[base.name] = self._kind(base, fit)
        if not homes and Fits.THERE not in fits.values() and self._is_foreign(given, raw):
            return _Found(given, fits, homes, other=True)
        if homes:
            self._merge_from(homes, fits)
        elif self._bases:
            self._merge_from_main(given, raw, fits)
        if any(found.takes for found in fits.values()):
            return _Found(given, fits, homes)
        return _Found(given, fits, homes, problem=self._nearest(given, raw))

    def verdict(self, found: _Found, name: str, others: Sequence[_Found]) -> TriagedFile:
        """What to say of one patch, which would be called ``name``."""
        best = self._best(found)
        onto = None
        if best is None and not found.other and found.fits:
            onto, best = self._stands_on(found, others)
        read_as = found.homes[best].read_as if best in found.homes else None
        file = TriagedFile(
            found.given.place, name, found.fits, best, found.other, onto=onto, read_as=read_as
        )
        return file if best or found.other or file.there else replace(file, problem=found.problem)

    def _asked(self, given: Given) -> Paths:
        return self._paths if self._paths or given.strip in (None, 0, 1) else Paths(given.strip)

    def _kind(self, base: Base, fit: Fit) -> Fits:
        if fit.merged:
            return Fits.MERGES
        if fit.read_as is not None and not self._paths:
            return Fits.ELSEWHERE
        return Fits.OFFSET if self._drifts(base, fit.reading) else Fits.APPLIES

    def _drifts(self, base: Base, patch: Patch) -> bool:
        """Whether a hunk stands on other lines than it says."""
        for change in patch.files:
            content = self._objects.content(base.tree, change.old) if change.old else None
            if content is None:
                continue
            positions = locate(change.hunks, split_lines(content)) or ()
            if any(
                at != max(hunk.old_start - 1, 0)
                for hunk, at in zip(change.hunks, positions, strict=False)
                if hunk.old_count
            ):
                return True
        return False

    def _is_foreign(self, given: Given, raw: bytes) -> bool:
        """Whether no base has any of the files that the patch changes."""
        if any(base.archive is not None for base in self._bases):
            return False
        readings = [
            reading
            for base in self._bases[:1]
            for reading in self._fitters[base.name].readings(
                base.tree, given, raw, self._asked(given)
            )
        ]
        old = {change.old for reading in readings for change in reading.files if change.old}
        return bool(old) and not any(
            self._objects.file(base.tree, path) for base in self._bases for path in old
        )

    def _nearest(self, given: Given, raw: bytes) -> str | None:
        """How much of the patch has a place on the base that has most of it, in words."""
        counts: list[tuple[int, int, str]] = []
        for base in self._bases:
            for reading in self._fitters[base.name].readings(
                base.tree, given, raw, self._asked(given)
            ):
                hunks = [
                    locate([hunk], lines) is not None
                    for change in reading.files
                    for lines in [self._lines(base, change.old)]
                    for hunk in change.hunks
                ]
                counts.append((sum(hunks), len(hunks), base.name))
        if not counts:
            return None
        placed, total, name = max(counts, key=lambda count: count[0])
        words = f"at most {placed} of {total} hunks have a place, on {name}"
        version = unlocked_version(given.name, self._project.lock.names)
        if version is None:
            return words
        return f"{words}; {version}, by its name, is not locked: `patchq lock {version}`"

    def _lines(self, base: Base, path: str | None) -> list[bytes]:
        return split_lines(self._objects.content(base.tree, path) or b"") if path else []

    def _merge_from(self, homes: Mapping[str, Fit], fits: dict[str, Fits]) -> None:
        """Merge the patch onto the bases that refuse it, from the nearest that does not."""
        order = {base.name: number for number, base in enumerate(self._bases)}
        for base in self._bases:
            if fits[base.name] is not Fits.NO:
                continue
            near = min(homes, key=lambda name: abs(order[name] - order[base.name]))
            home = self._project.lock.base(near)
            fits[base.name] = self._lands(self._change(home.commit, homes[near]), base)

    def _merge_from_main(self, given: Given, raw: bytes, fits: dict[str, Fits]) -> None:
        """Merge a patch that applies to no base from the commit of main that it was cut from."""
        (newest,) = self._bases[-1:]
        fitter = self._fitters[newest.name]
        for reading in fitter.readings(newest.tree, given, raw, self._asked(given)):
            words = wording(reading, author=UNKNOWN_AUTHOR, date="0 +0000")
            foreign = self._origins.bring(reading, newest.name, self._changes, words)
            if foreign is not None:
                for base in self._bases:
                    if fits[base.name] is Fits.NO:
                        fits[base.name] = self._lands(foreign.change, base)
                return

    def _change(self, parent: CommitId, fit: Fit) -> UpstreamChange:
        words = wording(fit.reading, author=UNKNOWN_AUTHOR, date="0 +0000")
        return self._changes.of_patch(fit.reading, parent, fit.applied, words, ())

    def _lands(self, change: UpstreamChange, base: Base) -> Fits:
        connected = None if base.archive is not None else base.commit
        between = Between(self._project.store, connected, change.parent)
        landing = Lander(self._project, base, between).land(change, base.tree)
        return {MergeState.APPLIES: Fits.MERGES, MergeState.EMPTY: Fits.THERE}.get(
            landing.state, Fits.NO
        )

    def _best(self, found: _Found) -> str | None:
        """The base it fits best: that of its own name, else the newest of the best kind."""
        own = generation(found.given.name, self._project.lock.names)
        if own is not None and found.fits.get(own, Fits.NO).takes:
            return own
        for kind in filter(lambda kind: kind.takes, Fits):
            names = [name for name, fits in found.fits.items() if fits is kind]
            if names:
                return names[-1]
        return None

    def _stands_on(self, found: _Found, others: Sequence[_Found]) -> tuple[str | None, str | None]:
        """The patch of the pile, and its best base, on which this one applies."""
        raw, _ = repair(found.given.raw, recount=self._recount)
        for other in others:
            base = self._best(other)
            if other is found or base is None or base not in other.homes:
                continue
            home = other.homes[base]
            for reading in self._fitters[base].readings(
                home.applied.tree, found.given, raw, self._asked(found.given)
            ):
                shared = set(reading.paths) & set(home.reading.paths)
                if shared and isinstance(
                    self._stack.try_apply(home.applied.tree, reading.bare), Applied
                ):
                    return other.given.name, base
        return None, None


def _apart(files: Sequence[TriagedFile], bases: Sequence[str]) -> list[TriagedFile]:
    """Of two generations of one patch that fit the same base best, only the better there."""
    rank = list(Fits)
    result: list[TriagedFile] = []
    for file in files:
        rivals = [
            other
            for other in files
            if other is not file and other.name == file.name and other.best == file.best
        ]
        if file.best is None or all(
            (rank.index(file.fits[file.best]), files.index(file))
            < (rank.index(other.fits[file.best]), files.index(other))
            for other in rivals
        ):
            result.append(file)
            continue
        taken = {other.best for other in files if other.name == file.name}
        free = [name for name in bases if name not in taken and file.fits[name].takes]
        best = min(
            free,
            key=lambda name, fits=file.fits: (rank.index(fits[name]), -bases.index(name)),  # type: ignore[misc]
            default=None,
        )
        problem = None if best else f"another generation of it fits {file.best} better"
        result.append(replace(file, best=best, problem=problem))
    return result
