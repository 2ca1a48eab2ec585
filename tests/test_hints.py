"""What messages propose can be typed: each command and each option that they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hints import COMMANDS, faults, texts

ROOT = Path(__file__).parents[1] / "src/patchq"
ROOMS = sorted({file.parent for file in ROOT.rglob("*.py")})


@pytest.mark.parametrize(
    ("text", "running", "missing"),
    [
        ("Name one with --from.", "rebase", []),
        ("Name one with --from.", "report", ["--from"]),
        ("`patchq rebase --contnue`, `--skip` or `--abort` go on.", "report", ["--contnue"]),
        ("`patchq rebase --continue`, `--skip` or `--abort` go on.", "report", []),
        ("`patchq unheard PATCH`", None, ["patchq unheard"]),
        ("`git diff --binary`, `patchq -C DIR list --json`", "report", []),
    ],
)
def test_what_is_not_there_is_found(text: str, running: str, missing: list[str]) -> None:
    assert list(faults(text, running)) == missing


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT.parent)))
def test_messages_name_commands_and_options_that_are_there(room: Path) -> None:
    """Which command is at hand is known in ``cli/`` only; a test that sees a hint asks the rest."""
    found = []
    for file in room.glob("*.py"):
        name = file.stem.replace("_", "-")
        running = name if room.name == "cli" and name in COMMANDS else None
        for line, text in texts(file):
            if re.match(r"patchq [a-z-]+( [X-]|$)", text):  # a whole command
                text = f"`{text}`"
            if "`" in text:
                found += [f"{file.name}:{line}: {fault}" for fault in faults(text, running)]
    assert not found, "\n".join(found)
