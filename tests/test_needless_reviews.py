"""Edits after a landing that leave its lines alone, beside those like them that do not."""

from __future__ import annotations

import pytest
from judging import edited, judged, landed, shown
from miniature import MakeMiniature, executable

from patchq.engine.judge.landing.quotes import quoted_alike
from patchq.engine.judge.landing.spellings import spelled_alike
from patchq.model.verdict import EvidenceKind, Verdict

PYTHON = (
    "def handle(kind, batch):\n    if kind == 'a':\n        return one(batch)\n"
    "    elif kind == 'b':\n        y = two(batch)\n        y.go(10)\n        return fin(y)\n"
    "    for op in batch.ops:\n        y = op.first(batch)\n        y.run(11)\n        op.last(y)\n"
    "    return other(batch, 'x y', \"it's\")\n"
)
BRANCH = PYTHON.replace("        y.go(10)\n", "        y.pad('full', 12)\n        y.go(10)\n")
LOOP = PYTHON.replace("        y.run(11)\n", "        y.pad('full', 12)\n        y.run(11)\n")
C = (
    "int handle(int kind)\n{\n\tif (kind == 1) {\n\t\tone();\n\t} else if (kind == 2) {\n"
    "\t\ttwo();\n\t\tgo(10);\n\t\tfin();\n\t}\n\treturn 0;\n}\n"
)
FENCED = C.replace("\t\tgo(10);\n", "\t\tfence(10);\n\t\tgo(10);\n")
CMAKE = "project(k)\nset(S a.cu\n  b.cu\n  c.cu)\nadd_library(k ${S})\n"
MORE = CMAKE.replace("c.cu", "c.cu gb10.cu")
TAKEN = "add_library"
ELIF = "    elif kind == 'b':"
LOOPED = "    for op in batch.ops:"


def _requoted(text: str) -> str:
    for word in ("a", "b", "full", "x y"):
        text = text.replace(f"'{word}'", f'"{word}"')
    return text


def _verdict(made: MakeMiniature, path: str, sides: tuple[str, str], later: str) -> Verdict:
    before, fixed = sides
    upstream = made()
    patch = landed(upstream, {path: before, "README": "Text.\n"}, {path: fixed})
    upstream.commit("Go on (#3)", {path: later})
    upstream.tag("v2")
    return judged(upstream, patch).report.verdict


@pytest.mark.parametrize(
    ("fixed", "old", "new", "is_needless"),
    [
        (BRANCH, ELIF, f"    elif kind == 'c':\n        return three(batch)\n{ELIF}", True),
        (BRANCH, ELIF, f'    elif kind == "c" and batch:\n        three(batch)\n{ELIF}', True),
        (BRANCH, ELIF, f"    elif kind == 'b':\n        return three(batch)\n{ELIF}", False),
        (BRANCH, ELIF, f'    elif kind == "b" and batch:\n        three(batch)\n{ELIF}', False),
        (BRANCH, ELIF, f"    elif kind != 'c':\n        return three(batch)\n{ELIF}", False),
        (BRANCH, ELIF, f"    elif other == 'c':\n        return three(batch)\n{ELIF}", False),
        (BRANCH, ELIF, f"    elif kind == C:\n        return three(batch)\n{ELIF}", False),
        (BRANCH, ELIF, f"    elif kind == 'c' or batch:\n        three(batch)\n{ELIF}", False),
        (BRANCH, ELIF, f"    elif kind == 3:\n        return three(batch)\n{ELIF}", False),
        (BRANCH, ELIF, "    elif kind == 'c':", False),
        (LOOP, LOOPED, "    ops = batch.ops\n    for op in ops:", True),
        (LOOP, LOOPED, "    ops = batch.live\n    for op in ops:", False),
        (LOOP, LOOPED, "    ops = batch.ops[1:]\n    for op in ops:", False),
        (LOOP, LOOPED, "    ops = batch.ops\n    for op in ops[1:]:", False),
        (LOOP, LOOPED, "    ops = batch.ops\n    for op in rest:", False),
    ],
)  # fmt: skip
def test_python(
    miniature: MakeMiniature, fixed: str, old: str, new: str, is_needless: bool
) -> None:
    found = _verdict(miniature, "h.py", (PYTHON, fixed), edited(fixed, (old, new)))
    assert found is (Verdict.UPSTREAMED if is_needless else Verdict.SUPERSEDED)


@pytest.mark.parametrize(
    ("condition", "is_needless"),
    [("kind == 3", True), ("kind == 2", False), ("kind >= 2", False), ("kind == TWO", False)],
)
def test_c(miniature: MakeMiniature, condition: str, is_needless: bool) -> None:
    arm = f"}} else if ({condition}) {{\n\t\tthree();\n\t}} else if (kind == 2)"
    later = edited(FENCED, ("} else if (kind == 2)", arm))
    found = _verdict(miniature, "h.c", (C, FENCED), later)
    assert found is (Verdict.UPSTREAMED if is_needless else Verdict.SUPERSEDED)


