"""When a patch may leave because its code is gone, and where it follows code that moved.

Each upstream takes a function away. Then what is put back, in whatever disguise, has to be seen.
"""

from __future__ import annotations

import random
import re
from array import array
from collections.abc import Callable

import pytest
from miniature import Edits, MakeMiniature, Miniature
from workspaces import make_workspace, open_project, placed

from patchq.engine.judge.gone.finding import ProofOfAbsence
from patchq.engine.judge.judgement import Judgement
from patchq.engine.languages.search.tree_index import Holders
from patchq.engine.rebase.rebase import judge_series
from patchq.model.verdict import Evidence, EvidenceKind, HunkState, PatchReport, Verdict

PATH = "app/router.py"
HEAD = "import torch\n\nfrom app.pages import take_page\n\n\n"
FIRST = (
    "def open_queue(path, depth):\n"
    "    queue = torch.zeros(depth, dtype=torch.int64)\n"
    "    queue.source = path.resolve()\n"
    "    return queue\n\n\n"
)
LAST = (
    "def close_queue(queue, reason):\n"
    "    if queue.source.exists():\n"
    "        queue.source.unlink(missing_ok=reason is None)\n"
    "    queue.closed_for = reason\n\n\n"
)
BODY = (
    "def route_tokens(hidden, router, topk, bias=None):\n"
    "    logits = router.gate(hidden.flatten(0, 1))\n"
    "    if bias is not None:\n"
    "        logits = logits + bias.unsqueeze(0)\n"
    "    weights = torch.softmax(logits, dim=-1)\n"
    "    best, experts = weights.topk(topk, dim=-1)\n"
    "    scale = best.sum(dim=-1, keepdim=True).clamp(min=1e-9)\n"
    "    best = best / scale\n"
    "    load = torch.bincount(experts.flatten(), minlength=router.count)\n"
    "    router.balance.add_(load.float() / load.sum())\n"
    "    return best, experts\n"
)
TEXT = HEAD + FIRST + BODY + "\n\n" + LAST
WITHOUT = HEAD + FIRST + LAST
OTHER = "from app.router import open_queue\n\n\ndef start(path):\n    return open_queue(path, 8)\n"
FIX = ("logits, dim=-1)", "logits.float(), dim=-1)")


def edited(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def judged(upstream: Miniature, *patches: bytes) -> list[Judgement]:
    names = {f"p{number}.patch": raw for number, raw in enumerate(patches, start=1)}
    workspace = make_workspace(upstream, names)
    result = judge_series(open_project(workspace, upstream), "v1", "v2")
    return [result.judgements[name] for name in names]


def shown(report: PatchReport, kind: EvidenceKind) -> list[Evidence]:
    return [item for item in report.evidence if item.kind is kind]


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    """Upstream at v1, with the function."""
    made = miniature()
    made.commit("Start (#1)", {PATH: TEXT, "app/main.py": OTHER, "app/pages.py": LAST})
    made.tag("v1")
    return made


@pytest.fixture
def patch(upstream: Miniature) -> bytes:
    """A fix inside the function."""
    return upstream.patch("v1", {PATH: edited(TEXT, FIX)})


# A proof


def test_a_function_that_was_deleted(upstream: Miniature, patch: bytes) -> None:
    cut = upstream.commit("Do without routing (#5)", {PATH: WITHOUT})
    upstream.commit("Close for no reason (#6)", {PATH: edited(WITHOUT, ("reason is", "not"))})
    upstream.tag("v2")
    (judgement,) = judged(upstream, patch)
    report = judgement.report
    assert report.verdict is Verdict.UNREACHABLE
    assert [hunk.state for hunk in report.hunks] == [HunkState.GONE]
    (gone,) = report.evidence
    assert (gone.kind, gone.commit, gone.pr) == (EvidenceKind.SYMBOL_GONE, cut, 5)
    assert re.search(r"route_tokens.* in v2 \(3 files\)", gone.text)


def test_a_function_added_elsewhere_puts_nothing_in_its_place(
    upstream: Miniature, patch: bytes
) -> None:
    more = "\n\ndef reopen_for(queue):\n    queue.closed_for = None\n    return queue\n"
    upstream.commit("Reopen, and do without routing (#5)", {PATH: WITHOUT.rstrip() + "\n" + more})
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict is Verdict.UNREACHABLE


def test_the_evidence_gives_the_figures(upstream: Miniature, patch: bytes) -> None:
    some = BODY.split("    scale", maxsplit=1)[0].replace("route_tokens", "score")
    alike = re.sub(r"logits|hidden|bias|topk|experts", "thing", some)
    upstream.commit("Do without routing (#5)", {PATH: WITHOUT, "app/other.py": HEAD + alike})
    upstream.tag("v2")
    (judgement,) = judged(upstream, patch)
    figures = [item.text for item in judgement.report.evidence]
    assert any(
        re.search(r"more than \d\d?% of route_tokens .*app/other\.py", text) for text in figures
    )


def test_no_proof_is_made_by_default() -> None:
    with pytest.raises(TypeError):
        ProofOfAbsence()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("field", "rule"), [("X-Expect", f"path-missing {PATH}"), ("X-Retire-When", "always")]
)
def test_unreachable_comes_before_the_rules_of_the_patch(
    upstream: Miniature, field: str, rule: str
) -> None:
    fix = {PATH: edited(TEXT, FIX)}
    patch = upstream.patch("v1", fix, trailers={field: rule})
    upstream.commit("Do without routing (#5)", {PATH: WITHOUT})
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict is Verdict.UNREACHABLE


