"""A branch or range of commits as patches: one a commit, with author, date, message and name.

Merges are taken along the first parents; what git-buildpackage (``Gbp-Pq: Name``), StGit
(``refs/patches``) or patchq itself (``Patch-Name``) called a commit's patch is its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from patchq.engine.importing.given.read import Given, Notice, free_name, told_name
from patchq.engine.series.message import slug
from patchq.engine.series.naming import patch_name
from patchq.errors import InputError, Where
from patchq.git.history import CommitDetails
from patchq.git.lender import Lender
from patchq.git.mail import Mailer
from patchq.git.store import Store
from patchq.model.header import defuse
from patchq.model.ids import CommitId, ObjectId, TreeId
from patchq.model.lock import Base
from patchq.model.patch import Patch

_ID = re.compile(r"[0-9a-f]{7,40}")
_PREFIXES = ("refs/heads/", "refs/tags/", "refs/remotes/", "refs/remotes/origin/", "refs/")


@dataclass(frozen=True)
class BranchPatches:
    """The patches of a range, and the commit that they begin behind."""

    base: CommitId
    patches: tuple[Given, ...]
    notices: tuple[Notice, ...]


class BranchReader:
    """Reads ranges from the repository ``lender``; its objects are borrowed by ``store``."""

    def __init__(self, store: Store, lender: Lender, bases: Mapping[str, Base]):
        store.borrow(lender)
        self._store = store
        self._lender = lender
        self._bases = bases
        self._history = store.history
        self._mailer = Mailer(store.git, store.objects)

    def knows(self, text: str) -> bool:
        """Whether ``text`` is a branch, a commit, or a range of them."""
        first, dots, last = text.replace("...", "..").partition("..")
        return self._find(last if dots else first) is not None

    def nearest(self, text: str) -> Base | None:
        """The last base of the lock that the branch is built on; None if it is on none."""
        tip = self._commit(text.replace("...", "..").rpartition("..")[2])
        for base in reversed(list(self._bases.values())):
            here = base.archive is None and self._store.objects.has(base.commit)
            if here and self._history.contains(base.commit, tip):
                return base
        return None

    def read(self, text: str, onto: Base) -> BranchPatches:
        """The commits of a range ``A..B``, or those of branch ``B`` that ``onto`` lacks.

        Raises :class:`InputError` if they are not to be found, or there are none.
        """
        first, dots, last = text.replace("...", "..").partition("..")
        tip = self._commit(last or "HEAD") if dots else self._commit(first)
        start = self._commit(first) if dots and first else self._fork(tip, onto)
        commits = self._history.first_parents(start, tip)
        if not commits:
            raise InputError(f"there is no commit in {text}")
        branch = last if dots else first
        stack = self._lender.refs(f"refs/patches/{branch.removeprefix('refs/heads/')}/")
        names = {CommitId(oid): name for name, oid in stack.items() if not name.endswith(".log")}
        patches: list[Given] = []
        notices: list[Notice] = []
        for oid in commits:
            given = self._commit_patch(oid, onto, names, notices)
            if given is not None:
                taken = {other.name for other in patches}
                patches.append(replace(given, name=free_name(given.name, taken)))
        for oid, name in names.items():
            if oid not in commits and not self._history.contains(oid, tip):
                text_ = f"the patch {name} of the stack is not applied: skipped"
                notices.append(Notice(Where(branch), text_))
        return BranchPatches(start, tuple(patches), tuple(notices))

    def _fork(self, tip: CommitId, onto: Base) -> CommitId:
        there = onto.archive is None and self._store.objects.has(onto.commit)
        found = self._history.merge_base(onto.commit, tip) if there else None
        if found is None:
            raise InputError(
                f"the branch has no commit in common with {onto.name}",
                hint="Name the range: TAG..BRANCH.",
            )
        return onto.commit

    def _commit_patch(
        self, oid: CommitId, onto: Base, names: Mapping[CommitId, str], notices: list[Notice]
    ) -> Given | None:
        details = self._history.details(oid)
        parents = details.info.parents
        place = f"commit {oid[:12]}"

        def say(text: str) -> None:
            notices.append(Notice(Where(place), text))

        subject = details.info.subject
        if len(parents) > 1 and self._is_upstream(parents[1:]):
            for text in self._merge_of_upstream(details, onto):
                say(text)
            return None
        base = self._tree(parents[0]) if parents else self._store.objects.tree_of({})
        if base == details.info.tree:
            say(f"changes nothing ({subject}): skipped")
            return None
        if len(parents) > 1:
            say(f"a merge ({subject}): one patch of all that it brought to its first parent")
        head, _, body = details.message.partition("\n")
        raw = self._mailer.mail(
            base,
            details.info.tree,
            message=f"{head}\n{defuse(body)}",
            author=details.author,
            date=details.date,
        )
        header = Patch("", raw).header
        if any(value.strip().lower() == "ignore" for value in header.fields("Gbp-Pq")):
            say(f"Gbp-Pq: Ignore ({subject}): skipped")
            return None
        told = names.get(oid) or told_name(header) or slug(header.subject) or oid[:12]
        return Given(place, patch_name(told), raw)

    def _is_upstream(self, parents: tuple[CommitId, ...]) -> bool:
        """Whether all of the side that was merged in is upstream's."""
        bases = [b.commit for b in self._bases.values() if self._store.objects.has(b.commit)]
        return all(
            any(self._history.contains(parent, base) for base in bases) for parent in parents
        )

    def _merge_of_upstream(self, details: CommitDetails, onto: Base) -> Iterator[str]:
        subject = details.info.subject
        yield f"a merge of upstream ({subject}): skipped, {onto.name} has that side"
        ours, theirs = details.info.parents[:2]
        base = self._history.merge_base(ours, theirs)
        if base is None:
            return
        merged = self._store.merger.merge(self._tree(base), self._tree(ours), self._tree(theirs))
        if not merged.clean:
            paths = ", ".join(merged.conflicted_paths)
            yield f"this merge had conflicts; how they were solved is in no patch: see {paths}"
        elif merged.tree != details.info.tree:
            changed = ", ".join(self._store.objects.changed(merged.tree, details.info.tree))
            yield f"this merge itself changes something, which is in no patch: see {changed}"

    def _tree(self, commit: CommitId) -> TreeId:
        return self._history.details(commit).info.tree

    def _commit(self, name: str) -> CommitId:
        found = self._find(name)
        if found is None:
            raise InputError(
                f"there is no file, directory, branch or commit {name!r}",
                hint=f"Branches and commits were looked for in {self._lender.directory}; "
                "--repo names another repository.",
            )
        return found

    def _find(self, name: str) -> CommitId | None:
        if name in self._bases:
            return self._bases[name].commit
        if name == "HEAD":
            ref = self._lender.head()
            oid = self._lender.ref(ref) if ref else self._lender.ref("HEAD")
        else:
            full = (name,) if name.startswith("refs/") else (f"{p}{name}" for p in _PREFIXES)
            oid = next(filter(None, map(self._lender.ref, full)), None)
        if oid is None and _ID.fullmatch(name):
            oid = ObjectId(name)
        return self._store.resolve(oid) if oid else None
