"""A patch that could not be judged: a conflict that says what went wrong.

An error with one patch (a missing object, a file that git cannot merge, a bug) must not prevent the
verdicts on the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.outcomes import outcomes
from patchq.errors import PatchqError, UnavailableError
from patchq.model.patch import Patch
from patchq.model.verdict import (
    Evidence,
    EvidenceKind,
    HunkState,
    PatchReport,
    PathChange,
    Verdict,
)

_Found = TypeVar("_Found")


def ends_all(error: Exception) -> bool:
    """Whether the error would occur with every other patch too."""
    return isinstance(error, OSError | MemoryError | UnavailableError)


def unless_fault(ask: Callable[[], _Found], otherwise: _Found) -> _Found:
    """The result of ``ask``, or ``otherwise`` if it raises an error of this patch alone."""
    try:
        return ask()
    except Exception as error:
        if ends_all(error):
            raise
        return otherwise


def faulted(patch: Patch, error: Exception) -> Judgement:
    """The judgement on a patch for which ``error`` was raised."""
    words = str(error) if isinstance(error, PatchqError) else f"{type(error).__name__}: {error}"
    report = PatchReport(
        name=patch.name,
        verdict=Verdict.CONFLICT,
        paths=tuple(PathChange(path, path) for path in patch.paths),
        hunks=outcomes(patch, HunkState.CONFLICTING),
        evidence=(Evidence(EvidenceKind.FAULT, f"could not be judged: {words}"),),
        kind=patch.header.kind,
    )
    return Judgement(report)
