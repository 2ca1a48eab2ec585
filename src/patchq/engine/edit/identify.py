"""Which commit of an edit is which patch.

The trailer names it; a commit that lost it is known by its change, its author and date, or by
being a part of a patch that is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from patchq.engine.edit.commits import PatchCommit, read_patch_commit, with_change
from patchq.engine.edit.state import WORKTREE, Edit
from patchq.engine.series.message import slug, wording
from patchq.engine.series.naming import asked_name
from patchq.errors import FindingsError
from patchq.git.objects import EMPTY_TREE, Entries
from patchq.git.store import Store
from patchq.model.ids import TreeId
from patchq.model.patch import Patch
from patchq.model.workspace import SeriesDirectory


@dataclass(frozen=True)
class NamedCommit:
    """A commit as patch ``name``; ``source`` is the patch that it, or a part of it, was before."""

    commit: PatchCommit
    name: str
    source: str | None


class Identifier:
    """Names the commits of ``chain``, which came out of ``edit`` of the series ``old``."""

    def __init__(
        self,
        store: Store,
        edit: Edit,
        old: SeriesDirectory,
        chain: Sequence[PatchCommit],
        head: TreeId,
    ):
        self._store = store
        self._objects = store.objects
        self._edit = edit
        self._old = old
        self._chain = chain
        self._head_tree = head
        self._known: dict[str, PatchCommit] = {}

    def named(self) -> list[NamedCommit]:
        """Every commit with its name, in order."""
        told = [name for commit in self._chain for name in commit.names[:1]]
        missing = [name for name in self._edit.open_names if name not in told]
        taken: set[str] = set()
        named: list[NamedCommit] = []
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
            named.append(NamedCommit(commit, name, source))
        return named

    def _source(self, commit: PatchCommit, missing: Sequence[str]) -> str | None:
        """The patch of the old series that the commit was, or was a part of."""
        told = next(iter(commit.names), None)
        if told is not None and told in self._old.series.names:
            return told
        for matches in (self.same_change, self._same_author):
            found = [name for name in missing if matches(commit, name)]
            if len(found) == 1:
                return found[0]
        if told is not None:
            return None
        candidates = (*missing, *(n for n in self._edit.open_names if n not in missing))
        return next((name for name in candidates if self._is_part(commit, name)), None)

    def _name(
        self, commit: PatchCommit, source: str | None, missing: Sequence[str], taken: set[str]
    ) -> str:
        told = next(iter(commit.names), None)
        keeps = source == told or (told is None and source in missing)
        if source is not None and keeps and source not in taken:
            return source
        if told is not None and told not in self._old.series.names:
            wanted = asked_name(told)
        elif source is not None and commit.subject == self.commit(source).subject:
            wanted = source
        else:
            wanted = f"{slug(commit.subject) or 'patch'}.patch"
        stem = wanted.removesuffix(".patch")
        candidates = (wanted, *(f"{stem}-{number}.patch" for number in range(2, 1000)))
        used = taken | set(self._old.series.names)
        return next(name for name in candidates if name not in used)

    def commit(self, name: str) -> PatchCommit:
        """The commit that the patch ``name`` was when the edit began."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> PatchCommit:
        if name not in self._edit.commits:  # turned off by its guards
            patch = self._old.patches[name]
            return PatchCommit(None, (), EMPTY_TREE, wording(patch, author="", date=""), (name,))
        commit = read_patch_commit(self._objects, self._edit.commits[name])
        parent = read_patch_commit(self._objects, commit.parents[0])
        return with_change(self._objects, commit, parent.tree)

    def same_change(self, commit: PatchCommit, name: str) -> bool:
        """Whether ``commit`` does what the patch ``name`` did, wherever its lines are now."""
        old = self.commit(name)
        if (commit.before, commit.after) == (old.before, old.after):
            return True
        return commit.before.keys() == old.before.keys() and self._diff(commit) == self._diff(old)

    def _diff(self, commit: PatchCommit) -> list[tuple[object, ...]]:
        """What the change does, file by file, wherever its lines stand."""
        tree_of = self._objects.tree_of
        raw = self._store.mailer.diff(tree_of(commit.before), tree_of(commit.after))
        return [
            (
                *(change.old, change.new, change.old_mode, change.new_mode),
                [hunk.lines for hunk in change.hunks] or change.new_blob,
            )
            for change in Patch("", raw).files
        ]

    def _same_author(self, commit: PatchCommit, name: str) -> bool:
        """Amending and rebasing keep the author's name and date, to the second."""
        old = self.commit(name).words
        if (commit.words.author, commit.words.date) != (old.author, old.date):
            return False
        alike = (c for c in self._chain if not c.names and c.words.date == old.date)
        dates = Counter(self.commit(other).words.date for other in self._edit.open_names)
        return len(list(alike)) == 1 and dates[old.date] == 1

    def _is_part(self, commit: PatchCommit, name: str) -> bool:
        """Whether the patch made all of the commit's change, and its own is still all there."""
        old = self.commit(name)
        return (
            commit.before.keys() <= old.before.keys()
            and self._has(old.tree, commit.before, commit.after)
            and self._has(self._head_tree, old.before, old.after)
        )

    def is_in_head(self, name: str) -> bool:
        """Whether all that the patch ``name`` changed is in the last commit's tree."""
        old = self.commit(name)
        return self._has(self._head_tree, old.before, old.after)

    def _has(self, tree: TreeId, before: Entries, after: Entries) -> bool:
        """Whether all of a change is in ``tree``: merging it there changes nothing."""
        tree_of = self._objects.tree_of
        ours = tree_of(self._objects.files(tree, before))
        merged = self._store.merger.merge(tree_of(before), ours, tree_of(after))
        return merged.clean and merged.tree == ours

    def left(self, named: Sequence[NamedCommit]) -> list[str]:
        """The opened patches that no commit is any more."""
        kept = {item.source for item in named} | {item.name for item in named}
        return [name for name in self._edit.open_names if name not in kept]
