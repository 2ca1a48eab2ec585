"""A line that stands as it landed, under a condition that upstream wrote anew, or taken back."""

from __future__ import annotations

import pytest
from judging import done_about

from patchq.engine.judge.landing.effect import Overruled

PYTHON = (
    "def f(p):\n    if p.on:\n        a(p)\n        b(p)\n        c(p)\n"
    "        LINE(p)\n        d(p)\n    elif p.off:\n        e(p)\n    else:\n"
    "        g(p)\n    return p\n"
)
ELSE = PYTHON.replace("        LINE(p)\n", "").replace("g(p)\n", "g(p)\n        LINE(p)\n")
SPREAD = PYTHON.replace("if p.on:", "if p.on and p.fast:")
C = (
    "#if VERSION >= 12\nint\nf(struct p *p)\n{\n\tif (p->on) {\n\t\ta(p);\n\t\tb(p);\n\t\tc(p);\n"
    "\t\tLINE(p);\n\t\td(p);\n\t}\n\treturn 0;\n}\n#endif\n"
)
PARTS = (
    "#if HAVE\n  # if VERSION >= 12\nint a;\nint b;\nint c;\nint d;\nint LINE;\nint e;\n"
    "# else\nint x;\n# endif\n#endif\n"
)
OTHERWISE = PARTS.replace("int LINE;\n", "").replace("int x;\n", "int x;\nint LINE;\n")
SHELL = '#!/bin/sh\nif [ "$ARCH" = arm ]; then\n\ta\n\tb\n\tc\n\tLINE\n\td\nfi\n'
CMAKE = (
    "if(CUDA_FOUND)\nset(A 1)\nset(B 2)\nset(C 3)\nlist(APPEND LINE 121)\nset(D 4)\nendif()\n"
    "use(LINE)\n"
)
YAML = (
    "jobs:\n  build:\n    if: github.event\n    steps:\n"
    "    - run: a\n    - run: LINE\n    - run: b\n"
)
FLAT = "a: 1\nLINE: 1\nb: 1\nb: 2\nc: 1\n"
LOOP = PYTHON.replace("if p.on:", "for i in p.items:").replace("elif p.off", "if p.off")
FIRST = "for i in p.items:\n    a(i)\n    b(i)\n    c(i)\n    LINE(i)\n    d(i)\n"
C_LOOP = C.replace("if (p->on)", "for (int i = 0; i < n; i++)")
RANGE = C.replace("if (p->on)", "for (auto& i : p->items)")
SHELL_LOOP = SHELL.replace('if [ "$ARCH" = arm ]; then', "for a in arm x86; do").replace(
    "fi", "done"
)
FOREACH = CMAKE.replace("if(CUDA_FOUND)", "foreach(a 90 100)").replace("endif", "endforeach")
C_ELSE = C.replace("\t\tLINE(p);\n", "").replace("\t}\n", "\t} else {\n\t\tLINE(p);\n\t}\n", 1)
ALLMAN = C.replace("(p->on) {", "(p->on)\n\t{")
SWITCH = (
    "int\nf(int op)\n{\n\tswitch (op) {\n\tcase A:\n\t\ta();\n\t\tbreak;\n\tcase ns::B:\n\t\tb();\n"
    "\t\tLINE();\n\t\tbreak;\n\tdefault:\n\t\td();\n\t}\n\treturn 0;\n}\n"
)
DEFAULT = SWITCH.replace("\t\tLINE();\n", "").replace("\t\td();\n", "\t\td();\n\t\tLINE();\n")
TRY = (
    "def f(p):\n    try:\n        a(p)\n    except (OSError, ValueError) as e:\n        b(e)\n"
    "        c(e)\n        LINE(e)\n        d(e)\n"
)
CATCH = (
    "int f()\n{\n\ttry {\n\t\ta();\n\t} catch (const std::exception& e) {\n\t\tb();\n\t\tLINE();\n"
    "\t}\n\treturn 0;\n}\n"
)
MATCH = (
    "def f(p):\n    match p.kind:\n        case 1:\n            a(p)\n        case 2 | 3:\n"
    "            b(p)\n            LINE(p)\n        case _:\n            c(p)\n"
)
ARM = '#!/bin/sh\ncase "$1" in\narm64|aarch64)\n\ta\n\tb\n\tLINE\n\tc\n\t;;\n*)\n\td\n\t;;\nesac\n'
REMARK = "a = 1\n# if the old one\nb = 1\nc = 1\nd = 1\nLINE = 1\ne = 1\n# endif\n"


