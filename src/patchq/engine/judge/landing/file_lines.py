"""The lines of a file with their scopes, conditions and names, compared with another version."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha1
from pathlib import PurePosixPath

from patchq.engine.judge.landing.binding.python_lines import DEFINES, MayBind, bound_by
from patchq.engine.judge.landing.conditions.guards import Guards, is_narrowed
from patchq.engine.judge.landing.conditions.nesting import nesting
from patchq.engine.judge.landing.growth import only_grew
from patchq.engine.judge.landing.names import FileNames
from patchq.engine.languages.flow import blocks_of, conditions
from patchq.engine.languages.live import Part, live_lines, parts
from patchq.engine.languages.matching import SequenceMatcher
from patchq.engine.languages.outline import Outline, outline
from patchq.engine.languages.tokens import Family, family, is_prose
from patchq.engine.series.hunks import common_ends
from patchq.recent import kept_for

_WORD = re.compile(rb"[A-Za-z_]\w*")
REMOVES = re.compile(rb"\b(?:REMOVE_ITEM|REMOVE_AT|FILTER)\b")
NEAR = 3
"""How many lines above and below a line are taken to belong to it."""


class FileLines:
    """The lines of a file: ``raw`` without trailing white space, ``bare`` also without indentation.

    Line numbers are 0-based. ``now`` and ``place`` are a later version of the file, and a line of
    that. What has to be parsed is parsed when it is first asked for.
    """

    def __init__(self, path: str, text: bytes):
        self.raw = [line.rstrip() for line in text.split(b"\n")]
        self.bare = [line.strip() for line in self.raw]
        self.path = path
        self.suffix = PurePosixPath(path).suffix
        self.kind = family(path)
        self._text = text
        self._guarded: dict[int, frozenset[bytes]] = {}
        self._bound: dict[bytes, MayBind] = {}
        self._became: dict[tuple[bytes, bool], tuple[LineChange, ...]] = {}

    @cached_property
    def joined(self) -> bytes:
        """The raw lines, each with a line end."""
        return b"\n".join((*self.raw, b""))

    @cached_property
    def said(self) -> frozenset[bytes]:
        """The set of its bare lines."""
        return frozenset(self.bare)

    @cached_property
    def removers(self) -> tuple[int, ...]:
        """The lines that take items out of a list."""
        if not REMOVES.search(self._text):
            return ()
        return tuple(number for number, line in enumerate(self.bare) if REMOVES.search(line))

    @cached_property
    def digest(self) -> bytes:
        """A checksum of the text."""
        return sha1(self._text).digest()

    def became(self, now: FileLines, *, indented: bool = False) -> tuple[LineChange, ...]:
        """The line diff from this version to ``now``; indentation counts only if ``indented``."""
        key = now.digest, indented
        if key not in self._became:
            sides = (self.raw, now.raw) if indented else (self.bare, now.bare)
            self._became[key] = tuple(edits(*sides))
        return self._became[key]

    def __getitem__(self, number: int) -> bytes:
        return self.bare[number] if 0 <= number < len(self.bare) else b""

    def above(self, number: int) -> Iterator[int]:
        """The lines that enclose a line by indentation, from the inside out."""
        while (number := self._nesting[number]) >= 0:
            yield number

    def indent(self, number: int) -> bytes:
        """The indentation of a line."""
        return self.raw[number].removesuffix(self.bare[number])

    def is_kept(self, number: int, now: FileLines, place: int) -> bool:
        """Whether the line at ``place`` may be this one: in the same definition, unless that is
        gone, and not switched off."""
        if number in self.live and place not in now.live:
            return False
        around = self._heads_around(number)
        if around and around == now._heads_around(place):
            return True  # no file has to be parsed to see that
        known, shown = self._outline, now._outline
        if known is None or shown is None:
            return True
        was, is_ = known.around(number, number), shown.around(place, place)
        if was is None or is_ is None:
            return was is is_
        return was.name == is_.name or was.name not in shown.names

    def _heads_around(self, number: int) -> tuple[bytes, ...]:
        """The names of the definitions of Python that a line is in, from the inside out; none if it
        is in none, or indentation does not tell (decorators, closing brackets)."""
        if self.kind is not Family.PYTHON or self[number].startswith((b")", b"]", b"}")):
            return ()
        lines = [self[at] for at in (number, *self.above(number))]
        if any(line.startswith(b"@") for line in lines):
            return ()
        return tuple(match[1] for line in lines if (match := DEFINES.match(line)))

    def is_narrower(self, number: int, now: FileLines, places: Iterable[int]) -> bool:
        """Whether a line is under more or narrower conditions at each of ``places`` in ``now``."""
        before, guards = self._conditions[number], self._guards_of(number)
        return all(
            now._conditions[place] > before or is_narrowed(guards, now._guards_of(place))
            for place in places
        )

    def _guards_of(self, number: int) -> frozenset[bytes]:
        """The conditions that a line is under, as normalized text."""
        if number not in self._guarded:
            heads = set(self.above(number))
            if self.kind is Family.OTHER:
                heads.update(blocks_of(self.path, self._text).around(number))
            parts = self._parts[number - 1] if number and self._parts else ()
            self._guarded[number] = self._guards.on(number, heads, parts)
        return self._guarded[number]

    def keeps_names(self, number: int, now: FileLines, places: Iterable[int]) -> bool:
        """Whether the names that a line binds, or is inside of, still mean it at one of
        ``places``."""
        if self.kind is Family.PYTHON and not self._may_lose(number, now):
            return True  # told without parsing
        return any(self.names.keeps(number, now.names, place) for place in places)

    def _may_lose(self, number: int, now: FileLines) -> bool:
        """Whether new lines of ``now`` may rebind a name that a line of Python binds or is in."""
        heads = [self[number], *(self.bare[at] for at in self.above(number))]
        return now._newly_bound(self).may_take(heads)

    def _newly_bound(self, then: FileLines) -> MayBind:
        """What the lines that ``then`` lacks, or has less often, may bind in Python."""
        if then.digest not in self._bound:
            self._bound[then.digest] = bound_by(Counter(self.bare) - Counter(then.bare))
        return self._bound[then.digest]

    def is_apart(self, number: int, place: int) -> bool:
        """Whether a line is inside a definition and ``place`` is outside of it."""
        around = self._outline.around(number, number) if self._outline else None
        return around is not None and not around.spans(place, place)

    def only_laid_out(self, edit: LineChange, now: FileLines) -> bool:
        """Whether an edit only reformatted live lines, or added items to their lists."""
        old, new = (
            b"\n".join(side[first:end])
            for side, first, end in (
                (self.bare, edit.first, edit.end),
                (now.bare, edit.new_first, edit.new_end),
            )
        )
        return self.live.issuperset(range(edit.first, edit.end)) and (
            all(self.is_kept(edit.first, now, place) for place in edit.lines)
            and only_grew(self.kind, old, new)
        )

    def only_grew(self, number: int, now: FileLines, places: Sequence[int]) -> bool:
        """Whether the lines at ``places`` are this line, or it joined with its neighbours, and
        differ by added list items at most. True for lines without effect and for prose."""
        grown = b"\n".join(now[place] for place in places)
        if number not in self.live or self[number] == grown or is_prose(self.path):
            return True
        around = (
            b"\n".join(self.bare[max(number - above, 0) : number + below + 1])
            for above in range(NEAR + 1)
            for below in range(NEAR + 1)
        )
        return any(only_grew(self.kind, lines, grown) for lines in around)

    @cached_property
    def _nesting(self) -> tuple[int, ...]:
        return nesting(self.raw)

    @cached_property
    def _guards(self) -> Guards:
        return Guards(self.raw, self.kind)

    @cached_property
    def _parts(self) -> tuple[tuple[Part, ...], ...]:
        """The preprocessor conditions around each line; none in other languages than C."""
        return parts(self._text) if self.kind is Family.C else ()

    @cached_property
    def _conditions(self) -> tuple[int, ...]:
        return conditions(self.path, self._text)

    @cached_property
    def live(self) -> frozenset[int]:
        """The numbers of the lines that are code and are not switched off."""
        return live_lines(self.path, self._text)

    @cached_property
    def names(self) -> FileNames:
        """The names that the file binds."""
        return FileNames(self.path, self._text)

    @cached_property
    def _outline(self) -> Outline | None:
        return outline(self.path, self._text)


@kept_for(6 << 20)
def file_lines(path: str, text: bytes) -> FileLines:
    """A :class:`FileLines`, kept: the units of a patch ask about the same files."""
    return FileLines(path, text)


@dataclass(frozen=True)
class LineChange:
    """Lines ``first`` to ``end`` (exclusive) that became ``new_first`` to ``new_end``."""

    first: int
    end: int
    new_first: int
    new_end: int

    @property
    def lines(self) -> range:
        """The numbers of the new lines."""
        return range(self.new_first, self.new_end)


def edits(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[LineChange]:
    """The line diff of two texts."""
    head, tail = common_ends(old, new)
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
    for kind, first, end, new_first, new_end in matcher.get_opcodes():
        if kind != "equal":
            yield LineChange(head + first, head + end, head + new_first, head + new_end)


def stands_at(number: int, later: Sequence[LineChange]) -> int:
    """The new number of a line that none of the edits changed."""
    before = [edit for edit in later if edit.end <= number]
    return number + (before[-1].new_end - before[-1].end if before else 0)


def words_in(lines: Iterable[bytes]) -> set[bytes]:
    """The words in some lines."""
    return {word for line in lines for word in _WORD.findall(line)}


def compact(line: bytes) -> bytes:
    """A line without white space."""
    return b"".join(line.split())
