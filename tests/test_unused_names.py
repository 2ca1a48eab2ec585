"""A fix that landed in what nothing uses any more: no silent retirement."""

from __future__ import annotations

import pytest
from judging import judged, landed, shown
from miniature import Edits, MakeMiniature

from patchq.model.verdict import EvidenceKind, Verdict

C = (
    '#include "net.h"\n\nint\nconn_open(struct conn *c)\n{\n\tfirst(c);\n\tsecond(c);\n'
    "\treturn 0;\n}\n\nint\nconn_close(struct conn *c)\n{\n\treturn drop(c);\n}\n"
)
FIXED = C.replace("\tsecond", "\tset_timeout(c, 5);\n\tsecond")
HEADER = "int\t conn_open(struct conn *);\nint\t conn_close(struct conn *);\n"
MAIN = "int\nmain(void)\n{\n\tstruct conn *c = make();\n\n\treturn conn_open(c);\n}\n"
OTHER = (
    '#include "net.h"\n\nint\nconn_open(struct conn *c)\n{\n\treturn engine_open(c->engine);\n}\n'
)
SHELL = "build() {\n\tprepare\n\tmake\n}\n\nbuild\nstrip app\n"
SET = "project(x)\nset(SRCS a.c)\nset(MORE c.c)\nadd_library(x ${SRCS} ${MORE})\n"
RULE = "all: check\n\tcc\n\ncheck: lib\n\tone\n\ttwo\n\nlib:\n\tar\n"
PY = "LIMIT = 10\n\n\ndef get(x):\n    a(x)\n    b(x)\n    return x\n\n\ndef _run():\n    pass\n"
RAISED = PY.replace("10", "64")
GET = PY.replace("    b(x)", "    lock(x)\n    b(x)")
USES = "from app.py import LIMIT, get\n\nprint(get(LIMIT))\n"