@pytest.mark.parametrize(
    ("path", "then", "old", "new"),
    [
        ("f.py", PYTHON, "if p.on:", "if p.on and p.slow:"),
        ("f.py", PYTHON, "if p.on:", "if not p.on:"),
        ("f.py", PYTHON, "if p.on:", "if False and p.on:"),
        ("f.py", PYTHON, "if p.on:", "if p.new:\n        z(p)\n    elif p.on:"),
        ("f.py", PYTHON, "if p.on:", "if (\n        p.on\n        and p.slow\n    ):"),
        ("f.py", PYTHON, "if p.on:", "while p.slow:"),
        ("f.py", ELSE, "if p.on:", "if p.on or p.slow or p:"),
        ("f.py", ELSE, "elif p.off:", "elif not p.on:"),
        ("f.c", C, "(p->on)", "(p->on && p->slow)"),
        ("f.c", C, "(p->on)", "(0 && p->on)"),
        ("f.c", C, "(p->on)", "(!p->on)"),
        ("f.c", C, "VERSION >= 12", "VERSION >= 13"),
        ("f.c", C, "#if VERSION >= 12", "#if 0 && VERSION >= 12"),
        ("f.c", PARTS, "  # if VERSION >= 12", "  # if VERSION >= 13"),
        ("f.c", OTHERWISE, "# if VERSION >= 12", "# if VERSION >= 12 || ALL"),
        ("f.c", OTHERWISE, "#if HAVE", "#if HAVE && LATE"),
        ("f.sh", SHELL, "= arm ]", '= arm ] && [ -n "$X" ]'),
        ("f.sh", SHELL, "= arm ]", "= arm64 ]"),
        ("f.cmake", CMAKE, "(CUDA_FOUND)", "(CUDA_FOUND AND OLD)"),
        ("f.yaml", YAML, "if: github.event", "if: false && github.event"),
        # fewer items
        ("f.py", LOOP, "in p.items", "in p.items[1:]"),
        ("f.py", LOOP.replace("p.items", "items"), "in items", "in items[1:]"),
        ("f.py", LOOP.replace("p.items", "a(i in p)"), "in a(i in", "in b(i in"),
        ("f.py", LOOP, "in p.items", "in filter(fast, p.items)"),
        ("f.py", LOOP, "in p.items", "in (i for i in p.items if i)"),
        ("f.py", LOOP.replace("p.items", "(1, 2, 3)"), "(1, 2, 3)", "(1, 3)"),
        ("f.c", C_LOOP, "i = 0", "i = 1"),
        ("f.c", C_LOOP, "i < n", "i < n - 1"),
        ("f.cc", RANGE, ": p->items", ": p->items.first(2)"),
        ("f.sh", SHELL_LOOP, "in arm x86", "in x86"),
        ("f.cmake", FOREACH, "a 90 100", "a 90"),
        # arms of a choice
        ("f.c", C_ELSE, "(p->on)", "(p->on || p->slow)"),
        ("f.c", ALLMAN, "(p->on)", "(p->on && p->slow)"),
        ("f.c", SWITCH, "case ns::B", "case ns::C"),
        ("f.c", SWITCH, "(op)", "(op & 3)"),
        ("f.c", DEFAULT, "\tcase A:", "\tcase C:\n\t\tc();\n\t\tbreak;\n\tcase A:"),
        ("f.py", TRY, "(OSError, ValueError)", "OSError"),
        ("f.py", TRY, "    except", "    except FileNotFoundError:\n        z(p)\n    except"),
        ("f.py", TRY, "    except", "    except lib.Error:\n        z(p)\n    except"),
        ("f.cc", CATCH, "std::exception", "std::bad_alloc"),
        ("f.cc", CATCH, "\t} catch", "\t} catch (const X& e) {\n\t\tz();\n\t} catch"),
        ("f.py", MATCH, "case 2 | 3", "case 3"),
        ("f.py", MATCH, "match p.kind", "match p.other"),
        ("f.py", MATCH, "        case 1", "        case x if x:\n            z(p)\n        case 1"),
        ("f.sh", ARM, "arm64|aarch64", "arm64"),
        ("f.sh", ARM, "arm64|", "aarch64)\n\tz\n\t;;\narm64|"),
        ("f.sh", ARM, "arm64|", "arm*)\n\tz\n\t;;\narm64|"),
        ("f.sh", ARM, '"$1"', '"$TARGET"'),
        # what the line or a condition on it reads is set before it
        ("f.py", PYTHON, "    if p.on", "    p = 0\n    if p.on"),
        ("f.py", PYTHON, "        LINE", "        z(1)\n        p = None  # not now\n        LINE"),
        ("f.c", C, "\t\tLINE", "\t\tp = NULL;\n\t\tLINE"),
        ("f.sh", SHELL, "if [", "ARCH=x86\nif ["),
        # taken back, at a distance
        ("f.cmake", CMAKE, "use(LINE)", "list(REMOVE_ITEM LINE 121)\nuse(LINE)"),
        ("f.cmake", CMAKE, "use(LINE)", 'list(FILTER LINE EXCLUDE REGEX "12.")\nuse(LINE)'),
    ],
)
def test_a_narrower_condition_switches_off(path: str, then: str, old: str, new: str) -> None:
    assert old in then
    assert done_about(path, then, then.replace(old, new))


