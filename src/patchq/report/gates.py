"""Capability gates: what each gives a target, and which are new; for a terminal and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from patchq.model.release import ANSWER_WORDS, Gate, GateChange
from patchq.model.words import counted
from patchq.report.commit import commit_of
from patchq.report.document import render_document
from patchq.report.jsonreport import evidence_fields
from patchq.report.terminal import INDENT, Writer

SCHEMA = "patchq.gates/1"

_STYLES = {True: "green", False: "red", None: "yellow"}


def render_gates(tag: str, target: str, gates: Sequence[Gate], console: Console) -> None:
    """Print every gate by file."""
    writer = Writer(console)
    path = None
    for gate in gates:
        if gate.path != path:
            path = gate.path
            writer.words(path, style="bold")
        _gate(writer, gate)
    writer.words(_sum(tag, target, gates))


def render_gate_changes(
    tag: str, since: str, target: str, changes: Sequence[GateChange], console: Console
) -> None:
    """Print what is new or changed since another base, with the commit of each."""
    writer = Writer(console)
    for change in changes:
        before = (
            f", {ANSWER_WORDS[change.before]} before" if change.state.value == "changed" else ""
        )
        writer.words(f"{change.gate.path} ({change.state.value}{before})", style="bold")
        _gate(writer, change.gate)
        commit = commit_of(change.evidence) if change.evidence else None
        if commit:
            writer.commit(commit, INDENT)
    writer.words(f"{tag} for {target}: {counted(len(changes), 'gate')} since {since}")


def _gate(writer: Writer, gate: Gate) -> None:
    place = f"{gate.line}" + (f" {gate.function}" if gate.function else "")
    leaves = " (then leaves)" if gate.leaves else ""
    text = f"{ANSWER_WORDS[gate.answer]:9}  {place}: {gate.text}{leaves}"
    writer.words(text, INDENT // 2, style=_STYLES[gate.answer])


def _sum(tag: str, target: str, gates: Sequence[Gate]) -> str:
    counts = Counter(gate.answer for gate in gates)
    parts = [f"{counts[answer]} {word}" for answer, word in ANSWER_WORDS.items() if counts[answer]]
    return f"{tag} for {target}: {len(gates)} gates, {', '.join(parts) or 'none'}"


def render_gates_json(
    tag: str, target: str, gates: Sequence[Gate], changes: Sequence[GateChange] | None, since: str
) -> str:
    """Both as a JSON document; ``changes`` is None if no other base was asked about."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "base": tag,
        "target": target,
        "gates": [_fields(gate) for gate in gates],
    }
    if changes is not None:
        document["since"] = since
        document["changes"] = [
            {
                **_fields(change.gate),
                "state": change.state.value,
                "before": ANSWER_WORDS[change.before] if change.state.value == "changed" else None,
                "evidence": evidence_fields(change.evidence) if change.evidence else None,
            }
            for change in changes
        ]
    return render_document(document)


def _fields(gate: Gate) -> dict[str, Any]:
    return {
        "path": gate.path,
        "function": gate.function,
        "line": gate.line,
        "condition": gate.text,
        "answer": ANSWER_WORDS[gate.answer],
        "leaves": gate.leaves,
    }
