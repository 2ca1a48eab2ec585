"""In which order the patches of one stream were made: ``git log`` prints the newest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import pairwise

from patchq.errors import InputError
from patchq.git.objects import encode_path
from patchq.model.diff import ChangeKind, FileChange, scan

_COMMIT = re.compile(rb"(?:commit )?([0-9a-f]{7,64})((?: [0-9a-f]{7,64})*)(?=\s)")
_PARENT = re.compile(rb"^parent ([0-9a-f]{7,64})$", re.M)
_DATE = re.compile(rb"^(?:Author)?Date:\s+(.+?)\s*$", re.M)
_INDEX = re.compile(rb"^index ([0-9a-f]{7,64})\.\.([0-9a-f]{7,64})", re.M)
_ZERO = re.compile(rb"0+")

_LEAVES = (ChangeKind.DELETE, ChangeKind.RENAME)

FORWARD = "taken in the order of the stream"
BACKWARD = "taken from its end, oldest first"


@dataclass(frozen=True)
class StreamOrder:
    """Whether a stream is to be read from its end, and what is to be said of it, if anything."""

    backwards: bool = False
    words: str | None = None


@dataclass
class _Links:
    """How often a patch stands on one that comes later in the stream, or on an earlier one."""

    on_later: int = 0
    on_earlier: int = 0

    def __bool__(self) -> bool:
        return bool(self.on_later or self.on_earlier)

    def add(self, makes: Iterable[tuple[int, bytes]], takes: Iterable[tuple[int, bytes]]) -> None:
        """Count who ``takes`` what others make, by their places in the stream."""
        made: dict[bytes, list[int]] = {}
        for number, thing in makes:
            made.setdefault(thing, []).append(number)
        for number, thing in takes:
            self.on_later += any(other > number for other in made.get(thing, ()))
            self.on_earlier += any(other < number for other in made.get(thing, ()))


def stream_order(texts: Sequence[tuple[bytes, bytes]]) -> StreamOrder:
    """The order of the patches of a stream, each as its head and its diff.

    Parents, blobs, and else paths prove it: a patch comes after the one whose commit or file it
    begins with.
    Else a stream of ``git log`` goes by the dates, and what cannot be told is said.
    """
    if len(texts) < 2:
        return StreamOrder()
    heads, links = [head for head, _ in texts], _Links()
    commits = [_COMMIT.match(head) for head in heads]
    is_log = all(commits)
    parents = (
        (number, parent)
        for number, (match, head) in enumerate(zip(commits, heads, strict=True))
        if match
        for parent in (*match[2].split(), *_PARENT.findall(head))
    )
    links.add(((number, match[1]) for number, match in enumerate(commits) if match), parents)
    blobs = [
        (n, old, new) for n, (_, diff) in enumerate(texts) for old, new in _INDEX.findall(diff)
    ]
    links.add(
        ((number, new) for number, _, new in blobs if not _ZERO.fullmatch(new)),
        ((number, old) for number, old, _ in blobs if not _ZERO.fullmatch(old)),
    )
    if not links:
        _link_paths(links, [diff for _, diff in texts])
    source = "`git log` prints the newest first" if is_log else "the newest stands first in it"
    if links.on_later and not links.on_earlier:
        return StreamOrder(True, f"{source}: {BACKWARD}")
    if not is_log or (links.on_earlier and not links.on_later):
        return StreamOrder()
    dates = [date for date in map(_date, heads) if date is not None]
    falls = any(one > other for one, other in pairwise(dates))
    rises = any(one < other for one, other in pairwise(dates))
    if falls != rises and not links.on_later:
        words = f"{source}, as its dates show: {BACKWARD}"
        return StreamOrder(True, words) if falls else StreamOrder()
    return StreamOrder(
        False,
        f"nothing in it proves its order: {FORWARD}, though `git log` prints the newest first "
        "(`git log --reverse -p` prints the oldest first)",
    )


def _link_paths(links: _Links, diffs: Sequence[bytes]) -> None:
    """A file is there before a patch takes it, and after that no more where it left.

    A pure rename or a change of mode names no blobs. A path that is both left and made anew tells
    nothing.
    """
    changes: list[tuple[int, FileChange]] = []
    for number, diff in enumerate(diffs):
        with suppress(InputError):  # said when it comes in
            changes += ((number, change) for change in scan(diff))
    takes = {(n, encode_path(c.old)) for n, c in changes if c.old}
    makes = {(n, encode_path(c.new)) for n, c in changes if c.new and c.new != c.old}
    leaves = {(n, encode_path(c.old)) for n, c in changes if c.old and c.kind in _LEAVES}
    both = {path for _, path in makes} & {path for _, path in leaves}
    takes, makes, leaves = (
        {(n, path) for n, path in found if path not in both} for found in (takes, makes, leaves)
    )
    links.add(makes, takes)
    links.add(takes, leaves)


def _date(head: bytes) -> datetime | None:
    match = _DATE.search(head)
    if match is None:
        return None
    text = match[1].decode("ascii", "replace")
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = read(text)
        except ValueError:
            continue
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    return None
