"""How verdicts look, wherever they are shown: a sign, and a colour that never speaks alone."""

from __future__ import annotations

from dataclasses import dataclass

from patchq.model.verdict import Memory, Verdict


@dataclass(frozen=True)
class Look:
    """A sign, one for streams that have only ASCII, and a colour of the terminal."""

    sign: str
    plain: str
    style: str


VERDICTS: dict[Verdict, Look] = {
    Verdict.NOT_COVERED: Look("?", "?", "magenta"),
    Verdict.UPSTREAMED: Look("↑", "^", "blue"),
    Verdict.UNREACHABLE: Look("∅", "0", "blue"),
    Verdict.EXPIRED: Look("†", "+", "blue"),
    Verdict.DRIFTED: Look("≠", "!", "bold red"),
    Verdict.SUPERSEDED: Look("≈", "&", "bold magenta"),
    Verdict.CONFLICT: Look("✖", "x", "bold red"),
    Verdict.PARTIAL: Look("✂", "/", "yellow"),
    Verdict.ADAPTED: Look("~", "~", "yellow"),
    Verdict.MOVED: Look("→", ">", "cyan"),
    Verdict.CLEAN: Look("✔", "=", "green"),
}

MEMORIES: dict[Memory, Look] = {
    Memory.SETTLED: Look("·", ".", "dim"),
    Memory.RESURFACED: Look("↺", "@", "bold red"),
    Memory.HELD: Look("‖", "%", "bold red"),
    Memory.UNKNOWN: Look("¿", "_", "magenta"),
    Memory.LOST: Look("⊘", "$", "bold red"),
}

DROPPED = Look("−", "-", "dim")
NEEDED = Look("‽", "N", "magenta")
NEW = Look("○", "o", "bold")
UNFETCHED = Look("▫", ":", "dim")

LIVE = Look("●", "*", "bold")
"""A base that is still deployed."""
