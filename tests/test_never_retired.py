"""Upstreams made to have a fix retired that is still needed: none may succeed.

Each takes the code or the landed lines away in a way that looks like an end, and keeps them alive
in another: under a made name, in another language, switched off, or in a place nobody looks at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from textwrap import indent

import pytest
from judging import judged
from miniature import Edits, MakeMiniature, Miniature
from test_absence import BODY, FIX, HEAD, LAST, OTHERS, PATH, TEXT, WITHOUT, edited

from patchq.model.verdict import ACTIONS, Action, EvidenceKind, Verdict


def kept(upstream: Miniature, patch: bytes) -> Verdict:
    verdict = judged(upstream, patch).report.verdict
    assert ACTIONS[verdict] is not Action.DROP, verdict
    return verdict


# The code is gone from its place, and lives on

REWRITTEN = (
    "    flat = hidden.reshape(-1, hidden.shape[-1])\n"
    "    return fused_route(flat, router.weight, topk)\n"
)
"""Another body for the function, which has nothing of the old one."""

C_PATH = "src/pages.c"
C_BODY = (
    "static int\ntake_pages(struct pool *pool, int count)\n{\n"
    "\tstruct page *page = pool->first;\n\tint taken = 0;\n\n"
    "\twhile (page != NULL && taken < count) {\n"
    "\t\tif (page->users == 0 && !page->pinned)\n"
    "\t\t\tpage->owner = pool->owner;\n"
    "\t\ttaken += page->size;\n\t\tpage = page->next;\n\t}\n"
    "\tpool->left -= taken;\n\treturn taken;\n}\n\n"
)
C_HEAD = '#include "pool.h"\n\nint\nopen_pool(struct pool *pool)\n{\n\treturn pool->depth;\n}\n\n'
C_TAIL = "void\nclose_pool(struct pool *pool)\n{\n\tfree(pool->first);\n}\n"
C_TEXT, C_WITHOUT = C_HEAD + C_BODY + C_TAIL, C_HEAD + C_TAIL
C_FIX = ("page->users == 0", "page->users <= 0")


def names_changed(text: str) -> str:
    for number, name in enumerate(("taken", "count", "page", "pool")):
        text = re.sub(rf"(?<![\w>])\b{name}\b", f"v{number}", text)
    return text


MACRO = "#define DEFINE_TAKER(name) \\\n" + "".join(
    f"{line} \\\n" for line in C_BODY.replace("take_pages", "name##_pages").rstrip("\n").split("\n")
)

GONE: Mapping[str, Edits] = {
    "the class binds the name to another function": {
        PATH: WITHOUT + "class Router:\n    {}\n    route_tokens = fast_route\n",
    },
    "the name is set on the module": {
        PATH: WITHOUT.replace(LAST, LAST + 'globals()["route_tokens"] = fast_route\n'),
    },
    "rewritten in C": {
        PATH: WITHOUT,
        "csrc/route.cu": "void route_tokens(Tensor in, Tensor out) {\n  launch(in, out);\n}\n",
    },
    "into a stub file": {
        PATH: WITHOUT,
        "app/_native.pyi": "def route_tokens(hidden, router, topk, bias=None): ...\n",
    },
    "into a template": {PATH: WITHOUT, "app/router.py.jinja": BODY},
    "into a notebook": {
        PATH: WITHOUT,
        "demo.ipynb": json.dumps({"cells": [{"source": BODY.splitlines(keepends=True)}]}),
    },
    "into a string": {
        PATH: WITHOUT,
        "app/jit.py": 'SOURCE = """\n' + BODY + '"""\nexec(SOURCE)\n',
    },
    "into a document string": {PATH: WITHOUT, "app/jit.py": '"""\n' + BODY + '"""\n'},
    "into a string of JSON": {PATH: WITHOUT, "app/jit.json": json.dumps({"source": BODY})},
    "into strings of C": {
        PATH: WITHOUT,
        "csrc/source.c": "char *source =\n"
        + "".join(f'"{line}\\n"\n' for line in BODY.splitlines())
        + ";\n",
    },
    "in another spelling": {
        PATH: WITHOUT,
        "app/fast.py": "def tokensRouted(hiddenState, theRouter, k):\n"
        "    gate = theRouter.logits(hiddenState).flatten()\n"
        "    expertWeights = softmaxOf(gate, bias=theRouter.bias)\n"
        "    bestExperts = expertWeights.topK(k)\n"
        "    scaled = bestExperts / clampMin(sumOf(bestExperts), 1e-9)\n"
        "    theRouter.balanceLoad(bincountOf(expertWeights, theRouter.expertCount))\n"
        "    return scaled\n",
    },
    "ported to C++": {
        PATH: WITHOUT,
        "csrc/Routing.cpp": "Best Routing::best(const Tensor &hidden, int topK) {\n"
        "  const auto logits = gate_.apply(hidden.flattened());\n"
        "  const auto weights = Softmax{}(logits);\n"
        "  load_.balance(weights.experts());\n"
        "  return weights.largest(topK);\n}\n",
    },
}


@pytest.mark.parametrize("edits", GONE.values(), ids=GONE.keys())
def test_code_that_lives_on(miniature: MakeMiniature, edits: Edits) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {PATH: TEXT, "app/main.py": OTHERS})
    upstream.tag("v1")
    patch = upstream.patch("v1", {PATH: edited(TEXT, FIX)})
    upstream.commit("Route otherwise (#5)", edits)
    upstream.tag("v2")
    kept(upstream, patch)


CONSTANTS = "MAX_CONNS = 64\nRETRY_DELAY = 0.5\nBACKLOG = 2166136261\n"


@pytest.mark.parametrize(
    ("edits", "gone"),
    [
        ({"conf/limits.toml": "max-conns = 64\nretry-delay = 0.5\n\n"}, False),
        (
            {"src/other.rs": "const BACKLOG: u32 = 0x811c9dc5;\nconst CONNS: u8 = 64;\nmax();\n"},
            False,
        ),
        ({"src/other.rs": "const LEVELS: u32 = 0x811c9dc4;\nconst DEPTH: u8 = 65;\n"}, True),
        ({"docs/tuning.md": "No retry delay, no max of conns (64), no backlog.\n"}, True),
    ],
)
def test_constants_that_went_into_another_language(
    miniature: MakeMiniature, edits: Edits, gone: bool
) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {"app/limits.py": CONSTANTS, "app/main.py": OTHERS, PATH: TEXT})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"app/limits.py": CONSTANTS.replace("0.5", "2.5")})
    upstream.commit("Set them otherwise (#5)", {"app/limits.py": None, **edits})
    upstream.tag("v2")
    assert (judged(upstream, patch).report.verdict is Verdict.UNREACHABLE) is gone


STEPS = (
    "jobs:\n  build:\n    runs-on: ubuntu\n    steps:\n      - uses: checkout\n"
    "      - run: compile everything\n      - run: install\n"
)


@pytest.mark.parametrize(("command", "gone"), [("compile everything", False), ("lint", True)])
def test_a_configuration_that_a_later_commit_wrote_anew(
    miniature: MakeMiniature, command: str, gone: bool
) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {"ci/all.yml": STEPS, "app/main.py": OTHERS})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"ci/all.yml": STEPS.replace("everything", "everything twice")})
    upstream.commit("Remove it (#5)", {"ci/all.yml": None})
    steps = ["checkout", command, "install"] if not gone else [command]
    described = {"runsOn": "ubuntu", "jobs": {"main": {"steps": steps}}}
    upstream.commit("Run it elsewhere (#6)", {"tools/run/main.json": json.dumps(described)})
    upstream.tag("v2")
    assert (judged(upstream, patch).report.verdict is Verdict.UNREACHABLE) is gone


TINY = "def log_line(pool, line):\n    pool.sink.write(line, pool.depth)\n\n\n"


@pytest.mark.parametrize(
    ("new", "gone"),
    [
        (
            LAST.replace(
                "    queue.closed", "    pool.sink.write(line, pool.depth)\n    queue.closed"
            ),
            False,
        ),
        (
            LAST.replace("    queue.closed", "    queue.done = True\n    queue.closed"),
            True,
        ),
    ],
    ids=["inlined", "gone"],
)
def test_a_tiny_function(miniature: MakeMiniature, new: str, gone: bool) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {PATH: HEAD + TINY + LAST, "app/main.py": OTHERS})
    upstream.tag("v1")
    fixed = TINY.replace("    pool", "    pool.flush()\n    pool")
    patch = upstream.patch("v1", {PATH: HEAD + fixed + LAST})
    upstream.commit("Write otherwise (#5)", {PATH: HEAD + LAST, "app/queue.py": new})
    upstream.tag("v2")
    assert (judged(upstream, patch).report.verdict is Verdict.UNREACHABLE) is gone


def test_a_function_that_says_nothing(miniature: MakeMiniature) -> None:
    empty = "def log_line(pool, line):\n    return None\n\n\n"
    upstream = miniature()
    upstream.commit("Start (#1)", {PATH: HEAD + empty + LAST, "app/main.py": OTHERS})
    upstream.tag("v1")
    fixed = empty.replace("    return", "    pool.flush()\n    return")
    patch = upstream.patch("v1", {PATH: HEAD + fixed + LAST})
    upstream.commit("Log no more (#5)", {PATH: HEAD + LAST})
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.CONFLICT


SHORT_C = (
    "int put_msg(struct chan *c, const char *msg, int n)\n{\n"
    "\tif (c->used + n > c->room)\n\t\treturn -1;\n"
    "\tmemcpy(c->buf + c->used, msg, n);\n\tc->used += n;\n\treturn n;\n}\n\n"
)
SHORT_PYTHON = (
    "def pull(queue, timeout):\n    item = queue.get(timeout)\n    if item is None:\n"
    "        return None\n    queue.seen.append(item)\n    return queue.decode(item)\n\n\n"
)
SHORTEST = "int room_of(struct chan *c)\n{\n\treturn c->room - c->used;\n}\n\n"
NEXT_C = "int last(int v)\n{\n\treturn v * 5;\n}\n"
WORDS = re.compile(r"\b(?!(?:int|char|const|struct|if|return|def|is|None)\b)[a-z_]\w+")


def all_renamed(text: str) -> str:
    """``text`` with every name changed."""
    return WORDS.sub(lambda match: f"x{match[0][::-1]}", text)


def more(text: str) -> str:
    """``text``, all names changed, with a statement added and one changed."""
    return all_renamed(text).replace("return n;", "mark(s);\n\treturn n + 1;")


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(
    ("path", "short", "rest", "disguise"),
    [
        ("src/chan.c", SHORT_C, NEXT_C, all_renamed),
        ("src/chan.c", SHORT_C, NEXT_C, more),
        (PATH, SHORT_PYTHON, LAST, all_renamed),
        (PATH, SHORT_PYTHON, LAST, lambda text: f"class Sink:\n{indent(all_renamed(text), '  ')}"),
    ],
    ids=["c", "c-and-edited", "python", "python-method"],
)
def test_a_short_function_under_other_names(
    miniature: MakeMiniature,
    path: str,
    short: str,
    rest: str,
    disguise: Callable[[str], str],
    steps: int,
) -> None:
    upstream = short_upstream(miniature, path, short, rest)
    patch = upstream.patch(
        "v1",
        {path: short.replace("None:\n", "None or not item:\n").replace("n > c", "n >= c") + rest},
    )
    copy = {f"lib/{path.replace('/', '_')}": disguise(short)}
    if steps == 2:
        upstream.commit("Bring another (#4)", copy)
    upstream.commit("Go on without (#5)", {path: rest, **(copy if steps == 1 else {})})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    assert any(set(item.paths) == copy.keys() for item in report.evidence)


@pytest.mark.parametrize(
    ("steps", "other", "gone"),
    [(1, all_renamed(SHORTEST), False), (2, all_renamed(SHORTEST), True), (1, NEXT_C, True)],
    ids=["moved", "another that is like it", "gone"],
)
def test_a_tiny_function_under_other_names(
    miniature: MakeMiniature, steps: int, other: str, gone: bool
) -> None:
    """So little code looks like other code by chance: the commit that took it out tells."""
    upstream = short_upstream(miniature, "src/room.c", SHORTEST, NEXT_C)
    patch = upstream.patch(
        "v1", {"src/room.c": SHORTEST.replace("c->used", "c->used - 1") + NEXT_C}
    )
    came, went = {"lib/a.c": other}, {"src/room.c": NEXT_C}
    for edits in [{**came, **went}] if steps == 1 else [came, went]:
        upstream.commit("Go on (#5)", edits)
    upstream.tag("v2")
    assert (judged(upstream, patch).report.verdict is Verdict.UNREACHABLE) is gone


def short_upstream(miniature: MakeMiniature, path: str, short: str, rest: str) -> Miniature:
    upstream = miniature()
    upstream.commit("Start (#1)", {path: short + rest, "app/main.py": OTHERS})
    upstream.tag("v1")
    return upstream


@pytest.mark.parametrize("gone", [False, True])
def test_a_body_of_one_expression_is_written_out(miniature: MakeMiniature, gone: bool) -> None:
    short = "def offloads(args):\n    return args.vae_offload\n\n\n"
    upstream = short_upstream(miniature, PATH, short, LAST)
    patch = upstream.patch(
        "v1", {PATH: short.replace("offload\n", "offload and args.cpu\n") + LAST}
    )
    now = "args.cpu" if gone else "args.vae_offload"
    new = f"def load(args):\n    if {now}:\n        args.begin(1)\n"
    upstream.commit("Ask at once (#5)", {PATH: LAST, "app/load.py": new})
    upstream.tag("v2")
    assert (judged(upstream, patch).report.verdict is Verdict.UNREACHABLE) is gone


@pytest.mark.parametrize(
    ("head", "gone"),
    [
        ("def fused(hidden, router, topk, bias=None):\n", False),
        ("class Fused:\n  def __call__(self, hidden, router, topk, bias=None) -> Tensor:\n", False),
        ("def fused(hidden, router, topk):\n", True),
        ("def fused(x):\n    if route(hidden, router, topk, bias=None):\n", True),
    ],
    ids=["function", "method", "another parameter", "a call"],
)
def test_a_function_of_the_same_parameters(miniature: MakeMiniature, head: str, gone: bool) -> None:
    """Written anew, under another name, by the commit that took the old one out."""
    upstream = miniature()
    upstream.commit("Start (#1)", {PATH: TEXT, "app/main.py": OTHERS})
    upstream.tag("v1")
    patch = upstream.patch("v1", {PATH: edited(TEXT, FIX)})
    body = "        return torch.ops.fused(1)\n"
    upstream.commit("Route at once (#5)", {PATH: WITHOUT, "app/fused.py": head + body})
    upstream.tag("v2")
    assert (judged(upstream, patch).report.verdict is Verdict.UNREACHABLE) is gone


C_GONE: Mapping[str, Edits] = {
    "into a scanner": {C_PATH: C_WITHOUT, "src/pages.l": f"%%\n.*  take();\n%%\n{C_BODY}"},
    "into a grammar, renamed": {
        C_PATH: C_WITHOUT,
        "src/pages.y": f"%%\n{names_changed(C_BODY.replace('take_pages', 'grab'))}",
    },
    "the whole file, to a scanner": {C_PATH: None, "src/pages.l": f"%%\n%%\n{C_TEXT}{OTHERS}"},
    "into a macro": {C_PATH: C_WITHOUT, "src/makers.h": f"{MACRO}\n#define MORE 1\n"},
    "a macro of its name": {
        C_PATH: C_WITHOUT,
        "src/pool.h": "#define take_pages(pool, n) pool_take((pool), (n), 0)\n",
    },
    "made by a macro": {
        C_PATH: C_WITHOUT,
        "src/makers.h": MACRO.replace("NULL", "0") + "\nDEFINE_TAKER(take)\n",
    },
    "a pointer of its name": {
        C_PATH: C_WITHOUT,
        "src/table.c": "int (*take_pages)(struct pool *, int) = pool_take;\n",
    },
    "into a string of another language": {
        C_PATH: C_WITHOUT,
        "app/jit.py": f'SOURCE = r"""\n{names_changed(C_BODY)}"""\nbuild(SOURCE)\n',
    },
    "into a header template": {C_PATH: C_WITHOUT, "src/pages.h.in": C_BODY},
    "into a method": {
        C_PATH: C_WITHOUT,
        "src/pool.cpp": f"struct Pool {{\n{C_BODY.replace('take_pages', 'grab')}}};\n",
    },
}


@pytest.mark.parametrize("edits", C_GONE.values(), ids=C_GONE.keys())
def test_code_in_c_that_lives_on(miniature: MakeMiniature, edits: Edits) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {C_PATH: C_TEXT, "src/main.c": "int main(void) { return 0; }\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {C_PATH: edited(C_TEXT, C_FIX)})
    upstream.commit("Take otherwise (#5)", edits)
    upstream.tag("v2")
    kept(upstream, patch)


# It landed, and is switched off or taken out

SERVE = (
    "def serve(pool, request):\n"
    "    limit = pool.limit_of(request.user)\n"
    "    pages = pool.take(request.pages, limit)\n"
    "    pool.settle(pages, request.deadline)\n"
    "    return pages.reply(request)\n"
    "\n\n"
    "def drain(pool, request):\n"
    "    for page in pool.pages_of(request.user):\n"
    "        page.give_back(request.deadline)\n"
    "    return pool.drained(request)\n"
)
FIXED = SERVE.replace(
    "    pages = pool.take(", "    pool.check(request, strict=True)\n    pages = pool.take("
)
LINE = "    pool.check(request, strict=True)\n"
NEXT = "    pages = pool.take(request.pages, limit)\n"


def switched(*lines: str) -> str:
    """What became of the line and the one after it."""
    assert LINE + NEXT in FIXED
    return FIXED.replace(LINE + NEXT, "".join(lines))


OFF: Mapping[str, str] = {
    "a comment": switched("    # pool.check(request, strict=True)\n", NEXT),
    "a comment, and more": switched(
        "    # pool.check(request, strict=True)\n", "    more()\n", NEXT
    ),
    "a comment beside an edit": switched(
        "    # pool.check(request, strict=True)\n", NEXT.replace("limit)", "limit, now=True)")
    ),
    "never run": switched("    if False:\n    " + LINE, NEXT.replace("limit)", "limit, now=True)")),
    "turned": switched(LINE.replace("True", "False"), NEXT.replace("limit)", "limit, now=True)")),
    "in a string": switched(
        f'    """\n{LINE}    """\n', NEXT.replace("limit)", "limit, now=True)")
    ),
    "to another function": switched(NEXT.replace("limit)", "limit, now=True)")).replace(
        "    for page in", LINE + "    for page in"
    ),
    "only in another function": switched(NEXT.replace("limit)", "limit, now=True)"))
    + f"\n\ndef check(pool, request):\n{LINE}",
}


@pytest.mark.parametrize("final", OFF.values(), ids=OFF.keys())
def test_what_landed_and_was_switched_off(miniature: MakeMiniature, final: str) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {"app/serve.py": SERVE})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"app/serve.py": FIXED})
    upstream.commit("Check requests (#2)", {"app/serve.py": FIXED})
    upstream.commit("Go on (#3)", {"app/serve.py": final})
    upstream.tag("v2")
    kept(upstream, patch)


C_FIXED = C_TEXT.replace(
    "\tpool->left -= taken;\n", "\tpool_check(pool, taken);\n\tpool->left -= taken;\n"
)
C_LINE, C_NEXT = "\tpool_check(pool, taken);\n", "\tpool->left -= taken;\n"


def c_switched(*lines: str) -> str:
    assert C_LINE + C_NEXT in C_FIXED
    return C_FIXED.replace(C_LINE + C_NEXT, "".join(lines))


C_OFF: Mapping[str, str] = {
    "a comment": c_switched("\t/* pool_check(pool, taken); */\n", "\tpool->left -= taken + 1;\n"),
    "a line comment": c_switched("\t// pool_check(pool, taken);\n", "\tpool->left -= taken + 1;\n"),
    "a block comment": c_switched("\t/*\n", C_LINE, "\t*/\n", "\tpool->left -= taken + 1;\n"),
    "not compiled": c_switched("#if 0\n", C_LINE, "#endif\n", "\tpool->left -= taken + 1;\n"),
    "not compiled, else": c_switched(
        "#if 1\n", "#else\n", C_LINE, "#endif\n", "\tpool->left -= taken + 1;\n"
    ),
    "never run": c_switched("\tif (0)\n\t", C_LINE, "\tpool->left -= taken + 1;\n"),
}


@pytest.mark.parametrize("final", C_OFF.values(), ids=C_OFF.keys())
def test_what_landed_in_c_and_was_switched_off(miniature: MakeMiniature, final: str) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {C_PATH: C_TEXT})
    upstream.tag("v1")
    patch = upstream.patch("v1", {C_PATH: C_FIXED})
    upstream.commit("Check it (#2)", {C_PATH: C_FIXED})
    upstream.commit("Go on (#3)", {C_PATH: final})
    upstream.tag("v2")
    kept(upstream, patch)


@pytest.mark.parametrize("head", ["#if 0\n", "#ifdef NEVER\n"])
def test_what_landed_and_was_switched_off_from_afar(miniature: MakeMiniature, head: str) -> None:
    """A merge finds every line in its place."""
    upstream = miniature()
    upstream.commit("Start (#1)", {C_PATH: C_TEXT})
    upstream.tag("v1")
    patch = upstream.patch("v1", {C_PATH: C_FIXED})
    upstream.commit("Check it (#2)", {C_PATH: C_FIXED})
    final = edited(C_FIXED, (C_HEAD, C_HEAD + head), (C_TAIL, "#endif\n\n" + C_TAIL))
    off = upstream.commit("Without pages (#3)", {C_PATH: final})
    upstream.commit("Go on (#4)", {C_PATH: final.replace("depth;", "depth + 1;")})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.SUPERSEDED
    assert off in {item.commit for item in report.evidence}


# It takes lines out, and upstream only put them otherwise

FLAGS = (
    "set(SOURCES\n  csrc/attention.cu\n  csrc/gather_rows.cu\n  csrc/norm.cu)\n"
    "list(APPEND FLAGS\n  -gencode=arch=compute_90a,code=sm_90a\n  -O3)\n"
)
CUT = FLAGS.replace("  -gencode=arch=compute_90a,code=sm_90a\n", "")
CUT_SOURCE = FLAGS.replace("  csrc/gather_rows.cu\n", "")
PUT: Mapping[str, tuple[str, Edits]] = {
    "joined in another file": (
        CUT,
        {
            "CMakeLists.txt": CUT,
            "cmake/flags.cmake": "list(APPEND A -gencode=arch=compute_90a,code=sm_90a -lineinfo)\n",
        },
    ),
    "joined in the same file": (
        CUT,
        {
            "CMakeLists.txt": CUT
            + "list(APPEND FLAGS -gencode=arch=compute_90a,code=sm_90a -lineinfo)\n"
        },
    ),
    "quoted": (
        CUT,
        {"CMakeLists.txt": CUT + 'list(APPEND FLAGS\n  "-gencode=arch=compute_90a,code=sm_90a")\n'},
    ),
    "the last of a list": (
        CUT_SOURCE,
        {"CMakeLists.txt": CUT_SOURCE.replace("norm.cu)", "norm.cu\n  csrc/gather_rows.cu)")},
    ),
    "another list": (
        CUT_SOURCE,
        {
            "CMakeLists.txt": CUT_SOURCE,
            "cmake/sources.cmake": "set(MORE csrc/gather_rows.cu csrc/other.cu)\n",
        },
    ),
}


@pytest.mark.parametrize(("cut", "edits"), PUT.values(), ids=PUT.keys())
def test_what_it_takes_out_stands_otherwise(
    miniature: MakeMiniature, cut: str, edits: Edits
) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {"CMakeLists.txt": FLAGS})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"CMakeLists.txt": cut})
    upstream.commit("Sort the flags (#2)", edits)
    upstream.tag("v2")
    kept(upstream, patch)


@pytest.mark.parametrize(
    ("old", "text", "new", "then"),
    [
        ("conf.yaml", "address: 0.0.0.0\nretries: 3\n", "conf.json", '{"retry_count": 3}\n'),
        ("opt.py", "TIMEOUT_SECONDS = 3\n", "defaults.toml", "timeout = 3\n"),
        ("net.c", "int retries = 3;\n", "core/net.cpp", "auto tries{3};\n"),
    ],
)
@pytest.mark.parametrize("steps", ["at once", "new first", "old first"])
def test_a_file_that_another_replaced(
    miniature: MakeMiniature, old: str, text: str, new: str, then: str, steps: str
) -> None:
    """Nothing of its text is left, but it did not just go."""
    upstream = miniature()
    upstream.commit("Begin (#1)", {old: text, "other.txt": "1\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {old: text.replace("3", "9")})
    both: list[Edits] = [{new: then}, {old: None}]
    if steps == "at once":
        both = [{old: None, new: then}]
    for edits in reversed(both) if steps == "old first" else both:
        upstream.commit("Say it otherwise (#2)", edits)
    upstream.tag("v2")
    assert kept(upstream, patch) is Verdict.CONFLICT


CONF = "address: 0.0.0.0\nretries: 3\n"


@pytest.mark.parametrize(
    ("old", "beside", "came"),
    [
        pytest.param("conf.yaml", [], [], id="nothing came"),
        pytest.param("a/conf.yaml", [], ["docs/conf.md"], id="a page on it came"),
        pytest.param("a/conf.yaml", [], ["a/new.py", "a/more.py"], id="several came beside it"),
        pytest.param("a/conf.yaml", ["a/gone.yaml"], ["a/new.py"], id="another went"),
        pytest.param(
            "a/conf.yaml", [f"{n}/conf.yaml" for n in range(5)], ["b/conf.yaml"], id="a common name"
        ),
    ],
)
def test_a_file_that_went_alone(
    miniature: MakeMiniature, old: str, beside: list[str], came: list[str]
) -> None:
    upstream = miniature()
    others = {path: f"other {path}\n" for path in beside}
    upstream.commit("Begin (#1)", {old: CONF, "o": "1\n", **others})
    upstream.tag("v1")
    patch = upstream.patch("v1", {old: CONF.replace("3", "9")})
    upstream.commit("Write more (#2)", {path: f"This is {path}.\n" for path in came} or {"o": "3"})
    gone: Edits = dict.fromkeys([path for path in beside if "gone" in path])
    upstream.commit("Take no settings (#3)", {old: None, "o": "2\n", **gone})
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.UNREACHABLE


@pytest.mark.parametrize(("beside", "retired"), [(4, False), (5, True)])
def test_how_common_a_name_may_be(miniature: MakeMiniature, beside: int, retired: bool) -> None:
    upstream = miniature()
    others = {f"{n}/conf.yaml": f"other {n}\n" for n in range(beside)}
    upstream.commit("Begin (#1)", {"a/conf.yaml": CONF, **others})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"a/conf.yaml": CONF.replace("3", "9")})
    upstream.commit("Write more (#2)", {"b/c/conf.toml": "tries = 3\n"})
    upstream.commit("Take no settings (#3)", {"a/conf.yaml": None})
    upstream.tag("v2")
    expected = Verdict.UNREACHABLE if retired else Verdict.CONFLICT
    assert judged(upstream, patch).report.verdict is expected


def test_a_file_that_went_as_several_came_beside_it(miniature: MakeMiniature) -> None:
    """In one commit: any of them may have taken its place."""
    upstream = miniature()
    upstream.commit("Begin (#1)", {"a/conf.yaml": CONF, "o": "1\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"a/conf.yaml": CONF.replace("3", "9")})
    upstream.commit("Otherwise (#2)", {"a/conf.yaml": None, "a/b.py": "b = 1\n", "a/c.py": "c\n"})
    upstream.tag("v2")
    assert kept(upstream, patch) is Verdict.CONFLICT


def test_a_file_that_was_renamed_and_then_written_anew(miniature: MakeMiniature) -> None:
    upstream = miniature()
    upstream.commit("Begin (#1)", {PATH: TEXT, "o": "1\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {PATH: edited(TEXT, FIX)})
    upstream.commit("Rename (#2)", {PATH: None, "lib/paths.py": TEXT})
    upstream.commit("More (#3)", {"app/one.py": "x = 1\n", "app/two.py": "y = 2\n"})
    upstream.commit("Anew (#4)", {"lib/paths.py": "VERSION = 3\n"})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    assert any("lib/paths.py" in item.paths for item in report.evidence)


@pytest.mark.parametrize(("elsewhere", "common"), [(3, False), (4, True)])
def test_a_line_that_stands_in_many_places(
    miniature: MakeMiniature, elsewhere: int, common: bool
) -> None:
    """That there is one more of it says nothing."""
    line = "import_module(settings.plugin)\n"
    text = "first = load_first(one)\n" + line + "last = load_last(two)\n"
    upstream = miniature()
    others = {f"other/{n}.txt": f"number {n}\n{line}" for n in range(elsewhere)}
    upstream.commit("Begin (#1)", {"run.txt": text, **others})
    upstream.tag("v1")
    cut = text.replace(line, "")
    patch = upstream.patch("v1", {"run.txt": cut})
    upstream.commit("Load it there (#2)", {"run.txt": cut, "there.txt": f"there\n{line}"})
    upstream.tag("v2")
    expected = Verdict.UPSTREAMED if common else Verdict.CONFLICT
    assert judged(upstream, patch).report.verdict is expected


# A short line that the patch takes out, and that upstream took out of its place alone

RELEASE = (
    "int serve(struct s *p, int n)\n{\n\tint r = work(p);\n\tfree(p);\n\tuse(p, n);\n"
    "\tclose_it(p);\n\treturn r;\n}\n\n"
    "int drain(struct s *p)\n{\n\tcount_it(p);\n\treturn p->left;\n}\n"
)
RELEASED = RELEASE.replace("\tfree(p);\n", "")

BACK: Mapping[str, Edits] = {
    "further down": {C_PATH: RELEASED.replace("\treturn r;\n", "\tfree(p);\n\treturn r;\n")},
    "beside another edit": {
        C_PATH: RELEASED.replace("\tclose_it(p);\n", "\tmark(p);\n\tfree(p);\n\tclose_it(p);\n")
    },
    "in another function": {
        C_PATH: RELEASED.replace("\tcount_it(p);\n", "\tcount_it(p);\n\tfree(p);\n")
    },
    "in another file": {
        C_PATH: RELEASED,
        "src/drop.c": "void drop(struct s *p)\n{\n\tfree(p);\n}\n",
    },
}


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("end", BACK.values(), ids=BACK.keys())
def test_a_short_line_that_came_back(miniature: MakeMiniature, end: Edits, steps: int) -> None:
    """What counts is how it ended, not in how many commits."""
    upstream = miniature()
    upstream.commit("Start (#1)", {C_PATH: RELEASE})
    upstream.tag("v1")
    patch = upstream.patch("v1", {C_PATH: RELEASED})
    out = upstream.commit("Keep it (#2)", {C_PATH: RELEASED}) if steps == 2 else None
    last = upstream.commit("Free it elsewhere (#3)", end)
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    named = {item.commit for item in report.evidence if item.commit}
    assert named == {last, out or last}


def test_the_last_line_of_a_function_that_came_back(miniature: MakeMiniature) -> None:
    """In the same function: it has come back, and is not what other code needs."""
    line = "    queue.closed_for = reason\n"
    upstream = miniature()
    upstream.commit("Start (#1)", {PATH: TEXT})
    upstream.tag("v1")
    without = edited(TEXT, (line, ""))
    patch = upstream.patch("v1", {PATH: without})
    upstream.commit("Keep it open (#2)", {PATH: without})
    back = edited(without, ("    if queue.source", f"{line}    if queue.source"))
    last = upstream.commit("Close it first (#3)", {PATH: back})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    assert (last, (PATH,)) in [(item.commit, item.paths) for item in report.evidence]


@pytest.mark.parametrize("line", ["\treturn 0;\n", "\tgoto out;\n", "\t}\n"])
@pytest.mark.parametrize("steps", [1, 2])
def test_a_line_that_says_nothing_came_elsewhere(
    miniature: MakeMiniature, line: str, steps: int
) -> None:
    """Upstream took the line out, and another function has a jump or a brace of its own; in the
    same commit it may be that line."""
    before = RELEASE.replace("\tfree(p);\n", line)
    upstream = miniature()
    upstream.commit("Start (#1)", {C_PATH: before})
    upstream.tag("v1")
    patch = upstream.patch("v1", {C_PATH: RELEASED})
    if steps == 2:
        upstream.commit("Keep it (#2)", {C_PATH: RELEASED})
    upstream.commit("Go on (#3)", {C_PATH: RELEASED.replace("\tcount_it(p);\n", line)})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    expected = Verdict.UPSTREAMED if steps == 2 else Verdict.CONFLICT
    assert report.verdict is expected, report.evidence


def other_words(text: str) -> str:
    """``text`` with every name changed, and a statement more."""
    return re.sub(r"\b(pool|count|page|taken|owner|left)\b", r"x\1", names_changed(text)).replace(
        "\treturn v", "\tmark(v0);\n\treturn v"
    )


@pytest.mark.parametrize(
    ("fixed", "steps"),
    [
        ({C_PATH: C_WITHOUT}, [{C_PATH: C_WITHOUT, "src/x.c": other_words(C_BODY)}]),
        ({C_PATH: C_WITHOUT}, [{C_PATH: C_WITHOUT}, {"src/x.c": other_words(C_BODY)}]),
        ({C_PATH: None}, [{C_PATH: None}, {"src/x.c": other_words(C_BODY)}]),
    ],
    ids=["one commit", "two commits", "the whole file"],
)
def test_what_is_taken_out_lives_on_under_other_names(
    miniature: MakeMiniature, fixed: Edits, steps: list[Edits]
) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {C_PATH: C_TEXT, "app/main.py": OTHERS})
    upstream.tag("v1")
    patch = upstream.patch("v1", fixed)
    for edits in steps:
        upstream.commit("Take otherwise (#5)", edits)
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    assert any("src/x.c" in item.paths for item in report.evidence)


@pytest.mark.parametrize("fixed", [{C_PATH: C_WITHOUT}, {C_PATH: None}])
def test_what_is_taken_out_and_is_gone(miniature: MakeMiniature, fixed: Edits) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {C_PATH: C_TEXT, "app/main.py": OTHERS})
    upstream.tag("v1")
    patch = upstream.patch("v1", fixed)
    upstream.commit("Do without (#5)", {**fixed, "app/queue.py": BODY, "src/x.c": NEXT_C})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED, report.evidence


LIMITS = "#define NET_MAX 7\n#define DISK_MAX 14\n#define MATH_MAX 21\n"


def test_the_line_of_a_file_that_was_split(miniature: MakeMiniature) -> None:
    """No file has much of it; one has the very line that the patch edits."""
    upstream = miniature()
    upstream.commit("Start (#1)", {"h/lim.h": LIMITS, "net/a.c": "int a;\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"h/lim.h": LIMITS.replace("MATH_MAX 21", "MATH_MAX 4")})
    parts = {f"{line.split()[1].lower()}/conf.h": line for line in LIMITS.splitlines(keepends=True)}
    upstream.commit("To each its own (#2)", {"h/lim.h": None, **parts})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    assert any("math_max/conf.h" in item.paths for item in report.evidence)


@pytest.mark.parametrize("both", [False, True])
def test_a_line_between_two_of_a_file_that_was_split(miniature: MakeMiniature, both: bool) -> None:
    """It belongs where both of them went; one alone says nothing of it."""
    upstream = miniature()
    upstream.commit("Start (#1)", {"h/lim.h": LIMITS, "net/a.c": "int a;\n"})
    upstream.tag("v1")
    disk, maths = LIMITS.splitlines(keepends=True)[1:]
    patch = upstream.patch("v1", {"h/lim.h": LIMITS.replace(maths, "#define GPU_MAX 9\n" + maths)})
    went = disk + maths if both else maths
    upstream.commit("Put it there (#2)", {"h/lim.h": None, "net/a.c": f"int a;\n{went}"})
    upstream.tag("v2")
    expected = Verdict.CONFLICT if both else Verdict.UNREACHABLE
    assert judged(upstream, patch).report.verdict is expected


def test_code_that_went_into_a_notebook(miniature: MakeMiniature) -> None:
    """It is found there, and cannot be carried there."""
    body = "".join(f"    pool.step_{n}(batch, {n})\n" for n in range(12))
    code = f"def refill(pool, batch):\n{body}    return pool\n"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": code.splitlines(True)}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    upstream = miniature()
    upstream.commit("Start (#1)", {"py/pool.py": code})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"py/pool.py": code.replace("step_7(batch, 7)", "step_7(batch)")})
    text = json.dumps(notebook, indent=1)
    upstream.commit("Show it (#2)", {"py/pool.py": None, "nb/pool.ipynb": text})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.CONFLICT
    assert EvidenceKind.FAULT not in {item.kind for item in report.evidence}
    assert any("nb/pool.ipynb" in item.paths for item in report.evidence)


# Lists and settings: an entry lives on with none of its lines kept

PINS = "torch==2.4.0\nflash-attn==2.6\npydantic>=2\n"
PROJECT = '[project]\nname = "a"\ndynamic = ["dependencies"]\n'
MODELS = "".join(
    f'    "{name}": dict(ctx={size}, quant=["fp8"]),\n'
    for name, size in (("llama", 8192), ("qwen", 4096))
)
MODELS = f"MODELS = {{\n{MODELS}}}\n"
BUILD = '#!/bin/sh\ncmake -B build -DCMAKE_CUDA_ARCHITECTURES="80;90"\nctest\n'
Fix = tuple[str, str]


def entries(dependencies: str) -> str:
    return PROJECT.replace("dynamic =", f"dependencies = [{dependencies}]\nextra =")


LISTED = {
    "a package without its pin": (
        {"req.txt": PINS},
        ("torch==2.4.0", "torch==2.5.0"),
        {"requirements/cuda.in": "torch\n"},
    ),
    "a package in another format": (
        {"req.txt": PINS, "pyproject.toml": PROJECT},
        ("torch==2.4.0", "torch==2.5.0"),
        {"pyproject.toml": entries('"torch~=2.6", "numpy"')},
    ),
    "a package in another spelling": (
        {"req.txt": PINS, "pyproject.toml": PROJECT},
        ("flash-attn==2.6", "flash-attn==2.7"),
        {"pyproject.toml": entries('"Flash_Attn>=3"')},
    ),
    "an inserted package": (
        {"req.txt": PINS},
        ("pydantic>=2\n", "xgrammar\npydantic>=2\n"),
        {"deps/all.in": "pydantic\nflash-attn\nnumpy\n"},
    ),
    "a key in a table of Python": (
        {"models.py": MODELS},
        ('"qwen": dict(ctx=4096', '"qwen": dict(ctx=8192'),
        {"m/q.py": '@register("qwen", longest=1 << 12)\nclass Q:\n    pass\n'},
    ),
    "an option of a build script": (
        {"build.sh": BUILD, "CMakeLists.txt": "project(x)\n"},
        ('"80;90"', '"80;90;121"'),
        {"CMakeLists.txt": "project(x)\nset(CMAKE_CUDA_ARCHITECTURES 80-real 90-real)\n"},
    ),
}


def _listed(
    made: MakeMiniature, before: Mapping[str, str], fix: Fix, steps: list[Edits]
) -> Verdict:
    upstream = made()
    old, text = next(iter(before.items()))
    upstream.commit("Begin (#1)", {**before, "o": "1\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {old: edited(text, fix)})
    for edits in steps:
        upstream.commit("Put it elsewhere (#2)", edits)
    upstream.tag("v2")
    return judged(upstream, patch).report.verdict


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(("before", "fix", "then"), LISTED.values(), ids=LISTED.keys())
def test_an_entry_that_another_list_got(
    miniature: MakeMiniature, before: Mapping[str, str], fix: Fix, then: Edits, at_once: bool
) -> None:
    gone: Edits = {next(iter(before)): None}
    steps: list[Edits] = [{**then, **gone}] if at_once else [then, gone]
    assert _listed(miniature, before, fix, steps) is Verdict.CONFLICT


@pytest.mark.parametrize(
    ("more", "came"),
    [
        pytest.param({}, {"a/use.py": "import torch\n"}, id="code that uses it"),
        pytest.param({}, {"deps/a.in": "# torch is not needed\nnumpy\n"}, id="a comment"),
        pytest.param({}, {"deps/a.in": "torchvision\ntorch-geometric\n"}, id="longer names"),
        pytest.param({}, {"docs/a.md": "Install torch.\n"}, id="prose"),
        pytest.param({"p.toml": 'd = ["torch"]\n'}, {"p.toml": 'd = ["torch>=3"]\n'}, id="had it"),
        pytest.param(
            {f"{n}/a.txt": f"torch {n}\n" for n in range(21)}, {"deps/b.in": "torch\n"}, id="common"
        ),
    ],
)
def test_an_entry_that_no_list_got(
    miniature: MakeMiniature, more: Mapping[str, str], came: Edits
) -> None:
    before = {"req.txt": PINS, **more}
    steps: list[Edits] = [came, {"req.txt": None}]
    verdict = _listed(miniature, before, ("torch==2.4.0", "torch==2.5.0"), steps)
    assert verdict is Verdict.UNREACHABLE


# What became a comment of a text that is read as markup

PAGE = "# Guide\n\nInstall with pip.\n\n## Run\n\nUse `app run`, or ask for help.\n"
NOTE = "On aarch64 set `ARCH=sm_121` first.\n"
TOLD = PAGE.replace("pip.\n", f"pip.\n{NOTE}")


@pytest.mark.parametrize(
    ("final", "is_kept"),
    [
        (TOLD.replace(NOTE, f"<!-- {NOTE[:-1]} -->\n"), True),
        (TOLD.replace(NOTE, f"<!--\n{NOTE}-->\n"), True),
        (
            TOLD.replace("# Guide\n", "# Guide\n\n<!-- Later:\n").replace("## Run", "-->\n## Run"),
            True,
        ),
        (TOLD.replace("# Guide\n", "# Guide\n\n<!-- draft\n"), True),
        (TOLD.replace(NOTE, f"<!-- checked -->\n{NOTE}"), False),
        (TOLD.replace("## Run", "<!-- How to run -->\n## Run"), False),
        (TOLD.replace("`app run`", "`<!--`"), False),
    ],
)
@pytest.mark.parametrize("path", ["docs/guide.md", "site/page.html", "conf/Task.xml"])
def test_a_line_of_markup_in_a_comment(
    miniature: MakeMiniature, path: str, final: str, is_kept: bool
) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {path: PAGE, "o": "1\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {path: TOLD})
    upstream.commit("Tell it (#2)", {path: TOLD})
    upstream.commit("Go on (#3)", {path: final})
    upstream.tag("v2")
    expected = Verdict.SUPERSEDED if is_kept else Verdict.UPSTREAMED
    assert judged(upstream, patch).report.verdict is expected