OTHERS = "".join(f"def other_{n}(x):\n    return x[{n}]\n" for n in range(60))
"""So much other code that git sees no rename."""


# Planting: the old code is put back, and has to be seen


def renamed(text: str) -> str:
    names = "route_tokens hidden router topk bias logits weights best experts scale load"
    for number, name in enumerate(names.split()):
        text = re.sub(rf"(?<![.\w]){name}\b", f"arg_{number}", text)
    return text


def method(text: str) -> str:
    inside = "".join(f"    {line}" for line in text.splitlines(keepends=True))
    return "class Router:\n" + inside.replace("route_tokens(hidden", "route(self, hidden")


def halves(text: str) -> str:
    lines = text.splitlines(keepends=True)
    one = "".join([*lines[:6], "    return best, experts\n\n\n"])
    two = "".join(["def balanced(best, experts, router):\n", *lines[6:]])
    return one.replace("route_tokens", "scored") + two


def inlined(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(["def start(path, hidden, router, topk, bias):\n", *lines[1:-1]]) + (
        "    return open_queue(path, best, experts)\n"
    )


PLANTS: dict[str, Edits] = {
    "verbatim in another file": {"app/scoring.py": "import math\n\n\n" + BODY},
    "verbatim in a file that was there": {"app/main.py": OTHER + "\n\n" + BODY},
    "renamed in place": {PATH: HEAD + FIRST + renamed(BODY) + "\n\n" + LAST},
    "renamed in another file": {"app/scoring.py": "import torch\n\n\n" + renamed(BODY)},
    "renamed at the end of its file": {PATH: WITHOUT + "\n\n" + renamed(BODY)},
    "a method": {"app/scoring.py": "import torch\n\n\n" + method(BODY)},
    "a method in place": {PATH: HEAD + FIRST + method(BODY) + "\n\n" + LAST},
    "in two": {"app/scoring.py": "import torch\n\n\n" + halves(BODY)},
    "in two in place": {PATH: HEAD + FIRST + halves(BODY) + "\n\n" + LAST},
    "inlined into a caller": {"app/main.py": "import torch\n\n\n" + inlined(BODY)},
    "rewritten in place": {
        PATH: HEAD + FIRST + "def assign(batch):\n    return batch.plan()\n\n\n" + LAST
    },
    "a line in place": {PATH: HEAD + FIRST + "route = torch.ops.app.route\n\n\n" + LAST},
    "imported from elsewhere": {PATH: "from fast import route_tokens\n" + WITHOUT},
    "under its name, written anew": {"app/fast.py": "def route_tokens(x):\n    return x.go()\n"},
}


@pytest.mark.parametrize("later", [False, True], ids=["by the same commit", "by a later one"])
@pytest.mark.parametrize("plant", PLANTS)
def test_planted_back(upstream: Miniature, patch: bytes, plant: str, later: bool) -> None:
    """Where it stands again, the patch is not retired; a reviewer is told of the place."""
    edits = PLANTS[plant]
    if later:
        upstream.commit("Do without routing (#5)", {PATH: WITHOUT})
        upstream.commit("Route again (#6)", edits)
    else:
        upstream.commit("Route otherwise (#5)", {PATH: WITHOUT, **edits})
    upstream.tag("v2")
    report = judged(upstream, patch)[0].report
    assert report.verdict in (Verdict.CONFLICT, Verdict.MOVED, Verdict.ADAPTED)
    if report.verdict is not Verdict.ADAPTED:  # git's merge found the lines in their place
        places = {path for item in shown(report, EvidenceKind.CODE_MOVED) for path in item.paths}
        assert set(edits) <= places


@pytest.mark.parametrize("plant", [renamed, method, halves, str])
def test_a_deleted_file_planted_back(
    upstream: Miniature, patch: bytes, plant: Callable[[str], str]
) -> None:
    home = f"import os\n\n\n{OTHERS}"
    upstream.commit("Plan (#5)", {PATH: None, "app/plan.py": home + plant(BODY)})
    upstream.tag("v2")
    report = judged(upstream, patch)[0].report
    assert report.verdict is Verdict.CONFLICT
    assert "app/plan.py" in shown(report, EvidenceKind.CODE_MOVED)[0].paths


# Hunks beside a gone one


IMPORTED = ("from app.pages import take_page\n", "from app.pages import take_page, grow_page\n")
USED = ("    best = best / scale\n", "    best = grow_page(best) / scale\n")


def test_an_import_for_the_gone_function_goes_with_it(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {PATH: edited(TEXT, IMPORTED, USED)})
    upstream.commit("Do without routing (#5)", {PATH: WITHOUT})
    upstream.tag("v2")
    (judgement,) = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.UNREACHABLE
    assert len(judgement.report.hunks) == 2


@pytest.mark.parametrize(
    "changes",
    [
        (("import torch\n", "import fast_torch as torch\n"), FIX),
        (("import torch\n", "import torch\nimport checks\n"), FIX),
        (IMPORTED, USED, ("= path.resolve()", "= grow_page(path)")),
        (
            ("from app.pages import take_page\n", "from app.pages import grow_page\n"),
            USED,
        ),
        (
            (IMPORTED[0], IMPORTED[1] + "from app.more import topk_page\n"),
            USED,
        ),
        (FIX, ("= path.resolve()", "= path.absolute()")),
    ],
    ids=[
        "another module",
        "one more module",
        "used elsewhere",
        "one import less",
        "an import beside",
        "another function",
    ],
)
def test_a_hunk_that_does_more_stays(
    upstream: Miniature, changes: tuple[tuple[str, str], ...]
) -> None:
    patch = upstream.patch("v1", {PATH: edited(TEXT, *changes)})
    cut = edited(WITHOUT, ("import torch\n\n", "import torch, re\n\n"))
    upstream.commit("Do without routing (#5)", {PATH: cut})
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict is Verdict.CONFLICT


def test_what_only_the_series_added_is_not_gone_from_upstream(upstream: Miniature) -> None:
    ours = TEXT + "\n\n" + BODY.replace("route_tokens", "our_tokens").replace("topk", "ours")
    first = upstream.detached("v1", "Our own", {PATH: ours})
    second = upstream.detached(first, "Mend it", {PATH: edited(ours, ("ours(ours", "ours(9"))})
    upstream.commit("Drop it all (#5)", {PATH: None})
    upstream.tag("v2")
    for judgement in judged(upstream, *map(upstream.format, (first, second))):
        assert judgement.report.verdict is not Verdict.UNREACHABLE


def test_lines_without_a_definition(miniature: MakeMiniature) -> None:
    """A setting that was taken out, in a language that is not parsed."""
    upstream = miniature()
    block = "router:\n  balance_interval: 32\n  expert_capacity: auto\n  shared_experts: 2\n"
    text = f"queue:\n  depth: 8\n{block}pages:\n  size: 64\n"
    upstream.commit("Start (#1)", {"app.yaml": text})
    upstream.tag("v1")
    old = "  expert_capacity: auto\n  shared_experts: 2\n"
    new = "  expert_capacity: fixed\n  shared_experts: 1\n"
    patch = upstream.patch("v1", {"app.yaml": edited(text, (old, new))})
    cut = upstream.commit("No router (#5)", {"app.yaml": edited(text, (block, ""))})
    upstream.tag("v2")
    report = judged(upstream, patch)[0].report
    assert report.verdict is Verdict.UNREACHABLE
    assert report.evidence[0].commit == cut
    assert "app.yaml:5-6" in report.evidence[0].text


# Following code that moved word for word

SCORING = "app/scoring.py"
HOME = "import torch\n\n\ndef spread(load):\n    return load.float().std()\n\n\n"


def moved(upstream: Miniature, home: str = HOME + BODY, left: str = WITHOUT) -> None:
    """v2, where the function is in another file."""
    upstream.commit("Score elsewhere (#5)", {PATH: left, SCORING: home})
    upstream.tag("v2")


def test_a_function_that_moved_takes_its_hunks_along(upstream: Miniature, patch: bytes) -> None:
    moved(upstream)
    (judgement,) = judged(upstream, patch)
    report = judgement.report
    assert report.verdict is Verdict.MOVED
    assert [(path.old, path.new) for path in report.paths] == [(PATH, SCORING)]
    assert [hunk.state for hunk in report.hunks] == [HunkState.CARRIED]
    (evidence,) = shown(report, EvidenceKind.CODE_MOVED)
    assert (evidence.paths, evidence.pr) == ((SCORING,), 5)
    assert judgement.patch
    assert placed(upstream, "v2", judgement.patch.raw) == {
        SCORING: (HOME + edited(BODY, FIX)).encode()
    }


@pytest.mark.parametrize(
    "put",
    [
        ("    scale = best.sum", "    router.check(best)\n    scale = best.sum"),
        ("topk, bias=None):", "topk, bias=None, least=0):"),
        ("    return best, experts\n", "    return best, experts, load\n"),
        (
            "    return best, experts\n",
            "    def pick(row):\n        cell = row\n        return cell\n\n"
            "    return pick(best), experts\n",
        ),
    ],
    ids=["a line more", "the first line", "the last line", "a function inside"],
)
def test_an_edit_of_a_function_that_moved(upstream: Miniature, put: tuple[str, str]) -> None:
    patch = upstream.patch("v1", {PATH: edited(TEXT, put)})
    moved(upstream)
    (judgement,) = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    assert judgement.patch
    assert placed(upstream, "v2", judgement.patch.raw) == {
        SCORING: (HOME + edited(BODY, put)).encode()
    }


@pytest.mark.parametrize(
    "put",
    [
        ("depth = 3\n", "depth = 3\n    width = 8\n"),
        (
            "        return best, experts\n",
            "        return best, experts, load\n\n"
            "    def width(self, rows):\n        found = len(rows)\n        return found\n",
        ),
    ],
    ids=["of the class", "of a method that is added last"],
)
def test_a_name_that_is_bound_in_a_class_that_moved(
    upstream: Miniature, put: tuple[str, str]
) -> None:
    indented = "".join(f"    {line}" for line in BODY.splitlines(keepends=True))
    code = f"class Router:\n    depth = 3\n\n{indented}"
    upstream.commit("A class", {PATH: HEAD + FIRST + code + "\n\n" + LAST})
    upstream.tag("v1")
    fixed = edited(code, put)
    patch = upstream.patch("v1", {PATH: HEAD + FIRST + fixed + "\n\n" + LAST})
    upstream.commit("Move it (#5)", {PATH: WITHOUT, SCORING: HOME + code})
    upstream.tag("v2")
    (judgement,) = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    assert judgement.patch
    assert placed(upstream, "v2", judgement.patch.raw) == {SCORING: (HOME + fixed).encode()}


def test_two_functions_that_moved_to_two_files(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {PATH: edited(TEXT, FIX, ("= path.resolve()", "= path.real()"))})
    files = {
        PATH: HEAD + LAST,
        SCORING: HOME + BODY,
        "app/opening.py": "import torch\n\n\n" + FIRST,
    }
    upstream.commit("Split (#5)", files)
    upstream.tag("v2")
    (judgement,) = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    assert judgement.patch
    assert set(placed(upstream, "v2", judgement.patch.raw)) == {SCORING, "app/opening.py"}


def test_a_hunk_in_a_function_that_stays(upstream: Miniature) -> None:
    stays = ("= path.resolve()", "= path.real()")
    patch = upstream.patch("v1", {PATH: edited(TEXT, FIX, stays)})
    moved(upstream)
    (judgement,) = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    assert judgement.patch
    assert placed(upstream, "v2", judgement.patch.raw) == {
        PATH: edited(WITHOUT, stays).encode(),
        SCORING: (HOME + edited(BODY, FIX)).encode(),
    }


def test_a_wrapper_left_behind(upstream: Miniature, patch: bytes) -> None:
    wrapper = "def route_tokens(*args):\n    return scoring.route_tokens(*args)\n\n\n"
    moved(upstream, left=HEAD + FIRST + wrapper + LAST)
    (judgement,) = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    assert judgement.patch
    assert set(placed(upstream, "v2", judgement.patch.raw)) == {SCORING}


def test_patches_on_each_other_move_together(upstream: Miniature) -> None:
    one = edited(TEXT, FIX)
    first = upstream.detached("v1", "One", {PATH: one})
    second = upstream.detached(
        first, "Two", {PATH: edited(one, ("logits.float()", "logits.half()"))}
    )
    moved(upstream)
    results = judged(upstream, *map(upstream.format, (first, second)))
    assert [each.report.verdict for each in results] == [Verdict.MOVED, Verdict.MOVED]
    assert all(each.patch for each in results)


RETURN = "    return best, experts\n"
NEEDS_PAGES = (("    best = best / scale\n", "    best = take_page(best) / scale\n"),)


@pytest.mark.parametrize(
    ("changes", "home"),
    [
        ((FIX,), HOME + BODY.replace("    ", "  ")),
        ((FIX,), HOME + edited(BODY, ("topk, dim=-1)", "topk, dim=1)"))),
        ((FIX,), HOME + BODY + "\n\n" + BODY),
        (NEEDS_PAGES, HOME + BODY),
        (NEEDS_PAGES, "from app.main import take_page\n" + HOME + BODY),
        ((("import torch\n", "import torch\nimport math\n"), FIX), HOME + BODY),
        (
            (FIX, ("    return best, experts\n", "    return best, experts\n\n\nLIMIT = 4\n")),
            HOME + BODY,
        ),
        ((FIX, ("= reason\n\n\n", "= None\nLIMIT = 4\n\n")), HOME + BODY),
    ],
    ids=[
        "re-indented",
        "changed",
        "twice",
        "unbound",
        "bound to another",
        "import",
        "beside it",
        "half behind another",
    ],
)
def test_code_that_cannot_be_followed(
    upstream: Miniature, changes: tuple[tuple[str, str], ...], home: str
) -> None:
    patch = upstream.patch("v1", {PATH: edited(TEXT, *changes)})
    moved(upstream, home)
    report = judged(upstream, patch)[0].report
    assert report.verdict is Verdict.CONFLICT
    assert SCORING in [
        path for item in shown(report, EvidenceKind.CODE_MOVED) for path in item.paths
    ]


def test_a_name_that_is_bound_to_the_same(upstream: Miniature) -> None:
    patch = upstream.patch("v1", {PATH: edited(TEXT, *NEEDS_PAGES)})
    moved(upstream, "from app.pages import take_page\n" + HOME + BODY)
    assert judged(upstream, patch)[0].report.verdict is Verdict.MOVED


@pytest.mark.parametrize(
    "twin",
    [
        BODY,
        BODY.replace("    best = best / scale\n", ""),
        re.sub(r"logits|best|load", r"_\g<0>", BODY),
    ],
    ids=["the same", "but for a line", "under other names"],
)
def test_a_twin_from_before_is_not_where_it_went(upstream: Miniature, twin: str) -> None:
    upstream.commit("Twin", {SCORING: HOME + twin.replace("route_tokens", "twin_tokens")})
    upstream.tag("v1")
    patch = upstream.patch("v1", {PATH: edited(TEXT, FIX)})
    upstream.commit("Keep the twin (#5)", {PATH: WITHOUT})
    upstream.tag("v2")
    report = judged(upstream, patch)[0].report
    assert report.verdict is Verdict.CONFLICT
    assert shown(report, EvidenceKind.CODE_MOVED)[0].paths == (SCORING,)


CHANCE = random.Random(1)
LONG = [
    f"    step_{n} = {''.join(f'w{n} {sign} ' for sign in CHANCE.choices('+-*/%@|&^<', k=7))}{n}\n"
    for n in range(70)
]


@pytest.mark.parametrize(("at", "gone"), [(35, False), (60, True)])
def test_only_the_lines_around_the_hunk_are_elsewhere(
    upstream: Miniature, at: int, gone: bool
) -> None:
    """They are looked for by themselves, in what is no copy of the function."""
    long = "".join(["def long_steps(hidden, router):\n", *LONG, "    return hidden\n\n\n"])
    upstream.commit("Long", {PATH: HEAD + FIRST + long + LAST})
    upstream.tag("v1")
    fixed = edited(long, (LONG[at], f"    fix({at})\n"))
    patch = upstream.patch("v1", {PATH: HEAD + FIRST + fixed + LAST})
    some = "".join(["def some_steps(hidden, router):\n", *LONG[26:35], *LONG[36:45]])
    upstream.commit("Some (#5)", {PATH: WITHOUT, SCORING: HOME + some})
    upstream.tag("v2")
    report = judged(upstream, patch)[0].report
    assert report.verdict is (Verdict.UNREACHABLE if gone else Verdict.CONFLICT)


def test_code_that_an_older_base_lacks(miniature: MakeMiniature) -> None:
    """No commit on the way back took it out."""
    upstream = miniature()
    upstream.commit("Start (#1)", {PATH: WITHOUT, "app/main.py": OTHER})
    upstream.tag("v2")
    upstream.commit("Route (#2)", {PATH: TEXT})
    upstream.tag("v1")
    report = judged(upstream, upstream.patch("v1", {PATH: edited(TEXT, FIX)}))[0].report
    assert report.verdict is Verdict.CONFLICT
    assert any("no commit between the bases" in item.text for item in report.evidence)


HALF_OF_IT = "".join([*BODY.splitlines(keepends=True)[1:7], *BODY.splitlines(keepends=True)[8:9]])
"""Most of the body, and less than would make it a copy."""


def test_half_of_it_went_down_its_own_file(upstream: Miniature, patch: bytes) -> None:
    """The lines stood in the file before, but as the function that went."""
    flat = "def flat_tokens(hidden, router, topk, bias):\n" + HALF_OF_IT + "    return experts\n"
    upstream.commit("Flat now (#5)", {PATH: WITHOUT + flat})
    upstream.tag("v2")
    report = judged(upstream, patch)[0].report
    assert report.verdict is Verdict.CONFLICT
    assert PATH in shown(report, EvidenceKind.CODE_MOVED)[0].paths


@pytest.mark.parametrize("beside", ["", "LIMIT = 9\n"], ids=["untouched", "edited beside it"])
def test_half_of_it_stood_elsewhere_before(upstream: Miniature, beside: str) -> None:
    flat = "def flat_tokens(hidden, router, topk, bias):\n" + HALF_OF_IT + "    return experts\n"
    upstream.commit("Flat too", {SCORING: HOME + flat})
    upstream.tag("v1")
    patch = upstream.patch("v1", {PATH: edited(TEXT, FIX)})
    upstream.commit("Do without routing (#5)", {PATH: WITHOUT, SCORING: HOME + flat + beside})
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict is Verdict.UNREACHABLE


KERNEL = (
    "template <typename T>\n"
    "__global__ void scale_kernel(T* out, const T* in, float by, int size) {\n"
    "  const int at = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (at < size) {\n    out[at] = static_cast<T>(float(in[at]) * by);\n  }\n}\n"
)
KERNELS = (
    f"#include <cuda_fp16.h>\n\n#define LIMIT 65504.0f\n\n{KERNEL}\n"
    "void launch_it(int n) {\n  go(n);\n}\n\n"
    "int blocks_of(int n) {\n  return n / 256;\n}\n"
)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ((("by);", "by * by);"),), Verdict.MOVED),
        ((("* by);", "* fminf(by, 2));"),), Verdict.MOVED),
        ((("* by);", "* fminf(by, LIMIT));"),), Verdict.CONFLICT),
        ((("* by);", "* other_3());"),), Verdict.CONFLICT),
        ((("* by);", "* bounded(by));"),), Verdict.CONFLICT),
        ((("* by);", "* round_up(by));"),), Verdict.MOVED),
        ((("by);", "by * by);"), ("go(n)", "go(n + 1)")), Verdict.CONFLICT),
        ((("by);", "by * by);"), ("n / 256", "n / 128")), Verdict.CONFLICT),
    ],
    ids=[
        "inside",
        "a name of neither file",
        "a macro of the old file",
        "a function of the new file",
        "in a header of the new file alone",
        "in a header that is not included",
        "a hunk right outside",
        "a hunk outside",
    ],
)
def test_a_kernel_that_moved(
    miniature: MakeMiniature, change: tuple[tuple[str, str], ...], verdict: Verdict
) -> None:
    upstream = miniature()
    headers = {
        "csrc/clip.h": "inline float bounded(float x) { return x; }\n",
        "csrc/round.h": "inline float round_up(float x) { return x; }\n",
    }
    upstream.commit("Start (#1)", {"csrc/all.cu": KERNELS, **headers})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"csrc/all.cu": edited(KERNELS, *change)})
    home = '#include <cuda_fp16.h>\n#include "csrc/clip.h"\n\n' + "".join(
        f"int other_{n}() {{ return {n}; }}\n" for n in range(30)
    )
    upstream.commit(
        "Scale elsewhere (#5)",
        {"csrc/all.cu": KERNELS.replace(KERNEL, ""), "csrc/scale.cuh": home + KERNEL},
    )
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict is verdict


