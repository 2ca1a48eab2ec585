"""What a new tag asks for: names, gates, claims, mentions, live bases, one work list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import add_series, make_workspace

from patchq.engine.judge.watch import mentioned
from patchq.engine.languages.conditions import (
    Condition,
    Value,
    admits,
    python_conditions,
)
from patchq.engine.languages.macro_conditions import macro_conditions
from patchq.engine.workspace.tags import newer_tags
from patchq.errors import InputError
from patchq.model.ids import commit_id, tree_id
from patchq.model.lock import Base, Lock
from patchq.model.workspace import Workspace

HELPERS: dict[str, Value] = {"is_a": False, "is_b": True, "level": 121, "capability": (12, 1)}

CAPS = "def is_a():\n    return False\n\n\ndef is_b():\n    return False\n"
OPS = """\
import os
from pkg.caps import is_a

FAST = os.environ.get("PKG_FAST_PATH")


def resolve():
    if not is_a():
        return None
    return "fast"


def plan(x):
    return x + 1
"""
OPS_2 = """\
from pkg.caps import is_a, is_b


def resolve():
    if not (is_a() or is_b()):
        return None
    return "fast"


def plan(x):
    if is_a() and x.big:
        return x
    return x + 1
"""
SETTINGS = """\
version: 1
watch: [GB10]
gates:
  small:
    helpers: {is_a: false, is_b: true}
