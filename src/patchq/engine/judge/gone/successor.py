"""Code that replaced removed code in the same commit, renamed or rewritten.

What the same commit added is compared less strictly than all that is new: shorter code is
recognised there, and so is a function that only has the same parameters as the old one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from patchq.engine.judge.gone.removal import LostCode, Removal
from patchq.engine.languages.search.containment import Piece, shared_words
from patchq.engine.languages.search.fresh_code import TELLING, FreshCode, fresh_code
from patchq.engine.languages.tokens import (
    Family,
    defines_with,
    family,
    parameters,
    tokenize,
    words,
)
from patchq.engine.workspace.upstream_range import UpstreamRange

_RENAMED, _SHORT_RENAMED, _SHORTEST = 0.5, 0.9, 14
"""The least share of renamed code, that of code with less than :data:`TELLING` tokens, and the
least tokens of code that is compared at all."""
_SAME_LANGUAGE, _OTHER_LANGUAGE, _ANY_COMMIT = (0.65, 6), (0.3, 3), (0.55, 5)
"""The least share and number of common words in code that the commit added, in the same language
or another, and in code in another language that any commit added. Of functions that two releases of
SGLang removed, unrelated code of the commit has up to 0.64 of the words in the same language, and
0.16 in another; that of any commit 0.5 in another. In the same language that tells nothing."""
_C, _CPP = frozenset({"c"}), frozenset({"c++"})
_LANGUAGES = {
    ".c": _C,
    ".h": _C | _CPP,
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".cu", ".cuh", ".hh", ".hpp", ".hxx", ".inl"), _CPP),
    **dict.fromkeys((".py", ".pyi"), frozenset({"python"})),
}
_Least = tuple[float, int]
_PARAMETERS = 3
"""With at least so many parameters, a new function with the same ones is taken as a replacement."""


@dataclass(frozen=True)
class Successor:
    """A file with the code that replaced other code, and ``words`` for how."""

    path: str
    words: str


class Successors:
    """Finds successors of code between two bases."""

    def __init__(self, span: UpstreamRange):
        self._store = span.store
        self._all_fresh = fresh_code(span.store, span.old.tree, span.new.tree)

    def find(self, lost: LostCode, removal: Removal) -> Successor | None:
        """The code that replaced ``lost``, mostly by the commit of ``removal``; None if none is
        found."""
        commit, kind = removal.commit, family(lost.path)
        if commit is None or not commit.parents:
            return None
        before = self._store.objects.commit_tree(commit.parents[0])
        fresh = fresh_code(self._store, before, commit.tree)
        named = kind is not Family.OTHER and (
            _renamed(kind, lost, fresh) or _rewritten(kind, lost, fresh)
        )
        if named:
            return Successor(named.path, f"the same commit {named.words}")
        return _ported(lost, fresh, _OTHER_LANGUAGE, _SAME_LANGUAGE, "the same commit") or _ported(
            lost, self._all_fresh, _ANY_COMMIT, None, "upstream"
        )


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


def _ported(
    lost: LostCode, fresh: FreshCode, other: _Least, same: _Least | None, who: str
) -> Successor | None:
    """A file with new code that has many words of the old code, perhaps in another language.

    In the same language, unrelated code shares words too: there the share has to be larger.
    """
    wanted, language = words(lost.text), _language(lost.path)
    candidates = []
    for path, found in fresh.saying(wanted, other[0]):
        is_same = family(path) is not Family.OTHER and not _language(path).isdisjoint(language)
        least = same if is_same else other
        share, count = shared_words(wanted, found)
        if least and share >= least[0] and count >= least[1]:
            candidates.append((share, path))
    best = max(candidates, default=None)
    return best and Successor(best[1], f"{who} put {best[0]:.0%} of what it says into {best[1]}")


def _language(path: str) -> frozenset[str]:
    """The languages that the file ``path`` may be written in."""
    suffix = PurePosixPath(path).suffix
    return _LANGUAGES.get(suffix, frozenset({suffix}))
