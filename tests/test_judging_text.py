"""What of the judge works on text alone: the rules that a retirement hangs on, at their edges."""

from __future__ import annotations

import difflib
import random
from pathlib import Path

import pytest
from judging import done_about

from patchq.engine.judge.gone.absence import (
    GONE_EXACT,
    GONE_FEW_NAMES,
    GONE_NAMES,
    GONE_SHAPE,
    SMALL,
    _is_like,
)
from patchq.engine.judge.landing.conditions.nesting import nesting
from patchq.engine.judge.landing.growth import only_grew
from patchq.engine.judge.landing.surviving_lines import Survival, is_whole, survival
from patchq.engine.judge.landing.text_check import TextCheck
from patchq.engine.languages.matching import SequenceMatcher
from patchq.engine.languages.search.containment import Figures, Piece
from patchq.engine.languages.tokens import Family, Tokens, brackets, coded_lines, tokenize
from patchq.engine.series.hunks import Unit
from patchq.git.merge import MergeState
from patchq.git.objects import Entry
from patchq.git.store import open_store

BEFORE = "def serve(pool):\n    limit = 4\n    return pool.take(limit)\n"
LANDED = (
    "def serve(pool):\n    limit = pool.limit()\n    check(pool, limit)\n"
    "    return pool.take(limit)\n"
)
"""It changes one line and adds another."""

ONE, TWO = "    limit = pool.limit()\n", "    check(pool, limit)\n"


def left_of(before: str, landed: str, final: str) -> Survival:
    """What is left of a change; the quick answer to whether that is all of it is the same."""
    before_, landed_, final_ = before.encode(), landed.encode(), final.encode()
    found = survival("f.py", before_, landed_, final_)
    assert is_whole("f.py", before_, landed_, final_) is (found is Survival.WHOLE)
    return found


HEAD_OF, BODY = "def serve(pool):\n", "return pool.take(limit)\n"


@pytest.mark.parametrize(
    ("final", "left"),
    [
        (LANDED, Survival.WHOLE),
        (LANDED.replace("    ", "\t"), Survival.WHOLE),  # indented otherwise
        (LANDED.replace(TWO, "    check(pool, limit, strict=True)\n"), Survival.WHOLE),
        # the same line in another function is another line, unless code around it came along
        (LANDED.replace(TWO, "") + f"\n\ndef other(pool, limit):\n{TWO}", Survival.PART),
        (LANDED.replace(TWO, "") + f"\n\n{TWO.lstrip()}", Survival.PART),
        (f"{HEAD_OF}    pass\n\n\ndef other(pool):\n{ONE}{TWO}    {BODY}", Survival.NONE),
        (f"def renamed(pool):\n{ONE}{TWO}    {BODY}", Survival.WHOLE),
        (LANDED.replace(TWO, ""), Survival.PART),
        (LANDED.replace(ONE, ""), Survival.PART),
        (LANDED.replace(ONE, "    limit = 4\n"), Survival.PART),  # its old line is back
        (LANDED.replace(TWO, "    raise SystemExit\n"), Survival.PART),
        (BEFORE, Survival.NONE),
        ("", Survival.NONE),
    ],
)
def test_what_is_left_of_a_change(final: str, left: Survival) -> None:
    assert left_of(BEFORE, LANDED, final) is left


@pytest.mark.parametrize(
    ("final", "left"),
    [
        (LANDED.replace(TWO, f"    if fast():\n    {TWO}"), Survival.REWRITTEN),
        (LANDED.replace(ONE, f"    if fast():\n    {ONE}"), Survival.REWRITTEN),
        (
            LANDED.replace(TWO, f"    if fast():\n        pass\n    else:\n    {TWO}"),
            Survival.REWRITTEN,
        ),
        (LANDED.replace(TWO, "    check(pool, limit) if fast() else None\n"), Survival.REWRITTEN),
        (LANDED.replace(TWO, f"    with lock:\n    {TWO}"), Survival.REWRITTEN),
        (LANDED.replace(TWO, f"    for _ in (1, 2):\n    {TWO}"), Survival.REWRITTEN),
        (LANDED.replace(TWO, f"    while fast():\n    {TWO}"), Survival.REWRITTEN),
        (LANDED.replace(TWO, f"    if fast():\n        return\n{TWO}"), Survival.REWRITTEN),
        (LANDED.replace(TWO, f"    return None\n{TWO}"), Survival.REWRITTEN),
        (LANDED.replace(TWO, f"    if fast():\n        run()\n{TWO}"), Survival.WHOLE),
    ],
)
def test_a_line_that_was_put_under_a_condition(final: str, left: Survival) -> None:
    assert left_of(BEFORE, LANDED, final) is left