# path-missing


@pytest.mark.parametrize("plant", [str, renamed])
def test_a_path_that_is_missing_does_not_retire_moved_code(
    upstream: Miniature, plant: Callable[[str], str]
) -> None:
    fix = {PATH: edited(TEXT, FIX)}
    patch = upstream.patch("v1", fix, trailers={"X-Retire-When": f"path-missing {PATH}"})
    home = f"{HOME}{OTHERS}\n\n"
    upstream.commit("Move (#5)", {PATH: None, SCORING: home + plant(BODY)})
    upstream.tag("v2")
    verdict = judged(upstream, patch)[0].report.verdict
    assert verdict is (Verdict.MOVED if plant is str else Verdict.CONFLICT)


def test_a_path_that_is_missing_retires_what_nobody_can_prove_gone(upstream: Miniature) -> None:
    patch = upstream.patch(
        "v1", {"app/pages.py": LAST + "\n"}, trailers={"X-Retire-When": "path-missing app/pages.py"}
    )
    upstream.commit("Drop pages (#5)", {"app/pages.py": None, PATH: HEAD + BODY})
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict in (Verdict.EXPIRED, Verdict.UNREACHABLE)


def test_one_of_two_functions_of_a_name_cannot_be_followed(miniature: MakeMiniature) -> None:
    """Which of the two a hunk belongs to is not told by the name."""
    fast = BODY.replace("router.gate(hidden", "router.fast_gate(hidden")
    indented = ["".join(f"    {line}" for line in text.splitlines(True)) for text in (BODY, fast)]
    both = f"if torch.cuda.is_available():\n{indented[0]}\nelse:\n{indented[1]}"
    upstream = miniature()
    upstream.commit("Start (#1)", {PATH: HEAD + FIRST + both + "\n\n" + LAST})
    upstream.tag("v1")
    head, tail = both.split("else:\n")
    patch = upstream.patch("v1", {PATH: f"{HEAD}{FIRST}{head}else:\n{edited(tail, FIX)}\n\n{LAST}"})
    upstream.commit("Score apart (#5)", {PATH: WITHOUT, SCORING: HOME + both})
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict is Verdict.CONFLICT


