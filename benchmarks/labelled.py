"""Judge hundreds of real upstream commits, cut for an older tag, whose fate is known from history.

Beside the verdicts stand the answers of git rebase, git cherry and git apply -R to the same
question. Exits 1 where a patch was retired that upstream does not have, or where too few landed
ones were found.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from cases import Case, CaseMaker, Group
from peers import Peer, Peers
from scratch import Scratch, rebase

from patchq.engine.series.stack import Stack
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import PatchqError
from patchq.model.patch import Patch
from patchq.model.verdict import ACTIONS, Action, EvidenceKind, PatchReport, Verdict

SHARES = {
    Group.REVERTED: 0.1,
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
    verdict: Verdict | None
    """None where the engine failed."""
    evidence: tuple[str, ...]
    """The commits named as having brought it in, the one with most hunks first."""
    seconds: float
    dropped_by: frozenset[Peer]

    @property
    def retired(self) -> bool:
        """Whether rebase would drop it."""
        return self.verdict is not None and ACTIONS[self.verdict] is Action.DROP

    @property
    def found(self) -> bool:
        """Whether the verdict says that upstream has it, or has it in another shape."""
        return self.verdict in FOUND

    @property
    def word(self) -> str:
        """The verdict as it is printed."""
        return self.verdict.value if self.verdict else "failed"

    @property
    def names_commit(self) -> bool:
        """Whether the first commit named is (one of) those that brought it in."""
        return bool(self.evidence) and self.evidence[0] in self.case.commits


class _Bench:
    """One process's view of the span."""

    def __init__(self, scratch: Scratch, old: str, new: str):
        self._project: Project = scratch.project()
        self._span: UpstreamRange = self._project.upstream_range(old, new)
        self._index = tempfile.TemporaryDirectory(prefix="patchq-peers-")
        self._peers = Peers(self._span, Path(self._index.name))

    def answer(self, case: Case) -> Answer:
        start = time.perf_counter()
        report = self._judge(case.patch)
        seconds = time.perf_counter() - start
        evidence = report.evidence if report else ()
        merged = [item for item in evidence if item.kind is EvidenceKind.MERGED]
        patched = Stack(self._span.store).apply(
            self._span.old.tree, case.patch, onto=self._span.old.name
        )
        return Answer(
            case,
            report.verdict if report else None,
            tuple(item.commit for item in merged if item.commit),
            seconds,
            self._peers.dropping(case.patch, patched.tree),
        )

    def _judge(self, patch: Patch) -> PatchReport | None:
        """None where the engine fails, which is one of the things to find out."""
        try:
            rebased = rebase(self._project, self._span.old.name, self._span.new.name, [patch])
        except PatchqError as error:
            print(f"{patch.name}: {error}", file=sys.stderr)
            return None
        return rebased.report.patches[0]


_bench: _Bench


def _open(scratch: Scratch, old: str, new: str) -> None:
    global _bench
    _bench = _Bench(scratch, old, new)


def _answer(case: Case) -> Answer:
    return _bench.answer(case)


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="patchq-labelled-") as root:
        scratch = Scratch(Path(root), options.upstream)
        span = scratch.project().upstream_range(options.old, options.new)
        _ = span.renames.renames  # found once, then read from the cache by every process
        start = time.perf_counter()
        cases = _make(span, options)
        made = time.perf_counter() - start
        arguments = (scratch, options.old, options.new)
        with get_context("spawn").Pool(options.jobs, _open, arguments) as pool:
            answers = pool.map(_answer, cases, chunksize=4)
    result = _result(options, answers, made, time.perf_counter() - start)
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
    else:
        print("\n".join(_lines(result)))
    return 0 if result["passed"] else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", type=Path, required=True, help="a clone of the upstream")
    parser.add_argument("--old", required=True, help="the tag the patches are cut for")
    parser.add_argument("--new", required=True, help="the tag they are judged on")
    parser.add_argument("--future", required=True, help="a commit of main past the new tag")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=[g.name.lower() for g in Group], help="one group alone")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _make(span: UpstreamRange, options: argparse.Namespace) -> list[Case]:
    maker = CaseMaker(span, options.future, options.seed)
    if options.only:
        return maker.cases({Group[options.only.upper()]: options.count})
    cases = maker.cases({group: round(part * options.count) for group, part in SHARES.items()})
    return cases + maker.cases({Group.WHOLE: options.count - len(cases)})


# -- the score ---------------------------------------------------------------------------------


def _result(
    options: argparse.Namespace, answers: Sequence[Answer], made: float, wall: float
) -> dict[str, Any]:
    landed = [answer for answer in answers if answer.case.group.landed]
    found = [answer for answer in landed if answer.found]
    right = [answer for answer in found if answer.names_commit]
    wrong = [answer for answer in answers if answer.retired and not answer.case.group.landed]
    seconds = [answer.seconds for answer in answers]
    return {
        "old": options.old,
        "new": options.new,
        "patches": len(answers),
        "seconds": {
            "making": round(made, 1),
            "all": round(wall, 1),
            "median": round(statistics.median(seconds), 3),
            "longest": round(max(seconds), 3),
        },
        "verdicts": {
            group.value: dict(
                Counter(a.word for a in answers if a.case.group is group).most_common()
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
        "failed": [_story(answer) for answer in answers if answer.verdict is None],
        "seen_nothing": [
            _story(answer)
            for answer in answers
            if answer.case.group is Group.SOME and not answer.found
        ],
        "answers": [_story(answer) for answer in answers],
        "passed": not wrong
        and all(answer.verdict for answer in answers)
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
        frozenset({Group.NEVER, Group.TWIN, Group.REVERTED}),
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
        "verdict": answer.word,
        "named": answer.evidence,
        "seconds": round(answer.seconds, 3),
        "dropped_by": sorted(peer.value for peer in answer.dropped_by),
    }


def _lines(result: dict[str, Any]) -> Iterator[str]:
    seconds = result["seconds"]
    yield f"{result['patches']} patches, {result['old']} → {result['new']}"
    yield (
        f"{seconds['all']} s in all, {seconds['making']} s of it to make the patches; "
        f"a patch takes {seconds['median']} s (median), {seconds['longest']} s at most"
    )
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
    yield f"\n{'passed' if result['passed'] else 'NOT passed'}"


def _words(share: dict[str, Any]) -> str:
    part, whole = share["of"]
    return f"{part}/{whole}" + (f" {share['share']:.1%}" if whole else "")


if __name__ == "__main__":
    sys.exit(main())
