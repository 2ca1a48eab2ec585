"""What upstream itself requires, and how that differs between two of its bases."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from textwrap import shorten


class RequirementKind(Enum):
    """What a requirement is for."""

    PACKAGE = "package"  # to run
    EXTRA = "extra"  # to run with an extra
    BUILD = "build"  # to build
    FETCHED = "fetched"  # source code that the build fetches
    ARCHS = "architectures"  # what a CUDA target of the unpatched build is compiled for


@dataclass(frozen=True)
class RequirementChange:
    """A requirement of upstream on two bases; None: it does not ask for it there.

    An empty specifier asks for any version. ``condition`` is the marker or extra (PEP 508) that it
    depends on, or the targets that it is so for; ``pin`` is what the recipe pins it to, if it does,
    and ``reason`` why.
    """

    name: str
    kind: RequirementKind
    old: str | None
    new: str | None
    condition: str | None = None
    pin: str | None = None
    reason: str | None = None

    @property
    def text(self) -> str:
        """The change in words: ``torch ==2.11.0 → ==2.13.0``."""
        if self.old is None:
            words = f"{self.name} {self.new or '(any version)'}, new"
        elif self.new is None:
            words = f"{self.name} {self.old or '(any version)'}, gone"
        else:
            words = f"{self.name} {self.old or '(any version)'} → {self.new or '(any version)'}"
        if self.kind not in (RequirementKind.PACKAGE, RequirementKind.EXTRA):
            words = f"{self.kind.value}: {words}"
        if self.condition is None:
            return words
        return f"{words} ({shorten(self.condition, 60, placeholder=' …')})"


@dataclass(frozen=True)
class RequirementChanges:
    """All that differs between two bases, and what could not be compared, in words."""

    changes: tuple[RequirementChange, ...] = ()
    unknown: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.unknown)
