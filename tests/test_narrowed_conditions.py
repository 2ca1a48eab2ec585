"""A line that stands as it landed, under a condition that upstream wrote anew, or taken back."""

from __future__ import annotations

import pytest

from patchq.engine.judge.landing.effect import is_in_effect

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
        # taken back, at a distance
        ("f.cmake", CMAKE, "use(LINE)", "list(REMOVE_ITEM LINE 121)\nuse(LINE)"),
        ("f.cmake", CMAKE, "use(LINE)", 'list(FILTER LINE EXCLUDE REGEX "12.")\nuse(LINE)'),
    ],
)
def test_a_narrower_condition_switches_off(path: str, then: str, old: str, new: str) -> None:
    assert not _is_in_effect(path, then, old, new)


def _is_in_effect(path: str, then: str, old: str, new: str) -> bool:
    assert old in then
    without = "".join(line for line in then.splitlines(keepends=True) if "LINE" not in line)
    return is_in_effect(path, without.encode(), then.encode(), then.replace(old, new).encode())


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
        ("f.cmake", CMAKE, "if(CUDA_FOUND)", "if (CUDA_FOUND)"),
        ("f.cmake", CMAKE, "use(LINE)", "list(REMOVE_ITEM OTHER 121)\nuse(LINE)"),
        ("f.yaml", YAML, "    - run: b\n", "    - run: b\n  test:\n    if: false\n    steps: []\n"),
    ],
)
def test_a_condition_that_says_the_same_or_less_does_not(
    path: str, then: str, old: str, new: str
) -> None:
    assert _is_in_effect(path, then, old, new)
