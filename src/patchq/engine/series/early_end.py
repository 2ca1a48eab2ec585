"""Ends that have come before they could mean anything: on the base that a patch is for."""

from __future__ import annotations

from collections.abc import Iterator

from patchq.engine.predicates import Predicates
from patchq.errors import Where
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.predicate import PredicateKind, parse_predicate


def ends_come(patch: Patch, base: Base, predicates: Predicates) -> Iterator[tuple[str, Where]]:
    """What holds of the ``X-Retire-When`` of ``patch`` on its own unpatched base, and its place.

    Such a patch would be retired though nothing changed; ``always`` means just that. Raises
    :class:`~patchq.errors.InputError` if one is malformed.
    """
    for trailer in patch.header.trailers:
        if trailer.key.lower() != "x-retire-when":
            continue
        where = Where(patch.where.file if patch.where else patch.name, trailer.line)
        predicate = parse_predicate(trailer.value, where)
        if predicate.kind is PredicateKind.ALWAYS:
            continue
        if predicate.path is not None and not base.covers(predicate.path):
            continue
        if predicates.ask(predicate, base.tree).holds:
            yield f"X-Retire-When holds on {base.name} itself: {predicate.text}", where
