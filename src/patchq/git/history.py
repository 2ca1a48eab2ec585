"""Commits between two bases: which touch a path, in what order, and what they did to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from patchq.git.objects import decode_path
from patchq.git.process import Git
from patchq.model.diff import FileChange, scan
from patchq.model.ids import CommitId, TreeId, commit_id, commit_ids, tree_id

_FORMAT = "%x01%H%x00%P%x00%T%x00%cI%x00%s%x00"
_DETAILS = "%H%x00%P%x00%T%x00%cI%x00%s%x00%an <%ae>%x00%ad%x00%B"
_MANY = 40
"""So many paths git takes longer to look for than to list all that each commit touches."""
_PART = 1 << 20
"""So many bytes of a diff, or a little more, are read at once."""

_START = re.compile(rb"\n*\x01([0-9a-f]{40})")
_RAW = re.compile(rb"\n*(:+)[0-7]+(?: [0-7]+)+(?: [0-9a-f]{40,})+ ([A-Z]+)\d*")
_RECORD = re.compile(rb"^\x01([0-9a-f]{40})\n", re.MULTILINE)


@dataclass(frozen=True)
class Touch:
    """What a commit did to one path: status letter (A, D, M, R, C, T), old and new path."""

    status: str
    old: str
    new: str


@dataclass(frozen=True)
class CommitInfo:
    """A commit, with the touches of the paths that were asked for."""

    oid: CommitId
    parents: tuple[CommitId, ...]
    tree: TreeId
    date: str
    subject: str
    touches: tuple[Touch, ...] = ()


@dataclass(frozen=True)
class CommitDetails:
    """A commit with what its author said; ``date`` of the author in git's raw form."""

    info: CommitInfo
    author: str
    date: str
    message: str


@dataclass(frozen=True)
class CommitEdits:
    """What a commit did to some files, without context lines."""

    oid: CommitId
    files: tuple[FileChange, ...]


@dataclass(frozen=True)
class Walk:
    """Commits, oldest first, for any number of questions about the paths that they touch.

    ``order`` is the place among ``commits`` of each that counts, ``names`` what touches a path: the
    place of a commit, and that among its touches. A merge has none.
    """

    commits: Sequence[CommitInfo]
    order: Mapping[CommitId, int]
    names: Mapping[str, Sequence[tuple[int, int]]]

    @classmethod
    def of(cls, commits: Sequence[CommitInfo]) -> Walk:
        """All of ``commits``."""
        names: dict[str, list[tuple[int, int]]] = {}
        for place, commit in enumerate(commits):
            for number, touch in enumerate(commit.touches):
                for name in {touch.old, touch.new}:
                    names.setdefault(name, []).append((place, number))
        return cls(commits, {commit.oid: place for place, commit in enumerate(commits)}, names)

    def upto(self, tip: CommitId) -> Walk:
        """Those of them that ``tip``, which is one, has in its history."""
        found: set[CommitId] = set()
        ahead = [tip]
        while ahead:
            oid = ahead.pop()
            if oid in self.order and oid not in found:
                found.add(oid)
                ahead += self.commits[self.order[oid]].parents
        order = {oid: place for oid, place in self.order.items() if oid in found}
        return self if len(order) == len(self.order) else replace(self, order=order)

    def touching(self, paths: Iterable[str]) -> tuple[CommitInfo, ...]:
        """The commits that touch ``paths`` under any name, with the touches of these alone."""
        wanted = set(paths)
        while True:
            numbers: dict[int, set[int]] = {}
            for name in wanted:
                for place, number in self.names.get(name, ()):
                    numbers.setdefault(place, set()).add(number)
            found = tuple(
                replace(commit, touches=tuple(commit.touches[n] for n in sorted(numbers[place])))
                for place in sorted(numbers)
                if (commit := self.commits[place]).oid in self.order
            )
            other = _renamed(found)
            if other <= wanted:
                return found
            wanted |= other


