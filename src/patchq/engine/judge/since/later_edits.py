"""The commits that edited a file, and the definitions that landed lines are in, since the landing.

No rule finds everything that can undo the effect of a landed line, so a reviewer is told which
commits to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patchq.engine.judge.landing.hunk_history import HunkHistory, entry_before
from patchq.engine.judge.landing.text_check import TextCheck
from patchq.engine.languages.outline import outline
from patchq.engine.series.hunks import Unit, common_ends, occurrences
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.objects import Entry

_AROUND = (0, 1, 3)
"""How many lines of context are tried to find the place of some lines."""


@dataclass(frozen=True)
class LaterEdits:
    """The commits that edited a file after lines had landed in it, newest first.

    ``inside`` are those that edited one of the definitions ``names`` that the lines are in; if they
    are in none, lines close to them. They are all if the file is not read as code (``names`` None).
    ``before`` are the commits between the old base and the landing that edited the file.
    """

    file: str
    landed: CommitInfo
    commits: tuple[CommitInfo, ...]
    names: tuple[str, ...] | None = None
    inside: tuple[CommitInfo, ...] = ()
    before: tuple[CommitInfo, ...] = ()

    @property
    def apart(self) -> tuple[CommitInfo, ...]:
        """The later commits that edited the rest of the file."""
        return tuple(commit for commit in self.commits if commit not in self.inside)


class LaterCommits:
    """Finds later edits between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects

    def find(self, trails: Sequence[HunkHistory]) -> Iterator[LaterEdits]:
        """The edits since ``trails`` landed, for each file and landing commit."""
        groups: dict[tuple[str, str], list[HunkHistory]] = {}
        for trail in trails:
            if trail.landed is not None:
                groups.setdefault((trail.landed.oid, trail.unit.file), []).append(trail)
        for group in groups.values():
            landed, (*_, path) = group[0].landed, group[0].unit.paths
            assert landed is not None
            yield self._since(landed, path, group)

    def _since(self, landed: CommitInfo, path: str, group: Sequence[HunkHistory]) -> LaterEdits:
        then: Entry | None = None
        earlier = list[CommitInfo]()
        edits = list[tuple[CommitInfo, Entry | None, Entry | None]]()
        for step in group[0].steps:
            now = step.entries.get(path)
            if self._span.precedes(step.commit.oid, landed.oid):
                then = now
                if step.commit != landed:
                    earlier.append(step.commit)
            elif (before := entry_before(self._objects, step, path)) != now:
                edits.append((step.commit, before, now))
        units = [trail.unit for trail in group]
        names = self._names(path, units, then)
        if not edits or names is None:
            inside = [commit for commit, _, _ in edits]
        elif names:
            texts = _Definitions(path)
            inside = [
                commit
                for commit, *sides in edits
                for old, new in [map(self._objects.blob, sides)]
                if any(texts.find(old, name) != texts.find(new, name) for name in names)
            ]
        else:
            check = TextCheck(self._objects)
            inside = [
                commit
                for commit, before, now in edits
                if any(
                    check.surroundings(unit, {path: before})
                    != check.surroundings(unit, {path: now})
                    for unit in units
                )
            ]
        every = tuple(commit for commit, _, _ in reversed(edits))
        return LaterEdits(
            path, landed, every, names, tuple(reversed(inside)), tuple(reversed(earlier))
        )

    def _names(
        self, path: str, units: Sequence[Unit], then: Entry | None
    ) -> tuple[str, ...] | None:
        """The names of the definitions that units landed in.

        None if the file is not read as code, or was added by the landing.
        """
        landed = self._objects.blob(then)
        shown = outline(path, landed)
        if shown is None or any(unit.before.get(path) is None for unit in units):
            return None
        found: dict[str, None] = {}
        for unit in units:
            before, after = (self._objects.blob(side[path]) for side in (unit.before, unit.after))
            for lines in _places(before, after, landed):
                around = shown.around(*lines)
                if around is not None:
                    found[around.name] = None
        return tuple(found)


def _places(before: bytes, after: bytes, landed: bytes) -> Iterator[tuple[int, int]]:
    """Each line that an edit added, as a range of lines of ``landed``, or for a removal the two
    lines around it; nothing if these are not in exactly one place there."""
    old, new = before.split(b"\n"), after.split(b"\n")
    head, tail = common_ends(old, new)
    end = len(new) - tail
    for more in _AROUND:
        first = max(head - more, 0)
        places = occurrences(landed, b"\n".join((*new[first : end + more], b"")))
        if end - head + more and len(places) == 1:
            shift = places[0] - first
            lines = [n for n in range(head, end) if new[n].strip()]
            yield from ((n + shift, n + shift) for n in lines)
            if not lines:
                yield head - 1 + shift, head + shift
            return


class _Definitions:
    """The texts of definitions in versions of a file.

    A version is not parsed if it has the text of an earlier one with the same neighbour lines.
    """

    def __init__(self, path: str):
        self._path = path
        self._known: dict[str, dict[bytes, bytes]] = {}

    def find(self, content: bytes, name: str) -> bytes:
        """The text of all definitions of ``name``, empty if there is none."""
        known = self._known.setdefault(name, {})
        for framed, text in known.items():
            if framed in content:
                return text
        shown = outline(self._path, content)
        lines = content.split(b"\n")
        places = [each for each in (shown.definitions if shown else ()) if each.name == name]
        text = b"\n".join(b"\n".join(lines[each.first : each.last + 1]) for each in places)
        if len(places) == 1:
            first, last = places[0].first, places[0].last
            known[b"\n".join(lines[_next(lines, first, -1) : _next(lines, last, 1) + 1])] = text
        return text


def _next(lines: Sequence[bytes], number: int, step: int) -> int:
    """The next line that is not blank."""
    at = number + step
    while 0 <= at < len(lines) and not lines[at].strip():
        at += step
    return min(max(at, 0), len(lines) - 1)
