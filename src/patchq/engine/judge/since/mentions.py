"""The commits since a landing that changed lines of other files with the names of what landed.

A caller may import another function of the name, a build file drop the source from a list, a
compiler get a ``-D`` of a macro: no rule finds all of that, so a reviewer is told which commits to
look at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from patchq.engine.judge.landing.file_lines import FileLines
from patchq.engine.judge.landing.hunk_history import HunkHistory
from patchq.engine.judge.landing.unused import lines_added
from patchq.engine.judge.since.later_edits import LaterEdits
from patchq.engine.languages.named import tail
from patchq.engine.languages.tokens import KEYWORDS, Family, family, only_code
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.changed_lines import ChangedFile
from patchq.git.history import CommitInfo
from patchq.git.objects import Objects
from patchq.model.ids import CommitId

MOST_COMMITS = 20
"""A name in the changed lines of more commits is too common to name any of them."""
_MOST_NAMES = 20
_MOST_READ = 4000
"""The changed lines of at most so many commits are read, the newest first."""
_OF_DIRECTORY = frozenset(
    {"__init__.py", "CMakeLists.txt", "Makefile", "makefile", "GNUmakefile", "Makefile.am"}
    | {"Kconfig", "meson.build", "BUILD", "BUILD.bazel", "SConscript", "mod.rs", "Dockerfile"}
)
"""Files with these names are searched for by the name of their directory."""
_SYNTAX = re.compile(
    r"name|run|uses|with|env|if|on|jobs|steps|needs|services|build|else|try|finally|default|public"
    r"|private|protected"
)
"""Words before a colon that are syntax, not names."""
_TEST = re.compile(r"(?:^|[/_.])tests?(?:[/_.]|$)", re.IGNORECASE)
"""Test files: nothing else uses their names."""
_DUNDER = re.compile(r"__\w+__")
_SAYS = re.compile(r"[\w.+-]*\w")
_DEFINES = re.compile(
    rb"\s*(?:async\s+)?(?:def|class)\s+(\w+)"
    rb"|\s*#\s*define\s+(\w+)"
    rb"|(?i:\s*(?:option|set|add_library|add_executable|add_custom_target|function|macro)\s*\()\s*(\w[\w.-]*)"
    rb"|(?:ENV|ARG)\s+(\w+)|FROM\s+\S+\s+(?i:AS)\s+([\w.-]+)"
    rb"|\s*(?i:create\s+(?:or\s+replace\s+)?(?:unique\s+)?(?:index|table|view|function|procedure|trigger)"
    rb"\s+(?:if\s+not\s+exists\s+)?)(\w+)"
    rb"|\s*(?:export\s+|declare\s+-\w+\s+)?([A-Za-z_]\w*)\s*(?::[^=:]+)?[:?+]?=(?!=)"
    rb"|\s*(?:-\s+)?[\"']?([A-Za-z_][\w.-]*)[\"']?\s*:(?:\s|$)"
)
"""The definition on a line: a macro, a variable, an option, a target, a key."""
_HEAD = re.compile(
    rb"\s*(?:(?:export|default|pub(?:\(\w+\))?|static|async|abstract|unsafe|public|private)\s+)*"
    rb"(?:func|fn|function|struct|enum|trait|interface|type|mod|class)\s+(?:\([^)]*\)\s*)?(\w+)"
)
"""The head of a definition in languages with braces."""
_OPTION = re.compile(rb"[\"'`](--[a-z][\w-]+)")
_VARIABLE = re.compile(rb"[\"'`$]\{?([A-Z][A-Z\d]*_[A-Z\d_]+)\b")
_KEY = re.compile(rb"[\"']([A-Za-z_]\w*)[\"']\s*:")
_USES = re.compile(rb"\b(?:[A-Za-z_]\w+(?=\s*\()|[A-Z_][A-Z\d_]{2,})\b")


@dataclass(frozen=True)
class LaterMention:
    """A commit that changed lines with ``names`` in ``files``; only next to such lines if
    ``beside``.

    ``rank`` is the place of its first name among those searched for.
    """

    commit: CommitInfo
    names: tuple[str, ...]
    files: tuple[str, ...]
    beside: bool
    rank: int


@dataclass(frozen=True)
class Mentions:
    """The mentions of what ``landed`` brought: sorted by rank, then the newest first; last those
    ``beside``.

    ``names`` were searched for; ``common`` ones are in too many commits; ``unasked`` is the number
    of further names, ``unread`` that of the oldest commits, which were not searched. ``own`` are
    the commits that mention a name in the landed files themselves.
    """

    landed: CommitInfo
    files: tuple[str, ...]
    names: tuple[str, ...]
    common: tuple[str, ...]
    unasked: int
    unread: int
    elsewhere: tuple[LaterMention, ...]
    own: frozenset[CommitId]


class LaterMentions:
    """Finds later mentions between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects

    def find(
        self,
        trails: Sequence[HunkHistory],
        edits: Sequence[LaterEdits],
        places: Mapping[str, str | None],
    ) -> Iterator[Mentions]:
        """The mentions since ``trails`` landed, for each landing commit. ``edits`` are those of
        their files, ``places`` the paths of these on the new base."""
        groups: dict[CommitId, list[HunkHistory]] = {}
        for trail in trails:
            if trail.landed is not None:
                groups.setdefault(trail.landed.oid, []).append(trail)
        for group in groups.values():
            landed = group[0].landed
            assert landed is not None
            files = [edit for edit in edits if edit.landed.oid == landed.oid]
            names = _names(files, group, self._objects, places)
            yield self._since(landed, names, group, places)

    def _since(
        self,
        landed: CommitInfo,
        names: Collection[tuple[str, ...]],
        group: Sequence[HunkHistory],
        places: Mapping[str, str | None],
    ) -> Mentions:
        after = self._span.after(landed)
        read = self._span.changed_lines.read(after[:_MOST_READ])
        order = {oid: place for place, oid in enumerate(read)}
        own = {path for trail in group for path in trail.unit.paths}
        own |= {place for path in own if (place := places.get(path))}
        of_files = {choices for path in own for choices in _of_file(path)}
        searched, common = dict[str, None](), dict[str, None]()
        found: dict[CommitId, list[tuple[int, str, ChangedFile]]] = {}
        said: set[CommitId] = set()
        for choices in list(names)[:_MOST_NAMES]:
            changes = list[tuple[str, ChangedFile]]()
            for name in choices:
                every = self._changes(name, order)
                if every is not None:
                    searched[name] = None
                    changes += ((name, change) for change in every)
                    break
                common[name] = None
                bound = self._changes(name, order, only_bound=True)
                changes += ((name, change) for change in bound or ())
            for name, change in changes:
                if own.isdisjoint((change.old, change.new)):
                    told = len(searched), name, change
                    found.setdefault(change.commit.oid, []).append(told)
                elif not change.beside and choices not in of_files:
                    said.add(change.commit.oid)
        mentions = [_mention(changes) for changes in found.values()]
        mentions.sort(key=lambda each: (each.beside, each.rank, order[each.commit.oid]))
        return Mentions(
            landed,
            tuple(dict.fromkeys(trail.unit.file for trail in group)),
            tuple(searched),
            tuple(common),
            max(len(names) - _MOST_NAMES, 0),
            len(after) - len(read),
            tuple(mentions),
            frozenset(said),
        )

    def _changes(
        self, name: str, commits: Collection[CommitId], *, only_bound: bool = False
    ) -> list[ChangedFile] | None:
        """The files in which ``commits`` changed lines with a name, or that bind it; None if too
        many did."""
        found, by = list[ChangedFile](), set[CommitId]()
        lines = self._span.changed_lines
        for change in lines.saying(name.encode(), commits, only_bound=only_bound):
            found.append(change)
            by.add(change.commit.oid)
            if len(by) > MOST_COMMITS:
                return None
        return found