@pytest.mark.parametrize(("classes", "retired"), [(5, False), (6, True)])
def test_a_name_that_many_classes_have(
    miniature: MakeMiniature, classes: int, retired: bool
) -> None:
    """It says something only together with its own class."""
    method = "class Router:\n" + "".join(f"    {line}" for line in BODY.splitlines(True))
    others = {
        f"app/other_{n}.py": f"class Other{n}:\n    def route_tokens(self):\n        return {n}\n"
        for n in range(classes)
    }
    upstream = miniature()
    upstream.commit("Start (#1)", {PATH: f"{HEAD}{FIRST}{method}\n\n{LAST}", **others})
    upstream.tag("v1")
    patch = upstream.patch("v1", {PATH: f"{HEAD}{FIRST}{edited(method, FIX)}\n\n{LAST}"})
    upstream.commit("Do without routing (#5)", {PATH: WITHOUT})
    upstream.tag("v2")
    verdict = judged(upstream, patch)[0].report.verdict
    assert verdict is (Verdict.UNREACHABLE if retired else Verdict.CONFLICT)


def test_a_line_like_a_short_body_was_there_before(miniature: MakeMiniature) -> None:
    """What stood in other code all along is not where the body went."""
    line = "    return tensor.numel() * tensor.element_size()\n"
    short = f"def bytes_of(tensor):\n{line}\n\n"
    other = f"def report_all(tensor, log):\n    log.write(tensor.name)\n{line}"
    upstream = miniature()
    upstream.commit("Start (#1)", {PATH: HEAD + FIRST + short + LAST, "app/log.py": other})
    upstream.tag("v1")
    fixed = short.replace("numel()", "numel(0)")
    patch = upstream.patch("v1", {PATH: HEAD + FIRST + fixed + LAST})
    upstream.commit("Count no bytes (#5)", {PATH: HEAD + FIRST + LAST})
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict is Verdict.UNREACHABLE


