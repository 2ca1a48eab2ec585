"""Patches that upstream took together, and that cannot be recognised one by one.

If one patch adds a file and a later one edits it, and upstream has the outcome of both, the
first alone collides. So a patch that needs review is tried together with those after it that
touch its files, one more at a time: their common change is a unit of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from patchq.engine.judge.case import Case, PlacedPatch
from patchq.engine.judge.judge import Judge
from patchq.engine.judge.judgement import Judgement
from patchq.git.apply import Applied
from patchq.git.mail import Mailer
from patchq.git.objects import Entry, Objects
from patchq.model.patch import Patch
from patchq.model.verdict import Action, HunkState, Verdict


class RunJudge:
    """Judges runs of patches between two bases."""

    def __init__(self, judge: Judge, mailer: Mailer, objects: Objects):
        self._judge = judge
        self._mailer = mailer
        self._objects = objects

    def settle(
        self, links: Mapping[str, PlacedPatch], judgements: Mapping[str, Judgement]
    ) -> dict[str, Judgement]:
        """``judgements``, with the patches of each run that landed as a whole as upstreamed."""
        settled = dict(judgements)

        @cache
        def never_there(name: str) -> frozenset[str]:
            return self._judge.never_there(links[name].patch, links[name].applied)

        for name in links:
            if settled[name].report.action is not Action.REVIEW:
                continue
            for run in self._runs(name, links):
                if any(settled[link.patch.name].stands for link in run):
                    break  # one of them was carried: it is not in upstream as it stands
                if _has_own_lines(run, never_there):
                    continue
                landed = self._landed(run)
                if landed is None:
                    continue
                settled.update(
                    (link.patch.name, _upstreamed(settled[link.patch.name], landed, run))
                    for link in run
                )
                break
        return settled

    def _runs(
        self, name: str, links: Mapping[str, PlacedPatch]
    ) -> Iterator[tuple[PlacedPatch, ...]]:
        """The runs that begin with ``name``, each one patch longer, of patches that share files."""
        names = list(links)
        run = [links[name]]
        paths = set(run[0].applied.paths)
        for later in names[names.index(name) + 1 :]:
            link = links[later]
            stacked = {member.patch.name for member in run} <= link.below
            if stacked and paths & set(link.applied.paths):
                run.append(link)
                paths |= set(link.applied.paths)
                yield tuple(run)

    def _landed(self, run: Sequence[PlacedPatch]) -> Judgement | None:
        before: dict[str, Entry | None] = {}
        after: dict[str, Entry | None] = {}
        for link in run:
            for path in link.applied.paths:
                before.setdefault(path, link.applied.before[path])
                after[path] = link.applied.after[path]
        tree = self._objects.tree_of
        diff = self._mailer.diff(tree(before), tree(after))
        if not diff:
            return None
        together = Patch(" + ".join(link.patch.name for link in run), diff)
        applied = Applied(run[-1].applied.tree, before, after)
        return self._judge.landed(Case(together, applied, run[0].ours))


def _has_own_lines(
    run: Sequence[PlacedPatch], never_there: Callable[[str], frozenset[str]]
) -> bool:
    """Whether the run adds lines that upstream never had, in a file that only one patch edits."""
    editors = Counter(path for link in run for path in link.applied.paths)
    return any(editors[path] == 1 for link in run for path in never_there(link.patch.name))


def _upstreamed(alone: Judgement, landed: Judgement, run: Sequence[PlacedPatch]) -> Judgement:
    names = ", ".join(link.patch.name for link in run)
    report = replace(
        alone.report,
        verdict=Verdict.UPSTREAMED,
        hunks=tuple(replace(hunk, state=HunkState.UPSTREAM) for hunk in alone.report.hunks),
        evidence=landed.report.evidence,
        notes=(*alone.report.notes, f"seen only together: {names}"),
        blocked_by=(),
    )
    return Judgement(report)
