"""The names that the lines of a file bind or belong to, and whether other lines rebind them.

An unchanged line has no effect if the function around it is defined again further down, or was
renamed to ``old_…`` while another one got its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import PurePosixPath

from patchq.engine.judge.landing.binding.bound import TAKES_IN, Bound
from patchq.engine.judge.landing.binding.code import (
    bound_in_c,
    bound_in_cmake,
    bound_in_dockerfile,
    bound_in_make,
    bound_in_shell,
    macros_in_c,
)
from patchq.engine.judge.landing.binding.keys import keys_by_indentation, keys_by_section
from patchq.engine.judge.landing.binding.python import bound_in_python
from patchq.engine.languages.cmake_text import is_cmake
from patchq.engine.languages.flow import is_shell
from patchq.engine.languages.live import parts
from patchq.engine.languages.tokens import Family, family, only_code


class FileNames:
    """The names that a file binds, if its language is read; "around" a line (0-based) are those
    whose definition includes it."""

    def __init__(self, path: str, text: bytes):
        self._path = path
        self._text = text

    def keeps(self, number: int, now: FileNames, place: int) -> bool:
        """Whether the names around a line still mean the same at ``place`` in ``now``: none of them
        is bound by other lines instead, and no more lines rebind them."""
        before, after = self._around(number), now._around(place)
        left = {each.name for each in after}
        return not any(
            now._count[each.name] >= self._count[each.name]
            for each in before
            if each.name not in left
        ) and now._taken(place, after, self) <= self._taken(number, before, self)

    def written_out(self, number: int) -> set[str]:
        """The names around a line, in languages in which a user of a name has to write it."""
        if self._reader not in (
            bound_in_c,
            bound_in_cmake,
            bound_in_make,
            bound_in_shell,
        ):
            return set()
        found = {_symbol(each.name) for each in self._around(number)}
        return {name for name in found if _WRITTEN.fullmatch(name)}

    def has(self, name: str) -> bool:
        """Whether the file binds ``name``, as other files write it."""
        return any(_symbol(each.name) == name for each in self._bound)

    def _around(self, number: int) -> list[Bound]:
        return [each for each in self._bound if each.holds and each.first <= number <= each.last]

    def uses(self, number: int) -> set[str]:
        """The words of a line of C, outside of strings and comments, that a macro may redefine."""
        if family(self._path) is not Family.C:
            return set()
        return set(_WORD.findall(only_code(self._lines[number]).decode("latin-1")))

    @property
    def are_known(self) -> bool:
        """Whether files of this language are read."""
        return self._reader is not None

    @property
    def is_script(self) -> bool:
        """Whether the file is shell or Python: what these include may not be in the tree."""
        return self._reader in (bound_in_shell, bound_in_python)

    def lent(self, number: int) -> set[str]:
        """The names that a line uses or sets and that an included file may redefine."""
        readers = (bound_in_cmake, bound_in_make, bound_in_shell, bound_in_python)
        if self._reader not in readers:
            return self.uses(number)
        return {each.name for each in self._around(number) if _WORD.fullmatch(each.name)}

    def taken_in(self, name: str) -> Iterator[str]:
        """The files that are included unconditionally; if not C, only below a line that binds
        ``name``."""
        is_c = family(self._path) is Family.C
        own = () if is_c else [each for each in self._by_name.get(name, ()) if each.holds]
        for each in self._takes_in:
            if any(replace(each, name=name).takes(one) for one in own) or (is_c and not each.block):
                yield each.name.removeprefix(TAKES_IN)

    def taking(self, name: str) -> list[Bound]:
        """The bindings that replace a name for all users; in C, its macros and ``#undef``."""
        return [each for each in self._takers.get(name, ()) if each.replaces and not each.command]

    def _taken(self, number: int, around: Sequence[Bound], then: FileNames) -> int:
        """How many bindings replace a name of ``around`` (if for one command, one that ``then`` has
        too), plus, in C, how many macros redefine what the line uses."""
        taken = sum(
            other.takes(each) and (not other.command or other.command in then._commands)
            for each in around
            for other in self._by_name[each.name]
        )
        return taken + (self._remade(number, around) if family(self._path) is Family.C else 0)

    def _remade(self, number: int, around: Sequence[Bound]) -> int:
        """How many macros redefine a name that a line of C uses, or the function around it."""
        functions = {each.name for each in around if not each.replaces}
        in_macro = len(functions) < len(around)
        block = {part[0] for part in parts(self._text)[number]}
        return sum(
            (each.first < number or in_macro or name in functions)
            and not each.first <= number <= each.last
            and block.issuperset(each.block)
            for name in self.uses(number) | functions
            for each in self.taking(name)
        )

    @cached_property
    def _bound(self) -> tuple[Bound, ...]:
        reader = self._reader
        return tuple(reader(self._path, self._text)) if reader else ()

    @cached_property
    def _reader(self) -> Callable[[str, bytes], Iterator[Bound]] | None:
        return _reader(self._path, self._text)

    @cached_property
    def _count(self) -> Counter[str]:
        return Counter(each.name for each in self._bound)

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[Bound]]:
        return _by_name(self._bound)

    @cached_property
    def _takers(self) -> Mapping[str, Sequence[Bound]]:
        """The bindings that may replace others, by name; of C the directives, without parsing."""
        is_c = family(self._path) is Family.C
        return _by_name(macros_in_c(self._text)) if is_c else self._by_name

    @cached_property
    def _takes_in(self) -> Sequence[Bound]:
        named = (found for name, found in self._takers.items() if name.startswith(TAKES_IN))
        return list(chain.from_iterable(named))

    @cached_property
    def _commands(self) -> frozenset[str]:
        """The words of a script, among them its commands."""
        return frozenset(_COMMAND.findall(self._text.decode("latin-1")))

    @cached_property
    def _lines(self) -> list[bytes]:
        return self._text.split(b"\n")


def _by_name(bound: Iterable[Bound]) -> Mapping[str, Sequence[Bound]]:
    found: dict[str, list[Bound]] = {}
    for each in bound:
        found.setdefault(each.name, []).append(each)
    return found


_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMAND = re.compile(r"[^\s;&|()]+(?:\([^\s()]+\))?")
_WRITTEN = re.compile(r"[\w.+-]+", re.ASCII)
"""A name that contains no variable: not ``${prefix}_sources``."""


def _symbol(name: str) -> str:
    """A bound name as other files write it: without scope, arguments and colon."""
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
    if (
        name.name.startswith(("Dockerfile", "Containerfile"))
        or name.suffix.lower() == ".dockerfile"
    ):
        return bound_in_dockerfile
    return bound_in_shell if is_shell(path, text) else None
