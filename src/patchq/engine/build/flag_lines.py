"""Which line of a project a compiler flag comes from, told from the trace of its evaluation."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from patchq.errors import Where

_VARIABLE = re.compile(r"\$\{([^${}]+)\}")
_SETTERS = {"set": 0, "list": 1, "string": 1}


@dataclass(frozen=True)
class Call:
    """A command that CMake carried out: variables in its arguments have their values.

    ``file`` is relative to the project; the call stands on the lines ``first`` to ``last``.
    """

    command: str
    arguments: tuple[str, ...]
    file: str
    first: int
    last: int

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The arguments with lists taken apart."""
        return tuple(word for text in self.arguments for word in text.split(";") if word)

    @property
    def where(self) -> Where:
        """Where it begins."""
        return Where(self.file, self.first)

    @property
    def sets(self) -> str | None:
        """The variable that it gives a value."""
        position = _SETTERS.get(self.command)
        if position is None or len(self.arguments) <= position:
            return None
        return self.arguments[position]


class FlagLines:
    """Finds the lines of flags among ``calls``, which are in the order of the evaluation."""

    def __init__(self, calls: Sequence[Call], source: Callable[[str], Sequence[str]]):
        self._calls = calls
        self._source = source
        self._known: dict[tuple[int, str], Where] = {}
        self._users: dict[str, list[int]] = {}
        self._spans: dict[int, Sequence[str]] = {}

    def find(self, index: int, flag: str) -> Where:
        """The line that ``flag``, an argument of the call ``index``, is written on.

        If it is put together from parts, the line that does so.
        """
        key = (index, flag)
        if key not in self._known:
            found = self._look(index, flag)
            while isinstance(found, int):
                found = self._look(found, flag)
            self._known[key] = found
        return self._known[key]

    def _look(self, index: int, flag: str) -> Where | int:
        """The line in the call ``index``, or the earlier call to look at instead."""
        call, lines = self._calls[index], self._lines(index)
        spelled = re.compile(rf"(?<![\w-]){re.escape(flag)}(?![\w=.-])")
        for number, line in enumerate(lines, call.first):
            if flag in line and spelled.search(line):
                return Where(call.file, number)
        earlier = self._with(flag)
        earlier = earlier[: bisect_left(earlier, index)]
        named = {name for line in lines for name in _VARIABLE.findall(line)}
        before = next((n for n in reversed(earlier) if self._calls[n].sets in named), None)
        if before is None:  # an argument of a function or macro
            before = next((n for n in reversed(earlier) if not self._calls[n].sets), None)
        return call.where if before is None else before

    def _lines(self, index: int) -> Sequence[str]:
        """The lines that a call stands on, without comments."""
        if index not in self._spans:
            call = self._calls[index]
            lines = self._source(call.file)[call.first - 1 : call.last]
            self._spans[index] = [line.partition("#")[0] for line in lines]
        return self._spans[index]

    def _with(self, flag: str) -> list[int]:
        """The calls that have ``flag`` among their words."""
        if not self._users:
            for number, call in enumerate(self._calls):
                for word in call.words:
                    users = self._users.setdefault(word, [])
                    if not users or users[-1] != number:
                        users.append(number)
        return self._users.get(flag, [])
