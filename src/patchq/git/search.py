"""Search a whole tree for lines, by ``git grep``."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from patchq.git.objects import decode_path
from patchq.git.process import Git


def count_lines(git: Git, tree: str, lines: Collection[bytes]) -> Counter[tuple[bytes, str]]:
    """How often each of ``lines`` (given stripped) stands in each file of ``tree``."""
    found: Counter[tuple[bytes, str]] = Counter()
    if not lines:
        return found
    with tempfile.NamedTemporaryFile(prefix="patchq-lines-") as patterns:
        Path(patterns.name).write_bytes(b"".join(line + b"\n" for line in lines))
        output = git.run(
            "grep",
            "-I",
            "-z",
            "--no-color",
            "--full-name",
            "--fixed-strings",
            "-f",
            patterns.name,
            tree,
            allow=(0, 1),
        ).stdout
    wanted = set(lines)
    prefix = f"{tree}:".encode()
    for row in output.split(b"\n"):
        name, _, text = row.partition(b"\0")
        stripped = text.strip()
        if stripped in wanted:
            found[stripped, decode_path(name.removeprefix(prefix))] += 1
    return found
