"""Probes in functions that moved, were renamed or removed, and in files that were renamed.

Labels are made of exact lines: a function is *somewhere* if runs of its lines, or most of its
lines, stand there. Where lines can tell neither yes nor no, there is no label and no probe.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TypeVar

from probe import Fate, Place, Probe
from source import Function, Tree, tree_diff, windows

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.mail import Mailer
from patchq.git.objects import Entry
from patchq.model.patch import Patch

_TOKEN = re.compile(rb"\w+|[^\w\s]")
_SAYS = re.compile(rb"\w+\W+\w+")

CHECKED = Path(__file__).parent / "renamed.tsv"
"""Pairs that were looked at by hand: yes or no, likeness, old and new function."""

_Key = TypeVar("_Key", bound=Hashable)

LIKE = 0.6
"""The least likeness of two whole bodies, token by token, for one to be the other renamed."""

MOVED = 0.5
"""The same for a function of the same name in another file."""

LEFT = 0.1
"""The most that is left of what is gone: of its runs of lines, and twice that of telling lines."""


@dataclass(frozen=True)
class Pair:
    """A function of the old tag, and what it is on the new one."""

    old: Function
    new: Function
    likeness: float


class CodeProbes:
    """Makes the probes of one span."""

    def __init__(self, span: UpstreamRange, seed: int):
        rows = (row.split("\t") for row in CHECKED.read_text(encoding="utf-8").splitlines())
        self._refuted = {(old, new) for word, _, old, new in rows if word == "no"}
        self._objects = span.store.objects
        self._mailer = Mailer(span.store.git, self._objects)
        self._old = Tree(self._objects, span.old.tree)
        self._new = Tree(self._objects, span.new.tree)
        self._diff = tree_diff(span.store.git, span.old.tree, span.new.tree)
        self._random = random.Random(seed)
        self.renamed: list[Pair] = []
        """The pairs behind the probes of that group, to be looked at."""

    def probes(self, fate: Fate, count: int) -> list[Probe]:
        """As many probes of a group as asked for, or as there are.

        Where there are too few functions, a second and a third place of each is taken.
        """
        if fate is Fate.FILE:
            return list(islice(self._files(), count))
        labelled = list(islice(self._labelled(fate), count))
        places = {
            (function, spot): now
            for part in (2, 4, 1)
            for function, now in labelled
            if (spot := function.spots[len(function.spots) * part // 5])
        }
        return [
            self._probe(fate, function, spot, now)
            for (function, spot), now in islice(places.items(), count)
        ]

    def _labelled(self, fate: Fate) -> Iterator[tuple[Function, list[Function]]]:
        """The functions of a group, each with what it is now."""
        if fate is Fate.RENAMED:
            return self._renamed()
        if fate in (Fate.VERBATIM, Fate.CHANGED):
            return self._moved(same=fate is Fate.VERBATIM)
        return self._removed(in_place=fate is Fate.REPLACED)

    # -- what became of the functions --------------------------------------------------------

    @cached_property
    def _gone(self) -> list[Function]:
        """The functions that the file of this name, or its new name, no longer has."""
        found = []
        for diff in self._diff.values():
            there = {f.name for f in self._new.functions(diff.new)} if diff.new else set()
            names = Counter(f.name for f in self._old.functions(diff.old))
            found += [
                function
                for function in self._old.functions(diff.old)
                if function.name not in there and names[function.name] == 1
            ]
        self._random.shuffle(found)
        return found

    @cached_property
    def _came(self) -> list[Function]:
        """The functions that the new tag has in files that had none of the name."""
        before = {diff.new: diff.old for diff in self._diff.values() if diff.new}
        found = []
        for path in self._new.source:
            old = before.get(path, path)
            if self._old.blobs.get(old) == self._new.blobs[path]:
                continue
            there = {function.name for function in self._old.functions(old)}
            found += [f for f in self._new.functions(path) if f.name not in there]
        return found

    @cached_property
    def _came_by_name(self) -> Mapping[str, list[Function]]:
        return _grouped(self._came, lambda function: [function.name])

    @cached_property
    def _came_by_line(self) -> Mapping[bytes, list[Function]]:
        return _grouped(self._came, lambda function: set(filter(_SAYS.search, function.said)))

    def _moved(self, *, same: bool) -> Iterator[tuple[Function, list[Function]]]:
        for function in self._gone:
            new = self._new_path(function)
            there = [f for f in self._came_by_name.get(function.name, ()) if f.path != new]
            twins = self._old.defined.get(function.bare, frozenset()) - {function.path}
            unchanged = [f for f in there if f.lines == function.lines]
            if same:
                once = len(unchanged) == 1 == len(there) and there[0].path not in twins
                if once and self._stands_once(function):
                    yield function, unchanged
            elif there and not unchanged:
                alike = [f for f in there if likeness(function, f) >= MOVED]
                if alike:
                    yield function, alike

    def _stands_once(self, function: Function) -> bool:
        """Whether one file alone of the new tag has the very lines, of whatever kind it is.

        Generated code stands in what it is generated from too.
        """
        if any(self._new.counts[line] == 1 for line in function.said):
            return True
        text = b"".join(function.lines)
        return sum(text in self._new.text(path) for path in self._new.blobs) == 1

    def _renamed(self) -> Iterator[tuple[Function, list[Function]]]:
        for function in self._gone:
            if self._is_named(function):
                continue
            pair = self._likest(function)
            if pair is None or pair.likeness < LIKE:
                continue
            if (str(pair.old), str(pair.new)) not in self._refuted:
                self.renamed.append(pair)
                yield function, [pair.new]

    def _removed(self, *, in_place: bool) -> Iterator[tuple[Function, list[Function]]]:
        for function in self._gone:
            if self._is_named(function) or self._is_left(function):
                continue
            pair = self._likest(function)
            if pair is not None and pair.likeness >= LIKE / 2:
                continue
            diff, lines = self._diff[function.path], self._old.text(function.path).splitlines()
            first, end = function.start, function.end
            if diff.replaces(first, end) if in_place else diff.takes_out(first, end, lines):
                yield function, []

    def _is_named(self, function: Function) -> bool:
        """Whether the new tag defines the name anywhere."""
        return function.bare in self._new.defined

    def _is_left(self, function: Function) -> bool:
        """Whether runs of its lines, or its telling lines, are on the new tag anywhere."""
        runs = list(windows(function.said))
        # a line that many files share tells nothing
        telling = [x for x in function.said if _SAYS.search(x) and self._old.counts[x] <= 3]
        left = sum(line in self._new.counts for line in telling)
        return (
            not telling
            or left > 2 * LEFT * len(telling)
            or sum(run in self._new.windows for run in runs) > LEFT * len(runs)
        )

    def _likest(self, function: Function) -> Pair | None:
        """The new function with the likest body, among those that share most lines with it."""
        shared: Counter[Function] = Counter()
        for line in set(function.said):
            having = self._came_by_line.get(line, ())
            if len(having) <= 20:
                shared.update(having)
        pairs = [Pair(function, f, likeness(function, f)) for f, _ in shared.most_common(3)]
        return max(pairs, key=lambda pair: pair.likeness, default=None)

    def _new_path(self, function: Function) -> str | None:
        return self._diff[function.path].new

    # -- files -------------------------------------------------------------------------------

    def _files(self) -> Iterator[Probe]:
        """Up to ten probes a file: where five lines stand once, in the old file and the new."""
        spots = []
        for diff in self._diff.values():
            if diff.new is None or PurePosixPath(diff.old).stem == PurePosixPath(diff.new).stem:
                continue
            old, new = self._old.text(diff.old).splitlines(), self._new.text(diff.new).splitlines()
            runs = [Counter(tuple(t[n : n + 6]) for n in range(len(t) - 5)) for t in (old, new)]
            places = [
                n + 3
                for n in range(len(old) - 5)
                if all(run[tuple(old[n : n + 6])] == 1 for run in runs)
                and all(line.strip() for line in old[n + 2 : n + 4])
            ]
            spots += [(diff, at) for at in places[:: max(1, len(places) // 10)][:10]]
        self._random.shuffle(spots)
        for diff, at in spots:
            lines = self._old.text(diff.old).splitlines(keepends=True)
            made_of = f"{diff.old}:{at + 1} -> {diff.new}"
            mark = _mark(made_of)
            around = (lines[at - 1].strip(), lines[at].strip())
            content = b"".join([*lines[:at], _indent(lines[at]) + mark + b" = 1\n", *lines[at:]])
            place = Place(diff.new or "", around=around)
            yield self._made(Fate.FILE, diff.old, content, mark, (place,), made_of, None)

    # -- probes ------------------------------------------------------------------------------

    def _probe(self, fate: Fate, function: Function, spot: int, now: Sequence[Function]) -> Probe:
        to = ", ".join(map(str, now)) or "nowhere"
        made_of = f"{function} (line {spot}) -> {to}"
        mark = _mark(made_of)
        # every other one edits a line, where there is one that ends where it begins
        edited = with_probe(function, spot, mark, edit=mark[-1] % 2 == 0)
        lines = self._old.text(function.path).splitlines(keepends=True)
        content = b"".join([*lines[: function.start], *edited, *lines[function.end :]])
        exact = edited if fate is Fate.VERBATIM else None
        places = tuple(Place(f.path, f.name, exact) for f in now)
        return self._made(fate, function.path, content, mark, places, made_of, function)

    def _made(
        self,
        fate: Fate,
        path: str,
        content: bytes,
        mark: bytes,
        places: tuple[Place, ...],
        made_of: str,
        function: Function | None,
    ) -> Probe:
        mode = next(e.mode for e in [self._objects.file(self._old.oid, path)] if e)
        entry = Entry(mode, self._objects.write("blob", content))
        tree = self._objects.overlay(self._old.oid, {path: entry})
        diff = self._mailer.diff(self._old.oid, tree)
        patch = Patch(f"{fate.name.lower()}-{mark.decode().rpartition('_')[2]}.patch", diff)
        return Probe(fate, patch, made_of, tree, mark, places, function)


def with_probe(function: Function, at: int, mark: bytes, *, edit: bool) -> tuple[bytes, ...]:
    """The lines of ``function`` with a line added, or one edited, that says ``mark``."""
    lines = function.lines
    here = lines[at].rstrip(b"\r\n")
    alone = not here.endswith((b"(", b"[", b"{", b",", b":", b"\\")) and here.count(b'"""') != 1
    if edit and alone and at + 1 in (*function.spots, len(lines)):
        comment = b"  # " + mark if function.is_python else b" /* " + mark + b" */"
        return (*lines[:at], here + comment + b"\n", *lines[at + 1 :])
    said = b" = 1\n" if function.is_python else b"(1);\n"
    return (*lines[:at], _indent(lines[at]) + mark + said, *lines[at:])


def likeness(one: Function, other: Function) -> float:
    """How alike two whole bodies are, token by token, their own names left out; 0 to 1."""
    first, second = (
        [token for token in _TOKEN.findall(b"\n".join(f.said)) if token != f.bare.encode()]
        for f in (one, other)
    )
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= LIKE / 2 else 0.0


def _indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip())]


def _mark(made_of: str) -> bytes:
    return b"patchq_probe_" + sha256(made_of.encode()).hexdigest()[:8].encode()


def _grouped(
    functions: Sequence[Function], keys: Callable[[Function], Iterable[_Key]]
) -> Mapping[_Key, list[Function]]:
    found: dict[_Key, list[Function]] = defaultdict(list)
    for function in functions:
        for key in keys(function):
            found[key].append(function)
    return found
