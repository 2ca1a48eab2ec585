"""Where patches come from: files, directories, quilt series with their order, options and guards.

quilt(1) keeps a directory with a file ``series``; Debian's is ``debian/patches``.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from patchq.engine.importing.given.read import Given, Notice, free_name, read_given
from patchq.engine.series.naming import patch_name
from patchq.errors import InputError, Where
from patchq.model.diff_layout import find_diff
from patchq.model.patch import Patch, read_patch
from patchq.model.series import read_series

_SERIES = "series"
_WITHIN = ("", "debian/patches", "patches")
_BEHIND = re.compile(r"\s#(?![+-])\s*(\S.*?)\s*$")
_REVERSED = re.compile(r"^(\S+)\s+(?:-p\S+\s+)?-R\b")


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


@dataclass
class Collected:
    """The patches that were found, what is to be said, and what could not be read at all.

    ``left_out`` are the patches that lie beside those and were not asked for.
    """

    patches: list[Given] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    errors: list[InputError] = field(default_factory=list)
    left_out: list[Notice] = field(default_factory=list)
    piles: list[Pile] = field(default_factory=list, repr=False)
    files: set[Path] = field(default_factory=set, repr=False)
    _taken: dict[PurePath, set[str]] = field(default_factory=dict, repr=False)
    _counted: int = field(default=0, repr=False)

    def add_file(self, file: str, raw: bytes, name: str | None = None) -> tuple[Given, ...]:
        """Take a file apart; what is wrong with it is kept as an error."""
        try:
            given, notices = read_given(file, raw, name)
        except InputError as error:
            self.errors.append(error)
            return ()
        self.notices += notices
        given = tuple(self._named_apart(one, file) for one in given)
        self.patches += given
        return given

    def look_around(self) -> None:
        """See what else the directories hold that patches were taken from."""
        found = left_out(self.piles, self.files)
        self.left_out += found.patches
        self.notices += found.notices

    def skip_empty(self) -> None:
        """Leave out what holds no patch, where others do: an empty file, a cover letter ([0/n])."""
        kept = [given for given in self.patches if not _is_empty(given)]
        if not kept:
            return
        above: tuple[str, ...] = ()
        patches: list[Given] = []
        for given in self.patches:
            above = (*above, *given.above)
            if _is_empty(given):
                text = "no diff in it" if given.raw.strip() else "it is empty"
                self.notices.append(Notice(Where(given.place), f"{text}: skipped"))
            else:
                patches.append(replace(given, above=above))
                above = ()
        self.notices += _behind(Where(self.patches[-1].place), above)
        self.patches = patches
        self._counted = 0

    def _named_apart(self, given: Given, file: str) -> Given:
        """Two files of a directory are two patches, if their names differ by a number alone."""
        for other in self.patches[self._counted :]:
            self._taken.setdefault(PurePath(other.place).parent, set()).add(other.name)
        self._counted = len(self.patches)
        taken = self._taken.get(PurePath(file).parent, ())
        return replace(given, name=free_name(given.name, taken))


def _is_empty(given: Given) -> bool:
    no_diff = find_diff(given.raw) == len(given.raw)
    return no_diff and (given.number == 0 or not given.raw.strip())


def is_path(word: str) -> bool:
    """Whether a word is the path of a file or directory: it is there, or reads as nothing else."""
    parts = PurePath(word).parts
    return Path(word).exists() or ".." in parts or word.startswith(("/", "./", "~"))


def read_path(path: Path, shown: str, found: Collected, name: str | None = None) -> None:
    """Add the patches of a file, a directory or a series file to ``found``.

    Raises :class:`InputError` if there is none of these.
    """
    if not path.exists():
        raise InputError("there is no such file or directory", where=Where(shown))
    if path.is_dir():
        series = next(
            (path / one / _SERIES for one in _WITHIN if (path / one / _SERIES).is_file()), None
        )
        if series is not None:
            _read_series(series, found)
            if series.parent != path:
                found.piles.append(Pile(path, shown, series, above=True))
        else:
            _read_directory(path, shown, found)
    elif _is_series(path):
        _read_series(path, found)
    else:
        found.files.add(path.resolve())
        found.add_file(shown, path.read_bytes(), name)


def read_stream(raw: bytes, name: str | None, found: Collected) -> None:
    """Add the patches on standard input; one that is not named is called by its subject.

    Raises :class:`InputError` if it has none.
    """
    given = found.add_file("standard input", raw, name)
    if name is not None or len(given) != 1:
        return
    told = given[0].subject_name
    if told is None:
        if not Patch("", given[0].raw).diff:
            read_patch("standard input", given[0].raw)
        raise InputError(
            "a patch from standard input that has no subject needs --name",
            hint="Name it: --name NAME.",
        )
    found.patches[-1] = replace(given[0], name=told)


def _is_series(path: Path) -> bool:
    return path.name == _SERIES or path.suffix == f".{_SERIES}"


def _read_directory(path: Path, shown: str, found: Collected) -> None:
    """All patches of a directory by name; what else is there is said."""
    files = sorted(file for file in path.iterdir() if file.is_file())
    chosen = [file for file in files if file.name.endswith(PATCH_ENDINGS)]
    if not chosen:
        raise InputError(
            "there is no patch in this directory, and no series file",
            where=Where(shown),
            hint="Name the files, or the directory that has the file `series`.",
        )
    found.piles.append(Pile(path, shown))
    found.files.update(file.resolve() for file in chosen)
    for file in chosen:
        found.add_file(str(PurePath(shown, file.name)), file.read_bytes())


def _read_series(series: Path, found: Collected) -> None:
    """The patches that a series file lists, each with its options, guards and comments."""
    found.piles.append(Pile(series.parent, str(series.parent), series))
    above: list[str] = []
    taken = {given.name for given in found.patches}
    for number, raw in enumerate(series.read_bytes().split(b"\n"), 1):
        where = Where(str(series), number)
        text = raw.decode("utf-8", "surrogateescape").rstrip("\r")
        if not text.strip() or text.lstrip().startswith("#"):
            above += [text.strip()] if text.strip() else []
            continue
        try:
            given = _listed(series.parent, text, where, found)
        except InputError as error:
            found.errors.append(error)
            continue
        if comment := _BEHIND.search(text):
            above.append(f"# {comment[1]}")
        for one in given:
            named = replace(one, name=_name(one.name, text.split()[0], taken), above=tuple(above))
            taken.add(named.name)
            found.patches.append(named)
            above = []
    found.notices += _behind(Where(str(series)), above)


def _behind(where: Where, above: Sequence[str]) -> list[Notice]:
    """What is to be said of comments with no patch below them."""
    words = "not taken, it comes after the last patch"
    return [Notice(where, f"{words}: {text}") for text in above]


def _listed(directory: Path, text: str, where: Where, found: Collected) -> Sequence[Given]:
    """The patches of one line of a series file; raises :class:`InputError`."""
    if match := _REVERSED.match(text):
        found.files.add((directory / match[1]).resolve())
        raise InputError(
            f"{match[1]} is to be applied in reverse (-R), which patchq's series do not support",
            where=where,
            hint="Reverse the file (interdiff -q FILE /dev/null), and take the -R out.",
        )
    (entry,) = read_series(text.encode("utf-8", "surrogateescape"), Where(where.file)).entries
    file = directory / entry.name
    found.files.add(file.resolve())
    if not file.is_file():
        raise InputError(
            f"{entry.name} is listed, and there is no such file",
            where=where,
            hint="Take the line out, or bring the file back; --keep-going imports the others.",
        )
    given, notices = read_given(str(file), file.read_bytes())
    found.notices += notices
    return [replace(one, strip=entry.strip, guards=entry.guards) for one in given]


def _name(name: str, listed: str, taken: set[str]) -> str:
    """A name for a patch of a series: with its directory, and its number where it needs that."""
    directory = PurePath(listed).parent
    whole = PurePath(listed).name
    if str(directory / name) in taken and name == patch_name(listed):
        name = f"{whole.removesuffix('.patch').removesuffix('.diff')}.patch"
    return str(directory / name)


# -- what is not taken ---------------------------------------------------------------------------


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
