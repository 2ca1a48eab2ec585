"""Capability gates of a tree: what each gives a target, and which are new since another base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from pathspec import GitIgnoreSpec

from patchq.engine.languages.conditions import Condition, python_conditions
from patchq.engine.languages.macro_conditions import macro_conditions
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange, upstream_range
from patchq.errors import InputError
from patchq.git.history import CommitInfo
from patchq.git.search import files_with_words
from patchq.kept_answers import KeptAnswers, key_of
from patchq.model.ids import TreeId
from patchq.model.lock import Base
from patchq.model.release import Gate, GateAnswer, GateChange, GateFacts, GateState, Value
from patchq.model.verdict import Evidence, EvidenceKind

_PYTHON = (".py", ".pyi")
_C = (".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hh", ".hpp", ".inc", ".inl")
_VERSION = "patchq.gates/3"

_Key = tuple[str, str]


def facts_of(project: Project, target: str | None) -> GateFacts:
    """The facts of ``target``, or of the first that has any; raises :class:`InputError`."""
    given = project.settings.release.gates
    if not given:
        raise InputError(
            "patchq.yaml says nothing of upstream's capability helpers",
            hint="Give them under `gates:`, by target: see how-to/new-tag.md of the docs.",
        )
    if target is None:
        return given[0]
    found = project.settings.release.facts(target)
    if found is None:
        known = ", ".join(facts.target for facts in given)
        raise InputError(f"patchq.yaml has no gates of {target!r}", hint=f"It has: {known}.")
    return found


def read_gates(
    project: Project, tag: str, target: str | None = None, since: str | None = None
) -> GateAnswer:
    """The gates on the base ``tag``, with ``since`` also what changed from that base on."""
    base = project.lock.base(tag)
    facts = facts_of(project, target)
    project.store.require((base,))
    reader = GateReader(project, facts)
    found = reader.gates(base)
    changes = (
        compare_gates(upstream_range(project, since, tag), reader) if since is not None else None
    )
    return GateAnswer(tag, facts.target, found, changes)


class GateReader:
    """Reads the gates of trees for one target; what a file says is kept by its content."""

    def __init__(self, project: Project, facts: GateFacts):
        self._store = project.store
        self._facts = facts
        self._more = [sorted(facts.macros.items()), _sorted(facts.known)]
        self._gates: dict[str, tuple[Gate, ...]] = {}
        self._kept = KeptAnswers(project.cache / "gates", _VERSION, _read, _write)

    def gates(self, base: Base) -> tuple[Gate, ...]:
        """Every gate of a base, by path and line; its tree is searched once."""
        if base.tree not in self._gates:
            self._gates[base.tree] = self._search(base.tree)
        return self._gates[base.tree]

    def _search(self, tree: TreeId) -> tuple[Gate, ...]:
        helpers = {name.rpartition(".")[2] for name in self._facts.helpers}
        words = {*helpers, *self._facts.macros}
        found = files_with_words(self._store.git, tree, words)
        spec = GitIgnoreSpec.from_lines(self._facts.paths) if self._facts.paths else None
        paths = sorted(
            path
            for path in {path for files in found.values() for path in files}
            if spec is None or spec.match_file(path)
        )
        return tuple(
            Gate(path, each.function, each.line, each.text, each.answer, each.leaves, each.end)
            for path in paths
            for each in self.conditions(tree, path)
        )

    def conditions(self, tree: TreeId, path: str) -> tuple[Condition, ...]:
        """The conditions of one file, none if it is not there or in another language."""
        suffix = PurePosixPath(path).suffix.lower()
        entry = self._store.objects.file(tree, path)
        if entry is None or suffix not in (*_PYTHON, *_C):
            return ()
        helpers = self._facts.at(path)
        key = key_of([_sorted(helpers), self._more, suffix in _PYTHON, entry.oid])
        kept = self._kept.get(key)
        if kept is None:
            content = self._store.objects.read(entry.oid)
            kept = (
                python_conditions(content, helpers, self._facts.known)
                if suffix in _PYTHON
                else macro_conditions(content, self._facts.macros)
            )
            self._kept.put(key, kept)
        return kept


def compare_gates(span: UpstreamRange, reader: GateReader) -> tuple[GateChange, ...]:
    """The gates of the newer base that are new there, or give another answer than before."""
    old = reader.gates(span.old)
    before = {gate_key(gate): gate for gate in old}
    counted = Counter(map(gate_key, old))
    changed: list[tuple[Gate, GateState, bool | None]] = []
    for gate in reader.gates(span.new):
        key = gate_key(gate)
        if not counted[key]:
            changed.append((gate, GateState.NEW, None))
            continue
        counted[key] -= 1
        if before[key].answer is not gate.answer:
            changed.append((gate, GateState.CHANGED, before[key].answer))
    span.expect(gate.path for gate, _, _ in changed)
    return tuple(
        GateChange(gate, state, answer, _commit(span, reader, gate, state))
        for gate, state, answer in changed
    )


def gate_key(gate: Gate) -> _Key:
    """What tells a gate from others wherever its file is: function and text."""
    return gate.function, gate.text


def _commit(
    span: UpstreamRange, reader: GateReader, gate: Gate, state: GateState
) -> Evidence | None:
    """The commit from which on the file has the line of a new gate, or a changed gate's answer."""
    objects = span.store.objects
    content = objects.content(span.new.tree, gate.path) or b""
    lines = content.split(b"\n")[gate.line - 1 : gate.end]
    text = _stripped(lines)

    def has(tree: TreeId, name: str) -> bool:
        if state is GateState.NEW:  # a search by text: parsing every state of a file takes long
            return text in _stripped((objects.content(tree, name) or b"").split(b"\n"))
        return any(
            gate_key(gate) == (each.function, each.text) and each.answer is gate.answer
            for each in reader.conditions(tree, name)
        )

    def holds(commit: CommitInfo) -> bool:
        names = {gate.path, *(name for touch in commit.touches for name in (touch.old, touch.new))}
        return any(has(commit.tree, name) for name in sorted(names))

    found = span.since((gate.path,), holds)
    if found is None:
        return None
    return span.evidence(EvidenceKind.GATE, gate.text, found, paths=(gate.path,))


def _sorted(values: Mapping[str, Value]) -> list[tuple[str, str]]:
    return sorted((name, repr(value)) for name, value in values.items())


def _stripped(lines: Iterable[bytes]) -> bytes:
    return b"\n".join(line.strip() for line in lines)


def _write(conditions: Sequence[Condition]) -> object:
    return [[c.function, c.line, c.text, c.answer, c.leaves, c.end] for c in conditions]


def _read(kept: list[list[object]]) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            str(function), int(str(line)), str(text), _truth(answer), bool(leaves), int(str(end))
        )
        for function, line, text, answer, leaves, end in kept
    )


def _truth(value: object) -> bool | None:
    return None if value is None else bool(value)