def _mention(changes: Sequence[tuple[int, str, ChangedFile]]) -> LaterMention:
    beside = all(change.beside for *_, change in changes)
    told = [each for each in changes if beside or not each[2].beside]
    return LaterMention(
        changes[0][2].commit,
        tuple(dict.fromkeys(name for _, name, _ in told)),
        tuple(dict.fromkeys(change.path for *_, change in told)),
        beside,
        min(rank for rank, *_ in told),
    )


def _names(
    edits: Iterable[LaterEdits],
    group: Iterable[HunkHistory],
    objects: Objects,
    places: Mapping[str, str | None],
) -> dict[tuple[str, ...], None]:
    """The names of what landed, each followed by alternatives if it is too common: of the
    definitions around the lines, of the files, of what the lines define, and in C of what they use
    and a macro may redefine."""
    around, files, defined, above, used = (dict[tuple[str, ...], None]() for _ in range(5))
    for edit in edits:
        for path in (edit.file, places.get(edit.file) or edit.file):
            files.update(dict.fromkeys(_of_file(path)))
        if not _TEST.search(edit.file):
            around.update({(part,): None for name in edit.names or () for part in _parts(name)})
    for trail in group:
        path = trail.unit.paths[-1]
        if _TEST.search(path):
            continue
        lines, added = lines_added(trail, path, objects)
        last = min(added.start + 1, len(lines.raw))
        for number in added or range(max(added.start - 1, 0), last):
            names = lines.names.written_out(number)
            around.update({(name,): None for name in names if _SAYS.fullmatch(name)})
            if lines.kind is not Family.PYTHON:
                heads = (name for at in lines.above(number) for name in _defined(lines, at))
                above.update({(name,): None for name in heads})
        defined.update({(name,): None for number in added for name in _defined(lines, number)})
        defined.update({(name,): None for number in added for name in _given(lines[number])})
        if lines.kind is Family.C:
            used.update({(name,): None for number in added for name in _used(lines[number])})
    return {**around, **files, **defined, **above, **used}


