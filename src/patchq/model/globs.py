"""Choices of paths by patterns in the format of gitignore(5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def read_globs(patterns: Iterable[str]) -> GitIgnoreSpec:
    """The choice that ``patterns`` make."""
    from pathspec import GitIgnoreSpec  # many modules, and most commands read no pattern

    # the other backends, used where their libraries are, take no path that is not UTF-8
    return GitIgnoreSpec.from_lines(patterns, backend="simple")
