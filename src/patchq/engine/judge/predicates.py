"""Predicates of patch headers, asked of the new base through the rename map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patchq.engine.languages.holds import holds
from patchq.engine.workspace.upstream_range import UpstreamRange, Whereabouts
from patchq.git.history import CommitInfo
from patchq.model.predicate import Predicate, PredicateKind


@dataclass(frozen=True)
class Answer:
    """A predicate and its truth; None if the base does not cover its path."""

    predicate: Predicate
    path: str | None
    holds: bool | None


def ask(span: UpstreamRange, predicate: Predicate) -> Answer:
    """Whether ``predicate`` holds on the unpatched new base."""
    if predicate.path is None:
        return Answer(predicate, None, predicate.kind is PredicateKind.ALWAYS)
    placement = span.place(predicate.path)
    if placement.where is Whereabouts.UNCOVERED:
        return Answer(predicate, predicate.path, None)
    path = placement.new or predicate.path
    return Answer(predicate, path, _holds(span, predicate, path, span.new.tree))


def fired(span: UpstreamRange, predicates: Sequence[Predicate]) -> Answer | None:
    """The first of ``predicates`` that holds."""
    return next((answer for p in predicates if (answer := ask(span, p)).holds), None)


def failed(span: UpstreamRange, predicates: Sequence[Predicate]) -> Answer | None:
    """The first of ``predicates`` that is known not to hold."""
    return next((answer for p in predicates if (answer := ask(span, p)).holds is False), None)


def since(span: UpstreamRange, answer: Answer) -> CommitInfo | None:
    """The commit between the bases from which on ``answer`` is what it is, if one is found."""
    predicate = answer.predicate
    if predicate.path is None or answer.path is None:
        return None
    if _holds(span, predicate, predicate.path, span.old.tree) is answer.holds:
        return None
    found = None
    for commit in reversed(span.commits((predicate.path,))):
        names = (predicate.path, answer.path)
        path = next((n for n in names if span.store.objects.file(commit.tree, n)), answer.path)
        if _holds(span, predicate, path, commit.tree) is not answer.holds:
            break
        found = commit
    return found


def _holds(span: UpstreamRange, predicate: Predicate, path: str, tree: str) -> bool | None:
    return holds(predicate, span.store.objects.content(tree, path), span.settings)
