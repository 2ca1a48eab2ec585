"""``X-Watch``: upstream commits near a patch that mention its words. Never a verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.model.patch import Patch
from patchq.model.verdict import Evidence, EvidenceKind


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
    """Those of ``words`` that stand in ``message`` as whole words, in any case."""
    return [
        word
        for word in words
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message, re.IGNORECASE)
    ]
