"""Whether upstream removed lines, or only moved them.

A hunk that removes lines merges to nothing if they are not in their place any more, also if
upstream moved them down the file or to another one. Retiring it would lose the removal. So if a
merge says that upstream has a hunk, its removed lines are searched for: in the file on the new base
and, if the hunk adds no line that shows that upstream took it, in the whole tree and in the commit
that removed them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from patchq.engine.judge.landing.hunk_history import HunkHistory, text_before
from patchq.engine.judge.line_search import (
    COMMON,
    core,
    count_line,
    has_word,
    is_own,
    is_telling,
    search_elsewhere,
)
from patchq.engine.languages.outline import outline
from patchq.engine.languages.search.containment import Piece
from patchq.engine.languages.search.fresh_code import FOUND_RENAMED, TELLING, fresh_code
from patchq.engine.languages.tokens import Family, Tokens, family, tokenize
from patchq.engine.series.hunks import Region, Unit, changed_region, common_ends
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.apply import Applied
from patchq.git.history import CommitInfo
from patchq.git.merge import MergeState
from patchq.git.objects import Entries, Entry
from patchq.git.search import count_part
from patchq.model.diff_layout import split_lines
from patchq.steps import counted


@dataclass(frozen=True)
class StillThere:
    """Lines that a hunk removes and that are elsewhere on the new base, with the files.

    Without ``lines``, they are too short to be searched for, or a ``share`` of them is there under
    other names. ``back`` is the commit that added the first line there, if it is known and not the
    one that removed it.
    """

    trail: HunkHistory
    lines: tuple[bytes, ...]
    files: tuple[str, ...] = ()
    back: CommitInfo | None = None
    share: float = 0.0


@dataclass(frozen=True)
class _Change:
    """The stripped lines that a unit removes and adds, counted."""

    removed: Counter[bytes]
    added: Counter[bytes]


class Removals:
    """Searches for the lines that the units of one patch remove.

    ``ours`` are the files on the new base by the patch's own paths, ``places`` their paths there.
    """

    def __init__(
        self, span: UpstreamRange, applied: Applied, ours: Entries, places: Mapping[str, str | None]
    ):
        self._span = span
        self._objects = span.store.objects
        self._applied = applied
        self._ours = ours
        self._places = places
        self._changes: dict[Unit, _Change] = {}

    def standing(self, trails: Sequence[HunkHistory]) -> tuple[StillThere, ...]:
        """The units of ``trails`` that merge to nothing though the lines they remove are there."""
        empty = [trail for trail in trails if trail.end is MergeState.EMPTY]
        here = [
            found for trail in counted(empty, "lines taken out") if (found := self._beside(trail))
        ]
        moved = {found.trail.unit for found in here}
        telling = [trail for trail in empty if any(map(is_telling, self._change(trail).added))]
        # a commit that took lines which the patch adds took its removals too
        taken = {trail.landed.oid for trail in telling if trail.landed}
        known = moved | {trail.unit for trail in telling}
        silent = [
            trail
            for trail in empty
            if trail.unit not in known and (trail.landed is None or trail.landed.oid not in taken)
        ]
        elsewhere = tuple(self._elsewhere(silent))
        seen = {item.trail.unit for item in elsewhere}
        left = [trail for trail in silent if trail.unit not in seen]
        return (*here, *elsewhere, *filter(None, map(self._in_other_words, left)))

    def _beside(self, trail: HunkHistory) -> StillThere | None:
        """The removed lines that are in the file more often than with the patch applied."""
        removed = list(filter(is_telling, self._change(trail).removed))
        for path in trail.unit.paths:
            entry = self._applied.after.get(path, trail.unit.after.get(path))
            if entry == self._ours.get(path):
                continue
            then, now = map(self._objects.blob, (entry, self._ours.get(path)))
            count = self._counter(trail)
            lines = [x for x in removed if count(x, then) < min(count(x, now), COMMON)]
            if lines:
                later = self._added_later(trail, path, then)
                lines = [line for line in lines if line not in later]
            lines = lines or self._short_beside(trail, path, then, now)
            if lines:
                file = self._places.get(path) or path
                back = self._put_back(trail, lines[0], file, count(lines[0], then))
                return StillThere(trail, tuple(lines), (file,), back)
        return None

    def _short_beside(self, trail: HunkHistory, path: str, then: bytes, now: bytes) -> list[bytes]:
        """The same for lines that are too short to be searched for in a whole tree.

        None if the hunk adds a line that shows that upstream took it. In the definition that it was
        removed from, any word counts.
        """
        change = self._change(trail)
        if any(map(is_telling, change.added)):
            return []
        short = [line for line in change.removed if has_word(line) and not is_telling(line)]
        name = _definition_of(changed_region(trail.unit, self._objects)) if short else None
        left, here = (
            self._within(name, path, side.get(path)) if name else None
            for side in (self._applied.after, self._ours)
        )
        return [
            line
            for line in short
            if (is_own(line) and count_line(line, then) < min(count_line(line, now), COMMON))
            or (
                left is not None
                and here is not None
                and count_line(line, left) < count_line(line, here)
            )
        ]

    def _put_back(self, trail: HunkHistory, line: bytes, file: str, most: int) -> CommitInfo | None:
        """The commit since which ``file`` has the line more than ``most`` times."""

        def has_more(commit: CommitInfo) -> bool:
            return count_line(line, self._objects.content(commit.tree, file) or b"") > most

        back = self._span.since((file,), has_more)
        landed = trail.landed
        return None if back is None or landed is None or back.oid == landed.oid else back

    def _counter(self, trail: HunkHistory) -> Callable[[bytes, bytes], int]:
        """A function that counts a removed line in a text.

        If the unit adds no line that shows whether upstream took it, parts of lines count too.
        """
        if any(map(is_telling, self._change(trail).added)):
            return count_line
        return lambda line, text: max(count_line(line, text), count_part(core(line), text))

    def _added_later(self, trail: HunkHistory, path: str, then: bytes) -> frozenset[bytes]:
        """The removed lines that the landing removed and that other definitions got again since.

        In its own definition, the line has come back, and is not among them. If the line was
        elsewhere before the landing already, the commit itself shows that it removed one.
        """
        landed = next((step for step in trail.steps if step.commit == trail.landed), None)
        region = changed_region(trail.unit, self._objects)
        if landed is None or region is None:
            return frozenset()
        at = self._objects.blob(landed.entries.get(path))
        change = self._change(trail)
        telling = any(map(is_telling, change.added))
        before = text_before(self._objects, landed, path) if telling else at
        name = _definition_of(region)
        left = self._within(name, path, self._applied.after.get(path))
        now = self._within(name, path, self._ours.get(path))
        if left is None or now is None:
            return frozenset()
        count = self._counter(trail)
        return frozenset(
            line
            for line, number in change.removed.items()
            if (
                count(line, at) <= count(line, then)
                or count(line, at) + number <= count(line, before)
            )
            and count(line, now) <= count(line, left)
        )

    def _within(self, name: str | None, path: str, entry: Entry | None) -> bytes | None:
        """The text of the definition ``name`` (None: of what is outside of all), None if the file
        cannot be parsed or lacks it."""
        content = self._objects.blob(entry)
        known = outline(path, content)
        if known is None or not (name is None or name in known.names):
            return None
        inside = [range(d.first, d.last + 1) for d in known.definitions if name in (None, d.name)]
        return b"".join(
            line
            for number, line in enumerate(split_lines(content))
            if any(number in lines for lines in inside) is (name is not None)
        )

    def _elsewhere(self, trails: Sequence[HunkHistory]) -> Iterator[StillThere]:
        """Those of ``trails`` whose lines became more frequent elsewhere in the tree."""
        if not trails:
            return
        change = Counter[bytes]()
        for path, before in self._applied.before.items():
            old, new = self._edited(before, self._applied.after.get(path))
            change.update(new)
            change.subtract(old)
        removed = {
            trail.unit: [
                line for line, n in self._change(trail).removed.items() if n > max(change[line], 0)
            ]
            for trail in trails
        }
        telling = {
            trail.unit: list(
                filter(
                    is_telling if any(self._change(trail).added) else is_own, removed[trail.unit]
                )
            )
            for trail in trails
        }
        wanted = tuple(dict.fromkeys(line for lines in telling.values() for line in lines))
        found = search_elsewhere(self._span, wanted, change)
        for trail in trails:
            lines = tuple(line for line in telling[trail.unit] if line in found.lines)
            if lines:
                yield self._moved(trail, lines, found.files)
            elif not any(map(is_telling, removed[trail.unit])) and not any(
                self._change(trail).added
            ):
                yield from self._in_its_commit(trail, removed[trail.unit])

    def _moved(
        self, trail: HunkHistory, lines: tuple[bytes, ...], files: tuple[str, ...]
    ) -> StillThere:
        if not files:
            return StillThere(trail, lines)
        before = self._objects.content(self._span.old.tree, files[0]) or b""
        back = self._put_back(trail, lines[0], files[0], count_line(lines[0], before))
        return StillThere(trail, lines, files, back)

    def _in_its_commit(self, trail: HunkHistory, removed: Iterable[bytes]) -> Iterator[StillThere]:
        """``trail`` with those of the ``removed`` lines that the landing commit added elsewhere;
        with none if that commit is not known."""
        saying = tuple(filter(None, removed))
        if not saying:
            return
        if trail.landed is None:
            yield StillThere(trail, ())
            return
        added = self._span.store.history.added_lines(trail.landed.oid)
        lines = tuple(line for line in saying if line in added)
        if lines:
            yield StillThere(trail, lines)

    def _in_other_words(self, trail: HunkHistory) -> StillThere | None:
        """The code that a unit removes, if upstream has it again under other names.

        Whole definitions and files are compared with all that is new on the new base, parts of them
        only with what the landing commit added.
        """
        span, (path, *more) = self._span, trail.unit.paths
        before, after = (self._objects.blob(s[path]) for s in (trail.unit.before, trail.unit.after))
        kind = family(path)
        if more or trail.landed is None or b"\0" in before + after:
            return None
        texts = _definitions_gone(path, before, after)
        trees = span.old.tree, span.new.tree
        old, new = split_lines(before), split_lines(after)
        head, tail = common_ends(old, new)
        own = tokenize(kind, b"".join(new[head : len(new) - tail]))
        if not texts:
            texts = [b"".join(old[head : len(old) - tail])]
            if after and trail.landed.parents:
                trees = self._objects.commit_tree(trail.landed.parents[0]), trail.landed.tree
        for text in texts:
            piece = Piece(tokenize(kind, text))
            # a unit that adds the code again does not remove it
            if piece.size < TELLING or _share(kind, piece, own) >= FOUND_RENAMED:
                continue
            for file, fresh in fresh_code(span.store, *trees).like(kind, text):
                share = _share(kind, piece, tokenize(kind, fresh))
                if share >= FOUND_RENAMED:
                    return StillThere(trail, (), (file,), share=share)
        return None

    def _change(self, trail: HunkHistory) -> _Change:
        unit = trail.unit
        if unit not in self._changes:
            before, after = Counter[bytes](), Counter[bytes]()
            for path in unit.paths:
                old, new = self._edited(unit.before[path], unit.after[path])
                before.update(old)
                after.update(new)
            self._changes[unit] = _Change(before - after, after - before)
        return self._changes[unit]

    def _edited(self, before: Entry | None, after: Entry | None) -> list[list[bytes]]:
        """The stripped lines of two versions of a file, without their common head and tail."""
        old, new = (split_lines(self._objects.blob(entry)) for entry in (before, after))
        head, tail = common_ends(old, new)
        return [[line.strip() for line in side[head : len(side) - tail]] for side in (old, new)]


def _definition_of(region: Region | None) -> str | None:
    """The name of the definition around a region, None if it is outside of all."""
    known = outline(region.path, b"".join(region.lines)) if region else None
    if region is None or known is None:
        return None
    here = known.around(region.first, region.last)
    return here.name if here else None


def _share(kind: Family, piece: Piece, tokens: Tokens) -> float:
    """The share of a piece that is in some code, under the same names or others."""
    figures = piece.within(tokens)
    return max(figures.exact, figures.renamed if kind is not Family.OTHER else 0)


def _definitions_gone(path: str, before: bytes, after: bytes) -> list[bytes]:
    """The texts of the innermost definitions that an edit removes."""
    old, new = outline(path, before), outline(path, after)
    if old is None or new is None:
        return []
    gone = [each for each in old.definitions if each.name not in new.names]
    around = {old.parent(each) for each in gone}
    lines = split_lines(before)
    return [b"".join(lines[d.first : d.last + 1]) for d in gone if d not in around]