@pytest.mark.parametrize(
    ("command", "is_needless"),
    [
        ("list(REMOVE_ITEM S b.cu)", True),
        ("list(REMOVE_ITEM S a.cu b.cu)", True),
        ("list(REMOVE_ITEM S b.cu gb10.cu)", False),
        ("list(REMOVE_ITEM S ${CMAKE_SOURCE_DIR}/gb10.cu)", False),
        ('list(FILTER S EXCLUDE REGEX "gb10")', False),
    ],
)
def test_an_item_of_a_list(miniature: MakeMiniature, command: str, is_needless: bool) -> None:
    later = edited(MORE, (TAKEN, f"{command}\n{TAKEN}"))
    found = _verdict(miniature, "CMakeLists.txt", (CMAKE, MORE), later)
    assert found is (Verdict.UPSTREAMED if is_needless else Verdict.SUPERSEDED)


@pytest.mark.parametrize(
    ("path", "change", "is_needless"),
    [
        ("h.py", ("", ""), True),
        ("h.py", ('y.pad("full", 12)', 'y.pad("half", 12)'), False),
        ("h.py", ('y.pad("full", 12)', "# y.pad('full', 12)"), False),
        ("h.py", ('        y.pad("full", 12)\n', ""), False),
        # a shell reads the two differently
        ("h.sh", ("", ""), False),
    ],
)
def test_quotes(
    miniature: MakeMiniature, path: str, change: tuple[str, str], is_needless: bool
) -> None:
    later = _requoted(BRANCH).replace(*change) if change[0] else _requoted(BRANCH)
    found = _verdict(miniature, path, (PYTHON, BRANCH), later)
    assert (found is Verdict.UPSTREAMED) is is_needless


@pytest.mark.parametrize(
    ("then", "now", "are_alike"),
    [
        ("x = 'a'\n", 'x = "a"\n', True),
        ("x = f'a', b'c'\n", 'x = f"a", b"c"\n', True),
        ("x = '\"a\"'\n", "x = \"'a'\"\n", False),
        ("x = 'a\\'b'\n", 'x = "a\'b"\n', False),
        ("x = \"'a'\"\n", "x = \"'b'\"\n", False),
        ("x = '''\n$A 'a'\n'''\n", "x = '''\n$A \"a\"\n'''\n", False),
        ("x = 1  # 'a'\n", 'x = 1  # "a"\n', False),
        ("x = 'a'\n", 'x = "b"\n', False),
    ],
)
def test_what_quotes_make_alike(then: str, now: str, are_alike: bool) -> None:
    found = quoted_alike("h.py", then.encode(), now.encode())
    assert bool(found) is are_alike
    assert not found or found[0] == found[1] == now.encode()


SCRIPT = "#!/bin/sh\nset -e\nrun the first\nrun the second\n"