@pytest.mark.parametrize(
    ("files", "fixed", "later", "used"),
    [
        # another function is called instead; only a declaration is left
        ({"c.c": C}, FIXED, {"main.c": MAIN.replace("conn_open", "fast_open")}, False),
        ({"c.c": C}, FIXED, {"main.c": None, "c.c": FIXED + "/* no more */\n"}, False),
        # all calls were renamed with it
        (
            {"c.c": C},
            FIXED,
            {
                path: text.replace("conn_open", "conn_begin")
                for path, text in {"c.c": FIXED, "main.c": MAIN, "net.h": HEADER}.items()
            },
            True,
        ),
        # another file has a function of that name
        (
            {"c.c": C},
            FIXED,
            {"c.c": FIXED.replace("conn_open", "conn_open_old"), "fast.c": OTHER},
            False,
        ),
        ({"c.c": C}, FIXED, {"main.c": MAIN.replace("return conn", "go(&conn")}, True),
        ({"c.c": C}, FIXED, {"c.c": FIXED + MAIN.replace("main", "more"), "main.c": None}, True),
        # in Python
        ({"app/py.py": PY, "m.py": USES}, RAISED, {"m.py": USES.replace("LIMIT", "SMALL")}, False),
        ({"app/py.py": PY, "m.py": USES}, GET, {"m.py": USES.replace("get", "take")}, False),
        ({"app/py.py": PY, "m.py": USES}, GET, {"m.py": None, "app/py.py": GET + "x = 1\n"}, False),
        ({"app/py.py": PY, "app/m.py": USES}, GET, {"app/m.py": "take(LIMIT)\n"}, False),
        (
            {"app/py.py": PY, "m.py": USES},
            GET,
            {"app/py.py": GET.replace("get", "take"), "m.py": USES.replace("get", "take")},
            True,
        ),
        *(
            ({"app/py.py": PY, "m.py": USES}, GET, {"m.py": text}, True)
            for text in (
                "import app.py\n\nprint(getattr(app.py, 'get')(1))\n",
                "print(1)  # once get(LIMIT)\n",
            )
        ),
        ({"app/py.py": PY, "m.py": USES}, GET, {"m.py": None, "GUIDE.md": "Call get(x).\n"}, True),
        ({"app/py.py": PY, "m.py": USES}, GET, {"m.py": None, "app/py.py": GET + "get(1)\n"}, True),
        ({"app/py.py": PY, "m.py": None}, GET, {"app/py.py": GET + "x = 1\n"}, True),
        # the classes of tests are found without their names
        *(
            (
                {"app/py.py": PY.replace("def get(x)", f"class {name}(T)"), "m.py": f"{name}()\n"},
                GET.replace("def get(x)", f"class {name}(T)"),
                {"m.py": "x = 1\n"},
                name != "GetTestResult",
            )
            for name in ("GetTestCase", "GetTest", "GetTestResult")
        ),
        (
            {"app/py.py": PY.replace("def get", "@route\ndef get"), "m.py": USES},
            GET.replace("def get", "@route\ndef get"),
            {"m.py": "x = 1\n"},
            True,
        ),
        # what nothing used when it landed was for others from the start
        ({"c.c": C, "main.c": None}, FIXED, {"README": "Text.\n"}, True),
        # scripts and build files
        (
            {"b.sh": SHELL},
            SHELL.replace("\tmake", "\tulimit -n 9\n\tmake"),
            {"b.sh": SHELL.replace("\tmake", "\tulimit -n 9\n\tmake").replace("\nbuild\n", "\n")},
            False,
        ),
        (
            {"CMakeLists.txt": SET},
            SET.replace("a.c", "a.c b.c"),
            {
                "CMakeLists.txt": SET.replace("a.c", "a.c b.c").replace(
                    "x ${SRCS}", "x ${CORE_SRCS}"
                )
            },
            False,
        ),
        (
            {"CMakeLists.txt": SET},
            SET.replace("a.c", "a.c b.c"),
            {"CMakeLists.txt": SET.replace("a.c", "a.c b.c").replace("x ${SRCS}", "y ${SRCS}")},
            True,
        ),
        (
            {"CMakeLists.txt": SET.replace("SRCS", "\u03bb${x}")},
            SET.replace("SRCS", "\u03bb${x}").replace("a.c", "a.c b.c"),
            {"README": "More.\n"},
            True,
        ),
        (
            {"Makefile": RULE},
            RULE.replace("\ttwo", "\tthree\n\ttwo"),
            {"Makefile": RULE.replace("\ttwo", "\tthree\n\ttwo").replace("all: check", "all: lib")},
            False,
        ),
    ],
)
def test_what_nothing_uses(
    miniature: MakeMiniature, files: Edits, fixed: str, later: Edits, used: bool
) -> None:
    upstream = miniature()
    start = {"main.c": MAIN, "net.h": HEADER, "README": "Made by conn_open.\n"} | dict(files)
    path = next(iter(files))
    patch = landed(upstream, {path: text for path, text in start.items() if text}, {path: fixed})
    upstream.commit("Do it otherwise (#3)", later)
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is (Verdict.UPSTREAMED if used else Verdict.SUPERSEDED)
    assert bool(shown(report, EvidenceKind.UNREFERENCED)) is not used


def test_who_used_it_last(miniature: MakeMiniature) -> None:
    upstream = miniature()
    patch = landed(upstream, {"src/c.c": C, "main.c": MAIN, "net.h": HEADER}, {"src/c.c": FIXED})
    upstream.commit("Call another one (#3)", {"main.c": MAIN.replace("conn_open", "fast_open")})
    upstream.commit("More (#4)", {"main.c": MAIN.replace("conn_open", "faster_open")})
    upstream.tag("v2")
    (found,) = shown(judged(upstream, patch).report, EvidenceKind.UNREFERENCED)
    assert found.subject == "Call another one (#3)"
    assert found.text == (
        "nothing uses conn_open, which lines of src/c.c hunk 1 are part of: main.c was the last"
    )


