"""What ``verify`` found: its sections, the builds for each target, what each patch does to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from patchq.errors import Where
from patchq.model.ids import CommitId, TreeId
from patchq.model.series import SeriesEntry
from patchq.model.settings import Target
from patchq.model.verdict import Evidence


@dataclass(frozen=True)
class Flag:
    """A compiler flag or a definition; ``where`` is the line of the project that says so.

    None if no line of the project does: the machine's packages, or CMake itself. Two flags
    are the same whatever line they come from.
    """

    text: str
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SourceGroup:
    """The sources of a target that are compiled in one way.

    ``archs`` are the GPU architectures of CUDA code in the order of its flags: ``sm_90a`` for
    machine code, ``compute_90`` for PTX.
    """

    language: str
    sources: tuple[str, ...]
    flags: tuple[Flag, ...] = ()
    definitions: tuple[Flag, ...] = ()
    archs: tuple[str, ...] = ()


@dataclass(frozen=True)
class BuiltTarget:
    """A library or program of the project."""

    name: str
    groups: tuple[SourceGroup, ...]
    where: Where | None = field(default=None, compare=False)

    @property
    def cuda(self) -> tuple[SourceGroup, ...]:
        """The groups of CUDA code."""
        return tuple(group for group in self.groups if group.language == "CUDA")

    @property
    def archs(self) -> tuple[str, ...]:
        """Every architecture that some of its CUDA code is compiled for."""
        return _once(arch for group in self.cuda for arch in group.archs)

    @property
    def cuda_sources(self) -> int:
        """How many CUDA sources it has."""
        return sum(len(group.sources) for group in self.cuda)

    @property
    def sources(self) -> tuple[str, ...]:
        """All of its compiled sources."""
        return tuple(source for group in self.groups for source in group.sources)

    @property
    def flags(self) -> tuple[str, ...]:
        """Every flag and definition of its groups, each once."""
        return _once(
            prefix + flag.text
            for group in self.groups
            for prefix, flags in (("", group.flags), ("-D", group.definitions))
            for flag in flags
        )


@dataclass(frozen=True)
class Remark:
    """Something about a project's evaluation, and the line it is about."""

    text: str
    where: Where | None = None

    def __str__(self) -> str:
        return self.text if self.where is None else f"{self.where}: {self.text}"


@dataclass(frozen=True)
class Fetched:
    """Something that a project fetches as it is configured: an archive, or a git repository.

    ``digest`` is what the project says of an archive, as CMake spells it (``SHA256=…``);
    ``revision`` is the commit, tag or branch of a repository.
    """

    name: str
    url: str
    digest: str | None = None
    revision: str | None = None
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Build:
    """What a project builds for one target: compared by what is compiled, and how.

    ``defaults`` are those of its options, ``fetched`` is what it fetches, ``reads`` are the files
    of the project whose content it read and may have made values of. If there are ``problems``
    it could not be evaluated to the end, or something in it is not known; ``notes`` say what was
    taken for granted.
    """

    targets: tuple[BuiltTarget, ...] = ()
    defaults: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    fetched: tuple[Fetched, ...] = field(default=(), compare=False)
    reads: tuple[str, ...] = field(default=(), compare=False)
    problems: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = field(default=(), compare=False)

    def target(self, name: str) -> BuiltTarget | None:
        """The target ``name``, None if the project does not build it."""
        return next((target for target in self.targets if target.name == name), None)

    @property
    def cuda_targets(self) -> tuple[BuiltTarget, ...]:
        """The targets that have CUDA code."""
        return tuple(target for target in self.targets if target.cuda)


@dataclass(frozen=True)
class Change:
    """How one target differs between two builds; None: it is not there."""

    name: str
    before: BuiltTarget | None
    after: BuiltTarget | None

    @property
    def archs_gone(self) -> tuple[str, ...]:
        """The architectures that it is no longer built for."""
        return _less(self._was.archs, self._is.archs)

    @property
    def archs_new(self) -> tuple[str, ...]:
        """The architectures that it is built for now."""
        return _less(self._is.archs, self._was.archs)

    @property
    def sources_gone(self) -> tuple[str, ...]:
        """The sources that are no longer compiled."""
        return _less(self._was.sources, self._is.sources)

    @property
    def sources_new(self) -> tuple[str, ...]:
        """The sources that are compiled now."""
        return _less(self._is.sources, self._was.sources)

    @property
    def flags_gone(self) -> tuple[str, ...]:
        """The flags and definitions that are gone."""
        return _less(self._was.flags, self._is.flags)

    @property
    def flags_new(self) -> tuple[str, ...]:
        """The flags and definitions that came."""
        return _less(self._is.flags, self._was.flags)

    def done_in(self, build: Build) -> bool:
        """Whether ``build`` is as after the change: all that it takes away is not there."""
        found = build.target(self.name)
        if self.after is None:
            return found is None
        if found is None:
            return self.before is not None
        gone = {*self.archs_gone, *self.sources_gone, *self.flags_gone}
        there = {*found.archs, *found.sources, *found.flags}
        new = {*self.archs_new, *self.sources_new, *self.flags_new}
        return not gone & there and new <= there

    @property
    def _was(self) -> BuiltTarget:
        return self.before or _NOTHING

    @property
    def _is(self) -> BuiltTarget:
        return self.after or _NOTHING


