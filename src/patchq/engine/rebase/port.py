"""Take patches of one series to the series of other bases, forwards or backwards.

A patch is judged from its own base onto each other one, on top of the series that is there, by the
same merge and with the same verdicts as in a rebase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from patchq.engine.judge.case import Case, Judgement
from patchq.engine.judge.judge import Judge
from patchq.engine.series.edits import Edited
from patchq.engine.series.restack import Restacker, Work
from patchq.engine.series.stack import Stack, below
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.transaction import Transaction
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import InputError
from patchq.model.retired import RecordState
from patchq.model.series import SeriesEntry
from patchq.model.verdict import Action, Report, Verdict
from patchq.model.workspace import SeriesDirectory


@dataclass(frozen=True)
class Ported:
    """What became of the patches on one base, and its series with them (None: nothing to write).

    Where one of them needs a person, nothing is written for that base.
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
        self._defaults = project.settings.default_guards
        self._source = source
        self._target = target
        self._span = project.upstream_range(source.tag, target.tag)
        self._stack = Stack(project.store)
        base = project.lock.base(target.tag)
        self._restacker = Restacker(project.store, base, self._defaults)

    def result(self, names: Sequence[str]) -> Ported:
        span, target = self._span, self._target
        entries = [self._source.series.entry(name) for name in names]
        paths = [path for name in names for path in self._source.patches[name].paths]
        judge = Judge(span, self._stack, paths)
        works = self._restacker.works(target) if set(names) & set(target.series.names) else {}
        new = target
        judgements: list[Judgement] = []
        for entry in entries:
            candidate = _with_entry(new, entry)
            judgement = self._judge(judge, entry, candidate)
            judgements.append(judgement)
            if judgement.report.action in (Action.CARRY, Action.ADAPT) and judgement.patch:
                patches = {**candidate.patches, entry.name: judgement.patch}
                new = self._restacked(replace(candidate, patches=patches), entry.name, works)
        report = Report(
            series=self._source.tag,
            onto=target.tag,
            base_commit=span.old.commit,
            onto_commit=span.new.commit,
            guards=tuple(sorted(self._defaults)),
            patches=tuple(judgement.report for judgement in judgements),
        )
        written = new is not target and not report.needs_review
        return Ported(report, Edited(target, new) if written else None)

    def _judge(self, judge: Judge, entry: SeriesEntry, candidate: SeriesDirectory) -> Judgement:
        patch = self._source.patches[entry.name]
        uncovered = judge.uncovered(patch)
        if uncovered is not None:
            return uncovered
        lower = below(candidate.series, candidate.series.entry(entry.name), self._defaults)
        there = {other.name for other in lower} | {
            record.name
            for record in candidate.retired
            if record.standing is RecordState.RETIRED and record.verdict is Verdict.UPSTREAMED
        }
        missing = [name for name in patch.header.requires if name not in there]
        if missing:
            return judge.without_base(patch, missing)
        tree = _tree(self._span, self._stack, self._source, entry, self._defaults)
        applied = self._stack.apply(tree, patch, onto=self._source.tag)
        ours = self._restacker.tree(lower, candidate.patches)
        return judge.judge(Case(patch, applied, ours))

    def _restacked(
        self, directory: SeriesDirectory, name: str, works: dict[str, Work]
    ) -> SeriesDirectory:
        """The patches above a replaced one merged onto the new one."""
        if name not in works:
            return directory
        entry, patch = directory.series.entry(name), directory.patches[name]
        tree = self._restacker.tree_below(directory.series, entry, directory.patches)
        applied = self._restacker.stack.apply(tree, patch, onto=directory.tag)
        works[name] = Work(patch, applied.before, applied.after)
        return self._restacker.restack(directory, directory.series, works)


def _with_entry(directory: SeriesDirectory, entry: SeriesEntry) -> SeriesDirectory:
    """The series with ``entry`` at its end, unless it is in it."""
    if entry.name in directory.series.names:
        return directory
    line = SeriesEntry(entry.name, strip=entry.strip, guards=entry.guards)
    return replace(directory, series=directory.series.append(line))


def _tree(
    span: UpstreamRange,
    stack: Stack,
    source: SeriesDirectory,
    entry: SeriesEntry,
    defaults: frozenset[str],
) -> str:
    """What the patch stands on in its own series, as far as both bases cover it."""
    lower = (source.patches[other.name] for other in below(source.series, entry, defaults))
    covered = [patch for patch in lower if all(map(span.covers, patch.paths))]
    return stack.apply_all(span.old.tree, covered, onto=source.tag)
