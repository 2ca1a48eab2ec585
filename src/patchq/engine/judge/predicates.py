"""Predicates of patch headers, asked of the new base through the rename map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from posixpath import dirname

from patchq.engine.build.project_dir import known_directories, project_at
from patchq.engine.languages.cmake_text import LISTS, is_cmake
from patchq.engine.predicates import Predicates
from patchq.engine.series.rewrite import with_moved_predicates
from patchq.engine.workspace.upstream_range import UpstreamRange, Whereabouts
from patchq.errors import InputError
from patchq.git.history import CommitInfo
from patchq.model.ids import TreeId
from patchq.model.patch import Patch
from patchq.model.predicate import Predicate, PredicateKind
from patchq.model.verdict import Evidence, EvidenceKind, Verdict

_NOT_OF_TEXT = (PredicateKind.GATE, PredicateKind.ARCH)


@dataclass(frozen=True)
class Answer:
    """A predicate and its truth, None if it is not known; ``words`` say why, or what was found."""

    predicate: Predicate
    path: str | None
    holds: bool | None
    words: str = ""


class SpanPredicates:
    """Evaluates predicates on the unpatched new base."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._predicates = Predicates(span.project)
        self._answers: dict[Predicate, Answer] = {}

    def ask(self, predicate: Predicate) -> Answer:
        """Whether ``predicate`` holds on the unpatched new base."""
        if predicate not in self._answers:
            self._answers[predicate] = self._ask(predicate)
        return self._answers[predicate]

    def fired(self, predicates: Sequence[Predicate]) -> Answer | None:
        """The first of ``predicates`` that holds."""
        return next((answer for p in predicates if (answer := self.ask(p)).holds), None)

    def failed(self, predicates: Sequence[Predicate]) -> Answer | None:
        """The first of ``predicates`` that is known not to hold."""
        return next((answer for p in predicates if (answer := self.ask(p)).holds is False), None)

    def not_known(self, patch: Patch, *, accepted: bool) -> Iterator[str]:
        """A note for each rule of ``patch`` of which it cannot be told whether it holds."""
        header = patch.header
        expected = () if accepted else header.expect
        for field, asked in (("X-Retire-When", header.retire_when), ("X-Expect", expected)):
            for answer in self._unknown(asked):
                yield f"{field} is not known: {answer.predicate.text} ({answer.words})"

    def _unknown(self, predicates: Sequence[Predicate]) -> Iterator[Answer]:
        """The answers that are not known, so that these predicates have no effect."""
        return (answer for p in predicates if (answer := self.ask(p)).holds is None)

    def since(self, answer: Answer) -> CommitInfo | None:
        """The commit between the bases since which ``answer`` is what it is, if one is found."""
        paths = self._deciding(answer)
        if not paths or self._holds(answer, self._span.old.tree) is answer.holds:
            return None
        found = None
        for commit in reversed(self._span.commits(paths)):
            if self._holds(answer, commit.tree) is not answer.holds:
                break
            found = commit
        return found

    def ruling(
        self, patch: Patch, *, accepted: bool = False, moved: bool = False
    ) -> tuple[Verdict, Evidence] | None:
        """The verdict that the patch's own header asks for, with the reason; None if it does not.

        Drift that a reviewer ``accepted`` does not count. If code ``moved`` elsewhere, a missing
        path does not either.
        """
        ends = [
            predicate
            for predicate in patch.header.retire_when
            if not (moved and predicate.kind is PredicateKind.PATH_MISSING)
        ]
        expected = () if accepted else patch.header.expect
        for verdict, field, answer, words in (
            (Verdict.EXPIRED, "X-Retire-When", self.fired(ends), "holds"),
            (Verdict.DRIFTED, "X-Expect", self.failed(expected), "does not hold"),
        ):
            if answer is not None:
                text = f"{field}: {answer.predicate.text} {words} on {self._span.new.name}"
                return verdict, self._span.evidence(
                    EvidenceKind.PREDICATE,
                    text + (f" ({answer.words})" if answer.words else ""),
                    self.since(answer),
                    paths=(answer.path,) if answer.path else (),
                )
        return None

    def followed(self, patch: Patch) -> Patch:
        """``patch`` with the predicate paths of its header as they are on the new base."""
        header = patch.header
        paths = {
            predicate.path
            for predicate in (*header.retire_when, *header.expect, *header.verify)
            if predicate.path is not None
        }
        moved = {
            path: place.new
            for path in sorted(paths)
            if (place := self._span.place(path)).new not in (None, path)
        }
        return with_moved_predicates(patch, {old: new for old, new in moved.items() if new})

    def depends_on(self, patch: Patch) -> list[object]:
        """What the answers for ``patch`` depend on besides trees, for cache keys.

        Whether a build can be evaluated at all is part of it.
        """
        try:
            asked = (*patch.header.retire_when, *patch.header.expect)
        except InputError:
            asked = ()
        return [
            [
                self._predicates.depends_on(predicate),
                predicate.kind is PredicateKind.ARCH and self.ask(predicate).words,
            ]
            for predicate in asked
            if predicate.kind in _NOT_OF_TEXT
        ]

    def _ask(self, predicate: Predicate) -> Answer:
        span, path = self._span, predicate.path
        if predicate.kind is PredicateKind.ARCH:
            lists = [f"{place}/{LISTS}".removeprefix("./") for place in self._directories]
            if lists and not any(map(span.new.covers, lists)):
                return Answer(predicate, None, None, f"{span.new.name} does not cover {lists[0]}")
        elif path is not None:
            placement = span.place(path)
            if placement.where is Whereabouts.UNCOVERED and (
                not span.new.covers(path) or predicate.kind is PredicateKind.PATH_MISSING
            ):  # it may be where the old base does not cover upstream
                return Answer(predicate, path, None, f"an archive does not cover {path}")
            path = placement.new or path
        truth = self._predicates.ask(predicate, span.new.tree, path, directories=self._directories)
        return Answer(predicate, path, truth.holds, truth.words)

    def _holds(self, answer: Answer, tree: TreeId) -> bool | None:
        """The truth of the predicate of ``answer`` on a tree between the bases."""
        predicate = answer.predicate
        names = [name for name in (predicate.path, answer.path) if name]
        there = (name for name in names if self._span.store.objects.file(tree, name))
        path = next(there, answer.path)
        return self._predicates.ask(predicate, tree, path, directories=self._directories).holds

    def _deciding(self, answer: Answer) -> tuple[str, ...]:
        """The paths whose commits may have changed an answer."""
        if answer.predicate.kind is PredicateKind.ARCH:
            trees = (self._span.old.tree, self._span.new.tree)
            return tuple(sorted({path for tree in trees for path in self._cmake_files(tree)}))
        return (answer.predicate.path,) if answer.predicate.path and answer.path else ()

    def _cmake_files(self, tree: TreeId) -> Iterator[str]:
        objects = self._span.store.objects
        for directory in self._directories:
            project = project_at(objects, tree, directory)
            if project is not None:
                prefix = "" if directory == "." else f"{directory}/"
                yield from (prefix + path for path, _ in objects.walk(project) if is_cmake(path))
                return

    @cached_property
    def _directories(self) -> tuple[str, ...]:
        """The directories that the CMake project may be in: as recipes say, and moved ones."""
        known = known_directories(self._span.project)
        moved = (self._span.place(f"{place}/{LISTS}".removeprefix("./")).new for place in known)
        return tuple(dict.fromkeys([*known, *(dirname(path) or "." for path in moved if path)]))
