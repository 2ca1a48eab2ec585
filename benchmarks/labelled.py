"""Judge hundreds of real upstream commits, cut for an older tag, whose fate is known from history.

Beside the verdicts stand the answers of git rebase, git cherry and git apply -R to the same
question. Exits 1 where a patch was retired that upstream does not have, or where too few landed
ones were found.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cases import Case, CaseMaker, Group
from peers import Peer, Peers
from planting import Planter, Planting
from scratch import TAGS, Scratch, judge_each

from patchq.engine.rebase.retired import is_needed_again
from patchq.engine.series.stack import Stack
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange, upstream_range
from patchq.model.patch import Patch
from patchq.model.verdict import ACTIONS, Action, EvidenceKind, PatchReport, Verdict

SHARES = {
    Group.REVERTED: 0.1,
    Group.UNDONE: 0.05,
    Group.TWIN: 0.13,
    Group.SOME: 0.1,
    Group.NEVER: 0.2,
    Group.FILES: 0.12,
    Group.TWO: 0.1,
}
"""Parts of the whole, in the order they are made; whole commits fill up what is left."""

WANTED = 0.97
"""The least share of landed patches to be found, and of right commits among them."""

FOUND = frozenset({Verdict.UPSTREAMED, Verdict.SUPERSEDED, Verdict.PARTIAL})
"""The verdicts that tell of a merge."""


@dataclass(frozen=True)
class Answer:
    """What was said of one case."""

    case: Case
    report: PatchReport
    dropped_by: frozenset[Peer]

    @property
    def verdict(self) -> Verdict:
        """The verdict alone."""
        return self.report.verdict

    @property
    def evidence(self) -> tuple[str, ...]:
        """The commits named as having brought it in, the one with most hunks first."""
        merged = [item for item in self.report.evidence if item.kind is EvidenceKind.MERGED]
        return tuple(item.commit for item in merged if item.commit)

    @property
    def failed(self) -> bool:
        """Whether the engine failed, which is one of the things to find out."""
        return any(item.kind is EvidenceKind.FAULT for item in self.report.evidence)

    @property
    def retired(self) -> bool:
        """Whether rebase would drop it."""
        return ACTIONS[self.verdict] is Action.DROP

    @property
    def is_wrong(self) -> bool:
        """Whether it was retired and should not have been.

        A place that upstream took out together with what had landed there is gone.
        """
        gone = self.case.group is Group.UNDONE and self.verdict is Verdict.UNREACHABLE
        return self.retired and not self.case.group.landed and not gone

    @property
    def found(self) -> bool:
        """Whether the verdict says that upstream has it, or has it in another shape."""
        return self.verdict in FOUND

    @property
    def names_commit(self) -> bool:
        """Whether the first commit named is (one of) those that brought it in."""
        return bool(self.evidence) and self.evidence[0] in self.case.commits


def _answers(project: Project, old: str, new: str, cases: Sequence[Case]) -> list[Answer]:
    """What the engine and git's own means say of each case."""
    patches = [case.patch for case in cases]
    judged = judge_each(project, old, new, patches)
    span = upstream_range(project, old, new)
    stack = Stack(span.store)
    with tempfile.TemporaryDirectory(prefix="patchq-peers-") as index:
        peers = Peers(span, Path(index))
        return [
            Answer(
                case,
                judged[case.patch.name].report,
                peers.dropping(case.patch, stack.apply(span.old.tree, case.patch, onto=old).tree),
            )
            for case in cases
        ]


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="patchq-labelled-") as root:
        scratch = Scratch(Path(root), options.upstream, tuple(options.tags or TAGS))
        project = scratch.project()
        span = upstream_range(project, options.old, options.new)
        start = time.perf_counter()
        cases = list({case.patch.name: case for case in _make(span, options)}.values())
        answers = _answers(project, options.old, options.new, cases)
        seconds = time.perf_counter() - start
        upstreamed = {
            answer.case.patch: " + ".join(oid[:9] for oid in answer.case.made_of)
            for answer in answers
            if answer.verdict is Verdict.UPSTREAMED
        }
        resurfaced = {
            tag: _resurfaced(project, options.old, tag, upstreamed) for tag in options.later
        }
        planter = Planter(project, options.old, options.new)
        planted = planter.disarm(upstreamed, options.lines, options.seed)
    result = _result(options, answers, planted, seconds)
    result["resurfaced"] = resurfaced
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print("\n".join(_lines(result)))
    return 0 if result["passed"] else 1