def test_what_is_found_changed_is_told_from_what_may_be_there(
    upstream: Miniature, patch: bytes
) -> None:
    upstream.commit("Score apart (#5)", {PATH: WITHOUT, SCORING: HOME + renamed(BODY)})
    upstream.tag("v2")
    text = shown(judged(upstream, patch)[0].report, EvidenceKind.CODE_MOVED)[0].text
    assert text.startswith("route_tokens is changed, not gone: arg_0 in app/scoring.py ")


def test_the_words_of_a_short_function_in_other_order(miniature: MakeMiniature) -> None:
    """Too short for runs of tokens to tell: its names do."""
    short = "def bytes_of(tensor):\n    return tensor.numel() * tensor.element_size()\n\n\n"
    upstream = miniature()
    upstream.commit("Start (#1)", {PATH: HEAD + FIRST + short + LAST})
    upstream.tag("v1")
    fixed = short.replace("numel()", "numel(0)")
    patch = upstream.patch("v1", {PATH: HEAD + FIRST + fixed + LAST})
    other = "def memory(batch):\n    for tensor in batch:\n        size = tensor.element_size()\n"
    other += "        yield size, tensor.numel()\n"
    upstream.commit("Count otherwise (#5)", {PATH: HEAD + FIRST + LAST, "app/memory.py": other})
    upstream.tag("v2")
    report = judged(upstream, patch)[0].report
    assert report.verdict is Verdict.CONFLICT
    assert shown(report, EvidenceKind.CODE_MOVED)[0].paths == ("app/memory.py",)