@pytest.mark.parametrize("is_more", [True, False])
def test_the_mode_of_a_new_file(miniature: MakeMiniature, is_more: bool) -> None:
    plain, more = {"n.sh": SCRIPT}, {"n.sh": executable(SCRIPT)}
    ours, theirs = (plain, more) if is_more else (more, plain)
    upstream = miniature()
    upstream.commit("Start (#1)", {"README": "Text.\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", ours)
    upstream.commit("Add it (#2)", theirs)
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert (report.verdict is Verdict.UPSTREAMED) is is_more, [
        (i.kind, i.text) for i in report.evidence
    ]
    if is_more:
        texts = [item.text for item in shown(report, EvidenceKind.EDITED_SINCE)]
        assert "n.sh is 100755 in v2, the patch makes it 100644" in texts


IF = "    if (n > 9)\n        return -1;\n"
BARE_C = f"int f(int n)\n{{\n    one(n);\n{IF}    two(n);\n    three(n);\n}}\n"
IN_BRACES = "    if (n > 9) {\n        return -1;\n    }\n"
JS_IF = "  if (!file) throw new Error('no file');\n"
JS = f"export function f(file) {{\n  one(file);\n{JS_IF}  two(file);\n}}\n"
JS_BRACES = "  if (!file) {\n    throw new Error('no file');\n  }\n"
PY = (
    "import os\n\nlimit = 64\n\n\nclass Pool:\n    depth = 32\n\n    def __init__(self):\n"
    "        self.width = 16\n"
)
BASES = PY.replace("class Pool:", "class Pool(Base):")
FIELDS = PY.replace("class Pool:", "@dataclass\n# Of pages.\nclass Pool:")
FLOW = (
    "on: push\njobs:\n  build:\n    runs-on: x\n    strategy:\n      matrix:\n        include:\n"
    "          - os: linux\n    steps:\n      - run: make\n      - run: make check\n"
    "      - run: make test\n"
)
CI = ".github/workflows/ci.yml"
Text = tuple[str, str]


@pytest.mark.parametrize(
    ("path", "text", "fix", "later", "is_needless"),
    [
        ("a.c", BARE_C, ("", IF), (IF, IN_BRACES), True),
        ("a.c", BARE_C, ("", IF), (IF, IN_BRACES.replace(" {\n", "\n    {\n")), True),
        ("a.c", BARE_C.replace(IF, IN_BRACES), ("", IN_BRACES), (IN_BRACES, IF), True),
        ("a.c", BARE_C, ("", IF), (IF, IN_BRACES.replace("> 9", "> 8")), False),
        ("a.c", BARE_C, ("", IF), (IF, IN_BRACES.replace("-1", "-2")), False),
        (
            "a.c",
            BARE_C,
            ("", IF),
            (IF, IN_BRACES.replace("return", "n += 1;\n        return")),
            False,
        ),
        ("a.c", BARE_C, ("", IF), (IF, f"    if (a)\n    {IN_BRACES}"), False),
        ("a.c", BARE_C, ("", IF), (IF, f"#if 0\n{IN_BRACES}#endif\n"), False),
        ("a.c", BARE_C, ("", IF), (IF, f"    return n;\n{IN_BRACES}"), False),
        ("a.js", JS, ("", JS_IF), (JS_IF, JS_BRACES), True),
        ("a.js", JS, ("", JS_IF), (JS_IF, JS_BRACES.replace("!file", "!file && !old")), False),
        ("a.py", PY, ("limit = 8", "limit = 64"), ("limit = 64", "limit: int = 64"), True),
        ("a.py", PY, ("limit = 8", "limit = 64"), ("limit = 64", "limit: int = 65"), False),
        ("a.py", PY, ("depth = 8", "depth = 32"), ("depth = 32", "depth: int | None = 32"), True),
        ("a.py", BASES, ("depth = 8", "depth = 32"), ("depth = 32", "depth: int = 32"), False),
        ("a.py", FIELDS, ("depth = 8", "depth = 32"), ("depth = 32", "depth: int = 32"), False),
        ("a.py", FIELDS, ("width = 8", "width = 16"), ("width = 16", "width: int = 16"), True),
        (
            CI,
            FLOW,
            ("", "      - run: make check\n"),
            ("- run: make c", "- name: A\n        run: make c"),
            True,
        ),
        (
            CI,
            FLOW,
            ("", "      - run: make check\n"),
            ("- run: make c", "- if: x\n        run: make c"),
            False,
        ),
        (
            CI,
            FLOW,
            ("", "      - run: make check\n"),
            ("- run: make check", "- name: A\n        run: make -n check"),
            False,
        ),
        (
            CI,
            FLOW,
            ("os: mac", "os: linux"),
            ("- os: linux", "- name: linux\n            os: mac"),
            False,
        ),
        (
            "ci.yml",
            FLOW,
            ("", "      - run: make check\n"),
            ("- run: make c", "- name: A\n        run: make c"),
            False,
        ),
    ],
)
def test_another_spelling(
    miniature: MakeMiniature, path: str, text: str, fix: Text, later: Text, is_needless: bool
) -> None:
    """``text`` is as the fix, which puts its second text for its first, leaves it."""
    before = text.replace(fix[1], fix[0])
    assert text != before
    found = _verdict(miniature, path, (before, text), edited(text, later))
    assert (found is Verdict.UPSTREAMED) is is_needless


@pytest.mark.parametrize(
    ("path", "then", "now", "written"),
    [
        ("a.c", "if (a)\nb;\n", " if (a) {\n  b;\n }\n", " if (a)\n  b;\n"),
        ("a.c", "if (a) {\nb;\n}\n", "if (a)\n b;\n", "if (a) {\n b;\n}\n"),
        ("a.c", "else\nb;\n", "else {\nb;\n}\n", "else\nb;\n"),
        ("a.c", "if (a) {\nb;\n}\n", "if (a) {\nb;\nc;\n}\n", None),
        ("a.c", "if (a)\nb;\n", "if (a) {\nb;\nc;\n}\n", None),
        ("a.c", "if (a)\nb; c;\n", "if (a) {\nb; c;\n}\n", None),
        ("a.c", "if (a)\nb;\n", "if (a) {\nb;\n} else {\nc;\n}\n", None),
        ("a.c", "if (a)\nif (b) c;\n", "if (a) {\nif (b) c;\n}\n", None),
        ("a.c", "if (a)\nb;\n", "#if 1\nif (a) {\nb;\n#endif\n}\n", None),
        ("a.c", "if (a)\nb;\nif (a) {\nb;\n}\n", "if (a) {\nb;\n}\n", None),
        ("a.py", "x = 1\n", "x: int = 1\n", "x = 1\n"),
        ("a.py", "x = 1\n", "x: int == 1\n", None),
        ("a.py", "x = 1\n", "else: x = 1\n", None),
        ("a.py", "x = 1\n", "x: f() = 1\n", None),
        ("a.py", "x: int = 1\n", "x = 1\n", None),
        ("action.yml", "- uses: a\n", "- name: A\n  uses: a\n", "- uses: a\n"),
        ("action.yml", "- uses: a\n", "- name: A\n  uses: b\n", None),
        ("action.yml", "- uses: a\n", "- name: >\n    A\n  uses: a\n", None),
        ("action.yml", "- os: a\n", "- name: A\n  os: a\n", None),
    ],
)
def test_what_another_spelling_is(path: str, then: str, now: str, written: str | None) -> None:
    found = spelled_alike(path, then.encode(), now.encode())
    assert found == (() if written is None else (then.encode(), written.encode()))
