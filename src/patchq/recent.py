"""What was used last, as much of it as has room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Generic, ParamSpec, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_Given = ParamSpec("_Given")


class Recent(Generic[_Key, _Value]):
    """Values by key, up to ``most`` in ``size`` together; the least recently used go first."""

    def __init__(self, most: int, size: Callable[[_Value], int]):
        self._most = most
        self._size = size
        self._values: OrderedDict[_Key, _Value] = OrderedDict()
        self._used = 0

    def get(self, key: _Key) -> _Value | None:
        """The value that is kept under ``key``, None if there is none (any more)."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def keep(self, key: _Key, value: _Value) -> None:
        """Keep ``value``, which may have no room."""
        if key in self._values:
            self._used -= self._size(self._values.pop(key))
        self._values[key] = value
        self._used += self._size(value)
        while self._used > self._most:
            _, oldest = self._values.popitem(last=False)
            self._used -= self._size(oldest)


def kept_for(most: int) -> Callable[[Callable[_Given, _Value]], Callable[_Given, _Value]]:
    """Keep what a function gives for texts, as far as they have ``most`` bytes together.

    functools.lru_cache counts them, however large they are.
    """

    def keeping(function: Callable[_Given, _Value]) -> Callable[_Given, _Value]:
        kept: Recent[object, tuple[int, _Value]] = Recent(most, lambda each: each[0])

        @wraps(function)
        def asked(*texts: _Given.args, **others: _Given.kwargs) -> _Value:
            key = texts, *others.items()
            known = kept.get(key)
            if known is None:
                size = sum(len(text) for text in texts if isinstance(text, bytes))
                known = size, function(*texts, **others)
                kept.keep(key, known)
            return known[1]

        return asked

    return keeping