def test_a_line_below_fewer_conditions_than_before() -> None:
    under = LANDED.replace(TWO, f"    if fast():\n    {TWO}")
    found = left_of(BEFORE, under, LANDED)
    assert found is not Survival.WHOLE  # its own condition went
    before = BEFORE.replace("    return", "    if fast():\n        return")
    landed = before.replace("        return", f"    {TWO}        return")
    final = LANDED.replace(ONE, "    limit = 4\n")
    assert left_of(before, landed, final) is Survival.WHOLE


def test_a_comment_depends_on_no_condition() -> None:
    noted = LANDED.replace(TWO, "    # check the pool and its limit\n")
    final = noted.replace("    # check", "    if fast():\n        # check")
    assert left_of(BEFORE, noted, final) is Survival.WHOLE


C_BEFORE = "int serve(struct pool *p)\n{\n\tload(p);\n\treturn take(p);\n}\n"
C_LINE = "\tcheck(p, limit);\n"


def left_of_line(path: str, line: str, final: str) -> Survival:
    """What is left of one line that was added to a file, if later that reads ``final`` there."""
    text = {
        "c": (C_BEFORE, "\tload(p);\n"),
        "py": (BEFORE, "    limit = 4\n"),
        "sh": ("echo a\necho b\necho c\n", "echo b\n"),
        "cmake": ("project(x)\nadd_library(a b)\ninstall(a)\n", "add_library(a b)\n"),
        "txt": ("foo==1\nbar==1\nzip==2\n", "bar==1\n"),
        "yaml": ("- run: a\n- run: b\n- run: c\n", "- run: b\n"),
    }[path.partition(".")[2]]
    before, after = text
    sides = (before, *(before.replace(after, after + x) for x in (line, final)))
    return survival(path, *(side.encode() for side in sides))


@pytest.mark.parametrize(
    ("path", "line", "final"),
    [
        ("f.c", C_LINE, f"\tbreak;\n\tcase 4:\n{C_LINE}"),
        ("f.c", C_LINE, f"\tgoto out;\n{C_LINE}"),
        ("f.c", C_LINE, f"\twhile (0)\n{C_LINE}"),
        ("f.c", C_LINE, f"\tfor (i = 0; i < n; i++)\n\t{C_LINE}"),
        ("f.c", C_LINE, '\tlog("check(p, limit);");\n'),
        ("f.c", C_LINE, "\t(void)sizeof(check(p, limit));\n"),
        ("f.c", C_LINE, "\tassert(check(p, limit));\n"),
        ("f.c", C_LINE, "\tp->done || check(p, limit);\n"),
        ("f.c", C_LINE, "\tcheck(p, limit, false);\n"),
        ("f.c", C_LINE, "\tcheck_fast(p, limit);\n"),
        ("f.c", C_LINE, "\tcheck(p, limit & flag);\n"),
        ("f.c", C_LINE, "\tcheck(p, (char)limit);\n"),
        ("f.c", "\tsize = 63;\n", "\tsize = 63 * 1024;\n"),
        ("f.c", "\tsize = limit;\n", "\tsize = limit * 0;\n"),
        ("f.c", "\tsize = -1;\n", "\tsize = -1 + 1;\n"),
        ("f.c", "\tif (size < 0) stop(p);\n", "\tif (size < 0 - 100) stop(p);\n"),
        ("f.c", "\tsize = limit;\n", "\tsize = limit;\n\tsize = asked;\n"),
        ("f.c", C_LINE, f"\tcheck(p); // but not: \\\n{C_LINE}"),
        ("f.py", "    fits = pool.fits\n", "    fits = pool.fits or True\n"),
        ("f.py", "    fits = pool.fits\n", "    fits = pool.fits, 1\n"),
        ("f.sh", "set -eu\n", "set -eu; set +e\n"),
        ("f.sh", "set -eu\n", "set -eu\nset +e\n"),
        ("f.sh", 'check "$x"\n', 'check "$x" || true\n'),
        ("f.cmake", "list(APPEND S a.cu)\n", "list(APPEND S a.cu)\nlist(REMOVE_ITEM S a.cu)\n"),
        ("f.cmake", "list(APPEND S a.cu)\n", "if(FALSE)\nlist(APPEND S a.cu)\nendif()\n"),
        ("f.txt", "car==1.0\n", 'car==1.0; sys_platform == "win32"\n'),
        ("f.yaml", "- run: check\n", "- run: check\n  if: false\n"),
        ("f.yaml", "- run: check\n", "- if: false\n  run: check\n"),
        ("f.yaml", "- run: check\n", "- run: check\n  continue-on-error: true\n"),
    ],
)
def test_a_line_that_may_do_nothing_any_more(path: str, line: str, final: str) -> None:
    """Its words are all there; whether the fix is, the text does not say."""
    assert left_of_line(path, line, final) is not Survival.WHOLE


