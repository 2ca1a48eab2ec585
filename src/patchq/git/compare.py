"""Two versions of one change against each other, as git range-diff shows them."""

from __future__ import annotations

from dataclasses import dataclass

from patchq.git.objects import Objects
from patchq.git.process import Git
from patchq.git.raw_objects import OURS
from patchq.model.ids import TreeId


@dataclass(frozen=True)
class Version:
    """A change from one tree to another; ``author`` is ``Name <mail> seconds zone``."""

    before: TreeId
    after: TreeId
    message: str
    author: str = OURS


def range_diff(git: Git, objects: Objects, old: Version, new: Version) -> bytes:
    """``old`` against ``new``, whatever differs; empty if nothing does (git-range-diff(1))."""
    objects.write_differing(*((version.before, version.after) for version in (old, new)))
    ranges = []
    for version in (old, new):
        author = version.author
        base = objects.write_commit(
            version.before, message="base\n", author=author, committer=author
        )
        commit = objects.write_commit(
            version.after, (base,), message=version.message, author=author, committer=author
        )
        ranges.append(f"{base}..{commit}")
    shown = git.run(
        "range-diff",
        "--color=never",
        # whatever differs, they are to be shown as one pair
        "--creation-factor=10000",
        *ranges,
    ).stdout
    return b"".join(line.removeprefix(b"    ") for line in shown.splitlines(keepends=True)[1:])
