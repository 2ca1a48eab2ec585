"""Open a series as commits in a worktree, and take what became of them back into patch files.

Every selected patch is one commit, which tells its file by a ``Patch-Name:`` trailer; any git tool
may then be used on them. On the way back a patch is what its commit does and says. The trailer
names it; a commit that lost it is known by its change, its author and date, or by being a part of
a patch that is gone. What the worktree does not show (patches above the opened one, patches that
guards turn off) is put back on top of it by merging.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum

from patchq.engine.edit.state import WAYS_ON, WORKTREE, Edit, forget, is_open, load, save
from patchq.engine.rebase.operation import hash_files, hash_inputs, hash_target
from patchq.engine.rebase.resolved_patch import changed_paths
from patchq.engine.series.edits import Edited
from patchq.engine.series.header_edit import rename_required
from patchq.engine.series.message import Wording, head_of, normalised, now, slug, wording
from patchq.engine.series.naming import patch_name
from patchq.engine.series.records import dropped, with_lineage
from patchq.engine.series.restack import NoMergeError, Restacker, Work
from patchq.engine.series.selection import select
from patchq.engine.workspace.project import Project
from patchq.errors import FindingsError, InputError, PatchqError, Where
from patchq.git.commits import read_commit
from patchq.git.identity import user_identity
from patchq.git.objects import Entries, Objects
from patchq.git.process import EMAIL, IDENTITY
from patchq.git.store import Store
from patchq.git.worktree import KeptFiles, Worktree, WorktreeLayout
from patchq.model.patch import Patch
from patchq.model.series import SeriesEntry
from patchq.model.workspace import SeriesDirectory, Workspace

_TRAILER = re.compile(r"^Patch-Name:[ \t]*(\S+)[ \t]*$\n?", re.MULTILINE)
_COMMENT_CHARACTERS = "#;%@!$^&|"

_ABORT = "Take that back, or `patchq edit --abort` and begin again."


@dataclass(frozen=True)
class NewPatch:
    """A patch that is to be made: its name, and what its commit says before there is any change."""

    name: str
    subject: str


class What(Enum):
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
    what: tuple[What, ...]
    old: str | None = None


@dataclass(frozen=True)
class Refreshed:
    """A series as its commits have it now."""

    edit: Edit
    edited: Edited
    outcomes: tuple[RefreshedPatch, ...]


@dataclass(frozen=True)
class _Commit:
    """A commit of the worktree: its change and its words, less the trailer that names it."""

    oid: str
    parents: tuple[str, ...]
    tree: str
    words: Wording
    names: tuple[str, ...]
    before: Entries = field(default_factory=dict)
    after: Entries = field(default_factory=dict)

    @property
    def subject(self) -> str:
        return self.words.message.partition("\n")[0]


@dataclass(frozen=True)
class _Named:
    """A commit as patch ``name``; ``source`` is the patch that it, or a part of it, was before."""

    commit: _Commit
    name: str
    source: str | None


def worktree_of(workspace: Workspace, store: Store) -> Worktree:
    """The worktree of the open edit, there or not."""
    return Worktree(store, workspace.state_dir / WORKTREE)


def begin(
    project: Project, tag: str, upto: str | None, guards: Sequence[str], new: NewPatch | None = None
) -> Edit:
    """Lay the series on ``tag`` out as commits, up to patch ``upto`` or all of it.

    Raises :class:`InputError` if ``upto`` is not among the selected patches, or one of those
    does not apply.
    """
    workspace, store = project.workspace, project.store
    directory = workspace.load_or_empty(tag)
    base = project.lock.base(tag)
    restacker = Restacker(store, base, project.settings.default_guards)
    selection = select(directory, project.settings, guards)
    patches = [patch for patch in selection.patches if restacker.covers(patch)]
    names = [patch.name for patch in patches]
    if upto is not None and upto not in names:
        directory.series.entry(upto)
        raise InputError(
            f"{upto} is not applied under this selection",
            where=directory.series.where,
            hint="Turn its guard on: --with GUARD.",
        )
    author = user_identity(workspace.root)
    tree, parent = base.tree, base.commit
    commits: dict[str, str] = {}
    for patch in patches:
        tree = restacker.stack.apply(tree, patch, onto=tag).tree
        words = wording(patch, author=author, date=now())
        parent = commits[patch.name] = _write_commit(store.objects, tree, parent, words, patch.name)
    top = commits[upto] if upto else parent
    if new is not None and new.name in directory.series.names:
        raise InputError(f"{new.name} is in the series already", where=directory.series.where)
    layout = WorktreeLayout(parent, base.commit, tree, None, {})
    worktree = worktree_of(workspace, store)
    worktree.lay_out(layout)
    messages = [store.objects.read(commit) for commit in commits.values()]
    worktree.configure("core.commentChar", _comment_character(messages))
    worktree.mark("base", base.commit)
    if parent != base.commit:
        worktree.mark("top", parent)
    if new is not None:
        words = Wording(normalised(new.subject), author, now())
        top = _empty_commit(store, top, words, new.name)
    worktree.go_to(top)
    edit = Edit(
        tag=tag,
        base=base.commit,
        guards=tuple(sorted(guards)),
        opened=upto,
        commits=commits,
        inputs=hash_inputs(workspace, tag),
        layout=layout.identity,
        since=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    save(workspace, edit)
    return edit


@dataclass(frozen=True)
class Aborted:
    """The commit that an edit had come to, if known, and files kept from a broken worktree."""

    head: str | None
    kept: KeptFiles | None


def abort(workspace: Workspace) -> Aborted:
    """Forget the open edit, whatever state it is in."""
    if not is_open(workspace):
        raise InputError("no edit is open", hint="`patchq edit TAG` opens one.")
    store = Store(workspace.store_path)
    worktree, tree = worktree_of(workspace, store), None
    try:
        head = worktree.head()
        tree = store.describe(head)[0]
    except PatchqError:
        head = None
    # who finds the worktree broken can only abort: what it holds is not abandoned by that
    kept = None if head and worktree.is_linked else worktree.keep_aside(tree)
    forget(workspace)
    worktree.remove()
    return Aborted(head, kept)


def refresh(project: Project, *, amend: bool) -> Refreshed:
    """The series as the commits of the worktree have it; nothing is written yet.

    Changes that are not committed are refused, or with ``amend`` belong to the last commit. Raises
    :class:`FindingsError` if the worktree is in the middle of something, or a patch that it does
    not show does not merge any more.
    """
    edit = _resume(project)
    worktree = worktree_of(project.workspace, project.store)
    chain = _chain(project, edit, worktree, amend=amend)
    directory = project.workspace.load_or_empty(edit.tag)
    return _Refresh(project, edit, directory, chain).result()


def finish(project: Project, refreshed: Refreshed) -> None:
    """Write what differs, and close the edit."""
    workspace, edit, edited = project.workspace, refreshed.edit, refreshed.edited
    changes = edited.changes
    if changes:
        path = workspace.series_path(edit.tag)
        there = {
            str(file.relative_to(path)): file.read_bytes()
            for file in path.rglob("*")
            if file.is_file()
        }
        files = {name: raw for name, raw in there.items() if name not in changes.removed}
        save(workspace, replace(edit, written=hash_files({**files, **changes.written})))
        edited.write(project, f"refresh {edit.tag}")
    close(project)


def close(project: Project) -> None:
    """Forget the edit and remove its worktree."""
    worktree = worktree_of(project.workspace, project.store)
    taken = worktree.snapshot() if worktree.is_linked else None
    forget(project.workspace)
    worktree.remove(taken)


def is_written(workspace: Workspace) -> bool:
    """Whether a refresh was cut off behind its writing: only closing is left to do."""
    edit = load(workspace)
    return bool(edit and edit.written and edit.written == hash_target(workspace, edit.tag))


def _resume(project: Project) -> Edit:
    """The open edit, its input checked."""
    edit = load(project.workspace)
    if edit is None:
        raise InputError("no edit is open", hint="`patchq edit TAG` opens one.")
    found = project.lock.base(edit.tag).commit
    if found != edit.base:
        raise InputError(
            f"{edit.tag} was {edit.base} when the edit began, and is {found} in the lock now",
            where=Where("upstream.lock"),
            hint=_ABORT,
        )
    inputs = hash_inputs(project.workspace, edit.tag)
    for name in sorted(inputs.keys() | edit.inputs.keys()):
        if inputs.get(name) != edit.inputs.get(name):
            raise InputError(
                "changed since the edit began", where=Where(f"series/{name}"), hint=_ABORT
            )
    worktree = worktree_of(project.workspace, project.store)
    if not worktree.holds(edit.layout):
        raise InputError(
            f"the worktree .patchq/{WORKTREE} is not there, or not whole",
            hint="`patchq edit --abort`, then open it again.",
        )
    worktree.relink()
    return edit


def _chain(project: Project, edit: Edit, worktree: Worktree, *, amend: bool) -> tuple[_Commit, ...]:
    """The commits from the base to HEAD, with what is not committed in the last one."""
    waiting = worktree.under_way()
    if waiting:
        raise FindingsError(
            f"a `{waiting}` waits in .patchq/{WORKTREE}",
            hint=f"`{waiting} --continue` or `--abort` it there, then refresh.",
        )
    unmerged = worktree.unmerged()
    if unmerged:
        raise FindingsError(f"unmerged in .patchq/{WORKTREE}: {', '.join(unmerged)}")
    objects, head = project.store.objects, worktree.head()
    if not project.store.history.contains(edit.base, head):
        raise FindingsError(
            f"HEAD of .patchq/{WORKTREE} does not stand on {edit.tag}",
            hint=f"Check out the commits that do: `git checkout --detach worktree/top`. {WAYS_ON}",
        )
    chain = tuple(reversed(list(_walk(objects, head, edit.base))))
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
    return (*chain[:-1], _between(objects, replace(chain[-1], tree=tree, oid=""), parent))


def _walk(objects: Objects, head: str, base: str) -> Iterator[_Commit]:
    """The commits from ``head`` down to ``base``, which is left out."""
    commit = _read_commit(objects, head) if head != base else None
    while commit is not None:
        if len(commit.parents) != 1:
            raise FindingsError(
                f"{commit.oid[:12]} is a merge: {commit.subject}",
                hint="A series is one patch after the other: rebase it flat, then refresh.",
            )
        (parent,) = commit.parents
        under = _read_commit(objects, parent)
        yield _between(objects, commit, under.tree)
        commit = under if parent != base else None


def _between(objects: Objects, commit: _Commit, parent_tree: str) -> _Commit:
    paths = sorted(changed_paths(objects, parent_tree, commit.tree))
    return replace(
        commit,
        before=objects.files(parent_tree, paths),
        after=objects.files(commit.tree, paths),
    )


def _read_commit(objects: Objects, oid: str) -> _Commit:
    commit = read_commit(objects, oid)
    message = normalised(_TRAILER.sub("", commit.message))
    return _Commit(
        oid=oid,
        parents=commit.parents,
        tree=commit.tree,
        words=Wording(message, commit.author, commit.date),
        names=tuple(_TRAILER.findall(commit.message)),
    )


def _write_commit(objects: Objects, tree: str, parent: str, words: Wording, name: str) -> str:
    body = words.message.partition("\n\n")[2].rstrip("\n")
    last = body.rpartition("\n\n")[2]
    fields = bool(last) and all(re.match(r"[A-Za-z][\w-]*:|\s", line) for line in last.split("\n"))
    gap = "" if fields else "\n"
    return objects.write_commit(
        tree,
        (parent,),
        message=f"{words.message}{gap}Patch-Name: {name}\n",
        author=f"{words.author} {words.date}",
        committer=f"{IDENTITY} <{EMAIL}> {words.date}",
    )


def _empty_commit(store: Store, parent: str, words: Wording, name: str) -> str:
    """A commit on ``parent`` that changes nothing yet, kept in the store."""
    tree = _read_commit(store.objects, parent).tree
    commit = _write_commit(store.objects, tree, parent, words, name)
    return store.persist("commit", store.objects.read(commit))


def _comment_character(messages: Sequence[bytes]) -> str:
    """One that begins no line of the messages: git takes such lines out when it has them edited."""
    used = {line[:1] for message in messages for line in message.split(b"\n")}
    return next((c for c in _COMMENT_CHARACTERS if c.encode() not in used), "#")


class _Refresh:
    """From commits to a series directory."""

    def __init__(
        self, project: Project, edit: Edit, old: SeriesDirectory, chain: Sequence[_Commit]
    ):
        self._workspace = project.workspace
        self._store = project.store
        self._objects = project.store.objects
        self._edit = edit
        self._old = old
        self._chain = chain
        base = project.lock.base(edit.tag)
        self._base = base
        self._restacker = Restacker(
            project.store, base, project.settings.default_guards, frozenset(edit.guards)
        )
        self._head_tree = chain[-1].tree if chain else base.tree
        self._known: dict[str, _Commit] = {}

    def result(self) -> Refreshed:
        named = self._named()
        renamed = {
            item.source: item.name
            for item in named
            if item.source and item.source != item.name and self._is_renamed(item, named)
        }
        left = self._left(named)
        folded = {name for name in left if self._is_in_head(name)}
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
            *(RefreshedPatch(n, (What.FOLDED if n in folded else What.DROPPED,)) for n in left),
        ]
        new = with_lineage(self._workspace, new, self._successors(named, folded))
        edited = Edited(self._old, new, self._restacker.notices)
        return Refreshed(self._edit, edited, tuple(outcomes))

    def _successors(
        self, named: Sequence[_Named], folded: Iterable[str]
    ) -> dict[str, tuple[str, ...]]:
        """What goes on with the patches that were renamed, split or folded."""
        found: dict[str, tuple[str, ...]] = {}
        for item in named:
            if item.source is not None:
                found[item.source] = (*found.get(item.source, ()), item.name)
        for name in folded:
            paths = self._commit(name).after.keys()
            found[name] = tuple(item.name for item in named if paths & item.commit.after.keys())
        return {name: by for name, by in found.items() if by != (name,)}

    # -- which commit is which patch -------------------------------------------------------------

    def _named(self) -> list[_Named]:
        """Every commit with its name, in order."""
        told = [name for commit in self._chain for name in commit.names[:1]]
        missing = [name for name in self._edit.open_names if name not in told]
        taken: set[str] = set()
        named: list[_Named] = []
        for commit in self._chain:
            source = self._source(commit, missing)
            name = self._name(commit, source, missing, taken)
            if not commit.before and not commit.after:
                raise FindingsError(
                    f"the commit of {name} changes nothing",
                    hint=f"Change something in .patchq/{WORKTREE} and commit it there with "
                    "--amend, or leave the commit out: `git rebase -i worktree/base`.",
                )
            taken.add(name)
            if source in missing:
                missing.remove(source)
            named.append(_Named(commit, name, source))
        return named

    def _source(self, commit: _Commit, missing: Sequence[str]) -> str | None:
        """The patch of the old series that the commit was, or was a part of."""
        told = next(iter(commit.names), None)
        if told is not None and told in self._old.series.names:
            return told
        for matches in (self._same_change, self._same_author):
            found = [name for name in missing if matches(commit, name)]
            if len(found) == 1:
                return found[0]
        if told is not None:
            return None
        candidates = (*missing, *(n for n in self._edit.open_names if n not in missing))
        return next((name for name in candidates if self._is_part(commit, name)), None)

    def _name(
        self, commit: _Commit, source: str | None, missing: Sequence[str], taken: set[str]
    ) -> str:
        told = next(iter(commit.names), None)
        keeps = source == told or (told is None and source in missing)
        if source is not None and keeps and source not in taken:
            return source
        if told is not None and told not in self._old.series.names:
            wanted = patch_name(told) if "/" not in told else told
        elif source is not None and commit.subject == self._commit(source).subject:
            wanted = source
        else:
            wanted = f"{slug(commit.subject) or 'patch'}.patch"
        stem = wanted.removesuffix(".patch")
        candidates = (wanted, *(f"{stem}-{number}.patch" for number in range(2, 1000)))
        used = taken | set(self._old.series.names)
        return next(name for name in candidates if name not in used)

    def _commit(self, name: str) -> _Commit:
        """The commit that the patch ``name`` was when the edit began."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> _Commit:
        if name not in self._edit.commits:  # turned off by its guards
            patch = self._old.patches[name]
            return _Commit("", (), "", wording(patch, author="", date=""), (name,))
        commit = _read_commit(self._objects, self._edit.commits[name])
        parent = _read_commit(self._objects, commit.parents[0])
        return _between(self._objects, commit, parent.tree)

    def _same_change(self, commit: _Commit, name: str) -> bool:
        old = self._commit(name)
        if (commit.before, commit.after) == (old.before, old.after):
            return True
        return commit.before.keys() == old.before.keys() and self._diff(commit) == self._diff(old)

    def _diff(self, commit: _Commit) -> list[tuple[object, ...]]:
        """What the change does, file by file, wherever its lines stand."""
        tree_of = self._objects.tree_of
        raw = self._restacker.mailer.diff(tree_of(commit.before), tree_of(commit.after))
        return [
            (
                *(change.old, change.new, change.old_mode, change.new_mode),
                [hunk.lines for hunk in change.hunks] or change.new_blob,
            )
            for change in Patch("", raw).files
        ]

    def _same_author(self, commit: _Commit, name: str) -> bool:
        """Amending and rebasing keep the author's name and date, to the second."""
        old = self._commit(name).words
        if (commit.words.author, commit.words.date) != (old.author, old.date):
            return False
        alike = (c for c in self._chain if not c.names and c.words.date == old.date)
        dates = Counter(self._commit(other).words.date for other in self._edit.open_names)
        return len(list(alike)) == 1 and dates[old.date] == 1

    def _is_part(self, commit: _Commit, name: str) -> bool:
        """Whether the patch made all of the commit's change, and its own is still all there."""
        old = self._commit(name)
        return (
            commit.before.keys() <= old.before.keys()
            and self._has(old.tree, commit.before, commit.after)
            and self._has(self._head_tree, old.before, old.after)
        )

    def _is_in_head(self, name: str) -> bool:
        old = self._commit(name)
        return self._has(self._head_tree, old.before, old.after)

    def _has(self, tree: str, before: Entries, after: Entries) -> bool:
        """Whether all of a change is in ``tree``: merging it there changes nothing."""
        tree_of = self._objects.tree_of
        ours = tree_of(self._objects.files(tree, before))
        merged = self._store.merger.merge(tree_of(before), ours, tree_of(after))
        return merged.clean and merged.tree == ours

    def _left(self, named: Sequence[_Named]) -> list[str]:
        """The opened patches that no commit is any more."""
        kept = {item.source for item in named} | {item.name for item in named}
        return [name for name in self._edit.open_names if name not in kept]

    def _is_renamed(self, item: _Named, named: Sequence[_Named]) -> bool:
        return all(other.name != item.source for other in named)

    # -- the series and its patches --------------------------------------------------------------

    def _work(self, item: _Named, renamed: Mapping[str, str]) -> Work:
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

    def _rewords(self, item: _Named) -> bool:
        if item.source is None or item.source not in self._edit.commits:
            return False
        return self._commit(item.source).words != item.commit.words

    def _restack(
        self,
        named: Sequence[_Named],
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

    def _entry(self, item: _Named, entries: Mapping[str, SeriesEntry]) -> SeriesEntry:
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

    def _outcomes(self, named: Sequence[_Named], new: SeriesDirectory) -> Iterator[RefreshedPatch]:
        items = {item.name: item for item in named}
        stayed = _unmoved(self._old.series.names, new.series.names)
        for name in new.series.names:
            item = items.get(name)
            what: list[What] = []
            source = item.source if item else name
            if item and (source is None or (name != source and source in new.series.names)):
                yield RefreshedPatch(name, (What.NEW,), source)
                continue
            assert source is not None
            if source != name:
                what.append(What.RENAMED)
            if item and self._changes(item):
                what.append(What.CHANGED)
            if item and self._rewords(item):
                what.append(What.REWORDED)
            if source == name and name not in stayed:
                what.append(What.MOVED)
            rewritten = new.patches[name].raw != self._old.patches[source].raw
            if rewritten and not {What.CHANGED, What.REWORDED} & set(what):
                what.append(What.REAPPLIED)
            yield RefreshedPatch(
                name, tuple(what) or (What.UNCHANGED,), source if source != name else None
            )

    def _changes(self, item: _Named) -> bool:
        if item.source is None or item.source not in self._edit.commits:
            return True
        if item.commit.oid == self._edit.commits[item.source]:
            return False
        return not self._same_change(item.commit, item.source)


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
