"""What a Python module imports, uses and defines, as facts that can be kept.

They depend on the text alone, so they are kept under the id of its blob.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from patchq.kept_answers import KeptAnswers
from patchq.model.ids import ObjectId

_FORMAT = 2
STAR = "*"


class When(Enum):
    """When an import is carried out."""

    LOADING = "loading"  # as the module itself is imported
    LATER = "later"  # in a function, or only when the file is run as a program
    NEVER = "never"  # under TYPE_CHECKING: type checkers alone read it


@dataclass(frozen=True)
class Attempt:
    """An import whose failure is caught, in the ``try`` (or ``suppress``) on ``line``.

    ``fallback``: it stands in the handler, and is carried out where the first try failed.
    """

    line: int
    fallback: bool


@dataclass(frozen=True)
class Import:
    """One name of an import statement.

    ``name`` is what is taken from ``module``, None if the module itself is; ``level`` counts
    the dots of a relative import. ``bound`` is the name it gets here.
    """

    module: str
    level: int
    name: str | None
    bound: str
    line: int
    when: When
    attempt: Attempt | None = None

    @property
    def path(self) -> str:
        """The dotted path that ``bound`` stands for here."""
        if self.name is not None:
            return dotted("." * self.level + self.module, self.name)
        first = self.module.partition(".")[0]
        return first if self.bound == first else self.module


@dataclass(frozen=True)
class AttributeUse:
    """An attribute read from an imported name: ``path`` is the name, then the attributes."""

    path: tuple[str, ...]
    line: int
    when: When


@dataclass(frozen=True)
class ModuleFacts:
    """What a module's text says.

    ``names`` are bound as it is loaded, ``typing_names`` for type checkers only; ``exported`` is
    its ``__all__``, None if it has none or computes it. An ``open`` module makes names as it
    goes (``__getattr__``, ``globals()``), so nothing is missing from it. ``error`` is the line and
    the message where the text is not Python.
    """

    imports: tuple[Import, ...] = ()
    uses: tuple[AttributeUse, ...] = ()
    names: frozenset[str] = frozenset()
    typing_names: frozenset[str] = frozenset()
    exported: tuple[str, ...] | None = None
    open: bool = False
    error: tuple[int, str] | None = None

    @property
    def stars(self) -> tuple[Import, ...]:
        """Its ``from … import *``."""
        return tuple(item for item in self.imports if item.name == STAR)


def dotted(source: str, name: str) -> str:
    """``name`` inside the module ``source``, which may be dots alone."""
    return f"{source}{name}" if source.endswith(".") else f"{source}.{name}"


class FactsCache:
    """Facts in files below ``directory``, by the id of the blob; each is read once."""

    def __init__(self, directory: Path):
        version = f"{_FORMAT}-python{sys.version_info.major}.{sys.version_info.minor}"
        self._kept = KeptAnswers(directory, f"patchq.imports/{version}", _read, _written)
        self._known: dict[ObjectId, ModuleFacts] = {}

    def get(self, blob: ObjectId) -> ModuleFacts | None:
        """What was kept for ``blob``."""
        if blob not in self._known:
            kept = self._kept.get(blob)
            if kept is None:
                return None
            self._known[blob] = kept
        return self._known[blob]

    def put(self, blob: ObjectId, facts: ModuleFacts) -> None:
        """Keep ``facts`` for ``blob``."""
        self._known[blob] = facts
        self._kept.put(blob, facts)


def _written(facts: ModuleFacts) -> dict[str, Any]:
    return {
        "imports": [
            [item.module, item.level, item.name, item.bound, item.line, item.when.value]
            + ([] if item.attempt is None else [item.attempt.line, item.attempt.fallback])
            for item in facts.imports
        ],
        "uses": [[list(use.path), use.line, use.when.value] for use in facts.uses],
        "names": sorted(facts.names),
        "typing_names": sorted(facts.typing_names),
        "exported": facts.exported,
        "open": facts.open,
        "error": facts.error,
    }


def _read(kept: dict[str, Any]) -> ModuleFacts:
    exported, error = kept["exported"], kept["error"]
    return ModuleFacts(
        imports=tuple(
            Import(module, level, name, bound, line, When(when), Attempt(*rest) if rest else None)
            for module, level, name, bound, line, when, *rest in kept["imports"]
        ),
        uses=tuple(
            AttributeUse(tuple(path), line, When(when)) for path, line, when in kept["uses"]
        ),
        names=frozenset(kept["names"]),
        typing_names=frozenset(kept["typing_names"]),
        exported=None if exported is None else tuple(exported),
        open=kept["open"],
        error=None if error is None else (error[0], error[1]),
    )
