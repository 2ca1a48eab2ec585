"""One process or many, caches cold, kept or damaged: the report is the same."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from seriesbench import changed, lines
from workspaces import make_workspace, open_project

from patchq.engine.judge.judgement import Judgement
from patchq.engine.rebase import series_run
from patchq.engine.rebase.beside import share, shares
from patchq.engine.rebase.matrix.helpers import Helpers
from patchq.engine.rebase.rebase import judge_series
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream import open_own
from patchq.model.workspace import Workspace


@pytest.fixture
def workspace(patchq: CommandLine, tmp_path: Path) -> Workspace:
    done = patchq("demo", tmp_path / "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    root = tmp_path / "demo/workspace"
    assert patchq("rebase", "--abort", cwd=root).returncode == 0
    return Workspace(root)


def verdicts(workspace: Workspace) -> list[Path]:
    return sorted((workspace.cache_dir / "verdicts").rglob("*.json"))


def test_jobs_and_caches_change_no_report(patchq: CommandLine, workspace: Workspace) -> None:
    def report(*args: str) -> tuple[int, str]:
        done = patchq("report", "--all", "--format", "json", *args, cwd=workspace.root)
        return done.returncode, done.stdout

    shutil.rmtree(workspace.cache_dir)
    alone = report("--jobs", "1")
    assert '"verdict"' in alone[1]
    kept = {file: file.read_bytes() for file in verdicts(workspace)}
    assert kept
    assert report("--jobs", "1") == alone
    shutil.rmtree(workspace.cache_dir)
    assert report("--jobs", "3") == alone
    assert {file: file.read_bytes() for file in verdicts(workspace)} == kept
    for number, file in enumerate(kept):
        raw = bytearray(file.read_bytes())
        raw[len(raw) * (number % 7 + 1) // 9] ^= 1
        file.write_bytes(raw)
    assert report("--jobs", "3") == alone
    assert {file: file.read_bytes() for file in verdicts(workspace)} == kept


def test_a_helper_fills_the_kept_verdicts(workspace: Workspace) -> None:
    shutil.rmtree(workspace.cache_dir)
    store = open_own(workspace)
    project = Project(workspace, workspace.lock(), workspace.settings(), store)
    work = [("v1.0", "v1.1"), ("v1.1", "v1.2")]
    with Helpers(project, work, jobs=2, at_once=True) as helpers:
        helpers.take(work[0])
        helpers.take(work[1])  # which a helper began, and has done
    assert verdicts(workspace)


def test_no_helper_outlives_the_report(workspace: Workspace) -> None:
    project = Project(workspace, workspace.lock(), workspace.settings(), open_own(workspace))
    with Helpers(project, [("v1.0", "v1.1")], jobs=2, at_once=True) as helpers:
        helpers.start()
        (process,) = helpers._running.values()
    assert process.poll() is not None
    began = time.monotonic()
    with Helpers(project, [("v1.0", "v1.1")], jobs=2) as helpers:
        helpers.start()
    assert not helpers._running or time.monotonic() - began > 1


FILES = [f"dir{number % 3}/file{number:02}.txt" for number in range(20)]


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    return miniature()


@pytest.fixture
def long(upstream: Miniature) -> Workspace:
    """Forty patches on twenty files: two on each, and some that stand on others, or meet them."""
    texts = {name: lines(name, 60) for name in FILES}
    upstream.commit("Begin", {**texts, "moved/here.txt": lines("here")})
    upstream.tag("v1")
    patches: dict[str, bytes] = {}
    for number, name in enumerate(FILES):
        tied = {"X-Requires": f"{number - 7:02}-early.patch"} if number % 8 == 7 else None
        edit = {name: changed(texts[name], 10)}
        patches[f"{number:02}-early.patch"] = upstream.patch("v1", edit, trailers=tied)
    for number, name in enumerate(FILES):
        first = upstream.detached("v1", "early", {name: changed(texts[name], 10)})
        edit = {name: changed(texts[name], 10, 13 if number % 2 else 40)}
        patches[f"{number:02}-late.patch"] = upstream.patch(first, edit)
    upstream.commit("Take one", {FILES[0]: changed(texts[FILES[0]], 10)})
    upstream.commit("Take both", {FILES[1]: changed(texts[FILES[1]], 10, 13)})
    upstream.commit("Change it", {FILES[2]: changed(texts[FILES[2]], 10, to="other")})
    upstream.commit("Drop it", {FILES[3]: None})
    upstream.move(FILES[4], "moved/there.txt", "Move it")
    upstream.commit("Change it too", {FILES[5]: changed(texts[FILES[5]], 13, to="other")})
    upstream.tag("v2")
    return make_workspace(upstream, patches)


@pytest.mark.usefixtures("many")
def test_processes_for_one_series_change_no_report(upstream: Miniature, long: Workspace) -> None:
    def judged(jobs: int) -> tuple[dict[str, Judgement], dict[Path, bytes]]:
        rebased = judge_series(open_project(long, upstream), "v1", "v2", jobs=jobs)
        return dict(rebased.judgements), {file: file.read_bytes() for file in verdicts(long)}

    alone, kept = judged(1)
    assert len({each.report.verdict for each in alone.values()}) >= 4
    assert judged(3) == (alone, kept)
    shutil.rmtree(long.cache_dir)
    assert judged(3) == (alone, kept)
    for number, file in enumerate(kept):
        raw = bytearray(file.read_bytes())
        raw[len(raw) * (number % 7 + 1) // 9] ^= 1
        file.write_bytes(raw)
    assert judged(2) == (alone, kept)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The ids of all processes that were forked off; none is left at the end."""
    forked: list[int] = []
    fork = os.fork

    def counted() -> int:
        process = fork()
        if process:
            forked.append(process)
        return process

    monkeypatch.setattr(os, "fork", counted)
    yield forked
    assert forked
    for process in forked:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_what_a_process_does_not_come_to_is_found_here(
    monkeypatch: pytest.MonkeyPatch, upstream: Miniature, long: Workspace, many: list[int]
) -> None:
    alone = judge_series(open_project(long, upstream), "v1", "v2", jobs=1).judgements
    shutil.rmtree(long.cache_dir)
    here = os.getpid()
    judge_all = series_run.SeriesRun.judge_all

    def dying(run: series_run.SeriesRun, *args: object) -> object:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return judge_all(run, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(series_run.SeriesRun, "judge_all", dying)
    assert judge_series(open_project(long, upstream), "v1", "v2", jobs=3).judgements == alone
    assert len(many) == 2


def test_an_interrupt_leaves_no_process(upstream: Miniature, many: list[int]) -> None:
    upstream.commit("Begin", {"a": "a\n"})
    upstream.tag("v1")
    store = open_project(make_workspace(upstream, {}, bases=("v1",)), upstream).store
    here = os.getpid()

    def work(_number: int) -> None:
        if os.getpid() == here:
            raise KeyboardInterrupt
        time.sleep(60)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        share(store, work, 9, 3)
    assert time.monotonic() - began < 20
    assert len(many) == 2


def test_shares_hold_each_group_once_and_get_smaller() -> None:
    groups: dict[tuple[str, ...], int] = {
        ("a", "b", "c", "d"): 9,
        **{(str(number),): 1 for number in range(20)},
    }
    parts = shares(groups, 2)
    assert sorted(name for part in parts for name in part) == sorted(
        name for group in groups for name in group
    )
    assert parts[0] == {"a", "b", "c", "d"}
    sizes = [len(part) for part in parts[1:]]
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-1]) == (3, 1)
