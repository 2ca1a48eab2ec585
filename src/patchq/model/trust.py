"""``upstream.trust``: upstream trees whose build code may be evaluated without a sandbox.

A record is of one tree. A new tag has another one, and is not trusted by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from patchq.errors import Where
from patchq.model.ids import TreeId, tree_id
from patchq.model.yamlfile import dump, parse

VERSION = 1
COMMENT = b"""\
# Upstream trees whose CMake code may be evaluated without a sandbox, on machines that have none:
# patchq verify BASE --trust-upstream adds one.
"""

_OBJECT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class TrustedTree:
    """A tree of upstream, and the base that it was when it was trusted."""

    base: str
    tree: TreeId


def read_trust(raw: bytes, where: Where) -> tuple[TrustedTree, ...]:
    """The records in ``raw``; raises :class:`InputError` with the line for anything malformed."""
    document = parse(raw, where)
    if document is None:
        return ()
    document.check_version(VERSION)
    records = []
    for entry in document.fields("version", "trees")["trees"].sequence():
        fields = entry.fields("base", "tree")
        if not _OBJECT.fullmatch(fields["tree"].text()):
            fields["tree"].fail(
                f"expected 40 lower-case hex digits, found {fields['tree'].text()!r}"
            )
        records.append(TrustedTree(fields["base"].text(), tree_id(fields["tree"].text())))
    return tuple(records)


def render_trust(records: Iterable[TrustedTree]) -> bytes:
    """``records`` as a file; reading it gives ``records`` again."""
    trees = [{"base": record.base, "tree": record.tree} for record in records]
    return COMMENT + dump({"version": VERSION, "trees": trees})
