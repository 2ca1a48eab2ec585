"""How heavy the lifecycle page is: its making, its size, and what Chromium works on it.

    python benchmarks/page.py [PATCHES BASES]

The matrix is made up (200 patches, 20 bases), the page is the real one. Times are of the processor
(the renderer's main thread), so that a busy machine counts little. Needs selenium, Chromium and its
driver.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from patchq.model.ids import commit_id
from patchq.model.patch import Patch, read_patch
from patchq.model.verdict import (
    Column,
    Evidence,
    EvidenceKind,
    HunkOutcome,
    HunkState,
    Matrix,
    Memory,
    PatchReport,
    PathChange,
    Remembered,
    Report,
    Verdict,
)
from patchq.report.html import render_matrix_html

WORDS = ("attention", "moe", "quant", "marlin", "kernel", "loader", "scheduler", "radix", "cache")
KINDS = ("fix", "arch-prune", "backport", "gate", "strip")
CHANCES = ((0.75, Verdict.CLEAN), (0.85, Verdict.MOVED), (0.95, Verdict.ADAPTED))
STEPS = {
    "search": "search.value = 'moe'; search.dispatchEvent(new Event('input'))",
    "clear the search": "search.value = ''; search.dispatchEvent(new Event('input'))",
    "sort by name": "sort.value = 'name'; sort.dispatchEvent(new Event('change'))",
    "group by file": "group.value = 'file'; group.dispatchEvent(new Event('change'))",
    "one verdict": "document.querySelector('button.chip').click()",
    "all verdicts": "document.querySelector('button.chip').click()",
    "open a cell": "location.hash = [...document.querySelectorAll('#grid td a')].at(-1).hash",
}


def make_patch(number: int) -> Patch:
    """A patch of one hunk with a name, a kind and an end."""
    name = f"{'-'.join(random.sample(WORDS, 2))}-{number}.patch"
    path = f"python/{random.choice(WORDS)}/{random.choice(WORDS)}.py"
    lines = [f" context {at} of {path}" for at in range(30)]
    lines[10:10] = [f"-old = call({number})", f"+new = call(self, {number})"]
    head = (
        f"Subject: [PATCH] Let {name} work\n\nWhy it is needed.\n\nX-Kind: {random.choice(KINDS)}"
    )
    diff = "\n".join([f"--- a/{path}", f"+++ b/{path}", "@@ -1,31 +1,31 @@", *lines])
    return read_patch(name, f"{head}\nX-Upstream-PR: {30000 + number}\n\n{diff}\n".encode())


def judged(patch: Patch, verdict: Verdict, base: str) -> PatchReport:
    """What a report has of it."""
    (path,) = patch.paths
    commit = commit_id(f"{random.getrandbits(160):040x}")
    evidence = Evidence(
        *(EvidenceKind.CONFLICTING_CHANGE, f"changed the lines of {path} hunk 1", commit, 12345),
        *("Refactor the path and move its configuration", "2026-08-05T01:36:46+00:00", base),
        (path,),
    )
    states = {Verdict.CONFLICT: HunkState.CONFLICTING, Verdict.UPSTREAMED: HunkState.UPSTREAM}
    hunks = (HunkOutcome(path, 1, states.get(verdict, HunkState.CARRIED), 4),)
    found = () if verdict is Verdict.CLEAN else (evidence,)
    paths = (PathChange(path, path),)
    return PatchReport(patch.name, verdict, paths, hunks, found, kind=patch.header.kind, age=3)


def make_matrix(patches: int, bases: int) -> Matrix:
    """A series over that many bases; on each some patches leave, on the last some conflict."""
    alive = [make_patch(number) for number in range(patches)]
    zero, date = commit_id("a" * 40), "2026-08-05T00:00:00Z"
    contents = {patch.name: patch for patch in alive}
    columns = [Column("v0", zero, date, True, None, tuple(contents), contents=contents)]
    gone: list[Remembered] = []
    for number in range(1, bases):
        base, last = f"v{number}", number == bases - 1
        bad = Verdict.CONFLICT if last else Verdict.UPSTREAMED
        rows = []
        for patch in alive:
            chance = random.random() * (1 if last else 0.97)
            verdict = next((known for limit, known in CHANCES if chance < limit), bad)
            rows.append(judged(patch, verdict, base))
        report = Report(columns[-1].base, base, zero, zero, (), tuple(rows), tuple(gone))
        left = {row.name for row in rows if row.verdict is Verdict.UPSTREAMED}
        gone += [Remembered(name, Verdict.UPSTREAMED, base, Memory.SETTLED) for name in left]
        alive = [patch for patch in alive if patch.name not in left]
        contents = {patch.name: patch for patch in alive}
        columns.append(Column(base, zero, date, not last, report, contents=contents))
    return Matrix(tuple(columns))


class Chromium:
    """Chromium, and the processor time of its main thread."""

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        for flag in ("--headless=new", "--no-sandbox", "--window-size=1440,900"):
            options.add_argument(flag)
        options.binary_location = shutil.which("chromium") or ""
        service = Service(shutil.which("chromedriver") or "")
        self.driver = webdriver.Chrome(options=options, service=service)
        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})

    @property
    def seconds(self) -> float:
        """So far."""
        found = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))

    def cost(self, script: str) -> float:
        """The milliseconds of running it, and of what follows at once: layout, painting."""
        before = self.seconds
        self.driver.execute_script(script)
        time.sleep(0.5)
        return 1000 * (self.seconds - before)


def main() -> None:
    """Print the figures."""
    random.seed(1)
    patches, bases = map(int, sys.argv[1:3] or (200, 20))
    matrix = make_matrix(patches, bases)
    start = time.process_time()
    text = render_matrix_html(matrix)
    print(f"making        {time.process_time() - start:6.2f} s, {len(text) / 1e6:.1f} MB")
    browser = Chromium()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(text, encoding="utf-8")
        browser.driver.get("about:blank")
        before = browser.seconds
        browser.driver.get(page.as_uri())
        time.sleep(0.5)
        nodes = browser.driver.execute_script("return document.querySelectorAll('*').length")
        print(f"{'load':16} {1000 * (browser.seconds - before):4.0f} ms, {nodes} elements")
        for name, script in STEPS.items():
            print(f"{name:16} {browser.cost(script):4.0f} ms")
    browser.driver.quit()


if __name__ == "__main__":
    main()
