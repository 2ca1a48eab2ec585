"""Commits between two bases that name a word of the whole workspace, with or without our files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from patchq.engine.judge.watch import mentioned
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.model.release import Mention
from patchq.model.verdict import EvidenceKind


def find_mentions(
    span: UpstreamRange,
    words: Sequence[str],
    patched: Mapping[str, Collection[str]],
    gated: Collection[str],
) -> tuple[Mention, ...]:
    """The commits that name one of ``words``, oldest first.

    ``patched`` are the patches of each path on the old base, ``gated`` the paths with gates.
    """
    if not words or not span.has_history:
        return ()
    history, objects = span.store.history, span.store.objects
    commits = history.subjects(span.old.commit, span.new.commit)
    messages = history.messages([commit.oid for commit in commits])
    found = []
    for commit in commits:
        said = mentioned(words, messages.get(commit.oid, ""))
        if not said or len(commit.parents) > 1:
            continue
        parent = commit.parents[0] if commit.parents else None
        touched = objects.changed(objects.commit_tree(parent), commit.tree) if parent else ()
        patches = {name for path in touched for name in patched.get(path, ())}
        text = f"mentions {', '.join(said)}"
        found.append(
            Mention(
                tuple(said),
                span.evidence(EvidenceKind.WATCH, text, commit, touched),
                tuple(sorted(patches)),
                not set(gated).isdisjoint(touched),
            )
        )
    return tuple(found)
