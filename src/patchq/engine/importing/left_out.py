"""The files of a pile that an import does not take: patches, which are named, and others.

A series file, or the ending of a name, says which files are patches; one that has a diff in it and
is not taken may have been forgotten.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from patchq.engine.importing.read import Notice
from patchq.errors import Where

_COMPRESSED = (".patch.gz", ".diff.gz", ".patch.xz", ".patch.bz2")
PATCH_ENDINGS = (".patch", ".diff", ".mbox", ".eml", *_COMPRESSED)
"""How the names of patches end."""
_MOST = 2000
"""So many files of a directory are looked at, those nearest to it first: it may be a whole tree."""
_HEAD = 1 << 16
_DIFF = re.compile(rb"^(?:diff --git \S|--- \S.*\n\+\+\+ \S|\*\*\* \S.*\n--- \S)", re.MULTILINE)
_NOT_OURS = (".git", ".pc", ".patchq", ".hg", ".svn")


@dataclass(frozen=True)
class Pile:
    """A directory that patches were taken from, as messages call it, and its series file if any.

    Of one that is only ``above`` the patches, its own files are looked at, for patches alone.
    """

    path: Path
    shown: str
    series: Path | None = None
    above: bool = False


@dataclass(frozen=True)
class LeftOut:
    """The patches of piles that were not taken, and what else is to be said of the piles."""

    patches: tuple[Notice, ...]
    notices: tuple[Notice, ...]


def left_out(piles: Collection[Pile], taken: Collection[Path]) -> LeftOut:
    """What lies in ``piles`` and is none of the files ``taken``, given resolved."""
    patches: dict[Path, Notice] = {}
    notices: dict[Path, Notice] = {}
    for pile in piles:
        number = 0
        for path in _files(pile.path, below=not pile.above):
            number += 1
            if number > _MOST:
                text = f"only {_MOST} files of it were looked at for patches that are not taken"
                notices[pile.path] = Notice(Where(pile.shown), text)
                break
            real = path.resolve()
            if real in taken or path == pile.series or real in patches:
                continue
            inside = path.relative_to(pile.path)
            where = Where(str(PurePath(pile.shown, inside)))
            if _is_patch(path):
                patches[real] = Notice(where, _reason(pile, inside))
            elif len(inside.parts) == 1 and not pile.above:
                notices[path] = Notice(where, "not a patch: skipped")
    return LeftOut(tuple(patches.values()), tuple(notices.values()))


def _reason(pile: Pile, inside: PurePath) -> str:
    if pile.series is not None:
        return "not in series"
    if len(inside.parts) > 1:
        return "in a directory below"
    if not (pile.path / inside).exists():
        return "a link to nothing"
    return f"its name does not end like a patch's ({', '.join(PATCH_ENDINGS[:2])}, …)"


def _files(top: Path, *, below: bool) -> Iterator[Path]:
    """The files of ``top`` (and ``below``, level by level), links to no directory among them."""
    ahead = deque([top])
    while ahead:
        try:
            with os.scandir(ahead.popleft()) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if below and entry.name not in _NOT_OURS:
                    ahead.append(Path(entry.path))
            elif entry.is_symlink() and entry.is_dir():
                continue
            elif entry.is_file() or entry.is_symlink():
                yield Path(entry.path)


def _is_patch(path: Path) -> bool:
    """Whether a file has a diff in it, or may have one and cannot be read here."""
    if path.name.endswith(_COMPRESSED) or not path.exists():
        return path.name.endswith(PATCH_ENDINGS)
    try:
        with path.open("rb") as file:
            return _DIFF.search(file.read(_HEAD).replace(b"\r\n", b"\n")) is not None
    except OSError:
        return path.name.endswith(PATCH_ENDINGS)
