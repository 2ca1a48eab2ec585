"""``X-Watch``: upstream commits near a patch that mention its words. Never a verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.model.patch import Patch
from patchq.model.verdict import Evidence, EvidenceKind

_SEPARATOR = re.compile(r"[\s-]+")


def watched(span: UpstreamRange, patch: Patch) -> tuple[Evidence, ...]:
    """One piece of evidence for each commit that touches the patch's files and names a word."""
    words = patch.header.watch
    if not words:
        return ()
    commits = span.commits(patch.paths)
    messages = span.messages([commit.oid for commit in commits])
    found = []
    for commit in commits:
        said = mentioned(words, messages[commit.oid])
        if not said:
            continue
        names = {name for touch in commit.touches for name in (touch.old, touch.new)}
        paths = tuple(sorted(names))
        text = f"mentions {', '.join(said)} and touches {', '.join(paths[:3])}"
        found.append(span.evidence(EvidenceKind.WATCH, text, commit, paths=paths))
    return tuple(found)


def mentioned(words: Sequence[str], message: str) -> list[str]:
    """Those of ``words`` that are in ``message`` as whole words, ignoring case.

    A blank also matches a hyphen or an underscore, and each of them may be between letters and
    digits: ``DGX Spark`` is found in "dgx-spark", ``SM121`` in "sm_121".
    """
    return [word for word in words if _expression(word).search(message)]


@cache
def _expression(word: str) -> re.Pattern[str]:
    parts = re.findall(r"[^\W\d_]+|\d+|[\s-]+|[^\w\s-]+|_+", word)
    text = ""
    for before, part in zip(["", *parts], parts, strict=False):
        if _SEPARATOR.fullmatch(part):
            text += r"[\s_-]+"
        else:
            joins = before.isalnum() and part.isalnum()
            text += (r"[\s_-]?" if joins else "") + re.escape(part)
    return re.compile(rf"(?<!\w){text}(?!\w)", re.IGNORECASE)