@pytest.mark.parametrize(
    ("path", "then", "old", "new"),
    [
        ("f.py", PYTHON, "if p.on:", "if p.on or p.slow:"),
        ("f.py", PYTHON, "if p.on:", "if p.slow or p.on:"),
        ("f.py", PYTHON, "if p.on:", "if (p.on):  # as ever"),
        ("f.py", SPREAD, "if p.on and p.fast:", "if (\n        p.on\n        and p.fast\n    ):"),
        ("f.py", PYTHON, "elif p.off:", "elif p.off and p.slow:"),
        ("f.py", PYTHON, "    return p", "    if p.slow:\n        z(p)\n    return p"),
        ("f.c", C, "(p->on)", "(p->on || p->slow)"),
        ("f.c", C, "(p->on) {", "( p->on ) { // as ever"),
        ("f.c", C, "\treturn 0;", "\tif (p->slow) {\n\t\tz(p);\n\t}\n\treturn 0;"),
        ("f.c", C, "#endif\n", "#endif\n#if 0\n#endif\n"),
        ("f.c", PARTS, "VERSION >= 12", "VERSION >= 12 || ALL"),
        ("f.c", OTHERWISE, "#if HAVE", "#if HAVE || ALL"),
        ("f.c", OTHERWISE, "int a;\n", "#if 0\nint z;\n#endif\nint a;\n"),
        ("f.sh", SHELL, "= arm ]", "= arm ] || slow"),
        ("f.py", LOOP, "for i in p.items", "for item in p.items"),
        ("f.py", LOOP, "for i in p.items:", "for n, i in enumerate(tqdm(p.items, desc='a'), 1):"),
        ("f.py", LOOP, "for i in p.items:", "for i, j in zip(p.others, p.items):"),
        ("f.py", LOOP, "for i in p.items:", "for i in (\n        p.items\n    ):  # all"),
        ("f.py", LOOP, "for i in p.items", "for k, i in p.items.items()"),
        ("f.py", LOOP.replace("p.items", "[1, 2]"), "[1, 2]", "(1, 2, 3)"),
        ("f.c", C_LOOP, "for (int i = 0; i < n; i++)", "for (size_t k = 0; k < n; ++k)"),
        ("f.cc", RANGE, "auto& i : p", "const auto& [i, j] : p"),
        ("f.py", FIRST, "for i in p.items", "items = p.items\nfor i in items"),
        ("f.sh", SHELL_LOOP, "for a in arm x86", "for b in arm riscv x86"),
        ("f.cmake", FOREACH, "foreach(a 90 100)", "foreach(a 90 100 121)"),
        # set to what is not known, for others, or before
        ("f.py", PYTHON, "        LINE", "        p = next(p)\n        LINE"),
        ("f.py", PYTHON, "        LINE", "        q = None\n        LINE"),
        ("f.py", PYTHON, "        LINE", "        if q:\n            p = None\n        LINE"),
        ("f.c", C.replace("LINE(p)", "LINE(q, &p)"), "\t\tLINE", "\t\tp = 0;\n\t\tLINE"),
        ("f.c", C.replace("LINE(p)", "LINE = p"), "\t\tLINE", "\t\tLINE = 0;\n\t\tLINE"),
        ("f.c", C, "\t\td(p);", "\t\tdel OTHER;\n\t\td(p);"),
        # arms of a choice
        ("f.c", C, "\t}\n", "\t} else {\n\t\tz(p);\n\t}\n"),
        ("f.c", C_ELSE, "} else {", "}\n\telse {  // as ever"),
        ("f.c", ALLMAN, "(p->on)", "(p->on || p->slow)"),
        ("f.c", SWITCH, "\tcase ns::B", "\tcase C:\n\tcase ns::B"),
        ("f.c", SWITCH, "\tcase ns::B", "\tcase C:\n\t\tc();\n\t\tbreak;\n\tcase ns::B"),
        ("f.py", TRY, "(OSError, ValueError) as e", "(ValueError, KeyError, OSError) as error"),
        ("f.py", TRY, "(OSError, ValueError)", "Exception"),
        ("f.py", TRY, "    except", "    except KeyError:\n        z(p)\n    except"),
        ("f.py", TRY, "        d(e)\n", "        d(e)\n    except KeyError:\n        z(p)\n"),
        ("f.cc", CATCH, "const std::exception& e", "std::exception const &error"),
        ("f.py", MATCH, "case 2 | 3", "case 2 | 3 | 4"),
        ("f.py", MATCH, "        case 1", "        case 4:\n            z(p)\n        case 1"),
        ("f.sh", ARM, "arm64|aarch64", "arm64 | armv9 | aarch64"),
        ("f.sh", ARM, "arm64|", "riscv*)\n\tz\n\t;;\narm64|"),
        # what looks like a directive
        ("f.py", REMARK, "if the old one", "if the newer one"),
        ("f.sh", REMARK, "if the old one", "if the newer one"),
        ("f.cmake", CMAKE, "if(CUDA_FOUND)", "if (CUDA_FOUND)"),
        ("f.cmake", CMAKE, "use(LINE)", "list(REMOVE_ITEM OTHER 121)\nuse(LINE)"),
        ("f.yaml", YAML, "    - run: b\n", "    - run: b\n  test:\n    if: false\n    steps: []\n"),
    ],
)
def test_a_condition_that_says_the_same_or_less_does_not(
    path: str, then: str, old: str, new: str
) -> None:
    assert old in then
    assert not done_about(path, then, then.replace(old, new))


