"""Three-way merges of trees in the object database, by ``git merge-tree``.

A merge is a question put to git: given this base, what is *theirs* on top of *ours*? Base and
sides are trees of the touched paths only; synthetic commits carry them, because git before 2.40
finds the base of a merge from history alone. Those commits are the same on every machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from patchq.git.objects import Objects, decode_path
from patchq.git.process import Git, GitFailedError, Result
from patchq.scratch import scratch_root


@dataclass(frozen=True)
class MergeQuestion:
    """A merge to be made: three trees."""

    base: str
    ours: str
    theirs: str


@dataclass(frozen=True)
class Stage:
    """One side of a conflicted path: 1 base, 2 ours, 3 theirs (as in git's index)."""

    number: int
    mode: str
    oid: str


@dataclass(frozen=True)
class Merged:
    """The answer: the merged tree (with conflict markers inside where not clean)."""

    tree: str
    clean: bool = True
    conflicts: tuple[tuple[str, Stage], ...] = ()

    @property
    def conflicted_paths(self) -> tuple[str, ...]:
        """The paths that conflict, each once, in git's order."""
        return tuple(dict.fromkeys(path for path, _ in self.conflicts))


class Merger:
    """Merges trees, each question once."""

    def __init__(self, git: Git, objects: Objects):
        self._git = git
        self._objects = objects
        self._known: dict[MergeQuestion, Merged] = {}

    def merge(self, base: str, ours: str, theirs: str) -> Merged:
        """One merge; see :meth:`merge_all`."""
        return self.merge_all([MergeQuestion(base, ours, theirs)])[0]

    def merge_all(self, questions: Sequence[MergeQuestion]) -> list[Merged]:
        """Answer every question, in order, with at most one git process.

        Raises :class:`GitFailedError` if git could not merge at all (a missing object, say).
        """
        unknown = [q for q in dict.fromkeys(questions) if q not in self._known]
        hard = []
        for question in unknown:
            tree = _trivial(question)
            if tree is None:
                hard.append(question)
            else:
                self._known[question] = Merged(tree)
        if hard:
            self._known.update(zip(hard, self._ask_git(hard), strict=True))
        return [self._known[question] for question in questions]

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


def _trivial(question: MergeQuestion) -> str | None:
    if question.base == question.ours or question.ours == question.theirs:
        return question.theirs
    if question.base == question.theirs:
        return question.ours
    return None


def read_stage(row: bytes) -> tuple[str, Stage]:
    """A path and its entry as git writes them: mode, id and stage, a tab, the path.

    So do ``git ls-files --stage -z`` and ``git merge-tree``.
    """
    words, _, path = row.partition(b"\t")
    mode, oid, number = words.decode().split()
    return decode_path(path), Stage(int(number), mode, oid)


def _parse(raw: bytes) -> list[Merged]:
    """Read ``git merge-tree --stdin`` output: status, tree, conflicted paths, an empty field."""
    answers = []
    fields = iter(raw.split(b"\0")[:-1])
    for status in fields:
        tree = next(fields).decode()
        conflicts = []
        for field in fields:
            if not field:
                break
            conflicts.append(read_stage(field))
        answers.append(Merged(tree, status == b"1", tuple(conflicts)))
    return answers
