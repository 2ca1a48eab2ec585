"""Predicates of patch headers, asked of the new base through the rename map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patchq.engine.workspace.upstream_range import Hop, Whereabouts
from patchq.git.history import CommitInfo
from patchq.model.predicate import Predicate, PredicateKind


@dataclass(frozen=True)
class Answer:
    """A predicate and its truth; None where the base does not cover its path."""

    predicate: Predicate
    path: str | None
    holds: bool | None


def ask(hop: Hop, predicate: Predicate) -> Answer:
    """Whether ``predicate`` holds on the unpatched new base."""
    if predicate.path is None:
        return Answer(predicate, None, predicate.kind is PredicateKind.ALWAYS)
    placement = hop.place(predicate.path)
    if placement.where is Whereabouts.UNCOVERED:
        return Answer(predicate, predicate.path, None)
    path = placement.new or predicate.path
    return Answer(predicate, path, _holds(hop, predicate, path, hop.new.tree))


def fired(hop: Hop, predicates: Sequence[Predicate]) -> Answer | None:
    """The first of ``predicates`` that holds."""
    return next((answer for p in predicates if (answer := ask(hop, p)).holds), None)


def failed(hop: Hop, predicates: Sequence[Predicate]) -> Answer | None:
    """The first of ``predicates`` that is known not to hold."""
    return next((answer for p in predicates if (answer := ask(hop, p)).holds is False), None)


def since(hop: Hop, answer: Answer) -> CommitInfo | None:
    """The commit between the bases from which on ``answer`` is what it is, where one is found."""
    predicate = answer.predicate
    if predicate.path is None or answer.path is None:
        return None
    if _holds(hop, predicate, predicate.path, hop.old.tree) is answer.holds:
        return None
    found = None
    for commit in reversed(hop.commits((predicate.path,))):
        names = (predicate.path, answer.path)
        path = next((n for n in names if hop.store.objects.file(commit.tree, n)), answer.path)
        if _holds(hop, predicate, path, commit.tree) is not answer.holds:
            break
        found = commit
    return found


def _holds(hop: Hop, predicate: Predicate, path: str, tree: str) -> bool:
    return predicate.holds_on(hop.store.objects.content(tree, path))
