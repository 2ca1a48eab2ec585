"""Judge a real downstream's patches on the hops whose truth is known, and compare.

The truth was read from upstream's git history, patch by patch; see README.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scratch import Scratch, rebase, tree_of

from patchq.engine.series.stack import Stack
from patchq.engine.workspace.project import Project
from patchq.model.patch import Patch, read_patch, repair
from patchq.model.verdict import Evidence, HunkState, PatchReport, Verdict


@dataclass(frozen=True)
class Truth:
    """What a careful look at the repository says became of one patch on one span."""

    file: str
    source: str
    onto: str
    verdicts: tuple[Verdict, ...]
    commits: tuple[str, ...] = ()
    pull_request: int | None = None
    first_tag: str | None = None
    hunks: tuple[HunkState, int, int] | None = None
    """A state, how many hunks end in it, of how many."""


@dataclass(frozen=True)
class Move:
    """Patches whose series, carried, gives the tree of the hand-made files for the new tag."""

    files: tuple[str, ...]
    by_hand: tuple[str, ...]
    source: str
    onto: str


KERNEL = "sgl-kernel-"
PYTHON = "sglang-"

MOVED = Move(
    files=(
        f"{KERNEL}arch-prune.patch",
        f"{KERNEL}disable-fa3-mainahead.patch",
        f"{KERNEL}skip-sm90-target-mainahead.patch",
        f"{KERNEL}skip-flashmla.patch",
    ),
    by_hand=(
        f"{KERNEL}arch-prune-v0.5.17.patch",
        f"{KERNEL}disable-fa3-v0.5.17.patch",
        f"{KERNEL}skip-sm90-target-v0.5.17.patch",
        f"{KERNEL}skip-flashmla-v0.5.17.patch",
    ),
    source="v0.5.16",
    onto="v0.5.17",
)

TABLE = (
    Truth(
        f"{KERNEL}sm121.patch",
        "v0.5.15.post1",
        "v0.5.16",
        (Verdict.UNREACHABLE,),
        ("9756f768a",),
        30448,
        "v0.5.16",
    ),
    Truth(
        f"{KERNEL}sm121-debug.patch",
        "v0.5.15.post1",
        "v0.5.16",
        (Verdict.UNREACHABLE,),
        ("9756f768a",),
        30448,
        "v0.5.16",
    ),
    *(
        Truth(name, MOVED.source, MOVED.onto, (Verdict.MOVED,), ("c32c4ef79",), 32648, "v0.5.17")
        for name in MOVED.files
    ),
    Truth(
        f"{KERNEL}arch-prune-v0.5.17.patch",
        "v0.5.17",
        "v0.5.18",
        (Verdict.CONFLICT,),
        ("81c7a54ec",),
        33433,
        "v0.5.18",
        (HunkState.CONFLICTING, 1, 2),
    ),
    Truth(
        f"{KERNEL}disable-fa3.patch",
        "v0.5.13.post1",
        "v0.5.14",
        (Verdict.CONFLICT,),
        ("4b817f5d7",),
        28394,
        "v0.5.14",
    ),
    Truth(
        f"{KERNEL}skip-sm90-target.patch",
        "v0.5.13.post1",
        "v0.5.14",
        (Verdict.CONFLICT,),
        ("c2eae96c5",),
        22734,
        "v0.5.14",
        (HunkState.CONFLICTING, 1, 4),
    ),
    Truth(
        f"{PYTHON}gemma4-mtp-pr24436.patch",
        "v0.5.11",
        "v0.5.12",
        # all of it landed there; #24859 and others took single lines of it out again before the tag
        (Verdict.UPSTREAMED, Verdict.SUPERSEDED),
        ("d2c103416",),
        24436,
        "v0.5.12",
    ),
    Truth(
        f"{PYTHON}dsv4-nvfp4-pr25820.patch",
        "v0.5.13",
        "v0.5.14",
        (Verdict.SUPERSEDED,),
        ("c0bb04b67",),
        25820,
        "v0.5.14",
        (HunkState.UPSTREAM, 6, 16),
    ),
    Truth(
        f"{PYTHON}qwen36-mixed-nvfp4-pr27906-mainahead.patch",
        "v0.5.14",
        "v0.5.15",
        (Verdict.SUPERSEDED,),
        ("b1942fc3e",),
        27906,
        "v0.5.15",
        (HunkState.UPSTREAM, 28, 31),
    ),
    Truth(
        f"{PYTHON}tilelang-018-indexer-compat.patch",
        "v0.5.15.post1",
        "v0.5.16",
        (Verdict.CONFLICT,),
        ("ba5be86d4",),
        30792,
        "v0.5.16",
        (HunkState.CONFLICTING, 1, 2),
    ),
    Truth(
        f"{PYTHON}gemma4-geglu-nan-clamp.patch",
        "v0.5.14",
        "v0.5.15",
        (Verdict.CONFLICT,),
        ("a6bc432fd",),
        18612,
        "v0.5.15",
    ),
    Truth(
        f"{PYTHON}gemma4-geglu-nan-clamp.patch",
        "v0.5.14",
        "v0.5.16",
        (Verdict.UNREACHABLE,),
        ("9756f768a",),
        30448,
        "v0.5.16",
    ),
    Truth(
        f"{PYTHON}nemotronh-mtp-pr27998.patch",
        "v0.5.13",
        "v0.5.16",
        (Verdict.CONFLICT,),
        ("1c4892d7b", "cfd17301a"),
    ),
    *(
        Truth(
            f"{PYTHON}dsv4-mtp-marlin-v0.5.14.patch",
            "v0.5.14",
            onto,
            (Verdict.CLEAN, Verdict.ADAPTED),
        )
        for onto in ("v0.5.15", "v0.5.15.post1", "v0.5.16", "v0.5.17", "v0.5.18")
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", type=Path, required=True, help="a clone of the upstream")
    parser.add_argument("--patches", type=Path, required=True, help="the downstream's patch files")
    options = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory(prefix="patchq-truth-") as root:
        project = Scratch(Path(root), options.upstream).project()
        for truth in TABLE:
            patch = _read(options.patches, truth.file)
            (report,) = rebase(project, truth.source, truth.onto, [patch]).report.patches
            bad += _show(_row(truth), _got(report), list(_differences(truth, report)))
        bad += _show(*_compare_trees(project, options.patches))
    print(f"{len(TABLE) + 1} rows, {bad} differ")
    return 1 if bad else 0


def _read(directory: Path, name: str) -> Patch:
    mended, _ = repair((directory / name).read_bytes())
    return read_patch(name, mended)


def _compare_trees(project: Project, patches: Path) -> tuple[str, str, Sequence[str]]:
    series = [_read(patches, name) for name in MOVED.files]
    carried = tree_of(project, rebase(project, MOVED.source, MOVED.onto, series))
    by_hand = Stack(project.store).apply_all(
        project.lock.base(MOVED.onto).tree,
        [_read(patches, name) for name in MOVED.by_hand],
        onto=MOVED.onto,
    )
    row = f"the four together {MOVED.source} → {MOVED.onto}: tree of the -{MOVED.onto} files"
    differences = [] if carried == by_hand else [f"expected tree {by_hand}"]
    return row, f"tree {carried}", differences


def _row(truth: Truth) -> str:
    verdicts = " or ".join(verdict.value for verdict in truth.verdicts)
    return f"{truth.file} {truth.source} → {truth.onto}: {verdicts}"


def _got(report: PatchReport) -> str:
    counts = ", ".join(f"{count} {state.value}" for state, count in report.count().items())
    evidence = "; ".join(_named(item) for item in report.evidence if item.commit)
    return f"{report.verdict.value} ({counts}) {evidence}".rstrip()


def _named(evidence: Evidence) -> str:
    return f"{evidence.kind.value} {(evidence.commit or '')[:9]} #{evidence.pr}"


def _differences(truth: Truth, report: PatchReport) -> Iterator[str]:
    if report.verdict not in truth.verdicts:
        yield "another verdict"
    named = {item.commit: item for item in report.evidence if item.commit}
    for prefix in truth.commits:
        found = [item for commit, item in named.items() if commit.startswith(prefix)]
        if not found:
            yield f"{prefix} is not named"
        elif truth.pull_request not in (None, found[0].pr):
            yield f"expected #{truth.pull_request}"
        elif truth.first_tag not in (None, found[0].first_tag):
            yield f"expected first tag {truth.first_tag}, got {found[0].first_tag}"
    if truth.hunks is not None:
        state, count, total = truth.hunks
        if (report.count()[state], len(report.hunks)) != (count, total):
            yield f"expected {count} of {total} hunks {state.value}"


def _show(row: str, got: str, differences: Sequence[str]) -> bool:
    print(f"{'differs' if differences else 'ok':8}{row}\n        got {got}")
    for difference in differences:
        print(f"        {difference}")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main())
