"""Is code that is gone from its place really gone, or did it move where git saw no rename?

A deleted file or function proves nothing by itself: its lines may live on elsewhere, and with
them the fault that the patch mends. So the lines that the patch stands on are counted in the
whole tree, before (but for the place that is gone) and after: where any of them became more
frequent, the code counts as moved. A line that stood in many other places all along tells
nothing: such lines come and go by themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from patchq.engine.languages.outline import Definition, outline
from patchq.engine.series.hunks import Region, Unit, changed_region
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.git.objects import Objects
from patchq.git.search import count_lines
from patchq.model.patch import Patch

COMMON = 4
"""A line that stands this often elsewhere on the old base is not specific to the patch's code."""

_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,}")


@dataclass(frozen=True)
class Elsewhere:
    """Lines a patch stands on that became more frequent outside the place that is gone.

    ``files`` are where they appeared, most of them first; ``of`` counts the lines looked for.
    """

    lines: tuple[bytes, ...]
    files: tuple[str, ...]
    of: int


@dataclass(frozen=True)
class GoneSymbol:
    """A definition that a unit edits and that the new base has no more."""

    path: str
    definition: Definition
    region: Region


def look_elsewhere(
    span: UpstreamRange, patch: Patch, units: Sequence[Unit], gone: Sequence[Region]
) -> Elsewhere:
    """Search the trees for the lines that ``units`` stand on; ``gone`` is what went with them."""
    lost = Counter(line.strip() for region in gone for line in region.inside)
    return search_elsewhere(span, _standing_on(patch, units), lost)


def search_elsewhere(
    span: UpstreamRange, candidates: Sequence[bytes], lost: Mapping[bytes, int]
) -> Elsewhere:
    """Which of ``candidates`` became more frequent than the old base had them but for ``lost``."""
    after = count_lines(span.store.git, span.new.tree, candidates)
    now = _by_line(after)
    # what stands nowhere any more needs no second search
    before = count_lines(span.store.git, span.old.tree, [line for line in candidates if now[line]])
    elsewhere = _by_line(before)
    elsewhere.subtract(lost)
    lines = [line for line in candidates if elsewhere[line] < COMMON]
    more = tuple(line for line in lines if now[line] > max(elsewhere[line], 0))
    places: Counter[str] = Counter()
    for (line, file), count in (after - before).items():
        if line in more:
            places[file] += count
    ranked = sorted(places, key=lambda file: (-places[file], file))
    return Elsewhere(more, tuple(ranked), len(lines))


def whole_file(span: UpstreamRange, path: str) -> Region:
    """All of a file of the old base."""
    lines = tuple((span.store.objects.content(span.old.tree, path) or b"").splitlines())
    return Region(path, lines, 0, len(lines))


def gone_symbol(unit: Unit, new_path: str, tree: str, objects: Objects) -> GoneSymbol | None:
    """The definition around ``unit`` if the file lives on at ``new_path`` without it."""
    region = changed_region(unit, objects)
    if region is None:
        return None
    old = outline(region.path, b"".join(region.lines))
    new = outline(new_path, objects.content(tree, new_path) or b"")
    if old is None or new is None:
        return None
    definition = old.around(region.first, max(region.end - 1, region.first))
    if definition is None or definition.name in new.names:
        return None
    around = Region(region.path, region.lines, definition.first, definition.last + 1)
    return GoneSymbol(region.path, definition, around)


def edits_imports(unit: Unit, objects: Objects) -> bool:
    """Whether all that a unit edits is an import statement."""
    region = changed_region(unit, objects)
    if region is None:
        return False
    old = outline(region.path, b"".join(region.lines))
    return old is not None and old.in_imports(region.first, max(region.end - 1, region.first))


def symbol_removal(
    span: UpstreamRange, symbol: GoneSymbol, commits: Iterable[CommitInfo]
) -> CommitInfo | None:
    """The last commit after which the file is there without the symbol, having had it before."""
    objects = span.store.objects
    names = (symbol.path, span.place(symbol.path).new or symbol.path)
    found = None
    had = True
    for commit in commits:
        path = next((name for name in names if objects.file(commit.tree, name)), None)
        seen = outline(path, objects.content(commit.tree, path) or b"") if path else None
        if seen is None:
            continue
        has = symbol.definition.name in seen.names
        if had and not has:
            found = commit
        had = has
    return found


def _standing_on(patch: Patch, units: Sequence[Unit]) -> tuple[bytes, ...]:
    """The distinct lines of the hunks' old side that say something (two words at least)."""
    wanted = {(unit.file, index) for unit in units for index in unit.hunks}
    lines = (
        line.strip()
        for change in patch.files
        for hunk in change.hunks
        if (change.paths[0], hunk.index) in wanted
        for line in hunk.preimage
    )
    return tuple(dict.fromkeys(filter(is_telling, lines)))


def is_telling(line: bytes) -> bool:
    """Whether a line says something: it has two words at least."""
    return len(set(_WORD.findall(line))) >= 2


def _by_line(counts: Counter[tuple[bytes, str]]) -> Counter[bytes]:
    total: Counter[bytes] = Counter()
    for (line, _), count in counts.items():
        total[line] += count
    return total
