"""The commit that removed code, and whether it left nothing in its place.

No search for its text finds a unit that was renamed or rewritten in place, but it is not gone. So
only a pure deletion counts: the whole file was deleted, or the code before and after the unit is
adjacent, both on the commit that removed the unit and on the new base.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from patchq.engine.languages.matching import SequenceMatcher
from patchq.engine.languages.named import bare
from patchq.engine.languages.outline import Definition, Outline, outline
from patchq.engine.languages.python_modules import read_facts
from patchq.engine.languages.tokens import Family, family, tokenize
from patchq.engine.series.hunks import Unit, changed_region, common_ends
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.objects import Objects
from patchq.model.diff_layout import split_lines
from patchq.model.ids import TreeId

NEIGHBOURHOOD = 10
"""The number of lines around a hunk that are searched for besides its definition."""

_WRAPPED = 3
"""A wrapper has at most this fraction of the tokens of what it wraps."""

_SAYS = re.compile(rb"\w")


@dataclass(frozen=True)
class LostCode:
    """Code of the old base that a hunk edits and that its file no longer has.

    Lines are 0-based, ``end`` is exclusive: of the definition (or, if there is none, of the window
    around the hunk), and of the ``hunk`` with its surroundings inside that. ``new_path`` is None if
    the whole file is gone. If ``wrapped``, the name is still there, with a much shorter definition
    that may call the code elsewhere.
    """

    unit: Unit
    path: str
    new_path: str | None
    lines: tuple[bytes, ...]
    name: str | None
    first: int
    end: int
    hunk: tuple[int, int]
    wrapped: bool = False

    @property
    def what(self) -> str:
        """The unit, for messages."""
        last = f"-{self.end}" if self.end > self.first + 1 else ""
        return self.name or f"{self.path}:{self.first + 1}{last}"

    @property
    def text(self) -> bytes:
        """The text of the definition or window."""
        return b"".join(self.lines[self.first : self.end])

    @property
    def body(self) -> bytes:
        """The text of a definition without its head: what would be inlined."""
        end = b":" if family(self.path) is Family.PYTHON else b"{"
        lines = iter(self.lines[self.first : self.end])
        if self.name is not None:
            next((line for line in lines if line.rstrip().endswith(end)), None)
        return b"".join(lines)

    @property
    def neighbourhood(self) -> bytes:
        """The text of the hunk with its surroundings."""
        return b"".join(self.lines[self.hunk[0] : self.hunk[1]])


def find_lost(span: UpstreamRange, unit: Unit) -> LostCode | None:
    """The code that ``unit`` edits, if its file is gone or no longer has it.

    None if it is there, or if the old base did not have it: only upstream's own code can be shown
    to be gone from upstream.
    """
    objects = span.store.objects
    region = changed_region(unit, objects)
    if region is None:
        return None
    path, new_path = region.path, span.place(region.path).new
    upstream = objects.content(span.old.tree, path)
    if upstream is None:
        return None
    lines = split_lines(upstream)
    mine = outline(path, b"".join(region.lines))
    around = mine.around(region.first, region.last) if mine else None
    new = objects.content(span.new.tree, new_path) or b"" if new_path else None
    if around is not None:
        theirs = outline(path, upstream)
        whole = theirs.named(around.name) if theirs else None
        if whole is None:
            return None
        wrapped = False
        if new_path and new is not None:
            shown = outline(new_path, new)
            if shown is None:
                return None
            left = shown.named(around.name)
            wrapped = left is not None
            if left and not _is_wrapper(path, _part(split_lines(new), left), _part(lines, whole)):
                return None
        first = whole.first + region.first - around.first
        hunk = first, first + len(region.inside)
        return replace(_lost(unit, new_path, path, lines, whole, hunk), wrapped=wrapped)
    if _adds_definitions(unit, path, objects):
        return None
    block = region.inside
    at = _find(lines, block, region.first)
    if at is None or (new is not None and _find(split_lines(new), block, 0) is not None):
        return None
    return _lost(unit, new_path, path, lines, None, (at, at + len(block)))


@dataclass(frozen=True)
class Removal:
    """The commit that removed a unit; ``pure`` if neither it nor a later one put anything in its
    place.

    ``commit`` is None if no commit between the bases shows the removal. A replacement of a whole
    file is not searched for here, see :mod:`~patchq.engine.judge.gone.replacement`.
    """

    commit: CommitInfo | None
    pure: bool


def find_removal(span: UpstreamRange, lost: LostCode) -> Removal:
    """The removal of a unit."""
    commits = span.commits((lost.path,))
    if lost.new_path is None:
        commit = _file_removal(span, lost.path, commits)
        return Removal(commit, commit is not None)
    objects = span.store.objects
    names = _names(lost.path, lost.new_path, commits)
    found, after, has = None, b"", False
    for commit in reversed(commits):
        path = _first_there(objects, commit.tree, names)
        if path is None:
            continue
        text = objects.content(commit.tree, path) or b""
        has = _has(lost, path, text)
        if has:
            break
        found, after = commit, text
    if found is None:
        return Removal(None, False)
    new = objects.content(span.new.tree, lost.new_path) or b""
    steps = ((_before(objects, found, names), after), (b"".join(lost.lines), new))
    return Removal(found, all(_is_deletion(lost, old, now) for old, now in steps))


def renamed_to(span: UpstreamRange, path: str) -> str | None:
    """The path that a commit moved the file ``path`` to, if the new base has it."""
    for commit in reversed(span.commits((path,))):
        for touch in commit.touches:
            if touch.status == "R" and touch.old == path:
                there = span.store.objects.file(span.new.tree, touch.new)
                return touch.new if there else None
    return None


def _adds_definitions(unit: Unit, path: str, objects: Objects) -> bool:
    """Whether a hunk adds definitions, which upstream never had."""
    before, after = (outline(path, objects.blob(side[path])) for side in (unit.before, unit.after))
    return bool(before and after and after.names - before.names)


def _part(lines: Sequence[bytes], definition: Definition) -> bytes:
    return b"".join(lines[definition.first : definition.last + 1])


def _is_wrapper(path: str, now: bytes, then: bytes) -> bool:
    kind = family(path)
    left, all_ = (len(tokenize(kind, text).texts) for text in (now, then))
    return _WRAPPED * left <= all_


def _lost(
    unit: Unit,
    new_path: str | None,
    path: str,
    lines: Sequence[bytes],
    whole: Definition | None,
    hunk: tuple[int, int],
) -> LostCode:
    first, end = (whole.first, whole.last + 1) if whole else (0, len(lines))
    near = max(hunk[0] - NEIGHBOURHOOD, first), min(hunk[1] + NEIGHBOURHOOD, end)
    if whole is None:
        # if the file is still there, so is what is around the block
        first, end = near if new_path is None else hunk
        near = first, end
    name = whole.name if whole else None
    return LostCode(unit, path, new_path, tuple(lines), name, first, end, near)


def _find(lines: Sequence[bytes], block: Sequence[bytes], near: int) -> int | None:
    """The index of ``block`` in ``lines`` that is nearest to ``near``, None if it is not there."""
    block = list(block)
    found = [n for n in range(len(lines)) if block and list(lines[n : n + len(block)]) == block]
    return min(found, key=lambda at: abs(at - near), default=None)


def _file_removal(
    span: UpstreamRange, path: str, commits: Iterable[CommitInfo]
) -> CommitInfo | None:
    """The commit that deleted the file, under the name that it had then."""
    found = None
    for commit in commits:
        for touch in commit.touches:
            if touch.status == "R" and touch.old == path:
                path, found = touch.new, None
            elif touch.status == "D" and touch.old == path:
                found = commit
            elif touch.new == path:
                found = None
    return found if span.store.objects.file(span.new.tree, path) is None else None


def _names(old: str, new: str, commits: Iterable[CommitInfo]) -> tuple[str, ...]:
    names = {new: None, old: None}
    for commit in commits:
        for touch in commit.touches:
            if touch.status == "R" and touch.old in names:
                names[touch.new] = None
    return tuple(names)


def _first_there(objects: Objects, tree: TreeId, names: Sequence[str]) -> str | None:
    return next((name for name in names if objects.file(tree, name)), None)


def _before(objects: Objects, commit: CommitInfo, names: Sequence[str]) -> bytes:
    """The content of the file before ``commit``."""
    for parent in commit.parents[:1]:
        tree = objects.commit_tree(parent)
        path = _first_there(objects, tree, names)
        return (objects.content(tree, path) or b"") if path else b""
    return b""


def _has(lost: LostCode, path: str, text: bytes) -> bool:
    if lost.name is None:
        return _find(split_lines(text), lost.lines[lost.first : lost.end], lost.first) is not None
    name = bare(lost.name).lower()  # CMake's names have no case
    if name.isascii() and name.encode() not in text.lower():
        return False  # told without parsing
    shown = outline(path, text)
    return shown is None or lost.name in shown.names


def _is_deletion(lost: LostCode, old: bytes, new: bytes) -> bool:
    """Whether ``new`` lacks the unit that ``old`` has, and has nothing in its place."""
    before, after = split_lines(old), split_lines(new)
    if lost.name is None:
        at = _find(before, lost.lines[lost.first : lost.end], lost.first)
        return at is not None and _cut_out(before, after, at, at + lost.end - lost.first)
    shown, left = outline(lost.path, old), outline(lost.path, new)
    if shown is None or left is None:
        return False
    return _is_gap(shown, before, left, after, lost.name)


def _cut_out(old: Sequence[bytes], new: Sequence[bytes], first: int, end: int) -> bool:
    """Whether a line diff shows the lines as deleted with no added lines next to them."""
    for tag, low, high, _, _ in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if low < end and high > first and tag != "delete":
            return False
        if tag == "insert" and first <= low <= end:
            return False
    return True


def _is_gap(
    old: Outline, before: Sequence[bytes], new: Outline, after: Sequence[bytes], name: str
) -> bool:
    """Whether the neighbours of the definition ``name`` in ``old`` are adjacent in ``new``.

    Neighbours are definitions in the same enclosing one (or, if that is gone too, in the one around
    it). Between them there may be no definition and no line that was not there before.
    """
    target = old.named(name)
    while target is not None:
        around = old.parent(target)
        if around is None or around.name in new.names:
            break
        target = around
    if target is None:
        return False
    around = old.parent(target)
    inside = new.named(around.name) if around else None
    was, now = old.children(around), new.children(inside)
    kept = {definition.name for definition in now}
    above = [each.name for each in was if each.first < target.first and each.name in kept]
    below = [each.name for each in was if each.first > target.first and each.name in kept]
    start = max((each.last + 1 for each in now if above and each.name == above[-1]), default=None)
    stop = min((each.first for each in now if below and each.name == below[0]), default=None)
    low, high = (inside.first, inside.last + 1) if inside else (0, len(after))
    start, stop = low if start is None else start, high if stop is None else stop
    if start > stop:
        return False
    between = [each for each in now if start <= each.first and each.last < stop]
    if any(each.name not in old.names for each in between):
        return False
    taken = [*between, *new.imports]
    known = {line.strip() for line in before}
    return not any(
        _SAYS.search(after[number])
        and after[number].strip() not in known
        and not any(each.spans(number, number) for each in taken)
        for number in range(start, stop)
    )


def only_imports(
    unit: Unit, objects: Objects, patched: bytes, lost: Sequence[LostCode], new: bytes
) -> tuple[str, ...]:
    """The names that a hunk imports, if it does nothing else and only ``lost`` code reads them.

    ``patched`` is the file with the whole patch, ``new`` the file on the new base. Nothing of
    upstream can depend on a name that upstream never bound there. Empty if the hunk does more:
    removes or changes a binding, loads another module.
    """
    (path,) = unit.paths
    texts = [objects.blob(entries[path]) for entries in (unit.before, unit.after)]
    shown = outline(path, patched)
    if shown is None or family(path) is not Family.PYTHON or not _in_imports(path, *texts):
        return ()
    old, now = map(read_facts, texts)
    before, after = ({(i.module, i.level, i.name, i.bound) for i in f.imports} for f in (old, now))
    added = after - before
    known = old.names | {item[3] for item in before}
    sources = {item[:2] for item in before}
    if before - after or any(item[3] in known or item[:2] not in sources for item in added):
        return ()
    names = tuple(sorted(item[3] for item in added))
    gone = [each for item in lost if item.name and (each := shown.named(item.name))]
    word = re.compile(rb"\b(?:" + b"|".join(name.encode() for name in names) + rb")\b")
    outside = (
        number
        for number, line in enumerate(split_lines(patched))
        if word.search(line)
        and not any(each.spans(number, number) for each in [*gone, *shown.imports])
    )
    return () if not names or word.search(new) or next(outside, None) is not None else names


def _in_imports(path: str, before: bytes, after: bytes) -> bool:
    """Whether two versions of a file differ only in import statements."""
    sides = [split_lines(before), split_lines(after)]
    head, tail = common_ends(*sides)
    for text, lines in zip((before, after), sides, strict=True):
        shown = outline(path, text)
        for number in range(head, len(lines) - tail):
            if shown is None or (lines[number].strip() and not shown.in_imports(number, number)):
                return False
    return True
