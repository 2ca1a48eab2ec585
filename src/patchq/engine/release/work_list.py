"""The work list of a new tag: everything that is found about it, sorted by who must act."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from patchq.engine.judge.predicates import SpanPredicates
from patchq.engine.rebase.decided import as_decided
from patchq.engine.rebase.new_series import new_series
from patchq.engine.rebase.operation import load
from patchq.engine.rebase.rebase import Rebased, judge_series, quiet
from patchq.engine.rebase.series_run import Progress
from patchq.engine.release.gates import GateReader, compare_gates
from patchq.engine.release.mentions import find_mentions
from patchq.engine.release.names import compare_names
from patchq.engine.release.requirement_commits import RequirementCommits
from patchq.engine.series.selection import Selection
from patchq.engine.verify.facts import recipe_on, with_facts
from patchq.engine.verify.verify import verify_series
from patchq.engine.workspace.live import with_needed
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange, upstream_range
from patchq.errors import InputError, PatchqError, UnavailableError
from patchq.model.pins import PinState, compare_pin
from patchq.model.release import (
    ANSWER_WORDS,
    REQUIRES,
    GateChange,
    GateState,
    Mention,
    NameChange,
    NameState,
    WorkItem,
    WorkList,
    WorkSection,
)
from patchq.model.requirements import RequirementChange
from patchq.model.verdict import (
    Action,
    Evidence,
    EvidenceKind,
    Memory,
    PatchReport,
    Remembered,
    Report,
    Verdict,
)
from patchq.model.verification import Verification
from patchq.model.workspace import Workspace

_FITTING = (PinState.EQUAL, PinState.INSIDE, PinState.FREE)
"""How a pin may stand to what upstream requires without being looked at."""

_SECTIONS = {
    Verdict.CONFLICT: WorkSection.BLOCKS,
    Verdict.DRIFTED: WorkSection.CORRUPTS,
    Verdict.SUPERSEDED: WorkSection.DECIDE,
    Verdict.NOT_COVERED: WorkSection.READ,
    Verdict.UPSTREAMED: WorkSection.LEAVES,
    Verdict.UNREACHABLE: WorkSection.LEAVES,
    Verdict.EXPIRED: WorkSection.LEAVES,
    Verdict.PARTIAL: WorkSection.READ,
}
"""Where a patch with this verdict stands; the others are fine."""


def work_list(project: Project, series: str, onto: str, progress: Progress = quiet) -> WorkList:
    """What there is to do to take ``series`` to the base ``onto``; writes nothing."""
    return judge_release(project, series, onto, progress)[0]


def judge_release(
    project: Project, series: str, onto: str, progress: Progress = quiet
) -> tuple[WorkList, Report]:
    """The same with the report on the patches that it was made from."""
    judged = with_facts(project, judge_series(project, series, onto, progress))
    workspace = project.workspace
    if onto in workspace.series_names():  # what was decided there counts, not the forecast
        decided = as_decided(workspace, judged.report, workspace.load(onto))
        judged = replace(judged, report=with_needed(project, decided))
    builder = _Builder(project, upstream_range(project, series, onto), judged)
    items = tuple(builder.items())
    order = list(WorkSection)
    work = WorkList(
        series,
        onto,
        tuple(sorted(items, key=lambda item: order.index(item.section))),
        tuple(builder.fine),
        tuple(builder.folded),
    )
    return work, judged.report


class _Builder:
    def __init__(self, project: Project, span: UpstreamRange, judged: Rebased):
        self._project = project
        self._span = span
        self._judged = judged
        self._report: Report = judged.report
        self._onto = span.new.name
        self._is_written = self._onto in project.workspace.series_names()
        self._rebase = _rebase_command(project.workspace, self._onto)
        self.fine: list[str] = []
        self.folded: list[str] = []

    def items(self) -> Iterator[WorkItem]:
        """All items, unsorted."""
        yield from self._patches()
        yield from self._memory()
        yield from self._verification()
        yield from self._claims()
        yield from self._names()
        yield from self._requirements()
        yield from self._gates()

    def _patches(self) -> Iterator[WorkItem]:
        active = self._judged.source.series.active(self._project.settings.default_guards)
        names = {entry.name for entry in active}
        fine = 0
        for patch in self._report.patches:
            if patch.name not in names:
                self.folded.append(f"{patch.name} ({patch.verdict.value})")
                continue
            left = patch.action is Action.DROP
            section = WorkSection.LEAVES if left else _SECTIONS.get(patch.verdict)
            if section is None:
                fine += 1
                continue
            yield WorkItem(
                section,
                patch.name,
                "; ".join([_words(patch), *(patch.notes if left else ())]),
                _telling(patch.evidence),
                self._command(patch),
            )
        if fine:
            self.fine.append(f"{fine} {'patch carries' if fine == 1 else 'patches carry'}")

    def _command(self, patch: PatchReport) -> str:
        if patch.action is Action.REVIEW:
            if self._is_written:
                return f"patchq resolve {patch.name}{self._in_series()}"
            return self._rebase
        return f"patchq why {patch.name} --onto {self._onto}"

    def _memory(self) -> Iterator[WorkItem]:
        for item in self._waiting():
            held = item.memory is Memory.HELD
            yield WorkItem(
                WorkSection.BLOCKS if held else WorkSection.DECIDE,
                item.name,
                "held, waits for a resolution" if held else "retired earlier, and needed again",
                _telling(item.now.evidence) if item.now else (),
                f"patchq {'resolve' if held else 'revive'} {item.name}{self._in_series()}",
            )

    def _waiting(self) -> Iterator[Remembered]:
        """What left the series and waits for a decision."""
        waiting = (Memory.RESURFACED, Memory.HELD)
        return (item for item in self._report.remembered if item.memory in waiting)

    def _in_series(self) -> str:
        """The argument that names the series in a command, if it is not the newest."""
        names = self._project.workspace.series_names()
        tag = self._onto if self._onto in names else self._span.old.name
        return "" if tag == names[-1] else f" {tag}"

    def _verification(self) -> Iterator[WorkItem]:
        command = f"patchq verify {self._onto}"
        waiting = [patch.name for patch in self._report.needs_review]
        if self._report.with_verdict(Verdict.NOT_COVERED):
            text = f"not run: {self._onto} is an archive that does not cover every patch"
            yield WorkItem(WorkSection.READ, "verify", text, (), command)
            return
        if waiting:
            yield WorkItem(
                WorkSection.READ, "verify", f"not run: waits for {', '.join(waiting)}", (), command
            )
            return
        workspace = self._project.workspace
        directory = (
            workspace.load(self._onto)
            if self._is_written
            else replace(new_series(self._judged), tag=self._onto)
        )
        selection = Selection(directory, self._project.settings.default_guards)
        try:
            verification = verify_series(self._project, selection, effects=False)
        except UnavailableError:
            raise
        except PatchqError as error:
            yield WorkItem(WorkSection.DECIDE, "verify", f"not run: {error.message}", (), command)
            return
        yield from self._failures(verification, command)

    def _failures(self, verification: Verification, command: str) -> Iterator[WorkItem]:
        told = {item.name for item in self._waiting()}
        failed = False
        for section in verification.sections:
            for failure in section.failures:
                failed = True
                if section.name == "requires" and failure.patch in told:
                    continue  # it has an item of its own
                where = (
                    WorkSection.BLOCKS
                    if section.name in ("apply", "build")
                    else WorkSection.CORRUPTS
                )
                text = f"{failure.patch}: {failure.text}" if failure.patch else failure.text
                yield WorkItem(where, f"verify: {section.name}", text, (), command)
        if not failed:
            self.fine.append("verify passes")

    def _claims(self) -> Iterator[WorkItem]:
        predicates = SpanPredicates(self._span)
        for claim in self._project.settings.release.claims:
            if all(predicates.ask(predicate).holds for predicate in claim.when):
                words = "; ".join(predicate.text for predicate in claim.when)
                evidence = Evidence(EvidenceKind.CLAIM, words)
                yield WorkItem(claim.section, "claim", claim.text, (evidence,))

    def _names(self) -> Iterator[WorkItem]:
        uses = self._project.settings.release.uses
        if not uses:
            return
        changes = compare_names(self._span, self._project.workspace.root, uses)
        for change in changes:
            yield WorkItem(_of_name(change), change.name, _used(change), (change.evidence,))
        if not changes:
            self.fine.append("every name that own files use is there")

    def _gates(self) -> Iterator[WorkItem]:
        gated: set[str] = set()
        for facts in self._project.settings.release.gates:
            reader = GateReader(self._project, facts)
            gated.update(gate.path for gate in reader.gates(self._span.new))
            command = f"patchq gates {self._onto} --since {self._span.old.name}"
            changes = compare_gates(self._span, reader)
            for section, group in _grouped(changes):
                evidence = group[0].evidence
                yield WorkItem(
                    section,
                    f"gates for {facts.target}",
                    _gate_words(group),
                    (evidence,) if evidence else (),
                    f"{command} --target {facts.target}",
                )
            if not changes:
                self.fine.append(f"no gate changed for {facts.target}")
        yield from self._mentions(gated)

    def _mentions(self, gated: set[str]) -> Iterator[WorkItem]:
        patched: dict[str, list[str]] = {}
        for name, patch in self._judged.source.patches.items():
            for path in patch.paths:
                for place in {path, self._span.place(path).new or path}:
                    patched.setdefault(place, []).append(name)
        words = self._project.settings.release.watch
        groups: dict[str, list[Mention]] = {}
        for mention in find_mentions(self._span, words, patched, gated):
            groups.setdefault(_touched(mention), []).append(mention)
        # first what touches patches, last what touches nothing of ours
        for touched, group in sorted(groups.items(), key=lambda item: _rank(item[1][0])):
            said = dict.fromkeys(word for mention in group for word in mention.words)
            yield WorkItem(
                WorkSection.READ,
                f"mentions {', '.join(said)}",
                f"touches {touched}",
                tuple(mention.evidence for mention in group),
            )

    def _requirements(self) -> Iterator[WorkItem]:
        recipe = recipe_on(self._project.workspace, self._span.old.name, self._onto)
        commits = RequirementCommits(self._project, self._span, recipe)
        file = f"series/{self._onto if self._is_written else self._span.old.name}/recipe.yaml"
        for change in self._report.requirements.changes:
            to_decide = change.pin and compare_pin(change.pin, change.new) not in _FITTING
            edit = f"$EDITOR series/{self._onto}/recipe.yaml"
            yield WorkItem(
                WorkSection.DECIDE if to_decide else WorkSection.READ,
                REQUIRES,
                change.text + _pinned(change, file),
                commits.evidence(change),
                (edit if self._is_written else self._rebase) if to_decide else None,
            )
        for words in self._report.requirements.unknown:
            yield WorkItem(WorkSection.READ, REQUIRES, words)


def _rebase_command(workspace: Workspace, onto: str) -> str:
    waiting = None
    with suppress(InputError):  # damaged: whoever goes on with it is told
        waiting = load(workspace)
    if waiting is not None and waiting.onto == onto:
        return "patchq rebase --continue"
    return f"patchq rebase --onto {onto}"


def _pinned(change: RequirementChange, file: str) -> str:
    if change.pin is None:
        return ""
    return f"; {file} pins {change.pin}" + (f": {change.reason}" if change.reason else "")


def _touched(mention: Mention) -> str:
    touched = [*mention.patches, *(["a gate"] if mention.gates else [])]
    return ", ".join(touched) or "no patch and no gate"


def _rank(mention: Mention) -> tuple[bool, bool]:
    return not mention.patches, not mention.gates


def _words(patch: PatchReport) -> str:
    counts = ", ".join(f"{count} {state.value}" for state, count in patch.count().items() if count)
    after = f", after {', '.join(patch.blocked_by)}" if patch.blocked_by else ""
    reason = f"; left out: {patch.skipped}" if patch.skipped else ""
    return f"{patch.verdict.value}: hunks {counts}{after}{reason}"


def _telling(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """What decides, without what is only to be read."""
    return tuple(item for item in evidence if item.kind is not EvidenceKind.WATCH)


def _of_name(change: NameChange) -> WorkSection:
    return WorkSection.CORRUPTS if change.state is NameState.GONE else WorkSection.READ


def _used(change: NameChange) -> str:
    places = ", ".join(f"{use.file}:{use.line}" for use in change.uses[:3])
    more = f" and {len(change.uses) - 3} more places" if len(change.uses) > 3 else ""
    what = "no longer defined" if change.state is NameState.GONE else "deprecated"
    return f"{what}; used in {places}{more}"


def _grouped(changes: Sequence[GateChange]) -> Iterator[tuple[WorkSection, list[GateChange]]]:
    """The changes of one commit together; a gate that answers otherwise now may hurt in silence."""
    groups: dict[tuple[WorkSection, str | None], list[GateChange]] = {}
    for change in changes:
        section = WorkSection.CORRUPTS if change.state is GateState.CHANGED else WorkSection.READ
        commit = change.evidence.commit if change.evidence else change.gate.path
        groups.setdefault((section, commit), []).append(change)
    for (section, _), group in groups.items():
        yield section, group


def _gate_words(group: Sequence[GateChange]) -> str:
    gate, state = group[0].gate, group[0].state
    place = f"{gate.path}:{gate.line}" + (f" {gate.function}" if gate.function else "")
    more = f", and {len(group) - 1} more" if len(group) > 1 else ""
    return f"{state.value}, {ANSWER_WORDS[gate.answer]}: {gate.text} ({place}){more}"