@pytest.mark.parametrize(
    ("path", "line", "final"),
    [
        ("f.c", C_LINE, "\tcheck(p, limit, now);\n"),
        # a condition that is spread over lines is none more
        ("f.c", "\tif (p->on) check(p);\n", "\tif (p->on)\n\t\tcheck(p);\n"),
        ("f.c", "\tif (p->on) { check(p); }\n", "\tif (p->on) {\n\t\tcheck(p);\n\t}\n"),
        ("f.py", "    if pool.on: check(pool)\n", "    if pool.on:\n        check(pool)\n"),
        ("f.c", C_LINE, "\tcheck(p,\n\t      limit);\n"),
        ("f.c", C_LINE, "\tcheck(p, limit); /* mind it */\n"),
        ("f.c", C_LINE, f"\ttrace(p);\n{C_LINE}\ttrace(p);\n"),
        ("f.py", "    check(pool, limit)\n", "    check(\n        pool,\n        limit,\n    )\n"),
        ("f.py", "    from a.b import check\n", "    from a.b import check, stop\n"),
        ("f.py", "    from a.b import check\n", "    from a.c.b import check\n"),
        ("f.cmake", "list(APPEND S a.cu)\n", "list(APPEND S a.cu)\nlist(APPEND S b.cu)\n"),
    ],
)
def test_a_line_that_does_what_it_did(path: str, line: str, final: str) -> None:
    assert left_of_line(path, line, final) is Survival.WHOLE


@pytest.mark.parametrize(
    ("line", "grown", "only"),
    [
        ("f(b)", "f(a, b)", True),
        ("f(a)", "f(a, b, g(c))", True),
        ("f(a, c)", "f(a, b, c)", True),
        ("f(a)", "f(a, b=True)", True),
        ("f(a)", "f(a, b=False)", False),
        ("f(b)", "f(0, b)", False),
        ("f(b)", "f(a + b)", False),
        ("f(b)", "f(g(b))", False),
        ("f(a, c)", "f(a, b c)", False),
        ("f(a)", "f(a), b", False),
        ("f(a[0])", "f(a, b[0])", False),
        ("f(a)", "f(a, b) + g(c)", False),
        ("f(a, b)", "f(x, a, b, c)", True),
        ("f(a, b)", "f(x, a + c, b)", False),
        ("f(a, b)", "f(a)", False),
        ("import a", "import a, b", True),
        ("import a", "import b, a", True),
    ],
)
def test_what_only_grew(line: str, grown: str, only: bool) -> None:
    assert only_grew(Family.PYTHON, line.encode(), grown.encode()) is only


def under(head: str, tail: str) -> str:
    """C with a line that landed, and with something put some lines above and below it."""
    lines = ["int serve(struct pool *p)\n", "{\n", "\tload(p);\n", "\tmark(p);\n", C_LINE]
    return "".join([*lines[:2], head, *lines[2:], "\tdone(p);\n", tail, "\treturn 0;\n", "}\n"])


@pytest.mark.parametrize(
    ("head", "tail", "runs"),
    [
        ("", "", True),
        ("\ttrace(p);\n", "\ttrace(p);\n", True),
        ("\tif (p)\n\t\treturn 1;\n", "", True),
        ("", "\tif (p)\n\t\ttrace(p);\n", True),
        ("#if 0\n", "#endif\n", False),
        ("#ifdef NEVER\n", "#endif\n", False),
        ("\t/*\n", "\t*/\n", False),
        ("\treturn 0;\n", "", False),
        ("\tswitch (p->n) {\n\tcase 3:\n", "\t}\n", False),
        ("\ton_idle(^{\n", "\t});\n", False),
        ("\tinit(&(struct s){ 1, 2 });\n", "", True),
    ],
)
def test_a_line_that_stands_and_may_not_run(head: str, tail: str, runs: bool) -> None:
    """Upstream put something around it, so far away that a merge sees nothing of it."""
    found = done_about("f.c", under("", ""), under(head, tail), C_LINE)
    assert (found is None) is runs


