"""Three-way merges of trees in the object database, by ``git merge-tree``.

A merge is a question put to git: given this base, what is *theirs* on top of *ours*? Base and
sides are trees of the touched paths only; synthetic commits carry them, because git before 2.40
finds the base of a merge from history alone. Those commits are the same on every machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import TypeVar

from patchq.git.objects import Entry, Objects, decode_path, encode_path
from patchq.git.process import Git, GitFailedError, Result
from patchq.model.ids import BlobId, ObjectId, TreeId, tree_id
from patchq.scratch import scratch_root

_FILE = "100644"
_REGULAR = frozenset({_FILE, "100755"})

_Side = TypeVar("_Side", TreeId, BlobId)
_Blobs = tuple[BlobId, BlobId, BlobId]
"""One file: base, ours, theirs."""


class MergeState(Enum):
    """What the merge of a change onto a tree gives, or what is known of it."""

    EMPTY = "empty"  # nothing: the tree has it
    APPLIES = "applies"
    COLLIDES = "collides"
    ABSENT = "absent"  # none of the files it edits is there
    NOT_EMPTY = "not empty"  # one of the others: which of them was not asked
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class MergeQuestion:
    """A merge to be made: three trees."""

    base: TreeId
    ours: TreeId
    theirs: TreeId


@dataclass(frozen=True)
class Stage:
    """One side of a conflicted path: 1 base, 2 ours, 3 theirs (as in git's index)."""

    number: int
    mode: str
    oid: ObjectId


@dataclass(frozen=True)
class Merged:
    """The answer: the merged tree.

    Where it is not clean there are conflict markers inside; what they call the sides means nothing.
    """

    tree: TreeId
    clean: bool = True
    conflicts: tuple[tuple[str, Stage], ...] = ()

    @property
    def conflicted_paths(self) -> tuple[str, ...]:
        """The paths that conflict, each once, in git's order."""
        return tuple(dict.fromkeys(path for path, _ in self.conflicts))


@dataclass(frozen=True)
class _Edits:
    """A merge in which nothing but contents of files differs: each with its three blobs."""

    question: MergeQuestion
    files: Mapping[str, _Blobs]

    @property
    def hard(self) -> Iterator[_Blobs]:
        """Those that only a merge of lines can answer."""
        return (blobs for blobs in self.files.values() if _trivial(blobs) is None)


class Merger:
    """Merges trees, each question once; and each file once, whatever tree it is in."""

    def __init__(self, git: Git, objects: Objects):
        self._git = git
        self._objects = objects
        self._known: dict[MergeQuestion, Merged] = {}
        self._files: dict[_Blobs, tuple[BlobId, bool]] = {}
        self.ahead: Callable[[], Iterable[MergeQuestion]] = tuple
        """Tells, when git is about to be asked, what it will likely be asked next: for one process
        to answer all of it."""

    def merge(self, base: TreeId, ours: TreeId, theirs: TreeId) -> Merged:
        """One merge; see :meth:`merge_all`."""
        return self.merge_all([MergeQuestion(base, ours, theirs)])[0]

    def merge_all(self, questions: Sequence[MergeQuestion]) -> list[Merged]:
        """Answer every question, in order, with at most one git process.

        Raises :class:`GitFailedError` if git could not merge at all (a missing object, say).
        """
        unknown = [q for q in dict.fromkeys(questions) if q not in self._known]
        whole: list[MergeQuestion] = []
        edits: list[_Edits] = []
        for question in unknown:
            tree = _trivial((question.base, question.ours, question.theirs))
            if tree is not None:
                self._known[question] = Merged(tree)
            elif (found := self._edits(question)) is not None:
                edits.append(found)
            else:
                whole.append(question)
        self._ask(whole, self._unanswered(edits))
        self._known.update((each.question, self._put_together(each)) for each in edits)
        return [self._known[question] for question in questions]

    def _unanswered(self, edits: Iterable[_Edits]) -> list[_Blobs]:
        found = {blobs: None for each in edits for blobs in each.hard if blobs not in self._files}
        return list(found)

    def _ask(self, whole: Sequence[MergeQuestion], files: Sequence[_Blobs]) -> None:
        """Have git answer what is left; single files all in one tree, each under a number.

        With no file added or deleted, git merges each path by itself, whatever is beside it.
        """
        if whole or files:
            likely = (self._edits(question) for question in self.ahead())
            more = self._unanswered(each for each in likely if each is not None)
            files = list(dict.fromkeys((*files, *more)))
        asked = [*whole]
        names = {f"{number:08}": blobs for number, blobs in enumerate(files)}
        if files:
            sides = (
                {name: Entry(_FILE, blobs[side]) for name, blobs in names.items()}
                for side in range(3)
            )
            asked.append(MergeQuestion(*map(self._objects.tree_of, sides)))
        if not asked:
            return
        answers = self._ask_git(asked)
        self._known.update(zip(whole, answers, strict=False))
        if files:
            merged = self._objects.tree(answers[-1].tree)
            conflicted = set(answers[-1].conflicted_paths)
            self._files.update(
                (blobs, (merged[name].blob_id, name not in conflicted))
                for name, blobs in names.items()
            )

    def _edits(self, question: MergeQuestion) -> _Edits | None:
        """The question by files, None if anything but the content of regular files differs."""
        base, ours, theirs = question.base, question.ours, question.theirs
        found: dict[str, _Blobs] = {}
        for side in (theirs, ours):
            for path in self._objects.differing(base, side):
                entries = [self._objects.file(tree, path) for tree in (base, ours, theirs)]
                modes = {entry.mode if entry else None for entry in entries}
                if len(modes) != 1 or not modes <= _REGULAR:
                    return None
                first, second, third = (entry.blob_id for entry in entries if entry)
                found[path] = first, second, third
        return _Edits(question, found)

    def _put_together(self, edits: _Edits) -> Merged:
        changed: dict[str, Entry | None] = {}
        conflicts: list[tuple[str, Stage]] = []
        for path, blobs in sorted(edits.files.items(), key=lambda item: encode_path(item[0])):
            mode = self._mode(edits.question.base, path)
            oid, clean = _trivial(blobs), True
            if oid is None:
                oid, clean = self._files[blobs]
            changed[path] = Entry(mode, oid)
            if not clean:
                stages = enumerate(blobs, start=1)
                conflicts.extend((path, Stage(number, mode, blob)) for number, blob in stages)
        tree = self._objects.overlay(edits.question.base, changed)
        return Merged(tree, not conflicts, tuple(conflicts))

    def _mode(self, tree: TreeId, path: str) -> str:
        entry = self._objects.file(tree, path)
        assert entry is not None
        return entry.mode

    def _ask_git(self, questions: Sequence[MergeQuestion]) -> list[Merged]:
        trees = ((question.base, question.ours, question.theirs) for question in questions)
        self._objects.verify_files(*dict.fromkeys(chain.from_iterable(trees)))
        lines = []
        for question in questions:
            base = self._objects.write_commit(question.base, message="merge\n")
            ours, theirs = (
                self._objects.write_commit(tree, (base,), message="merge\n")
                for tree in (question.ours, question.theirs)
            )
            lines.append(f"{ours} {theirs}\n")
        result = self._git.run(
            "merge-tree",
            "--write-tree",
            "--stdin",
            "--no-messages",
            "--allow-unrelated-histories",
            stdin="".join(lines).encode(),
        )
        answers = _parse(result.stdout)
        if len(answers) != len(questions):
            raise GitFailedError("merge-tree", Result(result.status, b"", result.stderr))
        return answers

    def merge_file(
        self, ours: bytes, base: bytes, theirs: bytes, labels: tuple[str, str, str]
    ) -> bytes:
        """Merge by lines, with labelled diff3 markers where they conflict (git-merge-file(1))."""
        with tempfile.TemporaryDirectory(prefix="merge-", dir=scratch_root()) as scratch:
            files = [Path(scratch, name) for name in ("ours", "base", "theirs")]
            for file, content in zip(files, (ours, base, theirs), strict=True):
                file.write_bytes(content)
            named = [part for label in labels for part in ("-L", label)]
            # the status is the number of conflicts
            return self._git.run(
                *("merge-file", "-p", "--diff3", *named, *map(str, files)), allow=range(128)
            ).stdout


def _trivial(sides: tuple[_Side, _Side, _Side]) -> _Side | None:
    base, ours, theirs = sides
    if ours in (base, theirs):
        return theirs
    return ours if base == theirs else None


def read_stage(row: bytes) -> tuple[str, Stage]:
    """A path and its entry as git writes them: mode, id and stage, a tab, the path.

    So do ``git ls-files --stage -z`` and ``git merge-tree``.
    """
    words, _, path = row.partition(b"\t")
    mode, oid, number = words.decode().split()
    return decode_path(path), Stage(int(number), mode, ObjectId(oid))


def _parse(raw: bytes) -> list[Merged]:
    """Read ``git merge-tree --stdin`` output: status, tree, conflicted paths, an empty field."""
    answers = []
    fields = iter(raw.split(b"\0")[:-1])
    for status in fields:
        tree = tree_id(next(fields).decode())
        conflicts = []
        for field in fields:
            if not field:
                break
            conflicts.append(read_stage(field))
        answers.append(Merged(tree, status == b"1", tuple(conflicts)))
    return answers