def test_settings_that_moved_word_for_word(miniature: MakeMiniature) -> None:
    """Lines that no language tells apart go along by their window."""
    block = "".join(
        f"  {name}_limit: {len(name)}  # as {name} says\n"
        for name in ("router", "balance", "expert", "shared", "queue", "page", "batch", "token")
    )
    more = "".join(f"other_{number}: {number}\n" for number in range(80))
    upstream = miniature()
    upstream.commit("Start (#1)", {"conf/router.yaml": block, "conf/all.yaml": more})
    upstream.tag("v1")
    patch = upstream.patch(
        "v1", {"conf/router.yaml": edited(block, ("shared_limit: 6", "shared_limit: 9"))}
    )
    upstream.commit("One file (#5)", {"conf/router.yaml": None, "conf/all.yaml": more + block})
    upstream.tag("v2")
    (judgement,) = judged(upstream, patch)
    assert judgement.report.verdict is Verdict.MOVED
    assert judgement.patch
    whole = more + edited(block, ("shared_limit: 6", "shared_limit: 9"))
    assert placed(upstream, "v2", judgement.patch.raw) == {"conf/all.yaml": whole.encode()}


@pytest.mark.parametrize(
    ("line", "window"), [(30, "app/limits.conf:21-41"), (2, "app/limits.conf:1-13")]
)
def test_the_window_around_a_hunk_in_a_deleted_text(
    miniature: MakeMiniature, line: int, window: str
) -> None:
    """Ten lines on each side of what the patch changes, as far as the file goes."""
    made = miniature()
    words = [f"limit{n} = rate{n} * burst{n + 7}  # quota of tenant{n}\n" for n in range(60)]
    made.commit("Start (#1)", {"app/limits.conf": "".join(words), "app/main.py": OTHER})
    made.tag("v1")
    made.commit("Drop the limits (#2)", {"app/limits.conf": None})
    made.tag("v2")
    changed = [*words[:line], words[line].replace("rate", "own_rate"), *words[line + 1 :]]
    (found,) = judged(made, made.patch("v1", {"app/limits.conf": "".join(changed)}))
    assert found.report.verdict is Verdict.UNREACHABLE
    assert f"nothing like {window} in v2" in found.report.evidence[0].text


