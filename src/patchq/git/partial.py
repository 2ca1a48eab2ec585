"""What a partial store lacks, and how it comes: in batches, never one by one.

A server that allows it is asked for commits and trees alone (git-rev-list(1), ``--filter``). git
itself would then fetch each file at the moment it misses it; ours knows of no remote while it
works, so that it cannot. What a command needs is known before: the files of the bases it is
about, and of the commits between them. What is missing of those comes in one fetch.

Should a command turn out to need more, its next fetch takes the files of all locked bases and what
lies between them, and the one after that the rest of history: there are three at most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from patchq.errors import UnavailableError, UpstreamError
from patchq.git.lender import borrowed
from patchq.git.process import Git
from patchq.git.raw_objects import missing_objects
from patchq.git.remote import Remote
from patchq.kept_answers import KeptAnswers
from patchq.model.ids import CommitId, ObjectId, commit_id, commit_ids

TIPS = ("refs/upstream/bases", "refs/upstream/main")
"""The refs of the store whose history is upstream's."""

PULLS = "refs/upstream/pull"
"""Those of pull requests, which may stand anywhere beside it."""

_OBJECT = re.compile(rb"\b[0-9a-f]{40}\b")

Showing = Callable[[str], AbstractContextManager[object]]
"""What is done around a fetch, given words for it."""


def silently(_words: str) -> AbstractContextManager[object]:
    """Show nothing."""
    return nullcontext()


@dataclass(frozen=True)
class ObjectSource:
    """Where missing objects come from: ``url``, or nowhere; ``terminal`` is as for `Remote`."""

    url: str | None
    terminal: bool = False
    showing: Showing = silently


@dataclass(frozen=True)
class _Scope:
    """What a batch takes, in words and as the ids missing of it now."""

    words: str
    find: Callable[[], list[ObjectId]]


