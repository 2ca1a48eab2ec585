"""Take the commits of an edit back into patch files.

A patch is what its commit does and says. What the worktree does not show (patches above the opened
one, patches that guards turn off) is put back on top of it by merging.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from patchq.engine.edit.commits import PatchCommit, commits_between, with_change
from patchq.engine.edit.identify import Identifier, NamedCommit
from patchq.engine.edit.session import close, resume, worktree_of
from patchq.engine.edit.state import WAYS_ON, WORKTREE, Edit, load, save
from patchq.engine.rebase.operation import files_below, hash_files, hash_target
from patchq.engine.series.edits import Edited
from patchq.engine.series.header_edit import rename_required
from patchq.engine.series.message import head_of
from patchq.engine.series.records import dropped, lost_remarks, with_lineage
from patchq.engine.series.restack import NoMergeError, Restacker, Work
from patchq.engine.workspace.project import Project
from patchq.errors import FindingsError
from patchq.git.worktree import Worktree
from patchq.model.patch import Patch
from patchq.model.series import SeriesEntry
from patchq.model.workspace import SeriesDirectory, Workspace


class RefreshOutcome(Enum):
    """What a refresh did to a patch."""

    NEW = "new"
    CHANGED = "changed"  # its commit makes another change
    REWORDED = "reworded"  # its commit has another message, author or date
    RENAMED = "renamed"
    MOVED = "moved"
    REAPPLIED = "re-applied"  # only what is below it changed, and its bytes had to follow
    FOLDED = "folded"  # its commit is gone, its change is not
    DROPPED = "dropped"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class RefreshedPatch:
    """What became of one patch; ``old`` is its earlier name, where that was another."""

    name: str
    what: tuple[RefreshOutcome, ...]
    old: str | None = None


@dataclass(frozen=True)
class Refreshed:
    """A series as its commits have it now."""

    edit: Edit
    edited: Edited
    outcomes: tuple[RefreshedPatch, ...]


def refresh(project: Project, *, amend: bool) -> Refreshed:
    """The series as the commits of the worktree have it; nothing is written yet.

    Changes that are not committed are refused, or with ``amend`` belong to the last commit. Raises
    :class:`FindingsError` if the worktree is in the middle of something, or a patch that it does
    not show does not merge any more.
    """
    edit = resume(project)
    worktree = worktree_of(project.workspace, project.store)
    chain = _chain(project, edit, worktree, amend=amend)
    directory = project.workspace.load_or_empty(edit.tag)
    return _Refresh(project, edit, directory, chain).result()


def finish(project: Project, refreshed: Refreshed) -> None:
    """Write what differs, and close the edit."""
    workspace, edit, edited = project.workspace, refreshed.edit, refreshed.edited
    changes = edited.changes
    if changes:
        there = files_below(workspace.series_path(edit.tag))
        files = {name: raw for name, raw in there.items() if name not in changes.removed}
        save(workspace, replace(edit, written=hash_files({**files, **changes.written})))
        edited.write(project, f"refresh {edit.tag}")
    close(project)


def is_written(workspace: Workspace) -> bool:
    """Whether a refresh was cut off behind its writing: only closing is left to do."""
    edit = load(workspace)
    return bool(edit and edit.written and edit.written == hash_target(workspace, edit.tag))


def _chain(
    project: Project, edit: Edit, worktree: Worktree, *, amend: bool
) -> tuple[PatchCommit, ...]:
    """The commits from the base to HEAD, with what is not committed in the last one."""
    waiting = worktree.under_way()
    if waiting:
        raise FindingsError(
            f"a `{waiting}` is under way in .patchq/{WORKTREE}",
            hint=f"`{waiting} --continue` or `--abort` it there, then refresh.",
        )
    unmerged = worktree.unmerged()
    if unmerged:
        raise FindingsError(
            f"not merged in .patchq/{WORKTREE}: {', '.join(unmerged)}",
            hint="Solve the conflicts there, `git add` and commit, then refresh.",
        )
    objects, head = project.store.objects, worktree.head()
    if not project.store.history.contains(edit.base, head):
        raise FindingsError(
            f"HEAD of .patchq/{WORKTREE} does not descend from {edit.tag}",
            hint=f"Check out the commits that do: `git checkout --detach worktree/top`. {WAYS_ON}",
        )
    chain = tuple(reversed(list(commits_between(objects, head, edit.base))))
    tree = worktree.snapshot()
    if tree == (chain[-1].tree if chain else project.lock.base(edit.tag).tree):
        return chain
    if not amend or not chain:
        last = f"{chain[-1].subject!r}" if chain else "a patch"
        raise FindingsError(
            f"there are changes in .patchq/{WORKTREE} that are not committed",
            hint=f"Commit them there, or `patchq refresh --amend` puts them into {last}."
            if chain
            else "Commit them there.",
        )
    parent = chain[-2].tree if len(chain) > 1 else project.lock.base(edit.tag).tree
    return (*chain[:-1], with_change(objects, replace(chain[-1], tree=tree, oid=None), parent))


class _Refresh:
    """From commits to a series directory."""

    def __init__(
        self, project: Project, edit: Edit, old: SeriesDirectory, chain: Sequence[PatchCommit]
    ):
        self._workspace = project.workspace
        self._store = project.store
        self._objects = project.store.objects
        self._edit = edit
        self._old = old
        base = project.lock.base(edit.tag)
        self._restacker = Restacker(
            project.store, base, project.settings.default_guards, frozenset(edit.guards)
        )
        self._head_tree = chain[-1].tree if chain else base.tree
        self._known = Identifier(project.store, edit, old, chain, self._head_tree)

    def result(self) -> Refreshed:
        named = self._known.named()
        renamed = {
            item.source: item.name
            for item in named
            if item.source and item.source != item.name and self._is_renamed(item, named)
        }
        left = self._known.left(named)
        folded = {name for name in left if self._known.is_in_head(name)}
        shown = {*self._edit.open_names, *(item.source for item in named if item.source)}
        old_works = self._restacker.works(self._old, without=shown)
        works = {
            name: replace(work, patch=_requiring(work.patch, renamed))
            for name, work in old_works.items()
        }
        works |= {item.name: self._work(item, renamed) for item in named}
        new = self._restack(named, renamed, works)
        gone = [name for name in left if name not in folded]
        if gone:
            reason = f"its commit was left out of an edit of {self._edit.tag}"
            new = replace(new, retired=dropped(self._old, gone, reason))
        outcomes = [
            *self._outcomes(named, new),
            *(
                RefreshedPatch(
                    n, (RefreshOutcome.FOLDED if n in folded else RefreshOutcome.DROPPED,)
                )
                for n in left
            ),
        ]
        new = with_lineage(self._workspace, new, self._successors(named, folded))
        lost = (
            *lost_remarks(self._old.series, sorted(folded)),
            *(words for item in named for words in self._lost_fields(item, works[item.name].patch)),
        )
        edited = Edited(self._old, new, (*self._restacker.notices, *lost))
        return Refreshed(self._edit, edited, tuple(outcomes))

    def _successors(
        self, named: Sequence[NamedCommit], folded: Iterable[str]
    ) -> dict[str, tuple[str, ...]]:
        """What goes on with the patches that were renamed, split or folded."""
        found: dict[str, tuple[str, ...]] = {}
        for item in named:
            if item.source is not None:
                found[item.source] = (*found.get(item.source, ()), item.name)
        for name in folded:
            paths = self._known.commit(name).after.keys()
            found[name] = tuple(item.name for item in named if paths & item.commit.after.keys())
        return {name: by for name, by in found.items() if by != (name,)}

    def _is_renamed(self, item: NamedCommit, named: Sequence[NamedCommit]) -> bool:
        return all(other.name != item.source for other in named)

    # -- the series and its patches --------------------------------------------------------------

    def _work(self, item: NamedCommit, renamed: Mapping[str, str]) -> Work:
        commit, known = item.commit, item.source
        if known is None:
            return Work(
                Patch(item.name, head_of(self._store, commit.words)), commit.before, commit.after
            )
        if item.name != known and known not in renamed:  # a part that was split off
            raw = head_of(self._store, commit.words) + self._old.patches[known].diff
            patch = Patch(item.name, raw, self._old.patches[known].strip)
            return Work(patch, commit.before, commit.after)
        patch = replace(self._old.patches[known], name=item.name)
        if self._rewords(item):
            patch = replace(patch, raw=head_of(self._store, commit.words) + patch.diff)
        return Work(_requiring(patch, renamed), commit.before, commit.after)

    def _lost_fields(self, item: NamedCommit, patch: Patch) -> Iterator[str]:
        """Words on the fields that a new message no longer has."""
        if item.source is None or not self._rewords(item):
            return
        kept = {trailer.key.lower() for trailer in patch.header.trailers}
        before = self._old.patches[item.source].header.trailers
        gone = dict.fromkeys(each.key for each in before if each.key.lower() not in kept)
        if gone:
            yield f"{item.name}: its new message leaves out {', '.join(gone)}"

    def _rewords(self, item: NamedCommit) -> bool:
        if item.source is None or item.source not in self._edit.commits:
            return False
        return self._known.commit(item.source).words != item.commit.words

    def _restack(
        self,
        named: Sequence[NamedCommit],
        renamed: Mapping[str, str],
        works: Mapping[str, Work],
    ) -> SeriesDirectory:
        series = self._old.series
        for source, name in renamed.items():
            series = series.rename(source, name)
        entries = {entry.name: entry for entry in series.entries}
        chosen = [self._entry(item, entries) for item in named]
        order = self._order(chosen, series.entries, renamed)
        directory = replace(self._old, patches={**self._old.patches, **_patches(works)})
        try:
            new = self._restacker.restack(directory, series.arrange(order), works)
        except NoMergeError as error:
            if error.name in self._edit.commits:
                commit = self._edit.commits[error.name][:12]
                error.hint = (
                    f"Nothing was written. In .patchq/{WORKTREE}, `git cherry-pick {commit}` "
                    "brings it in; solve the conflict there, then refresh."
                )
            raise
        if self._restacker.tree(chosen, new.patches) != self._head_tree:
            raise FindingsError(
                "the patches would give another tree than the worktree's",
                hint="Some of them depend on others that a guard turns off; edit them with that "
                "guard on (`patchq edit --with GUARD`), or without it.",
            )
        return new

    def _entry(self, item: NamedCommit, entries: Mapping[str, SeriesEntry]) -> SeriesEntry:
        if item.name in entries:
            return entries[item.name]
        if item.source is None:
            return SeriesEntry(item.name)
        source = self._old.series.entry(item.source)
        return SeriesEntry(item.name, strip=source.strip, guards=source.guards)

    def _order(
        self,
        chosen: Sequence[SeriesEntry],
        entries: Sequence[SeriesEntry],
        renamed: Mapping[str, str],
    ) -> list[SeriesEntry]:
        """All entries: those of commits in their order, each other one behind what it followed.

        What stood above the last opened patch stays above all commits.
        """
        opened = {renamed.get(name, name) for name in self._edit.open_names}
        last = max((n for n, entry in enumerate(entries) if entry.name in opened), default=-1)
        order = list(chosen)
        taken = {entry.name for entry in chosen}
        for number, entry in enumerate(entries):
            if entry.name in taken or entry.name in opened:
                continue
            if number > last:
                order.append(entry)
                continue
            lower = {other.name for other in entries[:number]}
            places = [at for at, other in enumerate(order) if other.name in lower]
            order.insert(self._behind(entries[:number], order) if places else 0, entry)
        return order

    def _behind(self, lower: Sequence[SeriesEntry], order: Sequence[SeriesEntry]) -> int:
        names = [entry.name for entry in order]
        nearest = next(entry.name for entry in reversed(lower) if entry.name in names)
        return names.index(nearest) + 1

    # -- what was done ---------------------------------------------------------------------------

    def _outcomes(
        self, named: Sequence[NamedCommit], new: SeriesDirectory
    ) -> Iterator[RefreshedPatch]:
        items = {item.name: item for item in named}
        stayed = _unmoved(self._old.series.names, new.series.names)
        for name in new.series.names:
            item = items.get(name)
            what: list[RefreshOutcome] = []
            source = item.source if item else name
            if item and (source is None or (name != source and source in new.series.names)):
                yield RefreshedPatch(name, (RefreshOutcome.NEW,), source)
                continue
            assert source is not None
            if source != name:
                what.append(RefreshOutcome.RENAMED)
            if item and self._changes(item):
                what.append(RefreshOutcome.CHANGED)
            if item and self._rewords(item):
                what.append(RefreshOutcome.REWORDED)
            if source == name and name not in stayed:
                what.append(RefreshOutcome.MOVED)
            rewritten = new.patches[name].raw != self._old.patches[source].raw
            if rewritten and not {RefreshOutcome.CHANGED, RefreshOutcome.REWORDED} & set(what):
                what.append(RefreshOutcome.REAPPLIED)
            yield RefreshedPatch(
                name, tuple(what) or (RefreshOutcome.UNCHANGED,), source if source != name else None
            )

    def _changes(self, item: NamedCommit) -> bool:
        if item.source is None or item.source not in self._edit.commits:
            return True
        if item.commit.oid == self._edit.commits[item.source]:
            return False
        return not self._known.same_change(item.commit, item.source)


def _requiring(patch: Patch, renamed: Mapping[str, str]) -> Patch:
    for old, new in renamed.items():
        patch = rename_required(patch, old, new)
    return patch


def _patches(works: Mapping[str, Work]) -> dict[str, Patch]:
    return {name: work.patch for name, work in works.items()}


def _unmoved(old: Sequence[str], new: Sequence[str]) -> set[str]:
    """The names whose order is the same; as many as can be."""
    place = {name: number for number, name in enumerate(old)}
    none: list[str] = []
    best = [none]
    for name in new:
        if name not in place:
            continue
        shorter = [run for run in best if not run or place[run[-1]] < place[name]]
        best.append([*max(shorter, key=len), name])
    longest = max(best, key=len)
    return set(longest)
