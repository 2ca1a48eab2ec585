"""Below which line each line of a text stands, by their indentation."""

from __future__ import annotations

from collections.abc import Iterable

_OPENS_NOTHING = (b")", b"]", b"}", b"#")


def nesting(lines: Iterable[bytes]) -> tuple[int, ...]:
    """The number of the line that each stands below, the next above that is indented less.

    -1 for one that stands below none, and for a blank one. Nothing stands below a comment (``#``),
    nor below a line that begins with a closing bracket, but below the one where that was opened.
    """
    found: list[int] = []
    open_: list[tuple[int, int]] = []  # indentation and number, from the outside in
    for number, line in enumerate(lines):
        if not line.strip():
            found.append(-1)
            continue
        indent = indent_of(line)
        if line.lstrip().startswith(_OPENS_NOTHING):
            around = (at for column, at in reversed(open_) if column < indent)
            found.append(next(around, -1))
            continue
        while open_ and open_[-1][0] >= indent:
            open_.pop()
        found.append(open_[-1][1] if open_ else -1)
        open_.append((indent, number))
    return tuple(found)


def indent_of(line: bytes) -> int:
    """Where the key or the statement of a line begins; of an item, that behind its dash."""
    said = line.lstrip()
    return len(line) - len(said) + (2 if said.startswith(b"- ") else 0)


def column_of(line: bytes) -> int:
    """Where a line begins to say something."""
    return len(line) - len(line.lstrip())
