"""Backport real commits of upstream's main onto an older tag, beside what git offers for it.

Measured are the share of commits that apply alone, the share that applies with the prerequisites
found, the size of those sets and the time; for a sample of the sets, each member is left out to
see that nothing less would do. `git cherry-pick` runs on the same commits in a sparse checkout of
its own, and git-deps, where it is installed, names what it would take along.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scratch import Scratch

from patchq.engine.backport.missing_names import Names
from patchq.engine.backport.prerequisites import Found, PrerequisiteSearch, SearchOutcome
from patchq.engine.backport.upstream_change import ChangeReader, UpstreamChange
from patchq.git.history import History
from patchq.model.ids import CommitId, TreeId

_GIT_DEPS = "git-deps"
_PATIENCE = 60


@dataclass(frozen=True)
class Row:
    """One commit: what became of it here, and with git's own means (None: not asked)."""

    found: Found
    seconds: float
    picked: bool
    pick_seconds: float
    dependencies: int | None


@dataclass
class Picker:
    """A checkout of nothing but the top directory, in which git cherry-pick is run."""

    root: Path
    upstream: Path
    tag: str
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "bench",
            "GIT_AUTHOR_EMAIL": "bench@localhost",
            "GIT_COMMITTER_NAME": "bench",
            "GIT_COMMITTER_EMAIL": "bench@localhost",
        }
        self.root.mkdir(parents=True)
        self._git("init", "--quiet", ".")
        alternates = self.root / ".git/objects/info/alternates"
        alternates.write_text(f"{self.upstream.resolve()}/objects\n")
        self._git("config", "merge.renameLimit", "0")
        self._git("sparse-checkout", "set", "--no-cone", "/none/")
        self._git("checkout", "--quiet", "--detach", self.tag)

    def picks(self, commit: str) -> tuple[bool, float]:
        """Whether `git cherry-pick` puts the commit on the tag, and in how many seconds."""
        start = time.perf_counter()
        status = self._run("cherry-pick", "--no-commit", commit).returncode
        seconds = time.perf_counter() - start
        self._git("reset", "--quiet", "--hard")
        return status == 0, seconds

    def dependencies(self, commit: str) -> int | None:
        """How many commits git-deps names back to the tag; None where it fails or takes long."""
        command = [_GIT_DEPS, "--recurse", "--exclude-commits", self.tag, f"{commit}^!"]
        try:
            done = subprocess.run(
                command,
                cwd=self.root,
                env=self.environment,
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        named = set(done.stdout.decode().split()) - {commit}
        return None if done.returncode else len(named)

    def _run(self, *args: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *args], cwd=self.root, env=self.environment, capture_output=True, check=False
        )

    def _git(self, *args: str) -> None:
        done = self._run(*args)
        if done.returncode:
            raise SystemExit(f"git {' '.join(args)}: {done.stderr.decode(errors='replace')}")


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="patchq-bench-") as scratch:
        project = Scratch(Path(scratch, "workspace"), options.upstream).project()
        store, base = project.store, project.lock.base(options.onto)
        changes = ChangeReader(store, project.settings, options.exclude)
        search = PrerequisiteSearch(project, base, changes, Names(project))
        picker = Picker(Path(scratch, "pick"), options.upstream, base.commit)
        commits = History(store.git).between(options.after, options.main)
        chosen = _spread(changes, commits, options.count)
        rows: list[Row] = []
        for number, change in enumerate(chosen, 1):
            start = time.perf_counter()
            found = search.find(change, base.tree, options.limit)
            seconds = time.perf_counter() - start
            if found.outcome is SearchOutcome.EMPTY:
                continue
            commit = change.commit or ""
            picked, pick_seconds = picker.picks(commit)
            asked = found.outcome is SearchOutcome.FOUND and shutil.which(_GIT_DEPS)
            named = picker.dependencies(commit) if asked else None
            rows.append(Row(found, seconds, picked, pick_seconds, named))
            size = len(found.prerequisites)
            print(
                f"{number:4} {change.title:14} {found.outcome.value:9} {size:3} {seconds:6.1f} s  "
                f"cherry-pick {'applies' if picked else 'conflicts'}",
                file=sys.stderr,
            )
        print("\n".join(_summary(rows, options.limit)))
        sets = [row.found for row in rows if row.found.outcome is SearchOutcome.FOUND]
        sample = sets[:: max(1, len(sets) // options.sample)][: options.sample]
        spare = sum(_spare(search, found, base.tree) for found in sample)
        members = sum(len(found.prerequisites) for found in sample)
        print(f"| left out one by one | {len(sample)} sets, {members} commits: {spare} to spare |")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--upstream", type=Path, required=True, help="a clone with its tags")
    parser.add_argument("--onto", default="v0.5.17")
    parser.add_argument("--after", default="34af3ff38655", help="where the tag left main")
    parser.add_argument("--main", default="d315eb725044")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--limit", type=int, default=5)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--exclude", action="append", default=[], help="as for patchq backport")
    return parser.parse_args()


def _spread(
    changes: ChangeReader, commits: Sequence[CommitId], count: int
) -> Iterator[UpstreamChange]:
    """About ``count`` commits, evenly spread, that leave something to backport."""
    step = max(1.0, len(commits) / count)
    places = (int(number * step) for number in range(min(count, len(commits))))
    for place in places:
        for oid in commits[place : place + max(1, int(step))]:
            change = changes.commit(oid)
            if change.after:
                yield change
                break


def _spare(search: PrerequisiteSearch, found: Found, tree: TreeId) -> int:
    """How many members of a set it does without."""
    commits = [one.change.commit for one in found.prerequisites if one.change.commit]
    return sum(
        search.needs(found.change, tree, [other for other in commits if other != commit])
        for commit in commits
    )


def _summary(rows: Sequence[Row], limit: int) -> Iterator[str]:
    def share(number: int) -> str:
        return f"{number} of {len(rows)} ({100 * number / max(1, len(rows)):.0f} %)"

    alone = [row for row in rows if row.found.outcome is SearchOutcome.APPLIES]
    found = [row for row in rows if row.found.outcome is SearchOutcome.FOUND]
    clean = [row for row in rows if not row.found.collisions]
    sizes = [len(row.found.prerequisites) for row in found]
    seconds = [row.seconds for row in rows]
    named = [row.dependencies for row in found if row.dependencies is not None]
    yield f"| commits | {len(rows)} |"
    yield "|---|---|"
    yield f"| merges alone | {share(len(clean))} |"
    yield f"| merges alone, all names there | {share(len(alone))} |"
    yield f"| comes with at most {limit} prerequisites | {share(len(found))} |"
    for outcome in (SearchOutcome.TOO_MANY, SearchOutcome.BY_HAND):
        number = sum(row.found.outcome is outcome for row in rows)
        yield f"| {outcome.value} | {share(number)} |"
    yield f"| size of the set, median (largest) | {_median(sizes)} ({max(sizes, default=0)}) |"
    yield f"| seconds a commit, median (90 %) | {_median(seconds)} ({_ninth(seconds)}) |"
    yield f"| git cherry-pick applies | {share(sum(row.picked for row in rows))} |"
    yield f"| … with a name missing | {share(sum(_is_hollow(row) for row in rows))} |"
    yield f"| … seconds, median | {_median([row.pick_seconds for row in rows])} |"
    if named:
        yield f"| git-deps, where we found a set: size, median | {_median(named)} ({len(named)}) |"
    else:
        yield "| git-deps | not installed |"


def _is_hollow(row: Row) -> bool:
    """Whether cherry-pick applies what uses names that the tag does not have."""
    return row.picked and bool(row.found.missing)


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3g}" if values else "–"


def _ninth(values: Sequence[float]) -> str:
    return f"{statistics.quantiles(values, n=10)[-1]:.3g}" if len(values) > 1 else "–"


if __name__ == "__main__":
    main()
