"""How long a rebase takes: a small series and long ones, beside ``git rebase --onto``.

The long series are made of real upstream commits, cut for the old tag one on top of the other: of
commits past the new tag (none has landed), and of those between the tags as well. The last one is
made of probes in functions that upstream removed: each has to be looked for everywhere.

Wall time says little on a machine that others use too: the processor time, ours and that of git, is
told beside it.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from code_groups import CodeProbes
from commit_groups import Stacker
from probe import Fate
from scratch import Scratch, rebase

from patchq.engine.rebase.rebase import Rebased
from patchq.engine.series.stack import Stack
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange, upstream_range
from patchq.git.history import CommitInfo, History
from patchq.git.mail import Mailer
from patchq.model.ids import TreeId, commit_id
from patchq.model.patch import Patch, read_patch

_WHO = "benchmark <benchmark@localhost> 0 +0000"

_started: Counter[str] = Counter()


def _count_processes(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen":
        words = [str(word) for word in cast("Sequence[object]", arguments[1])]
        while words[1:2] == ["-c"]:
            del words[1:3]
        _started[next((w for w in words[1:] if not w.startswith("-")), words[0])] += 1


@dataclass(frozen=True)
class Measured:
    """One run: its result, and what it cost."""

    rebased: Rebased
    cost: Cost
    processes: Counter[str]


@dataclass(frozen=True)
class Cost:
    """Seconds: on the wall, of the processor in this process, and in those that it started: git,
    and the other processes of patchq."""

    wall: float
    own: float
    started: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.wall - other.wall, self.own - other.own, self.started - other.started)

    def __str__(self) -> str:
        return (
            f"{self.wall:.2f} s ({self.own:.2f} s of processor here and {self.started:.2f} s in "
            "what it started)"
        )


def _spent() -> Cost:
    own, started = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return Cost(
        time.perf_counter(),
        own.ru_utime + own.ru_stime,
        started.ru_utime + started.ru_stime,
    )


def main() -> int:
    options = _options()
    sys.addaudithook(_count_processes)
    with _room(options.tmpfs) as root:
        scratch = Scratch(root / "workspace", options.upstream)
        project = scratch.project()
        span = upstream_range(project, options.old, options.new)
        small = [read_patch(path.name, path.read_bytes()) for path in _files(options.series)]
        kinds: dict[str, Callable[[], Sequence[Patch]]] = {
            f"the patches of {options.series.name}": lambda: small,
            f"{options.count} patches, none landed": lambda: _long_series(
                span, options, between=False
            ),
            f"{options.count} patches": lambda: _long_series(span, options, between=True),
            f"{options.gone} patches whose code is gone": lambda: _gone_series(span, options),
        }
        for number, (name, make) in enumerate(kinds.items(), start=1):
            if options.only and number not in options.only:
                continue
            series = make()
            print(f"{name}, {options.old} → {options.new}")
            _measure(root, options, series)
            if not options.no_git:
                _measure_git(root, project, options, series)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", type=Path, required=True, help="a clone of the upstream")
    parser.add_argument("--series", type=Path, required=True, help="a series directory of --old")
    parser.add_argument("--old", default="v0.5.16")
    parser.add_argument("--new", default="v0.5.17")
    parser.add_argument("--future", default="d315eb725044", help="a commit of main past --new")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--gone", type=int, default=100, help="patches whose code is gone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tmpfs", type=Path, help="where to work, for instance /dev/shm")
    parser.add_argument("--only", type=int, nargs="+", help="which of the four series")
    parser.add_argument("--jobs", type=int, help="how many processes judge, without git's")
    parser.add_argument("--no-git", action="store_true", help="leave git rebase out")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    return parser.parse_args()


def _gone_series(span: UpstreamRange, options: argparse.Namespace) -> list[Patch]:
    probes = CodeProbes(span, options.seed).probes(Fate.REMOVED, options.gone)
    return [probe.patch for probe in Stacker(span).stack(probes, options.gone)]


@contextmanager
def _room(tmpfs: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="patchq-speed-", dir=tmpfs) as root:
        yield Path(root)


def _files(series: Path) -> list[Path]:
    listed = series / "series"
    if not listed.exists():
        return sorted(series.glob("*.patch"))
    lines = [line.split("#")[0].split() for line in listed.read_text().splitlines()]
    return [series / words[0] for words in lines if words]


# -- patchq ------------------------------------------------------------------------------------


def _measure(root: Path, options: argparse.Namespace, series: Sequence[Patch]) -> None:
    with tempfile.TemporaryDirectory(dir=root) as workspace:
        scratch = Scratch(Path(workspace), options.upstream)
        for name in ("first time", "again, caches kept"):
            project = scratch.project()
            profile = cProfile.Profile()
            if options.profile:
                profile.enable()
            measured = _timed(project, options, series)
            profile.disable()
            verdicts = Counter(report.verdict.value for report in measured.rebased.report.patches)
            words = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
            kinds = ", ".join(f"{count} {kind}" for kind, count in measured.processes.most_common())
            total = measured.processes.total()
            print(f"  patchq, {name}: {measured.cost}, {total} processes ({kinds})")
            print(f"    {words}")
            if options.profile:
                pstats.Stats(profile).sort_stats("cumulative").print_stats(15)


def _timed(project: Project, options: argparse.Namespace, series: Sequence[Patch]) -> Measured:
    _started.clear()
    before = _spent()
    rebased = rebase(project, options.old, options.new, series, options.jobs)
    project.store.objects.reopen()  # what it read with is counted once it has ended
    return Measured(rebased, _spent() - before, Counter(_started))


def _long_series(span: UpstreamRange, options: argparse.Namespace, *, between: bool) -> list[Patch]:
    """Commits that did not land by the new tag, with ``between`` those that did too, each on top
    of the last."""
    history = History(span.store.git)
    commits = [
        *(history.subjects(span.old.commit, span.new.commit) if between else ()),
        *history.subjects(span.new.commit, span.store.resolve(options.future) or options.future),
    ]
    random.Random(options.seed).shuffle(commits)
    mailer = Mailer(span.store.git, span.store.objects)
    tree, series = span.old.tree, list[Patch]()
    for commit in commits:
        if len(series) == options.count:
            break
        merged = _on_top(span, tree, commit)
        if merged is not None:
            name = f"{len(series) + 1:03}-{commit.oid[:9]}.patch"
            series.append(Patch(name, mailer.diff(tree, merged)))
            tree = merged
    return series


def _on_top(span: UpstreamRange, tree: TreeId, commit: CommitInfo) -> TreeId | None:
    if len(commit.parents) != 1:
        return None
    base, _ = span.store.describe(commit.parents[0])
    merged = span.store.merger.merge(base, tree, commit.tree)
    return merged.tree if merged.clean and merged.tree != tree else None


# -- git rebase --------------------------------------------------------------------------------


def _measure_git(
    root: Path, project: Project, options: argparse.Namespace, series: Sequence[Patch]
) -> None:
    """In a worktree that is there already; a patch that conflicts is skipped and counted."""
    store = project.store
    topic = project.lock.base(options.old).commit
    tree = project.lock.base(options.old).tree
    for patch in series:
        tree = Stack(store).apply(tree, patch, onto=options.old).tree
        text = f"tree {tree}\nparent {topic}\nauthor {_WHO}\ncommitter {_WHO}\n\n{patch.name}\n"
        topic = commit_id(store.objects.write("commit", text.encode()))
    if store.git.held is not None:
        store.git.held.flush()  # for a git that is not ours
    for name, setting in (("git's default", "conflict"), ("directory renames on", "true")):
        with tempfile.TemporaryDirectory(dir=root) as worktree:
            git = _Git(Path(worktree), Path(store.git.environment["GIT_OBJECT_DIRECTORY"]))
            start = _spent()
            git.run("checkout", "--quiet", "--detach", topic)
            checked_out = _spent()
            stops = git.rebase(
                f"merge.directoryRenames={setting}",
                project.lock.base(options.new).commit,
                project.lock.base(options.old).commit,
            )
            done = _spent()
        print(
            f"  git rebase --onto, {name}: {done - checked_out}, {stops} stops for a "
            f"conflict; {checked_out - start} before that for the worktree"
        )


class _Git:
    """git as a user has it, in a new repository that borrows all objects."""

    def __init__(self, worktree: Path, objects: Path):
        self._worktree = worktree
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._environment = kept | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_EDITOR": "true",
            **{f"GIT_{who}_NAME": "benchmark" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "benchmark@localhost" for who in ("AUTHOR", "COMMITTER")},
        }
        self.run("init", "--quiet")
        (worktree / ".git/objects/info/alternates").write_text(f"{objects}\n")

    def run(self, *args: str) -> None:
        subprocess.run(["git", *args], cwd=self._worktree, env=self._environment, check=True)

    def rebase(self, setting: str, onto: str, old: str) -> int:
        """How often it stopped."""
        stops = 0
        step = ["--onto", onto, old]
        while True:
            result = subprocess.run(
                ["git", "-c", setting, "rebase", *step],
                cwd=self._worktree,
                env=self._environment,
                capture_output=True,
                check=False,
            )
            if result.returncode == 0:
                return stops
            if not (self._worktree / ".git/rebase-merge").exists():
                raise RuntimeError(result.stderr.decode(errors="replace"))
            stops += 1
            step = ["--skip"]


if __name__ == "__main__":
    sys.exit(main())
