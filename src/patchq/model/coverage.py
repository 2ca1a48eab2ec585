"""Which paths of a tree an archive speaks for.

A release wheel holds a part of upstream's repository. What lies outside that part is *not
covered*, which is a different thing from *gone*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from patchq.model.globs import read_globs

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True)
class Coverage:
    """The globs of a base: what it covers, and what of that is left out.

    Globs have the pattern format of gitignore(5), from the root of the tree.
    """

    covers: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()

    @cached_property
    def _covers(self) -> GitIgnoreSpec:
        return read_globs(self.covers)

    @cached_property
    def _excludes(self) -> GitIgnoreSpec:
        return read_globs(self.excludes)

    def covers_path(self, path: str) -> bool:
        """Whether ``path`` is covered: no ``covers`` means everything, and an exclude wins."""
        if self._excludes.match_file(path):
            return False
        return not self.covers or self._covers.match_file(path)
