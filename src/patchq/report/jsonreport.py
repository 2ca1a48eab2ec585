"""Reports and the lifecycle matrix as JSON, in the shapes that the schemas in ``docs/`` fix."""

from __future__ import annotations

from typing import Any

from patchq.model.requirements import RequirementChange
from patchq.model.verdict import (
    Column,
    Evidence,
    HunkState,
    Matrix,
    PatchReport,
    Remembered,
    Report,
)
from patchq.report.document import render_document

SCHEMA = "patchq.report/1"
MATRIX_SCHEMA = "patchq.matrix/1"


def render_json(report: Report) -> str:
    """``report`` as a JSON document."""
    return render_document(report_fields(report))


def render_matrix_json(matrix: Matrix) -> str:
    """``matrix`` as a JSON document: every base with its report, in the lock's order."""
    document = {
        "schema": MATRIX_SCHEMA,
        "patches": list(matrix.names),
        "bases": [_base(column) for column in matrix.columns],
    }
    return render_document(document)


def _base(column: Column) -> dict[str, Any]:
    return {
        "name": column.base,
        "commit": column.commit,
        "date": column.date,
        "has_series": column.has_series,
        "live": column.role,
        "introduced": list(column.introduced),
        "unfetched": list(column.unfetched),
        "report": report_fields(column.report) if column.report else None,
    }


def report_fields(report: Report) -> dict[str, Any]:
    """``report`` as the fields of a document, which may be part of another one."""
    return {
        "schema": SCHEMA,
        "series": report.series,
        "onto": report.onto,
        "base_commit": report.base_commit,
        "onto_commit": report.onto_commit,
        "guards": list(report.guards),
        "patches": [patch_fields(patch) for patch in report.patches],
        "remembered": [_remembered(item) for item in report.remembered],
        "requirements": {
            "changes": [_requirement(change) for change in report.requirements.changes],
            "unknown": list(report.requirements.unknown),
        },
    }


def _requirement(change: RequirementChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "kind": change.kind.value,
        "old": change.old,
        "new": change.new,
        "condition": change.condition,
        "pin": change.pin,
        "reason": change.reason,
    }


def _remembered(item: Remembered) -> dict[str, Any]:
    return {
        "name": item.name,
        "retired_as": item.retired_as.value if item.retired_as else None,
        "since": item.since,
        "memory": item.memory.value,
        "needed_by": list(item.needed_by),
        "now": item.now.verdict.value if item.now else None,
        "evidence": [evidence_fields(evidence) for evidence in item.now.evidence]
        if item.now
        else [],
    }


def patch_fields(patch: PatchReport) -> dict[str, Any]:
    """One patch's report as fields of a document."""
    return {
        "name": patch.name,
        "kind": patch.kind,
        "verdict": patch.verdict.value,
        "action": patch.action.value,
        "age": patch.age,
        "blocked_by": list(patch.blocked_by),
        "notes": list(patch.notes),
        "paths": [{"old": path.old, "new": path.new} for path in patch.paths],
        "hunks": [
            {
                "file": hunk.file,
                "index": hunk.index,
                "outcome": hunk.state.value,
                "offset": hunk.offset,
                "commit": hunk.commit,
            }
            for hunk in patch.hunks
        ],
        "counts": _counts(patch),
        "effects": [{"target": effect.target, "effect": effect.effect} for effect in patch.effects],
        "evidence": [evidence_fields(evidence) for evidence in patch.evidence],
    }


def _counts(patch: PatchReport) -> dict[str, int]:
    counts = patch.count()
    return {"total": counts.total(), **{state.value: counts[state] for state in HunkState}}


def evidence_fields(evidence: Evidence) -> dict[str, Any]:
    """One piece of evidence as fields of a document."""
    return {
        "kind": evidence.kind.value,
        "commit": evidence.commit,
        "pr": evidence.pr,
        "subject": evidence.subject,
        "date": evidence.date,
        "first_tag": evidence.first_tag,
        "paths": list(evidence.paths),
        "text": evidence.text,
    }
