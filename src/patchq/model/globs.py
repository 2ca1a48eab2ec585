"""Choices of paths by patterns in the format of gitignore(5)."""

from __future__ import annotations

from collections.abc import Iterable

from pathspec import GitIgnoreSpec


def read_globs(patterns: Iterable[str]) -> GitIgnoreSpec:
    """The choice that ``patterns`` make."""
    # the other backends, used where their libraries are, take no path that is not UTF-8
    return GitIgnoreSpec.from_lines(patterns, backend="simple")