uses:
  - files: [roles/*.yml]
    words: ['PKG_\\w+', 'pkg(?:\\.\\w+)+']
    defined: [/pkg/]
    modules: {pkg: pkg}
claims:
  - claim: widening resolve corrupts on small
    when: [gate pkg/ops.py resolve small admits]
    section: can corrupt silently
live:
  v1: rollback
"""


# conditions


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("is_a()", False),
        ("not is_a()", True),
        ("is_a() or is_b()", True),
        ("is_a() and other", False),
        ("is_b() and other", None),
        ("is_b() or other", True),
        ("is_a() or other", None),
        ("caps.is_b()", True),
        ("level() >= 100", True),
        ("level() in (100, 103)", False),
        ("capability() >= (9, 0)", True),
        ("capability()[0] == 10", False),
        ("capability()[0] * 10 + capability()[1] == 121", True),
        ("capability(0) != (12, 1)", False),
        ("9 <= capability()[0] < 12", False),
        ("is_b() if is_a() else is_b()", True),
        ("level() > unknown", None),
        ("capability()[7] == 1", None),
    ],
)
def test_a_condition_in_python(text: str, answer: bool | None) -> None:
    source = f"if {text}:\n    pass\n"
    (found,) = [c for c in python_conditions(source.encode(), HELPERS) if c.line == 1][:1]
    assert found.answer is answer


def test_where_conditions_stand() -> None:
    source = b"""\
_HAS = is_a() or other()
_B = is_b()
plain = is_b()


class Layer:
    def forward(self, x):
        if _HAS:
            return x
        return x if _B else None

    def other(self, _B):
        if _B:
            return 1


def use(items):
    assert is_b(), "no"
    while not is_a():
        pass
    flag = not is_b()
    return [i for i in items if is_a()] + call(is_a() and flag)


if plain:
    pass
"""
    found = [(c.function, c.text, c.answer) for c in python_conditions(source, HELPERS)]
    assert found == [
        ("", "is_a() or other()", None),
        ("Layer.forward", "_HAS", None),
        ("Layer.forward", "_B", True),
        ("use", "is_b()", True),
        ("use", "not is_a()", True),
        ("use", "not is_b()", False),
        ("use", "is_a()", False),
        ("use", "is_a() and flag", False),
        ("", "plain", True),
    ]


def test_a_name_bound_twice_or_by_an_argument_is_unknown() -> None:
    source = (
        b"x = is_a()\nx = 3\nif x:\n    pass\n\n\ndef f(is_small=is_b()):\n    return is_small\n"
    )
    assert python_conditions(source, HELPERS) == ()


@pytest.mark.parametrize("source", [b"if (:\n", b"\0", b"(" * 9000])
def test_what_is_no_python_has_no_conditions(source: bytes) -> None:
    assert python_conditions(source, HELPERS) == ()


def test_what_a_function_of_the_module_only_returns_is_followed() -> None:
    source = b"""
LIMIT = capability()[0]


def _new(LIMIT=0):
    "Whether it is new."
    return capability(LIMIT).major == 12 and here.is_there()


def _other(limit):
    return limit == capability()


def use(x):
    if _new():
        return 1
    if _other(x) or LIMIT > 11:
        return 2
    if tuple(capability(x)) == (9, 0) or capability().to_int() < 90 or is_there():
        return 3
"""
    found = python_conditions(source, HELPERS, {"here.is_there": True})
    assert [(c.text, c.answer) for c in found if c.function == "use"] == [
        ("_new()", True),
        ("_other(x) or LIMIT > 11", True),
        ("tuple(capability(x)) == (9, 0) or capability().to_int() < 90 or is_there()", None),
    ]


def test_what_is_known_makes_no_gate_but_decides_one() -> None:
    source = b"if is_cuda():\n    pass\nif is_a() or is_cuda():\n    pass\n"
    found = python_conditions(source, HELPERS, {"is_cuda": True})
    assert [(c.line, c.answer) for c in found] == [(3, True)]


def test_an_imported_name_with_a_value() -> None:
    source = b"from there import level, other\n\n\ndef f(x, other):\n"
    source += b"    if level > 100 or x:\n        g()\n"
    source += b"    if other:\n        g()\n\n\ndef g(level):\n    if level:\n        g()\n"
    found = python_conditions(source, {"level": 121, "other": True})
    assert [(c.line, c.answer) for c in found] == [(5, True)]


def test_what_admits() -> None:
    def of(*rows: tuple[bool | None, bool]) -> bool | None:
        conditions = [Condition("C.f", 1, "", answer, leaves) for answer, leaves in rows]
        return admits(conditions, "f")

    assert of((True, True)) is False
    assert of((False, True)) is True
    assert of((False, True), (None, False)) is None
    assert of((True, True), (None, False)) is False
    assert of() is True


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("#if __CUDA_ARCH__ >= 1200", True),
        ("#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000", False),
        ("#if !defined(__CUDA_ARCH__) || OTHER", None),
        ("#ifdef __CUDA_ARCH__", True),
        ("#ifndef __CUDA_ARCH__", False),
        ("#  elif (__CUDA_ARCH__ == 1210UL) // ours", True),
        ("#if defined(OTHER) && __CUDA_ARCH__ < 900", False),
        ("#if __CUDA_ARCH__ >= 900 \\\n  && __CUDA_ARCH__ < 2000", True),
        ("#if __CUDA_ARCH__ >=", None),
    ],
)
def test_a_condition_of_the_preprocessor(line: str, answer: bool | None) -> None:
    (found,) = macro_conditions(f"int a;\n{line}\n#endif\n".encode(), {"__CUDA_ARCH__": 1210})
    assert (found.line, found.answer) == (2, answer)
    assert macro_conditions(b"#if OTHER\n#endif\n", {"__CUDA_ARCH__": 1210}) == ()


# tags


def _lock(*names: str) -> Lock:
    return Lock(
        "u",
        tuple(Base(name, commit_id("0" * 40), tree_id("0" * 40), "2026-01-01") for name in names),
    )


@pytest.mark.parametrize(
    ("word", "said", "other"),
    [
        ("SM121", "MoE for sm_121", "sm_1210, is_sm121 and SM_121a"),
        ("DGX Spark", "feat(dgx-spark): x", "the DGX sparks"),
        ("SM12x", "SM 12x and sm12X", "SM120"),
        ("_resolve", "see _resolve()", "see -resolve"),
        ("a.b", "A.B", "axb"),
    ],
)
def test_a_watched_word(word: str, said: str, other: str) -> None:
    assert mentioned([word], said) == [word]
    assert mentioned([word], other) == []


def test_newer_tags() -> None:
    tags = ["v1.2", "v1.10", "v1.10rc1", "v1.9.post1", "nightly", "gateway-v9", "v2.0rc1", "v1.3"]
    assert newer_tags(_lock("v1.2", "main-ahead", "v1.3"), tags) == ("v1.9.post1", "v1.10")
    assert newer_tags(_lock("v1.9"), tags, pre=True)[-1] == "v2.0rc1"
    assert newer_tags(_lock("v3"), tags) == ()
    assert newer_tags(_lock("3.6b"), ["3.6a", "3.7c", "3.7", "3.7a", "3.8-rc"])[-2:] == (
        "3.7a",
        "3.7c",
    )
    assert newer_tags(_lock("X_1_1_0l"), ["X_1_1_0", "X_1_1_1", "X_1_0_2z"]) == ("X_1_1_1",)
    with pytest.raises(InputError, match="no base"):
        newer_tags(_lock("main-ahead"), tags)


# the commands


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    lines = "".join(f"line {number}\n" for number in range(20))
    made.commit("Begin", {"pkg/caps.py": CAPS, "pkg/ops.py": OPS, "pkg/a.txt": lines})
    made.commit("Add a module", {"pkg/old/__init__.py": "", "pkg/old/thing.py": "def f(): ...\n"})
    made.tag("v1")
    made.commit("Tune for GB10 (#5)", {"pkg/b.txt": "b\n"})
    made.commit("Widen the gate (#6)", {"pkg/ops.py": OPS_2})
    made.commit("Remove the old module (#7)", {"pkg/old/thing.py": None})
    made.tag("v2")
    return made


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    lines = upstream.read("v1", "pkg/a.txt").decode()
    patch = upstream.patch("v1", {"pkg/a.txt": lines.replace("line 3", "LINE 3")}, "Raise it")
    made = make_workspace(upstream, {"a.patch": patch}, bases=("v1",), settings=SETTINGS)
    roles = made.root / "roles"
    roles.mkdir()
    (roles / "main.yml").write_text(
        "env:\n  PKG_FAST_PATH: 1\n  PKG_UNHEARD_OF: 1\nuse: pkg.old.thing.f\nalso: pkg.caps.is_a\n"
    )
    return made


def _items(patchq: CommandLine, workspace: Workspace, *args: str) -> list[dict[str, Any]]:
    done = patchq("next", *args, "--json", cwd=workspace.root)
    assert done.returncode == 1, done.stderr
    items = json.loads(done.stdout)["items"]
    assert isinstance(items, list)
    return items


def test_next_finds_locks_and_lists(patchq: CommandLine, workspace: Workspace) -> None:
    items = _items(patchq, workspace)
    assert workspace.lock().names == ("v1", "v2")
    assert workspace.series_names() == ("v1",)
    by_subject = {item["subject"]: item for item in items}
    gone = by_subject["PKG_FAST_PATH"]
    assert gone["section"] == "can corrupt silently"
    assert "roles/main.yml:2" in gone["text"]
    assert gone["evidence"][0]["pr"] == 6
    assert by_subject["pkg.old.thing.f"]["evidence"][0]["pr"] == 7
    assert "PKG_UNHEARD_OF" not in by_subject
    assert "pkg.caps.is_a" not in by_subject
    assert by_subject["claim"]["text"] == "widening resolve corrupts on small"
    assert by_subject["mentions GB10"]["text"] == "touches no patch and no gate"
    assert by_subject["mentions GB10"]["evidence"][0]["pr"] == 5
    gates = by_subject["gates for small"]
    assert gates["section"] == "read"
    assert gates["evidence"][0]["pr"] == 6
    sections = [item["section"] for item in items]
    assert sections == sorted(sections, key=["can corrupt silently", "decide", "read"].index)


def test_a_name_that_became_a_deprecated_alias(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    old = 'FAST = os.environ.get("PKG_FAST_PATH")'
    alias = OPS.replace(old, f"{old}  # deprecated: PKG_PATH")
    upstream.commit("Prefer another name (#8)", {"pkg/ops.py": alias})
    upstream.commit("Go on", {"pkg/ops.py": alias + "\n\ndef more(): ...\n"})
    upstream.tag("v3")
    items = {item["subject"]: item for item in _items(patchq, workspace, "v3")}
    assert items["PKG_FAST_PATH"]["text"] == "deprecated; used in roles/main.yml:2"
    assert items["PKG_FAST_PATH"]["evidence"][0]["pr"] == 8


def test_next_for_people(patchq: CommandLine, workspace: Workspace) -> None:
    shown = patchq("next", "v2", cwd=workspace.root)
    assert shown.returncode == 1
    assert "\nCan corrupt silently\n" in shown.stdout
    assert "1 patch carries; verify passes" in shown.stdout
    assert "locked v2" in shown.stderr
    # one command answers both gates
    assert shown.stdout.count("$ patchq gates v2 --since v1 --target small") == 1
    markdown = patchq("next", "v2", "--markdown", cwd=workspace.root).stdout
    assert markdown.startswith("## v1 → v2\n")
    assert "- **PKG\\_FAST\\_PATH**: no longer defined" in markdown


def test_next_without_locking(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("next", "--dry-run", cwd=workspace.root)
    assert done.returncode == 2
    assert "patchq lock v2" in done.stderr
    assert workspace.lock().names == ("v1",)


def test_next_fails_on_what_is_asked(patchq: CommandLine, workspace: Workspace) -> None:
    def code(what: str) -> int:
        return patchq("next", "v2", "--fail-on", what, cwd=workspace.root).returncode

    assert (code("names"), code("blocks the build"), code("decide,read")) == (1, 0, 1)
    assert code("weather") == 2


def test_outdated(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("outdated", cwd=workspace.root)
    assert (done.returncode, done.stdout) == (1, "v2\n")
    found = json.loads(patchq("outdated", "--json", cwd=workspace.root).stdout)
    assert found == {"schema": "patchq.outdated/1", "newest": "v1", "tags": ["v2"]}
    patchq("lock", "v2", cwd=workspace.root)
    done = patchq("outdated", cwd=workspace.root)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "patchq: upstream has no tag after those of the lock, the last v2\n"


def test_gates(patchq: CommandLine, workspace: Workspace) -> None:
    patchq("lock", "v2", cwd=workspace.root)
    shown = patchq("gates", "v1", cwd=workspace.root).stdout
    assert shown.splitlines() == [
        "pkg/ops.py",
        "  true       8 resolve: not is_a() (then leaves)",
        "v1 for small: 1 gates, 1 true",
    ]
    since = patchq("gates", "v2", "--since", "v1", "--json", cwd=workspace.root)
    changes = json.loads(since.stdout)["changes"]
    found = [(c["function"], c["condition"], c["answer"], c["state"]) for c in changes]
    assert found == [
        ("resolve", "not (is_a() or is_b())", "false", "new"),
        ("plan", "is_a() and x.big", "false", "new"),
    ]
    assert {change["evidence"]["pr"] for change in changes} == {6}


def test_a_helper_that_is_something_else_elsewhere(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    upstream.commit("Gate", {"gen/ops.py": "def f():\n    if is_a() and is_cuda():\n        x()\n"})
    upstream.tag("v3")
    more = """\
    known: {is_cuda: true}
    overrides:
      - paths: [/gen/]
        helpers: {is_a: true}
uses:"""
    workspace.settings_path.write_text(SETTINGS.replace("uses:", more, 1))
    patchq("lock", "v3", cwd=workspace.root)
    done = patchq("gates", "v3", "--json", cwd=workspace.root)
    gates = json.loads(done.stdout)["gates"]
    assert (gates[0]["path"], gates[0]["answer"]) == ("gen/ops.py", "true")
    assert {gate["answer"] for gate in gates[1:]} == {"false"}


def test_a_gate_as_a_predicate(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    patchq("lock", "v2", cwd=workspace.root)
    lines = upstream.read("v1", "pkg/a.txt").decode().replace("line 9", "LINE 9")
    gate = "gate pkg/ops.py resolve small excludes"
    fields = {"X-Expect": gate, "X-Retire-When": "gate pkg/ops.py resolve small admits"}
    for field, verdict in (("X-Expect", "drifted"), ("X-Retire-When", "expired")):
        raw = upstream.patch("v1", {"pkg/a.txt": lines}, "Gated", trailers={field: fields[field]})
        (workspace.series_path("v1") / "a.patch").write_bytes(raw)
        done = patchq("report", "v1", "--format", "json", cwd=workspace.root)
        (patch,) = json.loads(done.stdout)["patches"]
        assert patch["verdict"] == verdict
    bad = upstream.patch("v1", {"pkg/a.txt": lines}, "Gated", trailers={"X-Expect": f"{gate}s"})
    (workspace.series_path("v1") / "a.patch").write_bytes(bad)
    done = patchq("report", "v1", cwd=workspace.root)
    assert "admits or excludes" in " ".join(done.stdout.split())


def test_notes_keep_what_people_add(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    patchq("lock", "v2", cwd=workspace.root)
    file = tmp_path / "v2.md"
    assert patchq("notes", "v2", "-o", str(file), cwd=workspace.root).returncode == 0
    file.chmod(0o640)
    text = file.read_text()
    for title in ("Patches", "Requirements and pins", "Gates", "Names", "Open risks"):
        assert f"\n## {title}\n" in text
    assert "`a.patch`: clean" in text
    assert "- `v1`: rollback" in text
    mine = text.replace("## Gates\n", "## Gates\n\nChecked by hand.\n").replace("clean", "wrong")
    file.write_text(mine)
    patchq("notes", "v2", "-o", str(file), cwd=workspace.root)
    assert file.read_text() == text.replace("## Gates\n", "## Gates\n\nChecked by hand.\n")
    assert file.stat().st_mode & 0o777 == 0o640
    file.write_text(mine.replace("<!-- /patchq -->\n", "", 1))
    done = patchq("notes", "v2", "-o", str(file), cwd=workspace.root)
    assert done.returncode == 2
    assert "has no end" in done.stderr


def test_live_bases(patchq: CommandLine, upstream: Miniature, workspace: Workspace) -> None:
    patchq("lock", "v2", cwd=workspace.root)
    lines = upstream.read("v2", "pkg/a.txt").decode()
    new = upstream.patch("v2", {"pkg/a.txt": lines.replace("line 15", "LINE 15")}, "New fix")
    add_series(workspace, "v2", {"new.patch": new})
    done = patchq("port", "new.patch", "--live", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert workspace.series("v1").names == ("a.patch", "new.patch")
    again = patchq("port", "new.patch", "--live", cwd=workspace.root)
    assert again.returncode == 2
    assert "no live base lacks them" in again.stderr
    (workspace.root / "series/patchq.yaml").unlink()
    unnamed = patchq("port", "new.patch", "--live", cwd=workspace.root)
    assert "does not say which bases are live" in unnamed.stderr


def test_what_ends_and_is_still_needed(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    patch = (workspace.series_path("v1") / "a.patch").read_bytes()
    upstream.commit(
        "Take it",
        {"pkg/a.txt": upstream.read("v1", "pkg/a.txt").decode().replace("line 3", "LINE 3")},
    )
    upstream.tag("v3")
    assert patch
    items = _items(patchq, workspace, "v3")
    (left,) = [item for item in items if item["section"] == "leaves"]
    assert left["text"].endswith("; still needed by v1 (rollback)")


def test_live_bases_in_reports(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    taken = upstream.read("v1", "pkg/a.txt").decode().replace("line 3", "LINE 3")
    upstream.commit("Take it", {"pkg/a.txt": taken})
    upstream.tag("v3")
    upstream.commit("More", {"pkg/b.txt": "more\n"})
    upstream.tag("v4")
    patchq("lock", "v2", "v3", "v4", cwd=workspace.root)
    for tag in ("v2", "v3"):
        assert patchq("rebase", "--onto", tag, cwd=workspace.root).returncode == 0
    done = patchq("report", "v2", "--onto", "v3", cwd=workspace.root)
    assert "still needed by v1 (rollback)" in done.stdout
    done = patchq("report", "v3", "--onto", "v4", "--format", "json", cwd=workspace.root)
    (item,) = json.loads(done.stdout)["remembered"]
    assert item["needed_by"] == ["v1 (rollback)"]

    done = patchq("report", "--all", cwd=workspace.root)
    heads = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    assert ["●v1", "v3", "v4"] in heads
    assert "● live: v1 (rollback)\nFolded: v2 (--unfold shows them)\n" in done.stdout
    whole = patchq("report", "--all", "--unfold", cwd=workspace.root).stdout
    assert ["●v1", "v2", "v3", "v4"] in [line.split() for line in whole.splitlines()]
    text = patchq("report", "--all", "--format", "markdown", cwd=workspace.root).stdout
    folded, whole = text.split("<details>")
    assert "| patch | v4 | v3 | ●v1 |" in folded
    assert "| patch | v4 | v3 | v2 | ●v1 |" in whole
    document = json.loads(patchq("report", "--all", "--format", "json", cwd=workspace.root).stdout)
    assert [base["live"] for base in document["bases"]] == ["rollback", None, None, None]
    page = patchq("report", "--all", "--format", "html", cwd=workspace.root).stdout
    assert "live: rollback" in page


def test_what_can_go(patchq: CommandLine, upstream: Miniature, workspace: Workspace) -> None:
    def proposed(*args: str) -> list[Any]:
        done = patchq("drop", "--ended", *args, "--json", cwd=workspace.root)
        assert done.returncode == 0, done.stderr
        return [(item["name"], item["can_go"]) for item in json.loads(done.stdout)["ended"]]

    taken = upstream.read("v1", "pkg/a.txt").decode().replace("line 3", "LINE 3")
    upstream.commit("Take it", {"pkg/a.txt": taken})
    upstream.tag("v3")
    patchq("lock", "v2", "v3", cwd=workspace.root)
    for tag in ("v2", "v3"):
        assert proposed("--not-live") == []
        patchq("rebase", "--onto", tag, cwd=workspace.root)
    assert proposed("--not-live") == [("a.patch", [])]
    assert proposed() == [("a.patch", ["v2"])]
    done = patchq("drop", "--ended", "--not-live", cwd=workspace.root)
    assert "a.patch: ended; still needed by v1 (rollback)\n" in done.stdout
    workspace.settings_path.write_text(SETTINGS.replace("v1: rollback", "v3: production"))
    assert proposed("--not-live") == [("a.patch", ["v1", "v2"])]
    narrow = {"COLUMNS": "40"}  # a command to copy is never broken
    done = patchq("drop", "--ended", "--not-live", cwd=workspace.root, env=narrow)
    command = "patchq drop a.patch --tag v2 --reason 'upstreamed on v3'"
    assert f"$ {command}\n" in done.stdout
    args = ("drop", "a.patch", "--tag", "v2", "--reason", "upstreamed on v3")
    assert patchq(*args, cwd=workspace.root).returncode == 0
    assert proposed("--not-live") == [("a.patch", ["v1"])]
    assert patchq("lint", cwd=workspace.root).returncode == 0
    assert patchq("drop", "--ended", "a.patch", cwd=workspace.root).returncode == 2
    assert patchq("drop", cwd=workspace.root).returncode == 2
    workspace.settings_path.write_text("version: 1\n")
    done = patchq("drop", "--ended", "--not-live", cwd=workspace.root)
    assert done.returncode == 2
    assert "does not say which bases are live" in done.stderr


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("gates: {small: {helpers: {is_a: maybe}}}", "expected true, false"),
        ("uses: [{files: [x], words: ['(']}]", "not a regular expression"),
        ("claims: [{claim: c, when: [always], section: never}]", "no section"),
    ],
)
def test_malformed_settings(
    patchq: CommandLine, workspace: Workspace, settings: str, words: str
) -> None:
    workspace.settings_path.write_text(f"version: 1\n{settings}\n")
    done = patchq("status", cwd=workspace.root)
    gates = patchq("gates", "v1", cwd=workspace.root)
    assert words in done.stderr + gates.stderr
    assert gates.returncode == 2


def test_a_glob_that_matches_nothing_is_refused(patchq: CommandLine, workspace: Workspace) -> None:
    (workspace.root / "roles" / "main.yml").unlink()
    done = patchq("next", "v2", cwd=workspace.root)
    assert done.returncode == 2
    assert "matches no file" in done.stderr


def test_the_docs_show_what_is_printed(patchq: CommandLine, workspace: Workspace) -> None:
    page = (Path(__file__).parent.parent / "docs" / "how-to" / "new-tag.md").read_text()
    for command in (("next", "v2"), ("gates", "v2", "--since", "v1")):
        shown = page.split(f"$ patchq {' '.join(command)}\n")[1].split("```")[0]
        assert patchq(*command, cwd=workspace.root, env={"COLUMNS": "100"}).stdout == shown


def test_what_was_decided_on_the_tag_counts(
    patchq: CommandLine, upstream: Miniature, workspace: Workspace
) -> None:
    lines = upstream.read("v1", "pkg/a.txt").decode()
    upstream.commit("Collide", {"pkg/a.txt": lines.replace("line 3", "theirs")})
    upstream.tag("v3")
    before = {item["subject"]: item["section"] for item in _items(patchq, workspace, "v3")}
    assert before["a.patch"] == "blocks the build"
    patchq("rebase", "--onto", "v3", "--keep-going", cwd=workspace.root)
    patchq("drop", "a.patch", "--reason", "not ours", cwd=workspace.root)
    after = [item for item in _items(patchq, workspace, "v3") if item["subject"] == "a.patch"]
    assert [item["section"] for item in after] in ([], ["leaves"])
