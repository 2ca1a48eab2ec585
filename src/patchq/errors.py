"""What can go wrong, as one small hierarchy.

An error carries the place (file, line, patch) it is about and what to do next; the command line
turns it into a message and an exit code in one place (:mod:`patchq.cli.main`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Where:
    """A place in the user's input: a file, and a line in it (1-based) where one is known."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class PatchqError(Exception):
    """Base of all errors that are the user's, upstream's or the machine's, never a bug of ours."""

    exit_code = 2

    def __init__(self, message: str, *, where: Where | None = None, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.where is None else f"{self.where}: {self.message}"


class InputError(PatchqError):
    """Usage or bad input: a malformed file, an unknown name, a broken series."""


class FindingsError(PatchqError):
    """The command could not do its work because of findings that need review."""

    exit_code = 1


class UpstreamError(PatchqError):
    """Upstream, the lock or the network: a moved tag, a missing object, a failed download."""

    exit_code = 3


class MissingBasesError(UpstreamError):
    """Bases that the lock names are not in the store yet; ``names`` are theirs."""

    def __init__(self, names: Sequence[str], message: str, *, hint: str):
        super().__init__(message, hint=hint)
        self.names = tuple(names)


class UnavailableError(UpstreamError):
    """The store or the network is of no use any more: nothing else can be found out either."""
