"""JSON output holds only what every reader of JSON takes, whatever bytes a path is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from commandline import CommandLine
from miniature import MakeMiniature
from workspaces import make_workspace

from patchq.errors import Where
from patchq.model.ids import commit_id, tree_id
from patchq.model.series_diff import PatchDiff, PatchDifference, SeriesDiff
from patchq.model.status import RebaseStatus, Status
from patchq.model.verification import Failure, Section, Verification
from patchq.report.document import render_document
from patchq.report.jsonverification import render_json
from patchq.report.series_diff import render_series_diff_json
from patchq.report.statusview import render_status_json

PATH, SHOWN = "caf\udce9.c", "caf\\xe9.c"


@pytest.fixture(scope="module")
def patchq(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    return CommandLine(tmp_path_factory.mktemp("home"))


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def read(document: str) -> set[str]:
    assert document.isascii()
    assert document.endswith("\n")
    found = set(texts(json.loads(document)))
    for text in found:
        text.encode("utf-8")  # fails on a lone surrogate
    return found


def test_texts_are_readable_wherever_they_stand() -> None:
    found = read(render_document({"a": [{PATH: (PATH, 1, None)}], "größe": True}))
    assert found == {"a", SHOWN, "größe"}


def test_a_verification() -> None:
    section = Section("parse", PATH, (Failure(f"{PATH}: no", Where(PATH, 1), PATH),))
    verification = Verification(
        "v1", commit_id("0" * 40), (), (PATH,), tree_id("1" * 40), (section,)
    )
    assert {SHOWN, f"{SHOWN}: no"} <= read(render_json(verification))


def test_a_comparison_of_series() -> None:
    patch = PatchDiff(PATH, PatchDifference.GONE, reason=PATH)
    assert SHOWN in read(render_series_diff_json(SeriesDiff("v1", "v2", (patch,))))


def test_a_status() -> None:
    rebase = RebaseStatus("v1", "v2", "now", ((PATH, "skip"),), PATH, problem=PATH)
    status = Status("/w", PATH, None, (PATH,), (), (), rebase, None, None)
    assert SHOWN in read(render_status_json(status))


def test_the_command_line(patchq: CommandLine, miniature: MakeMiniature) -> None:
    upstream = miniature()
    upstream.commit("Start", {PATH: "one\n"})
    upstream.tag("v1")
    patches = {"a.patch": upstream.patch("v1", {PATH: "two\n"})}
    workspace = make_workspace(upstream, patches, bases=("v1",))
    done = patchq("show", "a.patch", "--json", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert SHOWN in read(done.stdout)
