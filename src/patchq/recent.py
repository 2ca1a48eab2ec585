"""What was used last, as much of it as has room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


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
