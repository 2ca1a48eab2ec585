"""Verdicts that need not be found twice, kept under the content they depend on.

A key covers all that a judgement is made of: the rules, both bases, the patch and the patches it
stands on, as they are on either side. Nothing is ever invalidated; a changed input is another key.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any

from patchq.engine.judge.judge import Judgement
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


def key_of(facts: object) -> str:
    """The key of anything JSON can hold."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


def kept_verdicts(workspace: Workspace) -> VerdictCache:
    """What the workspace keeps."""
    return VerdictCache(workspace.cache_dir / "verdicts")


class VerdictCache:
    """Judgements in files below ``directory``, by key."""

    def __init__(self, directory: Path):
        self._directory = directory

    def get(self, key: str) -> dict[str, Judgement] | None:
        """What was kept under ``key``: judgements by patch name."""
        file = self._file(key)
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            return {name: _read(fields) for name, fields in kept.items()}
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return None  # cut off, or of another version: find it again

    def put(self, key: str, judgements: Mapping[str, Judgement]) -> None:
        """Keep ``judgements`` under ``key``."""
        file = self._file(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_name(f"{file.name}.{os.getpid()}")
        kept = {name: _written(judgement) for name, judgement in judgements.items()}
        aside.write_text(json.dumps(kept), encoding="utf-8")
        aside.replace(file)

    def _file(self, key: str) -> Path:
        return self._directory / key[:2] / f"{key[2:]}.json"


def _written(judgement: Judgement) -> dict[str, Any]:
    patch = judgement.patch
    return {
        "report": asdict(judgement.report, dict_factory=_plain),
        # latin-1 maps every byte to one character: the way to keep bytes in JSON
        "patch": None if patch is None else [patch.raw.decode("latin-1"), patch.strip],
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
    carried = patch and Patch(report["name"], patch[0].encode("latin-1"), patch[1])
    return Judgement(PatchReport(**report), carried)
