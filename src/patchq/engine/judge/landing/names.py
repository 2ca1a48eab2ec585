"""Which names the lines of a file are about, and which of these another line has taken.

A line may stand as it landed while what it is part of is defined anew further down, or while its
function became ``old_…`` and another one has its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import PurePosixPath

from patchq.engine.judge.landing.binding.bound import Bound
from patchq.engine.judge.landing.binding.code import (
    bound_in_c,
    bound_in_cmake,
    bound_in_make,
    bound_in_shell,
)
from patchq.engine.judge.landing.binding.keys import keys_by_indentation, keys_by_section
from patchq.engine.judge.landing.binding.python import bound_in_python
from patchq.engine.languages.cmake_text import is_cmake
from patchq.engine.languages.flow import is_shell
from patchq.engine.languages.tokens import Family, family


class FileNames:
    """The names that a file binds."""

    def __init__(self, path: str, text: bytes):
        self._path = path
        self._text = text

    def keeps(self, number: int, now: FileNames, place: int) -> bool:
        """Whether what a line was part of has its names yet, as far as anything has, and they
        stand for it where the line is at ``place`` now."""
        before, after = self._around(number), now._around(place)
        left = {each.name for each in after}
        return not any(
            now._count[each.name] >= self._count[each.name]
            for each in before
            if each.name not in left
        ) and now._taken(place, after) <= self._taken(number, before)

    def written_out(self, number: int) -> set[str]:
        """The names of what a line is part of, or binds, if what uses it has to write them."""
        if _reader(self._path, self._text) not in (
            bound_in_c,
            bound_in_cmake,
            bound_in_make,
            bound_in_shell,
        ):
            return set()
        found = {_symbol(each.name) for each in self._around(number)}
        return {name for name in found if _WRITTEN.fullmatch(name)}

    def has(self, name: str) -> bool:
        """Whether the file binds what others write as ``name``."""
        return any(_symbol(each.name) == name for each in self._bound)

    def _around(self, number: int) -> list[Bound]:
        return [each for each in self._bound if each.holds and each.first <= number <= each.last]

    def _taken(self, number: int, around: Iterable[Bound]) -> int:
        """How often other lines take one of these names; or, by a macro, what the line calls."""
        taken = sum(other.takes(each) for each in around for other in self._bound)
        if family(self._path) is not Family.C:
            return taken
        called = set(_CALLED.findall(self._lines[number]))
        called |= {each.name for each in around if not each.replaces}
        return taken + sum(self._macros[name] for name in called)

    @cached_property
    def _bound(self) -> tuple[Bound, ...]:
        reader = _reader(self._path, self._text)
        return tuple(reader(self._path, self._text)) if reader else ()

    @cached_property
    def _count(self) -> Counter[str]:
        return Counter(each.name for each in self._bound)

    @cached_property
    def _macros(self) -> Counter[str]:
        return Counter(each.name for each in self._bound if each.replaces)

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.decode("latin-1").split("\n")


_CALLED = re.compile(r"(\w+)\s*\(")
_WRITTEN = re.compile(r"[\w.+-]+", re.ASCII)
"""A name that is not made of others: ``${prefix}_sources`` is."""


def _symbol(name: str) -> str:
    """A name as others write it."""
    return name.rpartition("::")[2].split(" ")[0].rstrip("():")


def _reader(path: str, text: bytes) -> Callable[[str, bytes], Iterator[Bound]] | None:
    kind, name = family(path), PurePosixPath(path)
    if kind is Family.PYTHON:
        return bound_in_python
    if kind is Family.C:
        return bound_in_c
    if is_cmake(path):
        return bound_in_cmake
    if name.suffix in (".yaml", ".yml", ".json"):
        return keys_by_indentation
    if name.suffix in (".toml", ".ini", ".cfg", ".properties"):
        return keys_by_section
    if name.suffix in (".mk", ".mak") or name.name.lower() in ("makefile", "gnumakefile"):
        return bound_in_make
    return bound_in_shell if is_shell(path, text) else None
