"""A cache of judgements, keyed by the content that they depend on.

A key covers all inputs of a judgement: the rules, both bases, the patch, and the patches below that
can affect it, as they are on either side. Nothing is ever invalidated; a changed input is another
key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import Enum
from typing import Any

from patchq.engine.judge.judgement import Judgement
from patchq.kept_answers import KeptAnswers
from patchq.model.patch import Patch
from patchq.model.verdict import (
    Evidence,
    EvidenceKind,
    HunkOutcome,
    HunkState,
    PatchReport,
    PathChange,
    Verdict,
)
from patchq.model.workspace import Workspace

RULES = 76
"""Raised with every change that may give another verdict, so that cached ones are not used."""

VerdictCache = KeptAnswers[Mapping[str, Judgement]]
"""Judgements by patch name."""


def kept_verdicts(workspace: Workspace) -> VerdictCache:
    """The judgements that the workspace keeps."""
    return KeptAnswers(workspace.cache_dir / "verdicts", "patchq.verdicts/2", _read_all, _write_all)


def _read_all(kept: Mapping[str, Any]) -> Mapping[str, Judgement]:
    return {name: _read(fields) for name, fields in kept.items()}


def _write_all(judgements: Mapping[str, Judgement]) -> dict[str, Any]:
    return {name: _written(judgement) for name, judgement in judgements.items()}


def _written(judgement: Judgement) -> dict[str, Any]:
    patch = judgement.patch
    return {
        "report": asdict(judgement.report, dict_factory=_plain),
        # latin-1 maps every byte to one character: the way to keep bytes in JSON
        "patch": None if patch is None else [patch.raw.decode("latin-1"), patch.strip, patch.paths],
        "looked": judgement.looked,
    }


def _plain(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value.value if isinstance(value, Enum) else value for key, value in items}


def _read(fields: dict[str, Any]) -> Judgement:
    report, patch = dict(fields["report"]), fields["patch"]
    report.update(
        verdict=Verdict(report["verdict"]),
        paths=tuple(PathChange(**path) for path in report["paths"]),
        hunks=tuple(
            HunkOutcome(**{**hunk, "state": HunkState(hunk["state"])}) for hunk in report["hunks"]
        ),
        evidence=tuple(
            Evidence(**{**item, "kind": EvidenceKind(item["kind"]), "paths": tuple(item["paths"])})
            for item in report["evidence"]
        ),
        notes=tuple(report["notes"]),
        blocked_by=tuple(report["blocked_by"]),
        effects=(),
    )
    if patch is not None:
        raw, strip, paths = patch
        patch = Patch(report["name"], raw.encode("latin-1"), strip).with_paths(paths)
    return Judgement(PatchReport(**report), patch, tuple(fields["looked"]))
