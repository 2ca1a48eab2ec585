"""What a run has written so far, for the words with which it ends if it is interrupted.

Loaded before anything else: it imports nothing.
"""

from __future__ import annotations

_notes: list[str] = []


def note(words: str) -> None:
    """Remember that something is written whole and stays, in words for the user."""
    if words not in _notes:
        _notes.append(words)


def interrupted() -> str:
    """What to say if the run ends now, by a signal."""
    if not _notes:
        return "interrupted; nothing was written"
    return f"interrupted, but what it had written by then stays: {'; '.join(_notes)}"
