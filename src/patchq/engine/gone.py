"""Is code whose file is gone really gone, or did it move where git saw no rename?

A deleted file proves nothing by itself: its functions may live on elsewhere, and with them the
fault that the patch mends. So the lines that the patch stands on are counted in the rest of the
tree, before and after: where any of them became more frequent, the code counts as moved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from patchq.engine.hop import Hop
from patchq.engine.units import Unit
from patchq.git.search import count_lines
from patchq.model.patch import Patch

_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,}")


@dataclass(frozen=True)
class Elsewhere:
    """Lines a patch stands on that became more frequent outside its files.

    ``files`` are where they appeared, most of them first.
    """

    lines: tuple[bytes, ...]
    files: tuple[str, ...]
    of: int

    @property
    def moved(self) -> bool:
        """Whether the code may live on."""
        return bool(self.lines)


def look_elsewhere(hop: Hop, patch: Patch, units: Sequence[Unit]) -> Elsewhere:
    """Search for the lines that the ``units`` (whose files are gone) stand on."""
    lines = _standing_on(patch, units)
    files = sorted({path for unit in units for path in unit.paths})
    before = count_lines(hop.store.git, hop.old.tree, lines, leave_out=files)
    after = count_lines(hop.store.git, hop.new.tree, lines, leave_out=files)
    gained = _by_line(after)
    gained.subtract(_by_line(before))
    more = tuple(line for line in lines if gained[line] > 0)
    places: Counter[str] = Counter()
    for (line, file), count in (after - before).items():
        if line in more:
            places[file] += count
    ranked = sorted(places, key=lambda file: (-places[file], file))
    return Elsewhere(more, tuple(ranked), len(lines))


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
    return tuple(dict.fromkeys(line for line in lines if len(set(_WORD.findall(line))) >= 2))


def _by_line(counts: Counter[tuple[bytes, str]]) -> Counter[bytes]:
    total: Counter[bytes] = Counter()
    for (line, _), count in counts.items():
        total[line] += count
    return total