def test_who_used_it_only_as_the_fix_landed(miniature: MakeMiniature) -> None:
    """The old base had no user yet: what counts is the tree that the fix landed in."""
    upstream = miniature()
    upstream.commit("Start (#1)", {"c.c": C, "net.h": HEADER})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"c.c": FIXED})
    upstream.commit("Call it (#2)", {"main.c": MAIN})
    upstream.commit("Set a timeout (#3)", {"c.c": FIXED})
    upstream.commit("Call another (#4)", {"main.c": MAIN.replace("conn_open", "fast_open")})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.SUPERSEDED
    (unused,) = shown(report, EvidenceKind.UNREFERENCED)
    assert unused.subject == "Call another (#4)"


@pytest.mark.parametrize(
    ("path", "new", "read"),
    [
        ("ci/all.yml", "ci/all.yml.off", False),
        ("ci/all.yml", "old/all.yml~", False),
        ("ci/all.yml", "ci/all.yml.in", True),
        ("ci/all.yml", "ci/.all.yml", True),
        ("ci/all.yml", "more/all.yml", True),
        (".github/workflows/a.yml", ".github/old/a.yml", False),
        (".github/workflows/a.yml", ".github/workflows/b.yml", True),
        ("src/c.c", "src/c.c.disabled", False),
        ("src/c.c", "src/c.cpp", True),
        ("GUIDE", "GUIDE.rst", True),
    ],
)
def test_a_file_that_was_put_aside(
    miniature: MakeMiniature, path: str, new: str, read: bool
) -> None:
    text = "".join(f"line_{number}: {number}\n" for number in range(9))
    upstream = miniature()
    fixed = text.replace("line_4: 4\n", "line_4: 4\nfixed: 1\n")
    patch = landed(upstream, {path: text, "README": "Text.\n"}, {path: fixed})
    upstream.move(path, new, "Move it (#3)")
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is (Verdict.UPSTREAMED if read else Verdict.SUPERSEDED)


@pytest.mark.parametrize(
    ("taken", "kept"),
    [
        ({"app/__init__.py": "def get(x):\n    return x\n"}, False),
        ({"app/__init__.py": "from .old import LIMIT\n\n\ndef get(x):\n    return x\n"}, False),
        ({"app/__init__.py": "from fast import *\n"}, False),
        ({"app/__init__.py": "from .old import *\n"}, True),
        ({"app/__init__.py": "from app.old import (\n    LIMIT,\n    get,\n)\n"}, True),
        # a part of what the module does
        ({"app/__init__.py": "from .old import LIMIT\n"}, True),
        ({"app/more.py": "def get(x):\n    return x\n"}, True),
    ],
)
def test_the_name_of_the_module_is_that_of_another(
    miniature: MakeMiniature, taken: Edits, kept: bool
) -> None:
    upstream = miniature()
    patch = landed(
        upstream, {"app.py": PY, "m.py": "from app import get\n\nget(1)\n"}, {"app.py": GET}
    )
    upstream.move("app.py", "app/old.py", "Move it (#3)")
    upstream.commit("Add a package (#4)", taken)
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is (Verdict.UPSTREAMED if kept else Verdict.SUPERSEDED)
    found = shown(report, EvidenceKind.UNREFERENCED)
    assert [each.subject for each in found] == ([] if kept else ["Add a package (#4)"])
    assert [each.text for each in found] == (
        [] if kept else ["app, which lines of app.py hunk 1 are part of, is in app/__init__.py now"]
    )


def test_a_file_that_moved_and_what_it_includes(miniature: MakeMiniature) -> None:
    upstream = miniature()
    start = {"src/c.c": C, "src/net.h": NET, "main.c": MAIN, "t.c": "int set_timeout();\n"}
    patch = landed(upstream, start, {"src/c.c": FIXED})
    upstream.move("src/c.c", "lib/c.c", "Move it (#3)")
    upstream.commit("Make it a macro (#4)", {"src/net.h": MACRO})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.SUPERSEDED
    (found,) = shown(report, EvidenceKind.UNREFERENCED)
    assert found.subject == "Make it a macro (#4)"


