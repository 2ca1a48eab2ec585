"""The outcome of judging a patch."""

from __future__ import annotations

from dataclasses import dataclass

from patchq.model.patch import Patch
from patchq.model.verdict import EvidenceKind, PatchReport, Verdict


@dataclass(frozen=True)
class Judgement:
    """A verdict, and the patch to carry if there is one.

    ``looked`` are the files of the new base that it depends on besides those of the patch.
    """

    report: PatchReport
    patch: Patch | None = None
    looked: tuple[str, ...] = ()

    @property
    def stands(self) -> bool:
        """Whether there is a patch that applies to the new base."""
        return self.patch is not None and self.report.verdict is not Verdict.NOT_COVERED

    @property
    def is_fault(self) -> bool:
        """Whether it only reports an error, and is not to be cached."""
        return any(item.kind is EvidenceKind.FAULT for item in self.report.evidence)
