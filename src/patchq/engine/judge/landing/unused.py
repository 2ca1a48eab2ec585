"""Whether anything still uses the definition that a landed line is in.

Upstream may leave a function, a target or a variable as it is and use another one instead, or give
its name, or that of its module, to another one: the fix is there and has no effect. Asked for C,
CMake, make and shells, in which a user has to write the name; in Python, in which names are made
from strings too, only if nothing contains the name any more, no string, comment or document either.
There may be other reasons for that, so it asks for a review and decides nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from patchq.engine.judge.landing.file_lines import FileLines, file_lines
from patchq.engine.judge.landing.hunk_history import HunkHistory
from patchq.engine.languages.named import definitions, may_define
from patchq.engine.languages.tokens import Family, family, is_prose
from patchq.engine.series.hunks import common_ends
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.objects import Entries, Objects
from patchq.git.search import lines_with_texts
from patchq.model.ids import TreeId

_OF_MODULE = re.compile(
    rb"(?:async\s+)?(?:def|class)\s+(?!__|[tT]est|pytest|\w+Test(?:s|Case)?\b)([A-Za-z_]\w*)"
    rb"|(?!__|pytest)([A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)"
)
"""A binding of a name of a module that users have to write; tests are found by a name pattern."""
_IMPORTS = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\S+)[ \t]+)?import\b[ \t]*(\([^)]*\)|[^\n]*)", re.MULTILINE
)
_TAKEN = re.compile(rb"\w+|\*")
_PLAIN = re.compile(rb"@(?:[\w.]+\.)?(?:dataclass|contextmanager|lru_cache|cache)\b")
"""A decorator that does not register what it decorates."""


@dataclass(frozen=True)
class UnusedName:
    """A name of landed lines that has no use: ``user`` used it last, until ``commit``.

    Or ``taker`` is a file that defines the name now, or ``maker`` an included one that redefines
    it.
    """

    trail: HunkHistory
    name: str
    user: str = ""
    commit: CommitInfo | None = None
    taker: str = ""
    maker: str = ""


def without_effect(
    trails: Iterable[HunkHistory], unused: Iterable[UnusedName]
) -> list[HunkHistory]:
    """``trails``, marked as without effect if their lines are in what is ``unused``."""
    idle = {item.trail.unit for item in unused}
    return [trail.without_effect if trail.unit in idle else trail for trail in trails]


def lines_added(trail: HunkHistory, path: str, objects: Objects) -> tuple[FileLines, range]:
    """The file ``path`` with the unit of ``trail``, and the range of lines that the unit adds."""
    before, after = (objects.blob(side[path]) for side in (trail.unit.before, trail.unit.after))
    lines = file_lines(path, after)
    head, tail = common_ends(file_lines(path, before).raw, lines.raw)
    return lines, range(head, len(lines.raw) - tail)


def as_landed(trail: HunkHistory, path: str, span: UpstreamRange) -> tuple[TreeId, bytes]:
    """The tree that a unit landed in, and the file ``path`` there; those of the old base if the
    landing is not known."""
    landed = next((step for step in trail.steps if step.commit == trail.landed), None)
    entry = landed.entries.get(path) if landed else trail.unit.before[path]
    return landed.commit.tree if landed else span.old.tree, span.store.objects.blob(entry)


class Unused:
    """Finds unused names between two bases.

    ``ours`` are the files on the new base by the patch's own paths, ``places`` their paths there.
    """

    def __init__(self, span: UpstreamRange, ours: Entries, places: Mapping[str, str | None]):
        self._span = span
        self._git = span.store.git
        self._objects = span.store.objects
        self._ours = ours
        self._places = places

    def find(self, trails: Sequence[HunkHistory]) -> tuple[UnusedName, ...]:
        """The names of landed units among ``trails`` that nothing uses any more."""
        asked = [
            (trail, path, name)
            for trail in trails
            if trail.has_landed and len(trail.unit.paths) == 1
            for path in trail.unit.paths
            for name in self._names(trail, path)
            if not _uses(path, self._objects.blob(self._ours.get(path)), name)
        ]
        used = self._users(self._span.new.tree, asked)
        return (
            *(
                found
                for trail, path, name in asked
                if (found := self._unused(trail, path, name, used[name])) is not None
            ),
            *self._moved_aside(trails),
        )

    def _moved_aside(self, trails: Sequence[HunkHistory]) -> Iterator[UnusedName]:
        """The Python modules of landed lines that were moved, and whose name another file has."""
        for trail in trails:
            path = trail.unit.paths[-1]
            place = self._places.get(path)
            if not trail.has_landed or place is None or place == path:
                continue
            if family(path) is not Family.PYTHON:
                continue
            then, _ = as_landed(trail, path, self._span)
            for taker in _files_of_module(path):
                text = self._objects.content(self._span.new.tree, taker)
                if taker == place or text is None or self._objects.file(then, taker):
                    continue
                names = self._names(trail, path) if len(trail.unit.paths) == 1 else ()
                if not _hands_on(taker, text, place, names):
                    module = posixpath.splitext(path.removesuffix("/__init__.py"))[0]
                    yield UnusedName(trail, module, commit=self._since(taker), taker=taker)

    def _since(self, path: str) -> CommitInfo | None:
        def is_there(commit: CommitInfo) -> bool:
            return self._objects.file(commit.tree, path) is not None

        return self._span.since((path,), is_there)

    def _names(self, trail: HunkHistory, path: str) -> Collection[str]:
        """The names of the definitions that a unit adds lines to, as their users write them."""
        lines, added = lines_added(trail, path, self._objects)
        return dict.fromkeys(name for number in added for name in _written_out(lines, number))

    def _users(
        self, tree: TreeId, asked: Sequence[tuple[HunkHistory, str, str]]
    ) -> dict[str, frozenset[str]]:
        """Files of ``tree`` that use each name; those further away are only searched if no file
        nearby does."""
        users: dict[str, set[str]] = {name: set() for _, _, name in asked}
        words = {name.encode("latin-1"): (name, family(path)) for _, path, name in asked}
        own = {(place, name) for _, path, name in asked for place in (path, self._places.get(path))}
        beside = {posixpath.dirname(path) for path, _ in own if path}
        around = {posixpath.dirname(folder) for folder in beside}
        wider = {posixpath.dirname(folder) for folder in around}
        for below in (beside, around, wider, ()):
            left = {word: of for word, of in words.items() if not users[of[0]]}
            if not left or (below and "" in below):
                continue
            for path, line in lines_with_texts(self._git, tree, left, below):
                for word, (name, kind) in left.items():
                    if word in line and (path, name) not in own and _is_use(path, line, word, kind):
                        users[name].add(path)
        return {name: frozenset(files) for name, files in users.items()}

    def _unused(
        self, trail: HunkHistory, path: str, name: str, users: frozenset[str]
    ) -> UnusedName | None:
        tree, then = as_landed(trail, path, self._span)
        text = self._objects.blob(self._ours.get(path))
        if family(path) is Family.PYTHON:
            if may_define(path, text, name) is None:
                return None  # others import it from where it is now
        elif not file_lines(path, text).names.has(name):
            taker = next((user for user in sorted(users) if self._took(user, name, tree, path)), "")
            return UnusedName(trail, name, taker=taker) if taker else None
        if users:
            return None
        before = self._users(tree, [(trail, path, name)])[name]
        others = (user for user in sorted(before) if self._objects.content(tree, user) != then)
        user = path if _uses(path, then, name) else next(others, "")
        return UnusedName(trail, name, user, self._end(user, name)) if user else None

    def _took(self, user: str, name: str, then: TreeId, path: str) -> bool:
        """Whether ``user`` defines the name on the new base and did not in the tree ``then``."""
        new, old = (
            self._objects.content(tree, user) or b"" for tree in (self._span.new.tree, then)
        )
        kind = family(path)
        return bool(definitions(user, new, name, kind)) and not definitions(user, old, name, kind)

    def _end(self, user: str, name: str) -> CommitInfo | None:
        def is_over(commit: CommitInfo) -> bool:
            return not _uses(user, self._objects.content(commit.tree, user) or b"", name)

        return self._span.since((user,), is_over)


def _files_of_module(path: str) -> tuple[str, str]:
    """The two files that a Python module, given one of them, may be."""
    stem = path.removesuffix("/__init__.py").removesuffix(".py")
    return f"{stem}.py", f"{stem}/__init__.py"


def _hands_on(taker: str, text: bytes, place: str, names: Iterable[str]) -> bool:
    """Whether a module re-exports the one at ``place``: it imports from it, and defines none of
    ``names`` itself."""
    stem = PurePosixPath(place.removesuffix("/__init__.py")).stem.encode()
    taken = set[bytes]()
    for match in _IMPORTS.finditer(text):
        module, words = (match[1] or b"").rpartition(b".")[2], set(_TAKEN.findall(match[2]))
        if stem == module or stem in words:
            taken |= words
    own = file_lines(taker, text).names
    others = (name for name in names if name.encode() not in taken)
    return bool(taken) and (b"*" in taken or not any(map(own.has, others)))


def _uses(path: str, text: bytes, name: str) -> bool:
    """Whether a file contains the name outside of its own definition and of declarations."""
    pattern = _names_it(name.encode("latin-1"), family(path))
    if not pattern.search(text):
        return False
    lines = file_lines(path, text)
    return any(
        pattern.search(line) and name not in _written_out(lines, number)
        for number, line in enumerate(lines.raw)
    )


def _written_out(lines: FileLines, number: int) -> Collection[str]:
    """The names of the definitions around a line that users have to write; in Python, that of the
    outermost one, unless a decorator may register it."""
    if lines.kind is not Family.PYTHON:
        return lines.names.written_out(number)
    outer = [number, *lines.above(number)][-1]
    match = _OF_MODULE.match(lines.raw[outer])
    above = lines.raw[outer - 1] if outer else b""
    is_handed_on = above.startswith((b"@", b")")) and not _PLAIN.match(above)
    return () if match is None or is_handed_on else ((match[1] or match[2]).decode(),)


def _is_use(path: str, line: bytes, name: bytes, kind: Family) -> bool:
    """Whether a line uses a name of a language; in prose, only names of Python count."""
    return (kind is Family.PYTHON or not is_prose(path)) and bool(
        _names_it(name, kind).search(line)
    )


@lru_cache(maxsize=256)
def _names_it(name: bytes, kind: Family) -> re.Pattern[bytes]:
    """A pattern for a use of a name: not for a declaration of a function."""
    word = rb"(?<!\w)" + re.escape(name) + rb"(?!\w)"
    if kind is Family.PYTHON:
        return re.compile(word)
    return re.compile(
        rb"^(?!\s*(?!return\b|else\b|case\b|goto\b)\w[\w\s*&:<>,\[\]]*[\s*&]"
        + word
        + rb"\s*\([^;{}=]*;?\s*$).*"
        + word,
        re.MULTILINE,
    )