_NOTHING = BuiltTarget("", ())


def compare(before: Build, after: Build) -> tuple[Change, ...]:
    """The targets that differ, those of ``before`` first."""
    names = _once(target.name for build in (before, after) for target in build.targets)
    changes = (Change(name, before.target(name), after.target(name)) for name in names)
    return tuple(change for change in changes if change.before != change.after)


class Effect(Enum):
    """What a patch does to the build for a target."""

    CHANGED = "changed"
    DEFAULT = "default"  # changes it, but only by the default of an option
    NONE = "none"  # it changes what the build reads, and nothing comes of it: inert
    OUTSIDE = "outside"  # it touches nothing that the build reads
    UNKNOWN = "unknown"  # the project could not be evaluated


@dataclass(frozen=True)
class PatchEffect:
    """What one patch does to the build for one target.

    The changes are those it makes in its place in the series, those it makes alone on the
    unpatched tree, and those that the whole series lacks where it is left out (from there to the
    whole). None if it cannot be separated from the others. ``undone_by`` is the option that
    takes a :attr:`Effect.DEFAULT` back; ``since`` says from which commit on an inert patch has
    had nothing to do, if one is found.
    """

    patch: str
    target: str
    effect: Effect
    in_series: tuple[Change, ...] = ()
    alone: tuple[Change, ...] | None = None
    left_out: tuple[Change, ...] | None = None
    undone_by: str | None = None
    since: Evidence | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """What the patch is for: what it does alone, or else in its place."""
        return self.alone or self.in_series


@dataclass(frozen=True)
class TargetBuild:
    """The build for one target, without the series and with it."""

    target: Target
    before: Build
    after: Build

    @property
    def changes(self) -> tuple[Change, ...]:
        """What the series changes."""
        return compare(self.before, self.after)


class Outcome(Enum):
    """How a section of the verification ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"  # there is nothing to check, or what it needs is not there


@dataclass(frozen=True)
class Failure:
    """One thing that is not as it must be: what, where, and of which patch and target."""

    text: str
    where: Where | None = None
    patch: str | None = None
    target: str | None = None


@dataclass(frozen=True)
class Section:
    """One kind of check: what it looked at in a few words, and all that it found."""

    name: str
    summary: str
    failures: tuple[Failure, ...] = ()
    notes: tuple[Remark, ...] = ()
    skipped: bool = False

    @property
    def outcome(self) -> Outcome:
        """Whether it passed."""
        if self.failures:
            return Outcome.FAILED
        return Outcome.SKIPPED if self.skipped else Outcome.PASSED


@dataclass(frozen=True)
class Verification:
    """What was checked of one series under one set of guards; ``tree`` is the patched tree.

    It is None if the patches do not apply. ``not_covered`` are those of the patches that were
    not checked: an archive as base has nothing of what they touch. ``guarded_off`` are those of
    the series that the guards leave out.
    """

    series: str
    commit: CommitId
    guards: tuple[str, ...]
    patches: tuple[str, ...]
    tree: TreeId | None
    sections: tuple[Section, ...]
    builds: tuple[TargetBuild, ...] = ()
    effects: tuple[PatchEffect, ...] = ()
    not_covered: tuple[str, ...] = ()
    guarded_off: tuple[SeriesEntry, ...] = ()

    def acts_on(self, patch: str) -> tuple[str, ...]:
        """The targets that ``patch`` changes the build of."""
        acting = (Effect.CHANGED, Effect.DEFAULT)
        return tuple(e.target for e in self.effects if e.patch == patch and e.effect in acting)

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return all(section.outcome is not Outcome.FAILED for section in self.sections)


def _once(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _less(items: Iterable[str], without: Iterable[str]) -> tuple[str, ...]:
    gone = set(without)
    return tuple(item for item in items if item not in gone)