@pytest.mark.parametrize(
    ("path", "then", "now"),
    [
        (
            "f.yaml",
            "b:\n  steps:\n  - x\n  - y\n  - LINE\n",
            "b:\n  old:\n  - x\n  - y\n  - LINE\n",
        ),
        (
            "f.yaml",
            "jobs:\n  a:\n    steps:\n    - run: x\n    - run: LINE\n",
            "jobs:\n  a:\n    if: false\n    steps:\n    - run: x\n    - run: LINE\n",
        ),
        (
            "f.yaml",
            "jobs:\n  steps:\n  - run: LINE\n    with:\n      - x\n      - y\n",
            "jobs:\n  steps:\n  - run: LINE\n    with:\n      - x\n      - y\n    if: false\n",
        ),
        ("f.json", '{\n  "a": {\n    "LINE": 1\n  }\n}\n', '{\n  "z": {\n    "LINE": 1\n  }\n}\n'),
        ("f.toml", "[a]\nx = 1\ny = 2\nz = 3\nLINE = 4\n", "[b]\nx = 1\ny = 2\nz = 3\nLINE = 4\n"),
        ("f.ini", "[a]\nx = 1\nLINE = 4\n", "[a]\n[b]\nx = 1\nLINE = 4\n"),
        (
            "f.py",
            "class Conn:\n    def open(self):\n        LINE()\n",
            "class Conn:\n    pass\nclass Old:\n    def open(self):\n        LINE()\n",
        ),
        ("f.sh", "a\nb\nc\nLINE\nd\n", ": <<'END'\na\nb\nc\nLINE\nd\nEND\n"),
        ("f.sh", "a\nb\nc\nLINE\nd\n", "case $x in old)\na\nb\nc\nLINE\nd\n;; esac\n"),
        ("f.cmake", "a()\nb()\nc()\nLINE()\n", "#[[\na()\nb()\nc()\nLINE()\n]]\n"),
        (
            "f.cmake",
            "a()\nb()\nc()\nLINE()\n",
            "function(old)\na()\nb()\nc()\nLINE()\nendfunction()\n",
        ),
        ("f.c", "f();\nset_time(fd, LINE);\n", "f();\nset_time(fd, LINE);\nset_time(fd, 0);\n"),
    ],
)
def test_a_line_that_stands_under_another_name(path: str, then: str, now: str) -> None:
    """What a line means, its heading says."""
    assert done_about(path, then, now)
    assert not done_about(path, then, f"{then}\nmore\n")


@pytest.mark.parametrize(
    ("path", "then", "now"),
    [
        ("f.py", "def old():\n    x()\n    LINE()\n", "def renamed():\n    x()\n    LINE()\n"),
        (
            "f.py",
            "class Old:\n    def open(self):\n        LINE()\n",
            "class New:\n    def open(self):\n        LINE()\n",
        ),
        (
            "f.yaml",
            "jobs:\n  a:\n    steps:\n    - run: LINE\n",
            "jobs:\n  a:\n    steps:\n    - if: x\n      run: y\n    - run: LINE\n",
        ),
        (
            "f.yaml",
            "jobs:\n  a:\n    steps:\n    - run: LINE\n",
            "jobs:\n  b:\n    if: false\n    steps: []\n  a:\n    steps:\n    - run: LINE\n",
        ),
    ],
)
def test_a_line_that_stands_under_the_same_names(path: str, then: str, now: str) -> None:
    assert not done_about(path, then, now)


SHELL = "build() {\n\tprepare\n\tmake\n\tLINE\n\tstrip app\n}\n\nbuild\nexit 0\n"


