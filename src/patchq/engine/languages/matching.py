"""difflib's :class:`SequenceMatcher`, compiled where there is a wheel of it: the same answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from difflib import SequenceMatcher
else:
    try:
        from cydifflib import SequenceMatcher
    except ImportError:
        from difflib import SequenceMatcher

__all__ = ["SequenceMatcher"]
