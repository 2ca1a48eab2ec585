"""A verification as JSON, in the shape that ``docs/verify.schema.json`` fixes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from patchq.errors import Where
from patchq.model.verdict import Evidence
from patchq.model.verification import (
    BuiltTarget,
    Change,
    Flag,
    PatchEffect,
    Section,
    SourceGroup,
    TargetBuild,
    Verification,
)
from patchq.report.document import render_document

SCHEMA = "patchq.verify/1"


def render_json(verification: Verification) -> str:
    """``verification`` as a JSON document."""
    document = {
        "schema": SCHEMA,
        "series": verification.series,
        "commit": verification.commit,
        "guards": list(verification.guards),
        "patches": list(verification.patches),
        "not_covered": list(verification.not_covered),
        "guarded_off": [
            {"name": entry.name, "guards": entry.guard_words} for entry in verification.guarded_off
        ],
        "tree": verification.tree,
        "passed": verification.passed,
        "sections": [_section(section) for section in verification.sections],
        "builds": [_build(build) for build in verification.builds],
        "effects": [_effect(effect, verification) for effect in verification.effects],
    }
    return render_document(document)


def _section(section: Section) -> dict[str, Any]:
    return {
        "name": section.name,
        "outcome": section.outcome.value,
        "summary": section.summary,
        "failures": [
            {
                "text": failure.text,
                **_place(failure.where),
                "patch": failure.patch,
                "target": failure.target,
            }
            for failure in section.failures
        ],
        "notes": [{"text": note.text, **_place(note.where)} for note in section.notes],
    }


def _place(where: Where | None) -> dict[str, Any]:
    return {"file": where and where.file, "line": where and where.line}


def _build(build: TargetBuild) -> dict[str, Any]:
    target = build.target
    names = [built.name for each in (build.before, build.after) for built in each.targets]
    return {
        "target": target.name,
        "processor": target.processor,
        "cuda": target.cuda,
        "options": dict(target.options),
        "archs": list(target.archs),
        "targets": [
            {
                "name": name,
                "before": _built(build.before.target(name)),
                "after": _built(build.after.target(name)),
            }
            for name in dict.fromkeys(names)
        ],
    }


def _built(built: BuiltTarget | None) -> dict[str, Any] | None:
    if built is None:
        return None
    return {
        **_place(built.where),
        "archs": list(built.archs),
        "cuda_sources": built.cuda_sources,
        "groups": [_group(group) for group in built.groups],
    }


def _group(group: SourceGroup) -> dict[str, Any]:
    return {
        "language": group.language,
        "archs": list(group.archs),
        "sources": list(group.sources),
        "flags": [_flag(flag) for flag in group.flags],
        "definitions": [_flag(flag) for flag in group.definitions],
    }


def _flag(flag: Flag) -> dict[str, Any]:
    return {"text": flag.text, **_place(flag.where)}


def _effect(effect: PatchEffect, verification: Verification) -> dict[str, Any]:
    return {
        "patch": effect.patch,
        "target": effect.target,
        "effect": effect.effect.value,
        "acts_on": list(verification.acts_on(effect.patch)),
        "undone_by": effect.undone_by,
        "in_series": _changes(effect.in_series),
        "alone": _changes(effect.alone),
        "left_out": _changes(effect.left_out),
        "since": _since(effect.since),
    }


def _changes(changes: Sequence[Change] | None) -> list[dict[str, Any]] | None:
    return None if changes is None else [_change(change) for change in changes]


def _change(change: Change) -> dict[str, Any]:
    stays = change.before is not None and change.after is not None
    return {
        "name": change.name,
        "before": None if change.before is None else list(change.before.archs),
        "after": None if change.after is None else list(change.after.archs),
        "sources_gone": list(change.sources_gone) if stays else [],
        "sources_new": list(change.sources_new) if stays else [],
        "flags_gone": list(change.flags_gone) if stays else [],
        "flags_new": list(change.flags_new) if stays else [],
    }


def _since(evidence: Evidence | None) -> dict[str, Any] | None:
    if evidence is None:
        return None
    return {
        "text": evidence.text,
        "commit": evidence.commit,
        "pr": evidence.pr,
        "subject": evidence.subject,
        "date": evidence.date,
        "first_tag": evidence.first_tag,
    }
