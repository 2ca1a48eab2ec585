"""Follow code that moved unchanged to another file.

Hunks are moved only if the place is certain: the whole definition, with decorators and template
header, is in exactly one place that is new in the new tree; so are the changes that the patches
below made to it; and each name that the added lines read means the same there. No hunk is moved if
the same file has one outside of all definitions (an import, a macro, a constant): it would belong
to the code that moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from patchq.engine.judge.case import CaseFacts
from patchq.engine.judge.gone.bindings import SourceText, first_unbound
from patchq.engine.judge.gone.removal import LostCode
from patchq.engine.judge.landing.hunk_history import HunkHistory
from patchq.engine.languages.outline import outline
from patchq.engine.languages.search.tree_index import TreeIndex
from patchq.engine.languages.tokens import Family, family, tokenize
from patchq.engine.series.hunks import Unit, changed_region, common_ends, occurrences
from patchq.engine.workspace.upstream_range import Placement, UpstreamRange, Whereabouts
from patchq.git.apply import Applied
from patchq.git.merge import MergeState
from patchq.git.objects import Entry
from patchq.model.diff_layout import split_lines

_LEAST = 20
"""The least tokens of a window without a definition: shorter ones are in many places."""


@dataclass(frozen=True)
class MovedCode:
    """Code that is unchanged in another file, ``path``, of the new base."""

    trail: HunkHistory
    lost: LostCode
    path: str


@dataclass(frozen=True)
class Followed:
    """The facts with the moved hunks in their new files, and these moves."""

    facts: CaseFacts
    moves: tuple[MovedCode, ...]


@dataclass(frozen=True)
class _Splice:
    """A replacement of ``length`` lines of a file, from line ``first`` on."""

    first: int
    length: int
    lines: tuple[bytes, ...]


class Follower:
    """Follows code between two bases; ``index`` is that of the new one."""

    def __init__(self, span: UpstreamRange, index: TreeIndex):
        self._span = span
        self._objects = span.store.objects
        self._index = index
        self._looked: set[str] = set()

    def looked(self) -> tuple[str, ...]:
        """The files of the patched new base that were read since the last call."""
        looked, self._looked = self._looked, set()
        return tuple(sorted(looked))

    def follow(
        self, trails: Sequence[HunkHistory], lost: Mapping[Unit, LostCode], facts: CaseFacts
    ) -> Followed | None:
        """The facts with each hunk of ``lost`` moved to where its code is now.

        None if the place of one is not certain, or the rest of the patch does not apply.
        """
        moves = []
        for trail in trails:
            if trail.unit in lost:
                place = self.place(lost[trail.unit])
                if place is None or place in facts.placements:
                    return None
                moves.append(MovedCode(trail, lost[trail.unit], place))
            elif trail.end is not MergeState.APPLIES:
                return None
        if not moves or any(self._is_tied(trail, moves) for trail in trails):
            return None
        self._looked.update(move.path for move in moves)
        pairs = [(move, change) for move in moves if (change := self._change(move, facts))]
        if len(pairs) < len(moves):
            return None
        moved = self._moved(pairs, trails, facts)
        return Followed(moved, tuple(moves)) if moved else None

    def place(self, lost: LostCode) -> str | None:
        """The only file that has all of ``lost``, if it is new there, else None."""
        kind = family(lost.path)
        tokens = tokenize(kind, lost.text)
        if lost.name is None and (lost.new_path or len(tokens.texts) < _LEAST):
            return None
        found = [
            path
            for path, content in self._index.with_names(tokens.names)
            if family(path) is kind
            for _ in occurrences(content, lost.text)
        ]
        if len(found) != 1:
            return None
        (path,) = found
        origins = (old for old, new in self._span.renames.renames.items() if new == path)
        old = self._objects.content(self._span.old.tree, next(origins, path)) or b""
        whole = lost.name is None or self._is_definition(path, lost)
        return path if whole and not occurrences(old, lost.text) else None

    def _is_definition(self, path: str, lost: LostCode) -> bool:
        content = self._objects.content(self._span.new.tree, path) or b""
        places = occurrences(content, lost.text)
        shown = outline(path, content)
        if shown is None or len(places) != 1:  # a notebook has its code in cells
            return False
        span = places[0], places[0] + lost.end - lost.first - 1
        return any((each.first, each.last) == span for each in shown.definitions)

    def _is_tied(self, trail: HunkHistory, moves: Sequence[MovedCode]) -> bool:
        """Whether a hunk that stays may belong to code that moved out of its file."""
        if any(move.trail is trail for move in moves):
            return False
        if not any(move.lost.path in trail.unit.paths for move in moves):
            return False
        if family(trail.unit.file) is not Family.PYTHON:
            return True
        region = changed_region(trail.unit, self._objects)
        shown = outline(region.path, b"".join(region.lines)) if region else None
        if region is None or shown is None:
            return True
        return shown.around(region.first, region.last) is None

    def _change(self, move: MovedCode, facts: CaseFacts) -> _Splice | None:
        """The edit of the hunk in the new file, None if it is not certain."""
        path, unit = move.lost.path, move.trail.unit
        old, new = (self._objects.blob(side[path]) for side in (unit.before, unit.after))
        own = self._range(move.lost, old)
        target = self._objects.blob(self._objects.file(facts.case.ours, move.path))
        if own is None:
            return None
        before, after = split_lines(old), split_lines(new)
        body = b"".join(before[own.start : own.stop])
        places = occurrences(target, body)
        splice = _splice(before, after)
        inside = own.start <= splice.first and splice.first + splice.length <= own.stop
        edge = not splice.length and splice.first in (own.start, own.stop)
        if len(places) != 1 or not inside or edge:
            return None
        added = range(splice.first, splice.first + len(splice.lines))
        longer = range(own.start, own.stop + len(splice.lines) - splice.length)
        patched = SourceText(path, new)
        there = SourceText(move.path, target)
        if first_unbound(patched, there, body, added, longer, self._naming) is not None:
            return None
        return replace(splice, first=splice.first - own.start + places[0])

    def _naming(self, name: bytes) -> Iterator[str]:
        return (path for path, _ in self._index.with_name(name))

    def _range(self, lost: LostCode, text: bytes) -> range | None:
        """The lines of the definition or window in the file that the patch was made for."""
        if lost.name is None:
            places = occurrences(text, lost.text)
            size = lost.end - lost.first
            return range(places[0], places[0] + size) if len(places) == 1 else None
        shown = outline(lost.path, text)
        found = shown.named(lost.name) if shown else None
        return range(found.first, found.last + 1) if found else None

    def _moved(
        self,
        pairs: Sequence[tuple[MovedCode, _Splice]],
        trails: Sequence[HunkHistory],
        facts: CaseFacts,
    ) -> CaseFacts | None:
        """The case with each moved hunk on its new file, merged."""
        applied = facts.case.applied
        before, after = dict(applied.before), dict(applied.after)
        placements, entries = dict(facts.placements), dict(facts.entries)
        for path in {move.lost.path for move, _ in pairs}:
            left = [
                trail.unit
                for trail in trails
                if path in trail.unit.paths and all(move.trail is not trail for move, _ in pairs)
            ]
            entry = before[path]
            if entry is None:
                return None
            if left:
                after[path] = self._with(entry, [self._edit(unit, path) for unit in left])
                continue
            for sides in (before, after, entries):
                del sides[path]
        for place in dict.fromkeys(move.path for move, _ in pairs):
            here = [(move, splice) for move, splice in pairs if move.path == place]
            sources = {move.lost.path for move, _ in here}
            entry = self._objects.file(facts.case.ours, place)
            if entry is None:
                return None
            # with its old name, if all hunks of a file moved to this one
            (source,) = sources if len(sources) == 1 else (place,)
            alone = source not in before and all(
                move.path == place for move, _ in pairs if move.lost.path == source
            )
            name = source if alone else place
            before[name] = entries[name] = entry
            after[name] = self._with(entry, [splice for _, splice in here])
            placements[name] = Placement(name, place, Whereabouts.MOVED)
        tree = self._objects.tree_of
        merged = self._span.store.merger.merge(tree(before), tree(entries), tree(after))
        if not merged.clean:
            return None
        case = replace(facts.case, applied=Applied(applied.tree, before, after))
        return CaseFacts(case, placements, entries, merged)

    def _edit(self, unit: Unit, path: str) -> _Splice:
        sides = (self._objects.blob(side[path]) for side in (unit.before, unit.after))
        return _splice(*map(split_lines, sides))

    def _with(self, entry: Entry, splices: Iterable[_Splice]) -> Entry:
        lines = split_lines(self._objects.read(entry.oid))
        for splice in sorted(splices, key=lambda splice: -splice.first):
            lines[splice.first : splice.first + splice.length] = splice.lines
        return Entry(entry.mode, self._objects.write_blob(b"".join(lines)))


def _splice(before: Sequence[bytes], after: Sequence[bytes]) -> _Splice:
    head, tail = common_ends(before, after)
    return _Splice(head, len(before) - tail - head, tuple(after[head : len(after) - tail]))