class MissingObjects:
    """The objects that history names and the store at ``directory`` lacks."""

    def __init__(self, git: Git, directory: Path, supply: ObjectSource):
        self._git = git
        self._directory = directory
        self._supply = supply
        self._batches = 0
        self._asked: set[CommitId] = set()
        self._partial = False
        self._promised: list[ObjectId] | None = None

    def _possible(self) -> bool:
        """Whether a pack came from a server that was asked for a part (gitformat-pack(5))."""
        if not self._partial:
            self._partial = any(any(pack.glob("*.promisor")) for pack in self._packs)
        return self._partial

    @cached_property
    def _packs(self) -> tuple[Path, ...]:
        """The pack directories of the store and of all that it borrows from."""
        found: dict[Path, None] = {}
        waiting = [self._directory / "objects"]
        while waiting:
            objects = waiting.pop()
            if objects / "pack" not in found:
                found[objects / "pack"] = None
                waiting += borrowed(objects)
        return tuple(found)

    @cached_property
    def _known(self) -> _Known:
        return _Known(self._directory, self._packs)

    def close(self, commits: Iterable[CommitId]) -> None:
        """Bring what is missing of the files of ``commits``, and of the commits between them.

        Raises :class:`UpstreamError` if it is not available.
        """
        asked = frozenset(commits)
        if not asked or not self._possible():
            return
        self._asked |= asked
        if self._known.covers(asked):
            return
        if self._missing_in(self._between(asked)):
            self._fill(min(self._batches, len(self._scopes) - 1))
        self._known.add(asked)

    def close_all(self, commits: Iterable[CommitId]) -> None:
        """Bring what is missing of the whole history of ``commits`` and of all locked bases."""
        self._asked |= set(commits)
        if self._possible():
            self._fill(len(self._scopes) - 1)

    def close_named(self, beginnings: Iterable[str]) -> None:
        """Bring the missing objects of history whose ids begin with one of ``beginnings``.

        They are a batch of their own: a patch names blobs that may stand anywhere in history.
        """
        starts = tuple(filter(None, beginnings))
        if not starts or not self._possible():
            return
        if self._promised is None:
            self._promised = self._missing()
        missing = [oid for oid in self._promised if oid.startswith(starts)]
        if missing:
            self._fetch(missing, f"fetching {_files(missing)} that a patch names")

    def close_for(self, words: bytes) -> bool:
        """Whether an object that ``words`` (of git) name was missing, and is here now.

        Raises :class:`UpstreamError` if it is not available.
        """
        if not self._possible():
            return False
        lost = self._absent(_OBJECT.findall(words))
        # nobody asked for it, so that it is in none but the wider ones
        for batch in range(max(self._batches, 1), len(self._scopes)) if lost else ():
            # an id that history does not have is no reason to fetch
            if not lost.isdisjoint(self._scopes[batch].find()):
                self._fill(batch)
                return True
        return False

    @cached_property
    def _scopes(self) -> tuple[_Scope, ...]:
        """What the batches of a run take, one after another."""
        return (
            _Scope("of the bases and what is between them", self._missing_as_asked),
            _Scope("of all locked bases and what is between them", self._missing_nearby),
            _Scope("of the rest of history", self._missing),
        )

    def _fill(self, batch: int) -> None:
        scope = self._scopes[batch]
        self._batches = batch + 1
        missing, before = scope.find(), None
        # once, but for a lender that lacks trees: they come first, then what is in them
        while missing and missing != before:
            self._fetch(missing, f"fetching {_files(missing)} {scope.words}")
            missing, before = scope.find(), missing
        if batch:
            self._known.add(self._tips())

    def _fetch(self, missing: list[ObjectId], words: str) -> None:
        self._promised = None
        lacking = f"{_files(missing)} of upstream that this needs are not here"
        if self._supply.url is None:
            raise UnavailableError(
                f"{lacking}: a partial clone lends its objects, and has not got them",
                hint="Complete it, or lend a whole clone with --upstream PATH; --upstream URL lets "
                "them be fetched.",
            )
        remote = Remote(self._supply.url, self._directory, terminal=self._supply.terminal)
        try:
            with self._supply.showing(words):
                remote.bring(missing)
        except UpstreamError as error:
            raise UnavailableError(
                f"{lacking}, and could not be fetched: {error.message}",
                hint="Run it again with the network, or lend a whole clone with --upstream PATH. "
                "`patchq fetch --whole` brings all that may ever be needed.",
            ) from error

    def _tips(self) -> frozenset[CommitId]:
        """What history we know: the store's own refs, and the commits asked for in this run."""
        return self._commits(*TIPS) | self._asked

    def _commits(self, *refs: str) -> frozenset[CommitId]:
        shown = self._git.text(
            "for-each-ref",
            "--format=%(if)%(*objectname)%(then)%(*objectname) %(*parent)"
            "%(else)%(objectname) %(parent)%(end)",
            *refs,
        )
        rows = (line.split() for line in shown.splitlines())
        # what was imported from an archive has no parents, and nothing between it and others
        return frozenset(commit_id(commit) for commit, *parents in rows if parents)

    def _between(self, commits: Collection[CommitId]) -> frozenset[CommitId]:
        """``commits`` and those between any two of them: what some of them reach and not all."""
        if len(commits) < 2:
            return frozenset(commits)
        shared = self._git.run("merge-base", "--octopus", *commits, allow=(0, 1)).stdout.split()
        return self._reached(commits, commit_ids(commit.decode() for commit in shared)).union(
            commits
        )

    def _reached(
        self, commits: Iterable[CommitId], without: Iterable[CommitId]
    ) -> frozenset[CommitId]:
        """What ``commits`` reach and ``without`` do not, and the parents of it.

        A commit is read as a change of its parent.
        """
        excluded = [f"^{commit}" for commit in without]
        listed = self._git.text("rev-list", "--boundary", *sorted(commits), *excluded)
        return frozenset(commit_ids(line.removeprefix("-") for line in listed.splitlines()))

    def _missing_as_asked(self) -> list[ObjectId]:
        """What is missing between all that was asked for."""
        return self._missing_in(self._between(self._asked))

    def _missing_nearby(self) -> list[ObjectId]:
        """What is missing between all that we know, and in pull requests beside it."""
        tips, pulls = self._tips(), self._commits(PULLS)
        beside = self._reached(pulls, tips) if pulls and tips else pulls
        return self._missing_in(self._between(tips) | beside)

    def _missing_in(self, commits: Iterable[CommitId]) -> list[ObjectId]:
        """What is missing of the trees of ``commits``."""
        return self._lacking(commits, "--no-walk")

    def _missing(self) -> list[ObjectId]:
        """What is missing of all history that we know."""
        return self._lacking(self._tips() | self._commits(PULLS))

    def _lacking(self, commits: Iterable[CommitId], *options: str) -> list[ObjectId]:
        listed = self._git.run(
            *("rev-list", "--objects", "--no-object-names", "--missing=print", *options),
            "--stdin",
            stdin="".join(f"{commit}\n" for commit in sorted(commits)).encode(),
        ).stdout
        return [
            ObjectId(line[1:].decode()) for line in listed.splitlines() if line.startswith(b"?")
        ]

    def _absent(self, ids: Iterable[bytes]) -> frozenset[ObjectId]:
        """Those of ``ids`` of which no object is here."""
        return frozenset(missing_objects(self._git, [ObjectId(oid.decode()) for oid in ids]))


_KEY = "known"


class _Known:
    """Sets of commits found to be whole with all between them, kept for later runs.

    They hold for as long as every pack of then is there, and history ends where it did.
    """

    def __init__(self, directory: Path, packs: Iterable[Path]):
        self._cache = KeptAnswers(directory / "whole", "patchq.whole/1", dict[str, Any], dict)
        self._shallow = directory / "shallow"
        self._packs = packs
        self._sets = self._load()

    def covers(self, commits: frozenset[CommitId]) -> bool:
        return any(commits <= known for known in self._sets)

    def add(self, commits: frozenset[CommitId]) -> None:
        if self.covers(commits):
            return
        self._sets = [known for known in self._sets if not known <= commits] + [commits]
        facts = {
            "packs": sorted(self._names()),
            "ends": self._ends(),
            "whole": [sorted(known) for known in self._sets],
        }
        self._cache.put(_KEY, facts)

    def _load(self) -> list[frozenset[str]]:
        facts = self._cache.get(_KEY)
        if (
            facts is None
            or not set(facts["packs"]) <= set(self._names())
            or facts["ends"] != self._ends()
        ):
            return []
        return [frozenset(known) for known in facts["whole"]]

    def _names(self) -> Iterator[str]:
        return (str(pack) for directory in self._packs for pack in directory.glob("*.pack"))

    def _ends(self) -> str:
        return self._shallow.read_text() if self._shallow.is_file() else ""


def _files(missing: Collection[str]) -> str:
    return "1 file" if len(missing) == 1 else f"{len(missing):,} files"