def _of_file(path: str) -> Iterator[tuple[str, ...]]:
    """The names of a file: without the ending, or whole if that is too common; for C that of the
    directory too, which a build file may name."""
    file = PurePosixPath(path)
    if file.name in _OF_DIRECTORY:
        yield (file.parent.name or file.name,)
        return
    stem = file.name.partition(".")[0]
    if not stem or stem in _OF_DIRECTORY:
        yield (file.name,)
    else:
        yield (stem, file.name) if stem != file.name else (stem,)
    if family(path) is Family.C and file.parent.name:
        yield (file.parent.name,)


def _parts(name: str) -> Iterator[str]:
    """The last part of a qualified name, and the part before it; a ``__method__`` only by its
    class."""
    return (part for part in reversed(tail(name)) if part and not _DUNDER.fullmatch(part))


def _used(line: bytes) -> Iterator[str]:
    """The functions that a line of C calls, and the names in it that look like macros."""
    for match in _USES.finditer(only_code(line)):
        name = match[0].decode()
        if match[0] not in KEYWORDS:
            yield name


def _defined(lines: FileLines, number: int) -> Iterator[str]:
    """The names that a line may define for other files: no local variables."""
    is_c = lines.kind is Family.C and not lines.bare[number].startswith(b"#")
    match = (_HEAD if is_c else _DEFINES).match(lines.raw[number])
    name = next(filter(None, match.groups()), b"").decode(errors="replace") if match else ""
    if not name or _SYNTAX.fullmatch(name):
        return
    if lines.kind is Family.PYTHON:
        around = next(lines.above(number), None)
        if around is not None and not lines.bare[around].startswith(b"class "):
            return
    yield name


def _given(line: bytes) -> Iterator[str]:
    """The options and variables of the environment that a line says, in each spelling that others
    may give or read them in, and the keys of a table."""
    for match in _OPTION.finditer(line):
        option = match[1].decode()
        word = option.lstrip("-").replace("-", "_")
        yield from (option, word, word.upper())
    for pattern in (_VARIABLE, _KEY):
        yield from (match[1].decode() for match in pattern.finditer(line))
