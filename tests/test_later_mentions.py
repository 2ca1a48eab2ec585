"""What a retirement tells of lines elsewhere that say the names of what landed."""

from __future__ import annotations

import json
import re

import pytest
from commandline import CommandLine
from judging import judged, shown
from miniature import Edits, MakeMiniature
from workspaces import make_workspace, open_project

from patchq.git import changed_lines
from patchq.git.changed_lines import ChangedLines
from patchq.model.ids import commit_id
from patchq.model.verdict import EvidenceKind, Verdict

C = "int prep(int);\n\nint slow_go(int n)\n{\n\tprep(n);\n\tlock(n);\n\treturn push(n);\n}\n"
FENCED = C.replace("\treturn", "\tfence(n);\n\treturn")
USER = "int slow_go(int);\nint main(void)\n{\n\treturn slow_go(2);\n}\n"
FAST = USER.replace("slow_go(int)", "fast_go(int)")
LISTS = "CMakeLists.txt"
CMAKE = "project(x)\nset(S m.c\n  q.c n.c)\nadd_executable(m ${S})\n"
OTHER = {"m.c": USER, "n.c": "int n;\n"}
PYTHON = (
    "import os\n\n\ndef prep(batch):\n    return batch\n\n\nclass Runner:\n"
    "    def launch(self, batch):\n        g = self.capture(batch)\n        g.replay()\n"
    "        return g.output()\n\n    def size(self):\n        return 1\n"
)
SYNCED = PYTHON.replace("        g.replay()", "        g.sync()\n        g.replay()")
CALLER = "from runs.run_all import Runner, prep\n\nprint(Runner().launch(prep(2)))\n"
NAMES = "`launch`, `Runner`, `run_all`"
NAMES_C = "`slow_go`, `q`, `fence`"
LEFT = {"m.c": USER.replace("slow_go(2)", "fast_go(2) /* slow_go() */")}
LIST = f"`q` in {LISTS}"
EXCLUDED = 'list(FILTER S EXCLUDE REGEX "q\\\\.c$")\n'
HEADER = "set_source_files_properties(q.c PROPERTIES HEADER_FILE_ONLY ON)\n"
OPTION = "if(OLD)\n  list(APPEND S q.c)\nendif()\n"
OUTSIDE = " outside of `Runner.launch`"


def _told(
    miniature: MakeMiniature,
    path: str,
    sides: tuple[str, str],
    others: dict[str, str],
    later: list[Edits],
) -> list[str]:
    """What is told of later commits, without what all of it begins with; ``C2`` is the second."""
    before, fixed = sides
    upstream = miniature()
    upstream.commit("Start (#1)", {path: before, **others})
    upstream.tag("v1")
    patch = upstream.patch("v1", {path: fixed})
    landed = upstream.commit("Fix it (#2)", {path: fixed})
    ids = [upstream.commit(f"Edit {n}", edits) for n, edits in enumerate(later, start=1)]
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED
    kinds = EvidenceKind.MENTIONED_SINCE, EvidenceKind.EDITED_SINCE
    found = [item for kind in kinds for item in shown(report, kind)]
    assert {item.commit for item in found} == {landed}
    texts = [item.text for item in found]
    for number, oid in enumerate(ids, start=1):
        texts = [text.replace(f"{oid[:9]} Edit {number}", f"C{number}") for text in texts]
    return [text.removeprefix("since then ") for text in texts]


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        # out of the build, while a build file says its name
        ({LISTS: CMAKE.replace("add_exe", "list(REMOVE_ITEM S q.c)\nadd_exe")}, LIST),
        ({LISTS: CMAKE.replace("add_exe", f"{EXCLUDED}add_exe")}, LIST),
        ({LISTS: CMAKE + HEADER}, LIST),
        (
            {LISTS: CMAKE.replace("\n  q.c", "").replace("add_", f"{OPTION}add_")},
            LIST,
        ),
        ({"Makefile": "x:\n\tcc $(filter-out q.c,$(wildcard *.c))\n"}, "`q` in Makefile"),
        # another thing by a macro
        ({"Makefile": "CFLAGS += -Dslow_go=fast_go\n"}, "`slow_go` in Makefile"),
        ({"Makefile": 'CFLAGS += "-Dfence(n)="\n'}, "`fence` in Makefile"),
        ({"ops.h": "static inline void fence(int n) { }\n"}, "`fence` in ops.h"),
        # the last use is left in a comment, a string, or what is no code
        ({"m.c": FAST.replace("slow_go(2)", "fast_go(2) /* no slow_go() */")}, "`slow_go` in m.c"),
        ({"m.c": FAST.replace("slow_go(2)", 'fast_go(2) || warn("slow_go")')}, "`slow_go` in m.c"),
        ({"old.c": USER, "m.c": FAST.replace("slow", "fast")}, "`slow_go` in m.c, old.c"),
    ],
)  # fmt: skip
def test_what_a_build_or_a_caller_says(
    miniature: MakeMiniature, later: Edits, expected: str
) -> None:
    found, same = _told(miniature, "q.c", (C, FENCED), {LISTS: CMAKE, **OTHER}, [later])
    assert found == f"1 commit changed lines of other files with {NAMES_C}: C1 ({expected})"
    assert same == "no commit edited q.c"


