"""Ends that have come before they could mean anything: on the base that a patch is for."""

from __future__ import annotations

from collections.abc import Iterator

from patchq.engine.languages.holds import holds
from patchq.errors import Where
from patchq.git.objects import Objects
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.predicate import parse_predicate
from patchq.model.settings import Settings


def ends_come(
    patch: Patch, base: Base, objects: Objects, settings: Settings | None = None
) -> Iterator[tuple[str, Where]]:
    """What holds of the ``X-Retire-When`` of ``patch`` on its own unpatched base, and its place.

    Such a patch would be retired though nothing changed; ``always`` means just that. Raises
    :class:`~patchq.errors.InputError` if one is malformed.
    """
    for trailer in patch.header.trailers:
        if trailer.key.lower() != "x-retire-when":
            continue
        where = Where(patch.where.file if patch.where else patch.name, trailer.line)
        predicate = parse_predicate(trailer.value, where)
        path = predicate.path
        if path is None or not base.covers(path):
            continue
        if holds(predicate, objects.content(base.tree, path), settings or Settings()):
            yield f"X-Retire-When holds on {base.name} itself: {predicate.text}", where
