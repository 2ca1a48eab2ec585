"""Judge patches whose place upstream moved, renamed, removed or left alone, alone and as a series.

The groups are those of :class:`probe.Fate`. With ``--plant`` every retirement is put to the proof:
what was found gone is put back into the new tag, what was found landed is taken out of it.
Exits 1 where a patch was retired that is still needed, or carried to a wrong place in silence.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from code_groups import CodeProbes
from commit_groups import CommitProbes, Stacker, disjoint
from planting import Plant, Planter, Planting
from probe import Answer, Fate, Outcome, Probe, not_carried, stands_right
from scratch import TAGS, Scratch, judge_each, rebase

from patchq.engine.judge.judgement import Judgement
from patchq.engine.series.stack import Stack
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import upstream_range
from patchq.model.ids import TreeId
from patchq.model.patch import Patch

PAIRS = 20
"""So many patches with the one they stand on are a series of two each; as one series all are."""


class Bench:
    """Judges probes on one span."""

    def __init__(self, project: Project, old: str, new: str):
        self._project = project
        self._old, self._new = old, new
        self._objects = project.store.objects
        self._stack = Stack(project.store)

    def alone(self, probes: Sequence[Probe]) -> list[Answer]:
        """What becomes of each probe by itself, or with the patch it stands on."""
        single = [probe.patch for probe in probes if probe.below is None]
        judged = judge_each(self._project, self._old, self._new, single)
        answers = []
        for probe in probes:
            if probe.below is not None:
                answers += self.series([probe.below, probe])[1:]
            else:
                patch = judged[probe.name].patch
                tree = self._with([patch] if patch else [])
                answers.append(self._answer(probe, judged, tree))
        return answers

    def series(self, probes: Sequence[Probe]) -> list[Answer]:
        """What becomes of probes that stand on each other."""
        patches = [probe.patch for probe in probes]
        rebased = rebase(self._project, self._old, self._new, patches)
        carried = [rebased.judgements[name].patch for name in rebased.carried]
        tree = self._with([patch for patch in carried if patch])
        return [self._answer(probe, rebased.judgements, tree) for probe in probes]

    def _answer(self, probe: Probe, judged: Mapping[str, Judgement], tree: TreeId) -> Answer:
        report = judged[probe.name].report
        outcome = not_carried(probe, report)
        if (
            probe.below is not None
            and not_carried(probe.below, judged[probe.below.name].report) is None
        ):
            outcome = Outcome.LOWER_CARRIED
        elif outcome is None:
            patch = judged[probe.name].patch
            paths = patch.paths if patch else ()
            right = self._is_right(probe, tree, paths)
            outcome = Outcome.RIGHT if right else Outcome.ELSEWHERE
        return Answer(probe, report, outcome)

    def _with(self, patches: Sequence[Patch]) -> TreeId:
        base = self._project.lock.base(self._new)
        return self._stack.apply_all(base.tree, patches, onto=base.name)

    def _is_right(self, probe: Probe, tree: TreeId, paths: Sequence[str]) -> bool:
        if probe.right is not None:
            return self._objects.files(tree, paths) == self._objects.files(probe.right, paths)
        found = {path: self._objects.content(tree, path) or b"" for path in paths}
        return stands_right(probe, found)


def main() -> int:
    options = _options()
    fates = [Fate[name.upper()] for name in options.only] or list(Fate)
    with tempfile.TemporaryDirectory(prefix="patchq-fates-") as root:
        scratch = Scratch(Path(root), options.upstream, tuple(options.tags or TAGS))
        project = scratch.project()
        result = _judge(project, options, fates)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print("\n".join(_lines(result)))
    return 0 if result["passed"] else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", type=Path, required=True, help="a clone of the upstream")
    parser.add_argument("--tags", nargs="+", help="the tags in order (SGLang's, if not given)")
    parser.add_argument("--old", required=True, help="the tag the patches are cut for")
    parser.add_argument("--new", required=True, help="the tag they are judged on")
    parser.add_argument("--future", required=True, help="a commit past the new tag")
    parser.add_argument("--count", type=int, default=100, help="patches of each group")
    parser.add_argument("--commits", type=int, default=0, help="patches past both tags, if other")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[], choices=[f.name.lower() for f in Fate])
    parser.add_argument("--name", nargs="+", default=[], help="judge these patches only, and show")
    parser.add_argument("--no-series", action="store_true", help="each alone only")
    parser.add_argument("--plant", action="store_true", help="put each retirement to the proof")
    parser.add_argument("--renamed", type=Path, help="where the pairs of renamed functions go")
    parser.add_argument("--json", type=Path, help="where to write all answers")
    return parser.parse_args()


def _judge(project: Project, options: argparse.Namespace, fates: Sequence[Fate]) -> dict[str, Any]:
    span = upstream_range(project, options.old, options.new)
    bench = Bench(project, options.old, options.new)
    code = CodeProbes(span, options.seed)
    commits = CommitProbes(span, options.future, options.seed)
    stacker = Stacker(span)
    groups: dict[str, Any] = {}
    plantings: list[Planting] = []
    for fate in fates:
        if fate is Fate.FUTURE:
            probes = list(islice(commits.future(), options.commits or options.count))
        elif fate is Fate.STACKED:
            probes = list(islice(commits.stacked(), options.count))
        else:
            probes = code.probes(fate, options.count)
        if options.name:
            probes = [probe for probe in probes if probe.name in options.name]
        start = time.perf_counter()
        alone = bench.alone(probes[:PAIRS] if fate is Fate.STACKED else probes)
        seconds = time.perf_counter() - start
        for answer in alone if options.name else ():
            print(answer.probe.patch.raw.decode(errors="replace"), answer.report, sep="\n")
        both = {"alone": alone}
        if not options.no_series and not options.name:
            usable = disjoint(probes) if fate is Fate.FUTURE else probes
            count = options.count * (2 if fate is Fate.STACKED else 1)
            series = stacker.stack(usable, count)
            answers = bench.series(series)
            both["series"] = [a for a in answers if a.probe.below or fate is not Fate.STACKED]
        groups[fate.name.lower()] = {
            "seconds": round(seconds / max(len(alone), 1), 3),
            **{way: _group(answers) for way, answers in both.items()},
        }
        if options.plant:
            planter = Planter(project, options.old, options.new)
            plantings += planter.plant([a.probe for a in alone if a.outcome is Outcome.UNREACHABLE])
        print(f"{fate.name.lower()}: done", file=sys.stderr, flush=True)
    if options.renamed:
        options.renamed.write_text("\n".join(_pairs(code)) + "\n", encoding="utf-8")
    return {
        "old": options.old,
        "new": options.new,
        "groups": groups,
        "planted": _planted(plantings),
        "passed": not any(
            group[way]["unsafe"] for group in groups.values() for way in group if way != "seconds"
        )
        and not any(planting.lost for planting in plantings),
    }


def _group(answers: Sequence[Answer]) -> dict[str, Any]:
    plain = [answer for answer in answers if answer.probe.merges]
    silent = [a for a in answers if a.probe.merges is None and a.outcome is Outcome.ELSEWHERE]
    return {
        "patches": len(answers),
        "outcomes": dict(Counter(answer.outcome.value for answer in answers).most_common()),
        "wanted": sum(answer.wanted for answer in answers),
        "merges_rightly": len(plain),
        "false_alarms": [_story(a) for a in plain if a.outcome in (Outcome.NAMED, Outcome.REVIEW)],
        "wrong_as_plain_merge": [_story(answer) for answer in silent],
        "unsafe": [_story(a) for a in answers if not a.safe and a not in silent],
        "missed": [_story(answer) for answer in answers if answer.safe and not answer.wanted],
    }


def _story(answer: Answer) -> dict[str, Any]:
    report = answer.report
    return {
        "name": answer.probe.name,
        "made_of": answer.probe.made_of,
        "outcome": answer.outcome.value,
        "verdict": report.verdict.value,
        "evidence": [f"{e.kind.value}: {e.text}" for e in report.evidence],
    }


def _pairs(code: CodeProbes) -> Iterator[str]:
    for pair in code.renamed:
        yield f"?\t{pair.likeness:.2f}\t{pair.old}\t{pair.new}"


def _planted(plantings: Sequence[Planting]) -> dict[str, Any]:
    return {
        plant.value: {
            "judged": len(of_kind),
            "lost": [
                {"name": p.name, "made_of": p.made_of, "verdict": p.verdict.value, "about": p.about}
                for p in of_kind
                if p.lost
            ],
        }
        for plant in Plant
        if (of_kind := [planting for planting in plantings if planting.plant is plant])
    }


def _lines(result: dict[str, Any]) -> Iterator[str]:
    yield f"{result['old']} -> {result['new']}"
    for name, group in result["groups"].items():
        for way in ("alone", "series"):
            if way not in group:
                continue
            found = group[way]
            said = ", ".join(f"{n} {outcome}" for outcome, n in found["outcomes"].items())
            yield f"{name:10}{way:8}{found['wanted']:5} of {found['patches']:4} as wanted: {said}"
            if name == "future":
                alarms, right = len(found["false_alarms"]), found["merges_rightly"]
                yield f"{'':18}false alarms: {alarms} of {right} that plain merge carries rightly"
            for title in ("unsafe", "wrong_as_plain_merge", "missed"):
                for story in found[title]:
                    yield f"  {title}: {story['name']}: {story['verdict']}: {story['made_of']}"
        yield f"{'':10}{group['seconds']} s a patch alone"
    for plant, found in result["planted"].items():
        yield f"planted, {plant}: {len(found['lost'])} lost of {found['judged']}"
        for story in found["lost"]:
            yield f"  {story['name']}: {story['verdict']}: {story['made_of']}"
    yield "passed" if result["passed"] else "NOT passed"


if __name__ == "__main__":
    sys.exit(main())