def in_shell(*changes: tuple[str, str]) -> str:
    text = SHELL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize(
    ("changes", "runs"),
    [
        ([("\tprepare", '\ttest -n "$OLD" && {\n\tprepare'), ("\tstrip", "\t}\n\tstrip")], False),
        ([("\tprepare", "\tnew || {\n\tprepare"), ("\tstrip", "\t} >log\n\tstrip")], False),
        ([("\tprepare", "\t( false && prepare"), ("\tstrip", "\t)\n\tstrip")], False),
        ([("\tprepare", "\tif false; then\n\tprepare"), ("\tstrip", "\tfi\n\tstrip")], False),
        ([("build() {", "old() {\n\tone\n}\n\nexec ninja\nbuild() {")], False),
        ([("build() {", "exit 0\nold() {\n\tone\n}\n\nbuild() {")], False),
        ([("\tprepare", "\tninja; return\n\tprepare")], False),
        ([("\tmake\n", "\tmake &&\n")], False),
        ([("\tprepare", "\t{\n\tprepare"), ("\tstrip", "\t} >log\n\tstrip")], True),
        ([("\tprepare", "\ttest -d out && { rm -r out; }\n\tprepare")], True),
        ([("\tprepare", "\tset -- $(\n\tls\n\t)\n\tlist=(\n\ta\n\t)\n\tprepare")], True),
        (
            [
                (
                    "\tprepare",
                    "\tcase $1 in\n\ta) exit 1 ;;\n\tb)\n\t\texit 2\n\t\t;;\n\tesac\n\tprepare",
                )
            ],
            True,
        ),
        ([("\tprepare", "\ttest -d out ||\n\t\texit 1\n\tprepare")], True),
        ([("\tprepare", "\tif old; then\n\t\texit 1\n\tfi\n\tprepare")], True),
        ([("\tprepare", "\tif old; then\n\texit 1\n\tfi\n\tprepare")], True),
        ([("build() {", "old() {\n\tone; return\n}\n\nexec 2>log\nbuild() {")], True),
        ([("build() {", "old() {\n\texit 1\n}\n\nbuild() {")], True),
        ([("\tprepare", "\techo 'it { is' # or ( not\n\tprepare")], True),
    ],
)
def test_a_line_in_the_groups_of_a_shell(changes: list[tuple[str, str]], runs: bool) -> None:
    assert (done_about("f.sh", SHELL, in_shell(*changes)) is None) is runs


@pytest.mark.parametrize("path", ["CMakeLists.txt", "f.cmake"])
def test_blocks_of_cmake_may_be_written_in_any_way(path: str) -> None:
    text = "project(x)\na()\nb()\nc()\nLINE()\nd()\n"
    for head, tail, runs in (
        ("IF(NEW)\nx()\nElse ()\n", "ENDIF()\n", False),
        ("foreach (x\n  IN LISTS NOTHING)\n", "endforeach ()\n", False),
        ("return()\n", "", False),
        ("block()\n", "endblock()\n", True),
        ('message("if(")\n', "", True),
        ("if(NEW)\nreturn()\nendif()\n", "", True),
    ):
        final = text.replace("a()\n", f"{head}a()\n").replace("d()\n", f"{tail}d()\n")
        assert (done_about(path, text, final) is None) is runs, head


@pytest.mark.parametrize(
    ("path", "then", "now"),
    [
        (
            "f.yaml",
            "env:\n  LINE: 1\n  other: 2\njobs: 3\n",
            "env-old:\n  LINE: 1\n  other: 2\njobs: 3\n",
        ),
        ("f.toml", "[a]\nx = 1\nLINE = 4\n[b]\n", "[a]\n[a.unused]\nLINE = 4\n[b]\n"),
        (
            "f.py",
            "class Conn:\n    def open(self):\n        LINE(1)\n\n    def e(self):\n        x()\n",
            "class Old:\n    def open(self):\n        LINE(1, 2)\n\n\nclass Conn:\n    x = 1\n",
        ),
    ],
)
def test_an_edited_line_stands_under_its_names_too(path: str, then: str, now: str) -> None:
    without = "".join(x for x in then.splitlines(keepends=True) if "LINE" not in x)
    sides = (side.encode() for side in (without, then, now))
    assert survival(path, *sides) is not Survival.WHOLE


CHECKED = LANDED.replace(TWO, "    if not pool.fits(limit > 4):\n        stop(pool, limit)\n")
SPLIT = "    if not (\n        pool.fits(\n            limit > 4\n        )\n    ):\n"
SPLIT_STOP = "        stop(\n            pool, why=limit\n        )\n"
MANY_LINES = LANDED.replace(TWO, SPLIT + SPLIT_STOP)