@pytest.mark.parametrize(
    ("later", "names"),
    [
        (
            {"m.py": CALLER.replace("Runner, prep", "prep\nfrom runs.fast import Runner")},
            "`Runner`, `run_all` in m.py",
        ),
        (
            {"m.py": CALLER.replace("\n\n", " \n\nclass Runner(Runner):\n    pass\n\n\n")},
            "`Runner`, `run_all` in m.py",
        ),
        ({"m.py": CALLER.replace("Runner().launch", "go")}, "`launch`, `Runner` in m.py"),
        ({"boot.py": "import runs\nruns.Runner.launch = fast\n"}, "`launch`, `Runner` in boot.py"),
        ({"boot.py": "sys.modules['runs.run_all'] = fast\n"}, "`run_all` in boot.py"),
        ({"boot.py": "vars(runs).update(Runner=Fast)\n"}, "`Runner` in boot.py"),
    ],
)  # fmt: skip
def test_what_python_says(miniature: MakeMiniature, later: Edits, names: str) -> None:
    path, others = "runs/run_all.py", {"m.py": CALLER}
    found, _ = _told(miniature, path, (PYTHON, SYNCED), others, [later])
    assert found == f"1 commit changed lines of other files with {NAMES}: C1 ({names})"


@pytest.mark.parametrize(
    "later",
    [
        {},
        {"m.py": f"# all\n{CALLER}"},
        {"m.py": CALLER + "relaunch, launches, Runner2, run_all_2 = 1, 2, 3, 4\n"},
        {"runs/other.py": "x = 1\n"},
        {"logo.png": "\0launch\n"},
    ],
)
def test_nothing_is_said(miniature: MakeMiniature, later: Edits) -> None:
    path, others = "runs/run_all.py", {"m.py": CALLER}
    found, _ = _told(miniature, path, (PYTHON, SYNCED), others, [later] if later else [])
    assert found == f"no commit changed lines of other files with {NAMES}"


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (USER.replace("\treturn", "#if 0\n\treturn") + "#endif\n", True),
        (USER.replace("\treturn", "\tif (0)\n\treturn"), True),
        (USER.replace("\n{", " {\n\tint a;"), False),
    ],
)
def test_what_may_switch_a_use_off(miniature: MakeMiniature, text: str, is_told: bool) -> None:
    found, _ = _told(miniature, "q.c", (C, FENCED), OTHER, [{"m.c": text}])
    told = f"1 commit changed conditions beside {NAMES_C} in other files: C1 (`slow_go` in m.c)"
    assert found == (told if is_told else f"no commit changed lines of other files with {NAMES_C}")


def test_the_first_five_by_name_then_by_age(miniature: MakeMiniature) -> None:
    later: list[Edits] = [
        {f"u{n}.c": f"int {'slow_go' if n % 2 else 'fence'};\n"} for n in range(1, 8)
    ]
    found, _ = _told(miniature, "q.c", (C, FENCED), OTHER, later)
    assert found.startswith(f"7 commits changed lines of other files with {NAMES_C}: ")
    assert re.findall(r"C\d", found) == ["C7", "C5", "C3", "C1", "C6"]
    assert re.search(r", also [0-9a-f]{9}, [0-9a-f]{9}$", found)


@pytest.mark.parametrize("count", [20, 21])
def test_too_common_a_name(miniature: MakeMiniature, count: int) -> None:
    later: list[Edits] = [{f"u{n}.c": "int fence;\n"} for n in range(count)]
    found, _ = _told(miniature, "q.c", (C, FENCED), OTHER, later)
    if count == 20:
        assert found.startswith(f"20 commits changed lines of other files with {NAMES_C}: C20")
    else:
        assert found == (
            "no commit changed lines of other files with `slow_go`, `q`; "
            "more than 20 commits did with `fence`: too common"
        )


