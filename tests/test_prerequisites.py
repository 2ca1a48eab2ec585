"""What a change needs that a tag lacks: the commits its lines stand on, and its names come from."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace, open_project

from patchq.engine.backport.missing_commits import Between
from patchq.engine.backport.missing_names import Names
from patchq.engine.backport.prerequisites import Found, PrerequisiteSearch, SearchOutcome
from patchq.engine.backport.upstream_change import ChangeReader
from patchq.model.ids import CommitId

LINES = "".join(f"line {number}\n" for number in range(1, 41))


def edited(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """Main with a package and a kernel; tag v1 off main, with a commit of its own."""
    made = miniature()
    made.commit(
        "Begin",
        {
            "notes.txt": LINES,
            "py/pkg/__init__.py": "",
            "py/pkg/tools.py": "def run(one):\n    return one\n",
            "py/pkg/app.py": "from pkg import tools\n\n\ndef main():\n    return tools.run(1)\n",
            "csrc/kernel.cu": "__global__ void copy(float *out) {\n  out[0] = 1.0f;\n}\n",
        },
    )
    made.branch("release")
    made.commit("Version 1", {"VERSION": "1\n"}, branch="release")
    made.tag("v1", at="release")
    return made


def find(
    upstream: Miniature,
    commit: CommitId,
    *,
    limit: int = 5,
    patches: Mapping[str, bytes] | None = None,
) -> Found:
    """What ``commit`` needs on v1 with ``patches``."""
    project = open_project(make_workspace(upstream, patches or {}, bases=("v1",)), upstream)
    changes = ChangeReader(project.store, project.settings)
    search = PrerequisiteSearch(project, project.lock.base("v1"), changes, Names(project))
    return search.find(changes.commit(commit), project.lock.base("v1").tree, limit)


def commits(found: Found) -> list[str | None]:
    return [one.change.commit for one in found.prerequisites]


def test_a_change_that_stands_on_nothing_new_applies(upstream: Miniature) -> None:
    upstream.commit("Elsewhere", {"notes.txt": edited(LINES, ("line 3\n", "third line\n"))})
    change = upstream.commit(
        "Change", {"notes.txt": edited(LINES, ("line 3\n", "third line\n"), ("line 30", "thirty"))}
    )
    found = find(upstream, change)
    assert found.outcome is SearchOutcome.APPLIES
    assert found.prerequisites == ()


def test_colliding_lines_name_the_commit_that_wrote_them_and_no_other(upstream: Miniature) -> None:
    one = edited(LINES, ("line 10\n", "tenth\n"))
    two = edited(one, ("line 30\n", "thirtieth\n"))
    writer = upstream.commit("Write it", {"notes.txt": one})
    upstream.commit("The same file, elsewhere", {"notes.txt": two})
    change = upstream.commit("Change it", {"notes.txt": edited(two, ("tenth", "10th"))})
    found = find(upstream, change)
    assert found.outcome is SearchOutcome.FOUND
    assert commits(found) == [writer]
    (reason,) = found.prerequisites[0].reasons
    assert reason.needed_by == change[:12]
    assert "hunk 1 of notes.txt" in reason.text
    (collision,) = found.collisions
    (clash,) = collision.clashes
    assert (clash.line, clash.ours, clash.theirs) == (10, (b"line 10",), (b"10th",))


def test_of_many_hunks_those_that_collide_are_told(upstream: Miniature) -> None:
    long = "".join(f"row {number}\n" for number in range(1, 401))
    upstream.commit("Long", {"long.txt": long}, branch="release")
    upstream.commit("Long", {"long.txt": long})
    upstream.tag("v1", at="release")
    written = edited(long, *((f"row {n}\n", f"written {n}\n") for n in (70, 210, 390)))
    writer = upstream.commit("Write it", {"long.txt": written})
    text = re.sub(r"(?m)^(\w+ \d*0)$", r"\1 changed", written)
    found = find(upstream, upstream.commit("Change all over", {"long.txt": text}))
    assert commits(found) == [writer]
    assert [one.unit.hunks for one in found.collisions] == [(7,), (21,), (39,)]


def test_lines_that_were_deleted_count_as_written(upstream: Miniature) -> None:
    shorter = edited(LINES, ("line 10\nline 11\n", ""))
    remover = upstream.commit("Remove", {"notes.txt": shorter})
    change = upstream.commit("Change", {"notes.txt": edited(shorter, ("line 9\n", "ninth\n"))})
    assert commits(find(upstream, change)) == [remover]


def test_a_prerequisite_brings_its_own_prerequisites_in_order(upstream: Miniature) -> None:
    first = edited(LINES, ("line 10\n", "tenth\n"))
    second = edited(first, ("tenth\n", "10th\n"), ("line 20\n", "twentieth\n"))
    one = upstream.commit("One", {"notes.txt": first})
    two = upstream.commit("Two", {"notes.txt": second})
    change = upstream.commit("Three", {"notes.txt": edited(second, ("twentieth", "20th"))})
    found = find(upstream, change)
    assert commits(found) == [one, two]
    assert found.prerequisites[0].needed_for() == (two[:12],)
    assert len(found.landings) == 3


def test_each_member_of_a_set_is_needed(upstream: Miniature) -> None:
    text = LINES
    for number in (5, 15, 25):
        text = edited(text, (f"line {number}\n", f"number {number}\n"))
        upstream.commit(f"Rewrite {number}", {"notes.txt": text})
    change = upstream.commit("Change", {"notes.txt": text.replace("number", "the number")})
    project = open_project(make_workspace(upstream, {}, bases=("v1",)), upstream)
    changes = ChangeReader(project.store, project.settings)
    base = project.lock.base("v1")
    search = PrerequisiteSearch(project, base, changes, Names(project))
    found = search.find(changes.commit(change), base.tree)
    members = [one.change.commit for one in found.prerequisites if one.change.commit]
    assert len(members) == 3
    assert search.needs(found.change, base.tree, members)
    for member in members:
        rest = [other for other in members if other != member]
        assert not search.needs(found.change, base.tree, rest)


def test_past_the_limit_it_says_so_and_stops(upstream: Miniature) -> None:
    text = LINES
    for number in (5, 15, 25):
        text = edited(text, (f"line {number}\n", f"number {number}\n"))
        upstream.commit(f"Rewrite {number}", {"notes.txt": text})
    change = upstream.commit("Change", {"notes.txt": text.replace("number", "the number")})
    found = find(upstream, change, limit=2)
    assert found.outcome is SearchOutcome.TOO_MANY
    assert found.landings == ()


def test_a_file_that_is_not_there_names_the_commit_that_added_it(upstream: Miniature) -> None:
    adder = upstream.commit("Add it", {"new.txt": LINES})
    upstream.commit("Something else", {"other.txt": "x\n"})
    change = upstream.commit("Edit it", {"new.txt": edited(LINES, ("line 4\n", "four\n"))})
    found = find(upstream, change)
    assert commits(found) == [adder]
    assert found.prerequisites[0].reasons[0].text == "added new.txt"


def test_what_the_tag_picked_already_is_not_asked_for(upstream: Miniature) -> None:
    one = edited(LINES, ("line 10\n", "tenth\n"))
    upstream.commit("Write it", {"notes.txt": one})
    upstream.commit("Pick it", {"notes.txt": one}, branch="release")
    upstream.tag("v1", at="release")
    change = upstream.commit("Change it", {"notes.txt": edited(one, ("tenth", "10th"))})
    assert find(upstream, change).outcome is SearchOutcome.APPLIES


def test_no_commit_helps_against_the_tags_own_lines(upstream: Miniature) -> None:
    own = edited(LINES, ("line 10\n", "ten, as the release has it\n"))
    upstream.commit("Only here", {"notes.txt": own}, branch="release")
    upstream.tag("v1", at="release")
    change = upstream.commit("Change it", {"notes.txt": edited(LINES, ("line 10", "tenth"))})
    found = find(upstream, change)
    assert found.outcome is SearchOutcome.BY_HAND
    assert found.prerequisites == ()


APP = """\
from pkg import tools