@pytest.mark.parametrize(
    ("final", "left"),
    [
        (MANY_LINES, Survival.REWRITTEN),
        (MANY_LINES.replace("why=limit", "why=1"), Survival.REWRITTEN),
        (MANY_LINES.replace(SPLIT, "    if (\n        pool.many() > 4\n    ):\n"), Survival.PART),
        (MANY_LINES.replace("if not (", "if (pool,"), Survival.PART),
        (MANY_LINES.replace("limit > 4", "limit < 4"), Survival.PART),
        (MANY_LINES.replace("limit > 4", "# limit > 4"), Survival.PART),
        (MANY_LINES.replace(SPLIT_STOP, "        pass\n"), Survival.PART),
        (MANY_LINES.replace(SPLIT_STOP, "        # stop(pool,\n        pass\n"), Survival.PART),
        (MANY_LINES.replace(ONE, "    limit = 4\n"), Survival.PART),
        (LANDED.replace(TWO, ""), Survival.PART),
        (
            LANDED.replace(TWO, "") + f"\n\ndef other(pool, limit):\n{SPLIT}{SPLIT_STOP}",
            Survival.PART,
        ),
    ],
)
def test_lines_that_were_rewritten(final: str, left: Survival) -> None:
    """What they say is in the code in their place; else they were taken out, for all we know."""
    assert left_of(BEFORE, CHECKED, final) is left


def test_a_comment_that_went_was_no_code() -> None:
    landed = CHECKED.replace("    if not", "    # mind the size of the pool\n    if not")
    found = left_of(BEFORE, landed, CHECKED)
    assert found is Survival.REWRITTEN


WRAPPED = (
    "def serve(pool):\n    limit = 4\n    if pool.is_open():\n        return pool.take(limit)\n"
)
"""It adds a line, and indents another."""


@pytest.mark.parametrize(
    ("final", "left"),
    [
        (WRAPPED, Survival.WHOLE),
        (f"# more\n{WRAPPED}", Survival.WHOLE),
        (WRAPPED.replace("limit)", "limit, now=True)"), Survival.WHOLE),
        (WRAPPED.replace("        return", "    return"), Survival.PART),
        (WRAPPED.replace("        return pool.take(limit)\n", "        pass\n"), Survival.PART),
        (
            WRAPPED.replace("        return pool.take(limit", "    return pool.take(1"),
            Survival.PART,
        ),
        (WRAPPED.replace("    if pool.is_open():\n", ""), Survival.PART),
    ],
)
def test_what_is_left_of_a_change_that_indents(final: str, left: Survival) -> None:
    assert left_of(BEFORE, WRAPPED, final) is left


def test_nothing_is_left_to_be_seen_of_a_change_that_only_takes_out() -> None:
    after = BEFORE.replace("    limit = 4\n", "")
    assert left_of(BEFORE, after, after) is Survival.NONE


STEPS = [f"    step_{number}(pool)\n" for number in range(10)]
GROWN_LINE = "    check(pool, limit, strict=True)\n"


@pytest.mark.parametrize(
    ("at", "left"),
    [(2, Survival.WHOLE), (1, Survival.NONE), (8, Survival.WHOLE), (9, Survival.NONE)],
)
def test_how_far_away_a_line_may_have_grown(at: int, left: Survival) -> None:
    """Three lines up or down: farther off it is another one."""
    landed = HEAD_OF + "".join([*STEPS[:5], TWO, *STEPS[5:]])
    final = HEAD_OF + "".join([*STEPS[:at], GROWN_LINE, *STEPS[at:]])
    assert left_of(HEAD_OF + "".join(STEPS), landed, final) is left


@pytest.mark.parametrize(
    ("final", "left"),
    [
        ([*STEPS, TWO], Survival.NONE),
        ([*STEPS[:5], *STEPS[6:], TWO, STEPS[5]], Survival.WHOLE),
        ([*STEPS[:4], *STEPS[5:], STEPS[4], TWO], Survival.WHOLE),
    ],
)
def test_a_line_that_moved_with_the_code_around_it(final: list[str], left: Survival) -> None:
    """The same line among other code is another line."""
    landed = HEAD_OF + "".join([*STEPS[:5], TWO, *STEPS[5:]])
    assert left_of(HEAD_OF + "".join(STEPS), landed, HEAD_OF + "".join(final)) is left


@pytest.mark.parametrize(
    ("line", "left"),
    [("f()", Survival.NONE), ("go()", Survival.REWRITTEN), ("run()", Survival.REWRITTEN)],
)
def test_a_short_line_that_was_joined_with_another(line: str, left: Survival) -> None:
    """Four characters are looked for in longer lines: fewer may be a part of anything."""
    landed = HEAD_OF + "".join([*STEPS[:5], f"    {line}\n", *STEPS[5:]])
    joined = landed.replace(f"    {line}", f"    check(pool, limit=pool.limit); {line}")
    assert left_of(HEAD_OF + "".join(STEPS), landed, joined) is left