def test_more_names_than_are_looked_for(miniature: MakeMiniature) -> None:
    more = "".join(f"#define MACRO_{n} {n}\n" for n in range(22))
    found, _ = _told(miniature, "q.c", (C, more + C), OTHER, [{"m.c": USER + "int MACRO_1;\n"}])
    assert re.search(r"; not looked for: \d+ more of its names$", found)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("if True:\n    Runner.launch = fast\n", f"{OUTSIDE}, lines with its names: C1"),
        ("globals().update(Runner=Fast)\n", f"{OUTSIDE}, lines with its names: C1"),
        ("sys.modules[__name__] = Fast()\n", f"{OUTSIDE}: C1"),
    ],
)  # fmt: skip
def test_the_same_file(miniature: MakeMiniature, more: str, expected: str) -> None:
    path = "runs/run_all.py"
    later: list[Edits] = [{path: SYNCED + more}]
    found, same = _told(miniature, path, (PYTHON, SYNCED), {"m.py": CALLER}, later)
    assert same == f"1 commit edited {path}{expected}"
    assert found == f"no commit changed lines of other files with {NAMES}"


def test_those_that_say_it_are_named_first(miniature: MakeMiniature) -> None:
    path, texts = "runs/run_all.py", [SYNCED]
    for n in range(5):
        texts.append(texts[-1] + ("keep(Runner)\n" if n == 1 else f"v_{n} = {n}\n"))
    later: list[Edits] = [{path: text} for text in texts[1:]]
    _, same = _told(miniature, path, (PYTHON, SYNCED), {}, later)
    expected = (
        f"5 commits edited {path}{OUTSIDE}, 1 of them lines with its names: C2, C5, C4, also "
    )
    assert re.fullmatch(re.escape(expected) + r"[0-9a-f]{9}, [0-9a-f]{9}", same)


def test_a_merge_that_says_it_itself(miniature: MakeMiniature) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {"q.c": C, **OTHER})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"q.c": FENCED})
    upstream.commit("Fix it (#2)", {"q.c": FENCED})
    upstream.branch("side", at="v1")
    upstream.commit("Beside (#3)", {"n.c": "int n = 1;\n"}, branch="side")
    oid = upstream.commit("Merge it (#4)", LEFT, merges=("side",))
    upstream.tag("v2")
    (found,) = shown(judged(upstream, patch).report, EvidenceKind.MENTIONED_SINCE)
    assert found.text.endswith(f": {oid[:9]} Merge it (#4) (`slow_go` in m.c)")
    assert found.paths == ("m.c",)


