"""Solve a held patch: open its conflict in the worktree, and let it join its series when solved.

``rebase --keep-going`` holds a patch that needs review in ``retired.yaml``. It is judged again,
from its own base onto the series as it is now, and opened as a rebase that stops would open it.
What is under way stands in ``.patchq/resolve.json``; nothing else is written before it is solved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from patchq.engine.judge.cache import kept_verdicts
from patchq.engine.judge.placed import LostPatch, PatchedBase, PlacedPatch, PlaceJudge
from patchq.engine.judge.predicates import SpanPredicates
from patchq.engine.rebase.conflict import Collision, collide, layout
from patchq.engine.rebase.recorded_resolutions import remember
from patchq.engine.rebase.resolved_patch import patch_to
from patchq.engine.rebase.session import take, worktree_of
from patchq.engine.rebase.solving.state import STATE, Resolving
from patchq.engine.series.edits import Edited
from patchq.engine.series.restack import Restacker, Work
from patchq.engine.series.stack import Stack, below
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.transaction import Transaction
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import FindingsError, InputError, Where
from patchq.git.worktree import WorktreeLayout
from patchq.model.ids import TreeId
from patchq.model.patch import Patch, read_patch
from patchq.model.retired import RecordState, Retired, provided_by_upstream
from patchq.model.series import SeriesEntry, meant_name
from patchq.model.verdict import Action, PatchReport
from patchq.model.workspace import SeriesDirectory, Workspace


@dataclass(frozen=True)
class OpenedConflict:
    """The conflict that was opened, as the judge sees it."""

    report: PatchReport
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class HeldPatches:
    """What a series holds: those that conflict by themselves, and those that only follow them."""

    roots: tuple[str, ...]
    followers: Mapping[str, tuple[str, ...]]


def held(directory: SeriesDirectory) -> HeldPatches:
    """The held patches of a series, roots apart from those that stand on another held one.

    A patch follows a held one that it requires, or that came before it and touches the same file.
    """
    records = [record for record in directory.retired if record.standing is RecordState.HELD]
    roots: list[str] = []
    followers: dict[str, tuple[str, ...]] = {}
    before: dict[str, frozenset[str]] = {}
    for record in records:
        required, paths = _touched(record)
        leaders = tuple(n for n, lower in before.items() if n in required or lower & paths)
        if leaders:
            followers[record.name] = leaders
        else:
            roots.append(record.name)
        before[record.name] = paths
    return HeldPatches(tuple(roots), followers)


def _touched(record: Retired) -> tuple[frozenset[str], frozenset[str]]:
    """What a held patch requires, and its paths; nothing if it was edited and cannot be read."""
    try:
        patch = read_patch(record.name, record.content, strip=record.strip)
        return frozenset(patch.header.requires), frozenset(patch.paths)
    except InputError:
        return frozenset(), frozenset()


def begin(project: Project, tag: str, name: str) -> OpenedConflict | Edited:
    """Open the conflict of the held patch ``name``; or the edit that brings it in, if it has none.

    Raises :class:`InputError` if no such patch is held, :class:`FindingsError` if there is
    nothing that could be merged.
    """
    question = _Question(project, tag, name)
    judgement = question.judge.judge_in_place(question.placed)
    if judgement.report.action in (Action.CARRY, Action.ADAPT) and judgement.patch is not None:
        return question.joined(judgement.patch)
    collision = question.collision(judgement.report)
    wanted = question.layout(collision)
    state = Resolving(name, tag, wanted.identity)
    STATE.save(project.workspace, state)
    worktree = worktree_of(project.workspace, project.store)
    worktree.clear(committed=False)
    worktree.lay_out(wanted)
    return OpenedConflict(judgement.report, tuple(collision.conflicts))


def finish(project: Project) -> Edited:
    """Take what stands in the worktree: the patch joins its series, in one transaction.

    Raises :class:`FindingsError` if something is unsolved, naming it.
    """
    state = _state(project.workspace)
    question = _Question(project, state.tag, state.name)
    report = question.judge.judge_in_place(question.placed).report
    collision = question.collision(report)
    wanted = question.layout(collision)
    if wanted.identity != state.layout:
        raise InputError(
            f"{state.name} would no longer conflict as it did: the series on {state.tag} changed",
            hint="`patchq resolve --abort`, then open it again.",
        )
    leave = (
        f"`patchq resolve --abort`, then `patchq drop {state.name} --tag {state.tag} "
        "--reason WHY`, leaves it out of the series."
    )
    made = take(project, state.tag, collision, wanted, leave)
    store = project.store
    patch = patch_to(store, question.stack, collision, made.tree)
    patch = SpanPredicates(question.span).followed(patch)
    changed = store.objects.changed(collision.case.ours, made.tree)
    kept = remember(collision, made.tree, changed, store.objects, onto=state.tag)
    edited = question.joined(patch)
    transaction = Transaction(project.workspace, f"resolve {state.name} --tag {state.tag}")
    edited.changes.stage(transaction, edited.old)
    for file, raw in kept.items():
        transaction.keep_file(project.workspace.series_dir / file, raw)
    transaction.commit()
    _end(project, made.tree)
    return edited


def abort(project: Project) -> str:
    """Leave the patch held; its name. Raises :class:`InputError` if none is being solved."""
    state = _state(project.workspace)
    _end(project)
    return state.name


def _state(workspace: Workspace) -> Resolving:
    state = STATE.load(workspace)
    if state is None:
        raise InputError(
            "no held patch is being solved",
            hint="`patchq resolve PATCH` opens the conflict of one.",
        )
    return state


def _end(project: Project, taken: TreeId | None = None) -> None:
    STATE.forget(project.workspace)
    worktree_of(project.workspace, project.store).remove(taken, committed=False)


class _Question:
    """The held patch in its place: from its own base onto the series as it is now."""

    def __init__(self, project: Project, tag: str, name: str):
        self._project = project
        self._directory = project.workspace.load(tag)
        self._record = _held_record(project.workspace, self._directory, name)
        self._defaults = project.settings.default_guards
        self.span: UpstreamRange = project.upstream_range(self._record.base, tag)
        self.stack = Stack(project.store)
        record = self._record
        self._patch = read_patch(name, record.content, strip=record.strip)
        entry = SeriesEntry(name, strip=record.strip, guards=record.guards)
        source = project.workspace.load(record.base)
        if name not in source.series.names:
            raise InputError(
                f"{name} is no longer in the series on {record.base} that it comes from",
                where=source.series.where,
                hint="`patchq import` brings in another version of it.",
            )
        self._source = source
        series = self._directory.series.place(entry, source.series.names)
        self._candidate = replace(self._directory, series=series)
        self._restacker = Restacker(project.store, project.lock.base(tag), self._defaults)
        self.judge = PlaceJudge(
            self.span, self.stack, self._patch.paths, kept_verdicts(project.workspace)
        )
        self.placed = self._placed(series.entry(name))

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
            missing=tuple(name for name in self._patch.header.requires if name not in there),
            lost=tuple(
                LostPatch(other, "not in the series there")
                for other in old
                if other.name not in there
            ),
        )

    def _below_on_its_base(self) -> list[Patch]:
        """The patches that it stands on, in the series that it comes from."""
        source = self._source
        lower = below(source.series, source.series.entry(self._record.name), self._defaults)
        patches = [source.patches[other.name] for other in lower]
        return [patch for patch in patches if all(map(self.span.covers, patch.paths))]

    def collision(self, report: PatchReport) -> Collision:
        """What there is to solve; raises :class:`FindingsError` if nothing can be merged."""
        case = self.placed.case if self.placed.can_be_merged else None
        if case is None or self.judge.judge.blocked(case):
            missing = ", ".join(self.placed.missing) or "patches that are not in the series"
            raise FindingsError(
                f"{report.name} cannot be merged onto {self.span.new.name}: it stands on {missing}",
                hint="Resolve those first; `patchq resolve` without a name lists what is held.",
            )
        return collide(self.span, case, report)

    def layout(self, collision: Collision) -> WorktreeLayout:
        """The worktree of the conflict."""
        return layout(self._project.store, collision, self.span.old, self.span.new)

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
            last = self._directory.series.append(entry)
            if last.names == series.names:
                raise
            new = self._restacker.restack(old, last, works)
            notes.append(f"it is the last there, for in its own place {error.message}")
        return Edited(self._directory, new, (*notes, *self._restacker.notices))


def _held_record(workspace: Workspace, directory: SeriesDirectory, name: str) -> Retired:
    for record in reversed(directory.retired):
        if record.name == name and record.standing is RecordState.HELD:
            return record
    names = _held_names(directory.retired)
    hint = f"Held are: {', '.join(names)}." if names else "Nothing is held there."
    if name not in names:
        for tag in reversed(workspace.series_names()):
            if meant_name(name, held := _held_names(workspace.retired(tag))) in held:
                hint = f"It is held on {tag}: `patchq resolve {name} {tag}`."
                break
    raise InputError(
        f"no patch {name!r} is held by the series on {directory.tag}",
        where=Where(f"series/{directory.tag}/retired.yaml"),
        hint=hint,
    )


def _held_names(records: Sequence[Retired]) -> list[str]:
    return [record.name for record in records if record.standing is RecordState.HELD]
