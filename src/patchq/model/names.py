"""Names that git would take for its own, on one file system or another.

The rules are git's (``is_hfs_dotgit`` of ``utf8.c``, ``is_ntfs_dotgit`` of ``path.c``): HFS+ leaves
out some code points and case, NTFS has short names, streams, and backslashes between directories.
"""

from __future__ import annotations

import re

MOST_BYTES = 4095
"""How long a path may be (``PATH_MAX`` of Linux, without its end)."""

DEEPEST = 400
"""How many directories deep a path may be."""

_HFS_IGNORED = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_DOT_GIT = re.compile(r"(?:\.git|git~1)[ .]*(?::.*)?", re.IGNORECASE | re.DOTALL)
_DOT_GITMODULES = re.compile(
    r"(?:\.gitmodules|gitmod~[1-4]|gi7eba~[1-9]|gi7eb~[1-9]\d|gi7e~[1-9]\d\d|gi7~[1-9]\d{3}"
    r"|gi~[1-9]\d{4}|g~[1-9]\d{5}|~[1-9]\d{6})[ .]*(?::.*)?",
    re.IGNORECASE | re.DOTALL,
)


def is_dot_git(name: str) -> bool:
    """Whether a component of a path is, or holds, a spelling of ``.git``."""
    return any(map(_DOT_GIT.fullmatch, _as_seen(name)))


def is_dot_gitmodules(name: str) -> bool:
    """Whether a component of a path is a spelling of ``.gitmodules``, which no symlink may be."""
    return any(map(_DOT_GITMODULES.fullmatch, _as_seen(name)))


def fits(path: str) -> bool:
    """Whether ``path`` is short enough, in bytes and directories, to be handled everywhere."""
    return len(path.encode("utf-8", "surrogateescape")) <= MOST_BYTES and path.count("/") <= DEEPEST


def is_target(content: bytes) -> bool:
    """Whether a symbolic link can have this content."""
    return 0 < len(content) <= MOST_BYTES and b"\0" not in content


def is_inside(path: str) -> bool:
    """Whether ``path`` leads to a place inside a tree, and not into ``.git``."""
    parts = path.split("/")
    return (
        "\0" not in path
        and not any(part in ("", ".", "..") for part in parts)
        and not any(map(is_dot_git, parts))
    )


def _as_seen(name: str) -> list[str]:
    return name.translate(_HFS_IGNORED).split("\\")
