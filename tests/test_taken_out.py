"""Landed lines that went together with those around them, so that no merge shows how."""

from __future__ import annotations

import pytest
from judging import edited, judged, shown
from miniature import Edits, MakeMiniature

from patchq.engine.rebase.retired import is_needed_again
from patchq.model.verdict import EvidenceKind, Verdict

PULL = (
    "static int\npull(struct q *q, int n)\n{\n\tint got = 0;\n\tlock_queue(q);\n"
    "\twhile (got < n)\n\t\tgot += take_page(q, n);\n\tsettle_batch(q);\n\tunlock_queue(q);\n"
    "\treturn got;\n}\n"
)
FIRST = '#include "q.h"\n\nint\nfirst(int a)\n{\n\treturn a + 1;\n}\n\n'
LAST = "\nint\nlast(struct q *q)\n{\n\treturn pull(q, 4);\n}\n"
BOUNDS = "\tcheck_bounds(q, got, n);\n"
CHECK = ("\tsettle_batch(q);\n", f"{BOUNDS}\tsettle_batch(q);\n")
REWORDED = "\tcheck(q, n, got, bounds, check_bounds);\n"
RENAMED = PULL.replace("_queue", "_all").replace("_page", "_it").replace("settle_", "end_")
HIDING = ("\tsettle_batch(q);\n", "\tsettle_batch(q, 1);\n")


@pytest.mark.parametrize(
    ("landing", "later", "is_out"),
    [
        ([CHECK], {"q.c": FIRST + edited(PULL, (CHECK[0], "\tsettle_all();\n")) + LAST}, True),
        ([CHECK], {"q.c": FIRST + edited(PULL, HIDING) + LAST}, True),
        ([CHECK, HIDING], {"q.c": FIRST + edited(PULL, (CHECK[0], "")) + LAST}, True),
        # to another place, in this file or another one
        ([CHECK], {"q.c": FIRST + LAST + edited(RENAMED, ("\tend", f"{BOUNDS}\tend"))}, False),
        ([CHECK], {"q.c": FIRST + LAST, "p.c": FIRST + edited(PULL, CHECK)}, False),
        # in other words
        ([CHECK], {"q.c": FIRST + edited(PULL, (CHECK[0], REWORDED)) + LAST}, False),
    ],
)
def test_who_took_lines_out_with_those_around_them(
    miniature: MakeMiniature, landing: list[tuple[str, str]], later: Edits, is_out: bool
) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {"q.c": FIRST + PULL + LAST, "README": "Text.\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"q.c": FIRST + edited(PULL, CHECK) + LAST})
    landed = upstream.commit("Check (#3)", {"q.c": FIRST + edited(PULL, *landing) + LAST})
    out = upstream.commit("Take it out (#4)", later)
    upstream.commit("More (#5)", {"README": "More.\n"})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.SUPERSEDED
    assert [item.commit for item in shown(report, EvidenceKind.MERGED)] == [landed]
    kind = EvidenceKind.UNDONE if is_out else EvidenceKind.CONFLICTING_CHANGE
    assert [item.commit for item in shown(report, kind)] == [out]
    assert is_needed_again(report) is is_out
