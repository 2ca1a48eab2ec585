"""An upstream change to be taken over: one commit, a merge, a pull request, or a foreign patch.

Whatever it came as, it is two sets of tree entries and the commit it was made on; the rest is
what its patch will say about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from patchq.engine.series.message import Wording
from patchq.git.apply import Applied
from patchq.git.commits import Commit, read_commit
from patchq.git.objects import Entries, Entry
from patchq.git.store import Store
from patchq.model.coverage import Coverage
from patchq.model.ids import CommitId, TreeId
from patchq.model.patch import Patch
from patchq.model.settings import Settings


@dataclass(frozen=True)
class UpstreamChange:
    """A change of the tree of ``parent``; ``before`` and ``after`` are all that it touches.

    ``commit`` is the upstream commit it is (None for a patch from a file), ``source`` the whole
    tree with it in, ``left_out`` what of it is not wanted here.
    """

    title: str
    subject: str
    message: str
    author: str
    date: str
    commit: CommitId | None
    parent: CommitId
    pull_requests: tuple[int, ...]
    base: TreeId
    source: TreeId
    before: Entries
    after: Entries
    read_diff: Callable[[], bytes] = field(compare=False)
    left_out: tuple[str, ...] = ()

    @cached_property
    def patch(self) -> Patch:
        """The change as a patch without a header, for looking inside."""
        return Patch(self.title, self.read_diff())

    @property
    def applied(self) -> Applied:
        """The change in place on its own base."""
        return Applied(self.source, self.before, self.after)

    @cached_property
    def lines(self) -> tuple[int, int]:
        """How many lines it adds and removes."""
        hunks = [hunk for file in self.patch.files for hunk in file.hunks]
        return sum(len(h.added) for h in hunks), sum(len(h.removed) for h in hunks)


class ChangeReader:
    """Reads changes from the store, less what ``exclude`` (patterns of gitignore(5)) matches."""

    def __init__(self, store: Store, settings: Settings, exclude: Sequence[str] = ()):
        self._objects = store.objects
        self._history = store.history
        self._mailer = store.mailer
        self._settings = settings
        self._exclude = Coverage(excludes=tuple(exclude))
        self._known: dict[CommitId, UpstreamChange] = {}

    def commit(self, oid: CommitId) -> UpstreamChange:
        """What a commit did to its first parent."""
        if oid not in self._known:
            commit = read_commit(self._objects, oid)
            parent = commit.parents[0] if commit.parents else None
            self._known[oid] = self._between(commit, parent)
        return self._known[oid]

    def squashed(
        self, parent: CommitId, oid: CommitId, title: str, numbers: tuple[int, ...]
    ) -> UpstreamChange:
        """All that lies between two commits as one change, in the words of the first of them."""
        first = self._history.between(parent, oid)[:1] or (oid,)
        told, last = (read_commit(self._objects, one) for one in (first[0], oid))
        whole = replace(last, author=told.author, date=told.date, message=told.message)
        return self._between(whole, parent, title, numbers)

    def _between(
        self,
        commit: Commit,
        parent: CommitId | None,
        title: str | None = None,
        numbers: tuple[int, ...] | None = None,
    ) -> UpstreamChange:
        message = commit.message.rstrip("\n")
        base = self._tree(parent) if parent else self._objects.tree_of({})
        if numbers is None:
            numbers = self._settings.pull_requests(commit.subject)
        paths = self._objects.changed(base, commit.tree)
        kept = [path for path in paths if self._exclude.covers_path(path)]
        before, after = self._objects.files(base, kept), self._objects.files(commit.tree, kept)
        return UpstreamChange(
            title=title or (f"#{numbers[0]}" if numbers else commit.oid[:12]),
            subject=message.partition("\n")[0],
            message=message,
            author=commit.author,
            date=commit.date,
            commit=commit.oid,
            parent=parent or commit.oid,
            pull_requests=numbers,
            base=base,
            source=commit.tree,
            before=before,
            after=after,
            read_diff=self._diff(before, after),
            left_out=tuple(path for path in paths if path not in before),
        )

    def of_patch(
        self,
        patch: Patch,
        parent: CommitId,
        applied: Applied,
        words: Wording,
        numbers: tuple[int, ...],
    ) -> UpstreamChange:
        """A patch that strictly applies to the tree of ``parent``, as ``applied`` says."""
        kept = [path for path in applied.paths if self._exclude.covers_path(path)]
        before = {path: applied.before[path] for path in kept}
        after: dict[str, Entry | None] = {path: applied.after[path] for path in kept}
        return UpstreamChange(
            title=patch.name,
            subject=words.message.partition("\n")[0],
            message=words.message,
            author=words.author,
            date=words.date,
            commit=None,
            parent=parent,
            pull_requests=numbers,
            base=self._tree(parent),
            source=applied.tree,
            before=before,
            after=after,
            read_diff=self._diff(before, after),
            left_out=tuple(path for path in applied.paths if path not in before),
        )

    def _tree(self, commit: CommitId) -> TreeId:
        return self._objects.commit_tree(commit)

    def _diff(self, before: Entries, after: Entries) -> Callable[[], bytes]:
        tree_of = self._objects.tree_of
        return lambda: self._mailer.diff(tree_of(before), tree_of(after))
