"""The workspace: ``upstream.lock``, ``series/`` and, ignored by git, ``.patchq``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from patchq.errors import InputError, Where
from patchq.model.lock import Lock, read_lock
from patchq.model.nearest import did_you_mean
from patchq.model.patch import Patch, read_patch
from patchq.model.retired import Lineage, Retired, read_lineage, read_retired
from patchq.model.series import Series, SeriesEntry, read_series
from patchq.model.settings import Settings, read_settings
from patchq.model.trust import TrustedTree, read_trust

if TYPE_CHECKING:
    from patchq.model.recipe import Recipe

LOCK = "upstream.lock"
TRUST = "upstream.trust"
SERIES = "series"
STATE = ".patchq"
RETIRED = "retired.yaml"
RECIPE = "recipe.yaml"

_Read = TypeVar("_Read")
_ATTEMPTS, _PAUSE = 200, 0.01
_AT_WORK = ("forward.json", "back.json")
"""The journals of a transaction that is being put in place, or taken back."""

_INIT = "`patchq init` makes a workspace; `patchq -C DIR` works in another one."


_read_again = lru_cache(maxsize=512)(read_patch)
"""Every column of a matrix reads the same series."""
_LARGE = 1 << 20


@dataclass(frozen=True)
class SeriesDirectory:
    """All that ``series/<tag>`` holds; every entry of ``series`` has its patch in ``patches``.

    ``recipe`` is the recipe as it is in the file, found to be well-formed.
    """

    tag: str
    path: Path
    series: Series
    patches: Mapping[str, Patch]
    retired: tuple[Retired, ...] = ()
    recipe: bytes | None = None
    lineage: Lineage = field(default_factory=Lineage)

    @property
    def out_of_series(self) -> tuple[Retired, ...]:
        """The records of patches that are not in the series (again)."""
        return tuple(record for record in self.retired if record.name not in self.series.names)

    @property
    def contents(self) -> Mapping[str, Patch]:
        """The patches of the series, and those that its memory keeps, if they can be read."""
        kept: dict[str, Patch] = {}
        for record in self.out_of_series:
            with suppress(InputError):
                patch = read_patch(record.name, record.content, strip=record.strip)
                patch.header.check_fields()
                kept[record.name] = patch
        return kept | dict(self.patches)


@dataclass(frozen=True)
class Workspace:
    """Where everything of a workspace lies; reads it, never writes it."""

    root: Path

    @property
    def lock_path(self) -> Path:
        """``upstream.lock``."""
        return self.root / LOCK

    @property
    def trust_path(self) -> Path:
        """Which upstream trees may be evaluated without a sandbox."""
        return self.root / TRUST

    @property
    def series_dir(self) -> Path:
        """The directory of all series."""
        return self.root / SERIES

    @property
    def settings_path(self) -> Path:
        """``series/patchq.yaml``, which need not exist."""
        return self.series_dir / "patchq.yaml"

    @property
    def state_dir(self) -> Path:
        """``.patchq``: caches and unfinished operations."""
        return self.root / STATE

    @property
    def cache_dir(self) -> Path:
        """Where answers are kept that can be had again."""
        return self.state_dir / "cache"

    @property
    def store_path(self) -> Path:
        """The bare repository of our own that upstream is fetched into."""
        return self.state_dir / "store.git"

    def lock(self) -> Lock:
        """The lock; raises :class:`InputError` if it is missing or malformed."""
        return read_lock(self._read(self.lock_path), self._where(self.lock_path))

    def settings(self) -> Settings:
        """The settings, or the defaults where there is no settings file."""
        raw = _read_if_there(self.settings_path)
        return Settings() if raw is None else read_settings(raw, self._where(self.settings_path))

    def trust(self) -> tuple[TrustedTree, ...]:
        """The upstream trees that are trusted; raises :class:`InputError` if malformed."""
        raw = _read_if_there(self.trust_path)
        return () if raw is None else read_trust(raw, self._where(self.trust_path))

    def series_path(self, tag: str) -> Path:
        """The directory of the series on ``tag``."""
        return self.series_dir / tag

    def series_names(self) -> tuple[str, ...]:
        """The bases that have a series, in the lock's order.

        A directory whose name is not in the lock may be work in progress: see :meth:`unlocked`.
        """
        names = self.lock().names

        def there() -> tuple[str, ...]:
            return tuple(name for name in names if (self.series_path(name) / SERIES).is_file())

        return self._steadily(there)

    def series(self, tag: str) -> Series:
        """The order and guards of the series on ``tag``; see :meth:`load` for what it raises."""
        return self._steadily(lambda: self._series(tag))

    def _series(self, tag: str) -> Series:
        self.lock().position(tag)
        path = self.series_path(tag)
        series_path = path / SERIES
        if not series_path.is_file():
            raise InputError(
                f"there is no series on {tag}",
                where=self._where(path),
                hint=f"There are series on: {', '.join(self.series_names()) or 'no base yet'}.",
            )
        return read_series(self._read(series_path), self._where(series_path))

    def retired(self, tag: str) -> tuple[Retired, ...]:
        """What has left the series on ``tag``, or is held; raises :class:`InputError`."""
        path = self.series_path(tag) / RETIRED
        raw = self._steadily(lambda: _read_if_there(path))
        return () if raw is None else read_retired(raw, self._where(path))

    def lineage(self, tag: str) -> Lineage:
        """How the series on ``tag`` goes on from the one before; raises :class:`InputError`."""
        path = self.series_path(tag) / RETIRED
        raw = self._steadily(lambda: _read_if_there(path))
        return Lineage() if raw is None else read_lineage(raw, self._where(path))

    def recipe(self, tag: str) -> Recipe:
        """The recipe of the series on ``tag``; raises :class:`InputError` if it is malformed."""
        from patchq.model.recipe import read_recipe  # packaging, which few commands need

        path = self.series_path(tag) / RECIPE
        return read_recipe(self._steadily(lambda: _read_if_there(path)), self._where(path))

    def load(self, tag: str) -> SeriesDirectory:
        """The series on ``tag`` with its patches.

        Raises :class:`InputError` if ``tag`` is not in the lock, has no series, or a file of
        the series is missing or malformed.
        """
        directory, problems = self.survey(tag)
        for problem in problems:
            raise problem
        return directory

    def load_or_empty(self, tag: str) -> SeriesDirectory:
        """The series on ``tag``, an empty one if there is none yet.

        Raises :class:`InputError` if ``tag`` is not in the lock or its series is malformed.
        """
        self.lock().position(tag)
        path = self.series_path(tag)
        if (path / SERIES).is_file():
            return self.load(tag)
        return SeriesDirectory(tag, path, Series(b"", (), self._where(path / SERIES)), {})

    def survey(self, tag: str) -> tuple[SeriesDirectory, tuple[InputError, ...]]:
        """What of the series on ``tag`` can be read, and what is wrong with the rest.

        Raises :class:`InputError` if its order cannot be read.
        """
        return self._steadily(lambda: self._survey(tag))

    def _survey(self, tag: str) -> tuple[SeriesDirectory, tuple[InputError, ...]]:
        series = self.series(tag)
        path = self.series_path(tag)
        problems: list[InputError] = []
        patches: dict[str, Patch] = {}
        for entry in series.entries:
            try:
                patches[entry.name] = self._patch(path, series, entry)
            except InputError as error:
                problems.append(error)
        retired: tuple[Retired, ...] = ()
        lineage = Lineage()
        recipe = None
        try:
            retired, lineage = self.retired(tag), self.lineage(tag)
        except InputError as error:
            problems.append(error)
        try:
            recipe = _read_if_there(path / RECIPE)
            self.recipe(tag)
        except InputError as error:
            problems.append(error)
        directory = SeriesDirectory(tag, path, series, patches, retired, recipe, lineage)
        return directory, tuple(problems)

    def unlocked(self) -> tuple[str, ...]:
        """The directories of ``series/`` that hold a series for a base the lock does not have."""
        names = self.lock().names
        found = (file.parent.name for file in self.series_dir.glob(f"*/{SERIES}"))
        return tuple(sorted(name for name in found if name not in names))

    def _steadily(self, read: Callable[[], _Read]) -> _Read:
        """What ``read`` gives while no other process puts a series in its place.

        A series is replaced by two renames: between them it is not there.
        """
        for _ in range(_ATTEMPTS):
            before = self._generation()
            failed: InputError | None = None
            if before is not None:
                try:
                    found = read()
                except InputError as error:
                    failed = error
                if self._generation() == before:
                    if failed is not None:
                        raise failed
                    return found
            time.sleep(_PAUSE)
        return read()

    def _generation(self) -> str | None:
        """A name for the state of ``series/``; None while it is being written."""
        transactions = self.state_dir / "transactions"
        try:
            newest = max((entry.name for entry in transactions.iterdir()), default="")
        except FileNotFoundError:
            return ""
        at_work = any((transactions / newest / name).exists() for name in _AT_WORK)
        return None if newest and at_work else newest

    def _patch(self, directory: Path, series: Series, entry: SeriesEntry) -> Patch:
        path = directory / entry.name
        raw = _read_if_there(path)
        if raw is None:
            there = sorted(file.name for file in directory.glob("*") if file.is_file())
            raise InputError(
                f"there is no file {entry.name}",
                where=Where(series.where.file, entry.line),
                hint=f"{did_you_mean(entry.name, there)} Restore it (`git checkout -- "
                f"{self._where(path).file}`, or `patchq undo` if patchq removed it), or take the "
                "line out.".lstrip(),
            )
        read = read_patch if len(raw) > _LARGE else _read_again
        return read(entry.name, raw, strip=entry.strip, where=self._where(path))

    def _where(self, path: Path) -> Where:
        return Where(str(path.relative_to(self.root)))

    def _read(self, path: Path) -> bytes:
        raw = _read_if_there(path)
        if raw is None:
            raise InputError("there is no such file", where=self._where(path), hint=_INIT)
        return raw


def find_workspace(start: Path) -> Workspace:
    """The workspace that ``start`` lies in: the nearest directory upwards with ``upstream.lock``.

    Raises :class:`InputError` if there is none.
    """
    if not start.is_dir():
        raise InputError("no such directory", where=Where(str(start)), hint=_INIT)
    start = start.resolve()
    for directory in (start, *start.parents):
        if (directory / LOCK).is_file():
            return Workspace(directory)
    raise InputError(f"{start} is not in a patchq workspace (no {LOCK})", hint=_INIT)


def ensure_state_dir(workspace: Workspace) -> Path:
    """``.patchq``, made where it is missing so that git ignores it."""
    directory = workspace.state_dir
    directory.mkdir(mode=0o755, exist_ok=True)
    ignore = directory / ".gitignore"
    if not ignore.exists():
        ignore.write_bytes(b"*\n")
    return directory


def _read_if_there(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", where=Where(str(path))) from error