def _resurfaced(project: Project, old: str, tag: str, upstreamed: Mapping[Patch, str]) -> list[str]:
    """The retired patches that upstream undid by ``tag``, with the commits that show it."""
    judged = judge_each(project, old, tag, tuple(upstreamed))
    reports = {patch: judged[patch.name].report for patch in upstreamed}
    return [
        f"{upstreamed[patch]}: {report.verdict.value}, undone by {_undone_by(report)}"
        for patch, report in reports.items()
        if is_needed_again(report)
    ]


def _undone_by(report: PatchReport) -> str:
    undone = (item.commit for item in report.evidence if item.kind is EvidenceKind.UNDONE)
    return ", ".join(commit[:9] for commit in undone if commit) or "-"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", type=Path, required=True, help="a clone of the upstream")
    parser.add_argument("--old", required=True, help="the tag the patches are cut for")
    parser.add_argument("--new", required=True, help="the tag they are judged on")
    parser.add_argument("--future", required=True, help="a commit of main past the new tag")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tags", nargs="+", help="the tags in order (SGLang's, if not given)")
    parser.add_argument(
        "--lines", type=int, default=0, help="lines to take out or to disarm, of each landed"
    )
    parser.add_argument("--later", nargs="+", default=[], help="tags to judge the retired on again")
    parser.add_argument("--only", choices=[g.name.lower() for g in Group], help="one group alone")
    parser.add_argument("--json", type=Path, help="where to write all answers")
    return parser.parse_args()


def _make(span: UpstreamRange, options: argparse.Namespace) -> list[Case]:
    maker = CaseMaker(span, options.future, options.seed)
    if options.only:
        return maker.cases({Group[options.only.upper()]: options.count})
    cases = maker.cases({group: round(part * options.count) for group, part in SHARES.items()})
    return cases + maker.cases({Group.WHOLE: options.count - len(cases)})


# -- the score ---------------------------------------------------------------------------------


def _result(
    options: argparse.Namespace,
    answers: Sequence[Answer],
    planted: Sequence[Planting],
    seconds: float,
) -> dict[str, Any]:
    landed = [answer for answer in answers if answer.case.group.landed]
    found = [answer for answer in landed if answer.found]
    right = [answer for answer in found if answer.names_commit]
    wrong = [answer for answer in answers if answer.is_wrong]
    return {
        "old": options.old,
        "new": options.new,
        "patches": len(answers),
        "seconds": round(seconds, 1),
        "verdicts": {
            group.value: dict(
                Counter(a.verdict.value for a in answers if a.case.group is group).most_common()
            )
            for group in Group
        },
        "classes": {name: _class(answers, *which) for name, which in _CLASSES.items()},
        "ways": {
            "patchq": _way(answers, lambda answer: answer.retired),
            **{peer.value: _way(answers, _by(peer)) for peer in Peer},
        },
        "found": _share(len(found), len(landed)),
        "right_commit": _share(len(right), len(found)),
        "wrong_retirements": [_story(answer) for answer in wrong],
        "missed": [_story(answer) for answer in landed if not answer.found],
        "other_commit": [_story(answer) for answer in found if not answer.names_commit],
        "failed": [_story(answer) for answer in answers if answer.failed],
        "seen_nothing": [
            _story(answer)
            for answer in answers
            if answer.case.group is Group.SOME and not answer.found
        ],
        "planted": {
            "judged": len(planted),
            "ways": Counter(p.plant.value for p in planted),
            "lost": [_lost(p) for p in planted if p.lost],
        },
        "answers": [_story(answer) for answer in answers],
        "passed": not wrong
        and not any(answer.failed for answer in answers)
        and not any(planting.lost for planting in planted)
        and len(found) >= WANTED * len(landed)
        and len(right) >= WANTED * len(found),
    }


_CLASSES: dict[str, tuple[frozenset[Verdict], frozenset[Group]]] = {
    "retired (upstreamed, unreachable)": (
        frozenset({Verdict.UPSTREAMED, Verdict.UNREACHABLE}),
        frozenset(group for group in Group if group.landed),
    ),
    "reviewed as merged (superseded, partial)": (
        frozenset({Verdict.SUPERSEDED, Verdict.PARTIAL}),
        frozenset({Group.SOME}),
    ),
    "kept (clean, moved, adapted, conflict)": (
        frozenset({Verdict.CLEAN, Verdict.MOVED, Verdict.ADAPTED, Verdict.CONFLICT}),
        frozenset({Group.NEVER, Group.TWIN, Group.REVERTED, Group.UNDONE}),
    ),
}


def _class(
    answers: Sequence[Answer], verdicts: frozenset[Verdict], truth: frozenset[Group]
) -> dict[str, Any]:
    said = [answer for answer in answers if answer.verdict in verdicts]
    true = [answer for answer in answers if answer.case.group in truth]
    both = sum(answer.case.group in truth for answer in said)
    return {"precision": _share(both, len(said)), "recall": _share(both, len(true))}


def _way(answers: Sequence[Answer], drops: Callable[[Answer], bool]) -> dict[str, Any]:
    dropped = [answer for answer in answers if drops(answer)]
    right = sum(answer.case.group.landed for answer in dropped)
    landed = sum(answer.case.group.landed for answer in answers)
    return {
        "dropped": _share(right, landed),
        "precision": _share(right, len(dropped)),
        "wrong": [answer.case.patch.name for answer in dropped if not answer.case.group.landed],
    }


def _by(peer: Peer) -> Callable[[Answer], bool]:
    return lambda answer: peer in answer.dropped_by


def _share(part: int, whole: int) -> dict[str, Any]:
    return {"of": [part, whole], "share": round(part / whole, 4) if whole else None}


def _story(answer: Answer) -> dict[str, Any]:
    return {
        "group": answer.case.group.value,
        "made_of": answer.case.made_of,
        "verdict": answer.verdict.value,
        "named": answer.evidence,
        "dropped_by": sorted(peer.value for peer in answer.dropped_by),
    }


def _lost(planting: Planting) -> dict[str, str]:
    return {
        "made_of": planting.made_of,
        "plant": planting.plant.value,
        "line": planting.about,
        "verdict": planting.verdict.value,
    }


def _lines(result: dict[str, Any]) -> Iterator[str]:
    yield f"{result['patches']} patches, {result['old']} → {result['new']}, {result['seconds']} s"
    yield "\nVerdicts"
    for group, verdicts in result["verdicts"].items():
        yield f"  {group:27}{', '.join(f'{n} {verdict}' for verdict, n in verdicts.items())}"
    yield f"\n{'':44}precision     recall"
    for name, score in result["classes"].items():
        yield f"  {name:42}{_words(score['precision']):14}{_words(score['recall'])}"
    yield f"\n{'Dropped as landed':22}of the landed        precision            wrongly"
    for name, score in result["ways"].items():
        right, sure = _words(score["dropped"]), _words(score["precision"])
        yield f"  {name:20}{right:21}{sure:21}{len(score['wrong'])}"
    yield f"\nFound of the landed: {_words(result['found'])}"
    yield f"Right commit named: {_words(result['right_commit'])}"
    for title in ("wrong_retirements", "missed", "other_commit", "failed", "seen_nothing"):
        yield f"\n{title.replace('_', ' ').upper()}: {len(result[title])}"
        for story in result[title]:
            made_of = " + ".join(oid[:9] for oid in story["made_of"])
            named = ", ".join(oid[:9] for oid in story["named"]) or "-"
            yield f"  {story['group']}: {made_of}: {story['verdict']}, named {named}"
    planted = result["planted"]
    yield f"\nA line that does nothing any more: {len(planted['lost'])} lost of {planted['judged']}"
    yield from (f"  {way}: {count}" for way, count in planted["ways"].items())
    for lost in planted["lost"]:
        yield f"  {lost['made_of']}: {lost['verdict']}, {lost['plant']}: {lost['line']}"
    for tag, stories in result["resurfaced"].items():
        yield f"\nResurfaced on {tag}: {len(stories)}"
        yield from (f"  {story}" for story in stories)
    yield f"\n{'passed' if result['passed'] else 'NOT passed'}"


def _words(share: dict[str, Any]) -> str:
    part, whole = share["of"]
    return f"{part}/{whole}" + (f" {share['share']:.1%}" if whole else "")


if __name__ == "__main__":
    sys.exit(main())