class History:
    """Reads history from one store."""

    def __init__(self, git: Git):
        self._git = git
        self._walks: dict[tuple[CommitId, CommitId], Walk] = {}

    @cached_property
    def ends(self) -> frozenset[CommitId]:
        """The commits behind which a shallow store has no history (gitrepository-layout).

        git shows them as if they had added every file.
        """
        file = self._git.directory / "shallow" if self._git.directory else None
        return frozenset(commit_ids(file.read_text().split()) if file and file.is_file() else ())

    def touching(
        self, old: CommitId, new: CommitId, paths: Sequence[str], *, merges: bool = False
    ) -> tuple[CommitInfo, ...]:
        """Commits reachable from ``new`` and not from ``old`` that touch ``paths``, oldest first.

        With ``merges``, a merge counts as well, where a file is in it as in none of its parents.
        Names that a path had in between are followed: a commit that renames one of ``paths``
        brings its other name into the search.
        """
        asked = set(paths)
        while True:
            named = sorted(asked) if len(asked) <= _MANY else []
            found = narrow(self._log(old, new, named, merges), paths)
            names = asked | _renamed(found)
            if not named or names == asked:
                return found
            asked = names

    def walk(self, old: CommitId, new: CommitId, beyond: CommitId | None = None) -> Walk:
        """All commits of ``new`` that are not in ``old``; see :class:`Walk`.

        git is asked once for all that have ``new`` in the history of the same ``beyond``.
        """
        for end in dict.fromkeys((beyond or new, new)):
            if (old, end) not in self._walks:
                self._walks[old, end] = Walk.of(self._log(old, end, (), None))
            if new in self._walks[old, end].order:
                return self._walks[old, end].upto(new)
        return self._walks[old, new]

    def _log(
        self, old: CommitId, new: CommitId, paths: Sequence[str], merges: bool | None
    ) -> tuple[CommitInfo, ...]:
        """The commits that touch ``paths`` (any, where none are given), with all they touch.

        Merges with what they touch, without them, or (None) with nothing for them.
        """
        # --full-diff shows both ends of a rename although only one of them is asked for;
        # literal pathspecs, since a path may hold glob characters
        output = self._git.run(
            "--literal-pathspecs",
            "log",
            "--reverse",
            "--topo-order",
            *([] if merges is None else ["-c" if merges else "--no-merges"]),
            "--full-history",
            "--full-diff",
            "--raw",
            "-z",
            "-M",
            "--no-rename-empty",
            "--no-abbrev",
            "--no-ext-diff",
            "--no-color",
            f"--format={_FORMAT}",
            new,
            f"^{old}",
            "--",
            *paths,
        ).stdout
        return tuple(commit for commit in _commits(output) if commit.oid not in self.ends)

    def edits(self, commits: Sequence[CommitId], paths: Sequence[str]) -> tuple[CommitEdits, ...]:
        """What each of ``commits``, which are no merges, did to ``paths``, in their order."""
        if not commits:
            return ()
        output = self._git.run(
            "--literal-pathspecs",
            *("diff-tree", "--stdin", "-r", "--root", "-p", "-U0", "-M", "--no-rename-empty"),
            *("--no-ext-diff", "--no-textconv", "--no-color", "--format=%x01%H", "--", *paths),
            stdin="".join(f"{commit}\n" for commit in commits).encode(),
        ).stdout
        _, *records = _RECORD.split(output)
        return tuple(
            CommitEdits(commit_id(oid.decode()), scan(diff))
            for oid, diff in zip(records[::2], records[1::2], strict=True)
        )

    def mentioning(
        self, tip: CommitId, text: str, old: CommitId | None = None
    ) -> tuple[CommitInfo, ...]:
        """The commits up to ``tip`` (and not in ``old``) with ``text`` in their message.

        Newest first, without touches.
        """
        output = self._git.run(
            "log",
            "--topo-order",
            "-z",
            "--fixed-strings",
            f"--grep={text}",
            f"--format={_FORMAT}",
            tip,
            *([f"^{old}"] if old else []),
        ).stdout
        return tuple(_commits(output))

    def details(self, commit: CommitId) -> CommitDetails:
        """One commit, with author and message."""
        text = self._git.text("show", "-s", "--date=raw", f"--format={_DETAILS}", commit)
        oid, parents, tree, date, subject, author, moment, message = text.split("\0")
        info = CommitInfo(commit_id(oid), commit_ids(parents.split()), tree_id(tree), date, subject)
        return CommitDetails(info, author, moment, message)

    def between(self, old: CommitId, new: CommitId) -> tuple[CommitId, ...]:
        """The ids of the commits of ``new`` that are not in ``old``, oldest first, no merges."""
        return commit_ids(
            self._git.text(
                "rev-list", "--reverse", "--topo-order", "--no-merges", new, f"^{old}"
            ).split()
        )

    def merges(self, old: CommitId, new: CommitId) -> tuple[CommitInfo, ...]:
        """The merges of ``new`` that are not in ``old``, oldest first, without touches."""
        output = self._git.run(
            *("log", "--reverse", "--topo-order", "--merges", "-z", f"--format={_FORMAT}"),
            *(new, f"^{old}"),
        ).stdout
        return tuple(_commits(output))

    def parents(self, old: CommitId, new: CommitId) -> dict[CommitId, tuple[CommitId, ...]]:
        """Each commit of ``new`` that is not in ``old``, with its parents."""
        rows = self._git.text("rev-list", "--parents", new, f"^{old}").splitlines()
        found = (commit_ids(row.split()) for row in rows)
        return {oid: tuple(parents) for oid, *parents in found}

    def first_parents(self, old: CommitId, new: CommitId) -> tuple[CommitId, ...]:
        """The commits of ``new`` that ``old`` lacks, by first parents, oldest first; their ids."""
        return commit_ids(
            self._git.text("rev-list", "--reverse", "--first-parent", new, f"^{old}").split()
        )

    def merge_base(self, one: CommitId, other: CommitId) -> CommitId | None:
        """The best common ancestor of two commits, None if they have none."""
        result = self._git.run("merge-base", one, other, allow=(0, 1))
        found = result.stdout.decode().strip()
        return commit_id(found) if found else None

    def contains(self, commit: CommitId, descendant: CommitId) -> bool:
        """Whether ``commit`` is an ancestor of ``descendant`` (or the same)."""
        result = self._git.run("merge-base", "--is-ancestor", commit, descendant, allow=(0, 1))
        return result.status == 0

    def added_lines(self, commit: CommitId) -> frozenset[bytes]:
        """The lines that a commit adds to text files, stripped."""
        changes = self._added("diff-tree", "--root", "--no-commit-id", commit)
        hunks = (hunk for change in changes for hunk in change.hunks)
        return frozenset(line.strip() for hunk in hunks for line in hunk.added)

    def added_text(self, old: TreeId, new: TreeId) -> dict[str, bytes]:
        """All that the text files of ``new`` have beyond those of ``old``, by path.

        A renamed file is compared with what it was.
        """
        return {
            change.new: b"".join(line for hunk in change.hunks for line in hunk.added)
            for change in self._added("diff-tree", "-r", "-M", "--no-rename-empty", old, new)
            if change.new is not None
        }

    def _added(self, *question: str) -> Iterator[FileChange]:
        """What git says of ``question``, read in parts: between two releases it is megabytes."""
        diff = self._git.run(
            *question,
            *("-p", "-U0", "--no-color", "--no-ext-diff", "--no-textconv"),
        ).stdout
        begin = 0
        while begin < len(diff):
            # without context no line of a file begins so
            end = diff.find(b"\ndiff --git ", begin + _PART) + 1 or len(diff)
            yield from scan(diff[begin:end])
            begin = end

    def messages(self, commits: Sequence[CommitId]) -> dict[CommitId, str]:
        """The whole message of each of ``commits``, by id."""
        if not commits:
            return {}
        output = self._git.run(
            "log",
            "--no-walk=unsorted",
            "--stdin",
            "-z",
            "--format=%H%n%B",
            stdin="".join(f"{commit}\n" for commit in commits).encode(),
        ).stdout.decode(errors="replace")
        records = (record.partition("\n") for record in output.split("\0") if record)
        return {commit_id(oid): message for oid, _, message in records}

    def subjects(self, old: CommitId, new: CommitId) -> tuple[CommitInfo, ...]:
        """Every commit of ``new`` that is not in ``old``, oldest first, without touches."""
        output = self._git.run(
            "log", "--reverse", "--topo-order", "-z", f"--format={_FORMAT}", new, f"^{old}"
        ).stdout
        return tuple(_commits(output))

    def subject_lines(self, tip: CommitId) -> list[str]:
        """The subject of every commit up to ``tip``."""
        output = self._git.run("log", "-z", "--format=%s", tip).stdout
        return output.decode(errors="replace").split("\0")