def test_a_class_that_takes_over_what_two_had(upstream: Miniature, patch: bytes) -> None:
    """The fault lives on in code of the same shape that was there before, under other names."""
    words = "def|if|is|not|None|return|torch|dim|min"
    names = re.sub(rf"\b(?!(?:{words})\b)([a-z_]{{3,}})\b", r"own_\1", BODY)
    upstream.commit("Have both (#4)", {"app/second.py": names})
    upstream.tag("v1")
    upstream.commit("Keep one (#5)", {PATH: WITHOUT})
    upstream.tag("v2")
    (found,) = judged(upstream, patch)
    assert found.report.verdict is Verdict.CONFLICT
    assert any("app/second.py" in evidence.text for evidence in found.report.evidence)


def test_the_table_of_an_index_says_what_sets_would() -> None:
    """Of many blobs, with names that have one checksum in common."""
    chance = random.Random(1)
    blobs = [array("I", chance.choices(range(0, 2**32, 2**20), k=60)) for _ in range(200)]
    holders = Holders(blobs)
    for sum_ in (*{one for blob in blobs for one in blob}, 7):
        assert holders.of(sum_) == [
            n for n, blob in enumerate(blobs) for one in blob if one == sum_
        ]


TABLE = "".join(
    f'    "{name}": dict(width={size}, layout=("row", "{name}_tile")),\n'
    for name, size in (("alpha", 512), ("omega", 4096))
)
TABLE = f"LAYOUTS = {{\n{TABLE}}}\n"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "in v2 (1 file) no file has more than {} of app/table.py:3 ({} of its names)"),
        ({"README": "Text.\n"}, "in v2 (2 files) no file has more than"),
    ],
)
def test_what_is_too_short_is_compared_by_names(
    miniature: MakeMiniature, more: Edits, words: str
) -> None:
    """The other entries of its table have all of its shape."""
    made = miniature()
    made.commit("Start (#1)", {"app/table.py": TABLE, **more})
    made.tag("v1")
    lines = TABLE.splitlines(keepends=True)
    patch = made.patch("v1", {"app/table.py": TABLE.replace("4096", "8192")})
    made.commit("Drop one (#2)", {"app/table.py": "".join([*lines[:2], *lines[3:]])})
    made.tag("v2")
    (found,) = judged(made, patch)
    (text,) = (item.text for item in found.report.evidence)
    assert found.report.verdict is Verdict.UNREACHABLE
    assert re.match(re.escape(f"app/table.py:3 is gone; {words}").replace(r"\{\}", r"\d+%"), text)


def test_no_file_is_named_that_shares_nothing(miniature: MakeMiniature) -> None:
    made = miniature()
    made.commit("Start (#1)", {"app/limits.conf": "quota = 7\nburst = 9\n", "app/o.txt": "o\n"})
    made.tag("v1")
    patch = made.patch("v1", {"app/limits.conf": "quota = 8\nburst = 9\n"})
    made.commit("Drop the limits (#2)", {"app/limits.conf": None})
    made.tag("v2")
    (found,) = judged(made, patch)
    (text,) = (item.text for item in found.report.evidence)
    assert text == "app/limits.conf is gone; nothing like app/limits.conf:1-2 in v2 (1 file)"
