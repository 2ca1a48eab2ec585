"""Modes that upstream did not take with the lines, and files too small to be known again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commandline import CommandLine
from miniature import Edits, Entry, MakeMiniature, Miniature, executable, symlink
from workspaces import make_workspace

SCRIPT = "#!/bin/sh\nset -e\nrun the first\nrun the second\n"
FIXED = f"{SCRIPT}run the fix\n"
MORE = f"{FIXED}run one more\n"
NEW = "#!/bin/sh\nset -u\nbuild all of it\ncheck all of it\n"
NEWER = f"{NEW}send all of it\n"

Step = Edits | tuple[str, str]
"""What a commit edits, or a file that it renames."""


def _report(
    patchq: CommandLine, upstream: Miniature, patches: list[Edits], steps: list[Step]
) -> list[dict[str, Any]]:
    """What the report says of patches on each other; each step is a commit by its number."""
    upstream.commit("Start", {"run.sh": SCRIPT, "app/main.py": "print(1)\n"})
    upstream.tag("v1")
    at, series = "v1", dict[str, bytes]()
    for number, edits in enumerate(patches, start=1):
        at = upstream.detached(at, f"Patch {number}", edits)
        series[f"p{number}.patch"] = upstream.format(at)
    for number, step in enumerate(steps, start=1):
        if isinstance(step, tuple):
            upstream.move(*step, str(number))
        else:
            upstream.commit(str(number), step)
    upstream.tag("v2")
    workspace = make_workspace(upstream, series)
    done = patchq("report", "v1", "--onto", "v2", "--format", "json", cwd=workspace.root)
    found: list[dict[str, Any]] = json.loads(done.stdout)["patches"]
    return found


def _evidence(patch: dict[str, Any]) -> list[tuple[str, str | None, str]]:
    return [(item["kind"], item["subject"], item["text"]) for item in patch["evidence"]]


def _is(path: str, found: str = "100644", wanted: str = "100755") -> str:
    return f"1 of 1 hunks landed here; {path} is {found} in v2, the patch makes it {wanted}"


def _again(path: str, found: str = "100644", wanted: str = "100755") -> str:
    return f"{path} is {found} again, the patch makes it {wanted}"


@pytest.mark.parametrize(
    ("edits", "steps", "expected"),
    [
        (
            {"n.sh": executable(NEW)},
            [{"n.sh": NEW}],
            [("merged", "1", _is("n.sh"))],
        ),
        (
            {"n.sh": executable(NEW)},
            [{"n.sh": NEW}, {"n.sh": NEWER}],
            [("merged", "1", _is("n.sh"))],
        ),
        (
            {"n.sh": executable(NEW)},
            [{"n.sh": NEW}, ("n.sh", "tools/n.sh")],
            [("merged", "1", _is("tools/n.sh")), ("path-moved", "2", "n.sh → tools/n.sh")],
        ),
        (
            {"n.sh": executable(NEW)},
            [{"n.sh": executable(NEW)}, {"n.sh": NEWER}],
            [("merged", "1", _is("n.sh")), ("undone", "2", _again("n.sh"))],
        ),
        (
            {"run.sh": executable(FIXED)},
            [{"run.sh": FIXED}, {"run.sh": MORE}],
            [("merged", "1", _is("run.sh"))],
        ),
        (
            {"run.sh": executable(FIXED)},
            [{"run.sh": executable(FIXED)}, {"run.sh": executable(MORE)}, {"run.sh": MORE}],
            [("merged", "1", _is("run.sh")), ("undone", "3", _again("run.sh"))],
        ),
    ],
    ids=[
        "added without",
        "added without and edited",
        "added without and moved",
        "added and taken back",
        "edited without",
        "edited and taken back",
    ],
)
def test_lines_that_landed_without_their_mode(
    patchq: CommandLine,
    miniature: MakeMiniature,
    edits: Edits,
    steps: list[Step],
    expected: list[tuple[str, str, str]],
) -> None:
    (patch,) = _report(patchq, miniature(), [edits], steps)
    assert patch["verdict"] == "superseded"
    assert _evidence(patch) == expected


@pytest.mark.parametrize(
    ("edits", "steps"),
    [
        ({"n.sh": executable(NEW)}, [{"n.sh": executable(NEW)}]),
        ({"n.sh": executable(NEW)}, [{"n.sh": executable(NEW)}, {"n.sh": executable(NEWER)}]),
        ({"n.sh": executable(NEW)}, [{"n.sh": NEW}, {"n.sh": executable(NEWER)}]),
        ({"run.sh": executable(FIXED)}, [{"run.sh": executable(FIXED)}]),
        ({"run.sh": executable(FIXED)}, [{"run.sh": executable(MORE)}]),
        ({"run.sh": FIXED}, [{"run.sh": FIXED}, {"run.sh": executable(MORE)}]),
        ({"to": symlink("run.sh")}, [{"to": symlink("run.sh")}]),
    ],
    ids=[
        "added",
        "added and edited",
        "added, and made so later",
        "edited",
        "edited and edited again",
        "a mode that the patch leaves alone",
        "a link",
    ],
)
def test_lines_that_landed_with_their_mode(
    patchq: CommandLine, miniature: MakeMiniature, edits: Edits, steps: list[Step]
) -> None:
    (patch,) = _report(patchq, miniature(), [edits], steps)
    assert patch["verdict"] == "upstreamed"
    texts = " ".join(text for _, _, text in _evidence(patch))
    assert not ("upstream edited" in texts and "no commit edited" in texts)


@pytest.mark.parametrize("steps", [[{"to": "run.sh"}], [{"to": symlink("run.sh")}, {"to": SCRIPT}]])
def test_a_link_that_is_a_file(
    patchq: CommandLine, miniature: MakeMiniature, steps: list[Step]
) -> None:
    (patch,) = _report(patchq, miniature(), [{"to": symlink("run.sh")}], steps)
    assert patch["verdict"] in ("conflict", "superseded")


@pytest.mark.parametrize(
    ("landed", "verdicts"),
    [(NEWER, {"conflict", "upstreamed"}), (executable(NEWER), {"upstreamed"})],
    ids=["without", "with"],
)
def test_the_mode_of_what_several_patches_made(
    patchq: CommandLine, miniature: MakeMiniature, landed: str | Entry, verdicts: set[str]
) -> None:
    """Upstream added at once what one patch adds and another edits."""
    patches: list[Edits] = [{"n.sh": executable(NEW)}, {"n.sh": executable(NEWER)}]
    first, second = _report(patchq, miniature(), patches, [{"n.sh": landed}])
    assert {first["verdict"], second["verdict"]} == verdicts
    assert first["verdict"] == ("conflict" if "conflict" in verdicts else "upstreamed")


@pytest.mark.parametrize("text", ["", "\n", "1.2.3\n"], ids=["empty", "a line break", "a number"])
@pytest.mark.parametrize("other", ["tests/__init__.py", ".nojekyll"])
def test_a_file_like_many_others_is_not_known_again(
    patchq: CommandLine, miniature: MakeMiniature, text: str, other: str
) -> None:
    path = "pkg/__init__.py"
    steps: list[Step] = [{path: text}, {path: None, other: text}]
    (patch,) = _report(patchq, miniature(), [{path: text}], steps)
    assert patch["verdict"] == "clean"
    assert "undone" in [kind for kind, _, _ in _evidence(patch)]


def test_where_a_landed_file_is_now(patchq: CommandLine, miniature: MakeMiniature) -> None:
    steps: list[Step] = [{"n.sh": NEW}, ("n.sh", "tools/n.sh")]
    (patch,) = _report(patchq, miniature(), [{"n.sh": NEW}], steps)
    assert patch["verdict"] == "upstreamed"
    assert _evidence(patch)[1:] == [
        ("edited-since", "1", "since then no commit edited n.sh (tools/n.sh now)"),
        ("mentioned-since", "1", "since then no commit changed lines of other files with `n`"),
        ("path-moved", "2", "n.sh → tools/n.sh"),
    ]


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"run.sh": None}, "since then no commit brought run.sh back"),
        ({"run.sh": None, "go.sh": SCRIPT}, "since then no commit edited go.sh"),
    ],
    ids=["deleted", "renamed"],
)
def test_a_file_that_the_patch_took_away(
    patchq: CommandLine, miniature: MakeMiniature, edits: Edits, said: str
) -> None:
    (patch,) = _report(patchq, miniature(), [edits], [edits])
    assert patch["verdict"] == "upstreamed"
    assert _evidence(patch)[1] == ("edited-since", "1", said)