def narrow(commits: Iterable[CommitInfo], paths: Iterable[str]) -> tuple[CommitInfo, ...]:
    """Those of ``commits`` that touch ``paths`` under any name, with the touches of these alone.

    ``commits`` are from :meth:`History.touching` for at least these paths: the answer is what it
    gives for them.
    """
    wanted = set(paths)
    while True:
        found = tuple(
            replace(commit, touches=touches)
            for commit in commits
            if (touches := tuple(t for t in commit.touches if t.old in wanted or t.new in wanted))
        )
        other = _renamed(found)
        if other <= wanted:
            return found
        wanted |= other


def _renamed(commits: Iterable[CommitInfo]) -> set[str]:
    """Both names of every file that the commits renamed."""
    return {
        name
        for commit in commits
        for touch in commit.touches
        if touch.status == "R"
        for name in (touch.old, touch.new)
    }


def _commits(output: bytes) -> Iterator[CommitInfo]:
    """Read ``log --raw -z`` in our format: fields are told apart by their place alone, as a subject
    or a path may hold any byte but NUL."""
    fields = iter(output.split(b"\0"))
    commit: CommitInfo | None = None
    touches: list[Touch] = []
    for field in fields:
        start = _START.fullmatch(field)
        if start:
            if commit is not None:
                yield replace(commit, touches=tuple(touches))
            parents, tree, date, subject = (next(fields) for _ in range(4))
            commit = CommitInfo(
                oid=commit_id(start[1].decode()),
                parents=commit_ids(parents.decode().split()),
                tree=tree_id(tree.decode()),
                date=date.decode(),
                subject=subject.decode(errors="replace"),
            )
            touches = []
        elif raw := _RAW.fullmatch(field):
            status = raw[2].decode() if raw[1] == b":" else _of_merge(raw[2].decode())
            old = next(fields)
            new = next(fields) if status in ("R", "C") else old
            touches.append(Touch(status, decode_path(old), decode_path(new)))
    if commit is not None:
        yield replace(commit, touches=tuple(touches))


def _of_merge(letters: str) -> str:
    """One status for what a merge did to a file, of those against each parent.

    git shows the name that a file has in the merge alone.
    """
    return letters[0] if letters[0] in "AD" and len(set(letters)) == 1 else "M"
