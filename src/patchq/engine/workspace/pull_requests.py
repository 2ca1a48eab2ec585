"""Which pull requests landed, and which one brought a commit.

Subjects say it, or, where they do not, the merge that brought the commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

from patchq.git.history import History
from patchq.kept_answers import KeptAnswers, key_of
from patchq.model.ids import CommitId
from patchq.model.settings import Settings


class PullRequests:
    """The pull requests merged between two commits."""

    def __init__(self, history: History, settings: Settings, old: CommitId, new: CommitId):
        self._history = history
        self._settings = settings
        self._old = old
        self._new = new

    def of(self, commit: CommitId) -> tuple[int, ...]:
        """The pull requests of the merge that brought ``commit``, or that it is.

        If a branch was merged into another before that one was merged, the inner one counts,
        unless it has no number.
        """
        if not self._numbers:
            return ()
        merges = self._merged_by.get(commit, ())
        return next((self._numbers[merge] for merge in merges if merge in self._numbers), ())

    @cached_property
    def _numbers(self) -> Mapping[CommitId, tuple[int, ...]]:
        """What each merge says, if it does."""
        oids = [merge.oid for merge in self._history.merges(self._old, self._new)]
        messages = self._history.messages(oids)
        found = {oid: self._settings.merged_pull_requests(messages[oid]) for oid in oids}
        return {oid: numbers for oid, numbers in found.items() if numbers}

    @cached_property
    def _merged_by(self) -> Mapping[CommitId, tuple[CommitId, ...]]:
        """The merges that brought each commit, the innermost first; a merge brought itself too."""
        parents = self._history.parents(self._old, self._new)
        found: dict[CommitId, tuple[CommitId, ...]] = {}
        waiting: list[tuple[CommitId, tuple[CommitId, ...]]] = [(self._new, ())]
        while waiting:
            tip, around = waiting.pop()
            # what a commit was found by brought all that comes before it on its line
            line = list(takewhile(lambda oid: oid not in found, _first_parents(tip, parents)))
            for oid in line:
                found[oid] = (oid, *around) if len(parents[oid]) > 1 else around
            # the oldest merge is looked at first: what it brought is in those after it
            for oid in line:
                waiting += [(side, found[oid]) for side in parents[oid][1:] if side in parents]
        return found


def _first_parents(
    tip: CommitId, parents: Mapping[CommitId, tuple[CommitId, ...]]
) -> Iterator[CommitId]:
    while tip in parents:
        yield tip
        if not parents[tip]:
            return
        tip = parents[tip][0]


def landed_numbers(
    history: History, settings: Settings, tip: CommitId, cache: Path
) -> frozenset[int]:
    """The pull requests that the subjects of the history of ``tip`` end with; kept in ``cache``."""
    kept = KeptAnswers[frozenset[int]](cache / "landed", "patchq.landed/1", _read, sorted)
    key = key_of([tip, sorted(history.ends), settings.pr_pattern])
    found = kept.get(key)
    if found is None:
        subjects = history.subject_lines(tip)
        found = frozenset(number for one in subjects for number in settings.pull_requests(one))
        kept.put(key, found)
    return found


def _read(numbers: Any) -> frozenset[int]:
    return frozenset(map(int, numbers))
