"""A patch that is out of its series, in its place: what it takes to bring it in again."""

from __future__ import annotations

from dataclasses import replace

from patchq.engine.judge.cache import kept_verdicts
from patchq.engine.judge.case import LostPatch, PatchedBase, PlacedPatch
from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.placed import PlaceJudge
from patchq.engine.judge.predicates import SpanPredicates
from patchq.engine.rebase.conflict import Collision, collide, layout
from patchq.engine.rebase.drift import with_drift_accepted
from patchq.engine.rebase.recorded_resolutions import Resolutions
from patchq.engine.rebase.resolved_patch import patch_as_solved
from patchq.engine.rebase.revive import order_of
from patchq.engine.series.edits import Edited
from patchq.engine.series.restack import Restacker, Work
from patchq.engine.series.stack import PatchRefusedError, Stack, absent, absent_words, below
from patchq.engine.workspace.kept_aside import kept_aside
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange, upstream_range
from patchq.errors import FindingsError, InputError
from patchq.git.worktree import WorktreeLayout
from patchq.model.patch import Patch, read_patch
from patchq.model.retired import Retired, provided_by_upstream
from patchq.model.series import SeriesEntry
from patchq.model.verdict import PatchReport, Verdict
from patchq.model.workspace import SeriesDirectory