@pytest.mark.parametrize(
    ("path", "then", "old", "new", "how"),
    [
        ("f.py", PYTHON, "if p.on:", "if p.slow:", Overruled.OFF),
        ("f.yaml", YAML, "    steps", "    continue-on-error: true\n    steps", Overruled.OFF),
        ("f.py", "class A:\n    " + PYTHON.replace("\n", "\n    "), "A", "B(A)", None),
        ("f.yaml", YAML, "  build:", "  other:", Overruled.SCOPE),
        ("f.yaml", YAML, "jobs:", "other:", Overruled.SCOPE),
        ("f.yaml", FLAT, "b: 2\n", "b: 2\nenabled: false\n", Overruled.OFF),
        ("f.py", PYTHON, "    return p\n", "    return p\n\n\nf = fast\n", Overruled.NAME),
        ("f.py", PYTHON, "        LINE", "        return\n        LINE", Overruled.OFF),
        ("f.c", C, "\t\td(p);", "\t\tdel LINE;\n\t\td(p);", Overruled.TAKEN_BACK),
        ("f.c", C, "\t\tLINE", "\t\tp = NULL;\n\t\tLINE", Overruled.SET_BEFORE),
    ],
)
def test_what_upstream_did_about_a_line(
    path: str, then: str, old: str, new: str, how: Overruled | None
) -> None:
    assert old in then
    assert done_about(path, then, then.replace(old, new)) is how


def test_a_function_that_became_a_method_is_in_another_scope() -> None:
    method = "class A:\n" + "".join(f"    {line}\n" for line in PYTHON.splitlines())
    assert done_about("f.py", PYTHON, method) is Overruled.SCOPE
