"""Evaluate upstream's capability gates for a GB10, and compare with a list read by hand.

The list, ``gates.tsv``, is of gates that are new on v0.5.18: answer, path, function, condition, and
why. The facts come from this repository's own ``series/patchq.yaml``.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from scratch import Scratch

from patchq.engine.release.gates import GateReader, compare_gates
from patchq.engine.workspace.upstream_range import upstream_range
from patchq.errors import Where
from patchq.model.release import ANSWER_WORDS
from patchq.model.settings import read_settings

_HERE = Path(__file__).parent


def main() -> int:
    options = _options()
    settings_path = _HERE.parent / "series" / "patchq.yaml"
    settings = read_settings(settings_path.read_bytes(), Where(settings_path.name))
    facts = settings.release.facts("gb10")
    assert facts is not None
    with tempfile.TemporaryDirectory(prefix="gates-") as root:
        project = Scratch(Path(root), options.upstream).project()
        project = replace(project, settings=settings)
        reader = GateReader(project, facts)
        start = time.monotonic()
        changes = compare_gates(upstream_range(project, "v0.5.17", "v0.5.18"), reader)
        seconds = time.monotonic() - start
        gates = reader.gates(project.lock.base("v0.5.18"))
    counts = Counter(ANSWER_WORDS[gate.answer] for gate in gates)
    print(f"v0.5.18: {len(gates)} gates, {dict(counts)}; {len(changes)} new or changed")
    found = {
        (c.gate.path, c.gate.function, c.gate.text): ANSWER_WORDS[c.gate.answer] for c in changes
    }
    wrong = 0
    with (_HERE / "gates.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    for answer, path, function, condition, why in rows:
        got = found.get((path, function, condition), "not found")
        if got != answer:
            wrong += 1
            print(f"{path} {function}: {condition}\n  {got}, should be {answer}: {why}")
    print(f"{len(rows) - wrong} of {len(rows)} as read by hand, in {seconds:.1f} s")
    return int(bool(wrong))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", type=Path, required=True, help="a clone of SGLang")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
