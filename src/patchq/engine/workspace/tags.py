"""Tags that upstream has and the lock has not, by version."""

from __future__ import annotations

from collections.abc import Iterable

from patchq.engine.workspace.upstream import Upstream
from patchq.engine.workspace.versions import version_of
from patchq.errors import InputError
from patchq.model.lock import Lock

_TAGS = "refs/tags/"


def upstream_tags(upstream: Upstream) -> tuple[str, ...]:
    """The names of all tags of upstream."""
    lender = upstream.store.lender
    if lender is not None:
        return lender.tags()
    refs = upstream.remote.refs(f"{_TAGS}*")
    return tuple(name.removeprefix(_TAGS) for name in refs if not name.endswith("^{}"))


def newer_tags(lock: Lock, tags: Iterable[str], *, pre: bool = False) -> tuple[str, ...]:
    """Those of ``tags`` with a newer version than any base of the lock, oldest first.

    A version follows the letters that the newest locked base begins with (``v1.2``); releases
    only, unless ``pre`` is given (PEP 440). Raises :class:`InputError` if no base is a version.
    """
    locked = {name: found for name in lock.names if (found := version_of(name))}
    if not locked:
        raise InputError(
            "no base of upstream.lock is named by a version, so no tag is newer",
            hint="Lock the tag by its name: `patchq lock TAG`.",
        )
    newest = max(locked, key=lambda name: locked[name][1])
    prefix, limit = locked[newest]
    candidates = {tag: version for tag in tags if (version := version_of(tag))}
    newer = {
        tag: version
        for tag, (start, version) in candidates.items()
        if start == prefix and version > limit and (pre or not version.is_prerelease)
    }
    return tuple(sorted(newer, key=lambda tag: newer[tag]))
