"""A drift that the user accepted, written into the patch that is carried all the same."""

from __future__ import annotations

from patchq.engine.series.header_edit import add_field, remove_field
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.model.patch import Patch

FIELD = "X-Drift-Accepted"


def with_drift_accepted(span: UpstreamRange, patch: Patch, carried: Patch, reason: str) -> Patch:
    """``carried`` with each ``X-Expect`` of ``patch`` that failed turned into a record of it.

    The record says on which base, why that is fine, and what had been expected. The diff stays byte
    for byte. Raises :class:`~patchq.errors.InputError` if the header cannot take it.
    """
    written = carried.header.fields("X-Expect")
    from patchq.engine.judge.predicates import SpanPredicates

    predicates = SpanPredicates(span)
    failed = [
        value
        for expected, value in zip(patch.header.expect, written, strict=True)
        if predicates.ask(expected).holds is False
    ]
    words = " ".join(reason.split())
    for value in dict.fromkeys(failed):
        carried = add_field(carried, FIELD, f"{span.new.name}: {words} (was X-Expect: {value})")
        carried = remove_field(carried, "X-Expect", value)
    return carried