NET = "#ifndef NET_H\n#define NET_H\nint first(struct conn *);\n#endif\n"
MACRO = NET.replace("int first", "#define set_timeout(c, n) 0\nint first")
ENDED = NET.replace("int first", "#undef first\nint first")
LATE = MACRO.replace("#define s", "#ifdef X\n#define s")
FAR = "source /opt/x/setvars.sh"
BUILD = "#!/bin/sh\none\ntwo\nthree\nbuild() {\n\tmake\n}\nbuild\n"
EXPORTED = BUILD.replace("two\n", "two\nexport ARCH=12.1\n")
FOR_ONE = BUILD.replace("two\n", "two\nARCH=12.1 make\n")
MAKE_IN = "A = 1\nARCH = 12.1\ninclude ci.mk\n\nall:\n\tcc\n"
LISTED = "project(x)\nset(A 1)\nset(ARCH 90 121)\nset(B 2)\nadd_library(x ${ARCH})\n"


@pytest.mark.parametrize(
    ("fixed", "later", "kept"),
    [
        # a header makes a macro of what is called, beside the file or the only one of its name
        ({"src/c.c": FIXED}, {"src/net.h": MACRO}, False),
        ({"src/c.c": FIXED}, {"src/net.h": None, "include/net.h": MACRO}, False),
        (
            {"src/c.c": FIXED},
            {"src/c.c": FIXED.replace("\n\n", '\n#include "fast.h"\n\n', 1), "src/fast.h": MACRO},
            False,
        ),
        (
            {"src/c.c": FIXED},
            {"src/net.h": NET.replace("int first", "#undef first\nint first")},
            True,
        ),
        ({"src/c.c": FIXED}, {"src/net.h": MACRO.replace("set_", "put_")}, True),
        (
            {"src/c.c": FIXED},
            {"src/net.h": MACRO.replace("#define s", "#ifdef X\n#define s")},
            True,
        ),
        (
            {"src/c.c": FIXED},
            {"src/net.h": MACRO.replace("#define s", "#ifndef set_timeout\n#define s")},
            True,
        ),
        ({"src/c.c": FIXED}, {"other/net.h": MACRO}, True),
        ({"src/c.c": FIXED, "src/net.h": MACRO}, {"src/net.h": MACRO + "/* more */\n"}, True),
        # what the fix needs comes late
        (
            {"src/c.c": C.replace("\tsecond", "\tset_late(c, 5);\n\tsecond")},
            {"src/net.h": MACRO.replace("set_timeout", "set_late")},
            True,
        ),
        # a script reads one that sets the variable, or may
        ({"b.sh": EXPORTED}, {"b.sh": EXPORTED.replace("three", ". ./env.sh")}, False),
        ({"b.sh": EXPORTED}, {"b.sh": EXPORTED.replace("three", '. "$DIR/ci/env.sh"')}, False),
        (
            {"b.sh": EXPORTED},
            {"b.sh": EXPORTED.replace("three", FAR)},
            False,
        ),
        ({"b.sh": EXPORTED}, {"b.sh": EXPORTED.replace("three", ". ./more.sh")}, True),
        ({"b.sh": EXPORTED}, {"b.sh": EXPORTED.replace("three", ". .venv/bin/activate")}, True),
        ({"b.sh": EXPORTED}, {"b.sh": EXPORTED.replace("one", ". ./env.sh")}, True),
        ({"b.sh": EXPORTED}, {"b.sh": EXPORTED.replace("three", "[ -f x ] && . ./env.sh")}, True),
        (
            {"b.sh": EXPORTED.replace("three", ". ./more.sh")},
            {"more.sh": "MORE=1\nARCH=9.0\n"},
            False,
        ),
        # what is set for one command is its own
        ({"b.sh": FOR_ONE}, {"b.sh": FOR_ONE.replace("three", ". ./env.sh")}, True),
        # Python takes all names of a module
        ({"m.py": GET}, {"m.py": GET + "\n\nfrom fast import *\n"}, False),
        ({"m.py": GET}, {"m.py": GET + "\n\nfrom app.sub import *\n"}, False),
        ({"m.py": GET}, {"m.py": GET + "\n\nfrom _native import *\n"}, False),
        (
            {"m.py": GET},
            {"m.py": GET + "\n\ntry:\n    from fast import *\nexcept ImportError:\n    pass\n"},
            False,
        ),
        ({"m.py": GET}, {"m.py": GET + "\n\nfrom slow import *\n"}, True),
        ({"m.py": GET}, {"m.py": "from fast import *\n\n" + GET}, True),
        ({"m.py": GET}, {"m.py": GET + "\n\nif x:\n    from fast import *\n"}, True),
        # so does make, and CMake
        ({"Makefile": "A = 1\nARCH = 12.1\n\nall:\n\tcc\n"}, {"Makefile": MAKE_IN}, False),
        ({"Makefile": MAKE_IN.replace("ci", "env")}, {"env.mk": "ARCH ?= 9\n"}, True),
        ({"CMakeLists.txt": LISTED}, {"CMakeLists.txt": LISTED + "include(ci/env.cmake)\n"}, False),
        ({"CMakeLists.txt": LISTED}, {"CMakeLists.txt": "include(ci/env.cmake)\n" + LISTED}, True),
        ({"CMakeLists.txt": LISTED}, {"CMakeLists.txt": LISTED + "include(CTest)\n"}, True),
    ],
)
def test_what_a_file_that_is_taken_in_changes(
    miniature: MakeMiniature, fixed: Edits, later: Edits, kept: bool
) -> None:
    upstream = miniature()
    path = next(iter(fixed))
    start = {"src/c.c": C, "src/net.h": NET, "main.c": MAIN, "t.c": "int set_timeout();\n"}
    scripts = {"b.sh": BUILD, "more.sh": "MORE=1\n", "ci/env.sh": "ARCH=9.0\nunset B\n"}
    scripts |= {"env.sh": "export ARCH=9.0\n", "ci.mk": "ARCH := 9\n", "env.mk": "B = 1\n"}
    builds = {"ci/env.cmake": "set(ARCH 90)\n", "Makefile": "A = 1\nARCH = 9\n\nall:\n\tcc\n"}
    builds["CMakeLists.txt"] = LISTED.replace(" 121", "")
    scripts |= {"fast.py": "def get(x):\n    return x\n", "slow.py": "def put(x):\n    get\n"}
    scripts |= {"app/sub/__init__.py": "get = 1\n", "m.py": PY, "u.py": "from m import get\n"}
    patch = landed(upstream, {**start, **scripts, **builds}, {path: fixed[path]}, fixed)
    upstream.commit("Mean something else (#3)", later)
    upstream.commit("More (#4)", {"README": "Text.\n"})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is (Verdict.UPSTREAMED if kept else Verdict.SUPERSEDED)
    found = [each.subject for each in shown(report, EvidenceKind.UNREFERENCED)]
    assert found == ([] if kept else ["Mean something else (#3)"])


def test_which_header_changes_a_name(miniature: MakeMiniature) -> None:
    upstream = miniature()
    patch = landed(
        upstream, {"src/c.c": C, "t.c": "set_timeout();\n", "src/net.h": NET}, {"src/c.c": FIXED}
    )
    upstream.commit("Time nothing out (#3)", {"src/net.h": MACRO})
    upstream.tag("v2")
    (found,) = shown(judged(upstream, patch).report, EvidenceKind.UNREFERENCED)
    assert found.subject == "Time nothing out (#3)"
    assert found.text == (
        "src/net.h may change set_timeout, which lines of src/c.c hunk 1 use or set"
    )