def test_a_line_that_moved_with_the_first_of_the_file() -> None:
    steps = [step.lstrip() for step in STEPS]
    landed = [steps[0], TWO.lstrip(), *steps[1:]]
    moved = [*steps[1:], steps[0], TWO.lstrip()]
    assert left_of("".join(steps), "".join(landed), "".join(moved)) is Survival.WHOLE


@pytest.mark.parametrize(
    ("at", "left"),
    [(2, Survival.PART), (1, Survival.WHOLE), (7, Survival.PART), (8, Survival.WHOLE)],
)
def test_how_near_the_old_line_is_back(at: int, left: Survival) -> None:
    old = "    limit = 4\n"
    before, landed = (HEAD_OF + "".join([*STEPS[:5], x, *STEPS[5:]]) for x in (old, ONE))
    back = [*STEPS[:5], ONE, *STEPS[5:]]
    back.insert(at if at <= 5 else at + 1, old)
    assert left_of(before, landed, HEAD_OF + "".join(back)) is left


@pytest.mark.parametrize(("at", "left"), [(2, Survival.REWRITTEN), (3, Survival.WHOLE)])
@pytest.mark.parametrize("down", [False, True])
def test_how_far_the_lines_go_that_one_was_joined_with(at: int, left: Survival, down: bool) -> None:
    """Three lines up or down, as everywhere."""
    words = [f'    "word_{n}"\n' for n in range(4)]
    call = ["    log(\n", *words, "    )\n"]
    number = at if down else len(call) - at
    added = [*call[:number], '    "landed"\n', *call[number:]]
    joined = " ".join(map(str.strip, added))
    before, landed, final = (
        LANDED.replace(TWO, text)
        for text in ("".join(call), "".join(added), f"    {joined}\n    trace(pool)\n")
    )
    assert left_of(before, landed, final) is left


def test_all_that_grew_from_several_lines() -> None:
    """One near line that none of them became changes nothing."""
    final = LANDED.replace(TWO, f"    log.debug('begin', exc_info=None)\n{GROWN_LINE}")
    assert left_of(BEFORE, LANDED, final) is Survival.WHOLE


@pytest.mark.parametrize(
    ("exact", "shape", "names", "small", "like"),
    [
        (GONE_EXACT, 0, 0, True, True),
        (0, 0, GONE_FEW_NAMES, True, True),
        # the shape of a line says nothing
        (GONE_EXACT - 0.01, 1, GONE_FEW_NAMES - 0.01, True, False),
        (GONE_EXACT, 0, 0, False, True),
        (0, GONE_SHAPE, 0, False, True),
        (0, 0, GONE_NAMES, False, True),
        (GONE_EXACT - 0.01, GONE_SHAPE - 0.01, GONE_NAMES - 0.01, False, False),
    ],
)
def test_code_that_may_be_there_yet(
    exact: float, shape: float, names: float, small: bool, like: bool
) -> None:
    words = tuple(f"word{number}".encode() for number in range(SMALL - 1 if small else SMALL))
    piece = Piece(_tokens(words), lambda _name: 1.0)
    assert _is_like(piece, Figures(exact, shape, names)) is like


def _tokens(words: tuple[bytes, ...]) -> Tokens:
    return Tokens(words, tuple(range(len(words))))


HEAD, TAIL = "a\nb\nc\n", "x\ny\nz\n"
OLD, NEW = f"{HEAD}old\n{TAIL}", f"{HEAD}new\n{TAIL}"


@pytest.mark.parametrize(
    ("before", "after", "ours", "state"),
    [
        (OLD, NEW, f"more\n{OLD}", MergeState.APPLIES),
        (OLD, NEW, f"more\n{NEW}", MergeState.EMPTY),
        (OLD, NEW, OLD + NEW, MergeState.UNKNOWN),
        (OLD, NEW, OLD + OLD, MergeState.NOT_EMPTY),
        (OLD, NEW, NEW + NEW, MergeState.UNKNOWN),
        (OLD, NEW, "other\n", MergeState.NOT_EMPTY),
        # what stands twice in the patch's own file has no certain place in another
        (f"{OLD}-\n{OLD}", f"{NEW}-\n{OLD}", OLD, MergeState.NOT_EMPTY),
        (f"{OLD}-\n{NEW}", f"{NEW}-\n{NEW}", OLD, MergeState.UNKNOWN),
    ],
)
def test_a_glance_at_the_text(
    tmp_path: Path, before: str, after: str, ours: str, state: MergeState
) -> None:
    store = open_store(tmp_path / "store")
    old, new, here = (
        Entry("100644", store.objects.write_blob(text.encode())) for text in (before, after, ours)
    )
    unit = Unit("f", (1,), {"f": old}, {"f": new})
    assert TextCheck(store.objects).state(unit, {"f": here}) is state


