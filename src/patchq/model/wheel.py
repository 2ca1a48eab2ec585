"""What a built wheel holds of GPU code, beside what was predicted of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from patchq.errors import Where
from patchq.model.prediction import PredictedLibrary
from patchq.model.verification import Failure, Section

NAME = "wheel"


@dataclass(frozen=True)
class Library:
    """A shared library: how many cubins, and how many PTX texts, it holds of each architecture.

    Architectures are in the order of their numbers: ``sm_90a`` for cubins, ``compute_90`` for PTX.
    """

    path: str
    cubins: Mapping[str, int] = field(default_factory=dict)
    ptx: Mapping[str, int] = field(default_factory=dict)


def library_line(library: Library) -> str:
    """``pkg/ops.so: 4 sm_90, 4 sm_120a``, as the lock keeps it."""
    return f"{library.path}: {counts_of(library)}"


def read_library_line(line: str) -> Library:
    """The library that :func:`library_line` gave."""
    path, _, counts = line.rpartition(": ")
    pairs = [item.split(" ") for item in counts.split(", ")]
    found = {arch: int(count) for count, arch in pairs}
    return Library(
        path,
        {arch: count for arch, count in found.items() if arch.startswith("sm_")},
        {arch: count for arch, count in found.items() if arch.startswith("compute_")},
    )


@dataclass(frozen=True)
class WheelRow:
    """A library of the wheel beside the target that makes it; None: there is none."""

    library: Library | None
    predicted: PredictedLibrary | None

    @property
    def name(self) -> str:
        """What to call it."""
        if self.library is not None:
            return self.library.path
        return self.predicted.target if self.predicted else ""

    @property
    def equal(self) -> bool:
        """Whether the wheel has just what was predicted."""
        return (
            self.library is not None
            and self.predicted is not None
            and dict(self.library.cubins) == dict(self.predicted.cubins)
            and dict(self.library.ptx) == dict(self.predicted.ptx)
        )


@dataclass(frozen=True)
class WheelReport:
    """All rows of one comparison, and the section that says what is not as predicted."""

    file: str
    machine: str
    rows: tuple[WheelRow, ...]

    @property
    def section(self) -> Section:
        """The comparison as a section of a verification."""
        failures = [
            Failure(_difference(row), Where(self.file), target=self.machine)
            for row in self.rows
            if not row.equal
        ]
        count = len(self.rows)
        libraries = "library" if count == 1 else "libraries"
        state = "equal in every row" if not failures else f"{len(failures)} not as predicted"
        return Section(NAME, f"{count} {libraries} of {self.file}: {state}", tuple(failures))


def _difference(row: WheelRow) -> str:
    if row.predicted is None:
        return f"{row.name} was not predicted; it holds {counts_of(row.library)}"
    if row.library is None:
        return f"{row.name} is missing; predicted were {counts_of(row.predicted)}"
    return f"{row.name} holds {counts_of(row.library)}, predicted were {counts_of(row.predicted)}"


def counts_of(counted: Library | PredictedLibrary | None) -> str:
    """``51 sm_90, 51 sm_100a``."""
    if counted is None:
        return "nothing"
    every = {**counted.cubins, **counted.ptx}
    return ", ".join(f"{count} {arch}" for arch, count in every.items()) or "nothing"