def test_it_is_in_every_report_and_kept(patchq: CommandLine, miniature: MakeMiniature) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {"q.c": C, "m.c": USER})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"q.c": FENCED})
    upstream.commit("Fix it (#2)", {"q.c": FENCED})
    oid = upstream.commit("Call another (#3)", LEFT)
    upstream.tag("v2")
    workspace = make_workspace(upstream, {"it.patch": patch})
    text = (
        f"since then 1 commit changed lines of other files with {NAMES_C}: "
        f"{oid[:9]} Call another (#3) (`slow_go` in m.c)"
    )

    def printed(*words: str) -> str:
        return re.sub(r"\s+", " ", patchq(*words, cwd=workspace.root).stdout)

    for _ in range(2):
        assert text in printed("report", "v1", "--onto", "v2")
    assert f"mentioned-since: {text}" in printed("why", "it.patch")
    document = json.loads(printed("report", "v1", "--onto", "v2", "--format", "json"))
    assert text in [item["text"] for item in document["patches"][0]["evidence"]]
    for form in ("markdown", "html"):
        assert oid[:9] in printed("report", "v1", "--onto", "v2", "--format", form)


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_what_commits_changed(
    miniature: MakeMiniature, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(changed_lines, "_AT_ONCE", at_once)
    upstream = miniature()
    upstream.commit("Start", {"a b.c": "x\n"})
    ids = [
        commit_id(upstream.commit(f"Edit {n}", {"a b.c": f"go {n}\n", "ä.c": f"{n}\n"}))
        for n in range(4)
    ]
    upstream.tag("v1")
    store = open_project(make_workspace(upstream, {}, bases=("v1",)), upstream).store
    lines = ChangedLines(store.git, reversed(ids))
    assert lines.read(ids[2:]) == ids[2:]
    newest = list(lines.saying(b"go", ids[2:]))
    assert {(each.commit.oid, each.path) for each in newest} == {(i, "a b.c") for i in ids[2:]}
    assert lines.read(ids) == ids
    assert {each.commit.oid for each in lines.saying(b"go", ids)} == set(ids)
    assert {each.path for each in lines.saying(b"3", ids)} == {"a b.c", "ä.c"}
    assert not list(lines.saying(b"go", ()))


def test_what_has_no_room_is_told(
    miniature: MakeMiniature, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_lines, "_AT_ONCE", 1)
    monkeypatch.setattr(changed_lines, "_ROOM", 1)
    later: list[Edits] = [LEFT, {"n.c": "int m;\n"}]
    words, _ = _told(miniature, "q.c", (C, FENCED), OTHER, later)
    assert words == (
        f"no commit changed lines of other files with {NAMES_C}; not looked at: the oldest 1 commit"
    )


DATA = "import os\n\nRETRIES = int(os.environ.get('APP_RETRIES', '3'))\n"
OPTIONS = "def add(p):\n    p.flag('--page-size', default=1)\n    return p\n"
TABLE = "LIMITS = {\n    'depth': 1,\n    'retry_limit': 3,\n}\n"
GO = "package q\n\nfunc (s *Server) handle(n int) int {\n\tprep(n)\n\treturn push(n)\n}\n"
SQL = "CREATE INDEX t_name ON t (\n  id\n);\n"
IMAGE = "FROM a AS base\nRUN one\nRUN two\n"


@pytest.mark.parametrize(
    ("path", "sides", "edit", "name"),
    [
        ("cfg.py", (DATA, DATA.replace("'3'", "'9'")), {"D": "ENV APP_RETRIES=3\n"}, "APP_RETRIES"),
        *(
            ("o.py", (OPTIONS, OPTIONS.replace("=1", "=64")), {"u.yaml": f"{word} 8\n"}, word)
            for word in ("--page-size", "page_size", "PAGE_SIZE")
        ),
        ("t.py", (TABLE, TABLE.replace("3", "9")), {"u.toml": "retry_limit = 3\n"}, "retry_limit"),
        (
            "s.go",
            (GO, GO.replace("\treturn", "\tfence(n)\n\treturn")),
            {"m.go": "handle()\n"},
            "handle",
        ),
        ("s.sql", (SQL, SQL.replace("id", "id, at")), {"2.sql": "DROP INDEX t_name;\n"}, "t_name"),
        (
            "Dockerfile",
            (IMAGE, IMAGE.replace("two", "two --all")),
            {"ci.yml": "run: docker build -f Dockerfile.new\n"},
            "Dockerfile",
        ),
    ],
)
def test_what_other_files_know_it_by(
    miniature: MakeMiniature, path: str, sides: tuple[str, str], edit: Edits, name: str
) -> None:
    found, _ = _told(miniature, path, sides, {}, [edit])
    assert found.startswith("1 commit changed lines of other files with ")
    assert found.endswith(f": C1 (`{name}` in {next(iter(edit))})")


def test_the_name_that_the_file_has_now(miniature: MakeMiniature) -> None:
    later: list[Edits] = [
        {"q.c": None, "core/fast.c": FENCED},
        {"m.c": USER + "/* fast */\n"},
    ]
    found, _ = _told(miniature, "q.c", (C, FENCED), OTHER, later)
    assert "C2 (`fast` in m.c)" in found


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("pool.Runner = Fast", True),
        ("setattr(pool, 'Runner', Fast)", True),
        ("class Fast(Runner):\n    pass", True),
        ("from fast import other as Runner", True),
        ("run(Runner)", False),
        ("assert x.Runner == y", False),
    ],
)
def test_who_binds_a_common_name(miniature: MakeMiniature, line: str, is_told: bool) -> None:
    later: list[Edits] = [{"bind.py": f"{line}\n"}]
    later += [{f"u{n}.py": "print(Runner)\n"} for n in range(21)]
    found, _ = _told(miniature, "runs/run_all.py", (PYTHON, SYNCED), {}, later)
    assert ("C1 (`Runner` in bind.py)" in found) is is_told
    assert "; more than 20 commits did with `Runner`: too common" in found


def test_who_binds_a_common_name_that_has_an_alternative(miniature: MakeMiniature) -> None:
    later: list[Edits] = [{"bind.py": "sys.modules['x'] = run_all = fast\n"}]
    later += [{f"u{n}.py": "print(run_all)\n"} for n in range(21)]
    found, _ = _told(miniature, "runs/run_all.py", (PYTHON, SYNCED), {}, later)
    assert "C1 (`run_all` in bind.py)" in found
