"""What the tests of verdicts share: an upstream's files, edits of them, and a patch judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from miniature import Edits, Miniature
from workspaces import make_workspace, open_project

from patchq.engine.judge.judgement import Judgement
from patchq.engine.judge.landing.effect import Overruled, overruled
from patchq.engine.rebase.rebase import Rebased, judge_series
from patchq.model.lock import Base
from patchq.model.verdict import Evidence, EvidenceKind, HunkState, PatchReport, Verdict

Change = tuple[str, str]
POOL_PATH = "app/pool.py"
QUEUE_PATH = "app/queue.py"


def function(name: str) -> str:
    """Eight lines that stand nowhere else; hunks on neighbouring functions stay apart."""
    return (
        f"def {name}(pool, batch):\n"
        f'    limit = pool.limit_of("{name}")\n'
        f'    for page in batch.pages_of("{name}"):\n'
        f"        pool.take_{name}(page, limit)\n"
        f"    pool.settle_{name}(batch)\n"
        f"    return pool.{name}_total\n"
        "\n"
        "\n"
    )


def module(*names: str) -> str:
    return "".join(map(function, names))


POOL = module("admit", "evict", "grow", "shrink", "drain")
QUEUE = module("push", "pull", "peek")


def edited(text: str, *changes: Change) -> str:
    """``text`` after each (old, new), old standing there once."""
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def take(name: str, more: str = "") -> str:
    return f"pool.take_{name}(page, limit{more})\n"


def fix(name: str) -> Change:
    """The change to a function that most patches here make."""
    return take(name), take(name, " - 1")


def before(name: str, line: str, indent: int = 8) -> Change:
    """A line put in before the ``take`` of a function."""
    at = f"        {take(name)}"
    return at, f"{' ' * indent}{line}\n{at}"


CONTEXT = ("    return pool.evict_total\n", "    return pool.evict_total or 0\n")
NEIGHBOUR = ("    pool.settle_evict(batch)\n", "    pool.settle_evict(batch, now=True)\n")
OTHER_FUNCTION = ("    pool.settle_drain(batch)\n", "    pool.settle_drain(batch, now=True)\n")


def pool(*changes: Change) -> Edits:
    """The pool with changes."""
    return {POOL_PATH: edited(POOL, *changes)}


def start(made: Miniature) -> Miniature:
    """Upstream at v1."""
    made.commit("Start (#1)", {POOL_PATH: POOL, QUEUE_PATH: QUEUE, "README": "An upstream.\n"})
    made.tag("v1")
    return made


def done_about(path: str, then: str, now: str, line: str = "LINE") -> Overruled | None:
    """What upstream did about the lines of ``then`` that have ``line`` in them."""
    without = "".join(each for each in then.splitlines(keepends=True) if line not in each)
    return overruled(path, without.encode(), then.encode(), now.encode())


def landed(made: Miniature, files: Edits, fix: Edits, beside: Edits | None = None) -> bytes:
    """A patch that makes ``fix`` on v1, and that upstream took in the next commit, with more
    ``beside`` it perhaps."""
    made.commit("Start (#1)", files)
    made.tag("v1")
    patch = made.patch("v1", fix)
    made.commit("Fix it (#2)", {**fix, **(beside or {})})
    return patch


def rebased(
    upstream: Miniature,
    patches: Mapping[str, bytes],
    *,
    bases: Sequence[str | Base] = ("v1", "v2"),
    series: str | None = None,
    settings: str | None = None,
) -> Rebased:
    """The series of ``patches`` on the first base, judged on the last."""
    names = [base.name if isinstance(base, Base) else base for base in bases]
    workspace = make_workspace(
        upstream, patches, bases=bases, on=names[0], series=series, settings=settings
    )
    return judge_series(open_project(workspace, upstream), names[0], names[-1])


def judged(
    upstream: Miniature, raw: bytes, *, bases: Sequence[str | Base] = ("v1", "v2")
) -> Judgement:
    """One patch, judged."""
    return rebased(upstream, {"it.patch": raw}, bases=bases).judgements["it.patch"]


def reports(result: Rebased) -> dict[str, PatchReport]:
    return {report.name: report for report in result.report.patches}


def verdicts(result: Rebased) -> dict[str, Verdict]:
    return {report.name: report.verdict for report in result.report.patches}


def shown(report: PatchReport, kind: EvidenceKind) -> list[Evidence]:
    return [evidence for evidence in report.evidence if evidence.kind is kind]


def states(report: PatchReport) -> list[HunkState]:
    return [hunk.state for hunk in report.hunks]


def carried(judgement: Judgement) -> bytes:
    assert judgement.patch is not None
    return judgement.patch.raw


def stack(upstream: Miniature, *steps: Edits, at: str = "v1") -> dict[str, bytes]:
    """Patches ``p1.patch``, ``p2.patch``… of which each stands on the one before."""
    patches = {}
    for number, edits in enumerate(steps, start=1):
        at = upstream.detached(at, f"Step {number}", edits)
        patches[f"p{number}.patch"] = upstream.format(at)
    return patches