def main():
    return tools.run(1)
"""


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        pytest.param(
            {"py/pkg/fresh.py": "def helper():\n    return 1\n"},
            {"py/pkg/app.py": "from pkg.fresh import helper\n" + APP},
            "pkg.fresh.helper",
            id="module",
        ),
        pytest.param(
            {"py/pkg/tools.py": "def run(one):\n    return one\n\n\ndef walk():\n    return 2\n"},
            {"py/pkg/app.py": edited(APP, ("return tools.run(1)", "return tools.walk()"))},
            "pkg.tools.walk",
            id="attribute",
        ),
        pytest.param(
            {"py/pkg/tools.py": "def run(one, two=0):\n    return one + two\n"},
            {"py/pkg/app.py": edited(APP, ("tools.run(1)", "tools.run(1, two=2)"))},
            "run(two=)",
            id="parameter",
        ),
        pytest.param(
            {"py/pkg/tools.py": "def run(one):\n    return one\n\n\nclass State:\n    depth = 1\n"},
            {"py/pkg/app.py": edited(APP, ("def main():", "def main(state):\n    state.depth"))},
            "depth",
            id="member-of-a-value",
        ),
        pytest.param(
            {"csrc/util.cuh": "inline float twice(float x) { return 2 * x; }\n"},
            {"csrc/kernel.cu": "__global__ void copy(float *out) {\n  out[0] = twice(1.0f);\n}\n"},
            "twice",
            id="cuda",
        ),
    ],
)
def test_a_name_that_is_missing_names_the_commit_that_brought_it(
    upstream: Miniature, before: Mapping[str, str], after: Mapping[str, str], name: str
) -> None:
    upstream.commit("Before it", {"notes.txt": "other\n"})
    bringer = upstream.commit("Bring a name", before)
    upstream.commit("After it", {"notes.txt": "more\n"})
    change = upstream.commit("Use the name", after)
    found = find(upstream, change)
    assert found.collisions == ()
    assert [missing.name for missing in found.missing] == [name]
    assert found.outcome is SearchOutcome.FOUND
    assert commits(found) == [bringer]
    assert found.prerequisites[0].reasons[0].text.startswith(f"brings {name} ")


def test_a_name_of_the_same_file_counts_where_a_change_does_not_bring_it(
    upstream: Miniature,
) -> None:
    helped = APP.replace("def main", "def helper():\n    return 3\n\n\ndef main")
    with_space = helped + "".join(f"\n\ndef other_{number}():\n    pass\n" for number in range(9))
    upstream.commit("Space", {"py/pkg/app.py": APP + with_space[len(helped) :]})
    bringer = upstream.commit("Helper", {"py/pkg/app.py": with_space})
    change = upstream.commit(
        "Use it", {"py/pkg/app.py": edited(with_space, ("other_7():\n    pass", "o7(): helper()"))}
    )
    assert bringer in commits(find(upstream, change))


def test_names_that_no_tree_knows_are_no_reason(upstream: Miniature) -> None:
    change = upstream.commit(
        "Use what comes from outside",
        {
            "py/pkg/app.py": "import torch\n"
            + edited(APP, ("tools.run(1)", "torch.fresh_call(k=1)"))
        },
    )
    assert find(upstream, change).outcome is SearchOutcome.APPLIES


def test_writers_are_those_of_the_lines_asked_for(upstream: Miniature) -> None:
    one = edited(LINES, ("line 10\n", "tenth\nand more\n"))
    first = upstream.commit("Insert", {"notes.txt": one})
    second = upstream.commit("Above", {"notes.txt": "top\n" + one})
    project = open_project(make_workspace(upstream, {}, bases=("v1",)), upstream)
    between = Between(project.store, upstream.commit_id("v1"), second)
    # after both, "tenth" and "and more" are lines 10 and 11, counted from 0
    assert between.writers("notes.txt", 10, 12, None) == (first,)
    assert between.writers("notes.txt", 0, 1, None) == (second,)
    assert between.writers("notes.txt", 20, 22, None) == ()
    assert between.writers("notes.txt", 10, 12, first) == ()