def lines_with(**changed: str) -> str:
    """200 lines, some of which are others."""
    return "".join(changed.get(f"at_{number}", f"{number}") + "\n" for number in range(200))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({}, {"at_5": "far above", "at_190": "far below"}, True),
        ({"at_100": "here"}, {"at_100": "here", "at_5": "far"}, True),
        ({}, {"at_96": "near"}, False),
        ({}, {"at_104": "near"}, False),
        ({}, {"at_100": "here"}, False),
        # the runs of lines next to it were edited, or stand in the file once more
        ({}, {"at_87": "a run"}, False),
        ({"at_87": "a run"}, {"at_87": "a run", "at_5": "far"}, True),
        ({"at_87": "a run"}, {"at_87": "a run", "at_80": "behind it"}, False),
        ({"at_199": "85\n86\n87\n88\n89"}, {}, False),
    ],
)
def test_where_the_surroundings_of_a_hunk_are_the_same(
    tmp_path: Path, one: dict[str, str], other: dict[str, str], same: bool
) -> None:
    store = open_store(tmp_path / "store")
    old, new, here, there = (
        Entry("100644", store.objects.write_blob(lines_with(**changed).encode()))
        for changed in ({}, {"at_100": "new"}, one, other)
    )
    unit = Unit("f", (1,), {"f": old}, {"f": new})
    texts = TextCheck(store.objects)
    around = [texts.surroundings(unit, {"f": entry}) for entry in (here, there)]
    assert (around[0] == around[1]) is same
    assert texts.surroundings(unit, {"f": Entry("100755", here.oid)}) != around[0]


def test_below_which_line_each_stands() -> None:
    lines = (
        *("class A:", "    def f(", "        self,", "    ):", "        x = 1", "# a comment", ""),
        *("        y = [", "            1,", "        ]", "        z", "b:", "- c", "  d: 1"),
    )
    below = {
        lines[at]: lines[to] for at, to in enumerate(nesting(map(str.encode, lines))) if to >= 0
    }
    assert below == {
        "    def f(": "class A:",
        "        self,": "    def f(",
        "    ):": "class A:",
        "        x = 1": "    def f(",
        "        y = [": "    def f(",
        "            1,": "        y = [",
        "        ]": "    def f(",
        "        z": "    def f(",
        "- c": "b:",
        "  d: 1": "b:",
    }


PIECES = (
    *("if x:", "  ", "\n", "\n", "#", "//", "/*", "*/", '"', "'", '"""', "'''", "\\", "r", "\t"),
    *("(", ")", "[", "]", "{", "}", "name", "1.5e", "\xe9", "\r\n", "\f", "*", "/", "=", ";"),
)


@pytest.mark.parametrize("kind", Family)
def test_lines_with_code_are_those_on_which_tokens_begin(kind: Family) -> None:
    chance = random.Random(1)
    for _ in range(400):
        text = "".join(chance.choices(PIECES, k=60)).encode("latin-1")
        tokens = tokenize(kind, text)
        lines = coded_lines(kind, text)
        assert {number for number, line in enumerate(lines) if line} == set(tokens.lines), text
        if kind is Family.PYTHON:
            found = [bracket for line in lines for bracket in brackets(line)]
            assert found == [token for token in tokens.texts if token in b"()[]{}"], text


def test_the_compiled_matcher_gives_what_difflib_gives() -> None:
    chance = random.Random(1)
    for size in (5, 40, 300):
        for _ in range(40):
            old = [b"%d" % chance.randrange(size // 3 + 2) for _ in range(size)]
            new = [line if chance.random() < 0.8 else b"new" for line in old]
            del new[:: chance.randrange(5, 9)]
            ours, plain = SequenceMatcher(None, old, new), difflib.SequenceMatcher(None, old, new)
            assert [tuple(code) for code in ours.get_opcodes()] == plain.get_opcodes()
            assert ours.ratio() == plain.ratio()
            assert ours.quick_ratio() == plain.quick_ratio()