class Question:
    """The patch in its place: from its own base onto the series as it is now.

    ``accept_drift`` is why a drifted one is taken all the same.
    """

    def __init__(
        self,
        project: Project,
        directory: SeriesDirectory,
        record: Retired,
        accept_drift: str | None = None,
    ):
        name, tag = record.name, directory.tag
        self._project = project
        self._directory = directory
        self._record = record
        self._accept_drift = accept_drift
        self._defaults = project.settings.default_guards
        self.span: UpstreamRange = upstream_range(project, record.base, tag)
        self.stack = Stack(project.store)
        self._patch = read_patch(name, record.content, strip=record.strip)
        self._source = self._own_series()
        order = (
            self._source.series.names
            if self._source
            else order_of(project.workspace, record, directory.series.names)
        )
        series = directory.series.place(record.entry, order)
        self._candidate = replace(self._directory, series=series)
        self._restacker = Restacker(project.store, project.lock.base(tag), self._defaults)
        self.judge = PlaceJudge(
            self.span, self.stack, self._patch.paths, kept_verdicts(project.workspace)
        )
        self.placed = self._placed(series.entry(name))

    def _own_series(self) -> SeriesDirectory | None:
        """The series that the patch comes from, as far as it still has it."""
        workspace, base = self._project.workspace, self._record.base
        if base not in workspace.series_names():
            return None
        source = workspace.load(base)
        return source if self._record.name in source.series.names else None

    def _placed(self, entry: SeriesEntry) -> PlacedPatch:
        record = self._record
        lower = below(self._candidate.series, entry, self._defaults)
        there = frozenset(other.name for other in lower) | provided_by_upstream(
            self._directory.retired
        )
        old = self._below_on_its_base()
        new = [self._directory.patches[other.name] for other in lower]
        return PlacedPatch(
            stack=self.stack,
            patch=self._patch,
            old=PatchedBase(record.base, self.span.old.tree, tuple(old)),
            new=PatchedBase(
                self.span.new.name,
                self.span.new.tree,
                tuple(filter(self._restacker.covers, new)),
            ),
            below=frozenset(other.name for other in lower),
            missing=absent(self._patch, there, self._candidate.series),
            lost=tuple(
                LostPatch(other, "not in the series there")
                for other in old
                if other.name not in there
            ),
            accepted=bool(self._accept_drift),
        )

    def _below_on_its_base(self) -> list[Patch]:
        """The patches that it stands on, in the series that it comes from."""
        source = self._source
        if source is None:
            return []
        lower = below(source.series, source.series.entry(self._record.name), self._defaults)
        patches = [source.patches[other.name] for other in lower]
        return [patch for patch in patches if all(map(self.span.covers, patch.paths))]

    def judged(self) -> Judgement:
        """The judgement on it; raises :class:`FindingsError` if it fits its own base no more."""
        try:
            return self.judge.judge_in_place(self.placed)
        except PatchRefusedError as error:
            name, base = self._record.name, self._record.base
            if error.patch is not self._patch:
                raise
            gone = "" if self._source else f", where no series has what it stood on: {error.reason}"
            raise FindingsError(
                f"{name} cannot be merged, as it does not apply to {base}{gone}",
                hint=f"`patchq show {name} --tag {self._directory.tag}` prints it: change it by "
                "hand and `patchq import` it.",
            ) from error

    def collision(self, report: PatchReport) -> Collision:
        """What there is to solve; raises :class:`FindingsError` if nothing can be merged."""
        case = self.placed.case if self.placed.can_be_merged else None
        if case is None or self.judge.judge.blocked(case):
            missing = absent_words(self.placed.missing) or "patches that are not in the series"
            raise FindingsError(
                f"{report.name} cannot be merged onto {self.span.new.name}: it stands on {missing}",
                hint="Resolve those first; `patchq resolve` without a name lists what is held.",
            )
        return collide(self.span, case, report)

    def layout(self, collision: Collision) -> WorktreeLayout:
        """The worktree of the conflict."""
        return layout(self._project.store, collision, self.span.old, self.span.new)

    def remembered(self, collision: Collision) -> Edited | None:
        """The series with the patch as this very collision was solved before, if it was."""
        workspace, store = self._project.workspace, self._project.store
        solved = Resolutions(workspace, store.objects).solve(collision)
        patch = patch_as_solved(store, self.stack, collision, solved.files) if solved else None
        if solved is None or patch is None:
            return None
        name, files = self._record.name, ", ".join(solved.names)
        edited = self.joined(self.followed(patch))
        note = (
            f"{name} conflicted in {', '.join(collision.conflicts)}; it is solved as remembered in "
            f"{files}; `patchq undo` takes it back"
        )
        return replace(
            edited,
            remarks=(note, *edited.remarks),
            kept=kept_aside(workspace, solved.names),
        )

    def followed(self, patch: Patch) -> Patch:
        """The patch with its predicates as they are on the new base."""
        return self.recorded(SpanPredicates(self.span).followed(patch))

    def recorded(self, patch: Patch) -> Patch:
        """The patch with the drift that was accepted in its header."""
        if not self._accept_drift:
            return patch
        return with_drift_accepted(self.span, self._patch, patch, self._accept_drift)

    def refuse_drifted(self, report: PatchReport) -> None:
        """Raise :class:`FindingsError` with the ways on if the patch is drifted.

        :class:`InputError` if it is not, and that was to be accepted.
        """
        expected = map(SpanPredicates(self.span).ask, self._patch.header.expect)
        if self._accept_drift and all(found.holds is not False for found in expected):
            raise InputError(f"{report.name} is not drifted on {self._directory.tag}")
        if report.verdict is not Verdict.DRIFTED:
            return
        name, base, tag = report.name, self._record.base, self._directory.tag
        again = (
            f"; or put another X-Expect into it on {base} (`patchq header {name} --tag {base} "
            f"--edit`) and rebase again (`patchq rebase --onto {tag} --from {base} --replace`)"
        )
        raise FindingsError(
            f"{name} is drifted on {tag}: {'; '.join(each.text for each in report.evidence)}",
            hint=f"`patchq resolve {name} {tag} --accept-drift WHY` takes it all the same"
            f"{again if self._source else ''}.",
        )

    def joined(self, patch: Patch) -> Edited:
        """The series with the patch in its place, those above it merged onto it.

        If one of those does not merge, it stands at the end. Raises :class:`FindingsError` if it
        does not merge there either.
        """
        name = self._record.name
        left = tuple(record for record in self._directory.retired if record is not self._record)
        old, series = replace(self._directory, retired=left), self._candidate.series
        entry = series.entry(name)
        tree = self._restacker.tree_below(series, entry, self._directory.patches)
        applied = self.stack.apply(tree, patch, onto=old.tag)
        works = self._restacker.works(self._directory, lenient=True)
        works[name] = Work(patch, applied.before, applied.after)
        notes = [f"{name} is in the series on {old.tag} again"]
        try:
            new = self._restacker.restack(old, series, works)
        except FindingsError as error:
            last = self._directory.series.place(self._record.entry, (name,))
            if last.names == series.names:
                raise
            new = self._restacker.restack(old, last, works)
            notes.append(f"it is the last there, for in its own place {error.message}")
        return Edited(self._directory, new, (*notes, *self._restacker.notices))
