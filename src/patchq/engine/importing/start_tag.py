"""Which tag of upstream a branch is built on, or a Debian package is of."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from patchq.git.lender import Lender
from patchq.git.store import open_store
from patchq.model.ids import ObjectId

_VERSION = re.compile(rb"\S+ \((?:\d+:)?([^)\s]+)\)")
_REPACKED = re.compile(r"[+~](?:dfsg|ds|git|repack).*$")
_TAG_FORMS = ("v{}", "{}", "upstream/{}", "release-{}")


def tags_of_changelog(raw: bytes) -> tuple[str, ...]:
    """What the tag of the version in a ``debian/changelog`` may be called (deb-version(7))."""
    match = _VERSION.match(raw)
    if match is None:
        return ()
    version = match[1].decode(errors="replace")
    upstream = _REPACKED.sub("", version.rpartition("-")[0] or version)
    return tuple(form.format(upstream.replace("~", "")) for form in _TAG_FORMS)


def tag_of_branch(upstream: Lender, repository: Lender, text: str) -> str | None:
    """The tag of ``upstream`` that a branch of ``repository``, or a range, is built on.

    That of the tags in its history from which the fewest commits lead to it.
    """
    first, dots, last = text.replace("...", "..").partition("..")
    tags = upstream.refs("refs/tags/")
    if dots and first in tags:
        return first
    head = _find(repository, last if dots else first)
    if head is None:
        return None
    with tempfile.TemporaryDirectory(prefix="patchq-tag-") as scratch:
        store = open_store(Path(scratch, "store.git"), upstream)
        store.borrow(repository)
        tip = store.resolve(head)
        best: tuple[int, str] | None = None
        for name, oid in tags.items():
            commit = store.resolve(oid)
            if commit and tip and store.history.contains(commit, tip):
                distance = len(store.history.between(commit, tip))
                best = min(filter(None, (best, (distance, name))))
        return best[1] if best else None


def _find(lender: Lender, name: str) -> ObjectId | None:
    if name == "HEAD":
        name = lender.head() or "HEAD"
    full = (name,) if name.startswith("refs/") or name == "HEAD" else _forms(name)
    return next(filter(None, map(lender.ref, full)), None)


def _forms(name: str) -> tuple[str, ...]:
    return tuple(f"refs/{kind}/{name}" for kind in ("heads", "tags", "remotes", "remotes/origin"))
