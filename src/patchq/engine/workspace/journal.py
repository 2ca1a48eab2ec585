"""The journal of a transaction: which paths it changes, and what they become."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import PurePosixPath
from typing import Any


class Kind(Enum):
    """What a change makes of its path; of a ``KEPT`` file, ``undo`` keeps a copy aside."""

    FILE = "file"
    KEPT = "kept"
    DIRECTORY = "directory"
    ABSENT = "absent"


@dataclass(frozen=True)
class StagedPath:
    """One path of a transaction: whether it existed before, and a digest of what it becomes."""

    path: str
    kind: Kind
    existed: bool
    digest: str | None


@dataclass(frozen=True)
class Journal:
    """A transaction in words (``label``) and paths."""

    label: str
    time: str
    changes: tuple[StagedPath, ...]

    def encode(self) -> bytes:
        """The journal as JSON."""
        return json.dumps(asdict(self), default=lambda kind: kind.value, indent=1).encode("ascii")

    @classmethod
    def decode(cls, raw: bytes) -> Journal:
        """The journal that :meth:`encode` wrote; raises ValueError for any other text."""
        try:
            fields = json.loads(raw)
            changes = tuple(map(_read_change, fields["changes"]))
            return cls(_text(fields["label"]), _text(fields["time"]), changes)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not as it was written: {error!r}") from error


def _read_change(fields: Mapping[str, Any]) -> StagedPath:
    path, digest = _text(fields["path"]), fields["digest"]
    if not is_inside(PurePosixPath(path)):
        raise ValueError(f"{path!r} is not inside the workspace")
    return StagedPath(
        path=path,
        kind=Kind(fields["kind"]),
        existed=bool(fields["existed"]),
        digest=None if digest is None else _text(digest),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value


def is_inside(path: PurePosixPath) -> bool:
    """Whether a path leads to something below where it starts."""
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts
