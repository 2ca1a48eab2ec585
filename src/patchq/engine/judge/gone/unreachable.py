"""The code of a patch that is not in its place any more: proven gone, moved, or not known.

A patch is unreachable only if every hunk of it has a :class:`ProofOfAbsence`. A hunk that only
imports what only the gone code reads has the proof of that code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from patchq.engine.judge.case import CaseFacts
from patchq.engine.judge.gone.absence import Prover
from patchq.engine.judge.gone.finding import Doubt, ProofOfAbsence
from patchq.engine.judge.gone.follow import Followed, Follower
from patchq.engine.judge.gone.removal import (
    LostCode,
    Removal,
    find_lost,
    find_removal,
    only_imports,
)
from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.landing.hunk_history import HunkHistory
from patchq.engine.judge.outcomes import is_gone, outcomes
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.merge import MergeState
from patchq.model.patch import Patch
from patchq.model.verdict import (
    Evidence,
    EvidenceKind,
    HunkState,
    PatchReport,
    PathChange,
    Verdict,
)
from patchq.steps import counted


@dataclass(frozen=True)
class Loss:
    """A hunk whose code is not in its place; ``lost`` is None if upstream never had it."""

    trail: HunkHistory
    lost: LostCode | None
    removal: Removal
    finding: ProofOfAbsence | Doubt

    @property
    def what(self) -> str:
        """The code, for messages."""
        return self.lost.what if self.lost else self.trail.unit.file


class GoneCode:
    """Searches for the code of patches between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects
        self._prover = Prover(span)

    def losses(self, trails: Sequence[HunkHistory], facts: CaseFacts) -> list[Loss]:
        """The hunks whose code is not in its place."""
        return [
            loss
            for trail in counted(trails, "code that is gone")
            if (loss := self._loss(trail, facts)) is not None
        ]

    def is_elsewhere(self, patch: Patch) -> bool:
        """Whether the code that ``patch`` edits may be in other files of the new base."""
        prover = self._prover
        return any(
            prover.elsewhere(change.paths[0], b"".join(hunk.preimage)) or prover.unsearched.came
            for change in patch.files
            for hunk in change.hunks
            if self._span.place(change.paths[0]).new is None
        )

    def unreachable(
        self, trails: Sequence[HunkHistory], losses: Sequence[Loss], facts: CaseFacts
    ) -> Judgement | None:
        """The judgement that all code of a patch is gone, None if that is not proven."""
        proven = {
            loss.trail.unit: loss.finding
            for loss in losses
            if isinstance(loss.finding, ProofOfAbsence)
        }
        if len(proven) < len(losses) or not losses:
            return None
        rest = [trail for trail in trails if trail.unit not in proven]
        imports = [self._serving(trail, losses, facts) for trail in rest]
        proofs = [*proven.values(), *(proof for proof in imports if proof)]
        if len(proofs) < len(trails):
            return None
        return unreachable(self._span, facts, proofs)

    def follow(
        self, trails: Sequence[HunkHistory], losses: Sequence[Loss], facts: CaseFacts
    ) -> tuple[Followed, tuple[Evidence, ...]] | None:
        """The facts with the lost hunks moved along with their unchanged code, and the evidence."""
        lost = {loss.trail.unit: loss.lost for loss in losses if loss.lost is not None}
        followed = self._follower.follow(trails, lost, facts)
        if followed is None:
            return None
        removals = {loss.trail.unit: loss.removal for loss in losses}
        evidence: dict[str, Evidence] = {}
        for move in followed.moves:
            text = f"{move.lost.what} moved word for word: {move.lost.path} → {move.path}"
            commit = removals[move.trail.unit].commit
            item = self._span.evidence(EvidenceKind.CODE_MOVED, text, commit, paths=(move.path,))
            evidence.setdefault(text, item)
        return followed, tuple(evidence.values())

    def looked(self) -> tuple[str, ...]:
        """The files of the patched new base that were read to follow code since the last call."""
        return self._follower.looked() if "_follower" in self.__dict__ else ()

    @cached_property
    def _follower(self) -> Follower:
        return Follower(self._span, self._prover.index)

    def evidence(self, losses: Sequence[Loss]) -> tuple[Evidence, ...]:
        """What was removed, by which commit, and where it may be now."""
        found: dict[tuple[object, ...], Evidence] = {}
        for loss in losses:
            whole = loss.lost is None or loss.lost.new_path is None
            path = loss.trail.unit.file
            text = f"{path} is gone" if whole else f"{loss.what} is gone from {path}"
            kind = EvidenceKind.PATH_GONE if whole else EvidenceKind.SYMBOL_GONE
            item = self._span.evidence(kind, text, loss.removal.commit, paths=(path,))
            found.setdefault((kind, item.text), item)
        for loss in losses:
            if isinstance(loss.finding, Doubt):
                text, places = loss.finding.text, loss.finding.places
                moved = Evidence(EvidenceKind.CODE_MOVED, text, paths=places[:5])
                found.setdefault((moved.kind, text), moved)
        return tuple(found.values())

    def _loss(self, trail: HunkHistory, facts: CaseFacts) -> Loss | None:
        whole = is_gone(trail, facts)
        if not whole and (trail.end is not MergeState.COLLIDES or trail.has_landed):
            return None
        lost = find_lost(self._span, trail.unit)
        if lost is None:
            if not whole:
                return None
            doubt = Doubt(f"what {trail.unit.file} held cannot be looked for", ())
            return Loss(trail, None, Removal(None, False), doubt)
        if lost.wrapped and self._follower.place(lost) is None:
            return None  # shortened in place, as in any conflict
        removal = find_removal(self._span, lost)
        if lost.name is None and lost.new_path and not removal.pure:
            return None  # edited lines, as in any conflict
        return Loss(trail, lost, removal, self._prover.prove(lost, removal))

    def _serving(
        self, trail: HunkHistory, losses: Sequence[Loss], facts: CaseFacts
    ) -> ProofOfAbsence | None:
        """The proof for a hunk that only imports what only the gone code reads."""
        (path, *more) = trail.unit.paths
        here = [loss for loss in losses if loss.lost and loss.lost.path == path]
        new = facts.placements[path].new
        if more or not here or trail.has_landed or new is None:
            return None
        patched = self._objects.blob(facts.case.applied.after.get(path))
        content = self._objects.content(self._span.new.tree, new) or b""
        lost = [loss.lost for loss in here if loss.lost]
        names = only_imports(trail.unit, self._objects, patched, lost, content)
        proof = here[0].finding
        if not names or not isinstance(proof, ProofOfAbsence):
            return None
        what = f"the import of {', '.join(names)} for {proof.what}"
        return replace(proof, hunks=trail.unit.hunks, what=what)


def is_found(losses: Iterable[Loss]) -> bool:
    """Whether some of the code is known to be in another place."""
    return any(isinstance(loss.finding, Doubt) and loss.finding.places for loss in losses)


def unreachable(
    span: UpstreamRange, facts: CaseFacts, proofs: Iterable[ProofOfAbsence]
) -> Judgement:
    """The judgement that a patch is unreachable. It takes a proof for every hunk of it."""
    proofs = tuple(proofs)
    patch = facts.case.patch
    proven = {(proof.file, index) for proof in proofs for index in proof.hunks}
    hunks = outcomes(patch, HunkState.GONE)
    assert proven >= {(hunk.file, hunk.index) for hunk in hunks}
    evidence: dict[tuple[object, ...], Evidence] = {}
    for proof in proofs:
        kind = EvidenceKind.PATH_GONE if proof.whole_file else EvidenceKind.SYMBOL_GONE
        place = "" if proof.file in proof.what else f", of {proof.file},"
        gone = proof.file if proof.whole_file else f"{proof.what}{place}"
        item = span.evidence(kind, f"{gone} is gone; {proof.text}", proof.commit, (proof.file,))
        evidence.setdefault((kind, item.text), item)
    return Judgement(
        PatchReport(
            name=patch.name,
            verdict=Verdict.UNREACHABLE,
            paths=tuple(PathChange(path, facts.placements[path].new) for path in patch.paths),
            hunks=hunks,
            evidence=tuple(evidence.values()),
            kind=patch.header.kind,
        )
    )
