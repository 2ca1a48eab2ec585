"""When a backport ends: with the first base that has what it brought."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from patchq.engine.workspace.main_branch import main_tip
from patchq.engine.workspace.project import Project
from patchq.git.history import CommitInfo
from patchq.git.process import require_version
from patchq.kept_answers import KeptAnswers, key_of
from patchq.model.ids import CommitId, commit_id, commit_ids, tree_id
from patchq.model.lock import Base
from patchq.model.patch import Patch

_ORIGIN = re.compile(r"\bcommit:([0-9a-f]{40})\b")


class End(Enum):
    """How far upstream is with it."""

    SHIPPED = "shipped"
    IN_MAIN = "in-main"
    OPEN = "open"


@dataclass(frozen=True)
class Ending:
    """When a patch ends; ``base`` is the first locked base that has it, ``commit`` what brought it.

    ``there`` of ``total`` changes are in that base, told by content, where no history tells.
    """

    end: End
    base: str | None = None
    commit: CommitInfo | None = None
    there: int = 0
    total: int = 0

    def __str__(self) -> str:
        where = f" ({self.commit.oid[:9]})" if self.commit else ""
        if self.end is End.OPEN:
            return "open"
        if self.end is End.IN_MAIN:
            since = self.commit.date[:10] if self.commit else "?"
            return f"in main since {since}{where}, next tag"
        told = f", {self.there} of {self.total} changes by content" if self.total else ""
        return f"in {self.base}{where}{told}"


def ends_of(project: Project, patch: Patch, main: str | None = None) -> Ending | None:
    """When ``patch`` ends: the first locked base that has it, main, or not yet.

    ``main`` names upstream's main branch where the store's or lender's is not the one. None for a
    patch that names neither a pull request (``X-Upstream-PR``) nor an upstream commit (``Origin``).
    """
    numbers = frozenset(patch.header.upstream_prs)
    named = _ORIGIN.search(patch.header.field("Origin") or "")
    if not numbers and named is None:
        return None
    origin = commit_id(named[1]) if named else None
    tip = main_tip(project, main)
    kept = KeptAnswers(project.cache / "endings", "patchq.endings/1", _read, _write)
    key = key_of([sorted(numbers), origin, tip, _facts(project, origin)])
    ending = kept.get(key)
    if ending is None:
        ending = _Endings(project, tip).of(numbers, origin)
        kept.put(key, ending)
    return ending


def _facts(project: Project, origin: CommitId | None) -> list[object]:
    """What else an ending depends on: the bases, what is in the store, the settings."""
    store, settings = project.store, project.settings
    return [
        [
            [
                *(base.name, base.commit, base.tree, base.date),
                store.objects.has(base.commit),
                base.archive and [base.archive.covers, base.archive.excludes],
            ]
            for base in project.lock.bases
        ],
        origin is not None and store.objects.has(origin),
        sorted(store.history.ends),
        settings.pr_pattern,
        settings.merge_pattern,
        settings.backport_exclude,
        require_version(),
    ]


def _read(fields: dict[str, Any]) -> Ending:
    commit = fields["commit"]
    return Ending(
        End(fields["end"]),
        fields["base"],
        commit
        and CommitInfo(
            commit_id(commit["oid"]),
            commit_ids(commit["parents"]),
            tree_id(commit["tree"]),
            commit["date"],
            commit["subject"],
        ),
        fields["there"],
        fields["total"],
    )


def _write(ending: Ending) -> dict[str, Any]:
    return {**asdict(ending), "end": ending.end.value}


class _Endings:
    def __init__(self, project: Project, main: CommitId | None):
        self._project = project
        self._store = project.store
        self._history = project.store.history
        self._main = main

    def of(self, numbers: frozenset[int], origin: CommitId | None) -> Ending:
        landed = self._landed(numbers, origin)
        previous: Base | None = None
        for base in self._project.lock.bases:
            if not self._store.objects.has(base.commit):
                continue
            if base.archive is None:
                found = landed if self._has(base, landed) else None
                found = found or self._picked(previous, base, numbers)
                if found is not None:
                    return Ending(End.SHIPPED, base.name, found)
                previous = base
            elif landed is not None and landed.date <= base.date:
                there, total = self._content(base, landed)
                if 2 * there > total:
                    return Ending(End.SHIPPED, base.name, landed, there, total)
        return Ending(End.IN_MAIN, commit=landed) if landed else Ending(End.OPEN)

    def _landed(self, numbers: frozenset[int], origin: CommitId | None) -> CommitInfo | None:
        """The commit of main that brought it; the head of a pull request is none."""
        if origin is not None and self._store.objects.has(origin) and self._is_in_main(origin):
            return self._history.details(origin).info
        if self._main is None:
            return None
        for number in sorted(numbers):
            for commit in self._history.mentioning(self._main, f"#{number}"):
                if number in self._project.settings.pull_requests(commit.subject)[-1:]:
                    return commit
        return None

    def _is_in_main(self, commit: CommitId) -> bool:
        if self._main is not None and self._history.contains(commit, self._main):
            return True
        # a main that is older than the last base, or not known, says nothing
        info = self._history.details(commit).info
        return bool(self._project.settings.pull_requests(info.subject))

    def _has(self, base: Base, landed: CommitInfo | None) -> bool:
        return landed is not None and self._history.contains(landed.oid, base.commit)

    def _picked(
        self, previous: Base | None, base: Base, numbers: frozenset[int]
    ) -> CommitInfo | None:
        """A commit of the release branch itself that names one of the pull requests."""
        if previous is None:
            return None
        for number in numbers:
            found = self._history.mentioning(base.commit, f"#{number}", previous.commit)
            for commit in found:
                if number in self._project.settings.pull_requests(commit.subject):
                    return commit
        return None

    def _content(self, base: Base, landed: CommitInfo) -> tuple[int, int]:
        """How many changes of a commit an archive has, of those in files that it covers."""
        # the most of a backport, and few bases are archives
        from patchq.engine.backport.apply_change import Lander
        from patchq.engine.backport.missing_commits import Between
        from patchq.engine.backport.upstream_change import ChangeReader

        change = ChangeReader(self._store, self._project.settings).commit(landed.oid)
        lander = Lander(self._project, base, Between(self._store, None, change.parent))
        return lander.there(change, base.tree)
