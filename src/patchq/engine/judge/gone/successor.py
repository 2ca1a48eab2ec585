"""What the commit that took code out brought in its stead, under other names or written anew.

It says more than likeness in all that is new: code too short to be known elsewhere is known there,
and so is a function that shares its parameters alone with the old one.
"""

from __future__ import annotations

from dataclasses import dataclass

from patchq.engine.judge.gone.removal import LostCode, Removal
from patchq.engine.languages.containment import Piece
from patchq.engine.languages.tokens import Family, defines_with, family, parameters, tokenize
from patchq.engine.languages.tree_index import TELLING, FreshCode, fresh_code
from patchq.engine.workspace.upstream_range import UpstreamRange

_RENAMED, _SHORT_RENAMED, _SHORTEST = 0.5, 0.9, 14
"""So much of the code under other names tells: of code with less than :data:`TELLING` tokens it has
to be all, and of less than the last it says nothing."""
_PARAMETERS = 3
"""With so many parameters, a function that takes just the same does the same for its callers."""


@dataclass(frozen=True)
class Successor:
    """A file with what came in the stead of code, and what the commit did, in words."""

    path: str
    words: str


class Successors:
    """Looks for them on one span."""

    def __init__(self, span: UpstreamRange):
        self._store = span.store

    def find(self, lost: LostCode, removal: Removal) -> Successor | None:
        """What the commit of ``removal`` brought that may be ``lost``."""
        commit, kind = removal.commit, family(lost.path)
        if commit is None or not commit.parents or kind is Family.OTHER:
            return None
        before = self._store.objects.commit_tree(commit.parents[0])
        fresh = fresh_code(self._store, before, commit.tree)
        return _renamed(kind, lost, fresh) or _rewritten(kind, lost, fresh)


def _renamed(kind: Family, lost: LostCode, fresh: FreshCode) -> Successor | None:
    for text in dict.fromkeys([lost.text, lost.neighbourhood, lost.body]):
        piece = Piece(tokenize(kind, text))
        least = _SHORT_RENAMED if piece.size < TELLING else _RENAMED
        for path, added in fresh.like(kind, text) if piece.size >= _SHORTEST else ():
            share = piece.within(tokenize(kind, added)).renamed
            if share >= least:
                return Successor(path, f"put {share:.0%} of it into {path} under other names")
    return None


def _rewritten(kind: Family, lost: LostCode, fresh: FreshCode) -> Successor | None:
    wanted = parameters(tokenize(kind, lost.text))
    if lost.name is None or wanted.count(b",") < _PARAMETERS - 1:
        return None
    for path, added in fresh.with_words(kind, set(wanted)):
        if defines_with(kind, added, wanted):
            return Successor(path, f"brought a function with its parameters to {path}")
    return None
