"""Which base each patch of a pile fits: what an import without a tag says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Fits(Enum):
    """How a patch fits one base, the best first."""

    APPLIES = "applies"
    OFFSET = "applies-with-offset"
    ELSEWHERE = "applies-at-other-paths"
    MERGES = "merges"
    THERE = "upstream"
    NO = "does-not-apply"
    UNKNOWN = "unknown"  # the base is not here, or does not cover it

    @property
    def takes(self) -> bool:
        """Whether the patch can be taken onto the base."""
        return self not in (Fits.THERE, Fits.NO, Fits.UNKNOWN)


@dataclass(frozen=True)
class TriagedFile:
    """One patch of the pile, as ``place`` names it; ``name`` is what it would be called.

    ``fits`` says how it fits each base, ``best`` is the one it fits best. ``other`` tells a patch
    for another repository, ``problem`` why it fits none; ``onto`` is the patch of the pile that it
    stands on, ``read_as`` how its paths are to be read.
    """

    place: str
    name: str
    fits: Mapping[str, Fits] = field(default_factory=dict)
    best: str | None = None
    other: bool = False
    problem: str | None = None
    onto: str | None = None
    read_as: str | None = None

    @property
    def there(self) -> bool:
        """Whether upstream has all of it, wherever it could be judged."""
        return Fits.THERE in self.fits.values() and not any(f.takes for f in self.fits.values())


@dataclass(frozen=True)
class Triage:
    """All files against all bases, in the order of the lock."""

    bases: tuple[str, ...]
    files: tuple[TriagedFile, ...]

    @property
    def ours(self) -> tuple[TriagedFile, ...]:
        """Those that are for this repository."""
        return tuple(file for file in self.files if not file.other)

    @property
    def unplaced(self) -> tuple[TriagedFile, ...]:
        """Those of this repository that fit no base."""
        return tuple(file for file in self.ours if file.best is None and not file.there)

    def taken(self, base: str) -> tuple[TriagedFile, ...]:
        """Those that fit this base best."""
        return tuple(file for file in self.files if file.best == base)


_GENERATION = re.compile(
    r"(.+?)[-_.](v?\d+(?:\.\d+)+(?:[.-]?(?:post|rc|dev)\d*)*|main-?ahead|main|master|next|head)$",
    re.IGNORECASE,
)


def generations(names: Iterable[str], bases: Sequence[str]) -> dict[str, str]:
    """What each patch is called once its generations are one: ``x-v0.5.17.patch`` is ``x.patch``.

    A generation is told by a base's name, or by a version or a word for main, if there are
    several of them.
    """
    every = tuple(names)
    stems = {name: _cut(name, bases) or (name.removesuffix(".patch"), "") for name in every}
    count = Counter(stem for stem, _ in stems.values())
    known = {_plain(base) for base in bases}
    return {
        name: f"{stem}.patch" if told and (count[stem] > 1 or _plain(told) in known) else name
        for name, (stem, told) in stems.items()
    }


def generation(name: str, bases: Sequence[str]) -> str | None:
    """The base that the end of a patch's name tells."""
    cut = _cut(name, bases)
    told = cut and _plain(cut[1])
    return next((base for base in bases if _plain(base) == told), None)


def unlocked_version(name: str, bases: Sequence[str]) -> str | None:
    """The version at the end of a patch's name, if it is none of ``bases``.

    >>> unlocked_version("fix-v1.1.patch", ["v1.0"])
    'v1.1'
    """
    cut = _cut(name, bases)
    told = cut[1] if cut and cut[1][-1:].isdigit() else None
    return None if generation(name, bases) else told


def _cut(name: str, bases: Sequence[str]) -> tuple[str, str] | None:
    """A patch's name without its generation, and that."""
    stem = name.removesuffix(".patch")
    for base in bases:
        if stem.endswith(f"-{base}") and stem != f"-{base}":
            return stem[: -len(base) - 1], base
    match = _GENERATION.match(stem)
    return (match[1], match[2]) if match else None


def _plain(base: str) -> str:
    return base.lower().removeprefix("v")
