"""Whether a file that lines landed in has the mode that the patch sets.

A script that is not executable, or a file with the target of a symbolic link as its content, has
the same bytes and another effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from patchq.engine.judge.landing.hunk_history import HunkHistory, LandedState, OtherMode
from patchq.engine.series.hunks import Unit
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.objects import Entries, Entry

_MORE = "100644", "100755"
"""Where the patch brings a file, and upstream has it executable besides: the patch takes no mode
from it."""


def without_their_mode(
    trails: Sequence[HunkHistory],
    final: Entries,
    places: Mapping[str, str | None],
    span: UpstreamRange,
) -> list[HunkHistory]:
    """``trails``, those that landed marked if a file lacks the mode that they set.

    ``final`` are the files on the new base by the patch's own paths, ``places`` their paths there.
    """
    return [_marked(trail, final, places, span) for trail in trails]


def _marked(
    trail: HunkHistory, final: Entries, places: Mapping[str, str | None], span: UpstreamRange
) -> HunkHistory:
    if not trail.has_landed:
        return trail
    found = {
        path: OtherMode(places.get(path) or path, after.mode, entry.mode)
        for path, after in trail.unit.after.items()
        if after is not None
        and (entry := final.get(path)) is not None
        and _is_another(trail.unit, path, after, entry)
    }
    if not found:
        return trail
    undone = _taken_back(trail, found, span)
    modes = tuple(found.values())
    return replace(trail, fate=LandedState.OTHER_MODE, modes=modes, undone=undone)


def _is_another(unit: Unit, path: str, after: Entry, entry: Entry) -> bool:
    """Whether ``entry`` lacks the mode that the unit sets; if the unit leaves the mode as it is,
    whether it is of another kind (file, symbolic link, submodule)."""
    sources = [unit.before[path]]
    if sources == [None]:  # perhaps renamed
        sources = [old for name, old in unit.before.items() if unit.after[name] is None]
    if not sources and (after.mode, entry.mode) == _MORE:
        return False
    if any(old is not None and old.mode == after.mode for old in sources):
        return entry.mode[:3] != after.mode[:3]
    return entry.mode != after.mode


def _taken_back(
    trail: HunkHistory, paths: Mapping[str, OtherMode], span: UpstreamRange
) -> CommitInfo | None:
    """The commit after the landing since which a file lacks the mode; None if it did before."""
    landed, by = trail.landed, None
    for step in reversed(trail.steps):
        if landed is None or not span.descends(step.commit.oid, landed.oid):
            continue
        entries = [(step.entries.get(path), trail.unit.after[path]) for path in paths]
        if any(
            now is None or (then is not None and _is_another(trail.unit, path, then, now))
            for path, (now, then) in zip(paths, entries, strict=True)
        ):
            by = step.commit
        else:
            return by
    return None
