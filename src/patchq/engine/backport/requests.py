"""What a backport is asked for, found upstream: a pull request, a commit, a range.

A number in a subject is upstream's convention and only a hint: the commit must change something,
and a later commit that takes it out again (its content says so, not its words) is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from patchq.engine.backport.upstream_change import ChangeReader, UpstreamChange
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream import is_url, local_path
from patchq.errors import InputError, PatchqError, UpstreamError
from patchq.git.history import CommitInfo
from patchq.git.lender import find_lender
from patchq.git.remote import Remote
from patchq.model.ids import CommitId

PULL_REFS = "refs/upstream/pull/"
"""Where heads of pull requests are kept in the store."""

_NUMBER = re.compile(r"#?(\d{1,6})")
_HEAD = re.compile(r"(?:refs/)?pull/(\d+)(?:/head)?")
_PARENT = re.compile(r"(.+?)(?:\^|~([0-9]{1,4}))")
_ID = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True)
class Located:
    """The changes that one request stands for, in order, and what is to be said of them."""

    changes: tuple[UpstreamChange, ...]
    notices: tuple[str, ...] = ()


class Sources:
    """Finds changes; ``main`` is the tip of upstream's main branch, if one is known."""

    def __init__(
        self, project: Project, changes: ChangeReader, main: CommitId | None, *, terminal: bool
    ):
        self._project = project
        self._store = project.store
        self._changes = changes
        self._history = project.store.history
        self._main = main
        self._terminal = terminal

    def find(self, request: str) -> Located:
        """The changes of ``request``.

        A number is a pull request, ``pull/N`` its head as upstream has it, ``A..B`` the commits
        between two, anything else a commit. Raises :class:`InputError` or :class:`UpstreamError`
        if it is not to be found.
        """
        if match := _NUMBER.fullmatch(request):
            return self._pull_request(int(match[1]))
        if match := _HEAD.fullmatch(request):
            return Located((self._head(int(match[1])),))
        if ".." in request:
            return self._range(request)
        return Located((self._changes.commit(self._commit(request)),))

    def _commit(self, name: str) -> CommitId:
        """The commit of an id, a base's name, or ``NAME^`` and ``NAME~N`` for a first parent."""
        if match := _PARENT.fullmatch(name):
            found = self._commit(match[1])
            for _ in range(1 if match[2] is None else int(match[2])):
                found = self._parent(found, name)
            return found
        return self._named(name)

    def _parent(self, commit: CommitId, name: str) -> CommitId:
        parents = self._history.details(commit).info.parents
        if not parents:
            raise InputError(f"{name} goes past the first commit, {commit[:12]}")
        return parents[0]

    def _named(self, name: str) -> CommitId:
        found = self._store.resolve(name) if _ID.fullmatch(name) else None
        if found is None and name in self._project.lock.names:
            found = self._project.lock.base(name).commit
        if found is None:
            raise InputError(
                f"no upstream commit is known as {name!r}",
                hint="Give a PR number, a commit id, or a range A..B of them.",
            )
        return found

    def _range(self, request: str) -> Located:
        first, _, last = request.replace("...", "..").partition("..")
        commits = self._history.between(self._commit(first), self._commit(last))
        if not commits:
            raise InputError(
                f"there is no commit in {request}",
                hint="A..B has the commits of B that A does not have: perhaps the two are the "
                "wrong way round.",
            )
        return Located(tuple(map(self._changes.commit, commits)))

    def _pull_request(self, number: int) -> Located:
        if self._main is None:
            raise InputError(
                f"#{number} cannot be looked for: upstream's main branch is not known here",
                hint="Run `patchq fetch`, name it with --main, or give the commit.",
            )
        mentions = self._history.mentioning(self._main, str(number))
        notices = []
        for commit in mentions:
            numbers = self._project.settings.pull_requests(commit.subject)
            if number not in (numbers[:1] + numbers[-1:]):
                continue
            change = self._changes.commit(commit.oid)
            undone = self._undone(change, commit, mentions)
            if undone is not None:
                notices.append(
                    f"{commit.oid[:12]} ({commit.subject}) was removed again by {undone.oid[:12]}"
                )
            elif change.after or change.left_out:
                return Located((change,), tuple(notices))
        try:
            return Located((self._head(number),), tuple(notices))
        except PatchqError as error:
            raise _not_found(number, self._main, notices, error) from error

    def _undone(
        self, change: UpstreamChange, commit: CommitInfo, mentions: Sequence[CommitInfo]
    ) -> CommitInfo | None:
        """The later commit that took the change out again, going by its content."""
        later = mentions[: mentions.index(commit)]
        tree_of = self._store.objects.tree_of
        for other in later:
            revert = self._changes.commit(other.oid)
            same = change.after.keys() & revert.after.keys()
            if not same:
                continue
            files = self._store.objects.files
            with_it, without = files(change.source, same), files(change.base, same)
            ours, theirs = files(revert.base, same), files(revert.source, same)
            taken = self._store.merger.merge(tree_of(with_it), tree_of(ours), tree_of(without))
            if taken.clean and taken.tree == tree_of(theirs) != tree_of(ours):
                return other
        return None

    def _head(self, number: int) -> UpstreamChange:
        """The head of a pull request, in the repository that the lock names and nowhere else."""
        oid = self._fetched(number)
        base = self._history.merge_base(self._main, oid) if self._main else None
        if base is None:
            raise UpstreamError(
                f"the head of #{number} ({oid[:12]}) has no commit in common with main",
                hint="Download its .diff or .patch and give it with --file.",
            )
        if base == oid:
            raise InputError(
                f"the head of #{number} ({oid[:12]}) is in main already",
                hint="It was merged under another number or none: give the commits, or A..B.",
            )
        return self._changes.squashed(base, oid, f"#{number}", (number,))

    def _fetched(self, number: int) -> CommitId:
        ref, upstream = f"refs/pull/{number}/head", self._project.lock.upstream
        if not is_url(upstream):
            lender = find_lender(self._project.workspace.root / local_path(upstream))
            oid = lender.ref(ref)
            if oid is None:
                raise UpstreamError(f"there is no {ref} in {upstream}")
            if self._store.objects.has(oid):
                return CommitId(oid)
            upstream = str(lender.directory)
        remote = Remote(upstream, self._store.directory, terminal=self._terminal)
        kept = f"{PULL_REFS}{number}"
        remote.fetch([f"+{ref}:{kept}"])
        found = self._store.resolve(kept)
        if found is None:
            raise UpstreamError(f"{ref} of {upstream} is no commit")
        return found


def _not_found(number: int, main: str, notices: Sequence[str], error: PatchqError) -> UpstreamError:
    past = f" ({'; '.join(notices)})" if notices else ""
    return UpstreamError(
        f"#{number} is not found: no commit on main up to {main[:12]} ends with its number{past}, "
        f"and its head is not available ({error.message})",
        hint="If it is open or in another repository, download its .diff or .patch and give it "
        "with --file; if main is newer than what is here, run `patchq fetch` or name it (--main).",
    )
