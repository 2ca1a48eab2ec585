"""Take patches of one series to the series of other bases, forwards or backwards.

A patch is judged from its own base onto each other one, on top of the series that is there, by the
same merge and with the same verdicts as in a rebase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from patchq.engine.judge.cache import kept_verdicts
from patchq.engine.judge.case import LostPatch, PatchedBase, PlacedPatch
from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.placed import PlaceJudge
from patchq.engine.rebase.rebase import with_guards
from patchq.engine.series.edits import Edited
from patchq.engine.series.restack import Restacker, Work
from patchq.engine.series.stack import absent, below
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.transaction import Transaction
from patchq.engine.workspace.upstream_range import upstream_range
from patchq.errors import InputError
from patchq.model.nearest import did_you_mean
from patchq.model.patch_names import meant_name
from patchq.model.retired import provided_by_upstream
from patchq.model.series import NoSuchPatchError, SeriesEntry
from patchq.model.verdict import Action, Report
from patchq.model.workspace import SeriesDirectory, Workspace


@dataclass(frozen=True)
class Ported:
    """What became of the patches on one base, and its series with them (None: nothing to write).

    If one of them needs review, nothing is written for that base.
    """

    report: Report
    edited: Edited | None

    @property
    def added(self) -> tuple[str, ...]:
        """The patches that are written."""
        carried = (Action.CARRY, Action.ADAPT)
        names = tuple(patch.name for patch in self.report.patches if patch.action in carried)
        return names if self.edited else ()


def newest_with(project: Project, names: Sequence[str]) -> str:
    """The newest series that has all of ``names``; raises :class:`InputError`."""
    for tag in reversed(project.workspace.series_names()):
        if set(names) <= set(project.workspace.series(tag).names):
            return tag
    raise InputError(
        f"no series has {', '.join(names)}",
        hint="`patchq list TAG` shows the patches of a series; --from names one.",
    )


def meant_anywhere(workspace: Workspace, names: Sequence[str]) -> list[str]:
    """The patches of any series that ``names`` mean; raises :class:`InputError` for another."""
    known = {name for tag in workspace.series_names() for name in workspace.series(tag).names}
    meant = [meant_name(name, known) for name in names]
    for name in meant:
        if name not in known:
            raise NoSuchPatchError(
                name,
                f"no series has {name}",
                hint=did_you_mean(name, known, "`patchq list TAG` shows those of a series."),
            )
    return meant


def live_without(
    project: Project, origin: str, names: Sequence[str], *, replacing: bool
) -> list[str]:
    """The live bases, other than ``origin``, that lack one of the patches (or all: replacing)."""
    workspace, live = project.workspace, project.settings.release.live
    have = workspace.series_names()
    return [
        base.name
        for base in project.lock.bases
        if base.name in live
        and base.name != origin
        and (
            replacing
            or base.name not in have
            or not set(names) <= set(workspace.series(base.name).names)
        )
    ]


def port(
    project: Project, source: str, names: Sequence[str], onto: str, *, replacing: bool
) -> Ported:
    """Judge the patches ``names`` of the series on ``source`` on top of the series on ``onto``.

    Those that are there already are replaced at their place with ``replacing``, and refused
    (:class:`InputError`) without.
    """
    if source == onto:
        raise InputError(f"the patches are taken from {source}; it cannot be a target as well")
    target = project.workspace.load_or_empty(onto)
    there = [name for name in names if name in target.series.names]
    if there and not replacing:
        raise InputError(
            f"{', '.join(there)}: in the series on {onto} already",
            where=target.series.where,
            hint="--replace puts the other version in its place; or leave that tag out.",
        )
    return _Port(project, project.workspace.load(source), target).result(names)


def write(project: Project, ported: Sequence[Ported], label: str) -> None:
    """Write all series that get patches, in one transaction."""
    transaction = Transaction(project.workspace, label)
    for each in ported:
        if each.edited is not None:
            each.edited.changes.stage(transaction, each.edited.old)
    transaction.commit()


class _Port:
    """Patches on their way from one series to another."""

    def __init__(self, project: Project, source: SeriesDirectory, target: SeriesDirectory):
        self._project = project
        self._defaults = project.settings.default_guards
        self._source = source
        self._target = target
        self._span = upstream_range(project, source.tag, target.tag)
        base = project.lock.base(target.tag)
        self._restacker = Restacker(project.store, base, self._defaults)
        self._stack = self._restacker.stack

    def result(self, names: Sequence[str]) -> Ported:
        span, target = self._span, self._target
        entries = [self._source.series.taken(name) for name in names]
        paths = [path for name in names for path in self._source.patches[name].paths]
        judge = PlaceJudge(span, self._stack, paths, kept_verdicts(self._project.workspace))
        moves_others = set(names) & {*target.series.names, *_required(target)}
        works = self._restacker.works(target) if moves_others else {}
        new = target
        judgements: list[Judgement] = []
        for entry in entries:
            candidate = _with_entry(new, entry)
            judgement = judge.judge_in_place(self._placed(entry, candidate))
            judgements.append(judgement)
            if judgement.report.action in (Action.CARRY, Action.ADAPT) and judgement.patch:
                known = {**candidate.patches, entry.name: judgement.patch}
                patches = {name: known[name] for name in candidate.series.names}
                new = self._restacked(replace(candidate, patches=patches), entry.name, works)
        report = Report(
            series=self._source.tag,
            onto=target.tag,
            base_commit=span.old.commit,
            onto_commit=span.new.commit,
            guards=tuple(sorted(self._defaults)),
            patches=tuple(judgement.report for judgement in judgements),
        )
        report = with_guards(self._source, self._defaults, report)
        written = new is not target and not report.needs_review
        return Ported(report, Edited(target, new) if written else None)

    def _placed(self, entry: SeriesEntry, candidate: SeriesDirectory) -> PlacedPatch:
        """The patch in its place: as it stands in its own series, and in the other one."""
        span, source = self._span, self._source
        patch = source.patches[entry.name]
        lower = below(candidate.series, candidate.series.entry(entry.name), self._defaults)
        names = frozenset(other.name for other in lower)
        there = names | provided_by_upstream(candidate.retired)
        old = [source.patches[other.name] for other in below(source.series, entry, self._defaults)]
        old = [other for other in old if all(map(span.covers, other.paths))]
        new = [candidate.patches[other.name] for other in lower]
        return PlacedPatch(
            stack=self._stack,
            patch=patch,
            old=PatchedBase(source.tag, span.old.tree, tuple(old)),
            new=PatchedBase(
                span.new.name, span.new.tree, tuple(filter(self._restacker.covers, new))
            ),
            below=names,
            missing=absent(patch, there, candidate.series),
            lost=tuple(
                LostPatch(other, "not in the series there")
                for other in old
                if other.name not in there
            ),
        )

    def _restacked(
        self, directory: SeriesDirectory, name: str, works: dict[str, Work]
    ) -> SeriesDirectory:
        """The patches above one that is replaced, or comes in below them, merged onto it."""
        if name == directory.series.names[-1] and name not in works:
            return directory
        entry, patch = directory.series.entry(name), directory.patches[name]
        tree = self._restacker.tree_below(directory.series, entry, directory.patches)
        applied = self._restacker.stack.apply(tree, patch, onto=directory.tag)
        works[name] = Work(patch, applied.before, applied.after)
        return self._restacker.restack(directory, directory.series, works)


def _with_entry(directory: SeriesDirectory, entry: SeriesEntry) -> SeriesDirectory:
    """The series with ``entry``, unless it is in it: before what requires it, else at its end."""
    series = directory.series
    if entry.name in series.names:
        return directory
    line = replace(entry, line=0)
    waiting = [name for name in series.names if entry.name in _requires(directory, name)]
    placed = series.insert(line, before=waiting[0]) if waiting else series.append(line)
    return replace(directory, series=placed.under(entry.name, entry.comment))


def _requires(directory: SeriesDirectory, name: str) -> tuple[str, ...]:
    return directory.patches[name].header.requires


def _required(directory: SeriesDirectory) -> set[str]:
    """What patches of the series require."""
    return {other for name in directory.series.names for other in _requires(directory, name)}
