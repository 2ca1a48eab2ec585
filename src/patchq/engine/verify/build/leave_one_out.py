"""A patch taken apart from the others of its series, as trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patchq.engine.verify.subject import PatchStep
from patchq.git.merge import MergeQuestion
from patchq.git.store import Store
from patchq.model.ids import TreeId


@dataclass(frozen=True)
class SeriesPart:
    """A patch in its place; ``alone`` on the base; ``left_out``: the whole series without it.

    None if a three-way merge cannot take it apart from its neighbours.
    """

    step: PatchStep
    alone: TreeId | None
    left_out: TreeId | None

    @property
    def trees(self) -> tuple[TreeId, ...]:
        """All of its trees."""
        trees = (self.step.onto, self.step.tree, self.alone, self.left_out)
        return tuple(tree for tree in trees if tree is not None)


def take_apart(store: Store, base: TreeId, steps: Sequence[PatchStep]) -> tuple[SeriesPart, ...]:
    """Each patch of a series on the tree ``base``, apart from the others."""
    if not steps:
        return ()
    whole = steps[-1].tree
    alone = _moved(store, [_Move(step, step.onto, step.tree, base) for step in steps])
    left_out = _moved(store, [_Move(step, step.tree, step.onto, whole) for step in steps])
    return tuple(SeriesPart(*part) for part in zip(steps, alone, left_out, strict=True))


@dataclass(frozen=True)
class _Move:
    """The way from one tree of a step to the other, to be gone on another tree."""

    step: PatchStep
    before: TreeId
    after: TreeId
    onto: TreeId


def _moved(store: Store, moves: Sequence[_Move]) -> list[TreeId | None]:
    objects = store.objects
    questions = [
        MergeQuestion(
            *(
                objects.tree_of(objects.files(tree, move.step.applied.paths))
                for tree in (move.before, move.onto, move.after)
            )
        )
        for move in moves
    ]
    answers = store.merger.merge_all(questions)
    return [
        objects.overlay(move.onto, objects.files(answer.tree, move.step.applied.paths))
        if answer.clean
        else None
        for move, answer in zip(moves, answers, strict=True)
    ]
